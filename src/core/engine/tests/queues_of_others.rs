//! Queues in the words of another scheduler: they count where there is a queue of that name.

use super::*;
use muster_model::NamespaceSpec;

fn naming(name: &str, queue: &str) -> PodSpec {
    PodSpec {
        queue_if_declared: Some(queue.into()),
        ..pod(name, None, 1)
    }
}

/// A queue in which nobody may have anything.
fn closed_to_all(name: &str) -> Event {
    Event::is(QueueSpec {
        name: name.into(),
        limit: vec![("cpu".into(), 0)],
        ..QueueSpec::default()
    })
}

fn queue_of(story: &Story, key: &PodKey) -> String {
    let state = story.scheduler.state();
    let gang = state.find_pod(key).and_then(|pod| state.pod(pod)?.gang);
    state.queue_name(gang.unwrap()).to_owned()
}

#[test]
fn a_queue_in_the_words_of_others_counts_from_when_it_is_declared_until_it_goes() {
    let mut story = Story::new();
    let key = story.submit(naming("p", "team"));
    story.run();
    assert_eq!(queue_of(&story, &key), "default");
    story.tell(closed_to_all("team"));
    story.run();
    assert_eq!(queue_of(&story, &key), "team");
    story.tell(closed_to_all("other"));
    story.tell(Event::Gone(ObjectKey::Queue("team".into())));
    story.node("n", 4);
    assert_eq!(names(&story.run()), ["p"]);
    assert_eq!(queue_of(&story, &key), "default");
}

#[test]
fn our_own_words_and_a_podgroups_go_before_and_a_namespaces_after() {
    let mut story = Story::new();
    for queue in ["team", "ours", "of-namespace"] {
        story.tell(closed_to_all(queue));
    }
    story.tell(Event::is(NamespaceSpec {
        name: "a".into(),
        queue: Some("of-namespace".into()),
        ..NamespaceSpec::default()
    }));
    let of_both = story.submit(PodSpec {
        queue: Some("ours".into()),
        ..naming("both", "team")
    });
    let of_team = story.submit(naming("team", "team"));
    let of_none = story.submit(naming("none", "nowhere"));
    story.group("g", 1);
    let of_group = story.submit(PodSpec {
        queue_if_declared: Some("team".into()),
        ..pod("member", Some("g"), 1)
    });
    story.run();
    let queues = [of_both, of_team, of_none, of_group].map(|key| queue_of(&story, &key));
    assert_eq!(queues, ["ours", "team", "of-namespace", "of-namespace"]);
}
