//! `docs/configuration.md` has every field of the configuration file, with its default.

use muster::config::SchedulerConfiguration;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The fields of a schema and of what it refers to: dotted path to default, as in the document.
fn fields(
    root: &Value,
    schema: &Value,
    default: &Value,
    path: &str,
    out: &mut BTreeMap<String, String>,
) {
    let schema = resolved(root, schema);
    if let Some(items) = schema.get("items") {
        return fields(root, items, &Value::Null, &format!("{path}[]"), out);
    }
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    for (name, property) in properties {
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        let own = property.get("default").or_else(|| default.get(name));
        let inner = resolved(root, property);
        let parts = out.len();
        fields(root, inner, own.unwrap_or(&Value::Null), &path, out);
        let is_object = out.len() > parts && inner.get("items").is_none();
        if !is_object {
            let required = own.is_none() && is_required(schema, name);
            out.insert(
                path,
                if required {
                    "required".to_owned()
                } else {
                    shown(own)
                },
            );
        }
    }
}

fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(reference) => root.pointer(reference.trim_start_matches('#')).unwrap(),
        None => schema,
    }
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|one| one == name))
}

/// A default as the document shows it: YAML on one line.
fn shown(default: Option<&Value>) -> String {
    match default {
        None | Some(Value::Null) => "none".to_owned(),
        Some(Value::String(text)) => format!("`{text}`"),
        Some(Value::Array(list)) => {
            let entry = |one: &Value| match one {
                Value::Object(fields) => fields["name"].as_str().unwrap().to_owned(),
                other => other.as_str().unwrap().to_owned(),
            };
            let entries: Vec<String> = list.iter().map(entry).collect();
            format!("`[{}]`", entries.join(", "))
        }
        Some(other) => format!("`{other}`"),
    }
}

/// The rows of the document's tables whose first cell is code: path to the default's cell.
fn rows(text: &str) -> BTreeMap<String, String> {
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| `")?.split(" | ");
        let path = cells.next()?.trim_end_matches('`').to_owned();
        Some((path, cells.next()?.to_owned()))
    };
    text.lines().filter_map(row).collect()
}

#[test]
fn every_field_is_in_the_document_with_its_default_and_no_other() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
    let text = fs::read_to_string(file).unwrap();
    let fields_section = text
        .split("\n## ")
        .find(|one| one.starts_with("Fields"))
        .unwrap();
    let schema = schemars::schema_for!(SchedulerConfiguration).to_value();
    let mut wanted = BTreeMap::new();
    fields(&schema, &schema, &Value::Null, "", &mut wanted);
    assert!(wanted.len() > 8, "the schema was not read: {wanted:?}");
    assert_eq!(
        rows(fields_section),
        wanted,
        "docs/configuration.md (left) is not what the types say"
    );
}

#[test]
fn every_plugin_is_in_the_document() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
    let text = fs::read_to_string(file).unwrap();
    let section = text
        .split("\n## ")
        .find(|one| one.starts_with("Plugins"))
        .unwrap();
    let default = serde_json::to_value(SchedulerConfiguration::default().profile).unwrap();
    let mut wanted = Vec::new();
    for list in default.as_object().unwrap().values() {
        for plugin in list.as_array().unwrap() {
            let name = plugin.get("name").unwrap_or(plugin);
            wanted.push(name.as_str().unwrap().to_owned());
        }
    }
    // Scores that are there to be chosen: the default is packing alone.
    let chosen = ["LeastAllocated", "MostAllocated", "ImageLocality"];
    wanted.extend(chosen.map(str::to_owned));
    wanted.push("NodeResourcesBalancedAllocation".to_owned());
    wanted.sort();
    let found: Vec<String> = rows(section).into_keys().collect();
    assert_eq!(
        found, wanted,
        "docs/configuration.md (left) has not the plugins of the registry"
    );
}

#[test]
fn the_example_in_the_document_is_a_valid_file() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
    let text = fs::read_to_string(file).unwrap();
    let example = text
        .split("```yaml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap();
    let config = muster::config::parse("the example", example).unwrap();
    assert_ne!(config, SchedulerConfiguration::default());
}
