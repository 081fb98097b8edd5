//! The rules of docs/shadow.md, one by one; and the core on random clusters with a shadow.

use crate::{Now, Pair, Report, State, World};
use muster_core::Core;
use muster_core::engine::Policy;
use muster_lint::Linter;
use muster_model::testing::{group, key, node, pod};
use muster_model::units::{Millis, Time};
use muster_model::{
    About, Answer, Bind, BindOutcome, Body, Effect, Event, Evict, EvictCause, EvictOutcome,
    GangKey, GhostOf, Object, ObjectKey, PodKey, PodPhase, PodSpec, Point, Question, QuestionId,
    Source,
};
use proptest::prelude::*;

/// So many seconds after the shadow began.
fn at(seconds: u64) -> Time {
    Time::from_secs(1_000 + seconds)
}

fn world() -> World {
    World::new(at(0))
}

/// A pod of gang `g` that came so many seconds after the shadow began.
fn member(name: &str, seconds: u64) -> PodSpec {
    PodSpec {
        created: at(seconds),
        ..pod(name, Some("g"), 1)
    }
}

fn on(spec: &PodSpec, node: &str, seconds: u64) -> PodSpec {
    PodSpec {
        node: Some(node.to_owned()),
        bound_at: Some(at(seconds)),
        phase: PodPhase::Running,
        ..spec.clone()
    }
}

fn ended(spec: &PodSpec, phase: PodPhase) -> PodSpec {
    PodSpec {
        phase,
        ..spec.clone()
    }
}

fn told_to_go(spec: &PodSpec) -> PodSpec {
    PodSpec {
        terminating: true,
        ..spec.clone()
    }
}

fn gone(spec: &PodSpec) -> Event {
    Event::Gone(ObjectKey::Pod(spec.key.clone()))
}

fn bind(key: &PodKey, node: &str) -> Effect {
    Effect::Bind(Bind {
        pod: key.clone(),
        node: node.to_owned(),
        slot: None,
        completes: false,
        asks: None,
    })
}

fn evict(key: &PodKey) -> Effect {
    Effect::Evict(Evict {
        pod: key.clone(),
        cause: EvictCause::Preemption,
        beneficiary: Some(muster_model::testing::key("high")),
        message: "makes room".into(),
        again: false,
    })
}

/// The pods that are told, each as: where, how far, whether it is to go.
fn pods(told: &[Event]) -> Vec<(Option<&str>, PodPhase, bool)> {
    let specs = told.iter().filter_map(|event| match event {
        Event::Is(Object::Pod(spec)) => Some(&**spec),
        _ => None,
    });
    let row = |spec: &'_ PodSpec| (spec.phase, spec.terminating);
    specs
        .map(|spec| {
            let (phase, terminating) = row(spec);
            (spec.node.as_deref(), phase, terminating)
        })
        .collect()
}

fn report(world: &mut World, seconds: u64, minimum: u32) -> Report {
    world.look_at_all();
    world.settle(at(seconds), |_| Some(minimum));
    world.report(at(seconds))
}

#[test]
fn a_pod_waits_in_the_shadow_until_the_core_binds_it() {
    let mut world = world();
    let spec = member("p", 5);
    let waits = (None, PodPhase::Pending, false);
    assert_eq!(pods(&world.hear(Event::is(spec.clone()), at(5))), [waits]);
    let really = PodSpec {
        nominated: Some("real".to_owned()),
        ..on(&spec, "real", 6)
    };
    assert_eq!(pods(&world.hear(Event::is(really.clone()), at(6))), [waits]);
    let told = world.carry_out(bind(&spec.key, "mine"), at(7));
    let bound = BindOutcome::Bound {
        node: "mine".to_owned(),
    };
    assert_eq!(told[0], Event::BindResult(spec.key, bound));
    let runs = (Some("mine"), PodPhase::Running, false);
    assert_eq!(pods(&told), [runs]);
    let Event::Is(Object::Pod(shown)) = &told[1] else {
        panic!("{told:?}");
    };
    assert_eq!((shown.bound_at, &shown.nominated), (Some(at(7)), &None));
    // What else is news of it does not move it.
    assert_eq!(pods(&world.hear(Event::is(really), at(8))), [runs]);
}

#[test]
fn a_pod_that_is_on_a_node_when_it_is_first_seen_is_there() {
    let mut world = world();
    let spec = on(&member("p", 0), "real", 0);
    assert_eq!(
        world.hear(Event::is(spec.clone()), at(5)),
        [Event::is(spec.clone())]
    );
    let finished = ended(&spec, PodPhase::Succeeded);
    assert_eq!(
        world.hear(Event::is(finished.clone()), at(9)),
        [Event::is(finished)]
    );
    assert_eq!(world.due(), None);
}

#[test]
fn a_pod_that_began_sooner_in_the_shadow_ends_when_its_end_is_seen() {
    let mut world = world();
    let spec = member("p", 0);
    world.hear(Event::is(spec.clone()), at(0));
    world.carry_out(bind(&spec.key, "mine"), at(1));
    let spec = on(&spec, "real", 60);
    world.hear(Event::is(spec.clone()), at(60));
    let told = world.hear(Event::is(ended(&spec, PodPhase::Succeeded)), at(90));
    assert_eq!(pods(&told), [(Some("mine"), PodPhase::Succeeded, false)]);
    assert_eq!(world.hear(gone(&spec), at(95)), [gone(&spec)]);
}

#[test]
fn a_pod_that_began_later_in_the_shadow_runs_there_for_as_long_and_outlives_its_object() {
    let mut world = world();
    let group = group("g");
    world.hear(Event::is(group.clone()), at(0));
    let spec = member("p", 0);
    world.hear(Event::is(spec.clone()), at(0));
    let spec = on(&spec, "real", 10);
    world.hear(Event::is(spec.clone()), at(10));
    let done = ended(&spec, PodPhase::Succeeded);
    // It ran for half a minute, and waits in the shadow.
    assert_eq!(
        pods(&world.hear(Event::is(done), at(40))),
        [(None, PodPhase::Pending, false)]
    );
    assert_eq!(world.hear(gone(&spec), at(41)), []);
    let group_gone = Event::Gone(ObjectKey::Gang(group.key, Source::Muster));
    assert_eq!(
        world.hear(group_gone.clone(), at(42)),
        [],
        "its pod is there"
    );
    world.carry_out(bind(&spec.key, "mine"), at(100));
    assert_eq!(world.due(), Some(at(130)));
    assert_eq!(world.come_to(at(129)), []);
    let told = world.come_to(at(130));
    assert_eq!(pods(&told), [(Some("mine"), PodPhase::Succeeded, false)]);
    assert_eq!(told[1..], [gone(&spec), group_gone], "nothing is left");
    assert_eq!(world.due(), None);
}

#[test]
fn a_pod_that_ended_and_is_still_there_stays_when_it_has_ended_in_the_shadow() {
    let mut world = world();
    let spec = member("p", 0);
    world.hear(Event::is(spec.clone()), at(0));
    let spec = on(&spec, "real", 10);
    world.hear(Event::is(spec.clone()), at(10));
    world.carry_out(bind(&spec.key, "mine"), at(15));
    let failed = ended(&spec, PodPhase::Failed);
    let told = world.hear(Event::is(failed), at(20));
    assert_eq!(pods(&told), [(Some("mine"), PodPhase::Running, false)]);
    let told = world.come_to(at(25));
    assert_eq!(pods(&told), [(Some("mine"), PodPhase::Failed, false)]);
    assert_eq!(world.hear(gone(&spec), at(30)), [gone(&spec)]);
}

#[test]
fn a_pod_that_is_deleted_before_it_ended_goes_at_the_same_moment() {
    for bound in [false, true] {
        let mut world = world();
        let spec = member("p", 0);
        world.hear(Event::is(spec.clone()), at(0));
        if bound {
            world.carry_out(bind(&spec.key, "mine"), at(1));
        }
        let spec = told_to_go(&on(&spec, "real", 1));
        let told = world.hear(Event::is(spec.clone()), at(50));
        let (place, phase) = if bound {
            (Some("mine"), PodPhase::Running)
        } else {
            (None, PodPhase::Pending)
        };
        assert_eq!(pods(&told), [(place, phase, true)]);
        // Its containers end well for they were told to.
        let told = world.hear(Event::is(ended(&spec, PodPhase::Succeeded)), at(51));
        assert_eq!(pods(&told), [(place, PodPhase::Succeeded, true)]);
        assert_eq!(world.hear(gone(&spec), at(52)), [gone(&spec)]);
    }
}

#[test]
fn a_pod_that_is_gone_without_a_word_goes() {
    let mut world = world();
    let spec = on(&member("p", 0), "real", 0);
    world.hear(Event::is(spec.clone()), at(0));
    let nameless = ObjectKey::Pod(spec.key.clone()).of_name();
    assert_eq!(world.hear(Event::Gone(nameless), at(5)), [gone(&spec)]);
}

#[test]
fn who_is_evicted_waits_again_as_another_and_begins_from_the_start() {
    let mut world = world();
    let spec = on(&member("p", 0), "real", 0);
    world.hear(Event::is(spec.clone()), at(5));
    let told = world.carry_out(evict(&spec.key), at(20));
    assert_eq!(
        told[0],
        Event::EvictResult(spec.key.clone(), EvictOutcome::Gone)
    );
    assert_eq!(pods(&told), [(None, PodPhase::Pending, false)]);
    let Event::Is(Object::Pod(again)) = &told[1] else {
        panic!("{told:?}");
    };
    assert_ne!(again.key.uid, spec.key.uid);
    // A bind for the one before comes to nothing.
    let late = world.carry_out(bind(&spec.key, "mine"), at(21));
    assert_eq!(
        late,
        [Event::BindResult(spec.key.clone(), BindOutcome::Gone)]
    );
    // It really ran for 30 s in all.
    world.hear(Event::is(ended(&spec, PodPhase::Succeeded)), at(35));
    world.carry_out(bind(&again.key, "mine"), at(40));
    assert_eq!(world.due(), Some(at(75)));
    let report = report(&mut world, 60, 1);
    assert_eq!(report.period.evictions, 1);
    let told = &report.evicted[0];
    assert_eq!((&*told.pod, &*told.node), ("a/p", "real"));
    assert_eq!(told.beneficiary.as_deref(), Some("a/high"));
}

#[test]
fn who_really_goes_is_gone_when_it_is_evicted() {
    let mut world = world();
    let spec = on(&member("p", 0), "real", 0);
    world.hear(Event::is(spec.clone()), at(5));
    world.hear(Event::is(told_to_go(&spec)), at(6));
    let told = world.carry_out(evict(&spec.key), at(7));
    assert_eq!(pods(&told), []);
    assert_eq!(world.hear(Event::is(node("n", 1)), at(8)).len(), 1);
}

#[test]
fn what_was_on_a_node_that_is_gone_waits_again() {
    let mut world = world();
    let (here, there) = (member("here", 0), member("there", 0));
    for spec in [&here, &there] {
        world.hear(Event::is(spec.clone()), at(0));
    }
    world.carry_out(bind(&here.key, "n"), at(1));
    world.carry_out(bind(&there.key, "m"), at(1));
    let node_gone = Event::Gone(ObjectKey::Node("n".to_owned()));
    let told = world.hear(node_gone.clone(), at(9));
    assert_eq!(told[..2], [node_gone, gone(&here)]);
    assert_eq!(pods(&told), [(None, PodPhase::Pending, false)]);
}

#[test]
fn pods_of_others_are_as_they_are_but_those_that_the_shadow_evicted() {
    let mut world = world();
    let other = PodSpec {
        ours: false,
        node: Some("n".to_owned()),
        ..pod("other", None, 1)
    };
    let ghost = PodSpec {
        ghost_of: Some(GhostOf::default()),
        ..on(&pod("ghost", None, 1), "n", 0)
    };
    for spec in [&other, &ghost] {
        let event = Event::is(spec.clone());
        assert_eq!(world.hear(event.clone(), at(0)), [event]);
    }
    let told = world.carry_out(evict(&ghost.key), at(1));
    assert_eq!(
        told,
        [Event::EvictResult(ghost.key.clone(), EvictOutcome::Gone)]
    );
    assert_eq!(world.hear(Event::is(ghost.clone()), at(2)), []);
    assert_eq!(world.hear(gone(&ghost), at(3)), []);
    assert_eq!(world.hear(gone(&other), at(3)), [gone(&other)]);
}

#[test]
fn whoever_takes_the_name_of_one_that_is_left_has_it_go() {
    let mut world = world();
    let spec = member("p", 0);
    world.hear(Event::is(spec.clone()), at(0));
    let spec = on(&spec, "real", 0);
    world.hear(Event::is(spec.clone()), at(0));
    world.hear(Event::is(ended(&spec, PodPhase::Succeeded)), at(30));
    world.hear(gone(&spec), at(31));
    let mut other = member("p", 40);
    other.key.uid = "another".to_owned();
    let told = world.hear(Event::is(other.clone()), at(40));
    assert_eq!(told[0], gone(&spec));
    assert_eq!(pods(&told), [(None, PodPhase::Pending, false)]);
    assert_eq!(world.hear(gone(&other), at(41)), [gone(&other)]);
}

#[test]
fn nobody_is_asked() {
    let question = Question {
        id: QuestionId(7),
        about: About::Gang(key("g")),
        body: Body::Plugin {
            plugin: "door".to_owned(),
            point: Point::Permit,
            payload: String::new(),
        },
        at_most: Millis(1),
        leaves_traces: false,
        undoes: None,
    };
    let told = world().carry_out(Effect::Ask(question), at(0));
    let yes = Answer::Yes(String::new());
    assert_eq!(told, [Event::Answer(QuestionId(7), yes)]);
}

/// Two gangs of two, for each of which there is room: in the real cluster one of each is on a node.
fn deadlock() -> World {
    let mut world = world();
    let of = |gang: &str, name: &str| PodSpec {
        created: at(10),
        ..pod(name, Some(gang), 1)
    };
    let all = [of("a", "a0"), of("a", "a1"), of("b", "b0"), of("b", "b1")];
    for spec in &all {
        world.hear(Event::is(spec.clone()), at(10));
    }
    for (spec, place) in [(&all[0], "n0"), (&all[2], "n1")] {
        world.hear(Event::is(on(spec, place, 12)), at(12));
    }
    for (spec, place) in [(&all[0], "n0"), (&all[1], "n0")] {
        world.carry_out(bind(&spec.key, place), at(14));
    }
    world.settle(at(14), |_| Some(2));
    world
}

#[test]
fn two_gangs_that_wait_for_each_other_are_in_part_in_one_cluster_and_one_is_whole_in_the_other() {
    let mut world = deadlock();
    let told = report(&mut world, 60, 2);
    let real = Now {
        gangs_in_part: 2,
        pods_on_nodes: 2,
        pods_waiting: 2,
        nodes_used: 2,
        ..Now::default()
    };
    let shadow = Now {
        gangs_whole: 1,
        gangs_waiting: 1,
        nodes_used: 1,
        ..real
    };
    let shadow = Now {
        gangs_in_part: 0,
        ..shadow
    };
    assert_eq!(told.now, Pair { real, shadow });
    let states = told
        .differences
        .iter()
        .map(|one| (&*one.gang, one.state.real, one.state.shadow));
    let states: Vec<_> = states.collect();
    let ahead = ("a/a", State::InPart, State::Whole);
    assert_eq!(states, [ahead, ("a/b", State::InPart, State::Waits)]);
    assert_eq!(
        told.period.gangs.map(crate::Waits::started),
        Pair { real: 0, shadow: 1 }
    );
    assert_eq!(told.period.gangs.shadow.percentile(50), Some(Millis(4_000)));
    assert_eq!(told.period.pods.real.percentile(50), Some(Millis(2_000)));
    assert_eq!(
        told.period.pods.map(crate::Waits::started),
        Pair { real: 2, shadow: 2 }
    );
}

#[test]
fn a_report_is_of_the_time_since_the_last_one_and_of_all() {
    let mut world = deadlock();
    report(&mut world, 60, 2);
    // Who made the deadlock ends it.
    let b0 = on(&pod("b0", Some("b"), 1), "n1", 12);
    world.hear(gone(&b0), at(70));
    world.hear(Event::is(on(&pod("a1", Some("a"), 1), "n1", 80)), at(80));
    let told = report(&mut world, 120, 2);
    assert_eq!((told.since, told.at, told.began), (at(60), at(120), at(0)));
    assert_eq!(
        told.period.gangs.map(crate::Waits::started),
        Pair { real: 1, shadow: 0 }
    );
    assert_eq!(
        told.total.gangs.map(crate::Waits::started),
        Pair { real: 1, shadow: 1 }
    );
    assert_eq!(
        (told.period.sooner, told.period.later, told.period.same),
        (1, 0, 0)
    );
}

#[test]
fn what_was_whole_before_the_shadow_began_did_not_start_in_it() {
    let mut world = world();
    for name in ["p", "q"] {
        world.hear(Event::is(on(&member(name, 0), "n", 0)), at(5));
    }
    let told = report(&mut world, 6, 2);
    let none = Pair::default();
    assert_eq!(told.total.gangs.map(crate::Waits::started), none);
    assert_eq!(told.total.pods.map(crate::Waits::started), none);
    assert_eq!(
        told.now.map(|now| now.gangs_whole),
        Pair { real: 1, shadow: 1 }
    );
    assert_eq!(told.differences, []);
}

#[test]
fn a_gang_that_has_ended_in_one_cluster_and_waits_in_the_other_differs() {
    let mut world = world();
    let spec = member("p", 0);
    world.hear(Event::is(spec.clone()), at(0));
    let spec = on(&spec, "n", 1);
    world.hear(Event::is(spec.clone()), at(1));
    world.hear(Event::is(ended(&spec, PodPhase::Succeeded)), at(9));
    world.hear(gone(&spec), at(9));
    let told = report(&mut world, 10, 1);
    let [one] = &told.differences[..] else {
        panic!("{told:?}");
    };
    let (real, shadow) = (State::Over, State::Waits);
    assert_eq!(one.state, Pair { real, shadow });
}

#[test]
fn a_report_has_a_bound_and_says_what_it_leaves_out() {
    let mut world = world();
    for number in 0..30 {
        let spec = pod(&format!("p{number}"), None, 1);
        world.hear(Event::is(spec.clone()), at(0));
        world.carry_out(bind(&spec.key, "n"), at(0));
        world.carry_out(evict(&spec.key), at(1));
        world.hear(Event::is(on(&spec, "n", 1)), at(1));
    }
    let told = report(&mut world, 2, 1);
    assert_eq!((told.differences.len(), told.left.differences), (20, 10));
    assert_eq!((told.evicted.len(), told.left.evictions), (20, 10));
    let told = report(&mut world, 3, 1);
    assert_eq!((told.evicted.len(), told.left.evictions), (0, 0));
}

#[test]
fn who_waits_for_members_that_will_not_come_goes() {
    let mut world = world();
    let (first, second) = (member("p", 0), member("q", 0));
    world.hear(Event::is(first.clone()), at(0));
    world.hear(Event::is(second.clone()), at(0));
    let first = on(&first, "n", 1);
    world.hear(Event::is(first.clone()), at(1));
    world.hear(Event::is(ended(&first, PodPhase::Succeeded)), at(9));
    world.hear(gone(&first), at(9));
    assert_eq!(world.settle(at(9), |_| Some(2)), [], "there are two");
    assert_eq!(world.hear(gone(&second), at(10)), [gone(&second)]);
    assert_eq!(world.settle(at(10), |_| Some(2)), [gone(&first)]);
    assert_eq!(report(&mut world, 11, 2).now, Pair::default());
}

/// Something that happens in the real cluster, to one of a few pods.
#[derive(Clone, Copy, Debug)]
enum Step {
    Create { gang: usize, cpus: i64 },
    Bind { pod: usize, node: usize },
    End { pod: usize, well: bool },
    Delete { pod: usize },
    Remove { pod: usize },
    LoseNode { node: usize },
    MakeNode { node: usize },
    Wait { seconds: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3_usize, 1..4_i64).prop_map(|(gang, cpus)| Step::Create { gang, cpus }),
        4 => (0..12_usize, 0..3_usize).prop_map(|(pod, node)| Step::Bind { pod, node }),
        2 => (0..12_usize, any::<bool>()).prop_map(|(pod, well)| Step::End { pod, well }),
        1 => (0..12_usize).prop_map(|pod| Step::Delete { pod }),
        2 => (0..12_usize).prop_map(|pod| Step::Remove { pod }),
        1 => (0..3_usize).prop_map(|node| Step::LoseNode { node }),
        2 => (0..3_usize).prop_map(|node| Step::MakeNode { node }),
        3 => (1..90_u64).prop_map(|seconds| Step::Wait { seconds }),
    ]
}

/// A core on a shadow, whose plans are judged.
struct Lab {
    now: Time,
    world: World,
    core: Core,
    linter: Linter,
    /// As they really are.
    pods: Vec<Option<PodSpec>>,
    made: u64,
}

impl Lab {
    fn new() -> Self {
        let mut lab = Self {
            now: at(0),
            world: world(),
            core: Core::new(Policy::default()),
            linter: Linter::default(),
            pods: vec![None; 12],
            made: 0,
        };
        for name in ["g0", "g1", "g2"] {
            let mut spec = group(name);
            spec.min_available = 2;
            lab.real(Event::is(spec));
        }
        for number in 0..3 {
            lab.real(Event::is(node(&format!("n{number}"), 4)));
        }
        lab
    }

    fn tell(&mut self, told: Vec<Event>) {
        for event in told {
            let linter = &mut self.linter;
            self.core.hear(event, self.now, |event| linter.hear(event));
        }
    }

    fn real(&mut self, event: Event) {
        let told = self.world.hear(event, self.now);
        self.tell(told);
    }

    fn decide(&mut self) {
        for _ in 0..50 {
            let linter = &mut self.linter;
            let plan = self.core.decide(self.now, |event| linter.hear(event));
            let notes = self.linter.look(&plan, self.now);
            assert_eq!(notes, [""; 0], "{plan:#?}");
            for effect in plan.effects {
                let told = self.world.carry_out(effect, self.now);
                self.tell(told);
            }
            self.core.scheduler().audit().unwrap();
            let minimum = |gang: &GangKey| {
                let state = self.core.scheduler().state();
                Some(state.gang(state.find_gang(gang)?)?.min_available())
            };
            let told = self.world.settle(self.now, minimum);
            self.tell(told);
            if !(plan.more || self.core.scheduler().wants_cycle()) {
                return;
            }
        }
        panic!("the core comes to no rest");
    }

    fn change(&mut self, pod: usize, how: impl FnOnce(&mut PodSpec)) {
        if let Some(spec) = &mut self.pods[pod] {
            how(spec);
            let event = Event::is(spec.clone());
            self.real(event);
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Create { gang, cpus } => {
                let Some(free) = self.pods.iter().position(Option::is_none) else {
                    return;
                };
                let mut spec = pod(&format!("p{free}"), Some(&format!("g{gang}")), cpus);
                self.made += 1;
                spec.key.uid = format!("uid-{}", self.made);
                spec.created = self.now;
                self.pods[free] = Some(spec.clone());
                self.real(Event::is(spec));
            }
            Step::Bind { pod, node } => self.change(pod, |spec| {
                if spec.node.is_none() {
                    *spec = on(spec, &format!("n{node}"), 0);
                }
            }),
            Step::End { pod, well } => self.change(pod, |spec| {
                if spec.node.is_some() && !spec.phase.is_terminal() {
                    spec.phase = if well {
                        PodPhase::Succeeded
                    } else {
                        PodPhase::Failed
                    };
                }
            }),
            Step::Delete { pod } => self.change(pod, |spec| spec.terminating = true),
            Step::Remove { pod } => {
                if let Some(spec) = self.pods[pod].take() {
                    self.real(gone(&spec));
                }
            }
            Step::LoseNode { node } => self.real(Event::Gone(ObjectKey::Node(format!("n{node}")))),
            Step::MakeNode { node: number } => {
                self.real(Event::is(node(&format!("n{number}"), 4)));
            }
            Step::Wait { seconds } => {
                let until = self.now + Millis::from_secs(seconds);
                while let Some(due) = self.world.due().filter(|due| *due < until) {
                    self.now = due;
                    let told = self.world.come_to(due);
                    self.tell(told);
                    self.decide();
                }
                self.now = until;
                let told = self.world.come_to(until);
                self.tell(told);
            }
        }
        self.decide();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// And once all objects are gone and what ran has ended, nothing is left of the shadow.
    #[test]
    fn whatever_really_happens_the_core_makes_good_plans_in_the_shadow(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut lab = Lab::new();
        for step in steps {
            lab.step(step);
        }
        for node in 0..3 {
            lab.step(Step::MakeNode { node });
        }
        for pod in 0..12 {
            lab.step(Step::Remove { pod });
        }
        for gang in ["g0", "g1", "g2"] {
            lab.real(Event::Gone(ObjectKey::Gang(key(gang), Source::Muster)));
        }
        for _ in 0..100 {
            lab.step(Step::Wait { seconds: 600 });
        }
        let told = lab.world.report(lab.now);
        prop_assert_eq!(told.now, Pair::default(), "{:?}", told.differences);
        prop_assert_eq!(lab.world.due(), None);
        prop_assert!(lab.core.scheduler().state().pods().next().is_none());
        prop_assert!(lab.core.scheduler().state().gangs().next().is_none());
    }
}
