//! Checks an object against the published schema of its type: unknown fields and wrong types,
//! each with its path.
//!
//! Walking the schema instead of decoding into the full types tells every path exactly, and
//! spares the compiler hundreds of decoders that nothing else needs.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};

/// What an object does not share with its type.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Paths of fields that the type does not have.
    pub(super) unknown: Vec<String>,
    /// Paths of fields of a wrong type, and what is wrong.
    pub(super) wrong: Vec<(String, String)>,
}

/// The schema of a type.
pub(super) fn of<T: JsonSchema>() -> Value {
    SchemaGenerator::default()
        .into_root_schema_for::<T>()
        .to_value()
}

/// Checks an object.
pub(super) fn check(object: &Value, root: &Value) -> Findings {
    let mut walk = Walk {
        root,
        findings: Findings::default(),
    };
    walk.value(object, root, "");
    walk.findings
}

struct Walk<'a> {
    root: &'a Value,
    findings: Findings,
}

impl<'a> Walk<'a> {
    fn value(&mut self, value: &Value, schema: &'a Value, path: &str) {
        let schema = self.resolve(schema);
        // Absent and null are the same to Kubernetes.
        if value.is_null() || schema["x-kubernetes-int-or-string"] == true {
            return self.scalar(value, path);
        }
        if let Some(expected) = mismatch(value, &schema["type"]) {
            let found = kind_of(value);
            let problem = format!("{found} where {expected} belongs");
            return self.findings.wrong.push((path.to_owned(), problem));
        }
        match value {
            Value::Object(fields) => self.object(fields, schema, path),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.value(item, &schema["items"], &join(path, &index.to_string()));
                }
            }
            _ => {}
        }
    }

    fn scalar(&mut self, value: &Value, path: &str) {
        if value.is_object() || value.is_array() || value.is_boolean() {
            let problem = format!("{} where a number or a text belongs", kind_of(value));
            self.findings.wrong.push((path.to_owned(), problem));
        }
    }

    fn object(&mut self, fields: &Map<String, Value>, schema: &'a Value, path: &str) {
        let (properties, others) = (&schema["properties"], &schema["additionalProperties"]);
        for (name, field) in fields {
            let path = join(path, name);
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
                let path = join(path, name);
                self.findings
                    .wrong
                    .push((path, "nothing, but it is required".to_owned()));
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

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// What belongs where a value does not fit; `None` where it fits.
fn mismatch(value: &Value, expected: &Value) -> Option<&'static str> {
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
    Some(match *names.first()? {
        "object" => "a map",
        "array" => "a list",
        "string" => "a text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        _ => "something else",
    })
}

fn kind_of(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(found) => found.to_string(),
        Value::Number(found) => format!("the number {found}"),
        Value::String(found) => {
            let short: String = found.chars().take(40).collect();
            format!("the text {short:?}")
        }
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a map".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::json;

    #[test]
    fn unknown_fields_are_named_by_their_path() {
        let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {
            "labels": {"any": "thing"}}, "spec": {
            "tolerationz": [], "containers": [{"name": "a", "comand": ["x"]}]}});
        let findings = check(&object, &of::<Pod>());
        assert_eq!(
            findings.unknown,
            ["spec.containers.0.comand", "spec.tolerationz"]
        );
        assert_eq!(findings.wrong, []);
    }

    #[test]
    fn wrong_types_are_named_with_what_belongs() {
        let object = json!({"metadata": {"labels": {"version": 1}}, "spec": {
            "containers": [{"name": "a", "ports": [{"containerPort": "80"}],
                "resources": {"requests": {"cpu": 1, "memory": "1Gi", "x": true}}}]}});
        let wrong = check(&object, &of::<Pod>()).wrong;
        let paths: Vec<_> = wrong.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "metadata.labels.version",
                "spec.containers.0.ports.0.containerPort",
                "spec.containers.0.resources.requests.x"
            ]
        );
        assert_eq!(wrong[0].1, "the number 1 where a text belongs");
    }

    #[test]
    fn what_is_required_is_missed() {
        let object = json!({"metadata": {}, "spec": {"containers": [{}]}});
        let wrong = check(&object, &of::<Pod>()).wrong;
        assert_eq!(wrong[0].0, "spec.containers.0.name");
    }
}
