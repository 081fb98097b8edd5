//! Which nodes are near each other: the racks, said in three ways.

use super::RACK;
use muster::model::plain::{levels, who_says};
use muster::model::{HyperNodeSpec, Link, NodeChoice, Object, TopologySpec};

/// By a label of the nodes. The hops of a rack are two.
pub(crate) fn by_label() -> TopologySpec {
    levels("racks", [(RACK, 2)])
}

/// By links: a switch for each rack, and nothing between them.
pub(crate) fn by_links<'a>(racks: impl Iterator<Item = (&'a str, &'a str)>) -> TopologySpec {
    let link = |(node, rack): (&str, &str)| Link {
        a: format!("switch-{rack}"),
        b: node.to_owned(),
        cost: 1,
    };
    TopologySpec {
        links: racks.map(link).collect(),
        ..levels("racks", [])
    }
}

/// A HyperNode of Volcano's for each rack, and two wider ones that say more than is so.
pub(crate) fn by_hyper_nodes() -> Vec<Object> {
    let of = |name: String, tier, nodes, members| {
        Object::from(HyperNodeSpec {
            name,
            tier,
            nodes,
            members,
            ..HyperNodeSpec::default()
        })
    };
    let names = |to: u64| (0..to).map(|rack| format!("rack-{rack}")).collect();
    let racks = (0..3).map(|rack: u64| {
        let chosen = NodeChoice::Labelled(who_says(RACK, &rack.to_string()));
        of(format!("rack-{rack}"), 1, vec![chosen], Vec::new())
    });
    let nobody = vec![NodeChoice::Named("n99".to_owned())];
    let wider = [
        of("room".to_owned(), 2, nobody, names(2)),
        of("hall".to_owned(), 3, Vec::new(), names(4)),
    ];
    racks.chain(wider).collect()
}
