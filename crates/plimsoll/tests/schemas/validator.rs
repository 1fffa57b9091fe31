//! The part of JSON Schema (draft 2020-12) that docs/schemas uses: `$ref` into `$defs`, `type`,
//! `const`, `enum`, `anyOf`, `required`, `properties`, `additionalProperties`, `items`, `minItems`,
//! `maxItems` and `minimum`; and what the schema of SARIF uses beside them: `oneOf`, `uniqueItems`,
//! `maximum`, `format` of references, `definitions`. Any other keyword is an error, and so is a property that no schema
//! names: readers may pass over new fields, but these tests do not.

use std::fs;
use std::path::Path;

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
pub(crate) struct Schema(Value);

impl Schema {
    /// That of docs/schemas.
    pub(crate) fn named(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
        let path = folder.join(format!("{name}.json"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        Self(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}")))
    }

    /// That of a fixture.
    pub(crate) fn of_fixture(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../fixtures")
            .join(name);
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"));
        Self(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}")))
    }

    /// What of a document is not as the schema says, one line each with its place.
    pub(crate) fn faults(&self, document: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        self.check(&self.0, document, "", &mut faults);
        faults
    }

    /// The schema itself.
    pub(crate) fn value(&self) -> &Value {
        &self.0
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

mod tests {
    use serde_json::json;

    use super::*;

    fn faults(schema: Value, value: Value) -> Vec<String> {
        Schema(schema).faults(&value)
    }

    #[test]
    fn each_keyword_takes_what_is_right_and_finds_what_is_wrong() {
        for (schema, right, wrong) in [
            (json!({"type": "integer"}), json!(3), json!(3.5)),
            (json!({"type": ["number", "null"]}), json!(null), json!("3")),
            (json!({"type": "array"}), json!([]), json!({})),
            (json!({"const": 2}), json!(2), json!(1)),
            (json!({"enum": ["a", "b"]}), json!("b"), json!("c")),
            (json!({"minimum": 0}), json!(0), json!(-1)),
            (json!({"minItems": 2}), json!([1, 2]), json!([1])),
            (json!({"maxItems": 1}), json!([1]), json!([1, 2])),
            (
                json!({"items": {"type": "string"}}),
                json!(["a"]),
                json!(["a", 1]),
            ),
            (
                json!({"anyOf": [{"type": "null"}, {"const": 1}]}),
                json!(1),
                json!(2),
            ),
            (json!({"required": ["a"]}), json!({"a": 1}), json!({"b": 1})),
            (json!({"maximum": 1}), json!(1), json!(2)),
            (json!({"uniqueItems": true}), json!([1, 2]), json!([1, 1])),
            (
                json!({"format": "uri-reference"}),
                json!("a%20b"),
                json!("a b"),
            ),
            (json!({"format": "uri"}), json!("file:///a"), json!("a")),
            (
                json!({"oneOf": [{"minimum": 1}, {"maximum": 1}]}),
                json!(2),
                json!(1),
            ),
            (
                json!({"additionalProperties": {"const": 1}}),
                json!({"x": 1}),
                json!({"x": 2}),
            ),
        ] {
            assert_eq!(
                faults(schema.clone(), right),
                Vec::<String>::new(),
                "{schema}"
            );
            assert_eq!(faults(schema.clone(), wrong).len(), 1, "{schema}");
        }
    }

    #[test]
    fn a_fault_has_its_place_through_references_and_lists() {
        let schema = json!({
            "properties": {"zones": {"items": {"$ref": "#/$defs/zone"}}},
            "$defs": {"zone": {"properties": {"pages": {"type": "integer"}}}},
        });
        let found = faults(schema, json!({"zones": [{"pages": 1}, {"pages": "x"}]}));
        assert_eq!(found, ["/zones/1/pages: type \"integer\", not \"x\""]);
    }

    #[test]
    fn what_no_schema_names_and_keywords_that_are_not_known_are_faults() {
        let named = json!({"properties": {"a": {}}});
        assert_eq!(
            faults(named, json!({"b": 1})),
            ["/b: the schema does not name it"]
        );
        let pattern = faults(json!({"pattern": "x"}), json!("x"));
        assert_eq!(pattern, [": the keyword pattern is not known here"]);
        let lost = faults(json!({"$ref": "#/$defs/x"}), json!(1));
        assert_eq!(lost, [": \"#/$defs/x\" is not in this schema"]);
    }
}
