//! A pod: who it is, what it needs, how far it is.

use super::term::term;
use super::unsupported::{self, Unsupported};
use super::{
    Reading, cluster, created, filled, millis, policy, preferences, scheduler_of, spread, testbed,
    volumes,
};
use crate::{conventions, duration, names, ranks, requests, slim, slots};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use muster_model::units::{Millis, Time};
use muster_model::{
    Constraints, GangRef, GangWants, HostPort, Implied, LabelSelector, NamespaceChoice,
    NodeFeatures, PodKey, PodLabels, PodPhase, PodRules, PodSpec, PodTerm, ProfileId, Protocol,
    ShapeSpec, SlotClaim, Toleration, TolerationOperator, WeightedPodTerm,
};
use std::sync::Arc;

/// A pod. What it uses and Muster cannot honour is listed in `unsupported`.
#[must_use]
pub fn pod(pod: &slim::Pod, reading: &Reading) -> PodSpec {
    let (meta, spec) = (&pod.metadata, &pod.spec);
    let mut notes = unsupported::fields(pod);
    let requests = requests::effective(pod);
    notes.extend(requests.unreadable);
    let ours = reading.is_ours(pod);
    let mut constraints = constraints(spec, &mut notes);
    if ours {
        constraints.profile = reading.profile(&spec.scheduler_name);
    }
    let (mut requests, mut ignored) = (requests.amounts, Vec::new());
    if let Some(list) = reading.ignored_by(constraints.profile).filter(|_| ours) {
        ignored = requests
            .extract_if(.., |(name, _)| list.has(name))
            .collect();
    }
    let by_default = ours && reading.of(constraints.profile).selectors;
    let shape = ShapeSpec {
        requests,
        ignored,
        preferences: preferences::of(pod, ours.then_some(constraints.profile), reading),
        constraints,
        host_ports: host_ports(spec, &mut notes),
        pods: pod_rules(pod, reading.any().pod_terms, &mut notes),
        spread: spread::rules(pod, &mut notes),
        claim: slot_claim(meta, &mut notes),
    };
    let (gang, implied) = gang(pod, reading);
    let queue = names::filled_label(meta, names::QUEUE).map(str::to_owned);
    let lifetime = lifetime(pod, &mut notes);
    let wishes = implied.as_ref().is_some_and(|said| said.topology.is_some());
    let podset = wishes.then(|| conventions::podset(pod)).flatten();
    let implied = implied.map(|said| Implied {
        queue: queue.clone().or(said.queue),
        lifetime,
        ..said
    });
    PodSpec {
        key: PodKey {
            namespace: meta.namespace.clone().unwrap_or_default(),
            name: meta.name.clone().unwrap_or_default(),
            uid: meta.uid.clone().unwrap_or_default(),
        },
        created: created(meta),
        ours,
        other_scheduler: if ours || gang == GangRef::Own {
            String::new()
        } else {
            scheduler_of(pod).to_owned()
        },
        daemon: is_daemon(meta),
        node: filled(Some(&spec.node_name)),
        nominated: filled(Some(&pod.status.nominated_node_name)),
        bound_at: bound_at(pod),
        phase: phase(&pod.status.phase),
        terminating: meta.deletion_timestamp.is_some(),
        gates: spec
            .scheduling_gates
            .iter()
            .map(|gate| gate.name.clone())
            .collect(),
        gang,
        implied: implied.map(Box::new),
        subgroup: subgroup(meta).or(podset).map(str::to_owned),
        rank: ranks::of(meta),
        queue,
        queue_if_declared: names::filled_label(meta, names::KAI_QUEUE)
            .filter(|_| ours)
            .map(str::to_owned),
        priority: spec.priority,
        priority_class: filled(Some(&spec.priority_class_name)),
        never_preempts: spec
            .preemption_policy
            .as_deref()
            .map(|policy| policy == cluster::NEVER),
        labels: meta.labels.as_ref().map(PodLabels::new).unwrap_or_default(),
        lifetime,
        shape,
        spread_by_default: spread::by_default(pod).filter(|_| by_default).map(Box::new),
        volumes: volumes::of_pod(pod),
        unsupported: notes.paths,
        ghost_of: testbed::ghost_of(pod, reading),
        slot: slots::told(meta),
    }
}

/// Its gang, and what it says of it for the case that no PodGroup defines it. What no mark says is the configuration's word.
fn gang(pod: &slim::Pod, reading: &Reading) -> (GangRef, Option<Implied>) {
    let (found, ours) = (conventions::gang_of(pod), reading.is_ours(pod));
    if !ours || found != GangRef::Own {
        let wait = reading.missing_pod_group_timeout;
        return (found, conventions::implied(pod, wait).filter(|_| ours));
    }
    match conventions::gang_by_labels(pod, &reading.gangs_by_labels) {
        Some((gang, implied)) => (gang, Some(implied)),
        None if reading.require_scheduling_spec => {
            (conventions::required_scheduling_spec(&pod.metadata), None)
        }
        None => (GangRef::Own, None),
    }
}

/// Its part of its gang: the subgroup, else its task in Volcano's words.
fn subgroup(meta: &ObjectMeta) -> Option<&str> {
    let own = names::filled_label(meta, names::SUBGROUP);
    let task = || names::filled_annotation(meta, names::TASK);
    own.or_else(task)
}

/// Which slots it claims. What cannot be read is no claim, and the pod waits.
fn slot_claim(meta: &ObjectMeta, notes: &mut Unsupported) -> Option<Arc<SlotClaim>> {
    let claim = slots::claim(meta)?;
    let positions = claim
        .slots
        .map_err(|why| notes.add(format!("metadata.labels: {why}")));
    Some(Arc::new(SlotClaim {
        namespace: meta.namespace.clone().unwrap_or_default(),
        testbed: claim.testbed,
        positions: positions.ok()?,
    }))
}

/// Whether a DaemonSet controls it: of the owners only who controls is read. Who may write pods may claim
/// that: a node with no other pods then counts as one that is not in use, for exclusive gangs, too.
fn is_daemon(meta: &ObjectMeta) -> bool {
    let mut owners = meta.owner_references.iter().flatten();
    owners.any(|owner| owner.kind == "DaemonSet")
}

/// When it was bound: the API server writes that with the binding, in the condition's time. A pod that
/// was created on its node has no condition at first: it was bound when it was created.
fn bound_at(pod: &slim::Pod) -> Option<Time> {
    if pod.spec.node_name.is_empty() {
        return None;
    }
    let mut conditions = pod.status.conditions.iter();
    let scheduled = |one: &&slim::PodCondition| one.kind == "PodScheduled" && one.status == "True";
    let at = conditions
        .find(scheduled)
        .and_then(|one| one.last_transition_time.time());
    Some(at.map_or_else(|| created(&pod.metadata), |at| millis(&at)))
}

fn phase(word: &str) -> PodPhase {
    match word {
        "Running" | "Unknown" => PodPhase::Running,
        "Succeeded" => PodPhase::Succeeded,
        "Failed" => PodPhase::Failed,
        _ => PodPhase::Pending,
    }
}

fn lifetime(pod: &slim::Pod, notes: &mut Unsupported) -> Option<Millis> {
    if let Some(text) = names::annotation(&pod.metadata, names::LIFETIME) {
        match duration::parse(text) {
            Ok(lifetime) => return Some(lifetime),
            Err(error) => {
                notes.add(format!(
                    "metadata.annotations[{}]: {error}",
                    names::LIFETIME
                ));
            }
        }
    }
    let seconds = pod.spec.active_deadline_seconds?;
    Some(Millis::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

fn constraints(spec: &slim::PodSpec, notes: &mut Unsupported) -> Constraints {
    let affinity = spec.affinity.node_affinity.as_ref();
    let required = affinity.and_then(|affinity| affinity.required.as_ref());
    let tolerations = spec.tolerations.iter().enumerate();
    Constraints {
        profile: ProfileId::default(),
        selector: spec.node_selector.clone(),
        gang: GangWants::default(),
        affinity: required.map(|selector| {
            let terms = selector.node_selector_terms.iter().enumerate();
            let path = |index| format!("{AFFINITY}[{index}]");
            terms
                .map(|(index, one)| term(&path(index), one, notes))
                .collect()
        }),
        tolerations: tolerations
            .filter_map(|(index, one)| toleration(index, one, notes))
            .collect(),
        features: features(spec),
        volumes: None,
    }
}

/// What the pod needs of its node's kubelet.
fn features(spec: &slim::PodSpec) -> NodeFeatures {
    let containers = || spec.containers.iter().chain(&spec.init_containers);
    let restarts_all = |one: &slim::Container| {
        let mut rules = one.restart_policy_rules.iter();
        rules.any(|rule| rule.action == "RestartAllContainers")
    };
    let ephemeral = spec.ephemeral_containers.iter();
    let mut mounts = containers()
        .map(|one| &one.volume_mounts)
        .chain(ephemeral.map(|one| &one.common.volume_mounts));
    let own_users = spec.host_users == Some(false);
    NodeFeatures::RESTART_ALL_CONTAINERS
        .when(containers().any(restarts_all))
        .and(NodeFeatures::USERS_ON_HOST_NETWORK.when(spec.host_network && own_users))
        .and(
            NodeFeatures::BIND_MOUNT_OPTIONS
                .when(mounts.any(|one| !one.bind_mount_options.is_empty())),
        )
}

const AFFINITY: &str =
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";

fn toleration(
    index: usize,
    found: &slim::Toleration,
    notes: &mut Unsupported,
) -> Option<Toleration> {
    let operator = match found.operator.as_str() {
        "" | "Equal" => TolerationOperator::Equal,
        "Exists" => TolerationOperator::Exists,
        "Lt" => TolerationOperator::Lt,
        "Gt" => TolerationOperator::Gt,
        other => {
            notes.add(format!("spec.tolerations[{index}].operator: {other:?}"));
            return None;
        }
    };
    let effect = cluster::effect(&found.effect);
    if effect.is_none() && !found.effect.is_empty() {
        notes.add(format!(
            "spec.tolerations[{index}].effect: {:?}",
            found.effect
        ));
        return None;
    }
    Some(Toleration {
        key: found.key.clone(),
        operator,
        value: found.value.clone(),
        effect,
    })
}

/// Beside which other pods it has to be and beside which not; and beside which it had better be, where any
/// profile scores by it.
fn pod_rules(pod: &slim::Pod, scored: bool, notes: &mut Unsupported) -> PodRules {
    let affinity = &pod.spec.affinity;
    let mut read = |kind: &str, terms: &slim::PodTerms| {
        let terms = terms.required.iter().enumerate();
        let terms = terms.filter_map(|(index, one)| {
            let term = pod_term(one, pod.metadata.namespace.as_deref());
            if term.is_none() {
                notes.add(format!("spec.affinity.{kind}.{REQUIRED}[{index}]"));
            }
            term
        });
        terms.collect()
    };
    PodRules {
        affinity: read("podAffinity", &affinity.pod_affinity),
        anti_affinity: read("podAntiAffinity", &affinity.pod_anti_affinity),
        preferred: match scored {
            true => preferred_terms(pod),
            false => Vec::new(),
        },
        draws: scored,
    }
}

/// The preferred terms, those of anti-affinity below zero. One that cannot be read is no reason to wait.
fn preferred_terms(pod: &slim::Pod) -> Vec<WeightedPodTerm> {
    let affinity = &pod.spec.affinity;
    let near = affinity.pod_affinity.preferred.iter().map(|one| (1, one));
    let apart = affinity.pod_anti_affinity.preferred.iter();
    let apart = apart.map(|one| (-1, one));
    let read = |(sign, one): (i32, &slim::WeightedPodTerm)| {
        Some(WeightedPodTerm {
            weight: sign * one.weight.clamp(0, MAX_WEIGHT),
            term: pod_term(&one.pod_affinity_term, pod.metadata.namespace.as_deref())?,
        })
    };
    near.chain(apart).filter_map(read).collect()
}

/// What the API server allows at most.
const MAX_WEIGHT: i32 = 100;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// A term; `None` where a selector cannot be read. Where it names no namespace it is about the pod's own
/// (source: Kubernetes' `getNamespacesFromPodAffinityTerm`).
fn pod_term(term: &slim::PodTerm, own: Option<&str>) -> Option<PodTerm> {
    let selector = term.label_selector.as_ref().map(policy::selector);
    let others = term.namespace_selector.as_ref().map(policy::selector);
    let mut namespaces = term.namespaces.clone();
    if namespaces.is_empty() && others.is_none() {
        namespaces.push(own.unwrap_or_default().to_owned());
    }
    let others = match others {
        Some(selector) => Some(selector?),
        None => None,
    };
    Some(PodTerm {
        namespaces: NamespaceChoice::new(namespaces, others),
        selector: match selector {
            Some(selector) => selector?,
            None => LabelSelector::nothing(),
        },
        topology_key: term.topology_key.clone(),
    })
}

/// Ports on the node, of all containers that run at once: containers and sidecars. On the host's
/// network a container's port is the node's, as the API server's defaulting has it.
fn host_ports(spec: &slim::PodSpec, notes: &mut Unsupported) -> Vec<HostPort> {
    let sidecars = spec.init_containers.iter().filter(|one| one.is_sidecar());
    let mut ports = Vec::new();
    for container in spec.containers.iter().chain(sidecars) {
        for port in &container.ports {
            let number = match port.host_port {
                0 if spec.host_network => port.container_port,
                number => number,
            };
            if number == 0 {
                continue;
            }
            let path = format!("spec.containers[{}].ports", container.name);
            match (u16::try_from(number), protocol(&port.protocol)) {
                (Ok(number), Some(protocol)) if number > 0 => ports.push(HostPort {
                    ip: port.host_ip.clone(),
                    protocol,
                    port: number,
                }),
                (_, None) => notes.add(format!("{path}.protocol: {:?}", port.protocol)),
                _ => notes.add(format!("{path}.hostPort: {number} is not in 1..65535")),
            }
        }
    }
    ports.sort();
    ports.dedup();
    ports
}

fn protocol(word: &str) -> Option<Protocol> {
    match word {
        "" | "TCP" => Some(Protocol::Tcp),
        "UDP" => Some(Protocol::Udp),
        "SCTP" => Some(Protocol::Sctp),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "json! reads best as it is")]

    use super::*;
    use muster_model::{GangRef, GangSpace, Labels, Operator, TaintEffect};
    use serde_json::{Value, json};

    fn convert(value: Value) -> PodSpec {
        let reading = Reading {
            scheduler_names: vec!["muster".to_owned(), "volcano".to_owned()],
            ..Reading::default()
        };
        pod(&serde_json::from_value(value).unwrap(), &reading)
    }

    fn of_spec(spec: Value) -> PodSpec {
        convert(json!({"metadata": {"name": "p"}, "spec": spec}))
    }

    #[test]
    fn labels_make_a_gang_of_ours_alone_after_marks_and_before_specs_that_are_required() {
        let reading = Reading {
            scheduler_names: vec!["muster".to_owned()],
            require_scheduling_spec: true,
            gangs_by_labels: vec![conventions::Workload::Ray],
            ..Reading::default()
        };
        let gang = |scheduler: &str, labels: Value| {
            let meta = json!({"name": "p", "labels": labels});
            let value = json!({"metadata": meta, "spec": {"schedulerName": scheduler}});
            let found = pod(&serde_json::from_value(value).unwrap(), &reading);
            let minimum = found.implied.map(|said| said.min_available);
            match found.gang {
                GangRef::Named { space, name } => Some((space, name, minimum)),
                GangRef::Own => None,
            }
        };
        let ray = json!({"ray.io/cluster": "a"});
        let of_ray = (GangSpace::Pods, "ray.a".to_owned(), Some(1));
        assert_eq!(gang("muster", ray.clone()), Some(of_ray));
        assert_eq!(gang("other", ray), None);
        let marked = json!({"ray.io/cluster": "a", "muster.dev/pod-group": "g"});
        let named = (GangSpace::Named, "g".to_owned(), None);
        assert_eq!(gang("muster", marked), Some(named));
        let required = (GangSpace::SchedulingSpec, "p".to_owned(), None);
        let spark = json!({"spark-app-selector": "spark-1"});
        assert_eq!(gang("muster", spark), Some(required), "Spark is not chosen");
    }

    #[test]
    fn kais_label_is_the_queue_of_a_pod_of_ours_where_there_is_one_of_that_name() {
        let queue = |scheduler: &str| {
            let meta = json!({"name": "p", "labels": {"kai.scheduler/queue": "team"}});
            let found = convert(json!({"metadata": meta, "spec": {"schedulerName": scheduler}}));
            (found.queue, found.queue_if_declared)
        };
        assert_eq!(queue("muster"), (None, Some("team".to_owned())));
        assert_eq!(queue("kai-scheduler"), (None, None));
    }

    #[test]
    fn a_pod_carries_its_identity_and_progress() {
        let found = convert(json!({
            "metadata": {
                "name": "p", "namespace": "n", "uid": "u", "creationTimestamp": "1970-01-01T00:01:00Z",
                "deletionTimestamp": "1970-01-01T00:02:00Z",
                "labels": {"muster.dev/pod-group": "g", "muster.dev/subgroup": "s", "muster.dev/queue": "q"},
            },
            "spec": {
                "schedulerName": "volcano", "nodeName": "node", "priority": 5,
                "priorityClassName": "high", "schedulingGates": [{"name": "gate"}],
            },
            "status": {"phase": "Running"},
        }));
        assert_eq!(
            (found.key.to_string().as_str(), found.key.uid.as_str()),
            ("n/p", "u")
        );
        assert_eq!(
            (found.created.0, found.terminating, found.ours),
            (60_000, true, true)
        );
        assert_eq!(
            (found.node.as_deref(), found.phase),
            (Some("node"), PodPhase::Running)
        );
        assert_eq!(
            (found.priority, found.priority_class.as_deref()),
            (Some(5), Some("high"))
        );
        assert_eq!(found.gates, ["gate"]);
        let (space, name) = (GangSpace::Named, "g".to_owned());
        assert_eq!(found.gang, GangRef::Named { space, name });
        assert_eq!(
            (found.subgroup.as_deref(), found.queue.as_deref()),
            (Some("s"), Some("q"))
        );
        assert_eq!(found.unsupported, [""; 0]);
    }

    #[test]
    fn a_pod_was_bound_when_the_api_server_says_or_else_when_it_was_created_on_its_node() {
        let bound_at = |node: Value, conditions: Value| {
            convert(json!({
                "metadata": {"name": "p", "creationTimestamp": "1970-01-01T00:00:05Z"},
                "spec": {"nodeName": node}, "status": {"conditions": conditions},
            }))
            .bound_at
        };
        let scheduled = |status: &str, at: Value| {
            json!([
                {"type": "Ready", "status": "True", "lastTransitionTime": "1970-01-01T00:00:09Z"},
                {"type": "PodScheduled", "status": status, "lastTransitionTime": at},
            ])
        };
        let at = json!("1970-01-01T00:00:07Z");
        assert_eq!(
            bound_at(json!("n"), scheduled("True", at.clone())),
            Some(Time(7_000))
        );
        assert_eq!(
            bound_at(json!("n"), scheduled("True", Value::Null)),
            Some(Time(5_000))
        );
        assert_eq!(bound_at(json!("n"), Value::Null), Some(Time(5_000)));
        assert_eq!(bound_at(Value::Null, scheduled("False", at)), None);
    }

    #[test]
    fn only_pods_of_our_scheduler_names_are_ours() {
        assert!(of_spec(json!({"schedulerName": "muster"})).ours);
        assert!(!of_spec(json!({"schedulerName": "other"})).ours);
        assert!(!of_spec(json!({})).ours);
    }

    #[test]
    fn of_a_pod_of_others_in_a_group_the_scheduler_is_known() {
        let other = |scheduler: Value, group: &str| {
            let annotations = json!({"scheduling.k8s.io/group-name": group});
            let meta = json!({"annotations": annotations});
            let pod = json!({"metadata": meta, "spec": {"schedulerName": scheduler}});
            convert(pod).other_scheduler
        };
        assert_eq!(other(json!("other"), "g"), "other");
        assert_eq!(other(json!(null), "g"), "default-scheduler");
        assert_eq!(other(json!("muster"), "g"), "");
        assert_eq!(other(json!("other"), ""), "");
    }

    #[test]
    fn a_pod_of_unknown_phase_still_takes_its_room() {
        for (word, phase) in [
            ("", PodPhase::Pending),
            ("Pending", PodPhase::Pending),
            ("Unknown", PodPhase::Running),
            ("Succeeded", PodPhase::Succeeded),
            ("Failed", PodPhase::Failed),
        ] {
            let found = convert(json!({"metadata": {}, "status": {"phase": word}}));
            assert_eq!(found.phase, phase, "{word}");
        }
    }

    #[test]
    fn the_lifetime_is_the_annotation_or_else_the_deadline() {
        let lifetime = |text: Value, deadline: Value| {
            let annotations = json!({"muster.dev/lifetime": text});
            convert(json!({
                "metadata": {"annotations": if text.is_null() { json!(null) } else { annotations }},
                "spec": {"activeDeadlineSeconds": deadline},
            }))
        };
        assert_eq!(
            lifetime(json!("2m"), json!(5)).lifetime,
            Some(Millis(120_000))
        );
        assert_eq!(lifetime(json!("0s"), json!(5)).lifetime, Some(Millis(0)));
        assert_eq!(lifetime(json!(null), json!(5)).lifetime, Some(Millis(5000)));
        assert_eq!(lifetime(json!(null), json!(null)).lifetime, None);
        let wrong = lifetime(json!("soon"), json!(null)).unsupported;
        assert!(
            wrong[0].starts_with("metadata.annotations[muster.dev/lifetime]: \"soon\""),
            "{wrong:?}"
        );
    }

    #[test]
    fn selectors_affinity_and_tolerations_are_read_as_written() {
        let found = of_spec(json!({
            "nodeSelector": {"a": "b"},
            "affinity": {"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{
                    "matchExpressions": [{"key": "x", "operator": "Gt", "values": ["3"]}],
                    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
                }]},
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}],
            }},
            "tolerations": [
                {"operator": "Exists"},
                {"key": "k", "value": "v", "effect": "NoExecute", "tolerationSeconds": 300},
            ],
        }));
        let constraints = &found.shape.constraints;
        assert_eq!(constraints.selector["a"], "b");
        let terms = constraints.affinity.as_ref().unwrap();
        assert_eq!(terms[0].labels[0].operator, Operator::Gt);
        assert_eq!(terms[0].fields[0].values, ["n"]);
        assert_eq!(
            constraints.tolerations[0].operator,
            TolerationOperator::Exists
        );
        assert_eq!(constraints.tolerations[0].effect, None);
        assert_eq!(
            constraints.tolerations[1].effect,
            Some(TaintEffect::NoExecute)
        );
        assert_eq!(found.unsupported, [""; 0]);
    }

    #[test]
    fn an_expression_with_what_cannot_be_a_label_holds_nowhere() {
        let holds = |operator: &str, value: &str| {
            let one = json!({"key": "x", "operator": operator, "values": [value]});
            let found = of_spec(json!({"affinity": {"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution":
                    {"nodeSelectorTerms": [{"matchExpressions": [one]}]},
            }}}));
            let labels = Labels::from([("x".to_owned(), "5".to_owned())]);
            let terms = found.shape.constraints.affinity.unwrap();
            terms[0].matches("n", &labels)
        };
        assert!(holds("Gt", "4") && holds("NotIn", "a.b") && holds("NotIn", ""));
        for (operator, value) in [("Gt", "-4"), ("NotIn", "a "), ("NotIn", "-"), ("In", "-5")] {
            assert!(!holds(operator, value), "{operator} {value:?}");
        }
    }

    #[test]
    fn fields_say_what_the_kubelet_must_have() {
        let features = |spec| of_spec(spec).shape.constraints.features;
        let rule =
            |action: &str| json!([{"name": "a", "restartPolicyRules": [{"action": action}]}]);
        let mount = |options: Value| json!([{"name": "a", "volumeMounts": [{}, {"bindMountOptions": options}]}]);
        let restarts = NodeFeatures::RESTART_ALL_CONTAINERS;
        let mounts = NodeFeatures::BIND_MOUNT_OPTIONS;
        let cases = [
            (
                json!({"containers": rule("RestartAllContainers")}),
                restarts,
            ),
            (
                json!({"initContainers": rule("RestartAllContainers")}),
                restarts,
            ),
            (json!({"containers": rule("Restart")}), NodeFeatures::NONE),
            (json!({"containers": mount(json!(["noexec"]))}), mounts),
            (json!({"initContainers": mount(json!(["noexec"]))}), mounts),
            (
                json!({"ephemeralContainers": mount(json!(["noexec"]))}),
                mounts,
            ),
            (json!({"containers": mount(json!([]))}), NodeFeatures::NONE),
            (
                json!({"hostNetwork": true, "hostUsers": false}),
                NodeFeatures::USERS_ON_HOST_NETWORK,
            ),
            (
                json!({"hostNetwork": true, "hostUsers": true}),
                NodeFeatures::NONE,
            ),
            (json!({"hostNetwork": true}), NodeFeatures::NONE),
            (json!({"hostUsers": false}), NodeFeatures::NONE),
        ];
        for (spec, wanted) in cases {
            assert_eq!(features(spec.clone()), wanted, "{spec}");
        }
    }

    #[test]
    fn host_ports_are_those_of_all_that_runs_at_once() {
        let port =
            |number: u16| json!([{"containerPort": 80, "hostPort": number, "protocol": "UDP"}]);
        let containers = json!([
            {"name": "a", "ports": port(9)}, {"name": "b", "ports": [{"containerPort": 81}]},
        ]);
        let found = of_spec(json!({
            "containers": containers,
            "initContainers": [
                {"name": "i", "ports": port(7)},
                {"name": "s", "ports": port(8), "restartPolicy": "Always"},
            ],
        }));
        let numbers = |pod: &PodSpec| {
            pod.shape
                .host_ports
                .iter()
                .map(|port| port.port)
                .collect::<Vec<_>>()
        };
        assert_eq!(numbers(&found), [8, 9]);
        assert_eq!(found.shape.host_ports[0].protocol, Protocol::Udp);
        let shared = of_spec(json!({"hostNetwork": true, "containers": containers}));
        assert_eq!(numbers(&shared), [81, 9]);
    }

    #[test]
    fn a_gang_convention_that_is_not_honoured_is_named_unless_another_names_the_gang() {
        let mut pod =
            json!({"metadata": {"annotations": {"yunikorn.apache.org/task-groups": "g"}}});
        assert_eq!(
            convert(pod.clone()).unsupported,
            [
                "metadata.annotations[yunikorn.apache.org/task-groups]: this gang convention is not honoured yet"
            ]
        );
        pod["metadata"]["labels"] = json!({"muster.dev/pod-group": "g"});
        assert_eq!(convert(pod).unsupported, [""; 0]);
    }

    #[test]
    fn a_term_about_pods_is_where_they_are_which_they_are_and_what_is_together() {
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        let read = |term: Value| {
            let found = convert(json!({
                "metadata": {"name": "p", "namespace": "own"},
                "spec": {"affinity": {"podAntiAffinity": {required: [term]}}},
            }));
            found.shape.pods.anti_affinity[0].clone()
        };
        let everywhere = NamespaceChoice::new(Vec::new(), Some(LabelSelector::default()));
        for (term, namespaces) in [
            (json!({}), NamespaceChoice::only("own")),
            (json!({"namespaces": ["a"]}), NamespaceChoice::only("a")),
            (json!({"namespaceSelector": {}}), everywhere),
        ] {
            assert_eq!(read(term).namespaces, namespaces);
        }
        assert_eq!(read(json!({})).selector, LabelSelector::nothing());
        assert_eq!(
            read(json!({"labelSelector": {}})).selector,
            LabelSelector::default()
        );
        let whole =
            read(json!({"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}));
        assert_eq!(whole.topology_key, "zone");
        assert_eq!(whole.selector.requirements.len(), 1);
    }

    #[test]
    fn what_cannot_be_honoured_is_named_by_its_path() {
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
        let found = of_spec(json!({
            "containers": [{
                "name": "a", "resources": {"requests": {"cpu": "many"}},
                "ports": [{"hostPort": 70000}, {"hostPort": 1, "protocol": "ICMP"}],
            }],
            "affinity": {
                "podAffinity": {required: [{
                    "topologyKey": "zone",
                    "labelSelector": {"matchExpressions": [{"key": "x", "operator": "Like"}]},
                }]},
                "podAntiAffinity": {required: [{"topologyKey": "zone"}], preferred: [{}]},
                "nodeAffinity": {required: {"nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "x", "operator": "Like"}]},
                ]}},
            },
            "topologySpreadConstraints": [
                {"whenUnsatisfiable": "ScheduleAnyway"}, {"whenUnsatisfiable": "DoNotSchedule"},
            ],
            "resourceClaims": [{"name": "gpu"}],
            "tolerations": [{"key": "k", "operator": "Like", "value": "1"}, {"effect": "Maybe"}],
        }));
        let wanted = [
            "spec.resourceClaims",
            "spec.containers[a].resources.requests.cpu: \"many\"",
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.\
             nodeSelectorTerms[0].matchExpressions.operator: \"Like\"",
            "spec.tolerations[0].operator: \"Like\"",
            "spec.tolerations[1].effect: \"Maybe\"",
            "spec.containers[a].ports.hostPort: 70000",
            "spec.containers[a].ports.protocol: \"ICMP\"",
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]",
            "spec.topologySpreadConstraints[1].maxSkew: 0",
        ];
        assert_eq!(
            found.unsupported.len(),
            wanted.len(),
            "{:#?}",
            found.unsupported
        );
        for (found, wanted) in found.unsupported.iter().zip(wanted) {
            assert!(
                found.starts_with(wanted),
                "{found} does not start with {wanted}"
            );
        }
    }
}
