//! Objects that say little more than their names and sizes: what made-up worlds are built of, in tests,
//! in benchmarks and where placement rules are compared. Whoever wants more of one changes it.

use super::{
    Amounts, Counted, GangKey, GangRef, GangSpace, GangSpec, LabelCondition, LabelRequirement,
    LabelSelector, Level, NamespaceChoice, NodeSpec, PodKey, PodQuery, PodSpec, PodTerm, QueueSpec,
    ShapeSpec, SpreadRule, TopologySpec,
};

/// Amounts, one of a name.
#[must_use]
pub fn amounts<const N: usize>(of: [(&str, i64); N]) -> Amounts {
    of.map(|(name, amount)| (name.to_owned(), amount)).to_vec()
}

/// A node that offers this.
#[must_use]
pub fn node(name: impl Into<String>, allocatable: Amounts) -> NodeSpec {
    NodeSpec {
        name: name.into(),
        allocatable,
        ..NodeSpec::default()
    }
}

/// The key of a PodGroup.
#[must_use]
pub fn key(namespace: &str, name: impl Into<String>) -> GangKey {
    GangKey {
        namespace: namespace.to_owned(),
        space: GangSpace::Named,
        name: name.into(),
    }
}

/// A PodGroup of which so many members must run at once; its uid says its name.
#[must_use]
pub fn group(key: GangKey, min: u32) -> GangSpec {
    GangSpec {
        uid: format!("group-{}", key.name),
        key,
        min_available: min,
        ..GangSpec::default()
    }
}

/// What a pod says that is a member of the PodGroup of this name.
#[must_use]
pub fn member_of(group: impl Into<String>) -> GangRef {
    GangRef::Named {
        space: GangSpace::Named,
        name: group.into(),
    }
}

/// A pod of ours that asks for this, on its own; its uid says its name.
#[must_use]
pub fn pod(namespace: &str, name: impl Into<String>, requests: Amounts) -> PodSpec {
    let name = name.into();
    PodSpec {
        key: PodKey {
            namespace: namespace.to_owned(),
            uid: format!("uid-{name}"),
            name,
        },
        ours: true,
        shape: ShapeSpec {
            requests,
            ..ShapeSpec::default()
        },
        ..PodSpec::default()
    }
}

/// A queue with all that is not said; its uid says its name.
#[must_use]
pub fn queue(name: impl Into<String>) -> QueueSpec {
    let name = name.into();
    QueueSpec {
        uid: format!("queue-{name}"),
        name,
        ..QueueSpec::default()
    }
}

/// A topology of these labels, each with the hops between two nodes of one domain, from the widest on.
#[must_use]
pub fn levels<'a>(name: &str, of: impl IntoIterator<Item = (&'a str, u32)>) -> TopologySpec {
    let level = |(label, hops): (&str, u32)| Level {
        aliases: Vec::new(),
        label: label.to_owned(),
        hops,
    };
    TopologySpec {
        name: name.to_owned(),
        levels: of.into_iter().map(level).collect(),
        ..TopologySpec::default()
    }
}

/// Whose label says this.
#[must_use]
pub fn who_says(label: &str, value: &str) -> LabelSelector {
    LabelSelector {
        requirements: vec![LabelRequirement {
            key: label.to_owned(),
            holds: LabelCondition::In(vec![value.to_owned()]),
        }],
    }
}

/// About pods of a namespace within the values of a node's label.
#[must_use]
pub fn beside(namespace: &str, selector: LabelSelector, key: &str) -> PodTerm {
    PodTerm {
        namespaces: NamespaceChoice::only(namespace),
        selector,
        topology_key: key.to_owned(),
    }
}

/// Over the values of a node's label these pods of a namespace differ by one at most.
#[must_use]
pub fn evenly(namespace: &str, selector: LabelSelector, key: &str) -> SpreadRule {
    SpreadRule {
        key: key.to_owned(),
        max_skew: 1,
        min_domains: 1,
        pods: Some(PodQuery {
            namespaces: vec![NamespaceChoice::only(namespace)],
            selector,
            counted: Counted::Staying,
        }),
        counts_itself: true,
        honors_affinity: true,
        honors_taints: false,
        label_optional: false,
    }
}
