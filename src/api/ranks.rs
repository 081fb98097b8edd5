//! How pods say which place they have among their equals: one row a convention, one table.
//!
//! The first convention that can be read wins; a value that cannot be is passed over, for whoever makes
//! the pods writes it. The document `docs/placement.md` shows the table.

use super::names::{annotation, label};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use muster_model::Rank;

/// The index of a pod in a Job, as label and as annotation (`batch/v1`).
const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// One way to number pods.
#[derive(Clone, Copy, Debug)]
pub struct Convention {
    /// Who writes it.
    pub of: &'static str,
    /// The labels that are read.
    pub labels: &'static [&'static str],
    /// In which order pods are by these.
    pub order: &'static str,
    read: fn(&ObjectMeta) -> Option<Rank>,
}

/// All conventions, in the order in which they are tried. Those of controllers that work through
/// another's pods come before that one's: a LeaderWorkerSet's pods are those of StatefulSets, a JobSet's
/// are those of Jobs.
pub const TABLE: &[Convention] = &[
    Convention {
        of: "LeaderWorkerSet",
        labels: &[
            "leaderworkerset.sigs.k8s.io/group-index",
            "leaderworkerset.sigs.k8s.io/worker-index",
        ],
        order: "group, then worker",
        read: |meta| {
            let worker = number(meta, "leaderworkerset.sigs.k8s.io/worker-index")?;
            let group = or_zero(meta, "leaderworkerset.sigs.k8s.io/group-index")?;
            Rank::new("", group, worker)
        },
    },
    Convention {
        of: "Ray (KubeRay)",
        labels: &[
            "ray.io/group",
            "ray.io/worker-group-replica-index",
            "ray.io/replica-host-index",
        ],
        order: "worker group by name, then replica, then host",
        read: |meta| {
            let replica = number(meta, "ray.io/worker-group-replica-index")?;
            let host = or_zero(meta, "ray.io/replica-host-index")?;
            Rank::new(role(meta, "ray.io/group"), replica, host)
        },
    },
    Convention {
        of: "Kubeflow (training operator, MPI operator)",
        labels: &[
            "training.kubeflow.org/replica-type",
            "training.kubeflow.org/replica-index",
        ],
        order: "type by name (`master` before `worker`), then index",
        read: |meta| {
            let index = number(meta, "training.kubeflow.org/replica-index")?;
            Rank::new(role(meta, "training.kubeflow.org/replica-type"), 0, index)
        },
    },
    Convention {
        of: "Volcano Job",
        labels: &["volcano.sh/task-spec", "volcano.sh/task-index"],
        order: "task by name, then index",
        read: |meta| {
            let index = number(meta, "volcano.sh/task-index")?;
            Rank::new(role(meta, "volcano.sh/task-spec"), 0, index)
        },
    },
    Convention {
        of: "JobSet",
        labels: &["jobset.sigs.k8s.io/job-global-index", COMPLETION_INDEX],
        order: "job, then index",
        read: |meta| {
            let job = number(meta, "jobset.sigs.k8s.io/job-global-index")?;
            Rank::new("", job, or_zero(meta, COMPLETION_INDEX)?)
        },
    },
    Convention {
        of: "JobSet before it had a global index",
        labels: &[
            "jobset.sigs.k8s.io/replicatedjob-name",
            "jobset.sigs.k8s.io/job-index",
            COMPLETION_INDEX,
        ],
        order: "replicated job by name, then job, then index",
        read: |meta| {
            let job = number(meta, "jobset.sigs.k8s.io/job-index")?;
            let role = role(meta, "jobset.sigs.k8s.io/replicatedjob-name");
            Rank::new(role, job, or_zero(meta, COMPLETION_INDEX)?)
        },
    },
    Convention {
        of: "Job (`completionMode: Indexed`)",
        labels: &[COMPLETION_INDEX],
        order: "index; where the label is absent, the annotation of this name",
        read: |meta| {
            let of_label = number(meta, COMPLETION_INDEX);
            let index = of_label.or_else(|| parse(annotation(meta, COMPLETION_INDEX)?))?;
            Rank::new("", 0, index)
        },
    },
    Convention {
        of: "StatefulSet",
        labels: &["apps.kubernetes.io/pod-index"],
        order: "ordinal",
        read: |meta| Rank::new("", 0, number(meta, "apps.kubernetes.io/pod-index")?),
    },
];

/// Whether an annotation of others is read here.
#[must_use]
pub fn reads_annotation(key: &str) -> bool {
    key == COMPLETION_INDEX
}

/// The rank of a pod, if it has one.
#[must_use]
pub fn of(meta: &ObjectMeta) -> Option<Rank> {
    TABLE.iter().find_map(|convention| (convention.read)(meta))
}

fn number(meta: &ObjectMeta, key: &str) -> Option<u32> {
    parse(label(meta, key)?)
}

/// Zero where the label is absent; `None` where it is there and no number.
fn or_zero(meta: &ObjectMeta, key: &str) -> Option<u32> {
    label(meta, key).map_or(Some(0), parse)
}

/// Digits and nothing else.
fn parse(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

fn role<'a>(meta: &'a ObjectMeta, key: &str) -> &'a str {
    label(meta, key).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn labelled(labels: &[(&str, &str)]) -> Option<Rank> {
        let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        of(&ObjectMeta {
            labels: Some(labels.iter().map(pair).collect()),
            ..ObjectMeta::default()
        })
    }

    #[test]
    fn a_pod_of_an_indexed_job_has_its_completion_index() {
        let key = "batch.kubernetes.io/job-completion-index";
        assert_eq!(labelled(&[(key, "7")]), Rank::new("", 0, 7));
        let annotations = BTreeMap::from([(key.to_owned(), "7".to_owned())]);
        let meta = ObjectMeta {
            annotations: Some(annotations),
            ..ObjectMeta::default()
        };
        assert_eq!(of(&meta), Rank::new("", 0, 7));
    }

    #[test]
    fn a_pod_of_a_stateful_set_has_its_ordinal() {
        let found = labelled(&[("apps.kubernetes.io/pod-index", "12")]);
        assert_eq!(found, Rank::new("", 0, 12));
    }

    #[test]
    fn a_pod_of_a_training_job_has_its_index_among_those_of_its_type() {
        let member = |kind, index| {
            labelled(&[
                ("training.kubeflow.org/replica-type", kind),
                ("training.kubeflow.org/replica-index", index),
            ])
        };
        assert_eq!(member("worker", "3"), Rank::new("worker", 0, 3));
        assert!(member("master", "0") < member("worker", "0"));
        assert!(member("worker", "9") < member("worker", "10"));
        let alone = labelled(&[("training.kubeflow.org/replica-index", "3")]);
        assert_eq!(alone, Rank::new("", 0, 3));
    }

    #[test]
    fn a_pod_of_a_leader_worker_set_has_its_group_and_its_index_there_and_not_its_stateful_sets() {
        let found = labelled(&[
            ("leaderworkerset.sigs.k8s.io/group-index", "2"),
            ("leaderworkerset.sigs.k8s.io/worker-index", "1"),
            ("apps.kubernetes.io/pod-index", "9"),
        ]);
        assert_eq!(found, Rank::new("", 2, 1));
        let alone = labelled(&[("leaderworkerset.sigs.k8s.io/worker-index", "1")]);
        assert_eq!(alone, Rank::new("", 0, 1));
    }

    #[test]
    fn a_worker_of_ray_has_its_replica_and_its_host_there() {
        let found = labelled(&[
            ("ray.io/group", "tpu"),
            ("ray.io/worker-group-replica-index", "2"),
            ("ray.io/replica-host-index", "3"),
        ]);
        assert_eq!(found, Rank::new("tpu", 2, 3));
        let single_host = labelled(&[
            ("ray.io/group", "small"),
            ("ray.io/worker-group-replica-index", "2"),
        ]);
        assert_eq!(single_host, Rank::new("small", 2, 0));
        let head = labelled(&[("ray.io/group", "headgroup"), ("ray.io/node-type", "head")]);
        assert_eq!(head, None);
    }

    #[test]
    fn a_pod_of_a_job_set_has_its_job_and_its_index_there() {
        let index = ("batch.kubernetes.io/job-completion-index", "3");
        let global = ("jobset.sigs.k8s.io/job-global-index", "5");
        let job = ("jobset.sigs.k8s.io/job-index", "1");
        let of = ("jobset.sigs.k8s.io/replicatedjob-name", "workers");
        assert_eq!(labelled(&[index, global, job, of]), Rank::new("", 5, 3));
        assert_eq!(labelled(&[index, job, of]), Rank::new("workers", 1, 3));
        assert_eq!(labelled(&[global]), Rank::new("", 5, 0));
    }

    #[test]
    fn a_pod_of_a_volcano_job_has_its_index_in_its_task() {
        let found = labelled(&[
            ("volcano.sh/task-spec", "ps"),
            ("volcano.sh/task-index", "4"),
        ]);
        assert_eq!(found, Rank::new("ps", 0, 4));
    }

    #[test]
    fn what_is_no_number_or_a_huge_one_is_passed_over() {
        let wrong = [
            "",
            "-1",
            "+1",
            " 1",
            "1.0",
            "0x1",
            "٣",
            "4294967296",
            "2147483648",
        ];
        let longest = "9".repeat(63);
        for value in wrong.into_iter().chain([longest.as_str()]) {
            let lws = ("leaderworkerset.sigs.k8s.io/worker-index", value);
            assert_eq!(labelled(&[lws]), None, "{value}");
            let found = labelled(&[lws, ("apps.kubernetes.io/pod-index", "3")]);
            assert_eq!(found, Rank::new("", 0, 3), "{value}");
            let half = [
                ("leaderworkerset.sigs.k8s.io/worker-index", "1"),
                ("leaderworkerset.sigs.k8s.io/group-index", value),
            ];
            assert_eq!(labelled(&half), None, "{value}");
        }
        assert_eq!(
            labelled(&[("apps.kubernetes.io/pod-index", "007")]),
            Rank::new("", 0, 7)
        );
    }

    #[test]
    fn the_document_shows_the_table() {
        let document = include_str!("../../docs/placement.md");
        let section = document
            .split("\n## ")
            .find(|text| text.starts_with("Ranks"));
        let lines = section.unwrap_or_default().lines();
        let found: Vec<&str> = lines
            .filter(|line| line.starts_with("| "))
            .skip(1)
            .collect();
        let row = |(index, one): (usize, &Convention)| {
            let labels: Vec<String> = one.labels.iter().map(|key| format!("`{key}`")).collect();
            let (of, labels, order) = (one.of, labels.join(", "), one.order);
            format!("| {} | {of} | {labels} | {order} |", index + 1)
        };
        let wanted: Vec<String> = TABLE.iter().enumerate().map(row).collect();
        assert_eq!(found, wanted, "docs/placement.md is out of date");
    }
}
