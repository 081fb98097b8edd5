//! What may happen to a small world of few names, so that things meet.

use proptest::prelude::*;

/// One thing that happens.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Node {
        index: u8,
        cpus: u8,
        gpus: u8,
        tainted: bool,
    },
    NodeGone(u8),
    /// A PodGroup is made, or edited in some fields; `said` is what it says by lot, field by field.
    Group {
        index: u8,
        min: u8,
        split: bool,
        queue: Option<u8>,
        priority: u8,
        lifetime: u8,
        said: Vec<u8>,
    },
    /// One that is there is edited in a field or two: it runs, waits or ends.
    GroupEdit {
        index: u8,
        said: Vec<u8>,
    },
    GroupGone(u8),
    /// It is deleted, and made again under its name as it was.
    GroupAgain(u8),
    Pod {
        index: u8,
        group: Option<u8>,
        cpus: u8,
        gated: bool,
        company: u8,
    },
    PodGone(u8),
    /// A watch tells that it runs.
    PodRuns(u8),
    PodEnds {
        index: u8,
        well: bool,
    },
    /// A queue is made or edited in all its fields.
    Queue {
        index: u8,
        said: Vec<u8>,
    },
    QueueGone(u8),
    /// Volcano's PodGroup of a name, a pod of its scheduler, and whose the namespace's groups are.
    Others {
        group: u8,
        what: u8,
    },
    /// Racks, of which members are to be near each other.
    Topology(bool),
    /// Answer the oldest open order: well, refused, failed or gone.
    Answer(u8),
    /// Another scheduler starts anew: it knows what the API server has. Of the open orders some were
    /// carried out.
    Restart,
    Cycle {
        later_ms: u32,
    },
}

/// So many pods there are by name.
pub(crate) const PODS: u8 = 12;
/// So many PodGroups.
pub(crate) const GROUPS: u8 = 3;
/// So many queues.
pub(crate) const QUEUES: u8 = 4;

fn said(most: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..most)
}

fn group_step() -> impl Strategy<Value = Step> {
    let queue = prop::option::weighted(0.2, 0..QUEUES);
    let said = prop_oneof![Just(Vec::new()), said(16)];
    let rest = (queue, 0..3_u8, 0..4_u8, said);
    (0..GROUPS, 1..4_u8, any::<bool>(), rest).prop_map(|(index, min, split, rest)| {
        let (queue, priority, lifetime, said) = rest;
        Step::Group {
            index,
            min,
            split,
            queue,
            priority,
            lifetime,
            said,
        }
    })
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..4_u8, 1..5_u8, prop_oneof![3 => Just(0), 1 => 1..3_u8], prop::bool::weighted(0.1))
            .prop_map(|(index, cpus, gpus, tainted)| Step::Node { index, cpus, gpus, tainted }),
        1 => (0..4_u8).prop_map(Step::NodeGone),
        2 => group_step(),
        2 => (0..GROUPS, said(6)).prop_map(|(index, said)| Step::GroupEdit { index, said }),
        1 => (0..GROUPS).prop_map(Step::GroupGone),
        1 => (0..GROUPS).prop_map(Step::GroupAgain),
        6 => (
            0..PODS,
            prop::option::weighted(0.8, 0..GROUPS),
            1..4_u8,
            prop::bool::weighted(0.1),
            0..18_u8,
        )
            .prop_map(|(index, group, cpus, gated, company)| Step::Pod {
                index, group, cpus, gated, company,
            }),
        2 => (0..PODS).prop_map(Step::PodGone),
        1 => (0..PODS).prop_map(Step::PodRuns),
        1 => (0..PODS, any::<bool>()).prop_map(|(index, well)| Step::PodEnds { index, well }),
        1 => (0..QUEUES, said(14)).prop_map(|(index, said)| Step::Queue { index, said }),
        1 => (0..QUEUES).prop_map(Step::QueueGone),
        2 => (0..GROUPS, 0..8_u8).prop_map(|(group, what)| Step::Others { group, what }),
        1 => any::<bool>().prop_map(Step::Topology),
        8 => (0..10_u8).prop_map(Step::Answer),
        1 => prop::bool::weighted(0.3).prop_map(|again| {
            if again { Step::Restart } else { Step::Answer(9) }
        }),
        8 => (0..3000_u32).prop_map(|later_ms| Step::Cycle { later_ms }),
        1 => (200_000..400_000_u32).prop_map(|later_ms| Step::Cycle { later_ms }),
    ]
}
