//! What the published schema says of values: as much of the types' own rules as a schema can say. The rest is said by
//! `muster config check`.

use super::{
    Address, Bounded, CoresWorth, ExtendedResource, HttpUrl, LabelKey, ObjectName, PluginName,
    PluginOrAll, Point, RemoteName, SchedulerName, Span, Timeout,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

/// A duration as Go writes it.
const DURATION: &str = r"^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$";

/// Implements it for a type whose schema stands where it is used.
macro_rules! says {
    ($type:ty, $name:literal, $schema:expr $(, for [$($parameters:tt)*])?) => {
        impl$(<$($parameters)*>)? JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

says!(
    Bounded<MIN, MAX, DEFAULT>,
    "Number",
    json_schema!({"type": "integer", "minimum": MIN, "maximum": MAX}),
    for [const MIN: u32, const MAX: u32, const DEFAULT: u32]
);
says!(
    Span<MIN, MAX, DEFAULT>,
    "Duration",
    json_schema!({"type": "string", "maxLength": 64, "pattern": DURATION}),
    for [const MIN: u64, const MAX: u64, const DEFAULT: u64]
);
says!(
    Timeout<DEFAULT>,
    "Timeout",
    json_schema!({"type": "string", "maxLength": 64, "pattern": DURATION}),
    for [const DEFAULT: u64]
);
says!(
    CoresWorth,
    "CoresWorth",
    json_schema!({"type": "number", "minimum": 0, "maximum": 1_000_000})
);
says!(
    SchedulerName,
    "SchedulerName",
    json_schema!({"type": "string", "minLength": 1, "maxLength": 253, "pattern": r"^\S+$"})
);
says!(
    ObjectName,
    "ObjectName",
    json_schema!({
        "type": "string", "maxLength": 253,
        "pattern": r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$",
    })
);
says!(
    LabelKey,
    "LabelKey",
    json_schema!({
        "type": "string",
        "pattern": r"^([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$",
    })
);
says!(
    ExtendedResource,
    "ExtendedResource",
    json_schema!({
        "type": "string",
        "pattern": r"^[a-z0-9.-]{1,253}/[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$",
    })
);
says!(
    Address,
    "Address",
    json_schema!({"type": "string", "pattern": r"^\S+:[0-9]{1,5}$"})
);
says!(
    RemoteName,
    "RemoteName",
    json_schema!({"type": "string", "pattern": "^[A-Za-z0-9._-]{1,63}$"})
);
says!(
    HttpUrl,
    "Url",
    json_schema!({"type": "string", "pattern": "^https?://[^/@]"})
);
says!(
    PluginName<P>,
    "Plugin",
    json_schema!({"type": "string", "enum": P::known()}),
    for [P: Point]
);
says!(
    PluginOrAll<P>,
    "PluginOrAll",
    json_schema!({"type": "string", "enum": ([vec!["*"], P::known()].concat())}),
    for [P: Point]
);
