//! Taking a gang off its nodes: who is evicted, who is asked back, how often, and what comes after.

use super::*;
use crate::actions::back_off::back_off_from_release;
use crate::actions::recall::recall;
use crate::actions::release::{is_needless, release};
use muster_model::{Evict, EvictCause, PodKey};

impl World {
    fn bound(&mut self, pod: &PodKey) {
        let node = "n".to_owned();
        let outcome = BindOutcome::Bound { node };
        self.tell(Event::BindResult(pod.clone(), outcome));
        self.take_in();
    }

    /// All evictions are answered so; what follows from that.
    fn answer(&mut self, evictions: &[Evict], outcome: &EvictOutcome) -> Orders {
        for evict in evictions {
            self.tell(Event::EvictResult(evict.pod.clone(), outcome.clone()));
        }
        self.take_in().1
    }
}

fn refused() -> EvictOutcome {
    EvictOutcome::Refused {
        message: "denied by policy".into(),
    }
}

#[test]
fn who_is_bound_is_evicted_and_who_is_on_the_way_is_asked_back_once() {
    let mut world = World::new();
    world.node("n", 3);
    let gang = world.gang("g", 3, 3);
    let binds = world.allocate().binds;
    world.bound(&binds[0].pod);
    let ((), orders) = world.act(|cx| release(cx, gang));
    let [evicted] = &orders.evictions[..] else {
        panic!("{:?}", orders.evictions);
    };
    assert_eq!(
        (&evicted.pod, evicted.cause),
        (&binds[0].pod, EvictCause::Release)
    );
    assert!(evicted.beneficiary.is_none() && !evicted.again);
    assert_eq!(orders.recalls, [binds[1].pod.clone(), binds[2].pod.clone()]);
    assert!(world.is_released(gang));
    let ((), again) = world.act(|cx| recall(cx.state, &mut cx.orders, gang));
    assert!(again.recalls.is_empty(), "they were asked");
}

#[test]
fn a_release_is_over_when_nobody_holds_a_node_and_a_pause_follows() {
    let mut world = World::new();
    world.node("n", 2);
    let gang = world.gang("g", 2, 2);
    assert_eq!(world.run(), 2);
    let ((), orders) = world.act(|cx| release(cx, gang));
    world.answer(&orders.evictions, &EvictOutcome::Accepted);
    assert!(world.is_released(gang), "they are still there");
    for evict in orders.evictions {
        world.tell(Event::Gone(ObjectKey::Pod(evict.pod)));
    }
    world.take_in();
    assert_eq!(*world.stage(gang), Stage::BackingOff);
    let retry = world.agenda.note(gang).retry_at;
    assert_eq!(retry, Some(world.now + Millis::from_secs(10)));
}

#[test]
fn pauses_double_up_to_five_minutes() {
    let mut world = World::new();
    let gang = world.gang("g", 1, 1);
    let pause = |world: &mut World| {
        world.act(|cx| back_off_from_release(cx, gang));
        world.agenda.note(gang).retry_at.unwrap().since(world.now)
    };
    for seconds in [10, 20, 40, 80, 160, 300, 300] {
        assert_eq!(pause(&mut world), Millis::from_secs(seconds));
    }
}

/// Where everything is refused, a few are tried again, not all; once one of them is taken, all are.
#[test]
fn refused_evictions_are_tried_again_a_few_at_a_time() {
    let mut world = World::new();
    world.node("n", 40);
    let gang = world.gang("g", 40, 40);
    let binds = world.allocate().binds;
    binds[1..].iter().for_each(|bind| world.bound(&bind.pod));
    world.tell(Event::Gone(ObjectKey::Pod(binds[0].pod.clone())));
    world.take_in();
    let ((), orders) = world.act(|cx| release(cx, gang));
    assert_eq!(orders.evictions.len(), 39);
    let mut probes = world.answer(&orders.evictions, &refused()).evictions;
    assert!(probes.is_empty(), "not at once");
    let why = world.agenda.note(gang).release().unwrap();
    let stuck = why.stuck.as_ref().unwrap();
    let (pod, setback) = (stuck.pod.as_str(), &stuck.setback);
    assert_eq!((pod, setback.refused), ("g-1", true));
    assert_eq!(setback.message, "denied by policy");
    for _ in 0..3 {
        world.pass(1_500);
        probes = world.take_in().1.evictions;
        assert_eq!(probes.len(), 16);
        assert!(probes.iter().all(|probe| probe.again));
        world.answer(&probes, &refused());
    }
    world.pass(1_500);
    probes = world.take_in().1.evictions;
    let mut all = world
        .answer(&probes[..1], &EvictOutcome::Accepted)
        .evictions;
    world.pass(1_500);
    all.extend(world.take_in().1.evictions);
    assert!(all.len() > 16, "{}", all.len());
}

#[test]
fn a_release_has_lost_its_reason_when_what_is_left_is_enough() {
    let mut world = World::new();
    world.node("n", 3);
    let gang = world.gang("g", 3, 3);
    let binds = world.allocate().binds;
    world.bound(&binds[0].pod);
    let ((), orders) = world.act(|cx| release(cx, gang));
    assert!(!world.act(|cx| is_needless(cx, gang)).0);
    world.tell(Event::is(GangSpec {
        min_available: 1,
        ..group("g")
    }));
    world.act(|cx| charge_who_runs(cx, &BTreeSet::from([gang])));
    assert!(
        !world.act(|cx| is_needless(cx, gang)).0,
        "the one that is left goes"
    );
    for evict in orders.evictions {
        world.tell(Event::EvictResult(evict.pod, refused()));
    }
    assert!(
        world.act(|cx| is_needless(cx, gang)).0,
        "it may not be deleted"
    );
}
