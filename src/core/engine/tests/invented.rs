//! Names of resources that somebody invents stand in nobody's way.

use super::devices::{GPU, with_gpus};
use super::*;
use muster_model::{NodeSpec, Table};

fn asking(name: &str, group: Option<&str>, resource: &str, amount: i64) -> PodSpec {
    let mut spec = pod(name, group, 1);
    spec.shape.requests.push((resource.to_owned(), amount));
    spec
}

/// Somebody's pods ask for forty resources that there are not, and so does a PodGroup.
fn inventive(story: &mut Story) {
    for index in 0..40 {
        let name = format!("example.com/invented-{index}");
        story.submit(asking(&format!("odd-{index}"), None, &name, 1));
    }
    let min_resources = (0..40).map(|index| (format!("example.com/asked-{index}"), 1));
    story.tell(Event::is(GangSpec {
        min_resources: min_resources.collect(),
        ..group("odd")
    }));
}

#[test]
fn a_node_that_comes_later_has_its_devices_whatever_pods_invented_before() {
    let mut story = Story::new();
    story.node("plain", 64);
    inventive(&mut story);
    assert_eq!(story.run().len(), 0);
    story.tell(Event::is(with_gpus("gpu", 8, 2)));
    story.submit(asking("trains", None, GPU, 2));
    let binds = story.run();
    assert_eq!((binds.len(), binds[0].node.as_str()), (1, "gpu"));
}

#[test]
fn who_waits_for_a_resource_that_no_node_has_is_told_so_and_starts_when_one_comes() {
    let mut story = Story::new();
    story.node("plain", 64);
    story.submit(asking("trains", None, GPU, 2));
    story.tell(Event::is(GangSpec {
        min_resources: vec![("cpu".into(), 1_000), (GPU.into(), 1)],
        ..group("asks")
    }));
    story.run();
    let words = told(&story.later(2_000)).join("; ");
    assert!(words.contains("1 Insufficient example.com/gpu"), "{words}");
    let words = story.why("asks");
    assert!(words.contains("of resources that no node has"), "{words}");
    story.tell(Event::is(with_gpus("gpu", 8, 2)));
    let binds = story.run();
    assert_eq!(binds.len(), 1);
    assert_eq!(binds[0].node, "gpu");
}

#[test]
fn what_runs_before_its_node_is_told_takes_of_its_devices() {
    let mut story = Story::new();
    let mut theirs = asking("theirs", None, GPU, 3);
    theirs.ours = false;
    theirs.node = Some("gpu".into());
    theirs.phase = PodPhase::Running;
    story.tell(Event::is(theirs));
    story.tell(Event::is(with_gpus("gpu", 8, 4)));
    story.submit(asking("two", None, GPU, 2));
    story.submit(asking("one", None, GPU, 1));
    let binds = story.run();
    let bound: Vec<&str> = binds.iter().map(|bind| bind.pod.name.as_str()).collect();
    assert_eq!(bound, ["one"]);
}

/// A node with four of a resource of its own.
fn with_its_own(name: &str, resource: &str) -> NodeSpec {
    let mut spec = node(name, 8);
    spec.allocatable.push((resource.to_owned(), 4));
    spec
}

fn gone(name: &str) -> Event {
    Event::Gone(ObjectKey::Node(name.to_owned()))
}

#[test]
fn nodes_that_come_and_go_each_with_a_resource_of_its_own_have_it_all() {
    let mut story = Story::new();
    story.node("plain", 8);
    // Who still asks for what is gone, runs still where it was, or asks for its members, keeps no number.
    story.tell(Event::is(GangSpec {
        min_resources: vec![("example.com/1".into(), 1)],
        ..group("asks")
    }));
    for round in 0..100 {
        let (name, resource) = (format!("n{round}"), format!("example.com/{round}"));
        story.submit(asking(&format!("before-{round}"), None, &resource, 1));
        story.tell(Event::is(with_its_own(&name, &resource)));
        story.submit(asking(&format!("after-{round}"), None, &resource, 1));
        let binds = story.run();
        assert_eq!(binds.len(), 2, "{round}");
        assert!(binds.iter().all(|bind| bind.node == name), "{binds:?}");
        story.submit(asking(&format!("late-{round}"), None, &resource, 3));
        assert_eq!(story.run().len(), 0, "{round}");
        story.tell(gone(&name));
        story.run();
        let tables = story.scheduler.stats().tables;
        assert!(tables.get(Table::Resources) <= 31);
        assert_eq!(tables.get(Table::ResourcesLeftOut), 0);
    }
    // Those who wait get it when it is there again.
    story.tell(Event::is(with_its_own("again", "example.com/7")));
    let binds = story.run();
    assert_eq!(names(&binds), ["late-7"]);
    // By then it is known who runs on the node that was there before.
    story.tell(Event::is(with_its_own("n8", "example.com/8")));
    assert_eq!(story.run().len(), 0, "two of four are taken");
}

#[test]
fn what_a_queue_names_keeps_its_number_whether_a_node_has_it_or_not() {
    let mut story = Story::new();
    story.tell(Event::is(QueueSpec {
        name: "q".into(),
        limit: vec![("example.com/limited".into(), 1)],
        ..QueueSpec::default()
    }));
    for round in 0..40 {
        let (name, resource) = (format!("n{round}"), format!("example.com/{round}"));
        story.tell(Event::is(with_its_own(&name, &resource)));
        story.tell(gone(&name));
    }
    story.tell(Event::is(with_its_own("limited", "example.com/limited")));
    for name in ["a", "b"] {
        let mut spec = asking(name, None, "example.com/limited", 1);
        spec.queue = Some("q".into());
        story.submit(spec);
    }
    assert_eq!(story.run().len(), 1);
    story.tell(Event::Gone(ObjectKey::Queue("q".into())));
}

#[test]
fn what_a_flow_remembers_of_a_resource_is_not_of_the_one_that_has_its_number_next() {
    let mut story = Story::new();
    story.node("plain", 8);
    for index in 0..27 {
        let resource = format!("example.com/{index}");
        story.tell(Event::is(with_its_own(&format!("n{index}"), &resource)));
    }
    let uses = story.submit(asking("uses", None, "example.com/0", 4));
    assert_eq!(story.run().len(), 1);
    story.tell(Event::Gone(ObjectKey::Pod(uses)));
    story.run();
    story.tell(gone("n0"));
    story.run();
    let flow = |story: &Story| {
        let queues = story.scheduler.state().queues();
        let (_, queue) = queues.find("default").unwrap();
        let half_life = crate::state::DEFAULT_HALF_LIFE;
        queue.account.flow.value(story.now, half_life)
    };
    let before = flow(&story);
    assert!(before > 0, "what was used is remembered");
    for round in 0..5 {
        let (name, resource) = (format!("m{round}"), format!("example.com/new-{round}"));
        story.tell(Event::is(with_its_own(&name, &resource)));
        story.run();
        let now = flow(&story);
        assert!(now <= before * 2, "{now} of {before} in round {round}");
        story.tell(gone(&name));
        story.run();
    }
    let tables = story.scheduler.stats().tables;
    assert_eq!(tables.get(Table::Resources), 31);
}
