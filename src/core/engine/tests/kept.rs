//! What comes and goes leaves nothing behind.

use super::*;
use muster_model::{NodeSpec, Table, Tables};

/// A pod that is like no other: in what it asks for, and where.
fn unlike(name: &str, number: i64, selector: Option<(&str, &str)>) -> PodSpec {
    let mut spec = pod(name, None, 1);
    spec.shape.requests[0].1 += number;
    if let Some((key, value)) = selector {
        spec.shape.constraints.selector = [(key.to_owned(), value.to_owned())].into();
    }
    spec
}

fn tables(story: &Story) -> Tables {
    story.scheduler.stats().tables
}

/// Pods come that are like no others: some run, and some wait for what no node has, or for room. Returns what is
/// kept then.
fn a_round(story: &mut Story, round: i64) -> Tables {
    let mut came = Vec::new();
    for number in 0..20 {
        let number = round * 100 + number;
        let label = format!("label-{number}");
        came.push(story.submit(unlike(&format!("runs-{number}"), number, None)));
        let nowhere = unlike(
            &format!("nowhere-{number}"),
            number,
            Some((&label, "there")),
        );
        came.push(story.submit(nowhere));
        let mut large = unlike(&format!("large-{number}"), number, None);
        large.shape.requests[0].1 += 1_000_000;
        came.push(story.submit(large));
    }
    assert_eq!(story.run().len(), 20, "{round}");
    // Why they wait is asked of all nodes.
    story.later(2_000);
    let full = tables(story);
    for key in came {
        story.tell(Event::Gone(ObjectKey::Pod(key)));
    }
    story.run();
    full
}

#[test]
fn pods_that_are_unlike_all_others_leave_nothing_behind() {
    let mut story = Story::new();
    for index in 0..4 {
        story.node(&format!("n{index}"), 64);
    }
    a_round(&mut story, 0);
    let empty = tables(&story);
    for table in [Table::Pods, Table::Gangs, Table::Shapes, Table::Constraints] {
        assert_eq!(empty.get(table), 0, "{empty:?}");
    }
    for table in [
        Table::Masks,
        Table::Rankings,
        Table::Refusals,
        Table::Spoken,
    ] {
        assert_eq!(empty.get(table), 0, "{empty:?}");
    }
    let mut fullest = Tables::default();
    for round in 1..10 {
        let full = a_round(&mut story, round);
        for table in [Table::Masks, Table::Rankings, Table::Refusals] {
            assert!(full.get(table) >= 20, "{full:?}");
        }
        if round > 1 {
            assert_eq!(full, fullest, "round {round}");
        }
        fullest = full;
        assert_eq!(tables(&story), empty, "round {round}");
    }
}

#[test]
fn gangs_queues_and_nodes_that_come_and_go_leave_nothing_behind() {
    let mut story = Story::new();
    story.node("stays", 64);
    let mut empty = None;
    for round in 0..10 {
        let (queue, node) = (format!("q{round}"), format!("n{round}"));
        story.tell(Event::is(QueueSpec {
            name: queue.clone(),
            ..QueueSpec::default()
        }));
        let mut spec: NodeSpec = muster_model::testing::node(&node, 8);
        spec.labels.insert(format!("of-{round}"), "it".to_owned());
        story.tell(Event::is(spec));
        let mut came = Vec::new();
        for (name, min) in [("runs", 2), ("waits", 3)] {
            let name = format!("{name}-{round}");
            story.define(GangSpec {
                min_available: min,
                queue: Some(queue.clone()),
                ..group(&name)
            });
            for member in 0..2 {
                came.push(story.pod(&format!("{name}-{member}"), Some(&name)));
            }
        }
        assert_eq!(story.run().len(), 2);
        story.later(2_000);
        for key in came {
            story.tell(Event::Gone(ObjectKey::Pod(key)));
        }
        for name in ["runs", "waits"] {
            let gang = key(&format!("{name}-{round}"));
            story.tell(Event::Gone(ObjectKey::Gang(gang, Source::Muster)));
        }
        story.tell(Event::Gone(ObjectKey::Queue(queue)));
        story.tell(Event::Gone(ObjectKey::Node(node)));
        story.run();
        let now = tables(&story);
        let (gangs, queues, nodes) = (Table::Gangs, Table::Queues, Table::Nodes);
        let left = [gangs, queues].map(|table| now.get(table));
        assert_eq!(left, [0, 1], "the default queue: {now:?}");
        assert!(now.get(nodes) <= 2, "{now:?}");
        assert_eq!(*empty.get_or_insert(now), now, "round {round}");
    }
}
