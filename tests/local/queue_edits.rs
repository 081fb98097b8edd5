//! Any sequence of edits of queues ends in the state that the last of each gives alone.

use muster::core::engine::Scheduler;
use muster::model::ObjectKey;
use muster::model::units::Time;
use muster::model::{Event, NodeSpec, PodKey, PodPhase, PodSpec, QueueSpec, ShapeSpec};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// What a queue is declared as.
#[derive(Clone, Debug)]
struct Declared {
    parent: Option<u8>,
    weight: u32,
    tier: i32,
    limit: Option<i64>,
    guaranteed: Option<i64>,
    is_open: bool,
}

/// A queue is declared, anew or not, or taken back.
type Edit = (u8, Option<Declared>);

fn declared() -> impl Strategy<Value = Declared> {
    let amount = || prop::option::of(0..20_i64);
    let all = (
        prop::option::of(0..5_u8),
        1..4_u32,
        0..2_i32,
        amount(),
        amount(),
        any::<bool>(),
    );
    all.prop_map(
        |(parent, weight, tier, limit, guaranteed, is_open)| Declared {
            parent,
            weight,
            tier,
            limit,
            guaranteed,
            is_open,
        },
    )
}

fn edit() -> impl Strategy<Value = Edit> {
    (0..5_u8, prop::option::weighted(0.8, declared()))
}

fn name(index: u8) -> String {
    format!("q{index}")
}

fn spec(index: u8, declared: &Declared) -> QueueSpec {
    let amounts = |amount: Option<i64>| amount.map(|one| ("cpu".to_owned(), one * 1_000));
    QueueSpec {
        name: name(index),
        uid: name(index),
        parent: declared.parent.map(name),
        weight: declared.weight,
        tier: declared.tier,
        limit: amounts(declared.limit).into_iter().collect(),
        guaranteed: amounts(declared.guaranteed).into_iter().collect(),
        is_open: declared.is_open,
        ..QueueSpec::default()
    }
}

/// A scheduler with a node, and in each queue a pod that runs.
fn world() -> Scheduler {
    let mut scheduler = Scheduler::default();
    let mut tell = |event| scheduler.apply(Time::ZERO, event);
    tell(Event::is(NodeSpec {
        name: "n".into(),
        allocatable: vec![("cpu".into(), 100_000), ("pods".into(), 110)],
        ..NodeSpec::default()
    }));
    for index in 0..5 {
        tell(Event::is(PodSpec {
            key: PodKey {
                namespace: "ns".into(),
                name: name(index),
                uid: name(index),
            },
            ours: true,
            queue: Some(name(index)),
            node: Some("n".into()),
            phase: PodPhase::Running,
            shape: ShapeSpec {
                requests: vec![("cpu".into(), 1_000)],
                ..ShapeSpec::default()
            },
            ..PodSpec::default()
        }));
    }
    scheduler
}

fn apply(scheduler: &mut Scheduler, (index, declared): &Edit) {
    let event = match declared {
        Some(declared) => Event::is(spec(*index, declared)),
        None => Event::Gone(ObjectKey::Queue(name(*index))),
    };
    scheduler.apply(Time::ZERO, event);
}

/// All that is known of the queues, in words.
fn queues(scheduler: &mut Scheduler) -> BTreeMap<String, String> {
    scheduler.cycle(Time::ZERO);
    scheduler.audit().unwrap();
    let queues = scheduler.state().queues();
    let known = queues.iter().map(|(_, queue)| {
        let name = |id| queues.get(id).map(|one| one.name.clone());
        let children: Vec<_> = queue.children.iter().filter_map(|id| name(*id)).collect();
        let mut children = children;
        children.sort();
        let words = format!(
            "{:?} {:?} {:?} {:?} {:?} {children:?} {:?}",
            queue.spec,
            queue.limit,
            queue.guaranteed,
            queue.parent.and_then(name),
            queue.misplaced,
            (
                queue.account.share,
                &queue.account.held,
                queue.account.usage
            ),
        );
        (queue.name.to_string(), words)
    });
    known.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn edits_end_in_what_the_last_of_each_queue_gives_alone(
        edits in prop::collection::vec(edit(), 1..30),
        looks in prop::collection::vec(any::<bool>(), 30),
    ) {
        let mut edited = world();
        let mut last = BTreeMap::new();
        for (edit, look) in edits.iter().zip(looks) {
            apply(&mut edited, edit);
            last.insert(edit.0, edit.1.clone());
            if look {
                queues(&mut edited);
            }
        }
        let mut fresh = world();
        for (index, declared) in last {
            if declared.is_some() {
                apply(&mut fresh, &(index, declared));
            }
        }
        prop_assert_eq!(queues(&mut edited), queues(&mut fresh));
    }
}
