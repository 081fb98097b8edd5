//! Several profiles at once: whose pods are placed by which, and what a pod without a gang may take.

use super::jobs::{job, story};
use super::*;
use muster_model::{NodeImage, Preferences, Preferred, ProfileId, Requirement, Term};
use muster_model::{Operator, Taint, TaintEffect};

/// One in which pods of profile 1 are scheduled as by kube-scheduler.
pub(super) fn two_profiles() -> Story {
    let mut story = story();
    let mut policy = Policy {
        more_profiles: vec![registry::kubernetes_profile()],
        ..Policy::default()
    };
    let names = vec!["muster".to_owned(), "spreading".to_owned()];
    let one = registry::one_profile(names);
    policy.profile.pre_enqueue.push(Arc::clone(&one));
    policy.more_profiles[0].pre_enqueue.push(one);
    story.scheduler = Scheduler::new(policy);
    for name in ["default", "other"] {
        story.tell(Event::is(QueueSpec {
            name: name.into(),
            over_share: 1_000_000,
            excess_budget: Some(u64::MAX),
            ..QueueSpec::default()
        }));
    }
    story
}

pub(super) fn of(profile: u8, spec: PodSpec) -> PodSpec {
    let mut spec = spec;
    spec.shape.constraints.profile = ProfileId(profile);
    spec
}

fn urgent(name: &str, cpus: i64, priority: i32) -> PodSpec {
    PodSpec {
        priority: Some(priority),
        ..of(1, pod(name, None, cpus))
    }
}

/// Where everybody was bound, by name.
fn places(binds: &[Bind]) -> Vec<(&str, &str)> {
    let mut places: Vec<_> = binds
        .iter()
        .map(|bind| (bind.pod.name.as_str(), bind.node.as_str()))
        .collect();
    places.sort_unstable();
    places
}

#[test]
fn each_pod_is_placed_by_its_own_profile() {
    let mut story = two_profiles();
    for name in ["a", "b", "c"] {
        story.node(name, 4);
    }
    story.submit(of(0, pod("p0", None, 1)));
    story.run();
    // Packing goes where somebody is; the other profile where nobody is. Both know what the other did.
    story.submit(of(1, pod("s0", None, 1)));
    story.submit(of(0, pod("p1", None, 1)));
    story.submit(of(1, pod("s1", None, 1)));
    story.submit(of(0, pod("p2", None, 1)));
    assert_eq!(
        places(&story.run()),
        [("p1", "a"), ("p2", "a"), ("s0", "b"), ("s1", "c")]
    );
}

#[test]
fn pods_of_one_profile_have_as_many_shapes_as_ever_and_of_two_their_own() {
    let mut story = two_profiles();
    story.node("a", 4);
    story.submit(of(0, pod("p0", None, 1)));
    story.submit(of(0, pod("p1", None, 1)));
    assert_eq!(story.scheduler.state().shapes().len(), 1);
    story.submit(of(1, pod("s0", None, 1)));
    assert_eq!(story.scheduler.state().shapes().len(), 2);
}

#[test]
fn a_gang_of_two_profiles_waits_and_says_so() {
    let mut story = two_profiles();
    story.node("a", 4);
    story.group("g", 2);
    story.submit(of(0, pod("p0", Some("g"), 1)));
    story.submit(of(1, pod("p1", Some("g"), 1)));
    assert_eq!(story.binds(), []);
    assert_eq!(
        story.why("g"),
        "MixedProfiles: pod p0 has profile muster, and pod p1 has profile spreading: all pods of a gang \
         have one (spec.schedulerName chooses it)"
    );
}

#[test]
fn a_gang_is_placed_by_the_profile_of_its_pods() {
    let mut story = two_profiles();
    for name in ["a", "b"] {
        story.node(name, 4);
    }
    story.group("g", 2);
    story.submit(of(1, pod("p0", Some("g"), 1)));
    story.submit(of(1, pod("p1", Some("g"), 1)));
    assert_eq!(places(&story.run()), [("p0", "a"), ("p1", "b")]);
}

#[test]
fn preferred_nodes_taints_and_images_draw_pods_of_a_profile_that_scores_by_them() {
    let mut story = two_profiles();
    let with = |name: &str, label: Option<&str>, taint: bool, image: bool| {
        let mut spec = node(name, 4);
        if let Some(label) = label {
            spec.labels.insert("disk".to_owned(), label.to_owned());
        }
        if taint {
            spec.taints.push(Taint {
                key: "soft".to_owned(),
                value: String::new(),
                effect: TaintEffect::PreferNoSchedule,
            });
        }
        if image {
            spec.images.push(NodeImage {
                name: "work:1".to_owned(),
                size: 900 << 20,
            });
        }
        Event::is(spec)
    };
    story.tell(with("a", None, true, false));
    story.tell(with("b", None, false, false));
    story.tell(with("c", None, false, true));
    story.tell(with("d", Some("ssd"), false, false));
    let prefers = |name: &str, preferences: Preferences| {
        let mut spec = of(1, pod(name, None, 1));
        spec.shape.preferences = preferences;
        spec
    };
    // Of nodes alike otherwise the first is taken that no taint makes worse.
    story.submit(of(1, pod("plain", None, 1)));
    assert_eq!(places(&story.run()), [("plain", "b")]);
    let ssd = Preferred {
        weight: 1,
        term: Term {
            labels: vec![Requirement {
                key: "disk".to_owned(),
                operator: Operator::In,
                values: vec!["ssd".to_owned()],
            }],
            fields: Vec::new(),
        },
    };
    story.submit(prefers(
        "fast",
        Preferences {
            nodes: vec![ssd],
            ..Preferences::default()
        },
    ));
    assert_eq!(places(&story.run()), [("fast", "d")]);
    story.submit(prefers(
        "warm",
        Preferences {
            images: vec!["work:1".to_owned()],
            ..Preferences::default()
        },
    ));
    assert_eq!(places(&story.run()), [("warm", "c")]);
}

#[test]
fn what_pods_do_not_ask_for_counts_where_nodes_are_scored() {
    let mut story = two_profiles();
    story.node("a", 4);
    story.node("b", 4);
    let quiet = |name: &str| {
        let mut spec = of(1, pod(name, None, 0));
        spec.shape.requests.clear();
        spec.shape.preferences.unsaid = [100, 200 << 20];
        spec
    };
    for (name, node) in [("q0", "a"), ("q1", "b"), ("q2", "a"), ("q3", "b")] {
        story.submit(quiet(name));
        assert_eq!(places(&story.run()), [(name, node)], "they take turns");
    }
}

/// Whom a cycle evicts.
fn evicted(story: &mut Story) -> Vec<String> {
    let (_, evictions) = story.step();
    let mut names: Vec<_> = evictions.into_iter().map(|one| one.pod.name).collect();
    names.sort_unstable();
    names
}

/// A node that is full, and who runs there by name, CPUs and priority.
type Full<'a> = (&'a str, &'a [(&'a str, i64, i32)]);

fn full(story: &mut Story, nodes: &[Full<'_>]) {
    for (name, pods) in nodes {
        story.node(name, 4);
        for (pod, cpus, priority) in *pods {
            story.pass(1_000);
            story.submit(PodSpec {
                node: Some((*name).to_owned()),
                phase: PodPhase::Running,
                bound_at: Some(story.now),
                ..urgent(pod, *cpus, *priority)
            });
        }
    }
    story.binds();
}

#[test]
fn the_node_whose_highest_victim_is_lowest_is_chosen() {
    let mut story = two_profiles();
    full(
        &mut story,
        &[
            ("a", &[("a1", 2, 5), ("a2", 2, 1)]),
            ("b", &[("b1", 2, 3), ("b2", 2, 3)]),
        ],
    );
    // On a the one of priority 1 would do, of b one of priority 3.
    story.submit(urgent("high", 2, 9));
    assert_eq!(evicted(&mut story), ["a2"]);
    story.submit(urgent("higher", 4, 9));
    // All of a or all of b: 5 is higher than 3. Room on a is held for the other.
    assert_eq!(evicted(&mut story), ["b1", "b2"]);
}

#[test]
fn fewer_victims_and_then_later_ones_are_chosen() {
    let mut story = two_profiles();
    full(
        &mut story,
        &[
            ("a", &[("a1", 1, 1), ("a2", 3, 1)]),
            ("b", &[("b1", 4, 1)]),
            ("c", &[("c1", 4, 1)]),
        ],
    );
    story.submit(urgent("high", 4, 9));
    assert_eq!(evicted(&mut story), ["c1"], "b1 has run for longer");
}

#[test]
fn the_more_important_victims_of_a_node_stay_if_they_can() {
    let mut story = two_profiles();
    full(
        &mut story,
        &[("a", &[("low", 1, 1), ("mid", 2, 2), ("old", 1, 1)])],
    );
    story.submit(urgent("high", 1, 9));
    // Of the two of priority 1 the older stays.
    assert_eq!(evicted(&mut story), ["old"]);
}

#[test]
fn a_gang_goes_as_a_whole_or_its_surplus_or_not_at_all() {
    let mut story = two_profiles();
    story.node("a", 2);
    story.node("b", 2);
    story.group("g", 2);
    for (name, on) in [("g0", "a"), ("g1", "b"), ("g2", "b")] {
        story.submit(PodSpec {
            node: Some(on.to_owned()),
            phase: PodPhase::Running,
            ..of(1, pod(name, Some("g"), 1))
        });
    }
    story.submit(PodSpec {
        node: Some("a".to_owned()),
        phase: PodPhase::Running,
        ..urgent("stays", 1, 9)
    });
    story.binds();
    // The surplus is enough for one.
    story.submit(urgent("one", 1, 5));
    let gone = evicted(&mut story);
    assert_eq!(gone, ["g2"]);
    story.tell(Event::Gone(ObjectKey::Pod(PodKey {
        uid: String::new(),
        ..pod("g2", None, 1).key
    })));
    assert_eq!(places(&story.run()), [("one", "b")]);
    // The next one costs the whole gang.
    story.submit(urgent("two", 1, 5));
    assert_eq!(evicted(&mut story), ["g0", "g1"]);
}

#[test]
fn what_came_of_preemption_is_said_as_kube_scheduler_says_it() {
    let mut story = two_profiles();
    full(
        &mut story,
        &[("a", &[("a1", 4, 5)]), ("b", &[("b1", 4, 5)])],
    );
    let mut small = node("c", 1);
    small.unschedulable = true;
    story.tell(Event::is(small));
    let says = |story: &mut Story, name: &str| {
        story.step();
        let pods: Vec<_> = story.scheduler.waiting_pods().collect();
        let found = pods.iter().find(|(key, _)| key.name == name);
        found.map_or_else(String::new, |(_, message)| message.to_string())
    };
    story.submit(urgent("equal", 4, 5));
    let message = says(&mut story, "equal");
    assert!(
        message.contains(
            "preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, \
             2 No preemption victims found for incoming pod."
        ),
        "{message}"
    );
    story.submit(PodSpec {
        never_preempts: Some(true),
        ..urgent("never", 4, 8)
    });
    let message = says(&mut story, "never");
    let part = "preemption: not eligible due to preemptionPolicy=Never.";
    assert!(message.contains(part), "{message}");
    story.submit(urgent("high", 4, 9));
    let message = says(&mut story, "high");
    let end = "preemption: found a potential placement for pod on node b, preempting 1 victims";
    assert!(message.ends_with(end), "{message}");
    assert!(
        message.starts_with("0/3 nodes are available: "),
        "{message}"
    );
}

#[test]
fn the_node_that_is_cleared_is_said_and_said_to_be_none_when_it_is_not_any_more() {
    let mut story = two_profiles();
    full(&mut story, &[("a", &[("a1", 4, 5)])]);
    story.submit(urgent("high", 4, 9));
    assert_eq!(evicted(&mut story), ["a1"]);
    let nominated = |plan: Plan| {
        let said = plan.effects.into_iter().filter_map(|effect| match effect {
            Effect::PodWaits(waits) if waits.pod.name == "high" => Some(waits.nominated),
            _ => None,
        });
        said.last().flatten().map(|node| node.to_string())
    };
    assert_eq!(nominated(story.later(2_000)).as_deref(), Some("a"));
    // The node goes, and with it the place.
    story.tell(Event::Gone(ObjectKey::Node("a".to_owned())));
    let later = story.later(0);
    let said = nominated(later).or_else(|| nominated(story.later(20_000)));
    assert_eq!(said.as_deref(), Some(""));
}

#[test]
fn room_that_others_leave_for_a_pod_goes_to_a_more_important_one() {
    let mut story = two_profiles();
    full(
        &mut story,
        &[("a", &[("a1", 4, 1)]), ("b", &[("b1", 4, 2)])],
    );
    for name in ["first", "second"] {
        story.submit(urgent(name, 4, 5));
    }
    let (_, evictions) = story.step();
    assert_eq!(evictions.len(), 2);
    for evict in &evictions {
        let accepted = EvictOutcome::Accepted;
        story.tell(Event::EvictResult(evict.pod.clone(), accepted));
    }
    // They take their time.
    story.submit(urgent("high", 4, 9));
    assert_eq!(evicted(&mut story), [""; 0], "enough is on its way off");
    let held_for = |story: &Story, name: &str| {
        let state = story.scheduler.state();
        let held = state.gangs().flat_map(|(id, _)| state.nominations(id));
        let held = held.filter_map(|(pod, _)| state.pod(pod));
        held.filter(|pod| pod.key.name == name).count()
    };
    let held = ["first", "second", "high"].map(|name| held_for(&story, name));
    assert_eq!((held[2], held[0] + held[1]), (1, 1));
    // As important as those who wait: nobody is displaced for it.
    story.submit(urgent("third", 4, 5));
    assert_eq!(evicted(&mut story), [""; 0]);
    assert_eq!(held_for(&story, "third"), 0);
    for evict in evictions {
        story.tell(Event::Gone(ObjectKey::Pod(evict.pod)));
    }
    let binds = story.binds();
    let bound: Vec<_> = binds.iter().map(|bind| bind.pod.name.as_str()).collect();
    assert_eq!(bound.len(), 2, "{bound:?}");
    assert!(bound.contains(&"high"), "{bound:?}");
    assert!(!bound.contains(&"third"), "{bound:?}");
}

#[test]
fn a_pod_of_a_profile_without_that_names_no_node() {
    let mut story = two_profiles();
    full(&mut story, &[("a", &[("a1", 4, 5)])]);
    story.job(&job("high", "default", 4, 9));
    assert_eq!(evicted(&mut story), ["a1"]);
    let plan = story.later(2_000);
    let waits = plan.effects.iter().filter_map(|effect| match effect {
        Effect::PodWaits(waits) => Some(waits),
        _ => None,
    });
    for waits in waits {
        assert_eq!(waits.nominated, None);
        assert!(!waits.message.contains("preemption:"), "{}", waits.message);
    }
}

#[test]
fn the_node_that_a_pod_is_meant_to_have_is_taken_if_it_fits_there() {
    let mut story = two_profiles();
    for name in ["a", "b", "c"] {
        story.node(name, 4);
    }
    story.submit(PodSpec {
        node: Some("c".to_owned()),
        phase: PodPhase::Running,
        ..urgent("there", 2, 0)
    });
    let meant = |name: &str, profile: u8, cpus: i64| PodSpec {
        nominated: Some("c".to_owned()),
        ..of(profile, pod(name, None, cpus))
    };
    // The fullest is the last that scores would take.
    story.submit(meant("fits", 1, 1));
    assert_eq!(places(&story.run()), [("fits", "c")]);
    story.submit(meant("large", 1, 3));
    assert_eq!(places(&story.run()), [("large", "a")]);
    // A node that nobody knows changes nothing.
    story.submit(PodSpec {
        nominated: Some("gone".to_owned()),
        ..of(1, pod("lost", None, 1))
    });
    assert_eq!(places(&story.run()), [("lost", "b")]);
}
