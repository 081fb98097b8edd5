//! How pods say which gang they belong to: one file a convention, one table.
//!
//! The first convention that finds a name wins. A new one is a file here and a line in
//! [`TABLE`]; marks that are known and not honoured yet stand in [`MARKERS`]. The document
//! `docs/conventions.md` shows both tables.

mod coscheduling_label;
mod group_name;
mod kai;
mod kueue;
mod lightweight_coscheduling;
mod markers;
mod min_available;
mod pod_group_label;
mod podsets;
mod scheduling_group;
mod scheduling_spec;
mod task_groups;
mod volcano_group_name;
mod workloads;

pub use markers::{MARKERS, Marker};
pub use podsets::podset;
pub use scheduling_spec::required as required_scheduling_spec;
pub use workloads::{TOGETHER, Together, Workload, gang_by_labels};

use crate::slim::Pod;
use muster_model::units::Millis;
use muster_model::{GangRef, GangSpace, Implied};
use std::borrow::Cow;

/// One way to name a gang.
#[derive(Clone, Copy, Debug)]
pub struct Convention {
    /// What it is on the pod, in words.
    pub mark: &'static str,
    /// Among which kinds the name is looked up.
    pub space: GangSpace,
    /// What defines the gang.
    pub defined: Defined,
    /// Finds the name on a pod.
    pub name: fn(&Pod) -> Option<Cow<'_, str>>,
}

/// What defines a gang.
#[derive(Clone, Copy, Debug)]
pub enum Defined {
    /// Its PodGroup: without it, its pods wait.
    ByPodGroup,
    /// Its PodGroup; if that does not come for a time, nothing does, and its pods are placed one by one. So with
    /// marks that clients of other schedulers write, some of which never make one.
    ByPodGroupIfItComes,
    /// What its pods say of it.
    ByPods(fn(&Pod) -> Implied),
}

/// All conventions, in the order in which they are tried.
pub const TABLE: &[Convention] = &[
    pod_group_label::CONVENTION,
    scheduling_group::CONVENTION,
    group_name::CONVENTION,
    volcano_group_name::CONVENTION,
    coscheduling_label::CONVENTION,
    coscheduling_label::OLDER,
    lightweight_coscheduling::CONVENTION,
    kueue::CONVENTION,
    task_groups::CONVENTION,
    min_available::CONVENTION,
    scheduling_spec::CONVENTION,
    kai::CONVENTION,
];

/// The gang a pod says it belongs to.
#[must_use]
pub fn gang_of(pod: &Pod) -> GangRef {
    let found = found_on(pod).map(|(convention, name)| GangRef::Named {
        space: convention.space,
        name: name.into_owned(),
    });
    found.unwrap_or_default()
}

/// What a pod says of its gang, for the case that no PodGroup defines it; one is waited for so long, or for ever.
#[must_use]
pub fn implied(pod: &Pod, wait: Option<Millis>) -> Option<Implied> {
    match found_on(pod)?.0.defined {
        Defined::ByPodGroup => None,
        Defined::ByPodGroupIfItComes => Some(Implied {
            after: Some(wait?),
            ..Implied::default()
        }),
        Defined::ByPods(implied) => Some(Implied {
            topology: podsets::wish(pod),
            ..implied(pod)
        }),
    }
}

/// The convention by which a pod names its gang, and the name.
fn found_on(pod: &Pod) -> Option<(&'static Convention, Cow<'_, str>)> {
    TABLE.iter().find_map(|convention| {
        let name = (convention.name)(pod).filter(|name| !name.is_empty())?;
        Some((convention, name))
    })
}

/// How many pods a label or an annotation says.
fn count(path: &str, text: Option<&str>) -> Result<u32, String> {
    let text = text.unwrap_or_default();
    let wrong = |_| format!("{path}: {text:?} is no number of pods");
    text.parse().map_err(wrong)
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
        let labels = json!({
            "pod-group.scheduling.sigs.k8s.io/name": "g",
            "kueue.x-k8s.io/pod-group-name": "h",
            "yunikorn.apache.org/app-id": "i",
        });
        let annotations = json!({"yunikorn.apache.org/task-group-name": "x"});
        rest["metadata"] = json!({"labels": labels, "annotations": annotations});
        for (label, name) in [
            ("pod-group.scheduling.sigs.k8s.io/name", "g"),
            ("kueue.x-k8s.io/pod-group-name", "h"),
            ("yunikorn.apache.org/app-id", "i"),
        ] {
            assert_eq!(gang(rest.clone()), named(GangSpace::Pods, name));
            rest["metadata"]["labels"][label] = json!("");
        }
        let annotations = json!({
            "pod-group-name": "k",
            "muster.dev/scheduling-spec": "j",
        });
        rest["metadata"] = json!({"annotations": annotations});
        assert_eq!(gang(rest.clone()), named(GangSpace::SchedulingSpec, "j"));
        rest["metadata"]["annotations"]["muster.dev/scheduling-spec"] = json!("");
        assert_eq!(gang(rest.clone()), named(GangSpace::Named, "k"));
        rest["metadata"] = json!({});
        assert_eq!(gang(rest), GangRef::Own);
    }

    #[test]
    fn every_marker_is_found_unless_it_is_empty_or_a_convention_names_the_gang() {
        let marked = |marker: &Marker, value: &str| {
            let annotations = json!({marker.key: value});
            json!({"metadata": {"annotations": annotations}})
        };
        for marker in MARKERS {
            let mut pod = marked(marker, "x");
            assert_eq!(unhonoured(&read(pod.clone())), Some(marker));
            assert_eq!(gang(pod.clone()), GangRef::Own);
            pod["spec"] = json!({"schedulingGroup": {"podGroupName": "b"}});
            assert_eq!(unhonoured(&read(pod)), None, "{marker}");
            assert_eq!(unhonoured(&read(marked(marker, ""))), None, "{marker}");
        }
    }

    fn said(pod: Value) -> Implied {
        implied(&read(pod), None).unwrap()
    }

    #[test]
    fn a_podgroup_is_waited_for_so_long_where_clients_of_others_name_it() {
        let wait = Some(Millis(5));
        for key in ["scheduling.k8s.io/group-name", "pod-group-name"] {
            let client = read(json!({"metadata": {"annotations": {key: "a"}}}));
            let found = implied(&client, wait).unwrap();
            assert_eq!((found.after, found.min_available), (wait, 0));
            assert_eq!(implied(&client, None), None, "for ever");
        }
        for ours in [
            json!({"metadata": {"labels": {"muster.dev/pod-group": "a"}}}),
            json!({"metadata": {}, "spec": {"schedulingGroup": {"podGroupName": "a"}}}),
            json!({"metadata": {}}),
        ] {
            assert_eq!(implied(&read(ours), wait), None);
        }
    }

    #[test]
    fn pods_without_podgroups_say_how_many_are_needed() {
        let kueue = |annotations: Value| {
            let labels = json!({"kueue.x-k8s.io/pod-group-name": "a"});
            said(json!({"metadata": {"labels": labels, "annotations": annotations}}))
        };
        let total = json!({"kueue.x-k8s.io/pod-group-total-count": "3"});
        assert_eq!(kueue(total.clone()).min_available, 3);
        let mut fast = total;
        fast["kueue.x-k8s.io/pod-group-fast-admission"] = json!("true");
        assert_eq!(kueue(fast).min_available, 1);
        for wrong in ["", "-1", "4294967296", "3x", " 3"] {
            let found = kueue(json!({"kueue.x-k8s.io/pod-group-total-count": wrong}));
            let path = "metadata.annotations[kueue.x-k8s.io/pod-group-total-count]";
            let problem = format!("{path}: {wrong:?} is no number of pods");
            assert_eq!(found.invalid, Some(problem));
        }
        let lightweight = said(json!({"metadata": {"labels": {
            "pod-group.scheduling.sigs.k8s.io/name": "a",
            "pod-group.scheduling.sigs.k8s.io/min-available": "2",
        }}}));
        assert_eq!((lightweight.min_available, lightweight.invalid), (2, None));
    }

    #[test]
    fn pods_that_say_how_many_are_needed_belong_together_by_labels_or_by_who_controls_them() {
        let owners = json!([
            {"apiVersion": "v1", "kind": "Any", "name": "n", "uid": "v"},
            {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": true},
        ]);
        let mut pod = json!({"metadata": {
            "annotations": {"muster.dev/min-available": "3"},
            "ownerReferences": owners,
            "labels": {"spark-app-selector": "spark-1", "ray.io/cluster": ""},
        }});
        let pods = |name: &str| named(GangSpace::Pods, name);
        assert_eq!(said(pod.clone()).min_available, 3);
        assert_eq!(gang(pod.clone()), pods("spark-1"));
        pod["metadata"]["labels"] = json!({
            "jobset.sigs.k8s.io/jobset-name": "s",
            "jobset.sigs.k8s.io/jobset-uid": "w",
            "jobset.sigs.k8s.io/restart-attempt": "0",
            "batch.kubernetes.io/job-name": "s-workers-0",
        });
        assert_eq!(gang(pod.clone()), pods("s.w.0"));
        pod["metadata"]["labels"] = json!({"leaderworkerset.sigs.k8s.io/name": "l"});
        assert_eq!(gang(pod.clone()), pods("j.u"), "of no group");
        pod["metadata"]["ownerReferences"] = json!([]);
        assert_eq!(gang(pod.clone()), GangRef::Own);
        assert!(unhonoured(&read(pod.clone())).is_some());
        pod["metadata"]["annotations"] = json!({"muster.dev/min-available": ""});
        assert_eq!(unhonoured(&read(pod)), None);
    }

    fn task_groups(text: &str) -> Implied {
        let annotations = json!({
            "yunikorn.apache.org/app-id": "a",
            "yunikorn.apache.org/task-groups": text,
            "yunikorn.apache.org/queue": "root.team.a",
        });
        said(json!({"metadata": {"annotations": annotations}}))
    }

    #[test]
    fn task_groups_are_room_for_all_their_members() {
        let found = task_groups(
            r#"[{"name": "driver", "minMember": 1, "minResource": {"cpu": "500m", "memory": "1Gi"},
                 "tolerations": []},
                {"name": "executor", "minMember": 3, "minResource": {"cpu": 2}}]"#,
        );
        let room = [("cpu", 6_500), ("memory", 1 << 30), ("pods", 4)];
        let room: Vec<_> = room.map(|(name, amount)| (name.to_owned(), amount)).into();
        assert_eq!((found.min_available, found.min_resources), (1, room));
        assert_eq!(found.queue.as_deref(), Some("team.a"));
        let annotations = json!({
            "yunikorn.apache.org/app-id": "a",
            "yunikorn.apache.org/task-group-name": "executor",
        });
        let member = said(json!({"metadata": {"annotations": annotations}}));
        assert_eq!(member, Implied::default());
    }

    #[test]
    fn task_groups_that_cannot_be_say_what_is_wrong() {
        for (text, problem) in [
            ("[", "EOF while parsing"),
            (r#"[{"name": "x"}]"#, "missing field `minMember`"),
            (
                r#"[{"name": "x", "minMember": -1}]"#,
                "minMember of x: -1 is negative",
            ),
            (
                r#"[{"name": "x", "minMember": 1, "minResource": {"cpu": "-1"}}]"#,
                r#"minResource of x.cpu: "-1" is negative"#,
            ),
        ] {
            let found = task_groups(text).invalid.unwrap();
            assert!(found.starts_with("metadata.annotations[yunikorn.apache.org/task-groups]: "));
            assert!(found.contains(problem), "{found}");
        }
        let most = i64::MAX;
        let text =
            format!(r#"[{{"name": "x", "minMember": {most}, "minResource": {{"cpu": {most}}}}}]"#);
        let sum = task_groups(&text).min_resources;
        assert!(sum.iter().all(|(_, amount)| *amount == most), "{sum:?}");
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
                GangSpace::SchedulingSpec => "SchedulingSpec of `muster.dev`",
                GangSpace::Pods | GangSpace::Own => "none",
            };
            let without = match convention.defined {
                Defined::ByPodGroup => "they wait",
                Defined::ByPodGroupIfItComes => "they wait, then go one by one",
                Defined::ByPods(_) => "they say it all",
            };
            format!(
                "| {} | {} | {kinds} | {without} |",
                index + 1,
                convention.mark
            )
        });
        let wanted: Vec<String> = wanted.collect();
        assert_eq!(
            rows("How a pod says"),
            wanted,
            "docs/conventions.md is out of date"
        );
        let marker = |marker: &Marker| format!("| annotation `{}` | {} |", marker.key, marker.of);
        let wanted = MARKERS.iter().map(marker);
        let wanted: Vec<String> = wanted.collect();
        assert_eq!(
            rows("Known and not honoured yet"),
            wanted,
            "docs/conventions.md is out of date"
        );
    }

    #[test]
    fn the_document_shows_what_belongs_together() {
        let wanted = TOGETHER.iter().enumerate().map(|(index, row)| {
            let labels: Vec<String> = row.labels.iter().map(|key| format!("`{key}`")).collect();
            let only = row.only.map_or_else(String::new, |(key, values)| {
                let values: Vec<String> = values.iter().map(|one| format!("`{one}`")).collect();
                format!("; label `{key}` is {}", values.join(" or "))
            });
            let (number, of, name) = (index + 1, row.of, row.workload.name());
            format!(
                "| {number} | {of} | {}{only} | `{name}` |",
                labels.join(", ")
            )
        });
        let wanted: Vec<String> = wanted.collect();
        assert_eq!(rows("A gang by an annotation"), wanted);
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
