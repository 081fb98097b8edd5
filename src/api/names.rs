//! Labels and annotations of ours, and how they and owners are looked up.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

/// Label: a pod's gang.
pub const POD_GROUP: &str = "muster.dev/pod-group";

/// Label: a pod's subgroup.
pub const SUBGROUP: &str = "muster.dev/subgroup";

/// Annotation: how many pods of a gang without a PodGroup must run.
pub const MIN_AVAILABLE: &str = "muster.dev/min-available";

/// Annotation: a pod's SchedulingSpec.
pub const SCHEDULING_SPEC: &str = "muster.dev/scheduling-spec";

/// The group of our own kinds.
pub const GROUP: &str = "muster.dev";

/// Label of a pod without a gang and of an upstream PodGroup, annotation of a namespace: a queue.
pub const QUEUE: &str = "muster.dev/queue";

/// Label of a PodGroup of others or of a namespace: the scheduler that it is for before it has pods.
pub const SCHEDULER_NAME: &str = "muster.dev/scheduler-name";

/// Annotation: lifetime of a pod without a gang.
pub const LIFETIME: &str = "muster.dev/lifetime";

/// Label of a pod: the Testbed of which it claims a slot.
pub const TESTBED: &str = "muster.dev/testbed";

/// Label of a pod: the numbers of the slots that it may have, such as `0_3_4`.
pub const SLOTS: &str = "muster.dev/slots";

/// Annotation of a pod, which comes with its binding: the slot that it got. For people.
pub const SLOT: &str = "muster.dev/slot";

/// Label of a ghost: its Testbed. For people.
pub const GHOST_OF: &str = "muster.dev/ghost-of";

/// Label of a pod of a QueueJob: the QueueJob. For people.
pub const QUEUE_JOB: &str = "muster.dev/queue-job";

/// Label of a pod of a QueueJob: its task. For people.
pub const QUEUE_JOB_TASK: &str = "muster.dev/task";

/// Label of a pod of a QueueJob: the hash of the template that it was made of.
pub const TEMPLATE_HASH: &str = "muster.dev/template-hash";

/// Label of a pod of a QueueJob: how often all was made anew before it was made.
pub const RESTART: &str = "muster.dev/restart";

/// Annotation of kube-batch and of Volcano: a pod's PodGroup.
pub const GROUP_NAME: &str = "scheduling.k8s.io/group-name";

/// Annotation of Volcano's controllers: a pod's PodGroup.
pub const VOLCANO_GROUP_NAME: &str = "scheduling.volcano.sh/group-name";

/// Annotation of Volcano: a pod's task.
pub const TASK: &str = "volcano.sh/task-spec";

/// Annotation of Kueue: how many pods a pod's group has in all.
pub const TOTAL_COUNT: &str = "kueue.x-k8s.io/pod-group-total-count";

/// Annotation of Kueue: with the value `true` a group's pods come as those before have begun.
pub const FAST_ADMISSION: &str = "kueue.x-k8s.io/pod-group-fast-admission";

/// Annotation of YuniKorn: the task group that a pod belongs to.
pub const TASK_GROUP: &str = "yunikorn.apache.org/task-group-name";

/// Annotation of YuniKorn: all task groups of a pod's application, as a list in JSON.
pub const TASK_GROUPS: &str = "yunikorn.apache.org/task-groups";

/// Annotation or label of YuniKorn: a pod's application.
pub const APPLICATION: &str = "yunikorn.apache.org/app-id";

/// Annotation or label of YuniKorn: the path of an application's queue.
pub const APPLICATION_QUEUE: &str = "yunikorn.apache.org/queue";

/// Annotation of KAI: a pod's PodGroup.
pub const KAI_POD_GROUP: &str = "pod-group-name";

/// Annotation of Kueue: the level of which all pods of a podset have to be in one domain.
pub const PODSET_REQUIRED: &str = "kueue.x-k8s.io/podset-required-topology";

/// Annotation of Kueue: the same if there is such a place.
pub const PODSET_PREFERRED: &str = "kueue.x-k8s.io/podset-preferred-topology";

/// Annotation of Kueue: podsets with one value are one.
pub const PODSET_GROUP: &str = "kueue.x-k8s.io/podset-group-name";

/// Label of KAI: a pod's queue.
pub const KAI_QUEUE: &str = "kai.scheduler/queue";

/// Annotation of KAI: the Topology that the two below are about.
pub const KAI_TOPOLOGY: &str = "kai.scheduler/topology";

/// Annotation of KAI: the level of which all pods have to be in one domain.
pub const KAI_REQUIRED: &str = "kai.scheduler/topology-required-placement";

/// Annotation of KAI: the same if there is such a place.
pub const KAI_PREFERRED: &str = "kai.scheduler/topology-preferred-placement";

/// The annotations of others by which pods say of which gang they are, and what that wishes.
pub(super) const OF_GANGS: [&str; 16] = [
    GROUP_NAME,
    VOLCANO_GROUP_NAME,
    TASK,
    TOTAL_COUNT,
    FAST_ADMISSION,
    TASK_GROUP,
    TASK_GROUPS,
    APPLICATION,
    APPLICATION_QUEUE,
    KAI_POD_GROUP,
    PODSET_REQUIRED,
    PODSET_PREFERRED,
    PODSET_GROUP,
    KAI_TOPOLOGY,
    KAI_REQUIRED,
    KAI_PREFERRED,
];

/// Annotation of Kubernetes: a claim is bound, and both sides know.
pub const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";

/// Annotation of Kubernetes: a claim's volume is to be made for this node.
pub const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// Annotation of Kubernetes, of old: a claim's or a volume's class.
pub const BETA_STORAGE_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// Annotation of Kubernetes: the plugins for which CSI drivers stand in on a node.
pub const MIGRATED_PLUGINS: &str = "storage.alpha.kubernetes.io/migrated-plugins";

/// The condition of a pod that somebody has go.
pub const DISRUPTION_TARGET: &str = "DisruptionTarget";

/// Its reason, where a scheduler wants the room for somebody else.
pub const PREEMPTION: &str = "PreemptionByScheduler";

/// The value of a label.
pub(super) fn label<'a>(meta: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    Some(meta.labels.as_ref()?.get(key)?.as_str())
}

/// The value of an annotation.
pub(super) fn annotation<'a>(meta: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    Some(meta.annotations.as_ref()?.get(key)?.as_str())
}

/// The value of a label that has one: an empty one says nothing.
pub(super) fn filled_label<'a>(meta: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    label(meta, key).filter(|value| !value.is_empty())
}

/// The value of an annotation that has one.
pub(super) fn filled_annotation<'a>(meta: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    annotation(meta, key).filter(|value| !value.is_empty())
}

/// Who controls an object.
pub(super) fn controller(meta: &ObjectMeta) -> Option<&OwnerReference> {
    let mut owners = meta.owner_references.iter().flatten();
    owners.find(|owner| owner.controller == Some(true))
}
