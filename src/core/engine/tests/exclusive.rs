//! Gangs that want nodes for themselves.

use super::*;

#[test]
fn an_exclusive_gang_shares_its_nodes_with_nobody_but_daemons() {
    let mut story = Story::new();
    for name in ["n1", "n2"] {
        story.node(name, 4);
        let daemon = PodSpec {
            ours: false,
            daemon: true,
            node: Some(name.into()),
            ..pod(&format!("daemon-{name}"), None, 1)
        };
        story.submit(daemon);
    }
    story.define(GangSpec {
        min_available: 2,
        exclusive: true,
        ..group("g")
    });
    story.pod("p0", Some("g"));
    story.pod("p1", Some("g"));
    let binds = story.run();
    assert_eq!(binds[0].node, binds[1].node, "members share a node");
    story.pod("single", None);
    let single = story.run();
    assert_ne!(single[0].node, binds[0].node);
    story.define(GangSpec {
        min_available: 1,
        exclusive: true,
        ..group("h")
    });
    let late = story.pod("q0", Some("h"));
    assert!(story.run().is_empty(), "there are others on both nodes");
    story.tell(Event::Gone(ObjectKey::Pod(single[0].pod.clone())));
    let binds = story.run();
    assert_eq!((binds.len(), &binds[0].pod), (1, &late));
}

#[test]
fn a_gang_that_becomes_exclusive_keeps_others_off_its_nodes_from_then_on() {
    let mut story = Story::new();
    story.node("n", 4);
    story.group("g", 1);
    story.pod("p0", Some("g"));
    assert_eq!(story.run().len(), 1);
    story.define(GangSpec {
        min_available: 1,
        exclusive: true,
        ..group("g")
    });
    story.pod("single", None);
    assert!(story.run().is_empty());
    story.group("g", 1);
    assert_eq!(story.run().len(), 1);
}
