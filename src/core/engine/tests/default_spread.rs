//! Pods that say nothing of how they are spread: by the rules of their profile, by whom Services and controllers choose.

use super::jobs::story;
use super::profiles::of;
use super::*;
use muster_model::{DefaultSpread, PodSelectorKey, PodSelectorSpec, SelectorKind};
use muster_model::{HOSTNAME, SpreadByDefault, SpreadRule};

const ZONE: &str = "topology.kubernetes.io/zone";

/// One whose pods of profile 1 are scheduled as by kube-scheduler, or by these rules besides packing.
fn spreading(rules: Option<DefaultSpread>) -> Story {
    let mut story = story();
    let mut profile = registry::kubernetes_profile();
    if let Some(rules) = rules {
        profile = registry::default_profile();
        profile.default_spread = Arc::new(rules);
    }
    story.scheduler = Scheduler::new(Policy {
        more_profiles: vec![profile],
        ..Policy::default()
    });
    story.tell(Event::is(QueueSpec {
        name: "default".into(),
        over_share: 1_000_000,
        excess_budget: Some(u64::MAX),
        ..QueueSpec::default()
    }));
    for (name, zone) in [("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b")] {
        let mut spec = node(name, 8);
        spec.labels.insert(ZONE.to_owned(), zone.to_owned());
        spec.labels.insert(HOSTNAME.to_owned(), name.to_owned());
        story.tell(Event::is(spec));
    }
    story
}

fn app(name: &str) -> LabelSelector {
    LabelSelector {
        requirements: vec![LabelRequirement {
            key: "app".into(),
            holds: LabelCondition::In(vec![name.into()]),
        }],
    }
}

fn chooses(kind: SelectorKind, name: &str, selector: LabelSelector) -> PodSelectorSpec {
    PodSelectorSpec {
        key: PodSelectorKey {
            namespace: key("x").namespace,
            kind,
            name: name.into(),
        },
        selector: Some(selector),
    }
}

/// A pod of an app that says nothing of how it is spread.
fn of_app(name: &str, app: &str, controller: Option<(SelectorKind, &str)>) -> PodSpec {
    let controller = controller.map(|(kind, name)| (kind, name.to_owned()));
    PodSpec {
        labels: PodLabels::new(&[("app".to_owned(), app.to_owned())].into()),
        spread_by_default: Some(Box::new(SpreadByDefault { controller })),
        ..of(1, pod(name, None, 1))
    }
}

/// No zone has more than one pod more than another.
fn evenly() -> DefaultSpread {
    DefaultSpread {
        required: vec![SpreadRule {
            key: ZONE.to_owned(),
            max_skew: 1,
            min_domains: 1,
            honors_affinity: true,
            ..SpreadRule::default()
        }],
        preferred: Vec::new(),
    }
}

/// Where pods of an app are bound one after the other, by their zones.
fn zones(story: &mut Story, pods: &[PodSpec]) -> Vec<String> {
    let mut zones = Vec::new();
    for one in pods {
        story.submit(one.clone());
        for bind in story.run() {
            zones.push(bind.node[..1].to_owned());
        }
        story.scheduler.audit().unwrap();
    }
    zones
}

#[test]
fn pods_of_a_service_are_spread_over_zones_in_profile_kubernetes() {
    let mut story = spreading(None);
    let lonely: Vec<PodSpec> = (0..4)
        .map(|index| of_app(&format!("l{index}"), "lonely", None))
        .collect();
    // What only looks at nodes takes each of the four in turn.
    assert_eq!(zones(&mut story, &lonely), ["a", "a", "a", "b"]);
    story.tell(Event::is(chooses(SelectorKind::Service, "db", app("db"))));
    let served = [of_app("s0", "db", None), of_app("s1", "db", None)];
    assert_eq!(zones(&mut story, &served), ["a", "b"]);
}

#[test]
fn pods_of_each_kind_of_controller_are_spread() {
    for kind in [
        SelectorKind::ReplicationController,
        SelectorKind::ReplicaSet,
        SelectorKind::StatefulSet,
    ] {
        let mut story = spreading(Some(evenly()));
        story.tell(Event::is(chooses(kind, "x", app("db"))));
        let pods: Vec<PodSpec> = (0..4)
            .map(|index| of_app(&format!("p{index}"), "db", Some((kind, "x"))))
            .collect();
        let mut found = zones(&mut story, &pods);
        found.sort();
        assert_eq!(found, ["a", "a", "b", "b"], "{kind:?}");
        // Of another's pods it says nothing.
        let other = of_app("other", "db", Some((kind, "y")));
        assert_eq!(zones(&mut story, &[other]), ["a"], "it packs");
    }
}

#[test]
fn a_hard_rule_has_pods_wait_that_a_service_comes_to_choose_and_let_go_with_it() {
    let mut story = spreading(Some(evenly()));
    story.tell(Event::is(chooses(SelectorKind::Service, "db", app("db"))));
    let fill = PodSpec {
        node: Some("b1".into()),
        ..pod("fill", None, 8)
    };
    story.submit(fill);
    let pods = [of_app("p0", "db", None), of_app("p1", "db", None)];
    assert_eq!(zones(&mut story, &pods), ["a"], "zone b is full");
    let gone = chooses(SelectorKind::Service, "db", app("db")).key;
    story.tell(Event::Gone(ObjectKey::PodSelector(gone)));
    assert_eq!(story.run().len(), 1);
    story.scheduler.audit().unwrap();
}

#[test]
fn who_waits_is_spread_by_what_services_choose_by_then() {
    let mut story = spreading(Some(evenly()));
    story.submit(PodSpec {
        node: Some("b1".into()),
        ..pod("fill", None, 8)
    });
    let gated = PodSpec {
        gates: vec!["later".into()],
        ..of_app("p1", "db", None)
    };
    assert_eq!(zones(&mut story, &[of_app("p0", "db", None), gated]), ["a"]);
    story.tell(Event::is(chooses(SelectorKind::Service, "db", app("db"))));
    story.scheduler.audit().unwrap();
    story.submit(of_app("p1", "db", None));
    assert_eq!(story.run(), [], "zone b is full");
    // A Service that chooses nobody of them changes nothing.
    story.tell(Event::is(chooses(SelectorKind::Service, "web", app("web"))));
    assert_eq!(story.run(), []);
    story.tell(Event::is(chooses(SelectorKind::Service, "db", app("web"))));
    assert_eq!(story.run().len(), 1);
    story.scheduler.audit().unwrap();
}

#[test]
fn what_is_bound_or_gone_leaves_no_rule_behind() {
    let mut story = spreading(Some(evenly()));
    story.tell(Event::is(chooses(SelectorKind::Service, "db", app("db"))));
    let pods: Vec<PodSpec> = (0..4)
        .map(|index| of_app(&format!("p{index}"), "db", None))
        .collect();
    assert_eq!(zones(&mut story, &pods).len(), 4);
    for one in pods {
        story.tell(Event::Gone(ObjectKey::Pod(one.key)));
        story.scheduler.audit().unwrap();
    }
    assert!(story.scheduler.state().shapes().is_empty());
}
