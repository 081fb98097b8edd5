//! The JSON schema of the messages, as it is published.

use super::wire::{DecisionAnswer, FilterAnswer, PreFilterAnswer, Request, ScoreAnswer};
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// The file in which it is published.
pub const FILE: &str = "plugins.muster.dev_v1alpha1.json";

/// The schema of what a plugin is asked and of each answer, as text.
#[must_use]
pub fn schema() -> String {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let messages: [Value; 5] = [
        generator.subschema_for::<Request>().to_value(),
        generator.subschema_for::<PreFilterAnswer>().to_value(),
        generator.subschema_for::<FilterAnswer>().to_value(),
        generator.subschema_for::<ScoreAnswer>().to_value(),
        generator.subschema_for::<DecisionAnswer>().to_value(),
    ];
    let document = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://muster.dev/schemas/plugins.muster.dev_v1alpha1.json",
        "title": "Messages between Muster and plugins in other processes",
        "description": "A plugin is sent a Request by POST, and answers with what the point of the \
                        request says.",
        "anyOf": messages,
        "$defs": generator.take_definitions(true),
    });
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}
