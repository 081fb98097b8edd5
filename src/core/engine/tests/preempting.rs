//! Who has to go for whom, and what becomes of the room.

use super::jobs::{Job, job, story};
use super::*;

#[test]
fn the_lowest_priority_goes_and_the_room_is_held_until_it_is_gone() {
    let mut story = story();
    story.node("n", 4);
    story.job(&job("low", "default", 2, 1));
    story.job(&job("lower", "default", 2, 0));
    assert_eq!(story.run().len(), 2);
    story.job(&job("high", "default", 2, 9));
    assert_eq!(story.evicted(), ["lower"]);
    assert_eq!(story.evicted(), [""; 0], "once is enough");
    // Whoever comes now does not get what is held.
    story.tell(Event::EvictResult(
        story.key("lower"),
        EvictOutcome::Accepted,
    ));
    story.job(&job("sneaks-in", "other", 2, 9));
    assert_eq!(story.binds(), []);
    story.gone("lower");
    assert_eq!(names(&story.run()), ["high"]);
}

/// Whoever goes is followed by another at the same moment, of whom no plan knew.
#[test]
fn for_who_never_comes_to_its_place_others_go_ever_more_rarely() {
    let mut story = story();
    story.node("n", 4);
    let follower = |index: usize| PodSpec {
        node: Some("n".into()),
        ..pod(&format!("low-{index}"), None, 4)
    };
    story.submit(follower(0));
    story.job(&job("high", "default", 4, 9));
    let mut pauses = Vec::new();
    for index in 0..6 {
        let mut pause = 0;
        while story.evicted() != [format!("low-{index}")] {
            story.pass(500);
            pause += 500;
            assert!(pause < 10_000);
        }
        pauses.push(pause);
        story.submit(follower(index + 1));
        story.gone(&format!("low-{index}"));
    }
    assert_eq!(pauses, [0, 0, 0, 1_000, 2_000, 4_000]);
    // It comes to a place of its own: that is forgotten.
    story.node("m", 4);
    assert_eq!(names(&story.run()), ["high"]);
}

#[test]
fn room_that_one_leaves_for_another_counts_once_for_their_queue() {
    let mut story = story();
    story.node("n", 4);
    story.job(&job("low", "default", 4, 1));
    story.run();
    let usage = |story: &mut Story| {
        story.pass(1);
        story.run();
        let queues = story.scheduler.state().queues();
        queues.find("default").unwrap().1.account.usage
    };
    let before = usage(&mut story);
    story.job(&job("high", "default", 4, 9));
    assert_eq!(story.evicted(), ["low"]);
    assert_eq!(usage(&mut story), before);
    story.gone("low");
    assert_eq!(usage(&mut story), before);
}

#[test]
fn equal_priorities_and_other_queues_within_their_share_are_left_alone() {
    let mut story = story();
    story.node("n", 4);
    story.job(&job("equal", "default", 2, 5));
    story.job(&job("others", "other", 2, 0));
    assert_eq!(story.run().len(), 2);
    story.job(&job("high", "default", 2, 5));
    assert_eq!(story.evicted(), [""; 0]);
}

/// Nobody knows how many of them are needed.
#[test]
fn pods_whose_podgroup_does_not_exist_are_left_alone() {
    let mut story = story();
    story.node("n", 2);
    story.submit(PodSpec {
        node: Some("n".into()),
        phase: PodPhase::Running,
        ..pod("there", Some("undefined"), 2)
    });
    story.job(&job("high", "default", 2, 9));
    assert_eq!(story.evicted(), [""; 0]);
}

#[test]
fn nobody_goes_for_a_gang_that_would_not_fit_all_the_same() {
    let mut story = story();
    story.node("n", 4);
    story.job(&job("low", "default", 4, 0));
    assert_eq!(story.run().len(), 1);
    story.job(&job("giant", "default", 5, 9));
    assert_eq!(story.evicted(), [""; 0]);
}

#[test]
fn past_its_lifetime_a_gang_goes_for_a_queue_below_its_share() {
    let mut story = story();
    story.node("n", 4);
    for name in ["a", "b", "c", "d"] {
        story.job(&Job {
            lifetime: Some(10_000),
            ..job(name, "other", 1, 0)
        });
    }
    assert_eq!(story.run().len(), 4);
    story.pass(1_000);
    story.job(&job("entitled", "default", 2, 0));
    assert_eq!(
        story.evicted(),
        [""; 0],
        "they are protected for ten seconds"
    );
    story.pass(9_000);
    let gone = story.evicted();
    assert_eq!(gone.len(), 2);
    for name in &gone {
        story.gone(name);
    }
    assert_eq!(names(&story.run()), ["entitled"]);
    // Both queues hold their share now: nobody has to go for more.
    story.job(&job("more", "default", 1, 0));
    assert_eq!(story.evicted(), [""; 0]);
}

#[test]
fn what_is_beyond_a_minimum_goes_before_whole_gangs() {
    let mut story = story();
    story.node("n", 6);
    story.group("elastic", 2);
    for name in ["e0", "e1", "e2", "e3"] {
        story.pod(name, Some("elastic"));
    }
    story.job(&job("low", "default", 2, -5));
    assert_eq!(story.run().len() + story.run().len(), 5);
    story.job(&job("high", "default", 2, 9));
    let mut gone = story.evicted();
    gone.sort();
    assert_eq!(gone, ["e2", "e3"]);
    assert_eq!(story.status("elastic").phase, GangPhase::Running);
}

#[test]
fn a_victim_that_may_not_be_deleted_is_replaced_by_another() {
    let mut story = story();
    story.node("n", 2);
    story.node("m", 2);
    story.job(&job("first", "default", 2, 0));
    story.job(&job("second", "default", 2, 1));
    assert_eq!(story.run().len(), 2);
    story.job(&job("high", "default", 2, 9));
    assert_eq!(story.evicted(), ["first"]);
    let refused = EvictOutcome::Refused {
        message: "kept for the audit".into(),
    };
    story.tell(Event::EvictResult(story.key("first"), refused));
    let mut evicted = Vec::new();
    for _ in 0..3 {
        evicted.extend(story.evicted());
    }
    assert_eq!(evicted, ["second"]);
    story.gone("second");
    assert_eq!(names(&story.run()), ["high"]);
    story.pass(5_000);
    assert_eq!(story.evicted(), [""; 0], "the first is left alone");
    story.scheduler.audit().unwrap();
}

/// 11 nodes of 4 are full of 44 of 1, and a gang wants 11 of 4.
#[test]
fn a_gang_that_needs_every_node_is_found_room_at_once() {
    let mut story = story();
    for index in 0..11 {
        story.node(&format!("n{index}"), 4);
    }
    for index in 0..44 {
        story.job(&job(&format!("small-{index}"), "default", 1, 0));
    }
    assert_eq!(story.run().len(), 44);
    story.define(GangSpec {
        min_available: 11,
        priority: Some(9),
        ..group("large")
    });
    for index in 0..11 {
        story.submit(pod(&format!("large-{index}"), Some("large"), 4));
    }
    let gone = story.evicted();
    assert_eq!(gone.len(), 44);
    for name in &gone {
        assert_eq!(story.binds(), [], "not before the last has left");
        story.gone(name);
    }
    assert_eq!(story.run().len(), 11);
    story.scheduler.audit().unwrap();
}

#[test]
fn who_is_not_in_the_way_stays() {
    let mut story = story();
    story.node("n", 2);
    story.node("m", 4);
    story.job(&job("small", "default", 2, 0));
    story.job(&job("large", "default", 4, 1));
    assert_eq!(story.run().len(), 2);
    // Only the larger node will do: the less important one on the other stays.
    story.job(&job("high", "default", 3, 9));
    assert_eq!(story.evicted(), ["large"]);
}

#[test]
fn room_that_is_held_for_a_gang_that_goes_away_is_free_again() {
    let mut story = story();
    story.node("n", 2);
    story.job(&job("low", "default", 2, 0));
    assert_eq!(story.run().len(), 1);
    let high = story.job(&job("high", "default", 2, 9));
    assert_eq!(story.evicted(), ["low"]);
    story.tell(Event::Gone(ObjectKey::Pod(high)));
    story.gone("low");
    story.job(&job("next", "other", 2, 0));
    assert_eq!(names(&story.run()), ["next"]);
}

/// A queue of so many CPUs at most.
fn limited(name: &str, cpus: i64) -> Event {
    Event::is(QueueSpec {
        name: name.into(),
        limit: vec![("cpu".to_owned(), cpus * 1000)],
        ..QueueSpec::default()
    })
}

impl Story {
    /// A gang of so many pods of one CPU, in queue `q`.
    fn gang_in_q(&mut self, name: &str, pods: u32, priority: i32, lifetime: Option<Millis>) {
        self.define(GangSpec {
            min_available: pods,
            queue: Some("q".into()),
            priority: Some(priority),
            lifetime,
            ..group(name)
        });
        for member in 0..pods {
            self.pod(&format!("{name}-{member}"), Some(name));
        }
    }
}

#[test]
fn what_was_evicted_for_somebody_is_used_by_them_whoever_heads_the_queue_since() {
    let mut story = Story::new();
    story.tell(limited("q", 8));
    story.node("n", 4);
    story.gang_in_q("low", 4, 0, None);
    assert_eq!(story.run().len(), 4);
    story.gang_in_q("high", 4, 5, None);
    let (_, evictions) = story.step();
    assert_eq!(evictions.len(), 4);
    // Before they have left, somebody comes first whom the queue's books hold back.
    story.node("m", 3);
    story.gang_in_q("top", 5, 10, None);
    assert_eq!(story.binds(), []);
    for evict in evictions {
        story.tell(Event::EvictResult(
            evict.pod.clone(),
            EvictOutcome::Accepted,
        ));
        story.tell(Event::Gone(ObjectKey::Pod(evict.pod)));
    }
    let binds = story.binds();
    let of_high = binds
        .iter()
        .filter(|bind| bind.pod.name.starts_with("high"));
    assert_eq!(of_high.count(), 4, "{binds:?}");
}

#[test]
fn a_reservation_from_before_does_not_start_its_gang_ahead_of_a_head_that_is_held_back() {
    let mut story = Story::new();
    story.tell(limited("q", 8));
    story.node("n", 4);
    story.gang_in_q("runs", 4, 0, Some(Millis(10_000)));
    let runs = story.run();
    assert_eq!(runs.len(), 4);
    story.node("m", 3);
    story.gang_in_q("second", 4, 0, None);
    assert_eq!(story.binds(), []);
    story.gang_in_q("head", 5, 5, None);
    assert_eq!(story.binds(), []);
    story.pass(9_000);
    for bind in runs {
        story.tell(Event::Gone(ObjectKey::Pod(bind.pod)));
    }
    let binds = story.binds();
    assert!(
        names(&binds).iter().all(|name| name.starts_with("head")),
        "{binds:?}"
    );
    assert_eq!(binds.len(), 5);
}

#[test]
fn a_gang_in_repair_that_is_released_holds_no_room_any_more() {
    let mut story = Story::new();
    story.node("n", 2);
    story.node("m", 1);
    story.define(GangSpec {
        min_available: 2,
        priority: Some(5),
        repair_for: Some(Millis(30_000)),
        ..group("high")
    });
    let first = story.pod("high-0", Some("high"));
    story.pod("high-1", Some("high"));
    let ran = story.run();
    assert_eq!(ran.len(), 2);
    story.step();
    let lost = ran.iter().find(|bind| bind.pod == first).unwrap().clone();
    story.tell(Event::Gone(ObjectKey::Pod(first)));
    // Others fill the cluster before its member is made again; one of them is asked to go.
    story.group("low", 2);
    story.pod("low-0", Some("low"));
    story.pod("low-1", Some("low"));
    assert_eq!(story.run().len(), 2);
    let again = PodSpec {
        key: PodKey {
            uid: "uid-again".into(),
            ..lost.pod
        },
        ..pod("high-0", Some("high"), 1)
    };
    story.submit(again);
    let (_, evictions) = story.step();
    assert!(!evictions.is_empty());
    // Its repair is over before that has left.
    story.pass(31_000);
    let (_, own) = story.step();
    assert!(
        own.iter().any(|evict| evict.pod.name == "high-1"),
        "{own:?}"
    );
    let held = story.scheduler.state().gangs().map(|(id, _)| id);
    let held: usize = held
        .map(|id| story.scheduler.state().nominations(id).len())
        .sum();
    assert_eq!(held, 0);
}

#[test]
fn room_is_made_for_all_in_turn_however_long_victims_take_to_leave() {
    let mut story = Story::new();
    for index in 0..20 {
        story.node(&format!("n{index:02}"), 1);
        story.pod(&format!("low-{index}"), None);
    }
    assert_eq!(story.run().len(), 20);
    for index in 0..20 {
        story.define(GangSpec {
            min_available: 1,
            priority: Some(5),
            ..group(&format!("high-{index}"))
        });
        story.pod(&format!("high-{index}"), Some(&format!("high-{index}")));
    }
    // They are asked to go and do not for now.
    let mut asked = 0;
    for _ in 0..3 {
        assert!(story.scheduler.wants_cycle() || asked == 0 || asked == 20);
        let (_, evictions) = story.step();
        asked += evictions.len();
        for evict in evictions {
            story.tell(Event::EvictResult(evict.pod, EvictOutcome::Accepted));
        }
    }
    assert_eq!(asked, 20);
}

impl Story {
    /// Two queues with shares of 40 and 60 of 100 CPUs, and one pod of a gang of 20 CPUs in the first.
    fn shares_of_40_and_60(&mut self) {
        self.node("n", 100);
        for (name, weight) in [("a", 2), ("b", 3)] {
            self.tell(Event::is(QueueSpec {
                name: name.into(),
                weight,
                excess_budget: Some(1_000_000_000),
                ..QueueSpec::default()
            }));
            self.submit(PodSpec {
                queue: Some(name.into()),
                gates: vec!["later".into()],
                ..pod(name, None, 1)
            });
        }
    }

    fn half_an_hour_of_20(&mut self, name: &str) -> PodSpec {
        self.define(GangSpec {
            min_available: 1,
            queue: Some("a".into()),
            lifetime: Some(Millis(1_800_000)),
            ..group(name)
        });
        pod(name, Some(name), 20)
    }

    /// What is charged against the budget of the first, in CPUs for half an hour.
    fn charged(&self) -> u128 {
        let queues = self.scheduler.state().queues();
        let (_, queue) = queues.find("a").unwrap();
        queue.account.charged() / 1_800_000 / u128::from(muster_model::resources::CORE)
    }
}

#[test]
fn a_gang_that_starts_is_charged_what_is_beyond_the_share_then_and_no_more_after_a_restart() {
    let names = ["g0", "g1", "g2", "g3", "g4"];
    let mut story = Story::new();
    story.shares_of_40_and_60();
    for name in names {
        let pod = story.half_an_hour_of_20(name);
        story.submit(pod);
        assert_eq!(story.run().len(), 1);
        story.step();
        story.pass(1_000);
    }
    assert_eq!(story.charged(), 60);
    // A new process finds them running, in whatever order it is told of them.
    let mut anew = Story::new();
    anew.shares_of_40_and_60();
    anew.pass(60_000);
    for (at, name) in names.iter().enumerate().rev() {
        let pod = anew.half_an_hour_of_20(name);
        anew.submit(PodSpec {
            node: Some("n".into()),
            phase: PodPhase::Running,
            bound_at: Some(Time(1_000 * at as u64)),
            ..pod
        });
    }
    anew.step();
    assert_eq!(anew.charged(), 60);
}

#[test]
fn an_edit_of_who_runs_that_makes_room_wakes_who_waits_at_once() {
    type Edit = fn(&mut GangSpec);
    let edits: [Edit; 3] = [
        |spec| spec.priority = Some(1),
        |spec| spec.min_available = 2,
        |spec| spec.lifetime = Some(Millis(0)),
    ];
    for edit in edits {
        let mut story = Story::new();
        story.node("n", 4);
        for name in ["q", "other"] {
            story.tell(limited(name, 100));
        }
        let mut runs = GangSpec {
            min_available: 4,
            priority: Some(5),
            queue: Some("q".into()),
            lifetime: Some(Millis(1_000_000)),
            ..group("runs")
        };
        story.define(runs.clone());
        for member in 0..4 {
            story.pod(&format!("runs-{member}"), Some("runs"));
        }
        assert_eq!(story.run().len(), 4);
        // One of the same queue, and one of another that is within its share.
        story.gang_in_q("waits", 2, 5, Some(Millis(0)));
        story.define(GangSpec {
            min_available: 2,
            queue: Some("other".into()),
            ..group("entitled")
        });
        story.pod("entitled-0", Some("entitled"));
        story.pod("entitled-1", Some("entitled"));
        assert_eq!(story.step(), (Vec::new(), Vec::new()));
        edit(&mut runs);
        story.pass(1_000);
        story.define(runs);
        let (_, evictions) = story.step();
        assert!(!evictions.is_empty());
    }
}

#[test]
fn a_gang_whose_terms_are_edited_is_charged_on_the_new_ones() {
    let mut story = Story::new();
    story.shares_of_40_and_60();
    let spec = GangSpec {
        min_available: 3,
        queue: Some("a".into()),
        lifetime: Some(Millis(1_800_000)),
        ..group("g")
    };
    story.define(spec.clone());
    for name in ["g0", "g1", "g2", "g3"] {
        story.submit(pod(name, Some("g"), 20));
    }
    for _ in 0..3 {
        story.run();
    }
    assert_eq!(
        story.charged(),
        20,
        "what is beyond its minimum is not protected"
    );
    let edit = |story: &mut Story, spec: GangSpec| {
        story.pass(1_000);
        story.define(spec);
        story.step();
        story.charged()
    };
    let more = GangSpec {
        min_available: 4,
        ..spec.clone()
    };
    assert_eq!(edit(&mut story, more), 40);
    let longer = GangSpec {
        lifetime: Some(Millis(2 * 1_800_000)),
        ..spec.clone()
    };
    assert_eq!(edit(&mut story, longer), 40);
    assert_eq!(edit(&mut story, spec.clone()), 20);
    let moved = GangSpec {
        queue: Some("b".into()),
        min_available: 4,
        ..spec
    };
    assert_eq!(edit(&mut story, moved), 0);
    let queues = story.scheduler.state().queues();
    assert!(queues.find("b").unwrap().1.account.charged() > 0);
}
