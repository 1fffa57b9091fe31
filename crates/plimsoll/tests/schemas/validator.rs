//! The part of JSON Schema (draft 2020-12) that docs/schemas uses: `$ref` into `$defs`, `type`,
//! `const`, `enum`, `anyOf`, `required`, `properties`, `additionalProperties`, `items`, `minItems`,
//! `maxItems` and `minimum`; and what the schema of SARIF uses beside them: `oneOf`, `uniqueItems`,
//! `maximum`, `format` of references, `definitions`. Any other keyword is an error, and so is a
//! property that no schema names: readers may pass over new fields, but these tests do not.

use std::fs;

use serde_json::{Map, Value};

/// Keywords that constrain nothing.
const SAID_ONLY: [&str; 8] = [
    "$schema",
    "$defs",
    "definitions",
    "id",
    "title",
    "description",
    "default",
    "required",
];

/// A schema's file.
pub(crate) struct Schema(pub(crate) Value);

impl Schema {
    /// That of docs/schemas.
    pub(crate) fn named(name: &str) -> Self {
        let folder = testkit::checkout("docs/schemas");
        let path = folder.join(format!("{name}.json"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        Self(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}")))
    }

    /// What of a document is not as the schema says, one line each with its place.
    pub(crate) fn faults(&self, document: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        self.check(&self.0, document, "", &mut faults);
        faults
    }

    fn check(&self, schema: &Value, value: &Value, place: &str, faults: &mut Vec<String>) {
        let Some(schema) = schema.as_object() else {
            return faults.push(format!("{place}: the schema is no object"));
        };
        for (keyword, rule) in schema {
            if let Some(fault) = self.keyword(keyword, rule, value, place, faults) {
                faults.push(format!("{place}: {fault}"));
            }
        }
        if let Some(object) = value.as_object() {
            self.properties(schema, object, place, faults);
        }
    }

    /// What one keyword finds, but for those of objects.
    fn keyword(
        &self,
        keyword: &str,
        rule: &Value,
        value: &Value,
        place: &str,
        faults: &mut Vec<String>,
    ) -> Option<String> {
        let wrong = |is_right: bool| (!is_right).then(|| format!("{keyword} {rule}, not {value}"));
        let length = value.as_array().map(|items| items.len() as u64);
        match keyword {
            "$ref" => {
                let target = rule.as_str().and_then(|name| name.strip_prefix('#'));
                let target = target.and_then(|pointer| self.0.pointer(pointer));
                match target {
                    Some(target) => self.check(target, value, place, faults),
                    None => return Some(format!("{rule} is not in this schema")),
                }
                None
            }
            "type" => wrong(types(rule).any(|name| is_of(name, value))),
            "const" => wrong(rule == value),
            "enum" => wrong(rule.as_array().is_some_and(|all| all.contains(value))),
            "anyOf" => wrong(rule.as_array().is_some_and(|all| {
                all.iter().any(|one| {
                    let mut of_one = Vec::new();
                    self.check(one, value, place, &mut of_one);
                    of_one.is_empty()
                })
            })),
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    self.check(rule, item, &format!("{place}/{index}"), faults);
                }
                None
            }
            "minItems" => wrong(length.is_none_or(|length| Some(length) >= rule.as_u64())),
            "maxItems" => wrong(length.is_none_or(|length| Some(length) <= rule.as_u64())),
            "oneOf" => wrong(rule.as_array().is_some_and(|all| {
                let fits = |one: &&Value| {
                    let mut of_one = Vec::new();
                    self.check(one, value, place, &mut of_one);
                    of_one.is_empty()
                };
                all.iter().filter(fits).count() == 1
            })),
            "uniqueItems" => wrong(value.as_array().is_none_or(|items| {
                let again = |(at, item): (usize, &Value)| items[..at].contains(item);
                rule != true || !items.iter().enumerate().any(again)
            })),
            "maximum" => wrong(value.as_f64().is_none_or(|it| Some(it) <= rule.as_f64())),
            "format" => wrong(value.as_str().is_none_or(|text| has_format(rule, text))),
            "minimum" => wrong(value.as_f64().is_none_or(|it| Some(it) >= rule.as_f64())),
            "properties" | "additionalProperties" => None,
            _ if SAID_ONLY.contains(&keyword) => None,
            _ => Some(format!("the keyword {keyword} is not known here")),
        }
    }

    fn properties(
        &self,
        schema: &Map<String, Value>,
        object: &Map<String, Value>,
        place: &str,
        faults: &mut Vec<String>,
    ) {
        for name in schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            if !name.as_str().is_some_and(|name| object.contains_key(name)) {
                faults.push(format!("{place}: {name} is missing"));
            }
        }
        let describes = ["properties", "additionalProperties"].map(|keyword| schema.get(keyword));
        let [properties, others] = describes;
        if properties.is_none() && others.is_none() {
            return;
        }
        for (name, value) in object {
            let place = format!("{place}/{name}");
            match properties.and_then(|all| all.get(name)).or(others) {
                Some(schema) => self.check(schema, value, &place, faults),
                None => faults.push(format!("{place}: the schema does not name it")),
            }
        }
    }
}

/// Whether a text is a reference (RFC 3986) in its characters, and has a scheme where it is to be
/// whole. No other format is known here.
fn has_format(format: &Value, text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c);
    let whole = text.contains("://") || format == "uri-reference";
    [Value::from("uri"), Value::from("uri-reference")].contains(format)
        && whole
        && text.chars().all(allowed)
}

/// One type, or several.
fn types(rule: &Value) -> impl Iterator<Item = &str> {
    let several = rule.as_array().into_iter().flatten();
    rule.as_str()
        .into_iter()
        .chain(several.filter_map(Value::as_str))
}

fn is_of(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}
