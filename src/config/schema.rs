//! The JSON schema of the configuration file, for editors and for whoever makes one.

use super::SchedulerConfiguration;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// The name of the published file.
pub const SCHEMA_FILE: &str = "config.muster.dev_v1alpha1.json";

/// The schema, as it is published. Of draft 7, which all editors know.
#[must_use]
pub fn schema() -> String {
    let generator = SchemaSettings::draft07().into_generator();
    let mut schema = generator
        .into_root_schema_for::<SchedulerConfiguration>()
        .to_value();
    if let Value::Object(fields) = &mut schema {
        let id = format!("https://muster.dev/schemas/{SCHEMA_FILE}");
        fields.insert("$id".to_owned(), json!(id));
    }
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}
