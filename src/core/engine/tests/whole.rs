//! Nodes that are reserved as a whole, for gangs that want them for themselves.

use super::jobs::{Job, job, story};
use super::*;

/// A job with a lifetime in seconds; `None` is for ever.
fn lasting<'a>(name: &'a str, cpus: i64, seconds: Option<u64>) -> Job<'a> {
    Job {
        lifetime: seconds.map(|seconds| seconds * 1_000),
        ..job(name, "default", cpus, 0)
    }
}

/// On one of two nodes of ten CPUs `a` holds two for a minute, on the other `z` holds two for ever. The
/// members of `alone` want a node each for themselves, or for those of their subgroup.
fn world(change: impl FnOnce(&mut GangSpec)) -> Story {
    let mut story = story();
    story.node("n", 10);
    story.job(&lasting("a", 2, Some(60)));
    assert_eq!(names(&story.run()), ["a"]);
    story.node("m", 10);
    story.job(&lasting("z", 10, None));
    assert_eq!(names(&story.run()), ["z"]);
    let mut spec = GangSpec {
        min_available: 1,
        lifetime: Some(Millis(600_000)),
        ..group("alone")
    };
    change(&mut spec);
    story.define(spec);
    story.submit(PodSpec {
        subgroup: Some("main".into()),
        ..pod("alone-0", Some("alone"), 2)
    });
    assert_eq!(names(&story.run()), [""; 0]);
    story
}

#[test]
fn nobody_who_stays_longer_comes_onto_a_node_that_is_reserved_as_a_whole() {
    let of_gang: fn(&mut GangSpec) = |spec| spec.exclusive = true;
    let of_subgroup: fn(&mut GangSpec) = |spec| {
        spec.subgroups = vec![SubgroupSpec {
            name: "main".into(),
            min: 1,
            exclusive: true,
            ..SubgroupSpec::default()
        }];
    };
    for exclusive in [of_gang, of_subgroup] {
        let mut story = world(exclusive);
        let starts = story.scheduler.estimated_start(&key("alone"));
        assert_eq!(starts, Some(Time(60_000)));
        // Both would fit beside what the pods of `alone` ask for.
        story.job(&lasting("longer", 1, Some(61)));
        story.job(&lasting("for-ever", 1, None));
        assert_eq!(names(&story.run()), [""; 0]);
        story.job(&lasting("in-time", 2, Some(60)));
        story.job(&lasting("gives-way", 2, Some(0)));
        assert_eq!(names(&story.run()), ["in-time", "gives-way"]);
        story.pass(60_000);
        story.gone("a");
        story.gone("in-time");
        let (binds, evictions) = story.step();
        assert_eq!((binds.len(), evictions.len()), (0, 1), "it gives way now");
        story.gone("gives-way");
        assert_eq!(names(&story.run()), ["alone-0"]);
    }
}

#[test]
fn all_that_is_free_of_a_node_that_is_reserved_as_a_whole_is_kept() {
    let mut story = world(|spec| spec.exclusive = true);
    let worth: Vec<u64> = story.scheduler.reserved().map(|(_, worth)| worth).collect();
    let node = story.scheduler.state().nodes().find("n").unwrap();
    assert_eq!(worth, [story.scheduler.state().worth_left_on(node)]);
    assert!(worth[0] > 0);
    story.job(&lasting("longer", 1, Some(61)));
    story.run();
    let longer = story.scheduler.waiting_pods();
    let longer = longer.filter(|(pod, _)| pod.name == "longer");
    let words: Vec<_> = longer.map(|(_, words)| words.to_string()).collect();
    assert!(
        words[0].contains("room on 1 node is kept for a/alone"),
        "{words:?}"
    );
}

#[test]
fn who_is_ahead_takes_a_node_that_is_reserved_as_a_whole() {
    let mut story = world(|spec| spec.exclusive = true);
    story.submit(PodSpec {
        priority: Some(1),
        ..pod("ahead", None, 2)
    });
    let plan = story.later(0);
    assert_eq!(plan.onto_kept.len(), 1);
    let one = &plan.onto_kept[0];
    assert_eq!(one.kept_for, key("alone"));
    assert!(one.goes_before);
}
