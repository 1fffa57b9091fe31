//! Every JSON document says in its first two fields what it is and which version of that shape it
//! has; its schema is made from the type. What a document holds stands where it is worked out.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// A type that is written as a JSON document of its own.
pub trait Shape: Serialize + JsonSchema {
    /// What `"schema"` says after `plimsoll-`, in kebab case; the schema's file has this name.
    const NAME: &'static str;

    /// What `"version"` says. A new field is no new version; a field that goes or changes is one.
    const VERSION: u32;
}

#[derive(Serialize)]
struct Envelope<'a, S> {
    schema: String,
    version: u32,
    #[serde(flatten)]
    shape: &'a S,
}

/// The document, in one line without its end.
///
/// # Panics
///
/// Where a map has keys that are not strings: a fault of the type.
#[must_use]
pub fn text<S: Shape>(shape: &S) -> String {
    let envelope = Envelope {
        schema: says::<S>(),
        version: S::VERSION,
        shape,
    };
    serde_json::to_string(&envelope).expect("strings and numbers always serialize")
}

/// The JSON Schema (draft 2020-12) of what [`text`] writes: a field that is always written is
/// required, and one that is not is never null.
///
/// # Panics
///
/// Where the type is not written as an object: a fault of the type.
#[must_use]
pub fn schema<S: Shape>() -> Value {
    let generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let mut schema = generator.into_root_schema_for::<S>();
    RecursiveTransform(as_written).transform(&mut schema);
    let mut schema = schema.to_value();
    schema["title"] = says::<S>().into();
    let properties = &mut schema["properties"];
    properties["schema"] = json!({"const": says::<S>()});
    properties["version"] = json!({"const": S::VERSION});
    let required = schema["required"].as_array_mut().expect("an object");
    required.splice(..0, ["schema".into(), "version".into()]);
    schema
}

/// A field that may be left out is left out instead of null; one that may be both lists null first.
/// `format` tells Rust's width of a number.
fn as_written(schema: &mut Schema) {
    schema.remove("format");
    let required = schema.get("required").and_then(Value::as_array).cloned();
    let required = required.unwrap_or_default();
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    let properties = properties.into_iter().flatten();
    for (_, property) in properties.filter(|(name, _)| !required.contains(&json!(name))) {
        let property = property.as_object_mut().expect("a schema with keywords");
        never_null(property);
    }
}

fn never_null(property: &mut Map<String, Value>) {
    if let Some(only) = only_other(property, "type", &json!("null")) {
        property.insert("type".to_owned(), only);
    }
    if let Some(Value::Object(only)) = only_other(property, "anyOf", &json!({"type": "null"})) {
        property.remove("anyOf");
        property.extend(only);
    }
}

/// What a list has beside null, where that is one.
fn only_other(property: &Map<String, Value>, keyword: &str, null: &Value) -> Option<Value> {
    match property.get(keyword)?.as_array()?.as_slice() {
        [other, last] if last == null => Some(other.clone()),
        _ => None,
    }
}

fn says<S: Shape>() -> String {
    format!("plimsoll-{}", S::NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(JsonSchema, Serialize)]
    struct Depth {
        metres: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        mark: Option<&'static str>,
    }

    impl Shape for Depth {
        const NAME: &'static str = "depth";
        const VERSION: u32 = 7;
    }

    #[test]
    fn a_document_begins_with_what_it_is() {
        let depth = Depth {
            metres: 3,
            mark: None,
        };
        let document = r#"{"schema":"plimsoll-depth","version":7,"metres":3}"#;
        assert_eq!(text(&depth), document);
    }

    #[test]
    fn a_schema_requires_what_is_always_written() {
        let schema = schema::<Depth>();
        assert_eq!(schema["properties"]["schema"]["const"], "plimsoll-depth");
        assert_eq!(schema["properties"]["version"]["const"], 7);
        assert_eq!(schema["required"], json!(["schema", "version", "metres"]));
        assert_eq!(schema["properties"]["mark"], json!({"type": "string"}));
    }
}
