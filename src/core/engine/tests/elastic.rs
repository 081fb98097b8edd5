//! Gangs that grow, shrink, lose members and get them back.

use super::*;
use crate::actions::PATIENCE;
use crate::framework::{Ask, Permit, PermitVerdict, Plugin, Spots, WaitingGangs};
use muster_model::{Answer, Point, QuestionId};

/// A gang of this minimum that asks to be repaired for 60 s.
fn repaired(name: &str, min: u32) -> GangSpec {
    GangSpec {
        min_available: min,
        repair_for: Some(Millis(60_000)),
        ..group(name)
    }
}

fn subgroup(name: &str, min: u32, max: u32) -> SubgroupSpec {
    SubgroupSpec {
        name: name.into(),
        min,
        max: Some(max),
        ..SubgroupSpec::default()
    }
}

impl Story {
    /// Cycles until nothing is bound any more; who was bound.
    fn settle(&mut self) -> Vec<String> {
        let mut bound = Vec::new();
        loop {
            let binds = self.run();
            if binds.is_empty() {
                bound.sort();
                return bound;
            }
            bound.extend(binds.into_iter().map(|bind| bind.pod.name));
        }
    }

    fn condition(&self, gang: &str, kind: &str) -> Option<(Code, String)> {
        let conditions = self.status(gang).conditions;
        let found = conditions.into_iter().find(|one| one.kind == kind)?;
        Some((found.reason, found.message))
    }

    /// A node, and a queue on it that may hold so many CPUs.
    pub(super) fn limited(&mut self, most: i64) {
        self.node("n", 8);
        self.tell(Event::is(QueueSpec {
            name: "q".into(),
            uid: "q".into(),
            limit: vec![("cpu".into(), most * 1_000)],
            ..QueueSpec::default()
        }));
    }

    /// A gang of two of which one is lost.
    fn broken(&mut self, spec: GangSpec) {
        self.node("n", 2);
        self.define(spec);
        let lost = self.pod("p0", Some("g"));
        self.pod("p1", Some("g"));
        assert_eq!(self.settle().len(), 2);
        self.tell(Event::Gone(ObjectKey::Pod(lost)));
        assert_eq!(self.step().1, []);
    }

    /// Whom cycles evict that are a second apart, after so many seconds.
    fn evicted_after(&mut self, seconds: u64) -> Vec<String> {
        for _ in 0..seconds {
            self.pass(1_000);
            let (binds, evictions) = self.step();
            assert_eq!(binds, []);
            if !evictions.is_empty() {
                return evictions.into_iter().map(|one| one.pod.name).collect();
            }
        }
        Vec::new()
    }
}

#[test]
fn surplus_goes_round_robin_over_gangs_of_equal_standing() {
    let mut story = Story::new();
    story.node("n", 8);
    for gang in ["g", "h"] {
        story.group(gang, 1);
        for index in 0..6 {
            story.pod(&format!("{gang}{index}"), Some(gang));
        }
    }
    let bound = story.settle();
    let of = |gang: &str| bound.iter().filter(|name| name.starts_with(gang)).count();
    assert_eq!((of("g"), of("h")), (4, 4), "{bound:?}");
}

#[test]
fn a_gang_whose_minimum_is_on_its_way_grows_by_no_more_than_its_queue_gives() {
    // Of the two one answer after the other comes, and there are cycles in between.
    let mut story = Story::new();
    story.limited(2);
    story.define(GangSpec {
        min_available: 2,
        queue: Some("q".into()),
        ..group("g")
    });
    for index in 0..8 {
        story.pod(&format!("g{index}"), Some("g"));
    }
    let minimum = story.binds();
    assert_eq!(minimum.len(), 2);
    for bind in &minimum {
        story.bound(bind);
        assert_eq!(story.binds(), []);
    }
    assert!(story.why("g").starts_with("QueueLimit: "));
}

#[test]
fn who_raises_its_minimum_gets_no_more_than_its_queue_gives_and_is_released() {
    let mut story = Story::new();
    story.limited(3);
    let of_minimum = |min_available: u32| GangSpec {
        min_available,
        queue: Some("q".into()),
        ..group("g")
    };
    story.define(of_minimum(2));
    for index in 0..8 {
        story.pod(&format!("g{index}"), Some("g"));
    }
    assert_eq!(story.run().len(), 3);
    // What it has may be its minimum; more it has to be given first.
    story.define(of_minimum(3));
    assert_eq!(story.step(), (vec![], vec![]));
    assert_eq!(story.status("g").phase, GangPhase::Running);
    story.define(of_minimum(4));
    assert_eq!(story.step(), (vec![], vec![]));
    assert_eq!(
        story.why("g"),
        "QueueLimit: queue q would hold 4 cpu, and its limit is 3 cpu"
    );
    assert_eq!(story.evicted_after(8).len(), 3);
}

#[test]
fn who_lost_a_member_is_completed_although_others_of_its_queue_took_the_room() {
    let mut story = Story::new();
    story.limited(2);
    for (name, min_available) in [("g", 2), ("other", 1)] {
        story.define(GangSpec {
            min_available,
            queue: Some("q".into()),
            ..group(name)
        });
    }
    let lost = story.pod("g0", Some("g"));
    story.pod("g1", Some("g"));
    assert_eq!(story.run().len(), 2);
    story.tell(Event::Gone(ObjectKey::Pod(lost)));
    story.pod("other", Some("other"));
    assert_eq!(names(&story.run()), ["other"]);
    story.pod("g2", Some("g"));
    assert_eq!(names(&story.run()), ["g2"]);
}

#[test]
fn a_gang_whose_minimum_is_on_its_way_grows_in_its_turn() {
    let mut story = Story::new();
    story.node("n", 4);
    story.group("elastic", 2);
    for index in 0..2 {
        story.pod(&format!("elastic{index}"), Some("elastic"));
    }
    let minimum = story.binds();
    assert_eq!(minimum.len(), 2);
    story.bound(&minimum[0]);
    // Who is bound in part goes before all only for what it lacks.
    for index in 2..4 {
        story.pod(&format!("elastic{index}"), Some("elastic"));
    }
    story.group("starts", 2);
    for index in 0..2 {
        story.pod(&format!("starts{index}"), Some("starts"));
    }
    assert_eq!(names(&story.binds()), ["starts0", "starts1"]);
}

#[test]
fn replicas_cap_all_subgroups_together_and_say_so_on_the_pods() {
    let mut story = Story::new();
    story.node("n", 9);
    let spec = |replicas| GangSpec {
        min_available: 2,
        replicas: Some(replicas),
        subgroups: vec![subgroup("a", 1, 4), subgroup("b", 1, 4)],
        ..group("g")
    };
    story.define(spec(3));
    for (index, of) in ["a", "a", "a", "b", "b", "b"].into_iter().enumerate() {
        story.submit(PodSpec {
            subgroup: Some(of.into()),
            ..pod(&format!("{of}{index}"), Some("g"), 1)
        });
    }
    assert_eq!(story.settle().len(), 3);
    assert_eq!(
        story.why("g"),
        "AtMaximum: the PodGroup's replicas let 3 members run at once"
    );
    let plan = story.later(1_000);
    let reason = |effect: &Effect| match effect {
        Effect::PodWaits(waits) => Some(waits.reason.clone()),
        _ => None,
    };
    let reasons: Vec<_> = plan.effects.iter().filter_map(reason).collect();
    assert_eq!(reasons, ["AtMaximum"; 3]);
    story.define(spec(5));
    assert_eq!(story.settle().len(), 2);
    // What runs is not taken away because a number was lowered.
    story.define(spec(2));
    assert_eq!(story.step(), (vec![], vec![]));
    assert_eq!(story.status("g").bound, 5);
}

#[test]
fn a_lost_member_of_a_minimum_comes_back_even_above_the_replicas() {
    let mut story = Story::new();
    story.node("n", 9);
    story.define(GangSpec {
        min_available: 2,
        replicas: Some(3),
        subgroups: vec![subgroup("a", 1, 4), subgroup("b", 1, 4)],
        ..group("g")
    });
    let member = |name: &str, of: &str| PodSpec {
        subgroup: Some(of.into()),
        ..pod(name, Some("g"), 1)
    };
    let head = story.submit(member("a0", "a"));
    for name in ["b0", "b1", "b2"] {
        story.submit(member(name, "b"));
    }
    assert_eq!(story.settle(), ["a0", "b0", "b1"]);
    story.tell(Event::Gone(ObjectKey::Pod(head)));
    story.submit(member("a1", "a"));
    assert_eq!(story.settle(), ["a1"]);
}

/// Asks about everybody.
#[derive(Debug)]
struct Porter;

impl Plugin for Porter {
    fn name(&self) -> &'static str {
        "Porter"
    }
}

impl Permit for Porter {
    fn permit(&self, _: &Spots<'_>, _: Time, _: &mut WaitingGangs) -> PermitVerdict {
        let at_most = Millis(3_000);
        PermitVerdict::Ask(Ask::of_plugin(
            "Porter",
            Point::Permit,
            String::new(),
            at_most,
        ))
    }
}

#[test]
fn what_a_minimum_holds_above_the_replicas_stands_when_the_answer_comes() {
    let mut story = Story::new();
    let mut policy = Policy::default();
    policy.profile.permit.push(Arc::new(Porter));
    story.scheduler = Scheduler::new(policy);
    story.node("n", 9);
    let spec = GangSpec {
        min_available: 2,
        subgroups: vec![subgroup("a", 1, 4), subgroup("b", 1, 4)],
        ..group("g")
    };
    story.define(spec.clone());
    let member = |name: &str, of: &str, node: Option<&str>| PodSpec {
        subgroup: Some(of.into()),
        node: node.map(str::to_owned),
        ..pod(name, Some("g"), 1)
    };
    for name in ["b0", "b1"] {
        story.submit(member(name, "b", Some("n")));
    }
    story.define(GangSpec {
        replicas: Some(2),
        ..spec
    });
    story.submit(member("a0", "a", None));
    let asked = story.later(0).effects.into_iter();
    let asked: Vec<QuestionId> = asked
        .filter_map(|effect| match effect {
            Effect::Ask(question) => Some(question.id),
            _ => None,
        })
        .collect();
    assert_eq!(asked.len(), 1);
    story.tell(Event::Answer(asked[0], Answer::Yes(String::new())));
    assert_eq!(names(&story.run()), ["a0"]);
}

#[test]
fn who_has_ended_does_not_count_against_the_maximum() {
    let mut story = Story::new();
    story.node("n", 9);
    story.define(GangSpec {
        min_available: 1,
        subgroups: vec![subgroup("a", 1, 1)],
        ..group("g")
    });
    let member = |name: &str| PodSpec {
        subgroup: Some("a".into()),
        ..pod(name, Some("g"), 1)
    };
    story.submit(member("a0"));
    story.submit(member("a1"));
    assert_eq!(story.settle(), ["a0"]);
    story.submit(PodSpec {
        node: Some("n".into()),
        phase: PodPhase::Succeeded,
        ..member("a0")
    });
    assert_eq!(story.settle(), ["a1"]);
}

#[test]
fn without_repair_a_gang_below_its_minimum_goes_after_a_few_seconds() {
    let mut story = Story::new();
    story.broken(GangSpec {
        min_available: 2,
        ..group("g")
    });
    let (reason, message) = story.condition("g", "Repairing").unwrap();
    assert_eq!(reason, "Partial");
    assert_eq!(
        message,
        "1 of 2 members have a node; pod p0 was deleted; it is completed or released"
    );
    assert_eq!(story.evicted_after(PATIENCE.0 / 1_000), ["p1"]);
}

#[test]
fn with_repair_a_lost_member_is_replaced_until_the_deadline() {
    let mut story = Story::new();
    story.broken(repaired("g", 2));
    let (reason, message) = story.condition("g", "Repairing").unwrap();
    assert_eq!(reason, "Repair");
    assert_eq!(
        message,
        "1 of 2 members have a node; pod p0 was deleted; it is released unless it is whole again \
         within 60s"
    );
    assert_eq!(story.evicted_after(50), [""; 0]);
    assert_eq!(story.scheduler.stats().partial_since, None);
    story.pod("p2", Some("g"));
    assert_eq!(story.settle(), ["p2"]);
    assert_eq!(story.condition("g", "Repairing"), None);
    assert_eq!(story.status("g").phase, GangPhase::Running);
    // The next loss has a deadline of its own.
    let again = story.scheduler.state().find_pod(&pod("p2", None, 1).key);
    assert!(again.is_some());
    story.tell(Event::Gone(ObjectKey::Pod(pod("p2", None, 1).key)));
    story.step();
    assert_eq!(story.evicted_after(59), [""; 0]);
    assert_eq!(story.evicted_after(1), ["p1"]);
    let (reason, message) = story.condition("g", "Disrupted").unwrap();
    assert_eq!(reason, "Released");
    assert!(
        message.starts_with("only 1 of 2 members are left; pod p2 was deleted"),
        "{message}"
    );
}

#[test]
fn what_is_counted_may_be_asked_when_a_gang_went_and_no_cycle_was_since() {
    let mut story = Story::new();
    story.broken(repaired("g", 2));
    assert_eq!(story.evicted_after(0), [""; 0]);
    let left: Vec<PodKey> = story
        .scheduler
        .state()
        .pods()
        .map(|(_, pod)| pod.key.clone())
        .collect();
    for key in left {
        story.tell(Event::Gone(ObjectKey::Pod(key)));
    }
    story.tell(Event::Gone(ObjectKey::Gang(
        key("g"),
        muster_model::Source::default(),
    )));
    assert_eq!(story.scheduler.stats().partial_since, None);
}

#[test]
fn a_deadline_that_is_shortened_or_taken_away_counts_at_once() {
    let mut story = Story::new();
    story.broken(repaired("g", 2));
    assert_eq!(story.evicted_after(10), [""; 0]);
    story.define(GangSpec {
        repair_for: Some(Millis(20_000)),
        ..repaired("g", 2)
    });
    story.step();
    assert_eq!(story.evicted_after(9), [""; 0]);
    assert_eq!(story.evicted_after(1), ["p1"]);
}

/// The promise is about every start: repair is for what has run.
#[test]
fn a_gang_that_never_ran_is_not_repaired() {
    let mut story = Story::new();
    story.node("n", 2);
    story.define(repaired("g", 2));
    let lost = story.pod("p0", Some("g"));
    story.pod("p1", Some("g"));
    let binds = story.binds();
    let first = binds.iter().find(|bind| bind.pod.name == "p1").unwrap();
    story.bound(first);
    story.tell(Event::Gone(ObjectKey::Pod(lost)));
    story.step();
    assert_eq!(story.evicted_after(5), ["p1"]);
}

#[test]
fn a_new_process_goes_on_repairing_what_started_long_ago() {
    for (bound_at, repaired_on) in [(30_000, true), (55_000, false)] {
        let mut story = Story::new();
        story.node("n", 2);
        story.pass(60_000);
        story.define(repaired("g", 2));
        story.submit(PodSpec {
            node: Some("n".into()),
            bound_at: Some(Time(bound_at)),
            phase: PodPhase::Running,
            ..pod("p1", Some("g"), 1)
        });
        story.step();
        let evicted = story.evicted_after(20);
        assert_eq!(evicted.is_empty(), repaired_on, "{evicted:?}");
        if repaired_on {
            // Also when one of two lost members is back.
            story.define(repaired("g", 3));
            story.pod("p2", Some("g"));
            story.pod("p3", Some("g"));
            assert_eq!(story.settle(), [""; 0], "there is room for one of two");
            assert_eq!(story.evicted_after(10), [""; 0]);
        }
    }
}

/// A pod on its own, of some priority.
fn alone(name: &str, priority: i32, cpus: i64) -> PodSpec {
    PodSpec {
        priority: Some(priority),
        ..pod(name, None, cpus)
    }
}

#[test]
fn a_repair_takes_the_room_of_lower_priorities() {
    let mut story = Story::new();
    story.broken(GangSpec {
        priority: Some(5),
        ..repaired("g", 2)
    });
    story.submit(alone("low", 0, 1));
    assert_eq!(story.settle(), ["low"]);
    story.pod("p2", Some("g"));
    let (binds, evictions) = story.step();
    assert_eq!(binds, []);
    let gone: Vec<_> = evictions.iter().map(|one| &*one.pod.name).collect();
    assert_eq!(gone, ["low"]);
    story.tell(Event::Gone(ObjectKey::Pod(alone("low", 0, 1).key)));
    assert_eq!(story.settle(), ["p2"]);
}

#[test]
fn a_gang_that_is_repaired_gives_way_to_higher_priorities() {
    let mut story = Story::new();
    story.broken(repaired("g", 2));
    story.submit(alone("high", 9, 2));
    let (_, evictions) = story.step();
    let gone: Vec<_> = evictions.iter().map(|one| &*one.pod.name).collect();
    assert_eq!(gone, ["p1"]);
}

#[test]
fn a_limit_is_asked_for_those_who_get_a_place_and_not_for_those_who_would_be_first() {
    for begins in [true, false] {
        let mut story = Story::new();
        story.limited(4);
        story.define(GangSpec {
            min_available: 1,
            queue: Some("q".into()),
            ..group("g")
        });
        if !begins {
            story.submit(pod("runs", Some("g"), 1));
            assert_eq!(story.settle(), ["runs"]);
        }
        // The first to be tried takes little, and fits nowhere.
        let mut small = pod("a-small", Some("g"), 1);
        small.shape.constraints.selector = [("nobody".into(), "has".into())].into();
        story.submit(small);
        story.submit(pod("b-large", Some("g"), 6));
        assert_eq!(story.settle(), [""; 0], "six are more than four");
        let why = story.why("g");
        if begins {
            assert!(
                why.ends_with("it asks for 6 cpu, and the limit of queue q is 4 cpu"),
                "{why}"
            );
        }
        story.limited(8);
        assert_eq!(story.settle(), ["b-large"]);
    }
}
