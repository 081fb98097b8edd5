//! Every gang that waits has an answer, and it is what was decided.

use super::*;
use crate::framework::{Plugin, VictimFilter};
use crate::state::{ClusterState, Gang};
use muster_model::Lifetime;
use muster_model::explanation::{
    Asked, Could, Explained, GangExplanation, HangsOn, Lost, NodeCount, Outcome, PlaceHolder,
    Protection, ProtectionKind, QueueExplanation, Reason, RoomHeld, Spared, SparedCount, Start,
    Taker, Thousandths,
};
use muster_model::resources::CORE;

/// A story with two queues of equal weight, whose gangs may hold as much as they like.
fn story() -> Story {
    let mut story = Story::new();
    for name in ["left", "right"] {
        story.queue(QueueSpec {
            name: name.into(),
            uid: name.into(),
            over_share: 1_000_000,
            ..QueueSpec::default()
        });
    }
    story
}

impl Story {
    fn queue(&mut self, spec: QueueSpec) {
        self.tell(Event::is(spec));
    }

    /// A gang of so many pods of one CPU, of which so many must run.
    fn gang(&mut self, name: &str, queue: &str, min: u32, pods: u32, change: GangSpec) {
        self.define(GangSpec {
            min_available: min,
            queue: Some(queue.to_owned()),
            created: self.now,
            ..GangSpec {
                key: key(name),
                uid: format!("group-{name}"),
                ..change
            }
        });
        for index in 0..pods {
            self.submit(PodSpec {
                created: self.now,
                ..pod(&format!("{name}-{index}"), Some(name), 1)
            });
        }
    }

    fn gang_explained(&self, name: &str) -> GangExplanation {
        let found = self.scheduler.explain_gang(&key(name), self.now, u32::MAX);
        found.unwrap()
    }

    /// Who was asked to make room for a gang, all for nothing; and that this is proven.
    fn asked_in_vain(&self, name: &str) -> Asked {
        let asked = self.gang_explained(name).waits.unwrap().asked.unwrap();
        assert_eq!((&asked.outcome, asked.proven), (&Outcome::InVain, true));
        asked
    }

    fn queue_explained(&self, name: &str) -> QueueExplanation {
        self.scheduler.explain_queue(name, self.now).unwrap()
    }

    /// Two cycles, with what they bind bound: the second may place what grows.
    fn come_to_rest(&mut self) {
        for _ in 0..9 {
            self.run();
        }
        for pod in self.bound_pods() {
            self.tell(Event::is(pod));
        }
        self.run();
    }

    fn bound_pods(&self) -> Vec<PodSpec> {
        let state = self.scheduler.state();
        let bound = state.pods().filter_map(|(_, known)| {
            let node = known.place.node()?;
            let gang = known.gang.and_then(|id| state.gang(id))?;
            Some(PodSpec {
                key: known.key.clone(),
                created: known.created,
                node: Some(state.nodes().name(node).to_owned()),
                phase: PodPhase::Running,
                ..pod(&known.key.name, Some(&gang.key.name), 1)
            })
        });
        bound.collect()
    }
}

fn count(name: &str, count: usize) -> NodeCount {
    NodeCount {
        name: name.to_owned(),
        count,
    }
}

fn holder(name: &str, ends_at: Option<Time>) -> PlaceHolder {
    PlaceHolder {
        name: name.to_owned(),
        ends_at,
    }
}

fn lifetime(seconds: u64) -> GangSpec {
    GangSpec {
        lifetime: Some(Millis::from_secs(seconds)),
        ..GangSpec::default()
    }
}

fn priority(priority: i32) -> GangSpec {
    GangSpec {
        priority: Some(priority),
        ..GangSpec::default()
    }
}

#[test]
fn who_waits_is_told_what_is_short_who_is_ahead_and_when_it_was_tried() {
    let mut story = story();
    story.node("n", 2);
    story.gang("first", "left", 3, 3, GangSpec::default());
    story.pass(1_000);
    story.gang("second", "left", 4, 4, GangSpec::default());
    story.come_to_rest();
    let why = story.gang_explained("second");
    let condition = story.status("second");
    let condition = condition.conditions.iter().find(|one| !one.status).unwrap();
    assert_eq!(
        why.condition, *condition,
        "the first sentence is the condition"
    );
    let waits = why.waits.unwrap();
    assert_eq!(waits.position, Some(2));
    assert_eq!(waits.ahead.first, ["a/first"]);
    assert_eq!(waits.tried_at, Some(story.now));
    let short = waits.short.unwrap();
    assert_eq!((short.fit, short.needed), (Some(2), 4));
    assert_eq!(short.reasons, [count("Insufficient cpu", 1)]);
    let closest = short.closest.unwrap();
    assert_eq!(closest.lacks[0].amount, "1 cpu");
    assert_eq!(waits.start.at, None);
    assert_eq!(waits.start.hangs_on, HangsOn::Room);
    assert!(why.runs.is_none());
}

#[test]
fn who_keeps_a_place_is_told_with_the_reason_of_the_rules_that_choose_victims() {
    let mut story = story();
    story.node("n", 8);
    story.gang("protected", "left", 2, 2, lifetime(3_600));
    story.gang("for-ever", "left", 2, 2, GangSpec::default());
    story.gang("equal", "right", 2, 2, GangSpec::default());
    story.gang("higher", "right", 2, 2, priority(9));
    story.come_to_rest();
    story.pass(1_000);
    story.gang("wants", "right", 4, 4, GangSpec::default());
    story.come_to_rest();
    let asked = story.asked_in_vain("wants");
    let expected = [
        SparedCount::new(Spared::NotEntitled, 2, "a/protected"),
        SparedCount::new(Spared::Priority, 2, "a/equal"),
    ];
    assert_eq!(asked.spared, expected);
}

#[test]
fn a_lifetime_that_is_not_over_is_the_reason_for_a_queue_in_need() {
    let mut story = story();
    story.node("n", 4);
    story.gang("lent", "left", 4, 4, lifetime(3_600));
    story.come_to_rest();
    story.gang("entitled", "right", 2, 2, GangSpec::default());
    story.come_to_rest();
    let asked = story.asked_in_vain("entitled");
    let until = Time::ZERO + Millis::from_secs(3_600);
    let lifetime_not_over = Spared::Lifetime(Some(until));
    assert_eq!(
        asked.spared,
        [SparedCount::new(lifetime_not_over, 1, "a/lent")]
    );
    let runs = story.gang_explained("lent").runs.unwrap();
    let protection = Protection {
        kind: ProtectionKind::Until,
        at: Some(until),
    };
    assert_eq!(runs.protection, protection);
    let two_cores = Thousandths::of_worth(2 * CORE);
    assert_eq!(runs.queue_over, two_cores);
    assert_eq!(runs.nodes, [count("n", 4)]);
    let expected = [
        Could::some(Taker::EqualInQueue, 0, Spared::Priority),
        Could::all(Taker::HigherInQueue),
        Could::some(Taker::NeedyQueue, 0, lifetime_not_over),
    ];
    assert_eq!(runs.could_lose, expected);

    let queue = story.queue_explained("left");
    assert_eq!(queue.books.over, two_cores);
    assert_eq!(queue.holders[0].name, "a/lent");
    assert_eq!(queue.borrows[0].name, "right");
    assert_eq!(
        (queue.borrows[0].unused, queue.borrows[0].waiting),
        (two_cores, 1)
    );
    assert_eq!(
        queue.spared,
        [SparedCount::new(lifetime_not_over, 1, "a/lent")]
    );
    let queue = story.queue_explained("right");
    assert_eq!(queue.first, ["a/entitled"]);
    assert_eq!(queue.head.unwrap().reason, "Unschedulable");
}

#[test]
fn who_was_preempted_is_told_by_whom_why_it_and_when_it_may_come_back() {
    let mut story = story();
    story.node("n", 2);
    story.gang("low", "left", 2, 2, GangSpec::default());
    story.come_to_rest();
    story.pass(5_000);
    story.gang("high", "left", 2, 2, priority(1));
    story.come_to_rest();
    let now = story.now;
    let why = story.gang_explained("low");
    let lost = why.disruption.unwrap();
    assert_eq!(lost.by.as_deref(), Some("a/high"));
    assert_eq!(lost.by_queue.as_deref(), Some("left"));
    assert_eq!(
        (lost.at, lost.why, lost.pods),
        (now, Lost::LowerPriority, 2)
    );
    let waits = story.gang_explained("high").waits.unwrap();
    let held = RoomHeld {
        nodes: 1,
        leaving: 2,
    };
    assert_eq!(waits.room_held, Some(held));
    assert_eq!(waits.start.hangs_on, HangsOn::Leaving);
    let asked = waits.asked.unwrap();
    assert_eq!(asked.outcome, Outcome::Found);
    assert_eq!((asked.go, asked.go_of), (2, vec!["a/low".to_owned()]));
    for name in ["low-0", "low-1"] {
        let gone = pod(name, Some("low"), 1).key;
        story.tell(Event::EvictResult(gone.clone(), EvictOutcome::Accepted));
        story.tell(Event::Gone(ObjectKey::Pod(gone)));
    }
    story.come_to_rest();
    let why = story.gang_explained("low");
    assert_eq!(why.condition.reason, "Preempted");
    assert_eq!(why.back_at, Some(now + Millis(10_000)));
    assert_eq!(why.waits.unwrap().start.at, why.back_at);
    assert!(story.gang_explained("high").waits.is_none());
}

#[test]
fn who_loses_what_is_beyond_its_minimum_is_told_for_whom() {
    let mut story = story();
    story.node("n", 4);
    story.gang("elastic", "left", 2, 4, GangSpec::default());
    story.come_to_rest();
    assert_eq!(story.gang_explained("elastic").runs.unwrap().surplus, 2);
    story.pass(1_000);
    story.gang("equal", "left", 2, 2, GangSpec::default());
    story.come_to_rest();
    let why = story.gang_explained("elastic");
    let lost = why.disruption.unwrap();
    assert_eq!(lost.by.unwrap(), "a/equal");
    assert_eq!((lost.why, lost.pods), (Lost::Surplus, 2));
    assert_eq!(why.phase, GangPhase::Running.as_str());
}

#[test]
fn the_head_of_a_queue_is_told_when_its_place_is_free_and_who_behind_it_for_whom_room_is_kept() {
    let mut story = story();
    story.node("n", 10);
    story.gang("short", "left", 3, 3, lifetime(60));
    story.gang("long", "left", 3, 3, lifetime(120));
    story.come_to_rest();
    story.gang("head", "left", 8, 8, lifetime(600));
    story.come_to_rest();
    story.gang("behind", "left", 3, 3, lifetime(600));
    story.come_to_rest();
    let waits = story.gang_explained("head").waits.unwrap();
    let (first, second) = (Time(60_000), Time(120_000));
    let place = waits.place.unwrap();
    assert_eq!((place.nodes, place.at), (1, Some(second)));
    let holders = [
        holder("a/short", Some(first)),
        holder("a/long", Some(second)),
    ];
    assert_eq!(place.holders, holders);
    let start = Start {
        at: Some(second),
        hangs_on: HangsOn::Lifetimes,
    };
    assert_eq!(waits.start, start);
    assert_eq!(waits.kept_for, None);

    let waits = story.gang_explained("behind").waits.unwrap();
    assert_eq!(waits.ahead.first, ["a/head"]);
    let kept = waits.kept_for.unwrap();
    assert_eq!((kept.first.as_str(), kept.nodes), ("a/head", 1));
    assert_eq!(waits.start.at, None);
    assert_eq!(waits.start.hangs_on, HangsOn::KeptRoom);
    assert!(waits.place.is_none());
}

#[test]
fn of_a_place_that_is_held_although_nobody_knows_when_it_is_free_just_that_is_told() {
    let mut story = story();
    story.node("n", 4);
    story.gang("endless", "left", 2, 2, GangSpec::default());
    story.come_to_rest();
    story.gang("head", "left", 4, 4, GangSpec::default());
    story.come_to_rest();
    let waits = story.gang_explained("head").waits.unwrap();
    assert_eq!(waits.start.hangs_on, HangsOn::Room);
    story.pass(300_000);
    story.come_to_rest();
    let waits = story.gang_explained("head").waits.unwrap();
    let place = waits.place.unwrap();
    assert_eq!((place.nodes, place.at), (1, None));
    assert_eq!(place.holders, [holder("a/endless", None)]);
    assert_eq!(
        (waits.start.at, waits.start.hangs_on),
        (None, HangsOn::Place)
    );
}

#[test]
fn past_its_lifetime_a_gang_could_go_for_a_reservation_whatever_its_queue_holds() {
    let mut story = story();
    story.node("n", 8);
    story.gang("old", "left", 2, 2, lifetime(60));
    story.come_to_rest();
    let lost = |story: &Story| story.gang_explained("old").runs.unwrap().could_lose;
    let before = [
        Could::some(Taker::EqualInQueue, 0, Spared::Priority),
        Could::all(Taker::HigherInQueue),
        Could::some(Taker::NeedyQueue, 0, Spared::WithinShare),
    ];
    assert_eq!(lost(&story), before);
    story.pass(61_000);
    story.come_to_rest();
    let mut after = before.to_vec();
    after.push(Could::all(Taker::Head));
    assert_eq!(lost(&story), after);
}

#[test]
fn who_is_protected_by_min_runtime_is_told_so_until_when() {
    let mut story = story();
    story.queue(QueueSpec {
        name: "left".into(),
        uid: "left".into(),
        over_share: 1_000_000,
        min_runtime: Some(Millis::from_secs(60)),
        ..QueueSpec::default()
    });
    story.node("n", 2);
    story.gang("runs", "left", 2, 2, GangSpec::default());
    story.come_to_rest();
    story.pass(1_000);
    story.gang("high", "left", 2, 2, priority(1));
    story.come_to_rest();
    let asked = story.asked_in_vain("high");
    let until = Spared::MinRuntime(Time(60_000));
    assert_eq!(asked.spared, [SparedCount::new(until, 1, "a/runs")]);
}

#[test]
fn pods_of_other_schedulers_are_counted_as_never_asked() {
    let mut story = story();
    story.node("n", 4);
    for name in ["one", "two", "three"] {
        story.submit(PodSpec {
            ours: false,
            node: Some("n".into()),
            phase: PodPhase::Running,
            ..pod(name, None, 1)
        });
    }
    story.tell(Event::Gone(ObjectKey::Pod(pod("two", None, 1).key)));
    story.gang("wants", "left", 4, 4, GangSpec::default());
    story.come_to_rest();
    let asked = story.asked_in_vain("wants");
    assert_eq!((asked.foreign, asked.may_go), (2, 0));
    story.scheduler.state().audit().unwrap();
}

#[test]
fn whom_the_books_hold_back_is_told_whose_and_who_is_behind_is_told_whom() {
    let mut story = Story::new();
    story.queue(QueueSpec {
        name: "left".into(),
        uid: "left".into(),
        limit: vec![("cpu".to_owned(), 3_000)],
        ..QueueSpec::default()
    });
    story.node("n", 8);
    story.gang("runs", "left", 2, 2, GangSpec::default());
    story.come_to_rest();
    story.gang("held", "left", 2, 2, GangSpec::default());
    story.pass(1);
    story.gang("behind", "left", 1, 1, GangSpec::default());
    story.come_to_rest();
    let waits = story.gang_explained("held").waits.unwrap();
    assert_eq!(waits.held.unwrap().by.as_deref(), Some("left"));
    assert_eq!(waits.asked, Some(Asked::nobody(Outcome::HeldBack)));
    assert_eq!(waits.start.hangs_on, HangsOn::Books);
    let why = story.gang_explained("behind");
    assert_eq!(why.condition.reason, "QueueHeld");
    let waits = why.waits.unwrap();
    let Reason { name, message } = waits.ahead.held_back.unwrap();
    assert_eq!(name, "a/held");
    assert!(message.contains("its limit is 3 cpu"), "{message}");
    assert_eq!(waits.start.hangs_on, HangsOn::Ahead);
    assert_eq!(why.queue.unwrap().limits[0].held, "2 cpu");
}

#[test]
fn every_gang_has_an_answer_whatever_it_waits_for() {
    let mut story = story();
    story.node("n", 1);
    story.group("without-pods", 1);
    story.gang("without-queue", "nowhere", 1, 1, GangSpec::default());
    story.gang("too-few-pods", "left", 3, 1, GangSpec::default());
    story.gang("too-large", "left", 3, 3, GangSpec::default());
    for _ in 0..2 {
        let names = ["without-pods", "without-queue", "too-few-pods", "too-large"];
        for name in names {
            let why = story.gang_explained(name);
            assert!(!why.condition.message.is_empty(), "{name}");
            assert!(why.waits.is_some(), "{name}");
        }
        story.come_to_rest();
    }
    assert_eq!(
        story.gang_explained("without-queue").lifetime,
        Lifetime::Unlimited
    );
    assert!(!story.queue_explained("nowhere").condition.status);
}

/// What is explained anew until nothing more is due now.
fn explained(story: &mut Story) -> Vec<String> {
    let mut names = Vec::new();
    loop {
        let (news, due) = story.scheduler.take_explained(story.now);
        names.extend(news.into_iter().map(|one| match one {
            Explained::Gang(_, gang) => format!("{}/{}", gang.namespace, gang.name),
            Explained::GangGone(key) => format!("no {key}"),
            Explained::Queue(queue) => format!("queue {}", queue.books.name),
            Explained::QueueGone(name) => format!("no queue {name}"),
            Explained::Testbed(one) => format!("testbed {}", one.name),
            Explained::TestbedGone(name) => format!("no testbed {name}"),
        }));
        if due.is_none_or(|due| due > story.now) {
            names.sort();
            return names;
        }
    }
}

#[test]
fn only_what_changed_is_explained_anew_and_a_queue_once_a_second_at_most() {
    let mut story = story();
    story.scheduler.keep_explaining();
    story.node("n", 4);
    story.gang("one", "left", 1, 1, GangSpec::default());
    story.gang("two", "right", 1, 1, GangSpec::default());
    story.come_to_rest();
    let all = [
        "a/one",
        "a/two",
        "queue default",
        "queue left",
        "queue right",
    ];
    assert_eq!(explained(&mut story), all);
    story.come_to_rest();
    assert_eq!(explained(&mut story), [""; 0], "nothing happened");
    story.gang("three", "left", 1, 1, GangSpec::default());
    story.come_to_rest();
    assert_eq!(
        explained(&mut story),
        ["a/three"],
        "its queue was told just now"
    );
    let (_, due) = story.scheduler.take_explained(story.now);
    assert_eq!(due, Some(story.now + Millis(1_000)));
    story.pass(1_000);
    assert!(explained(&mut story).contains(&"queue left".to_owned()));
    let (_, due) = story.scheduler.take_explained(story.now);
    assert_eq!(due, None, "who is told everything is left alone");
}

#[test]
fn what_is_gone_is_said_to_be_gone() {
    let mut story = story();
    story.scheduler.keep_explaining();
    story.gang("one", "left", 1, 1, GangSpec::default());
    story.come_to_rest();
    explained(&mut story);
    story.tell(Event::Gone(ObjectKey::Gang(
        key("one"),
        muster_model::Source::Muster,
    )));
    story.tell(Event::Gone(ObjectKey::Pod(
        pod("one-0", Some("one"), 1).key,
    )));
    story.tell(Event::Gone(ObjectKey::Queue("left".to_owned())));
    story.come_to_rest();
    story.pass(1_000);
    let gone = explained(&mut story);
    assert!(gone.contains(&"no a/one".to_owned()), "{gone:?}");
    assert!(gone.contains(&"no queue left".to_owned()), "{gone:?}");
    assert!(story.scheduler.explain_queue("left", story.now).is_none());
}

/// A plugin of this name that spares gangs of that one.
#[derive(Debug)]
struct Keeper(&'static str, &'static str);

impl Plugin for Keeper {
    fn name(&self) -> &'static str {
        self.0
    }
}

impl VictimFilter for Keeper {
    fn spares(&self, _: &ClusterState, gang: &Gang) -> bool {
        gang.key.name == self.1
    }
}

#[test]
fn what_a_plugin_spares_is_not_asked_and_who_waits_hears_of_it() {
    let mut policy = trusting();
    policy
        .profile
        .victims
        .push(Arc::new(Keeper("Keeper", "kept")));
    let mut story = Story {
        scheduler: Scheduler::new(policy),
        now: Time::ZERO,
    };
    story.scheduler.keep_explaining();
    story.node("n", 4);
    story.gang("kept", "default", 2, 2, GangSpec::default());
    story.gang("other", "default", 2, 2, GangSpec::default());
    story.come_to_rest();
    story.pass(1_000);
    // It would do the least harm of two that are alike.
    story.gang("first", "default", 2, 2, priority(9));
    let gone = story.evicted();
    assert_eq!(gone, ["other-0", "other-1"]);
    gone.iter().for_each(|name| story.gone(name));
    story.come_to_rest();
    story.gang("second", "default", 4, 4, priority(10));
    story.come_to_rest();
    assert!(story.evicted().is_empty());
    let asked = story.asked_in_vain("second");
    assert_eq!(
        asked.spared,
        [SparedCount::new(Spared::Plugin("Keeper"), 1, "a/kept")]
    );
}

#[test]
fn of_gangs_that_several_plugins_spare_each_is_told_apart() {
    let mut policy = trusting();
    for (plugin, gang) in [("Keeper", "kept"), ("Warden", "ward")] {
        policy.profile.victims.push(Arc::new(Keeper(plugin, gang)));
    }
    let mut story = Story {
        scheduler: Scheduler::new(policy),
        now: Time::ZERO,
    };
    story.scheduler.keep_explaining();
    story.node("n", 4);
    for gang in ["kept", "ward"] {
        story.gang(gang, "default", 2, 2, GangSpec::default());
    }
    story.come_to_rest();
    story.pass(1_000);
    story.gang("wants", "default", 2, 2, priority(9));
    story.come_to_rest();
    let asked = story.asked_in_vain("wants");
    let expected = [
        SparedCount::new(Spared::Plugin("Keeper"), 1, "a/kept"),
        SparedCount::new(Spared::Plugin("Warden"), 1, "a/ward"),
    ];
    assert_eq!(asked.spared, expected);
}
