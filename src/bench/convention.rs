//! How pods say that they belong together, as each of the field's schedulers reads it.

use serde_json::{Value, json};

/// A way to make a gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Convention {
    /// Pods of a gang say nothing: every pod is on its own.
    None,
    /// PodGroup of muster.dev/v1alpha1 and label muster.dev/pod-group.
    Muster,
    /// PodGroup of scheduling.volcano.sh/v1beta1 and annotation scheduling.k8s.io/group-name.
    Volcano,
    /// PodGroup of scheduling.k8s.io/v1beta1 and field spec.schedulingGroup (Kubernetes 1.37).
    Upstream,
}

impl Convention {
    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Muster => "muster",
            Self::Volcano => "volcano",
            Self::Upstream => "upstream",
        }
    }

    /// Group and version of its PodGroup.
    #[must_use]
    pub const fn api_version(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Muster => Some("muster.dev/v1alpha1"),
            Self::Volcano => Some("scheduling.volcano.sh/v1beta1"),
            Self::Upstream => Some("scheduling.k8s.io/v1beta1"),
        }
    }

    /// The `spec` of a PodGroup of which `size` pods must run.
    #[must_use]
    pub fn spec(self, size: usize) -> Value {
        match self {
            Self::None => json!({}),
            Self::Muster => json!({"minAvailable": size}),
            Self::Volcano => json!({"minMember": size}),
            Self::Upstream => json!({"schedulingPolicy": {"gang": {"minCount": size}}}),
        }
    }

    /// Marks a pod as a member of a gang.
    pub fn mark(self, pod: &mut Value, gang: &str) {
        match self {
            Self::None => {}
            Self::Muster => pod["metadata"]["labels"]["muster.dev/pod-group"] = json!(gang),
            Self::Volcano => {
                pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] = json!(gang);
            }
            Self::Upstream => pod["spec"]["schedulingGroup"] = json!({"podGroupName": gang}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_api::conventions::gang_of;
    use muster_model::{GangRef, GangSpace};

    #[test]
    fn muster_reads_every_mark_as_the_gang_it_names() {
        let mark = |convention: Convention| {
            let mut pod = json!({"metadata": {"name": "p"}, "spec": {"containers": []}});
            convention.mark(&mut pod, "g");
            gang_of(&serde_json::from_value(pod).unwrap())
        };
        let named = |space| GangRef::Named {
            space,
            name: "g".to_owned(),
        };
        assert_eq!(mark(Convention::None), GangRef::Own);
        assert_eq!(mark(Convention::Muster), named(GangSpace::Named));
        assert_eq!(mark(Convention::Volcano), named(GangSpace::Named));
        assert_eq!(mark(Convention::Upstream), named(GangSpace::Upstream));
    }
}
