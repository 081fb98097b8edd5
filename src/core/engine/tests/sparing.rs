//! Who does not have to go, for how long, and who makes nobody go.

use super::jobs::{Job, job, story};
use super::*;
use muster_model::RoomCounts;
use muster_model::RoomNote;

/// A job that may be asked to go at any time.
const fn free<'a>(name: &'a str, queue: &'a str, cpus: i64) -> Job<'a> {
    Job {
        lifetime: Some(0),
        ..job(name, queue, cpus, 0)
    }
}

impl Story {
    fn evict_all(&mut self) -> Vec<String> {
        let gone = self.evicted();
        for name in &gone {
            self.gone(name);
        }
        gone
    }

    pub(super) fn budget(&mut self, name: &str, app: &str, allowed: u32) {
        let requirements = vec![LabelRequirement {
            key: "app".into(),
            holds: LabelCondition::In(vec![app.into()]),
        }];
        self.tell(Event::is(DisruptionBudgetSpec {
            namespace: "a".into(),
            name: name.into(),
            selector: LabelSelector { requirements },
            allowed,
            ..DisruptionBudgetSpec::default()
        }));
    }

    fn labelled(&mut self, name: &str, app: &str, cpus: i64, priority: i32) {
        self.submit(PodSpec {
            priority: Some(priority),
            labels: PodLabels::new(&[("app".to_owned(), app.to_owned())].into()),
            created: self.now,
            ..pod(name, None, cpus)
        });
    }

    fn counts(&self) -> RoomCounts {
        self.scheduler.stats().room
    }
}

fn protected(min_runtime: u64) -> Event {
    Event::is(QueueSpec {
        uid: "default".into(),
        over_share: 1_000_000,
        min_runtime: Some(Millis(min_runtime)),
        ..QueueSpec::default()
    })
}

#[test]
fn a_gang_that_has_just_started_is_protected_and_who_waits_looks_again_by_itself() {
    let mut story = story();
    story.tell(protected(10_000));
    story.node("n", 2);
    story.pass(1_000);
    story.job(&job("low", "default", 2, 0));
    assert_eq!(story.run().len(), 1);
    story.pass(4_000);
    story.job(&job("high", "default", 2, 9));
    let plan = story.later(0);
    assert_eq!(plan.wake_at, Some(Time(5_000) + Millis(1_000)), "words");
    story.pass(1_000);
    story.later(0);
    let wake_at = story.later(0).wake_at;
    assert_eq!(
        wake_at,
        Some(Time(11_000)),
        "it looks when the protection ends"
    );
    story.pass(4_999);
    assert_eq!(story.evicted(), [""; 0]);
    story.pass(1);
    assert_eq!(story.evicted(), ["low"]);
}

#[test]
fn the_surplus_of_a_gang_that_has_just_started_is_protected_too() {
    let mut story = story();
    story.tell(protected(10_000));
    story.node("n", 3);
    story.group("elastic", 1);
    for name in ["e0", "e1", "e2"] {
        story.pod(name, Some("elastic"));
    }
    assert_eq!(story.run().len() + story.run().len(), 3);
    story.job(&job("high", "default", 1, 9));
    assert_eq!(story.evicted(), [""; 0]);
    story.pass(10_000);
    assert_eq!(story.evicted(), ["e2"]);
}

#[test]
fn a_protection_that_is_taken_away_ends_at_the_next_decision() {
    let mut story = story();
    story.tell(protected(3_600_000));
    story.node("n", 2);
    story.job(&job("low", "default", 2, 0));
    assert_eq!(story.run().len(), 1);
    story.job(&job("high", "default", 2, 9));
    assert_eq!(story.evicted(), [""; 0]);
    story.tell(protected(0));
    assert!(story.scheduler.wants_cycle());
    assert_eq!(story.evicted(), ["low"]);
}

#[test]
fn what_is_critical_for_the_system_never_goes() {
    let mut story = story();
    story.node("n", 2);
    story.node("m", 2);
    story.submit(PodSpec {
        priority: Some(2_000_000_000),
        ..pod("critical", None, 2)
    });
    let critical = |name: &str| PriorityClassSpec {
        name: name.into(),
        value: -5,
        ..PriorityClassSpec::default()
    };
    story.tell(Event::is(critical("system-of-ours")));
    story.submit(PodSpec {
        priority_class: Some("system-of-ours".into()),
        ..pod("named-so", None, 2)
    });
    assert_eq!(story.run().len(), 2);
    story.submit(PodSpec {
        priority: Some(2_000_001_000),
        ..pod("higher", None, 2)
    });
    assert_eq!(story.evicted(), [""; 0]);
}

#[test]
fn other_schedulers_pods_never_go() {
    let mut story = story();
    story.node("n", 2);
    story.submit(PodSpec {
        ours: false,
        node: Some("n".into()),
        phase: PodPhase::Running,
        priority: Some(-100),
        ..pod("foreign", None, 2)
    });
    story.job(&job("high", "default", 2, 9));
    assert_eq!(story.evicted(), [""; 0]);
}

#[test]
fn whose_preemption_policy_is_never_makes_nobody_go() {
    let mut story = story();
    story.node("n", 2);
    story.job(&job("low", "default", 2, 0));
    assert_eq!(story.run().len(), 1);
    let class = |name: &str, never_preempts| {
        Event::is(PriorityClassSpec {
            name: name.into(),
            value: 5,
            never_preempts,
            ..PriorityClassSpec::default()
        })
    };
    story.tell(class("patient", true));
    story.tell(class("pushing", false));
    // By the pod's own policy, by its class, and by the class of its PodGroup.
    story.submit(PodSpec {
        priority: Some(9),
        never_preempts: Some(true),
        ..pod("says-so", None, 2)
    });
    story.submit(PodSpec {
        priority_class: Some("patient".into()),
        ..pod("by-class", None, 2)
    });
    story.define(GangSpec {
        min_available: 1,
        priority_class: Some("patient".into()),
        ..group("group")
    });
    story.submit(PodSpec {
        never_preempts: Some(false),
        ..pod("by-group", Some("group"), 2)
    });
    assert_eq!(story.evicted(), [""; 0]);
    // What a PodGroup's class says goes before what its pods say.
    story.define(GangSpec {
        min_available: 1,
        priority_class: Some("pushing".into()),
        ..group("other")
    });
    story.submit(PodSpec {
        never_preempts: Some(true),
        ..pod("pushes", Some("other"), 2)
    });
    assert_eq!(story.evicted(), ["low"]);
}

#[test]
fn after_making_room_four_times_within_an_hour_a_gang_is_left_alone() {
    let mut story = story();
    story.node("n", 1);
    story.group("low", 1);
    let mut times = 0;
    for round in 0..8 {
        story.pod(&format!("low-{round}"), Some("low"));
        // It comes back after its back-off.
        story.pass(120_000);
        for _ in 0..3 {
            story.run();
        }
        let name = format!("high-{round}");
        let high = story.job(&job(&name, "default", 1, 9));
        let gone = story.evict_all();
        times += gone.len();
        if gone.is_empty() {
            assert!(story.counts().spared_too_often > 0);
            break;
        }
        assert_eq!(names(&story.run()), [name.as_str()]);
        story.tell(Event::Gone(ObjectKey::Pod(high)));
    }
    assert_eq!(times, 4);
    story.pass(3_600_000);
    assert_eq!(story.evicted().len(), 1, "the hour is over");
}

#[test]
fn who_made_room_does_not_take_it_back_from_whom_it_made_it_for() {
    let mut story = story();
    story.node("n", 4);
    story.job(&free("first", "other", 3));
    assert_eq!(story.run().len(), 1);
    story.job(&free("second", "default", 2));
    assert_eq!(story.evict_all(), ["first"]);
    assert_eq!(names(&story.run()), ["second"]);
    // Now the other queue grows over its share, and the first one, made again, would be entitled.
    story.job(&free("third", "default", 2));
    assert_eq!(names(&story.run()), ["third"]);
    story.job(&free("back", "other", 2));
    assert_eq!(story.evicted().len(), 1, "another gang may");
}

/// A third queue may hold as much as it likes for ever.
fn story_with_a_third_queue() -> Story {
    let mut story = story();
    story.tell(Event::is(QueueSpec {
        name: "third".into(),
        uid: "third".into(),
        over_share: 1_000_000,
        ..QueueSpec::default()
    }));
    story
}

#[test]
fn a_queue_loses_no_more_than_what_it_has_over_its_share() {
    let mut story = story_with_a_third_queue();
    story.node("n", 6);
    // Shares are two each; one holds four that may go, another two for ever.
    for index in 0..4 {
        story.job(&free(&format!("o{index}"), "other", 1));
    }
    story.job(&job("for-ever", "third", 2, 0));
    assert_eq!(story.run().len(), 5);
    story.job(&job("one", "default", 1, 0));
    assert_eq!(story.evict_all().len(), 1);
    assert_eq!(story.run().len(), 1);
    story.job(&job("two", "default", 1, 0));
    assert_eq!(story.evict_all().len(), 1);
    assert_eq!(story.run().len(), 1);
    story.job(&job("too-much", "default", 1, 0));
    assert_eq!(story.evicted(), [""; 0]);
}

/// What leaves already is not over the share any more: nobody else goes for it.
#[test]
fn two_plans_in_one_cycle_take_no_more_than_a_queue_has_over_its_share() {
    let mut story = story_with_a_third_queue();
    story.node("n", 6);
    for index in 0..3 {
        story.job(&free(&format!("o{index}"), "other", 1));
    }
    story.job(&job("for-ever", "third", 3, 0));
    assert_eq!(story.run().len(), 4);
    story.job(&job("one", "default", 1, 0));
    story.job(&job("two", "default", 1, 0));
    assert_eq!(story.evicted().len(), 1);
}

#[test]
fn who_stays_within_the_disruption_budgets_goes_first() {
    let mut story = story();
    story.node("n", 4);
    story.labelled("kept", "db", 2, 0);
    story.labelled("free", "web", 2, 5);
    assert_eq!(story.run().len(), 2);
    story.budget("db", "db", 0);
    story.job(&job("high", "default", 2, 9));
    // The other one is more important, and still goes.
    assert_eq!(story.evicted(), ["free"]);
    assert_eq!(story.counts().violations, 0);
}

#[test]
fn a_disruption_budget_is_violated_only_when_nothing_else_works_and_that_is_said() {
    let mut story = story();
    story.node("n", 2);
    story.labelled("kept", "db", 2, 0);
    assert_eq!(story.run().len(), 1);
    story.budget("db", "db", 0);
    story.job(&job("high", "default", 2, 9));
    let plan = story.later(0);
    let said = plan.effects.iter().find_map(|effect| match effect {
        Effect::Evict(order) => Some(order.message.to_string()),
        _ => None,
    });
    let words = "this violates PodDisruptionBudget a/db";
    assert!(said.unwrap().contains(words));
    assert_eq!(story.counts().violations, 1);
}

#[test]
fn evictions_under_way_are_spent_of_a_budget_until_its_status_counts_them() {
    let mut story = story();
    for name in ["n", "m"] {
        story.node(name, 2);
    }
    story.labelled("one", "db", 2, 0);
    story.labelled("two", "db", 2, 0);
    story.node("o", 2);
    story.labelled("other", "web", 2, 5);
    assert_eq!(story.run().len(), 3);
    story.budget("db", "db", 1);
    story.job(&job("high", "default", 2, 9));
    assert_eq!(story.evicted(), ["one"]);
    // The budget says one still, but that one is gone.
    story.job(&job("higher", "default", 2, 10));
    let evicted = story.evicted();
    assert_eq!(evicted, ["other"]);
    assert_eq!(story.counts().violations, 0);
}

#[test]
fn within_one_plan_a_budget_is_spent_once() {
    let mut story = story();
    for index in 0..4 {
        story.node(&format!("n{index}"), 1);
    }
    for index in 0..3 {
        story.labelled(&format!("db-{index}"), "db", 1, 0);
    }
    story.labelled("web", "web", 1, 5);
    assert_eq!(story.run().len(), 4);
    story.budget("db", "db", 1);
    story.define(GangSpec {
        min_available: 2,
        priority: Some(9),
        ..group("high")
    });
    for name in ["h0", "h1"] {
        story.pod(name, Some("high"));
    }
    let mut gone = story.evicted();
    gone.sort();
    assert_eq!(gone, ["db-0", "web"]);
}

#[test]
fn the_same_preemption_submitted_again_changes_nothing() {
    let mut story = story();
    story.node("n", 2);
    story.job(&job("low", "default", 2, 0));
    assert_eq!(story.run().len(), 1);
    let high = PodSpec {
        priority: Some(9),
        ..pod("high", None, 2)
    };
    story.submit(high.clone());
    assert_eq!(story.evicted(), ["low"]);
    for _ in 0..3 {
        story.submit(high.clone());
        assert_eq!(story.evicted(), [""; 0]);
    }
    assert_eq!(story.counts().found, 1);
}

#[test]
fn that_nobody_can_make_room_is_proven_and_known_until_something_changes() {
    let mut story = story();
    story.node("n", 2);
    story.job(&job("low", "default", 1, 0));
    assert_eq!(story.run().len(), 1);
    let giant = story.job(&job("giant", "default", 3, 9));
    assert_eq!(story.evicted(), [""; 0]);
    let before = story.counts();
    assert_eq!((before.impossible, before.cut_short), (1, 0));
    let gang = story.scheduler.state().find_pod(&giant).unwrap();
    let gang = story.scheduler.state().pod(gang).unwrap().gang.unwrap();
    let note = story.scheduler.agenda.note(gang).search.room;
    assert_eq!(note, Some(RoomNote::Impossible));
    for _ in 0..3 {
        story.later(10);
    }
    assert_eq!(story.counts().plans, before.plans);
}

#[test]
fn whoever_finds_no_plan_left_in_a_cycle_has_one_in_the_next() {
    let mut story = story();
    for queue in 0..10 {
        let name = format!("q{queue}");
        story.tell(Event::is(QueueSpec {
            name: name.clone(),
            uid: name.clone(),
            over_share: 1_000_000,
            ..QueueSpec::default()
        }));
        story.node(&format!("n{queue}"), 1);
        story.job(&job(&format!("low-{queue}"), &name, 1, 0));
    }
    assert_eq!(story.run().len(), 10);
    for queue in 0..10 {
        let (high, name) = (format!("high-{queue}"), format!("q{queue}"));
        story.job(&job(&high, &name, 1, 9));
    }
    assert_eq!(story.evicted().len(), 8);
    assert_eq!(story.counts().postponed, 2);
    assert_eq!(story.evicted().len(), 2);
}

/// A victim that is on its way to its node is looked at again when it is there.
#[test]
fn who_waits_for_a_gang_that_is_being_bound_looks_again_soon() {
    let mut story = story();
    story.node("n", 2);
    story.job(&job("low", "default", 2, 0));
    let binds = story.binds();
    story.job(&job("high", "default", 2, 9));
    assert_eq!(story.evicted(), [""; 0]);
    for bind in &binds {
        story.bound(bind);
    }
    story.pass(1_000);
    assert_eq!(story.evicted(), ["low"]);
}

#[test]
fn a_whole_gang_is_spared_when_its_surplus_is_enough() {
    let mut story = story();
    story.node("n", 4);
    story.define(GangSpec {
        min_available: 2,
        priority: Some(0),
        ..group("elastic")
    });
    for name in ["e0", "e1", "e2", "e3"] {
        story.pod(name, Some("elastic"));
    }
    assert_eq!(story.run().len() + story.run().len() + story.run().len(), 4);
    story.job(&job("high", "default", 1, 9));
    assert_eq!(story.evicted(), ["e3"]);
    story.job(&job("higher", "default", 3, 10));
    let gone = story.evicted();
    assert!(
        gone.len() == 3 && !gone.contains(&"e3".to_owned()),
        "{gone:?}"
    );
}

#[test]
fn whoever_becomes_one_of_the_first_of_its_queue_has_others_go_for_it() {
    let mut story = story();
    story.node("n", 1);
    story.job(&job("low", "default", 1, 0));
    assert_eq!(story.run().len(), 1);
    let giant = |index: usize| job_of(&format!("giant-{index}"));
    let giants: Vec<PodKey> = (0..8).map(|index| story.submit(giant(index))).collect();
    story.job(&job("behind", "default", 1, 5));
    assert_eq!(story.evicted(), [""; 0]);
    assert_eq!(story.counts().behind, 1);
    story.tell(Event::Gone(ObjectKey::Pod(giants[3].clone())));
    assert_eq!(story.evicted(), ["low"]);
}

fn job_of(name: &str) -> PodSpec {
    PodSpec {
        priority: Some(9),
        ..pod(name, None, 100)
    }
}

/// Members that differ might fit in some order that was not tried.
#[test]
fn a_search_that_does_not_look_at_all_there_is_says_so() {
    let mut story = story();
    story.node("n", 4);
    story.job(&job("low", "default", 4, 0));
    assert_eq!(story.run().len(), 1);
    story.define(GangSpec {
        min_available: 2,
        priority: Some(9),
        ..group("mixed")
    });
    story.submit(pod("m0", Some("mixed"), 3));
    story.submit(pod("m1", Some("mixed"), 2));
    assert_eq!(story.evicted(), [""; 0]);
    assert_eq!(story.counts().cut_short, 1);
    let words = story.why("mixed");
    assert!(
        words.ends_with("Who could make room for it was searched only in part."),
        "{words}"
    );
}
