//! The validator finds what is wrong.

use serde_json::json;

use crate::validator::Schema;
use serde_json::Value;

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
