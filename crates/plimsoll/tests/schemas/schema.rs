//! A schema, and what of a document is not as it says.

use std::fs;

use jsonschema::Validator;
use serde_json::Value;

pub(crate) struct Schema(pub(crate) Value);

impl Schema {
    /// That of docs/schemas. A field that it does not name is a fault: readers may pass over new
    /// fields, but these tests do not.
    pub(crate) fn named(name: &str) -> Self {
        let path = testkit::checkout("docs/schemas").join(format!("{name}.json"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let schema = serde_json::from_str(&text);
        let mut schema = schema.unwrap_or_else(|error| panic!("{name}: {error}"));
        close(&mut schema);
        Self(schema)
    }

    /// One line each, with its place.
    pub(crate) fn faults(&self, document: &Value) -> Vec<String> {
        let validator: Validator = jsonschema::options()
            .should_validate_formats(true)
            .build(&self.0)
            .expect("a schema");
        let faults = validator.iter_errors(document);
        faults
            .map(|fault| format!("{}: {fault}", fault.instance_path()))
            .collect()
    }
}

/// Lets every object have the fields that are named, and no other.
fn close(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut()
        && object
            .get("properties")
            .is_some_and(|it| it["type"].as_str().is_none())
    {
        object.entry("additionalProperties").or_insert(false.into());
    }
    match schema {
        Value::Object(object) => object.values_mut().for_each(close),
        Value::Array(all) => all.iter_mut().for_each(close),
        _ => (),
    }
}

#[test]
fn a_field_too_many_too_few_or_of_another_type_is_a_fault() {
    let schema = Schema::named("guard-status");
    let status = |guard: Value, more: &str| {
        let mut document = serde_json::json!({
            "schema": "plimsoll-guard-status", "version": 1, "guard": guard,
        });
        document[more] = 1.into();
        document
    };
    let right = status(Value::Null, "version");
    assert_eq!(schema.faults(&right), Vec::<String>::new());
    assert_eq!(schema.faults(&status(Value::Null, "more")).len(), 1);
    assert_eq!(schema.faults(&status("a".into(), "version")).len(), 1);
    assert_eq!(schema.faults(&status(Value::Null, "schema")).len(), 1);
    let mut few = right;
    few.as_object_mut().expect("an object").remove("guard");
    assert_eq!(schema.faults(&few).len(), 1);
}
