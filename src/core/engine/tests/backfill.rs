//! Who may run ahead of the head of a queue that does not fit.

use super::jobs::{Job, job, story};
use super::*;
use muster_model::{QueueOrder, Reservation};

/// A job with a lifetime in seconds.
const fn lasting<'a>(name: &'a str, cpus: i64, seconds: u64) -> Job<'a> {
    Job {
        lifetime: Some(seconds * 1_000),
        ..job(name, "default", cpus, 0)
    }
}

impl Story {
    /// The queue `default`, with another rule.
    fn rule(&mut self, change: impl FnOnce(&mut QueueSpec)) {
        let mut spec = QueueSpec {
            uid: "default".into(),
            over_share: 1_000_000,
            excess_budget: Some(u64::MAX),
            ..QueueSpec::default()
        };
        change(&mut spec);
        self.tell(Event::is(spec));
    }

    /// Submits jobs one after the other, a cycle each; who of them starts at once.
    fn starts(&mut self, jobs: &[Job<'_>]) -> Vec<String> {
        let mut started = Vec::new();
        for one in jobs {
            self.job(one);
            let binds = self.run();
            started.extend(binds.iter().map(|bind| bind.pod.name.clone()));
        }
        started
    }

    fn estimate(&self, name: &str) -> Option<Time> {
        let key = self.single(name);
        self.scheduler.estimated_start(&key)
    }

    fn single(&self, name: &str) -> GangKey {
        let mut gangs = self.scheduler.state().gangs();
        let of = |gang: &GangKey| gang.name.ends_with(name);
        let found = gangs.find(|(_, gang)| of(&gang.key));
        found.unwrap().1.key.clone()
    }

    fn waits_for(&self, name: &str) -> String {
        let why = self.scheduler.why(&self.single(name));
        why.map_or_else(String::new, |(_, message)| message.to_string())
    }
}

/// The classic case: on 100 CPUs A holds 60 for a minute, and B wants 80.
#[test]
fn who_ends_in_time_or_leaves_the_place_alone_runs_ahead_and_nobody_else() {
    let mut story = story();
    story.node("n", 100);
    let all = [
        lasting("a", 60, 60),
        lasting("b", 80, 600),
        lasting("c", 40, 30),
        lasting("d", 40, 90),
    ];
    assert_eq!(story.starts(&all), ["a", "c"]);
    assert_eq!(story.estimate("b"), Some(Time(60_000)));
    assert!(
        story
            .waits_for("d")
            .ends_with("(room on 1 node is kept for a/b)")
    );
    // C has ended, and nobody who takes more than 20 for longer than until B starts may have its room.
    story.pass(30_000);
    story.gone("c");
    assert_eq!(names(&story.run()), [""; 0]);
    assert_eq!(story.starts(&[lasting("e", 20, 90)]), ["e"]);
    assert_eq!(
        story.starts(&[lasting("f", 1, 90), lasting("g", 20, 30)]),
        ["g"]
    );
    story.pass(30_000);
    story.gone("a");
    story.gone("g");
    assert_eq!(names(&story.run()), ["b"]);
}

#[test]
fn the_place_of_each_head_is_kept_of_48_queues() {
    const QUEUES: usize = 48;
    let mut story = story();
    for index in 0..QUEUES {
        story.node(&format!("n{index}"), 4);
        story.tell(Event::is(QueueSpec {
            name: format!("q{index}"),
            uid: format!("q{index}"),
            over_share: 1_000_000,
            excess_budget: Some(u64::MAX),
            ..QueueSpec::default()
        }));
        story.job(&lasting(&format!("runs-{index}"), 3, 60));
    }
    assert_eq!(story.run().len(), QUEUES);
    for index in 0..QUEUES {
        let queue = format!("q{index}");
        story.job(&Job {
            queue: &queue,
            ..lasting(&format!("head-{index}"), 4, 60)
        });
    }
    assert_eq!(story.run().len(), 0);
    assert_eq!(story.scheduler.stats().claims, [0, 0, 0, 0, QUEUES, 0]);
    // Each node has room for one more, and is to be free of it in time.
    assert_eq!(
        story.starts(&[lasting("late", 1, 90), lasting("in-time", 1, 50)]),
        ["in-time"]
    );
}

#[test]
fn past_its_lifetime_a_gang_goes_for_the_reservation_whose_time_has_come() {
    let mut story = story();
    story.node("n", 10);
    assert_eq!(
        story.starts(&[lasting("a", 6, 60), lasting("b", 8, 60)]),
        ["a"]
    );
    story.pass(60_000);
    assert_eq!(
        story.evicted(),
        [""; 0],
        "it may end by itself at that moment"
    );
    story.pass(1_000);
    assert_eq!(story.evicted(), ["a"]);
    story.gone("a");
    assert_eq!(names(&story.run()), ["b"]);
}

#[test]
fn a_place_is_held_although_nobody_knows_when_it_is_free_once_the_head_has_waited() {
    let mut story = story();
    story.node("n", 4);
    let endless = |name, cpus| job(name, "default", cpus, 0);
    let first = [endless("a", 2), endless("b", 4), endless("c", 1)];
    assert_eq!(story.starts(&first), ["a", "c"]);
    story.pass(300_000);
    story.run();
    assert_eq!(story.estimate("b"), None);
    assert!(
        story
            .waits_for("b")
            .contains("nobody knows when it will be free")
    );
    assert_eq!(
        story.starts(&[endless("d", 1), lasting("e", 1, 1)]),
        [""; 0]
    );
    // Who gives way at any time may have it even then.
    assert_eq!(story.starts(&[lasting("f", 1, 0)]), ["f"]);
}

#[test]
fn in_a_queue_by_submission_a_place_is_held_from_the_start() {
    let mut story = story();
    story.node("n", 4);
    story.rule(|queue| queue.order = QueueOrder::Fifo);
    let endless = |name, cpus, priority| job(name, "default", cpus, priority);
    let all = [endless("a", 2, 0), endless("b", 4, 0), endless("c", 1, 9)];
    assert_eq!(story.starts(&all), ["a"]);
}

#[test]
fn without_reservation_everybody_who_fits_passes() {
    let mut story = story();
    story.node("n", 10);
    story.rule(|queue| queue.reservation = Reservation::None);
    let all = [
        lasting("a", 6, 60),
        lasting("b", 8, 60),
        lasting("c", 4, 600),
    ];
    assert_eq!(story.starts(&all), ["a", "c"]);
}

#[test]
fn with_a_strict_reservation_nobody_of_the_queue_passes_and_others_who_do_no_harm_do() {
    let mut story = story();
    story.node("n", 10);
    story.rule(|queue| queue.reservation = Reservation::Strict);
    let all = [lasting("a", 6, 60), lasting("b", 8, 60), lasting("c", 1, 1)];
    assert_eq!(story.starts(&all), ["a"]);
    let of_another = |name, cpus, seconds| Job {
        queue: "other",
        ..lasting(name, cpus, seconds)
    };
    let others = [
        of_another("d", 1, 600),
        of_another("e", 2, 600),
        of_another("f", 2, 30),
    ];
    assert_eq!(story.starts(&others), ["d", "f"]);
    assert!(story.waits_for("c").contains("nobody may pass them"));
    // What became free early is part of its place.
    story.gone("a");
    assert_eq!(names(&story.run()), [""; 0]);
    story.gone("f");
    assert_eq!(names(&story.run()), ["b", "c"]);
}

#[test]
fn a_reservation_moves_when_somebody_leaves_earlier_or_stays_longer() {
    let mut story = story();
    story.node("n", 10);
    let all = [
        lasting("a", 4, 60),
        lasting("b", 4, 120),
        lasting("c", 10, 60),
    ];
    assert_eq!(story.starts(&all), ["a", "b"]);
    assert_eq!(story.estimate("c"), Some(Time(120_000)));
    story.gone("b");
    story.run();
    assert_eq!(story.estimate("c"), Some(Time(60_000)));
    assert_eq!(story.starts(&[lasting("x", 2, 70)]), [""; 0]);
    story.job(&Job {
        lifetime: Some(90_000),
        ..lasting("a", 4, 0)
    });
    story.run();
    assert_eq!(story.estimate("c"), Some(Time(90_000)));
    assert_eq!(names(&story.run()), ["x"], "it ends before that");
}

#[test]
fn what_other_schedulers_pods_hold_is_never_a_promise() {
    let mut story = story();
    story.node("n", 10);
    story.submit(PodSpec {
        ours: false,
        node: Some("n".into()),
        phase: PodPhase::Running,
        lifetime: Some(Millis(1_000)),
        ..pod("theirs", None, 6)
    });
    assert_eq!(
        story.starts(&[lasting("a", 8, 60), lasting("b", 2, 600)]),
        ["b"]
    );
    story.pass(300_000);
    story.run();
    assert_eq!(story.estimate("a"), None);
    assert_eq!(story.starts(&[lasting("c", 1, 600)]), ["c"]);
}

#[test]
fn a_gang_that_could_not_run_on_the_empty_cluster_reserves_nothing() {
    let mut story = story();
    story.node("n", 10);
    story.rule(|queue| queue.reserve_after = Millis(0));
    let all = [
        lasting("a", 6, 60),
        lasting("giant", 11, 60),
        lasting("b", 8, 60),
        lasting("c", 4, 90),
    ];
    assert_eq!(story.starts(&all), ["a"], "the next one counts as the head");
    assert_eq!(story.estimate("giant"), None);
    assert_eq!(story.estimate("b"), Some(Time(60_000)));
}

#[test]
fn the_place_of_a_head_on_a_node_that_dies_is_found_anew() {
    let mut story = story();
    story.node("n", 10);
    story.node("m", 8);
    let all = [
        lasting("a", 10, 60),
        lasting("b", 8, 90),
        lasting("c", 10, 60),
    ];
    assert_eq!(story.starts(&all), ["a", "b"]);
    assert_eq!(story.estimate("c"), Some(Time(60_000)));
    story.tell(Event::Gone(ObjectKey::Node("n".into())));
    story.run();
    assert_eq!(story.estimate("c"), None);
}

/// Its words were to be formed anew in the same cycle, which is no rescue.
#[test]
fn room_that_comes_back_goes_to_who_reserved_it() {
    let mut story = Story::new();
    story.pass(299_501);
    story.pod("first", None);
    story.pod("second", None);
    story.later(499);
    story.node("n", 1);
    let binds = story.binds();
    assert_eq!(names(&binds), ["first"]);
    story.refused(&binds[0]);
    story.pass(2_000);
    assert_eq!(names(&story.run()), ["second"]);
    assert_eq!(story.scheduler.stats().sweep_rescues, 0);
}
