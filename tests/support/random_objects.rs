//! What the objects of the table may look like, at random.

use super::{Field, MESSAGES, Shape};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// Keys that are read somewhere, and others.
const KEYS: [&str; 8] = [
    "muster.dev/lifetime",
    "simulate.muster.dev/at",
    "scheduling.k8s.io/group-name",
    "kubectl.kubernetes.io/last-applied-configuration",
    "notmuster.dev/x",
    "cpu",
    "memory",
    "é",
];

const TEXTS: [&str; 9] = [
    "a", "muster", "Always", "True", "1500m", "2Gi", "é日", "\"{}\n", "x/y",
];

/// What a message may look like in JSON: what is empty is left out, as Go does.
pub(crate) fn any_object(message: &'static str) -> BoxedStrategy<Value> {
    let fields = &MESSAGES[message];
    let each: Vec<_> = fields.iter().map(|field| any_field(*field)).collect();
    each.prop_map(|found| {
        let mut object = Map::new();
        for (field, value) in fields.iter().zip(found) {
            match value {
                Some(Value::Object(fields)) if field.shape == Shape::Inline => {
                    object.extend(fields);
                }
                Some(value) => _ = object.insert(field.name.to_owned(), value),
                None => {}
            }
        }
        Value::Object(object)
    })
    .boxed()
}

fn any_field(field: Field) -> BoxedStrategy<Option<Value>> {
    let one = any_value(field.kind);
    let filled = match field.shape {
        Shape::List => prop::collection::vec(one, 1..3)
            .prop_map(Value::from)
            .boxed(),
        Shape::Map => prop::collection::btree_map(select(&KEYS[..]), one, 1..4)
            .prop_map(|map| json!(map))
            .boxed(),
        Shape::Pointer => one,
        Shape::One | Shape::Inline => one.prop_filter("not zero", |one| !is_zero(one)).boxed(),
    };
    prop::option::weighted(0.6, filled).boxed()
}

fn is_zero(value: &Value) -> bool {
    [json!(""), json!(0), json!(false)].contains(value)
}

fn any_value(kind: &'static str) -> BoxedStrategy<Value> {
    match kind {
        "string" | "Quantity" => select(&TEXTS[..]).prop_map(Value::from).boxed(),
        "int32" => any::<i32>().prop_map(Value::from).boxed(),
        "IntOrString" => prop_oneof![any_value("int32"), any_value("string")].boxed(),
        "int64" => any::<i64>().prop_map(Value::from).boxed(),
        "bool" => any::<bool>().prop_map(Value::from).boxed(),
        "time" => (-1_i64 << 31..1 << 33)
            .prop_map(|second| json!(jiff::Timestamp::from_second(second).unwrap().to_string()))
            .boxed(),
        message => any_object(message),
    }
}
