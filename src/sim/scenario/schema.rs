//! Checks an object against the published schema of its type: unknown fields and wrong types,
//! each with its path.
//!
//! Walking the schema instead of decoding into the full types tells every path exactly, and
//! spares the compiler hundreds of decoders that nothing else needs.

use super::path::Path;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use muster_api::yaml::short;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// What an object does not share with its type.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Paths of fields that the type does not have.
    pub(super) unknown: Vec<Path>,
    /// Paths of fields of a wrong type, and what is wrong.
    pub(super) wrong: Vec<(Path, String)>,
    /// Paths of fields that are missing.
    pub(super) missing: Vec<Path>,
}

/// The schema of a type, with what every object has: schemas of our own kinds leave it out. That
/// of a type which takes anything stays as it is.
pub(super) fn of<T: JsonSchema>() -> Value {
    let mut generator = SchemaGenerator::default();
    let metadata = generator.subschema_for::<ObjectMeta>().to_value();
    let mut root = generator.into_root_schema_for::<T>().to_value();
    if root["properties"].is_null() {
        return root;
    }
    let text = json!({"type": "string"});
    for (field, schema) in [
        ("apiVersion", &text),
        ("kind", &text),
        ("metadata", &metadata),
    ] {
        if root["properties"][field].is_null() {
            root["properties"][field] = schema.clone();
        }
    }
    root
}

/// Checks an object.
pub(super) fn check(object: &Value, root: &Value) -> Findings {
    let mut walk = Walk {
        root,
        findings: Findings::default(),
    };
    walk.value(object, root, &Path::default());
    walk.findings
}

struct Walk<'a> {
    root: &'a Value,
    findings: Findings,
}

impl<'a> Walk<'a> {
    fn value(&mut self, value: &Value, schema: &'a Value, path: &Path) {
        let schema = self.resolve(schema);
        // Absent and null are the same to Kubernetes.
        if value.is_null() || schema["x-kubernetes-int-or-string"] == true {
            return self.scalar(value, path);
        }
        if let Some(problem) = mismatch(value, &schema["type"]).or_else(|| beyond(value, schema)) {
            return self.findings.wrong.push((path.clone(), problem));
        }
        match value {
            Value::Object(fields) => self.object(fields, schema, path),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.value(item, &schema["items"], &path.join(&index.to_string()));
                }
            }
            _ => {}
        }
    }

    fn scalar(&mut self, value: &Value, path: &Path) {
        if value.is_object() || value.is_array() || value.is_boolean() {
            let problem = format!("{} where a number or a text belongs", kind_of(value));
            self.findings.wrong.push((path.clone(), problem));
        }
    }

    fn object(&mut self, fields: &Map<String, Value>, schema: &'a Value, path: &Path) {
        let (properties, others) = (&schema["properties"], &schema["additionalProperties"]);
        for (name, field) in fields {
            let path = path.join(name);
            match properties.get(name) {
                Some(property) => self.value(field, property, &path),
                None if others.is_object() => self.value(field, others, &path),
                None if properties.is_object() && others != true => {
                    self.findings.unknown.push(path);
                }
                // A type that says nothing about its fields takes any.
                None => {}
            }
        }
        let required = schema["required"].as_array().into_iter().flatten();
        for name in required.filter_map(Value::as_str) {
            if fields.get(name).is_none_or(Value::is_null) {
                self.findings.missing.push(path.join(name));
            }
        }
    }

    /// Follows references, and takes the one choice that is not null.
    fn resolve(&self, schema: &'a Value) -> &'a Value {
        let mut schema = schema;
        // A schema refers to another one; more than a few steps would be a circle.
        for _ in 0..8 {
            if let Some(reference) = schema["$ref"].as_str() {
                let pointer = reference.trim_start_matches('#');
                schema = self.root.pointer(pointer).unwrap_or(&Value::Null);
            } else if let Some(choices) = schema["anyOf"].as_array() {
                let some = |choice: &&Value| choice["type"] != "null";
                schema = choices.iter().find(some).unwrap_or(&Value::Null);
            } else {
                break;
            }
        }
        schema
    }
}

/// What is wrong with a value that does not fit its type; `None` where it fits.
fn mismatch(value: &Value, expected: &Value) -> Option<String> {
    let fits = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        _ => false,
    };
    let names: Vec<&str> = match expected {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    if names.iter().any(|name| fits(name)) {
        return None;
    }
    let quotes = value.is_number() || value.is_boolean();
    let belongs = match *names.first()? {
        "object" => "a map belongs",
        "array" => "a list belongs",
        "string" if quotes => "a text belongs: put it in quotes",
        "string" => "a text belongs",
        "integer" => "a whole number belongs",
        "number" => "a number belongs",
        "boolean" => "true or false belongs",
        _ => "something else belongs",
    };
    Some(format!("{} where {belongs}", kind_of(value)))
}

/// What is wrong with a number that its type cannot hold.
fn beyond(value: &Value, schema: &Value) -> Option<String> {
    let (least, most) = match schema["format"].as_str()? {
        "int32" => (i64::from(i32::MIN), i64::from(i32::MAX)),
        "uint32" => (0, i64::from(u32::MAX)),
        "uint16" => (0, i64::from(u16::MAX)),
        _ => return None,
    };
    let number = value.as_i64();
    let fits = !value.is_number() || number.is_some_and(|one| (least..=most).contains(&one));
    (!fits).then(|| {
        let found = kind_of(value);
        format!("{found} where a whole number from {least} to {most} belongs")
    })
}

fn kind_of(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(found) => found.to_string(),
        Value::Number(found) => format!("the number {found}"),
        Value::String(found) => format!("the text {:?}", short(found)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a map".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::Pod;

    #[test]
    fn unknown_fields_are_named_by_their_path() {
        let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {
            "labels": {"any": "thing"}}, "spec": {
            "tolerationz": [], "containers": [{"name": "a", "comand": ["x"]}]}});
        let findings = check(&object, &of::<Pod>());
        let unknown: Vec<_> = findings.unknown.iter().map(Path::to_string).collect();
        assert_eq!(unknown, ["spec.containers.0.comand", "spec.tolerationz"]);
        assert_eq!(findings.wrong, []);
    }

    #[test]
    fn wrong_types_are_named_with_what_belongs() {
        let object = json!({"metadata": {"labels": {"version": 1}}, "spec": {
            "containers": [{"name": "a", "ports": [{"containerPort": "80"}],
                "resources": {"requests": {"cpu": 1, "memory": "1Gi", "x": true}}}]}});
        let wrong = check(&object, &of::<Pod>()).wrong;
        let paths: Vec<_> = wrong.iter().map(|(path, _)| path.to_string()).collect();
        assert_eq!(
            paths,
            [
                "metadata.labels.version",
                "spec.containers.0.ports.0.containerPort",
                "spec.containers.0.resources.requests.x"
            ]
        );
        assert_eq!(
            wrong[0].1,
            "the number 1 where a text belongs: put it in quotes"
        );
    }

    #[test]
    fn numbers_that_their_type_cannot_hold_are_wrong() {
        let object = json!({"metadata": {}, "spec": {"activeDeadlineSeconds": 5_000_000_000_i64,
            "priority": 5_000_000_000_i64, "containers": []}});
        let wrong = check(&object, &of::<Pod>()).wrong;
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        assert_eq!(wrong[0].0.to_string(), "spec.priority");
        assert!(
            wrong[0]
                .1
                .ends_with("from -2147483648 to 2147483647 belongs")
        );
    }

    #[test]
    fn a_type_that_takes_anything_takes_anything() {
        let object = json!({"metadata": {"labels": 1}, "spec": [], "any": {"thing": true}});
        let findings = check(&object, &of::<Value>());
        assert_eq!((findings.unknown, findings.wrong), (vec![], vec![]));
    }

    #[test]
    fn what_is_required_is_missed() {
        let object = json!({"metadata": {}, "spec": {"containers": [{}]}});
        let findings = check(&object, &of::<Pod>());
        assert_eq!(findings.missing[0].to_string(), "spec.containers.0.name");
        assert_eq!(findings.wrong, []);
    }
}
