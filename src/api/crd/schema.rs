//! Schemas that the types cannot say by themselves.

use schemars::{Schema, SchemaGenerator, json_schema};

/// What Kubernetes' own definitions accept as a quantity.
const QUANTITY: &str =
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]+))?$";

/// A map of quantities, each a text or a whole number.
pub(super) fn quantities(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 64,
        "additionalProperties": {
            "pattern": QUANTITY,
            "x-kubernetes-int-or-string": true,
        },
    })
}

/// An object of which others say what may be in it.
pub(super) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
    })
}
