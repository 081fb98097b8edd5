//! What the pods of a gang that no PodGroup defines say of how close together they have to be, in Kueue's words and in
//! KAI's.
//!
//! Kueue means the pods of one podset by it, those of one template. Whom Kueue has let through has its answer in its node
//! selector: of such a pod the wish is not read.

use crate::names;
use crate::slim::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use muster_model::{ANY_OF_KUEUE, TopologyWish};

/// Labels whose values tell the podsets of a workload apart.
const PODSETS: [&str; 4] = [
    "jobset.sigs.k8s.io/replicatedjob-name",
    "ray.io/group",
    "training.kubeflow.org/replica-type",
    "spark-role",
];

/// Labels that Kueue puts on the pods it has to do with.
const OF_KUEUE: [&str; 2] = ["kueue.x-k8s.io/podset", "kueue.x-k8s.io/managed"];

/// How close the pods of a pod's podset have to be.
#[must_use]
pub(super) fn wish(pod: &Pod) -> Option<TopologyWish> {
    of_kai(&pod.metadata).or_else(|| of_kueue(&pod.metadata))
}

/// The podset that a pod is in; `None` where all of its gang are one.
#[must_use]
pub fn podset(pod: &Pod) -> Option<&str> {
    let meta = &pod.metadata;
    let group = names::filled_annotation(meta, names::PODSET_GROUP);
    group.or_else(|| {
        PODSETS
            .iter()
            .find_map(|key| names::filled_label(meta, key))
    })
}

fn of_kai(meta: &ObjectMeta) -> Option<TopologyWish> {
    let topology = names::filled_annotation(meta, names::KAI_TOPOLOGY)?;
    let levels = [names::KAI_REQUIRED, names::KAI_PREFERRED];
    Some(of_levels(meta, format!("kai:{topology}"), levels))
}

fn of_kueue(meta: &ObjectMeta) -> Option<TopologyWish> {
    let is_kueues = |key: &&str| names::label(meta, key).is_some();
    let levels = [names::PODSET_REQUIRED, names::PODSET_PREFERRED];
    let wish = of_levels(meta, ANY_OF_KUEUE.to_owned(), levels);
    let wishes = wish.required_level.is_some() || wish.preferred_level.is_some();
    (wishes && !OF_KUEUE.iter().any(is_kueues)).then_some(wish)
}

/// What is wished of a topology by the annotations for the level that is required and for the one that is preferred.
fn of_levels(meta: &ObjectMeta, topology: String, annotations: [&str; 2]) -> TopologyWish {
    let [required_level, preferred_level] =
        annotations.map(|key| names::filled_annotation(meta, key).map(str::to_owned));
    TopologyWish {
        name: Some(topology),
        required_level,
        preferred_level,
        ..TopologyWish::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(labels: &Value, annotations: &Value) -> Pod {
        let meta = json!({"labels": labels, "annotations": annotations});
        serde_json::from_value(json!({"metadata": meta})).unwrap()
    }

    fn words(labels: &Value, annotations: &Value) -> Option<String> {
        let wish = wish(&read(labels, annotations))?;
        let TopologyWish {
            name,
            required_level,
            preferred_level,
            ..
        } = wish;
        let text = |part: Option<String>| part.unwrap_or_else(|| "-".to_owned());
        Some(format!(
            "{} {} {}",
            text(name),
            text(required_level),
            text(preferred_level)
        ))
    }

    #[test]
    fn kueues_words_name_a_level_and_kais_a_topology_too() {
        let none = json!({});
        let kueue = |key: &str| json!({format!("kueue.x-k8s.io/podset-{key}"): "rack"});
        let required = kueue("required-topology");
        assert_eq!(words(&none, &required).as_deref(), Some("kueue: rack -"));
        let preferred = kueue("preferred-topology");
        assert_eq!(words(&none, &preferred).as_deref(), Some("kueue: - rack"));
        for nothing in [
            json!({}),
            kueue("unconstrained-topology"),
            json!({"kueue.x-k8s.io/podset-required-topology": ""}),
        ] {
            assert_eq!(words(&none, &nothing), None);
        }
        let mut kai = json!({
            "kai.scheduler/topology": "net",
            "kai.scheduler/topology-required-placement": "zone",
            "kai.scheduler/topology-preferred-placement": "rack",
        });
        assert_eq!(words(&none, &kai).as_deref(), Some("kai:net zone rack"));
        kai["kai.scheduler/topology"] = json!("");
        assert_eq!(words(&none, &kai), None, "it names none");
    }

    #[test]
    fn whom_kueue_has_let_through_has_its_selector() {
        let wish = json!({"kueue.x-k8s.io/podset-required-topology": "rack"});
        for label in OF_KUEUE {
            assert_eq!(words(&json!({label: "true"}), &wish), None, "{label}");
        }
    }

    #[test]
    fn podsets_are_told_apart_by_labels_unless_they_are_one_group() {
        let labels = json!({"spark-role": "driver", "ray.io/group": "a"});
        assert_eq!(podset(&read(&labels, &json!({}))), Some("a"));
        let group = json!({"kueue.x-k8s.io/podset-group-name": "g"});
        assert_eq!(podset(&read(&labels, &group)), Some("g"));
        assert_eq!(
            podset(&read(&json!({"ray.io/group": ""}), &json!({}))),
            None
        );
    }
}
