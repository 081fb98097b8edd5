//! The slots of testbeds, as their status says.

use crate::server::Server;
use muster_api::crd::{self, SlotState};
use serde::Serialize;

/// One testbed.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TestbedReport {
    /// Name.
    pub name: String,
    /// Its slots, by position.
    pub slots: Vec<SlotReport>,
}

/// One slot.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SlotReport {
    /// Its number.
    pub position: i32,
    /// Its node.
    pub node: String,
    /// Which of the slots of its node it is.
    pub node_position: i32,
    /// `Free`, `Reserved` or `Occupied`.
    pub state: &'static str,
    /// Who is there: its ghost while it is free, as `namespace/name`.
    pub pod: Option<String>,
}

/// All testbeds.
pub(super) fn testbeds(server: &Server) -> Vec<TestbedReport> {
    let report = |testbed: crd::Testbed| {
        let slots = testbed.status.into_iter().flat_map(|status| status.slots);
        TestbedReport {
            name: testbed.metadata.name.unwrap_or_default(),
            slots: slots.map(slot).collect(),
        }
    };
    server.testbeds().map(report).collect()
}

fn slot(slot: crd::Slot) -> SlotReport {
    let pod = slot.pod_namespace.zip(slot.pod_name);
    SlotReport {
        position: slot.position,
        node: slot.node_name,
        node_position: slot.node_position,
        state: match slot.state {
            SlotState::Free => "Free",
            SlotState::Reserved => "Reserved",
            SlotState::Occupied => "Occupied",
        },
        pod: pod.map(|(namespace, name)| format!("{namespace}/{name}")),
    }
}
