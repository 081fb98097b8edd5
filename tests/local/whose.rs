//! Who is not ours changes nothing but the room that is used: random worlds, each with PodGroups and waiting
//! pods of other schedulers and without, come out the same for ours.

use muster::config::SchedulerConfiguration;
use muster::model::units::Time;
use muster::sim::driver::Driver;
use muster::sim::network::Network;
use muster::sim::report::report;
use muster::sim::scenario::{Source, load};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A group and its pods.
#[derive(Clone, Debug)]
struct Group {
    at: u8,
    members: u8,
    min: u8,
    cpus: u8,
    duration: u8,
    kind: u8,
    queue: u8,
    priority: u8,
    sets_aside: bool,
}

fn group() -> impl Strategy<Value = Group> {
    let numbers = (0..20_u8, 1..5_u8, 1..5_u8, 1..4_u8, 1..10_u8);
    let choices = (0..3_u8, 0..3_u8, 0..3_u8, any::<bool>());
    (numbers, choices).prop_map(|(numbers, choices)| {
        let (at, members, min, cpus, duration) = numbers;
        let (kind, queue, priority, sets_aside) = choices;
        Group {
            at,
            members,
            min: min.min(members),
            cpus,
            duration,
            kind,
            queue,
            priority,
            sets_aside,
        }
    })
}

impl Group {
    /// It as two documents; `scheduler` is what its pods name.
    fn write(&self, name: &str, scheduler: &str) -> String {
        let queue = ["default", "steady", "moody"][usize::from(self.queue)];
        let class = format!("class-{}", self.priority);
        let at = format!("{}s", self.at);
        let mut spec = json!({"priorityClassName": class});
        let mut group = json!({"name": name, "annotations": {"simulate.muster.dev/at": at}});
        let mut pod = json!({"name": name, "labels": {}, "annotations": {
            "simulate.muster.dev/at": at,
            "simulate.muster.dev/replicas": self.members.to_string(),
            "simulate.muster.dev/duration": format!("{}s", self.duration),
        }});
        let mut of_pod = json!({
            "schedulerName": scheduler,
            "priorityClassName": class,
            "containers": [{
                "name": "main", "image": "work",
                "resources": {"requests": {"cpu": self.cpus.to_string()}},
            }],
        });
        if self.sets_aside && self.kind < 2 {
            spec["minResources"] = json!({"cpu": (self.min * self.cpus).to_string()});
        }
        let version = match self.kind {
            0 if scheduler == "muster" => {
                spec["queue"] = json!(queue);
                spec["minAvailable"] = json!(self.min);
                spec["lifetime"] = json!(format!("{}s", self.duration));
                pod["labels"]["muster.dev/pod-group"] = json!(name);
                "muster.dev/v1alpha1"
            }
            0 | 1 => {
                spec["queue"] = json!(queue);
                spec["minMember"] = json!(self.min);
                pod["annotations"]["scheduling.k8s.io/group-name"] = json!(name);
                "scheduling.volcano.sh/v1beta1"
            }
            _ => {
                group["labels"] = json!({"muster.dev/queue": queue});
                spec["schedulingPolicy"] = json!({"gang": {"minCount": self.min}});
                of_pod["schedulingGroup"] = json!({"podGroupName": name});
                "scheduling.k8s.io/v1beta1"
            }
        };
        let group = json!({
            "apiVersion": version, "kind": "PodGroup", "metadata": group, "spec": spec,
        });
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": pod, "spec": of_pod});
        document(&group) + &document(&pod)
    }
}

fn document(object: &Value) -> String {
    format!("---\n{object}\n")
}

/// Four nodes, two queues beside the default one, three priorities.
fn beginning() -> String {
    let node = |index| {
        document(&json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n-{index}")},
            "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"}},
        }))
    };
    let queue = |(name, weight)| {
        document(&json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": "Queue", "metadata": {"name": name},
            "spec": {"weight": weight},
        }))
    };
    let class = |index| {
        document(&json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": format!("class-{index}")}, "value": index,
        }))
    };
    let nodes = (0..4).map(node);
    let queues = [("steady", 3), ("moody", 1)].into_iter().map(queue);
    let classes = (0..3).map(class);
    nodes.chain(queues).chain(classes).collect()
}

/// What becomes of our pods: when each was bound, where, and when it ended.
fn play(text: String) -> Vec<(String, String)> {
    let configuration = SchedulerConfiguration::default();
    let policy = configuration.policy().unwrap();
    let reading = configuration.reading(&policy);
    let name = "world".to_owned();
    let scenario = load(&[Source { name, text }], &reading).unwrap();
    let mut driver = Driver::new(scenario, policy, Network::calm(0));
    let end = driver.run(Time::from_secs(120), |_| {});
    assert_eq!(driver.ledger().violations, Vec::<String>::new());
    let report = report(&mut driver, end);
    let groups = report.pod_groups.iter();
    assert!(groups.clone().all(|one| one.name.starts_with("ours")));
    let ours = report.pods.into_iter();
    let ours = ours.filter(|pod| pod.name.starts_with("ours"));
    let fate = |pod: muster::sim::report::PodReport| {
        let (node, from, to) = (pod.node, pod.bound_at, pod.finished_at);
        let (evictions, says) = (pod.evictions, pod.message);
        (
            pod.name,
            format!("{node:?} {from:?} {to:?} {evictions} {says:?}"),
        )
    };
    ours.map(fate).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn groups_of_others_with_their_waiting_pods_change_nothing_for_ours(
        ours in prop::collection::vec(group(), 1..7),
        others in prop::collection::vec((any::<prop::sample::Index>(), group()), 1..4),
    ) {
        let mut texts: Vec<String> = Vec::new();
        for (index, one) in ours.iter().enumerate() {
            texts.push(one.write(&format!("ours-{index}"), "muster"));
        }
        let without = play(beginning() + &texts.concat());
        for (index, (place, one)) in others.iter().enumerate() {
            let scheduler = ["volcano", "default-scheduler"][usize::from(one.kind / 2)];
            let text = one.write(&format!("theirs-{index}"), scheduler);
            texts.insert(place.index(texts.len() + 1), text);
        }
        let with = play(beginning() + &texts.concat());
        prop_assert_eq!(with, without);
    }
}
