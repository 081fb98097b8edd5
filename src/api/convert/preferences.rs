//! What scores look at of a pod: read where the pod's profile scores by it, or any does.

use super::Reading;
use super::spread;
use super::term::term;
use super::unsupported::Unsupported;
use crate::{requests, slim};
use muster_model::{Preferences, Preferred, ProfileId};

/// What scores look at of a pod of this profile; `None`: it is somebody else's.
pub(super) fn of(pod: &slim::Pod, profile: Option<ProfileId>, reading: &Reading) -> Preferences {
    let own = profile
        .map(|profile| reading.of(profile))
        .unwrap_or_default();
    Preferences {
        nodes: if own.node_terms {
            node_terms(pod)
        } else {
            Vec::new()
        },
        images: if own.images { images(pod) } else { Vec::new() },
        // On its node it counts for pods of every profile.
        unsaid: if reading.any().unsaid {
            requests::unsaid(pod)
        } else {
            [0, 0]
        },
        spread: match own.spread {
            true => spread::preferred(pod),
            false => Vec::new(),
        },
    }
}

/// The preferred terms of node affinity. One that cannot be read is no reason to wait.
fn node_terms(pod: &slim::Pod) -> Vec<Preferred> {
    let affinity = pod.spec.affinity.node_affinity.iter();
    let terms = affinity.flat_map(|one| &one.preferred);
    let term = |one: &slim::PreferredTerm| {
        let mut notes = Unsupported::default();
        let term = term("", &one.preference, &mut notes);
        let read = notes.paths.is_empty() && one.weight != 0;
        read.then_some(Preferred {
            weight: one.weight,
            term,
        })
    };
    terms.filter_map(term).collect()
}

/// The images of all containers, and those that are volumes, sorted: each as often as it is named.
fn images(pod: &slim::Pod) -> Vec<String> {
    let spec = &pod.spec;
    let containers = spec.init_containers.iter().chain(&spec.containers);
    let volumes = spec.volumes.iter();
    let volumes = volumes.filter_map(|one| one.source.image.as_ref());
    let names = containers.map(|one| one.image.as_str());
    let names = names.chain(volumes.map(|one| one.reference.as_str()));
    let mut names: Vec<String> = names.map(tagged).collect();
    names.sort_unstable();
    names
}

/// An image's name as nodes have it: without a tag it is the latest.
fn tagged(name: &str) -> String {
    match (name.rfind(':'), name.rfind('/')) {
        (Some(tag), path) if path.is_none_or(|path| tag > path) => name.to_owned(),
        _ => format!("{name}:latest"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::Reads;
    use serde_json::json;

    fn pod() -> slim::Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "p"},
            "spec": {
                "containers": [
                    {"name": "a", "image": "reg:5000/x"},
                    {"name": "b", "image": "y:1", "resources": {"requests": {"cpu": "1"}}},
                ],
                "initContainers": [{"name": "i", "image": "y:1"}],
                "volumes": [{"name": "v", "image": {"reference": "data@sha256:1"}}],
                "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 5, "preference": {"matchExpressions": [{"key": "z", "operator": "Exists"}]}},
                    {"weight": 5, "preference": {"matchExpressions": [{"key": "z", "operator": "Odd"}]}},
                ]}},
            },
        }))
        .unwrap()
    }

    #[test]
    fn what_no_profile_scores_by_is_not_read() {
        let found = of(&pod(), Some(ProfileId(0)), &Reading::default());
        assert_eq!(found, Preferences::default());
    }

    #[test]
    fn what_a_profile_scores_by_is_read_of_its_pods_and_what_counts_on_nodes_of_all() {
        let all = Reads {
            node_terms: true,
            images: true,
            unsaid: true,
            spread: true,
            pod_terms: true,
            selectors: true,
        };
        let reading = Reading {
            reads: vec![Reads::default(), all],
            ..Reading::default()
        };
        let found = of(&pod(), Some(ProfileId(1)), &reading);
        assert_eq!(found.nodes.len(), 1, "what cannot be read is left out");
        assert_eq!(found.nodes[0].weight, 5);
        assert_eq!(
            found.images,
            ["data@sha256:1", "reg:5000/x:latest", "y:1", "y:1"]
        );
        // Container a says neither, b no memory; the init container less than both together.
        assert_eq!(found.unsaid, [100, 400 << 20]);
        for other in [Some(ProfileId(0)), None] {
            let found = of(&pod(), other, &reading);
            assert_eq!((found.nodes.len(), found.images.len()), (0, 0));
            assert_eq!(found.unsaid, [100, 400 << 20]);
        }
    }
}
