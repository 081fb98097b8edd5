//! Nodes with devices are spared by those who ask for none.

use super::*;
use muster_model::NodeSpec;

pub(super) const GPU: &str = "example.com/gpu";

pub(super) fn with_gpus(name: &str, cpus: i64, gpus: i64) -> NodeSpec {
    let mut spec = node(name, cpus);
    spec.allocatable.push((GPU.to_owned(), gpus));
    spec
}

fn sized(name: &str, group: Option<&str>, cpus: i64, gpus: i64) -> PodSpec {
    let mut spec = pod(name, group, cpus);
    if gpus > 0 {
        spec.shape.requests.push((GPU.to_owned(), gpus));
    }
    spec
}

#[test]
fn a_node_is_opened_rather_than_one_with_devices_used() {
    let mut story = Story::new();
    story.tell(Event::is(with_gpus("a-gpu", 8, 2)));
    story.node("plain", 64);
    story.submit(sized("trains", None, 1, 1));
    assert_eq!(story.run()[0].node, "a-gpu");
    story.submit(sized("serves", None, 1, 0));
    assert_eq!(story.run()[0].node, "plain");
    story.submit(sized("trains-too", None, 1, 1));
    assert_eq!(story.run()[0].node, "a-gpu");
}

#[test]
fn who_asks_for_no_device_takes_a_node_with_some_where_no_other_has_room() {
    let mut story = Story::new();
    story.tell(Event::is(with_gpus("gpu", 8, 2)));
    story.node("plain", 2);
    story.submit(sized("serves", None, 4, 0));
    assert_eq!(story.run()[0].node, "gpu");
}

#[test]
fn unequal_members_are_bettered_among_nodes_without_devices() {
    let mut story = Story::new();
    // All six would lose nothing on the one with devices.
    story.tell(Event::is(with_gpus("gpu", 21, 1)));
    for name in ["plain-a", "plain-b", "plain-c"] {
        story.node(name, 11);
    }
    story.group("g", 6);
    for (index, cpus) in [4, 4, 3, 3, 3, 3].into_iter().enumerate() {
        story.submit(sized(&format!("p{index}"), Some("g"), cpus, 0));
    }
    let binds = story.run();
    assert_eq!(binds.len(), 6);
    let plain: Vec<&str> = binds.iter().map(|bind| bind.node.as_str()).collect();
    assert!(plain.iter().all(|node| *node != "gpu"), "{plain:?}");
    let mut opened = plain.clone();
    opened.sort_unstable();
    opened.dedup();
    assert_eq!(opened.len(), 2, "{plain:?}");
}

#[test]
fn of_equal_racks_the_one_without_devices_is_taken_and_fewest_hops_come_first() {
    let mut story = Story::with_fabric();
    // The tighter rack has devices.
    for (name, rack) in [("a", "1"), ("b", "1")] {
        let mut spec = with_gpus(name, 2, 1);
        spec.labels = [("block", "x"), ("rack", rack)]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        story.tell(Event::is(spec));
    }
    for name in ["c", "d", "e"] {
        story.at(name, 3, "x", "2");
    }
    story.group("g", 2);
    for name in ["p0", "p1"] {
        story.submit(sized(name, Some("g"), 2, 0));
    }
    let nodes: Vec<String> = story.run().into_iter().map(|bind| bind.node).collect();
    assert_eq!(nodes, ["c", "d"]);
    // What is left of the other rack holds one of two: the two would be 4 hops apart.
    story.group("h", 2);
    for name in ["q0", "q1"] {
        story.submit(sized(name, Some("h"), 2, 0));
    }
    let nodes: Vec<String> = story.run().into_iter().map(|bind| bind.node).collect();
    assert_eq!(nodes, ["a", "b"]);
}
