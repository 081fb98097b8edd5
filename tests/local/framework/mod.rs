//! Every extension point, used by a plugin from outside the crate: called when it should be, heard
//! when it speaks, and undone when something later fails.

mod asking;

use muster::core::engine::{Policy, Scheduler};
use muster::core::framework::{
    Ask, BindVerdict, Binder, Context, EventHandler, Filter, GangDomains, Permit, PermitVerdict,
    Plugin, PostBind, PostFilter, PreBind, PreBindVerdict, PreEnqueue, PreFilter, PreFilterVerdict,
    PreScore, QueueSort, Reason, Refusal, Reserve, ReserveVerdict, Scope, Score, Spot, Spots,
    Store, Verdict, WaitingGangs, Weighted,
};
use muster::core::state::{ClusterState, Gang, GangId, NodeId, NodeSet, PodId, Shape};
use muster::model::Effect;
use muster::model::Object;
use muster::model::ObjectKey;
use muster::model::units::{Millis, Time};
use muster::model::{
    BindOutcome, Event, GangKey, GangRef, GangSpace, GangSpec, NodeSpec, PodKey, PodSpec, Point,
    ShapeSpec, Why,
};
use std::sync::{Arc, Mutex};

/// Speaks at every point, and writes down what it was asked.
#[derive(Default)]
struct Spy {
    heard: Mutex<Vec<String>>,
    deny_at: Option<&'static str>,
    ask_at: &'static [Point],
    wait: bool,
}

impl Spy {
    fn hear(&self, what: impl Into<String>) {
        self.heard.lock().unwrap().push(what.into());
    }

    fn asks(&self, point: Point) -> Option<Ask> {
        let at_most = Millis(3_000);
        let ask = || Ask::of_plugin("Spy", point, "?".to_owned(), at_most).to_be_undone();
        self.ask_at.contains(&point).then(ask)
    }

    fn answer(&self, point: &'static str) -> Result<(), Reason> {
        if self.deny_at == Some(point) {
            Err(Reason::Other(format!("{point} says no")))
        } else {
            Ok(())
        }
    }
}

/// The pods of a decision.
fn names(spots: &Spots<'_>) -> String {
    let names: Vec<&str> = spots.iter().map(|spot| spot.pod.name.as_str()).collect();
    names.join(" ")
}

impl Plugin for Spy {
    fn name(&self) -> &'static str {
        "Spy"
    }
}

impl PreEnqueue for Spy {
    fn holds_back(&self, _: &ClusterState, gang: &Gang) -> Option<Why> {
        (gang.key.name == "never").then(|| Why::new("Spied", "held back by the spy"))
    }
}

impl PreFilter for Spy {
    fn pre_filter(&self, cx: &Context<'_>) -> PreFilterVerdict {
        match cx.pod.key.name.as_str() {
            "nowhere" => PreFilterVerdict::Refuse(Reason::Other("refused by the spy".into())),
            "only-n2" => {
                let only = cx.state.nodes().find("n2").into_iter().collect();
                PreFilterVerdict::Narrow(only, Reason::Other("not n2".into()))
            }
            _ => PreFilterVerdict::Continue,
        }
    }
}

impl PostFilter for Spy {
    fn post_filter(&self, _: &ClusterState, _: &Gang, _: &mut WaitingGangs) -> Option<String> {
        Some("The spy is sorry.".into())
    }
}

/// What the spy leaves for itself between PreScore and Score.
struct Favourite(Option<NodeId>);

impl PreScore for Spy {
    fn pre_score(&self, state: &ClusterState, _: PodId, _: &NodeSet, store: &mut Store) {
        store.put(Favourite(state.nodes().find("n1")));
    }
}

impl Score for Spy {
    fn score(&self, cx: &Context<'_>, nodes: &NodeSet, scores: &mut Vec<i64>) {
        let favourite = cx.store.get::<Favourite>().and_then(|one| one.0);
        scores.extend(nodes.iter().map(|node| i64::from(Some(node) == favourite)));
    }
}

impl Reserve for Spy {
    fn reserve(&self, spots: &Spots<'_>) -> ReserveVerdict {
        self.hear(format!("reserve {}", names(spots)));
        if let Some(spot) = spots.iter().find(|spot| spot.pod.name == "p1")
            && let Err(reason) = self.answer("reserve")
        {
            return ReserveVerdict::Refuse(Refusal::of(&spot, reason));
        }
        match self.asks(Point::Reserve) {
            Some(ask) => ReserveVerdict::Ask(ask),
            None => ReserveVerdict::Done,
        }
    }

    fn unreserve(&self, spots: &Spots<'_>) {
        self.hear(format!("unreserve {}", names(spots)));
    }
}

impl Permit for Spy {
    fn permit(&self, spots: &Spots<'_>, _: Time, _: &mut WaitingGangs) -> PermitVerdict {
        self.hear(format!("permit {}", names(spots)));
        match self.answer("permit") {
            Err(reason) => PermitVerdict::Deny(Refusal::of_all(reason)),
            Ok(()) if self.wait => PermitVerdict::Wait(Millis(5_000)),
            Ok(()) => match self.asks(Point::Permit) {
                Some(ask) => PermitVerdict::Ask(ask),
                None => PermitVerdict::Allow,
            },
        }
    }
}

impl PreBind for Spy {
    fn pre_bind(&self, spots: &Spots<'_>) -> PreBindVerdict {
        self.hear(format!("pre_bind {}", names(spots)));
        match (self.answer("pre_bind"), self.asks(Point::PreBind)) {
            (Err(reason), _) => PreBindVerdict::Refuse(Refusal::of_all(reason)),
            (Ok(()), Some(ask)) => PreBindVerdict::Ask(ask),
            (Ok(()), None) => PreBindVerdict::Agree,
        }
    }
}

impl Binder for Spy {
    fn bind(&self, spot: &Spot<'_>) -> BindVerdict {
        self.hear(format!("bind {} to {}", spot.pod.name, spot.node));
        BindVerdict::Skip
    }
}

impl PostBind for Spy {
    fn post_bind(&self, spots: &Spots<'_>) -> Option<Ask> {
        let bound = spots.iter();
        let bound = bound.map(|spot| format!("{} to {}", spot.pod.name, spot.node));
        self.hear(format!("bound {}", bound.collect::<Vec<_>>().join(", ")));
        self.asks(Point::PostBind)
    }
}

impl EventHandler for Spy {
    fn on_event(&self, _: &ClusterState, event: &Event, waiting: &mut WaitingGangs) {
        let Event::Is(Object::Node(spec)) = event else {
            return;
        };
        self.hear(format!("node {}", spec.name));
        let all: Vec<GangId> = waiting.iter().map(|(id, _)| id).collect();
        for gang in all {
            match spec.name.as_str() {
                "approved" => waiting.approve(gang, "Spy"),
                "rejected" => waiting.reject(gang, "Spy", Reason::Other("not today".into())),
                _ => {}
            }
        }
    }
}

impl QueueSort for Spy {
    fn rank(&self, _: &ClusterState, gang: &Gang) -> i64 {
        i64::from(gang.key.name != "uid-first")
    }
}

impl Filter for Spy {
    fn scope(&self, _: &Shape) -> Scope {
        Scope::Cluster
    }

    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict {
        let spied = cx.state.nodes().name(node) == "n3";
        Verdict::fit_unless(spied, Reason::Other("node(s) were spied on".into()))
    }
}

impl GangDomains for Spy {
    fn domains(&self, state: &ClusterState, gang: &Gang) -> Vec<NodeSet> {
        if gang.is_single() {
            return Vec::new();
        }
        ["n1", "n2"]
            .map(|name| state.nodes().find(name).into_iter().collect())
            .to_vec()
    }
}

/// A scheduler with two nodes of two CPUs and the spy at every point.
fn scheduler(spy: &Arc<Spy>) -> Scheduler {
    let mut policy = Policy::default();
    let profile = &mut policy.profile;
    profile.pre_enqueue.push(spy.clone());
    profile.pre_filter.push(spy.clone());
    profile.filter.push(spy.clone());
    profile.post_filter.push(spy.clone());
    profile.pre_score.push(spy.clone());
    profile.score = vec![Weighted {
        plugin: spy.clone(),
        weight: 3,
    }];
    profile.reserve.push(spy.clone());
    profile.permit.push(spy.clone());
    profile.pre_bind.push(spy.clone());
    profile.bind.insert(0, spy.clone());
    profile.post_bind.push(spy.clone());
    profile.events.push(spy.clone());
    profile.queue_sort.insert(0, spy.clone());
    profile.gang_domains.insert(0, spy.clone());
    let mut scheduler = Scheduler::new(policy);
    for name in ["n0", "n1", "n2"] {
        node(&mut scheduler, name);
    }
    scheduler
}

fn node(scheduler: &mut Scheduler, name: &str) {
    let allocatable = vec![("cpu".to_owned(), 2_000), ("pods".to_owned(), 10)];
    scheduler.apply(
        Time::ZERO,
        Event::is(NodeSpec {
            name: name.into(),
            allocatable,
            ..NodeSpec::default()
        }),
    );
}

fn pod(scheduler: &mut Scheduler, name: &str, group: Option<&str>) {
    let named = |name: &str| GangRef::Named {
        space: GangSpace::Named,
        name: name.to_owned(),
    };
    scheduler.apply(
        Time::ZERO,
        Event::is(PodSpec {
            key: PodKey {
                namespace: "a".into(),
                name: name.into(),
                uid: format!("uid-{name}"),
            },
            ours: true,
            gang: group.map_or(GangRef::Own, named),
            shape: ShapeSpec {
                requests: vec![("cpu".into(), 1_000)],
                ..ShapeSpec::default()
            },
            ..PodSpec::default()
        }),
    );
}

fn group(scheduler: &mut Scheduler, name: &str, min: u32) {
    let key = key(GangSpace::Named, name);
    scheduler.apply(
        Time::ZERO,
        Event::is(GangSpec {
            key,
            min_available: min,
            ..GangSpec::default()
        }),
    );
}

fn key(space: GangSpace, name: &str) -> GangKey {
    GangKey {
        namespace: "a".into(),
        space,
        name: name.into(),
    }
}

fn binds(scheduler: &mut Scheduler, now: u64) -> Vec<(String, String)> {
    let effects = scheduler.cycle(Time(now)).effects.into_iter();
    let bind = |effect| match effect {
        Effect::Bind(bind) => Some((bind.pod.name, bind.node)),
        _ => None,
    };
    effects.filter_map(bind).collect()
}

fn why(scheduler: &Scheduler, space: GangSpace, name: &str) -> String {
    let why = scheduler.why(&key(space, name));
    why.map_or_else(String::new, |(reason, message)| {
        format!("{reason}: {message}")
    })
}

#[test]
fn scores_choose_and_binders_are_asked_in_order() {
    let spy = Arc::new(Spy::default());
    let mut scheduler = scheduler(&spy);
    pod(&mut scheduler, "p", None);
    assert_eq!(
        binds(&mut scheduler, 0),
        [("p".to_owned(), "n1".to_owned())]
    );
    let heard = spy.heard.lock().unwrap().clone();
    assert_eq!(
        heard[3..],
        ["reserve p", "permit p", "pre_bind p", "bind p to n1"]
    );
}

#[test]
fn queue_sort_decides_before_those_behind_it() {
    let spy = Arc::new(Spy::default());
    let mut scheduler = scheduler(&spy);
    pod(&mut scheduler, "second", None);
    pod(&mut scheduler, "first", None);
    let order: Vec<_> = binds(&mut scheduler, 0)
        .into_iter()
        .map(|(pod, _)| pod)
        .collect();
    assert_eq!(order, ["first", "second"]);
}

#[test]
fn pre_filter_narrows_and_refuses() {
    let spy = Arc::new(Spy::default());
    let mut scheduler = scheduler(&spy);
    pod(&mut scheduler, "only-n2", None);
    pod(&mut scheduler, "nowhere", None);
    assert_eq!(
        binds(&mut scheduler, 0),
        [("only-n2".to_owned(), "n2".to_owned())]
    );
    assert_eq!(
        why(&scheduler, GangSpace::Own, "uid-nowhere"),
        "Unschedulable: 0/3 nodes are available: refused by the spy. The spy is sorry."
    );
}

#[test]
fn pre_enqueue_holds_back() {
    let spy = Arc::new(Spy::default());
    let mut scheduler = scheduler(&spy);
    group(&mut scheduler, "never", 1);
    pod(&mut scheduler, "p", Some("never"));
    assert_eq!(binds(&mut scheduler, 0), []);
    assert_eq!(
        why(&scheduler, GangSpace::Named, "never"),
        "Spied: held back by the spy"
    );
}

#[test]
fn a_gang_stays_inside_one_of_the_domains_offered() {
    let spy = Arc::new(Spy::default());
    let mut scheduler = scheduler(&spy);
    group(&mut scheduler, "fits", 2);
    pod(&mut scheduler, "a0", Some("fits"));
    pod(&mut scheduler, "a1", Some("fits"));
    let nodes: Vec<_> = binds(&mut scheduler, 0)
        .into_iter()
        .map(|(_, node)| node)
        .collect();
    assert_eq!(nodes, ["n1", "n1"]);
    group(&mut scheduler, "large", 3);
    for name in ["b0", "b1", "b2"] {
        pod(&mut scheduler, name, Some("large"));
    }
    assert_eq!(binds(&mut scheduler, 0), []);
}

#[test]
fn what_is_refused_for_one_member_is_given_back_once_for_all() {
    let spy = Arc::new(Spy {
        deny_at: Some("reserve"),
        ..Spy::default()
    });
    let mut scheduler = scheduler(&spy);
    group(&mut scheduler, "g", 2);
    pod(&mut scheduler, "p0", Some("g"));
    pod(&mut scheduler, "p1", Some("g"));
    assert_eq!(binds(&mut scheduler, 0), []);
    let heard = spy.heard.lock().unwrap().clone();
    assert_eq!(heard[3..], ["reserve p0 p1", "unreserve p0 p1"]);
    assert_eq!(
        why(&scheduler, GangSpace::Named, "g"),
        "Rejected: pod p1 on node n1: Spy: reserve says no The spy is sorry."
    );
    scheduler.state().audit().unwrap();
}

#[test]
fn permit_and_pre_bind_can_deny_and_leave_no_trace() {
    for point in ["permit", "pre_bind"] {
        let spy = Arc::new(Spy {
            deny_at: Some(point),
            ..Spy::default()
        });
        let mut scheduler = scheduler(&spy);
        pod(&mut scheduler, "p", None);
        assert_eq!(binds(&mut scheduler, 0), []);
        assert!(
            spy.heard
                .lock()
                .unwrap()
                .contains(&"unreserve p".to_owned())
        );
        assert!(
            !scheduler.wants_cycle(),
            "a denial must not be tried again and again"
        );
        scheduler.state().audit().unwrap();
    }
}

#[test]
fn permit_waits_until_it_is_approved() {
    let spy = Arc::new(Spy {
        wait: true,
        ..Spy::default()
    });
    let mut scheduler = scheduler(&spy);
    pod(&mut scheduler, "p", None);
    assert_eq!(binds(&mut scheduler, 0), []);
    node(&mut scheduler, "approved");
    assert!(scheduler.wants_cycle());
    assert_eq!(binds(&mut scheduler, 1_000).len(), 1);
}

#[test]
fn permit_that_is_not_given_in_time_gives_the_room_back() {
    let spy = Arc::new(Spy {
        wait: true,
        ..Spy::default()
    });
    let mut scheduler = scheduler(&spy);
    pod(&mut scheduler, "p", None);
    scheduler.cycle(Time(0));
    // By then it has said that it is held.
    let plan = scheduler.cycle(Time(1_000));
    assert_eq!(plan.wake_at, Some(Time(5_000)));
    assert_eq!(binds(&mut scheduler, 5_000), []);
    assert!(
        spy.heard
            .lock()
            .unwrap()
            .contains(&"unreserve p".to_owned())
    );
    assert_eq!(
        why(&scheduler, GangSpace::Own, "uid-p"),
        "PermitTimedOut: the time to permit the placement ran out: Spy held pod p on node n1"
    );
    scheduler.state().audit().unwrap();
}

#[test]
fn a_waiting_pod_can_be_rejected() {
    let spy = Arc::new(Spy {
        wait: true,
        ..Spy::default()
    });
    let mut scheduler = scheduler(&spy);
    pod(&mut scheduler, "p", None);
    assert_eq!(binds(&mut scheduler, 0), []);
    node(&mut scheduler, "rejected");
    assert_eq!(binds(&mut scheduler, 1), []);
    assert_eq!(
        why(&scheduler, GangSpace::Own, "uid-p"),
        "Rejected: pod p on node n1: Spy: not today"
    );
    let heard = spy.heard.lock().unwrap().clone();
    assert_eq!(heard.last().map(String::as_str), Some("unreserve p"));
    scheduler.audit().unwrap();
}

#[test]
fn post_bind_and_events_are_heard() {
    let spy = Arc::new(Spy::default());
    let mut scheduler = scheduler(&spy);
    pod(&mut scheduler, "p", None);
    let (name, node) = binds(&mut scheduler, 0).remove(0);
    let key = PodKey {
        namespace: "a".into(),
        uid: format!("uid-{name}"),
        name,
    };
    scheduler.apply(
        Time::ZERO,
        Event::BindResult(key, BindOutcome::Bound { node }),
    );
    let heard = spy.heard.lock().unwrap().clone();
    assert_eq!(heard[..3], ["node n0", "node n1", "node n2"]);
    assert_eq!(heard.last().map(String::as_str), Some("bound p to n1"));
}

#[test]
fn a_filter_over_the_whole_cluster_is_asked_for_every_placement() {
    let spy = Arc::new(Spy::default());
    let mut scheduler = scheduler(&spy);
    for name in ["n0", "n1", "n2"] {
        scheduler.apply(Time::ZERO, Event::Gone(ObjectKey::Node(name.into())));
    }
    node(&mut scheduler, "n3");
    pod(&mut scheduler, "p", None);
    assert_eq!(binds(&mut scheduler, 0), []);
    assert!(why(&scheduler, GangSpace::Own, "uid-p").contains("1 node(s) were spied on"));
}

#[test]
fn scores_of_several_plugins_are_normalised_and_weighted() {
    let spy = Arc::new(Spy::default());
    let mut policy = Policy::default();
    // Packing alone would choose the smaller node; the spy's favourite wins by its weight.
    policy.profile.pre_score.push(spy.clone());
    policy.profile.score.push(Weighted {
        plugin: spy,
        weight: 2,
    });
    let mut scheduler = Scheduler::new(policy);
    node(&mut scheduler, "n0");
    let allocatable = vec![("cpu".to_owned(), 8_000), ("pods".to_owned(), 10)];
    let large = NodeSpec {
        name: "n1".into(),
        allocatable,
        ..NodeSpec::default()
    };
    scheduler.apply(Time::ZERO, Event::is(large));
    pod(&mut scheduler, "p", None);
    assert_eq!(
        binds(&mut scheduler, 0),
        [("p".to_owned(), "n1".to_owned())]
    );
}
