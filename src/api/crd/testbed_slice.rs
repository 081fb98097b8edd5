//! TestbedSlice: the slots of a Testbed that its status has no room for.
#![expect(
    unreachable_pub,
    reason = "the schema derive puts a copy of each type inside a function"
)]

use super::testbed::Slot;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// Slots of a Testbed beyond those in its status. Its controller alone writes them.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "muster.dev",
    version = "v1alpha1",
    kind = "TestbedSlice",
    plural = "testbedslices",
    doc = "Slots of a Testbed that its status has no room for.",
    shortname = "mtbs",
    category = "muster",
    derive = "PartialEq",
    printcolumn(name = "Testbed", type_ = "string", json_path = ".spec.testbed"),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct TestbedSliceSpec {
    /// The Testbed that they are of.
    pub testbed: String,
    /// The slots, by their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<Slot>,
}
