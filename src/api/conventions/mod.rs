//! How pods say which gang they belong to: one file a convention, one table.
//!
//! The first convention that finds a name wins. A new one is a file here and a line in
//! [`TABLE`]; the document `docs/conventions.md` shows the same table.

mod group_name;
mod pod_group_label;
mod scheduling_group;

use crate::api::slim::Pod;
use crate::core::model::{GangRef, GangSpace};

/// One way to name a gang.
#[derive(Clone, Copy, Debug)]
pub struct Convention {
    /// What it is on the pod, in words.
    pub mark: &'static str,
    /// Among which kinds the name is looked up.
    pub space: GangSpace,
    /// Finds the name on a pod.
    pub name: fn(&Pod) -> Option<&str>,
}

/// All conventions, in the order in which they are tried.
pub const TABLE: &[Convention] = &[
    pod_group_label::CONVENTION,
    scheduling_group::CONVENTION,
    group_name::CONVENTION,
];

/// Annotations of others that a convention reads; ours are read in any case.
pub const ANNOTATIONS: &[&str] = &[group_name::ANNOTATION];

/// The gang a pod says it belongs to.
#[must_use]
pub fn gang_of(pod: &Pod) -> GangRef {
    let found = TABLE.iter().find_map(|convention| {
        let name = (convention.name)(pod).filter(|name| !name.is_empty())?;
        Some(GangRef::Named {
            space: convention.space,
            name: name.to_owned(),
        })
    });
    found.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn gang(pod: Value) -> GangRef {
        gang_of(&serde_json::from_value(pod).unwrap())
    }

    fn named(space: GangSpace, name: &str) -> GangRef {
        let name = name.to_owned();
        GangRef::Named { space, name }
    }

    #[test]
    fn the_first_convention_that_names_a_gang_wins() {
        let all = json!({
            "metadata": {
                "labels": {"muster.dev/pod-group": "a"},
                "annotations": {"scheduling.k8s.io/group-name": "c"},
            },
            "spec": {"schedulingGroup": {"podGroupName": "b"}},
        });
        assert_eq!(gang(all.clone()), named(GangSpace::Named, "a"));
        let mut rest = all;
        rest["metadata"]["labels"] = json!({"muster.dev/pod-group": ""});
        assert_eq!(gang(rest.clone()), named(GangSpace::Upstream, "b"));
        rest["spec"] = json!({});
        assert_eq!(gang(rest.clone()), named(GangSpace::Named, "c"));
        rest["metadata"] = json!({});
        assert_eq!(gang(rest), GangRef::Own);
    }

    #[test]
    fn the_document_shows_the_table() {
        let document = include_str!("../../../docs/conventions.md");
        let rows: Vec<&str> = document
            .lines()
            .filter(|line| line.starts_with("| "))
            .collect();
        let wanted = TABLE.iter().enumerate().map(|(index, convention)| {
            let kinds = match convention.space {
                GangSpace::Named => "`muster.dev`, else `scheduling.volcano.sh`",
                GangSpace::Upstream => "`scheduling.k8s.io`",
                GangSpace::Own => "none",
            };
            format!("| {} | {} | {kinds} |", index + 1, convention.mark)
        });
        let wanted: Vec<String> = wanted.collect();
        assert_eq!(
            rows[1..=TABLE.len()],
            wanted,
            "docs/conventions.md is out of date"
        );
    }
}
