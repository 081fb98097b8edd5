//! Whatever comes in whatever order: what is kept is what a recount gives, and what was tried leaves
//! nothing behind.

use crate::state::{ClusterState, Id, NodeId, Place, PodId};
use muster_model::Object;
use muster_model::ObjectKey;
use muster_model::testing::{node, pod};
use muster_model::units::Time;
use muster_model::{
    AccessModes, AttachmentSpec, BindingMode, ClaimKey, ClaimRef, ClaimSpec, CsiDriverSpec,
    CsiNodeSpec, Disk, Event, HOSTNAME, Handle, NodeSpec, Operator, PodSpec, PodVolume,
    Requirement, StorageCapacitySpec, StorageClassSpec, Term, VolumeSpec,
};
use proptest::prelude::*;

fn key(index: u8) -> ClaimKey {
    ClaimKey {
        namespace: "a".to_owned(),
        name: format!("c{index}"),
    }
}

fn on_host(host: u8) -> Vec<Term> {
    vec![Term {
        labels: vec![Requirement {
            key: HOSTNAME.to_owned(),
            operator: Operator::In,
            values: vec![format!("n{host}")],
        }],
        fields: Vec::new(),
    }]
}

fn claims() -> impl Strategy<Value = Object> {
    let size = prop::option::of(1..4_i64);
    let more = (any::<bool>(), prop::option::of(0..3_u8), any::<bool>());
    (0..4_u8, 0..2_u8, size, prop::option::of(0..4_u8), more).prop_map(
        |(name, class, size, volume, (bound, selected, alone))| {
            Object::from(ClaimSpec {
                key: key(name),
                uid: format!("uid-{name}"),
                class: format!("class{class}"),
                volume: volume.map(|one| format!("v{one}")).unwrap_or_default(),
                bind_completed: bound,
                selected_node: selected.map(|one| format!("n{one}")),
                size,
                modes: if alone {
                    AccessModes::READ_WRITE_ONCE_POD
                } else {
                    AccessModes::READ_WRITE_ONCE
                },
                ..ClaimSpec::default()
            })
        },
    )
}

fn volumes() -> impl Strategy<Value = Object> {
    let host = prop::option::of(0..3_u8);
    let claim = prop::option::of(0..4_u8);
    (0..4_u8, 0..2_u8, 1..4_i64, host, claim).prop_map(|(name, class, size, host, claim)| {
        Object::from(VolumeSpec {
            name: format!("v{name}"),
            class: format!("class{class}"),
            size,
            modes: AccessModes::READ_WRITE_ONCE.with(AccessModes::READ_WRITE_ONCE_POD),
            available: claim.is_none(),
            claim: claim.map(|one| ClaimRef {
                key: key(one),
                uid: String::new(),
            }),
            affinity: host.map(on_host),
            handle: Some(Handle {
                driver: format!("driver{class}"),
                handle: format!("h{name}"),
                in_tree: None,
            }),
            ..VolumeSpec::default()
        })
    })
}

fn others() -> impl Strategy<Value = Event> {
    let class = (0..2_u8, any::<bool>(), any::<bool>()).prop_map(|(name, late, made)| {
        Object::from(StorageClassSpec {
            name: format!("class{name}"),
            provisioner: if made {
                format!("driver{name}")
            } else {
                String::new()
            },
            mode: if late {
                BindingMode::WaitForFirstConsumer
            } else {
                BindingMode::Immediate
            },
            topologies: Vec::new(),
        })
    });
    let driver = (0..2_u8, any::<bool>(), any::<bool>()).prop_map(|(name, tracks, must)| {
        Object::from(CsiDriverSpec {
            name: format!("driver{name}"),
            tracks_capacity: tracks,
            must_be_installed: must,
        })
    });
    let csi = (0..3_u8, prop::option::of(0..3_u32)).prop_map(|(name, limit)| {
        Object::from(CsiNodeSpec {
            name: format!("n{name}"),
            drivers: [("driver0".to_owned(), limit)].into(),
            migrated: [].into(),
        })
    });
    let capacity = (0..2_u8, 0..2_u8, 0..6_i64).prop_map(|(name, class, size)| {
        Object::from(StorageCapacitySpec {
            key: key(name),
            class: format!("class{class}"),
            nodes: Some(on_host(name).swap_remove(0).labels),
            capacity: Some(size),
            largest: None,
        })
    });
    let attachment = (0..3_u8, 0..4_u8).prop_map(|(node, volume)| {
        Object::from(AttachmentSpec {
            name: format!("attachment{volume}"),
            node: format!("n{node}"),
            driver: "driver0".to_owned(),
            volume: format!("v{volume}"),
        })
    });
    let gone = prop_oneof![
        (0..4_u8).prop_map(|one| ObjectKey::Claim(key(one))),
        (0..4_u8).prop_map(|one| ObjectKey::Volume(format!("v{one}"))),
        (0..2_u8).prop_map(|one| ObjectKey::StorageClass(format!("class{one}"))),
        (0..2_u8).prop_map(|one| ObjectKey::StorageCapacity(key(one))),
        (0..4_u8).prop_map(|one| ObjectKey::VolumeAttachment(format!("attachment{one}"))),
    ];
    let is = prop_oneof![class, driver, csi, capacity, attachment].prop_map(Event::Is);
    prop_oneof![5 => is, 1 => gone.prop_map(Event::Gone)]
}

/// Something that happens.
#[derive(Clone, Debug)]
enum Step {
    Store(Event),
    Pod(u8, Vec<PodVolume>, Option<u8>),
    Gone(u8),
    /// Pods are put on nodes, and taken off again if that is only tried.
    Place(Vec<(u8, u8)>, bool),
}

fn steps() -> impl Strategy<Value = Step> {
    let store = prop_oneof![3 => claims().prop_map(Event::Is), 3 => volumes().prop_map(Event::Is), 2 => others()];
    let disk = any::<bool>().prop_map(|read_only| {
        PodVolume::Disk(Disk::Gce {
            name: "d".to_owned(),
            read_only,
        })
    });
    let by_claim = prop_oneof![
        4 => (0..4_u8).prop_map(|one| PodVolume::Claim(format!("c{one}"))),
        1 => (0..4_u8).prop_map(|one| PodVolume::Ephemeral(format!("c{one}"))),
        1 => disk,
    ];
    let used = prop::collection::vec(by_claim, 0..3);
    prop_oneof![
        4 => store.prop_map(Step::Store),
        3 => (0..4_u8, used, prop::option::of(0..3_u8))
            .prop_map(|(pod, volumes, node)| Step::Pod(pod, volumes, node)),
        1 => (0..4_u8).prop_map(Step::Gone),
        3 => (prop::collection::vec((0..4_u8, 0..3_u8), 1..4), any::<bool>())
            .prop_map(|(places, keeps)| Step::Place(places, keeps)),
    ]
}

fn spec(index: u8) -> PodSpec {
    pod(&format!("p{index}"), Some("g"), 1)
}

/// All that is known of storage, to be compared.
fn known(state: &ClusterState) -> String {
    format!("{:?}", state.volumes)
}

fn places(state: &ClusterState, wanted: &[(u8, u8)]) -> Vec<(PodId, NodeId)> {
    let mut found: Vec<(PodId, NodeId)> = Vec::new();
    for (pod, node) in wanted {
        let Some(id) = state.find_pod(&spec(*pod).key) else {
            continue;
        };
        let waits = state.pod(id).is_some_and(|pod| pod.place == Place::None);
        if waits && found.iter().all(|(one, _)| *one != id) {
            found.push((id, NodeId::from_index(usize::from(*node))));
        }
    }
    found
}

proptest! {
    #[test]
    fn what_is_kept_of_volumes_is_what_a_recount_gives(
        steps in prop::collection::vec(steps(), 1..40),
    ) {
        let mut state = ClusterState::default();
        for index in 0..3 {
            let name = format!("n{index}");
            let spec = NodeSpec {
                labels: [(HOSTNAME.to_owned(), name.clone())].into(),
                ..node(&name, 8)
            };
            state.apply(Time::ZERO, Event::is(spec));
        }
        for step in steps {
            match step {
                Step::Store(event) => state.apply(Time::ZERO, event),
                Step::Pod(index, volumes, node) => {
                    let node = node.map(|node| format!("n{node}"));
                    let spec = PodSpec { volumes, node, ..spec(index) };
                    state.apply(Time::ZERO, Event::is(spec));
                }
                Step::Gone(index) => {
                    state.apply(Time::ZERO, Event::Gone(ObjectKey::Pod(spec(index).key)));
                }
                Step::Place(wanted, keeps) => {
                    let before = known(&state);
                    let wanted = places(&state, &wanted);
                    for (pod, node) in &wanted {
                        state.assume(*pod, *node);
                        if let Err(error) = state.audit() {
                            prop_assert!(false, "{}", error);
                        }
                    }
                    if !keeps {
                        wanted.iter().rev().for_each(|(pod, _)| state.unassume(*pod));
                        prop_assert_eq!(before, known(&state));
                    }
                }
            }
            if let Err(error) = state.audit() {
                prop_assert!(false, "{}", error);
            }
        }
    }
}
