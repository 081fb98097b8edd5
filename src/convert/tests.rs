//! What becomes of objects of other schedulers, and what is said of those that become nothing.

use super::*;
use muster_api::crd;

fn of(text: &str) -> Converted {
    let found = convert(text).unwrap();
    for object in found.objects.iter().filter(|one| one["kind"] == "Queue") {
        let read: Result<crd::Queue, _> = serde_json::from_value(object.clone());
        assert!(read.is_ok(), "{object}: {read:?}");
    }
    found
}

fn spec<'a>(found: &'a Converted, name: &str) -> &'a Value {
    let mut objects = found.objects.iter();
    let of_name = |one: &&Value| one["metadata"]["name"] == name;
    &objects.find(of_name).unwrap()["spec"]
}

#[test]
fn a_queue_of_volcanos_keeps_what_there_is_something_for() {
    let found = of(r#"
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: a}
spec:
  weight: 4
  priority: 2
  parent: root
  reclaimable: false
  capability: {cpu: 8, nvidia.com/gpu: "2", deviceclass/gpu: "1"}
  guarantee: {resource: {cpu: 2}}
  deserved: {cpu: 4}
status: {state: Closed}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: root}
"#);
    let wanted = json!({
        "weight": 4, "priority": 2, "limit": {"cpu": 8, "nvidia.com/gpu": "2"},
        "guaranteed": {"cpu": 2}, "state": "Closed",
    });
    assert_eq!(spec(&found, "a"), &wanted);
    assert_eq!(found.objects.len(), 1);
    let begins = [
        "Queue a: spec.capability.deviceclass/gpu: ",
        "Queue a: spec.deserved: ",
        "Queue a: spec.reclaimable: ",
        "Queue root: ",
    ];
    let notes: Vec<&String> = found.notes.iter().collect();
    assert_eq!(notes.len(), begins.len(), "{notes:#?}");
    for (note, begin) in notes.iter().zip(begins) {
        assert!(note.starts_with(begin), "{note}");
    }
}

#[test]
fn a_job_of_volcanos_becomes_a_podgroup_and_a_job_for_each_task() {
    let found = of(r#"
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train, namespace: team}
spec:
  minAvailable: 3
  queue: q
  maxRetry: 2
  plugins: {svc: []}
  tasks:
  - name: ps
    replicas: 1
    template: {spec: {restartPolicy: OnFailure, containers: [{name: c, image: i}]}}
  - name: worker
    replicas: 4
    minAvailable: 2
    dependsOn: {name: [ps]}
    template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}
"#);
    let wanted = json!({
        "minAvailable": 3, "queue": "q",
        "subgroups": [{"name": "ps", "min": 1}, {"name": "worker", "min": 2}],
    });
    assert_eq!(spec(&found, "train"), &wanted);
    let worker = spec(&found, "train-worker");
    assert_eq!(
        (
            &worker["parallelism"],
            &worker["completions"],
            &worker["backoffLimit"]
        ),
        (&json!(4), &json!(4), &json!(2))
    );
    let labels = json!({
        "a": "b", "muster.dev/pod-group": "train", "muster.dev/subgroup": "worker",
    });
    assert_eq!(worker["template"]["metadata"]["labels"], labels);
    assert_eq!(worker["template"]["spec"]["schedulerName"], "muster");
    assert_eq!(found.objects[1]["metadata"]["namespace"], "team");
    let notes = [
        "Job team/train: spec.plugins: ",
        "Job team/train: spec.tasks[worker].dependsOn: ",
    ];
    for (note, begin) in found.notes.iter().zip(notes) {
        assert!(note.starts_with(begin), "{note}");
    }
}

#[test]
fn minima_of_tasks_that_want_more_than_the_whole_do_not_count() {
    let found = of(r#"
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: j}
spec: {minAvailable: 1, tasks: [{replicas: 2}, {replicas: 2}]}
"#);
    let subgroups = json!([{"name": "default0", "min": 0}, {"name": "default1", "min": 0}]);
    assert_eq!(spec(&found, "j")["subgroups"], subgroups);
}

#[test]
fn the_configuration_of_volcanos_scheduler_is_named_part_by_part() {
    let found = of(r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: volcano-scheduler-configmap}
data:
  volcano-scheduler.conf: |
    actions: "enqueue, allocate, shuffle"
    tiers:
    - plugins: [{name: gang}, {name: drf}, {name: tdm}]
"#);
    assert_eq!(
        found.objects[0]["schedulerNames"],
        json!(["muster", "volcano"])
    );
    let begins = ["shuffle: ", "drf: ", "tdm: there is nothing for it"];
    for (note, begin) in found.notes.iter().zip(begins) {
        let begin = format!("volcano-scheduler.conf: {begin}");
        assert!(note.starts_with(&begin), "{note}");
    }
    assert_eq!(found.notes.len(), 3);
}

#[test]
fn queues_of_yunikorns_are_called_by_their_paths() {
    let found = of(r#"
partitions:
- name: default
  placementrules: [{name: tag}]
  queues:
  - name: root
    submitacl: "*"
    queues:
    - name: team
      resources: {max: {vcore: 10, memory: 20Gi}}
      queues:
      - name: spark
        properties: {application.sort.policy: fifo, preemption.delay: 10s}
        resources: {guaranteed: {vcore: 500m}}
- name: other
"#);
    assert_eq!(
        spec(&found, "team"),
        &json!({"limit": {"cpu": 10, "memory": "20Gi"}})
    );
    let wanted = json!({"parent": "team", "order": "FIFO", "guaranteed": {"cpu": "500m"}});
    assert_eq!(spec(&found, "team.spark"), &wanted);
    let subjects = [
        "partition default: placementrules",
        "queue root: submitacl",
        "queue team.spark: properties.preemption.delay",
        "partition other: is not converted",
    ];
    let mut notes = found.notes;
    notes.sort();
    let mut wanted = subjects.to_vec();
    wanted.sort_unstable();
    assert_eq!(notes.len(), wanted.len(), "{notes:#?}");
    for (note, begin) in notes.iter().zip(wanted) {
        assert!(note.starts_with(begin), "{note}");
    }
}

#[test]
fn a_cluster_queue_of_kueues_has_a_share_that_is_its_quota() {
    let found = of(r#"
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: a}
spec:
  cohortName: science
  queueingStrategy: StrictFIFO
  namespaceSelector: {matchLabels: {team: a}}
  preemption: {reclaimWithinCohort: Any}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: spot
      resources:
      - {name: cpu, nominalQuota: 9, borrowingLimit: 1, lendingLimit: 4}
      - {name: memory, nominalQuota: 36Gi}
    - name: reserved
      resources: [{name: cpu, nominalQuota: 500m, borrowingLimit: 0}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: l, namespace: team}
spec: {clusterQueue: a}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 1000
"#);
    let wanted = json!({
        "parent": "science", "order": "FIFO", "reservation": "strict", "weight": 9,
        "namespaceSelector": {"matchLabels": {"team": "a"}},
        "limit": {"cpu": "10500m"}, "guaranteed": {"cpu": "5"},
    });
    assert_eq!(spec(&found, "a"), &wanted);
    assert_eq!(spec(&found, "science"), &json!({}));
    assert_eq!(found.objects[2]["kind"], "PriorityClass");
    let begins = [
        "ClusterQueue a: spec.preemption: ",
        "ClusterQueue a: the quotas of its flavours are added up: spot, reserved",
        "LocalQueue team/l: is not converted: its pods get the label muster.dev/queue=a",
    ];
    for (note, begin) in found.notes.iter().zip(begins) {
        assert!(note.starts_with(begin), "{note}");
    }
    assert_eq!(found.notes.len(), 3, "{:#?}", found.notes);
}

#[test]
fn a_cluster_queue_without_a_cohort_has_no_more_than_its_quota() {
    let found = of(r#"
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: a}
spec:
  stopPolicy: Hold
  fairSharing: {weight: "1.5"}
  resourceGroups:
  - flavors: [{name: f, resources: [{name: cpu, nominalQuota: "4"}, {name: gpu, nominalQuota: x}]}]
"#);
    let wanted = json!({"state": "Closed", "weight": 1, "limit": {"cpu": "4"}});
    assert_eq!(spec(&found, "a"), &wanted);
    assert_eq!(found.notes.len(), 3, "{:#?}", found.notes);
}

#[test]
fn what_is_read_as_it_is_and_what_nobody_knows_is_said() {
    let found = of(r#"
apiVersion: v1
kind: List
items:
- {apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: g, namespace: n}}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: d}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}}
"#);
    assert!(found.objects.is_empty());
    assert_eq!(
        found.notes,
        [
            "PodGroup n/g: is read as it is",
            "Deployment d: is not converted",
            "ConfigMap c: is not converted: it has neither queues.yaml nor a file *.conf",
        ]
    );
}

#[test]
fn what_cannot_be_read_is_placed() {
    let wrong = convert("kind: A\n---\nkind: [1\n").unwrap_err();
    assert!((3..=4).contains(&wrong.line), "{wrong}");
}
