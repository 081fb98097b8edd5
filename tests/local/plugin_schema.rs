//! The published JSON schema is the one that the source defines, and says what the source accepts.
//!
//! To regenerate it: `MUSTER_UPDATE=1 cargo test --test local plugin_schema`.

use muster::api::remote;
use serde_json::Value;
use std::fs;
use std::path::Path;

#[test]
fn the_published_schema_is_that_of_the_source() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    let path = folder.join(remote::FILE);
    let schema = remote::schema();
    if std::env::var_os("MUSTER_UPDATE").is_some() {
        fs::write(&path, &schema).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == schema,
        "schemas/{} is out of date; regenerate it: MUSTER_UPDATE=1 cargo test --test local plugin_schema",
        remote::FILE
    );
    // And the schema of the configuration, and the example of what `muster why` says.
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
}

#[test]
fn the_schema_has_every_message_and_all_that_they_refer_to() {
    let schema: Value = serde_json::from_str(&remote::schema()).unwrap();
    let definitions = schema["$defs"].as_object().unwrap();
    let messages = [
        "Request",
        "PreFilterAnswer",
        "FilterAnswer",
        "ScoreAnswer",
        "DecisionAnswer",
    ];
    for name in messages {
        assert!(definitions.contains_key(name), "{name}");
        let required = definitions[name]["required"].as_array().unwrap();
        assert!(required.contains(&"apiVersion".into()), "{name}");
    }
    let text = schema.to_string();
    for reference in text.split("\"$ref\":\"#/$defs/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(definitions.contains_key(name), "{name}");
    }
    for message in ["FilterAnswer", "ScoreAnswer", "DecisionAnswer"] {
        assert_eq!(definitions[message]["additionalProperties"], false);
    }
}
