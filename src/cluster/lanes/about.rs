//! What is written about: an object, as events refer to it.

use muster_model::{GangStatus, PodKey, Source};

/// What an event is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct About {
    pub(super) api_version: &'static str,
    pub(super) kind: &'static str,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: String,
}

impl From<&PodKey> for About {
    fn from(pod: &PodKey) -> Self {
        Self {
            api_version: "v1",
            kind: "Pod",
            namespace: pod.namespace.clone(),
            name: pod.name.clone(),
            uid: pod.uid.clone(),
        }
    }
}

impl From<&GangStatus> for About {
    fn from(status: &GangStatus) -> Self {
        Self {
            api_version: api_version(status.source),
            kind: match status.source {
                Source::SchedulingSpec => "SchedulingSpec",
                _ => "PodGroup",
            },
            namespace: status.gang.namespace.clone(),
            name: status.gang.name.clone(),
            uid: status.uid.clone(),
        }
    }
}

/// By what a kind of objects that define gangs is found under its group.
pub(super) const fn plural(source: Source) -> &'static str {
    match source {
        Source::SchedulingSpec => "schedulingspecs",
        _ => "podgroups",
    }
}

/// The group and version in which a kind of PodGroups is written. Of a gang that its pods define nothing is.
pub(super) const fn api_version(source: Source) -> &'static str {
    match source {
        Source::Muster | Source::SchedulingSpec | Source::Implied => "muster.dev/v1alpha1",
        Source::Volcano => "scheduling.volcano.sh/v1beta1",
        Source::Upstream => "scheduling.k8s.io/v1beta1",
        Source::Coscheduling => "scheduling.x-k8s.io/v1alpha1",
    }
}
