//! Testbeds, and the pods that stand for their slots.

use super::Reading;
use crate::slices::{self, Whose};
use crate::{crd, names, slim, slots};
use muster_model::{GhostOf, SliceSpec, SlotSpec, TestbedSpec};

/// A Testbed: its slots are those of its status, which its reconciler writes, and of its slices. One that can never
/// be valid has none.
#[must_use]
pub fn testbed(testbed: &crd::Testbed, reading: &Reading) -> TestbedSpec {
    let asked = slots::asked(testbed);
    let said = testbed.status.iter().flat_map(|status| &status.slots);
    let said = said.filter(|slot| reading.sizes.is_within(0, slot));
    let said = said.filter(|_| asked.problems.is_empty());
    TestbedSpec {
        name: testbed.metadata.name.clone().unwrap_or_default(),
        uid: testbed.metadata.uid.clone().unwrap_or_default(),
        slots: said.filter_map(slot).collect(),
        request: asked.request,
        namespace_selector: asked.namespaces,
    }
}

/// A part of a Testbed's slots; of none, if it is not a Testbed's.
#[must_use]
pub fn testbed_slice(slice: &crd::TestbedSlice, reading: &Reading) -> SliceSpec {
    let name = slice.metadata.name.clone().unwrap_or_default();
    let Some(Whose {
        testbed,
        owner,
        first,
    }) = slices::whose(slice)
    else {
        return SliceSpec {
            name,
            ..SliceSpec::default()
        };
    };
    let said = slice.spec.slots.iter();
    let said = said.filter(|slot| reading.sizes.is_within(first, slot));
    SliceSpec {
        name,
        testbed: testbed.to_owned(),
        owner: owner.to_owned(),
        slots: said.filter_map(slot).collect(),
    }
}

fn slot(slot: &crd::Slot) -> Option<SlotSpec> {
    let sits = slot.state == crd::SlotState::Occupied;
    Some(SlotSpec {
        position: u32::try_from(slot.position).ok()?,
        node: slot.node_name.clone(),
        ghost: slot.ghost.clone(),
        occupant: slot.pod_uid.clone().filter(|_| sits).unwrap_or_default(),
    })
}

/// Whose ghost a pod is: it is in the namespace of ghosts, in which only controllers may make pods, and a
/// Testbed controls it. Whether that has a slot for it is for whoever has the table of slots to say.
pub(super) fn ghost_of(pod: &slim::Pod, reading: &Reading) -> Option<GhostOf> {
    let meta = &pod.metadata;
    let ghosts = reading.ghost_namespace.as_str();
    if ghosts.is_empty() || meta.namespace.as_deref() != Some(ghosts) {
        return None;
    }
    let mut owners = meta.owner_references.iter().flatten();
    let owner = owners.find(|one| {
        let group = one.api_version.split_once('/').map(|(group, _)| group);
        one.controller == Some(true) && one.kind == "Testbed" && group == Some(names::GROUP)
    })?;
    Some(GhostOf {
        testbed: owner.uid.clone(),
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "json! reads best as it is")]

    use super::*;
    use crate::convert::pod;
    use muster_model::PodSpec;
    use serde_json::{Value, json};

    fn reading() -> Reading {
        Reading {
            scheduler_names: vec!["muster".to_owned()],
            ghost_namespace: "muster-system".to_owned(),
            ..Reading::default()
        }
    }

    fn read(metadata: Value) -> PodSpec {
        let value = json!({"metadata": metadata, "spec": {"schedulerName": "muster"}});
        pod(&serde_json::from_value(value).unwrap(), &reading())
    }

    fn owner(kind: &str, group: &str, controller: bool) -> Value {
        json!([{
            "apiVersion": format!("{group}/v1alpha1"), "kind": kind, "name": "lab", "uid": "7",
            "controller": controller,
        }])
    }

    #[test]
    fn a_ghost_is_one_by_namespace_and_controller() {
        let is_ghost = |namespace: &str, owners: Value| {
            let found = read(json!({
                "name": "g", "namespace": namespace, "ownerReferences": owners,
                "labels": {"muster.dev/ghost-of": "lab"},
            }));
            found.ghost_of.map(|of| of.testbed)
        };
        let ours = || owner("Testbed", "muster.dev", true);
        assert_eq!(is_ghost("muster-system", ours()).as_deref(), Some("7"));
        assert_eq!(is_ghost("team", ours()), None, "a copied owner reference");
        assert_eq!(
            is_ghost("muster-system", json!([])),
            None,
            "a label is nothing"
        );
        for other in [
            owner("Testbed", "muster.dev", false),
            owner("Testbed", "example.com", true),
            owner("Job", "muster.dev", true),
        ] {
            assert_eq!(is_ghost("muster-system", other), None);
        }
    }

    #[test]
    fn a_claim_that_is_no_list_of_slots_is_said_and_the_pod_waits() {
        let claim = |slots: Value| {
            let mut labels = json!({"muster.dev/testbed": "lab"});
            if !slots.is_null() {
                labels["muster.dev/slots"] = slots;
            }
            read(json!({"name": "p", "namespace": "team", "labels": labels}))
        };
        let found = claim(json!("4_0"));
        let claimed = found.shape.claim.unwrap();
        assert_eq!((&*claimed.namespace, &*claimed.testbed), ("team", "lab"));
        assert_eq!(
            (&*claimed.positions, found.unsupported.len()),
            (&[0, 4][..], 0)
        );
        for odd in ["0_0", "-1", "a", "0_", "99999999999"] {
            let found = claim(json!(odd));
            assert_eq!(found.shape.claim, None, "{odd}");
            let said = &found.unsupported[..];
            assert!(said[0].contains("muster.dev/slots"), "{odd}: {said:?}");
        }
        assert_eq!(claim(Value::Null).unsupported.len(), 1);
    }

    #[test]
    fn the_slots_of_a_testbed_are_those_of_its_status() {
        let read = |cpu: &str| {
            let value = json!({
                "apiVersion": "muster.dev/v1alpha1", "kind": "Testbed",
                "metadata": {"name": "lab", "uid": "7"},
                "spec": {"nodeLabel": "lab", "slotsPerNode": 1, "resourcesPerSlot": {"cpu": cpu}},
                "status": {"slots": [
                    {"position": 0, "nodeName": "n0", "nodeId": "0", "nodePosition": 0, "ghost": "g0",
                     "state": "Free", "podUid": "ghost"},
                    {"position": 1, "nodeName": "n1", "nodeId": "1", "nodePosition": 0, "ghost": "g1",
                     "state": "Occupied", "podUid": "pod"},
                ]},
            });
            testbed(&serde_json::from_value(value).unwrap(), &reading())
        };
        let found = read("2");
        assert_eq!(found.request, [("cpu".to_owned(), 2_000)]);
        let slots: Vec<_> = found
            .slots
            .iter()
            .map(|one| (one.position, &*one.node))
            .collect();
        assert_eq!(slots, [(0, "n0"), (1, "n1")]);
        let sits: Vec<_> = found.slots.iter().map(|one| &*one.occupant).collect();
        assert_eq!(sits, ["", "pod"], "a ghost sits nowhere");
        assert_eq!(read("-2").slots, []);
    }

    #[test]
    fn a_slice_has_the_slots_of_its_part_and_none_if_it_is_nobodys() {
        let read = |name: &str, kind: &str| {
            let slots: Vec<Value> = [999, 1_000, 1_249, 1_250]
                .iter()
                .map(|position| {
                    json!({"position": position, "nodeName": "n", "nodeId": "0", "nodePosition": 0,
                           "ghost": format!("g{position}"), "state": "Free"})
                })
                .collect();
            let value = json!({
                "apiVersion": "muster.dev/v1alpha1", "kind": "TestbedSlice",
                "metadata": {"name": name, "ownerReferences": owner(kind, "muster.dev", true)},
                "spec": {"testbed": "lab", "slots": slots},
            });
            let found = testbed_slice(&serde_json::from_value(value).unwrap(), &reading());
            assert_eq!(found.name, name);
            let positions = found.slots.iter().map(|slot| slot.position);
            (
                found.testbed.clone(),
                found.owner.clone(),
                Vec::from_iter(positions),
            )
        };
        let lab = |positions: &[u32]| ("lab".to_owned(), "7".to_owned(), positions.to_vec());
        assert_eq!(read("lab.1000", "Testbed"), lab(&[1_000, 1_249]));
        assert_eq!(read("lab.1001", "Testbed"), lab(&[]));
        assert_eq!(read("other.1000", "Testbed"), Default::default());
        assert_eq!(read("lab.1000", "Job"), Default::default());
    }
}
