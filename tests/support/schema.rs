//! Objects of Kubernetes in protobuf, by a table and an encoder that are not the program's.
//!
//! The table has the messages that the program reads, with the tags of the `generated.proto` files
//! of Kubernetes 1.37, and beside the fields that are read some that are not.

mod random_objects;

pub(crate) use random_objects::any_object;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A message a paragraph; a field a line: name, tag, type. A `*` is a pointer in Go, which is
/// absent when it is nil; all else is written even if it is empty. `inline` is a message whose
/// fields stand beside its siblings in JSON.
const TABLE: &str = "
ObjectMeta
  name 1 string
  generateName 2 string
  namespace 3 string
  uid 5 string
  resourceVersion 6 string
  generation 7 int64
  creationTimestamp 8 time
  deletionTimestamp 9 *time
  deletionGracePeriodSeconds 10 *int64
  labels 11 map string
  annotations 12 map string
  ownerReferences 13 [] OwnerReference
  finalizers 14 [] string
  managedFields 17 [] ManagedFieldsEntry

OwnerReference
  kind 1 string
  name 3 string
  uid 4 string
  apiVersion 5 string
  controller 6 *bool
  blockOwnerDeletion 7 *bool

ManagedFieldsEntry
  manager 1 string
  operation 2 string

Pod
  metadata 1 ObjectMeta
  spec 2 PodSpec
  status 3 PodStatus

PodSpec
  volumes 1 [] Volume
  containers 2 [] Container
  restartPolicy 3 string
  terminationGracePeriodSeconds 4 *int64
  activeDeadlineSeconds 5 *int64
  dnsPolicy 6 string
  nodeSelector 7 map string
  serviceAccountName 8 string
  nodeName 10 string
  hostNetwork 11 bool
  hostPID 12 bool
  affinity 18 *Affinity
  schedulerName 19 string
  initContainers 20 [] Container
  tolerations 22 [] Toleration
  priorityClassName 24 string
  priority 25 *int32
  preemptionPolicy 31 *string
  overhead 32 map Quantity
  topologySpreadConstraints 33 [] TopologySpreadConstraint
  schedulingGates 38 [] PodSchedulingGate
  ephemeralContainers 34 [] EphemeralContainer
  hostUsers 37 *bool
  resourceClaims 39 [] PodResourceClaim
  resources 40 *ResourceRequirements
  schedulingGroup 43 *PodSchedulingGroup

Volume
  name 1 string
  volumeSource 2 inline VolumeSource

VolumeSource
  hostPath 1 *HostPathVolumeSource
  emptyDir 2 *EmptyDirVolumeSource
  gcePersistentDisk 3 *GceDisk
  awsElasticBlockStore 4 *NamedDisk
  iscsi 8 *IscsiDisk
  persistentVolumeClaim 10 *ClaimSource
  rbd 11 *RbdDisk
  cinder 12 *NamedDisk
  azureDisk 22 *AzureDisk
  portworxVolume 24 *NamedDisk
  ephemeral 29 *EmptyDirVolumeSource
  image 30 *ImageVolumeSource

HostPathVolumeSource
  path 1 string

EmptyDirVolumeSource

GceDisk
  pdName 1 string
  fsType 2 string
  readOnly 4 bool

NamedDisk
  volumeID 1 string
  fsType 2 string

IscsiDisk
  targetPortal 1 string
  iqn 2 string
  readOnly 6 bool

RbdDisk
  monitors 1 [] string
  image 2 string
  pool 4 string
  readOnly 8 bool

AzureDisk
  diskName 1 string
  diskURI 2 string
  readOnly 5 *bool

ImageVolumeSource
  reference 1 string
  pullPolicy 2 string

ClaimSource
  claimName 1 string
  readOnly 2 bool

Container
  name 1 string
  image 2 string
  command 3 [] string
  ports 6 [] ContainerPort
  env 7 [] EnvVar
  resources 8 ResourceRequirements
  volumeMounts 9 [] VolumeMount
  restartPolicy 24 *string
  restartPolicyRules 25 [] ContainerRestartRule

EphemeralContainer
  common 1 inline EphemeralContainerCommon

EphemeralContainerCommon
  name 1 string
  volumeMounts 9 [] VolumeMount

VolumeMount
  name 1 string
  readOnly 2 bool
  mountPath 3 string
  bindMountOptions 8 [] string

ContainerRestartRule
  action 1 string

EnvVar
  name 1 string
  value 2 string

ContainerPort
  name 1 string
  hostPort 2 int32
  containerPort 3 int32
  protocol 4 string
  hostIP 5 string

ResourceRequirements
  limits 1 map Quantity
  requests 2 map Quantity

Quantity
  string 1 string

Affinity
  nodeAffinity 1 *NodeAffinity
  podAffinity 2 *PodAffinity
  podAntiAffinity 3 *PodAffinity

NodeAffinity
  requiredDuringSchedulingIgnoredDuringExecution 1 *NodeSelector
  preferredDuringSchedulingIgnoredDuringExecution 2 [] PreferredSchedulingTerm

PreferredSchedulingTerm
  weight 1 int32
  preference 2 NodeSelectorTerm

NodeSelector
  nodeSelectorTerms 1 [] NodeSelectorTerm

NodeSelectorTerm
  matchExpressions 1 [] NodeSelectorRequirement
  matchFields 2 [] NodeSelectorRequirement

NodeSelectorRequirement
  key 1 string
  operator 2 string
  values 3 [] string

PodAffinity
  requiredDuringSchedulingIgnoredDuringExecution 1 [] PodAffinityTerm

PodAffinityTerm
  labelSelector 1 *LabelSelector
  namespaces 2 [] string
  topologyKey 3 string
  namespaceSelector 4 *LabelSelector
  matchLabelKeys 5 [] string
  mismatchLabelKeys 6 [] string

Toleration
  key 1 string
  operator 2 string
  value 3 string
  effect 4 string
  tolerationSeconds 5 *int64

TopologySpreadConstraint
  maxSkew 1 int32
  topologyKey 2 string
  whenUnsatisfiable 3 string
  labelSelector 4 *LabelSelector
  minDomains 5 *int32
  nodeAffinityPolicy 6 *string
  nodeTaintsPolicy 7 *string
  matchLabelKeys 8 [] string

PodSchedulingGate
  name 1 string

PodResourceClaim
  name 1 string

PodSchedulingGroup
  podGroupName 1 *string

PodStatus
  phase 1 string
  conditions 2 [] PodCondition
  message 3 string
  hostIP 5 string
  startTime 7 *time
  containerStatuses 8 [] ContainerStatus
  qosClass 9 string
  initContainerStatuses 10 [] ContainerStatus
  nominatedNodeName 11 string
  allocatedResources 19 map Quantity
  resources 20 *ResourceRequirements

PodCondition
  type 1 string
  status 2 string
  lastTransitionTime 4 time
  reason 5 string
  message 6 string

ContainerStatus
  name 1 string
  ready 4 bool
  restartCount 5 int32
  image 6 string
  allocatedResources 10 map Quantity
  resources 11 *ResourceRequirements

Node
  metadata 1 ObjectMeta
  spec 2 NodeSpec
  status 3 NodeStatus

NodeSpec
  podCIDR 1 string
  providerID 3 string
  unschedulable 4 bool
  taints 5 [] Taint

Taint
  key 1 string
  value 2 string
  effect 3 string
  timeAdded 4 *time

NodeStatus
  capacity 1 map Quantity
  allocatable 2 map Quantity
  phase 3 string
  images 8 [] ContainerImage
  declaredFeatures 14 [] string

ContainerImage
  names 1 [] string
  sizeBytes 2 int64

Namespace
  metadata 1 ObjectMeta

PriorityClass
  metadata 1 ObjectMeta
  value 2 int32
  globalDefault 3 bool
  description 4 string
  preemptionPolicy 5 *string

Service
  metadata 1 ObjectMeta
  spec 2 ServiceSpec

ServiceSpec
  selector 2 map string
  clusterIP 3 string
  type 4 string

ReplicationController
  metadata 1 ObjectMeta
  spec 2 ReplicationControllerSpec

ReplicationControllerSpec
  replicas 1 *int32
  selector 2 map string
  minReadySeconds 4 int32

ReplicaSet
  metadata 1 ObjectMeta
  spec 2 ReplicaSetSpec

ReplicaSetSpec
  replicas 1 *int32
  selector 2 *LabelSelector
  minReadySeconds 4 int32

StatefulSet
  metadata 1 ObjectMeta
  spec 2 StatefulSetSpec

StatefulSetSpec
  replicas 1 *int32
  selector 2 *LabelSelector
  serviceName 5 string

PodDisruptionBudget
  metadata 1 ObjectMeta
  spec 2 PodDisruptionBudgetSpec
  status 3 PodDisruptionBudgetStatus

PodDisruptionBudgetSpec
  minAvailable 1 *IntOrString
  selector 2 *LabelSelector
  maxUnavailable 3 *IntOrString
  unhealthyPodEvictionPolicy 4 *string

LabelSelector
  matchLabels 1 map string
  matchExpressions 2 [] NodeSelectorRequirement

PodDisruptionBudgetStatus
  observedGeneration 1 int64
  disruptedPods 2 map time
  disruptionsAllowed 3 int32
  currentHealthy 4 int32
  desiredHealthy 5 int32
  expectedPods 6 int32

PersistentVolumeClaim
  metadata 1 ObjectMeta
  spec 2 PersistentVolumeClaimSpec
  status 3 PersistentVolumeClaimStatus

PersistentVolumeClaimSpec
  accessModes 1 [] string
  resources 2 ResourceRequirements
  volumeName 3 string
  selector 4 *LabelSelector
  storageClassName 5 *string
  volumeMode 6 *string
  volumeAttributesClassName 9 *string

PersistentVolumeClaimStatus
  phase 1 string
  accessModes 2 [] string
  capacity 3 map Quantity

PersistentVolume
  metadata 1 ObjectMeta
  spec 2 PersistentVolumeSpec
  status 3 PersistentVolumeStatus

PersistentVolumeSpec
  capacity 1 map Quantity
  persistentVolumeSource 2 inline PersistentVolumeSource
  accessModes 3 [] string
  claimRef 4 *ObjectReference
  persistentVolumeReclaimPolicy 5 string
  storageClassName 6 string
  mountOptions 7 [] string
  volumeMode 8 *string
  nodeAffinity 9 *VolumeNodeAffinity
  volumeAttributesClassName 10 *string

PersistentVolumeSource
  gcePersistentDisk 1 *GceDisk
  awsElasticBlockStore 2 *NamedDisk
  hostPath 3 *HostPathVolumeSource
  cinder 8 *NamedDisk
  azureDisk 16 *AzureDisk
  portworxVolume 18 *NamedDisk
  csi 22 *CsiVolume

CsiVolume
  driver 1 string
  volumeHandle 2 string
  readOnly 3 bool
  volumeAttributes 5 map string

VolumeNodeAffinity
  required 1 *NodeSelector

PersistentVolumeStatus
  phase 1 string
  message 2 string

StorageClass
  metadata 1 ObjectMeta
  provisioner 2 string
  parameters 3 map string
  reclaimPolicy 4 *string
  volumeBindingMode 7 *string
  allowedTopologies 8 [] TopologyTerm

TopologyTerm
  matchLabelExpressions 1 [] TopologyLabel

TopologyLabel
  key 1 string
  values 2 [] string

CSINode
  metadata 1 ObjectMeta
  spec 2 CSINodeSpec

CSINodeSpec
  drivers 1 [] CSINodeDriver

CSINodeDriver
  name 1 string
  nodeID 2 string
  topologyKeys 3 [] string
  allocatable 4 *VolumeLimits

VolumeLimits
  count 1 *int32

CSIDriver
  metadata 1 ObjectMeta
  spec 2 CSIDriverSpec

CSIDriverSpec
  attachRequired 1 *bool
  storageCapacity 4 *bool
  fsGroupPolicy 5 *string
  preventPodSchedulingIfMissing 11 *bool

CSIStorageCapacity
  metadata 1 ObjectMeta
  nodeTopology 2 *LabelSelector
  storageClassName 3 string
  capacity 4 *Quantity
  maximumVolumeSize 5 *Quantity

VolumeAttachment
  metadata 1 ObjectMeta
  spec 2 VolumeAttachmentSpec
  status 3 VolumeAttachmentStatus

VolumeAttachmentSpec
  attacher 1 string
  source 2 AttachedVolume
  nodeName 3 string

AttachedVolume
  persistentVolumeName 1 *string

VolumeAttachmentStatus
  attached 1 bool

PodGroup
  metadata 1 ObjectMeta
  spec 2 PodGroupSpec
  status 3 PodGroupStatus

PodGroupSpec
  schedulingPolicy 3 SchedulingPolicy
  schedulingConstraints 4 *SchedulingConstraints
  resourceClaims 5 [] PodResourceClaim
  disruptionMode 6 *DisruptionMode
  priorityClassName 7 string
  priority 8 *int32

DisruptionMode
  all 2 *EmptyDirVolumeSource

SchedulingPolicy
  basic 1 *EmptyDirVolumeSource
  gang 2 *GangSchedulingPolicy

GangSchedulingPolicy
  minCount 1 int32

SchedulingConstraints
  topology 1 [] TopologyConstraint

TopologyConstraint
  key 1 string

PodGroupStatus
  conditions 1 [] Condition

Condition
  type 1 string
  status 2 string
  observedGeneration 3 int64
  lastTransitionTime 4 time
  reason 5 string
  message 6 string

ListMeta
  resourceVersion 2 string
  continue 3 string

PodList
  metadata 1 ListMeta
  items 2 [] Pod

PodGroupList
  metadata 1 ListMeta
  items 2 [] PodGroup

Binding
  metadata 1 ObjectMeta
  target 2 ObjectReference

ObjectReference
  kind 1 string
  namespace 2 string
  name 3 string
  uid 4 string
  apiVersion 5 string

Status
  status 2 string
  message 3 string
  reason 4 string
  code 6 int32
";

static MESSAGES: LazyLock<BTreeMap<&str, Vec<Field>>> = LazyLock::new(|| {
    let paragraphs = TABLE.split("\n\n").map(str::trim);
    paragraphs
        .map(|paragraph| {
            let mut lines = paragraph.lines();
            let name = lines.next().unwrap();
            (name, lines.map(Field::read).collect())
        })
        .collect()
});

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    One,
    Pointer,
    Inline,
    List,
    Map,
}

#[derive(Clone, Copy, Debug)]
struct Field {
    name: &'static str,
    tag: u64,
    shape: Shape,
    kind: &'static str,
}

impl Field {
    fn read(line: &'static str) -> Self {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (shape, kind) = match words[2..] {
            ["[]", kind] => (Shape::List, kind),
            ["map", kind] => (Shape::Map, kind),
            ["inline", kind] => (Shape::Inline, kind),
            [kind] => match kind.strip_prefix('*') {
                Some(kind) => (Shape::Pointer, kind),
                None => (Shape::One, kind),
            },
            _ => panic!("{line}"),
        };
        Self {
            name: words[0],
            tag: words[1].parse().unwrap(),
            shape,
            kind,
        }
    }
}

/// How an encoder may write what means the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    /// Values that are empty are written too, as Go does.
    pub(crate) zeros: bool,
    /// Fields that no reader knows stand between the others.
    pub(crate) noise: bool,
}

/// As little as may be written.
pub(crate) const SPARSE: Style = Style {
    zeros: false,
    noise: false,
};

/// As Kubernetes writes.
pub(crate) const GO: Style = Style {
    zeros: true,
    noise: false,
};

// ---- encoding -----------------------------------------------------------------------------------

/// A message from what it is in JSON.
pub(crate) fn encode(message: &str, value: &Value, style: Style) -> Vec<u8> {
    let fields = MESSAGES.get(message).unwrap_or_else(|| panic!("{message}"));
    let mut out = Vec::new();
    for field in fields {
        if style.noise {
            noise(&mut out);
        }
        let value = if field.shape == Shape::Inline {
            value
        } else {
            &value[field.name]
        };
        put(&mut out, *field, value, style);
    }
    out
}

/// An object with the envelope around it.
pub(crate) fn envelope(message: &str, value: &Value, style: Style) -> Vec<u8> {
    let mut names = Vec::new();
    put_bytes(
        &mut names,
        1,
        value["apiVersion"].as_str().unwrap_or("v1").as_bytes(),
    );
    put_bytes(&mut names, 2, message.as_bytes());
    let mut unknown = Vec::new();
    put_bytes(&mut unknown, 1, &names);
    put_bytes(&mut unknown, 2, &encode(message, value, style));
    if style.zeros {
        put_bytes(&mut unknown, 3, b"");
        put_bytes(&mut unknown, 4, b"");
    }
    [b"k8s\0".as_slice(), &unknown].concat()
}

/// A watch event about a message, with its length before it.
pub(crate) fn frame(message: &str, event: &Value) -> Vec<u8> {
    let kind = event["type"].as_str().unwrap();
    let message = if kind == "ERROR" { "Status" } else { message };
    let mut object = Vec::new();
    put_bytes(&mut object, 1, &envelope(message, &event["object"], GO));
    let mut out = Vec::new();
    put_bytes(&mut out, 1, kind.as_bytes());
    put_bytes(&mut out, 2, &object);
    let length = u32::try_from(out.len()).unwrap();
    [length.to_be_bytes().as_slice(), &out].concat()
}

fn put(out: &mut Vec<u8>, field: Field, value: &Value, style: Style) {
    match field.shape {
        Shape::List => {
            for item in value.as_array().into_iter().flatten() {
                put_one(out, field, item, style);
            }
        }
        Shape::Map => {
            for (key, item) in value.as_object().into_iter().flatten() {
                let mut entry = Vec::new();
                put_bytes(&mut entry, 1, key.as_bytes());
                let item_field = Field {
                    tag: 2,
                    shape: Shape::One,
                    ..field
                };
                put_one(&mut entry, item_field, item, style);
                put_bytes(out, field.tag, &entry);
            }
        }
        _ if value.is_null() && (field.shape == Shape::Pointer || !style.zeros) => {}
        _ => put_one(out, field, value, style),
    }
}

fn put_one(out: &mut Vec<u8>, field: Field, value: &Value, style: Style) {
    match field.kind {
        "string" => put_bytes(out, field.tag, value.as_str().unwrap_or("").as_bytes()),
        "int32" | "int64" => put_varint(out, field.tag, value.as_i64().unwrap_or(0)),
        "bool" => put_varint(out, field.tag, i64::from(value == &json!(true))),
        "time" => put_bytes(out, field.tag, &time(value)),
        "Quantity" => {
            let text = json!({"string": value});
            put_bytes(out, field.tag, &encode("Quantity", &text, style));
        }
        "IntOrString" => {
            let mut either = Vec::new();
            put_varint(&mut either, 1, i64::from(value.is_string()));
            put_varint(&mut either, 2, value.as_i64().unwrap_or(0));
            put_bytes(&mut either, 3, value.as_str().unwrap_or("").as_bytes());
            put_bytes(out, field.tag, &either);
        }
        message => put_bytes(out, field.tag, &encode(message, value, style)),
    }
}

fn time(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    if let Some(text) = value.as_str() {
        let at: jiff::Timestamp = text.parse().unwrap();
        put_varint(&mut out, 1, at.as_second());
        put_varint(&mut out, 2, 0);
    }
    out
}

/// One field of each wire type, with tags that no message has.
fn noise(out: &mut Vec<u8>) {
    put_varint(out, 1_000, -1);
    key(out, 1_001, 1);
    out.extend([7; 8]);
    put_bytes(out, 1_002, b"k8s\0");
    key(out, 1_003, 5);
    out.extend([7; 4]);
}

fn put_bytes(out: &mut Vec<u8>, tag: u64, bytes: &[u8]) {
    key(out, tag, 2);
    varint(out, bytes.len() as u64);
    out.extend(bytes);
}

fn put_varint(out: &mut Vec<u8>, tag: u64, value: i64) {
    key(out, tag, 0);
    varint(out, value.cast_unsigned());
}

fn key(out: &mut Vec<u8>, tag: u64, wire_type: u64) {
    varint(out, tag << 3 | wire_type);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
