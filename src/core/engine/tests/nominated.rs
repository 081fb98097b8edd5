//! Those for whom room is held until others have left, and what else may let them onto it.

use super::*;
use muster_model::{Labels, NamespaceChoice, NodeSpec, PodTerm};

const RACK: &str = "rack";

fn in_rack_a(name: &str, cpus: i64) -> NodeSpec {
    NodeSpec {
        labels: Labels::from([(RACK.to_owned(), "a".to_owned())]),
        ..node(name, cpus)
    }
}

/// The same pod, which may be in no rack with one that says `web`.
fn apart(mut spec: PodSpec) -> PodSpec {
    let web = LabelRequirement {
        key: "app".to_owned(),
        holds: LabelCondition::In(vec!["web".to_owned()]),
    };
    spec.shape.pods.anti_affinity = vec![PodTerm {
        namespaces: NamespaceChoice::only("a"),
        selector: LabelSelector {
            requirements: vec![web],
        },
        topology_key: RACK.to_owned(),
    }];
    spec
}

/// A pod that has to leave since it is in the rack does not, but its node goes.
#[test]
fn one_whose_room_is_held_starts_when_nobody_keeps_it_from_there_any_more() {
    let mut story = Story::new();
    story.tell(Event::is(in_rack_a("small", 1)));
    let web = Labels::from([("app".to_owned(), "web".to_owned())]);
    story.submit(PodSpec {
        labels: PodLabels::new(&web),
        priority: Some(0),
        ..pod("web", None, 1)
    });
    assert_eq!(story.run().len(), 1);
    story.tell(Event::is(in_rack_a("large", 3)));
    story.submit(apart(PodSpec {
        priority: Some(9),
        ..pod("alone", None, 3)
    }));
    let evicted = story.step().1;
    assert_eq!(evicted.len(), 1);
    let accepted = EvictOutcome::Accepted;
    story.tell(Event::EvictResult(evicted[0].pod.clone(), accepted));
    assert_eq!(story.binds(), []);
    story.tell(Event::Gone(ObjectKey::Node("small".into())));
    assert_eq!(names(&story.run()), ["alone"]);
}
