//! How pods say which gang they belong to: one file a convention, one table.
//!
//! The first convention that finds a name wins. A new one is a file here and a line in
//! [`TABLE`]; marks that are known and not honoured yet stand in [`MARKERS`]. The document
//! `docs/conventions.md` shows both tables.

mod coscheduling_label;
mod group_name;
mod markers;
mod pod_group_label;
mod scheduling_group;
mod volcano_group_name;

pub use markers::{MARKERS, Marker, Place};

use crate::slim::Pod;
use muster_model::{GangRef, GangSpace};

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
    volcano_group_name::CONVENTION,
    coscheduling_label::CONVENTION,
    coscheduling_label::OLDER,
];

/// Annotations of others that a convention reads.
const ANNOTATIONS: &[&str] = &[group_name::ANNOTATION, volcano_group_name::ANNOTATION];

/// Whether an annotation of others is read here; ours are read in any case.
#[must_use]
pub fn reads_annotation(key: &str) -> bool {
    let is_marker = |one: &Marker| one.place == Place::Annotation && one.key == key;
    ANNOTATIONS.contains(&key) || MARKERS.iter().any(is_marker)
}

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

/// What says that a pod belongs to a gang, where no honoured convention says to which.
#[must_use]
pub fn unhonoured(pod: &Pod) -> Option<&'static Marker> {
    let marker = MARKERS.iter().find(|marker| marker.is_on(pod))?;
    (gang_of(pod) == GangRef::Own).then_some(marker)
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::Source;
    use serde_json::{Value, json};

    fn read(pod: Value) -> Pod {
        serde_json::from_value(pod).unwrap()
    }

    fn gang(pod: Value) -> GangRef {
        gang_of(&read(pod))
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
                "annotations": {
                    "scheduling.k8s.io/group-name": "c",
                    "scheduling.volcano.sh/group-name": "d",
                },
            },
            "spec": {"schedulingGroup": {"podGroupName": "b"}},
        });
        assert_eq!(gang(all.clone()), named(GangSpace::Named, "a"));
        let mut rest = all;
        rest["metadata"]["labels"] = json!({"muster.dev/pod-group": ""});
        assert_eq!(gang(rest.clone()), named(GangSpace::Upstream, "b"));
        rest["spec"] = json!({});
        assert_eq!(gang(rest.clone()), named(GangSpace::Named, "c"));
        rest["metadata"]["annotations"]["scheduling.k8s.io/group-name"] = json!("");
        assert_eq!(gang(rest.clone()), named(GangSpace::Named, "d"));
        rest["metadata"] = json!({"labels": {
            "scheduling.x-k8s.io/pod-group": "e",
            "pod-group.scheduling.sigs.k8s.io": "f",
        }});
        assert_eq!(gang(rest.clone()), named(GangSpace::Coscheduling, "e"));
        rest["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = json!("");
        assert_eq!(gang(rest.clone()), named(GangSpace::Coscheduling, "f"));
        rest["metadata"] = json!({});
        assert_eq!(gang(rest), GangRef::Own);
    }

    /// A pod with this mark and nothing else.
    fn marked(marker: &Marker, value: &str) -> Value {
        match marker.place {
            Place::Label => json!({"metadata": {"labels": {marker.key: value}}}),
            Place::Annotation => json!({"metadata": {"annotations": {marker.key: value}}}),
        }
    }

    #[test]
    fn every_marker_is_found_unless_it_is_empty_or_a_convention_names_the_gang() {
        for marker in MARKERS {
            let mut pod = marked(marker, "x");
            assert_eq!(unhonoured(&read(pod.clone())), Some(marker));
            assert_eq!(gang(pod.clone()), GangRef::Own);
            pod["spec"] = json!({"schedulingGroup": {"podGroupName": "b"}});
            assert_eq!(unhonoured(&read(pod)), None, "{marker}");
            assert_eq!(unhonoured(&read(marked(marker, ""))), None, "{marker}");
        }
    }

    #[test]
    fn labels_of_applications_are_no_markers() {
        let labels = json!({"spark-role": "driver", "ray.io/cluster": "a", "queue": "q"});
        let pod = read(json!({"metadata": {"labels": labels}}));
        assert_eq!(unhonoured(&pod), None);
    }

    /// The rows of the tables in a section of the document.
    fn rows(section: &str) -> Vec<&'static str> {
        let document = include_str!("../../../docs/conventions.md");
        let text = document.split("\n## ").find(|text| text.contains(section));
        let lines = text.unwrap_or_default().lines();
        lines
            .filter(|line| line.starts_with("| "))
            .skip(1)
            .collect()
    }

    #[test]
    fn the_document_shows_both_tables() {
        let wanted = TABLE.iter().enumerate().map(|(index, convention)| {
            let kinds = match convention.space {
                GangSpace::Named => "`muster.dev`, else `scheduling.volcano.sh`",
                GangSpace::Upstream => "`scheduling.k8s.io`",
                GangSpace::Coscheduling => "`scheduling.x-k8s.io`",
                GangSpace::Own => "none",
            };
            format!("| {} | {} | {kinds} |", index + 1, convention.mark)
        });
        let wanted: Vec<String> = wanted.collect();
        assert_eq!(
            rows("How a pod says"),
            wanted,
            "docs/conventions.md is out of date"
        );
        let wanted = MARKERS.iter().map(|marker| {
            let place = match marker.place {
                Place::Label => "label",
                Place::Annotation => "annotation",
            };
            format!("| {place} `{}` | {} |", marker.key, marker.of)
        });
        let wanted: Vec<String> = wanted.collect();
        assert_eq!(
            rows("Known and not honoured yet"),
            wanted,
            "docs/conventions.md is out of date"
        );
    }

    #[test]
    fn the_document_shows_for_whom_we_stand_in() {
        let rows = rows("Whose a PodGroup is");
        assert_eq!(rows.len(), 5);
        for (source, group) in [
            (Source::Volcano, "scheduling.volcano.sh"),
            (Source::Upstream, "scheduling.k8s.io"),
            (Source::Coscheduling, "scheduling.x-k8s.io"),
        ] {
            let scheduler = source.scheduler().unwrap();
            let row = format!(
                "| of `{group}` | as long as it has no pods: if `{scheduler}` is one of Muster's \
                 scheduler names, or if it is claimed |"
            );
            assert!(rows.contains(&row.as_str()), "{row}");
        }
        let document = include_str!("../../../docs/conventions.md");
        assert!(document.contains(&format!("label `{}`", crate::names::SCHEDULER_NAME)));
    }
}
