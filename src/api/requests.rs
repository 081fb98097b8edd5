//! What a pod needs on its node: its effective requests.
//!
//! The rules are those of Kubernetes' `component-helpers/resource`: sidecars in order, init
//! containers, in-place resize, pod-level resources, overhead. Sums are exact and rounded up
//! once, at the end.

use super::slim::{Container, Pod, PodStatus, Resources, Texts};
use muster_model::Amounts;
use muster_model::units::Quantity;
use std::collections::BTreeMap;

type Bag = BTreeMap<String, Quantity>;

/// The effective requests of a pod and what in them could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// By resource, sorted, without zeros and without `pods`.
    pub amounts: Amounts,
    /// Field path and text of each quantity that is none, or is negative; they count as zero.
    pub unreadable: Vec<String>,
}

/// What a container counts as asking for that says nothing of it, for scores only: a tenth of a core
/// (source: kube-scheduler's `DefaultMilliCPURequest` and `DefaultMemoryRequest`).
const UNSAID_CPU: &str = "100m";
/// The same of memory.
const UNSAID_MEMORY: &str = "200Mi";

/// By how much more a pod would ask for, of CPU in thousandths and of memory in bytes, if each of its
/// containers that says nothing of it asked for a little: kube-scheduler scores nodes by that, as pods
/// that ask for nothing use something all the same.
#[must_use]
pub fn unsaid(pod: &Pod) -> [i64; 2] {
    let said = |spec: &Container| {
        let names = |name| {
            let resources = &spec.resources;
            resources.requests.contains_key(name) || resources.limits.contains_key(name)
        };
        names("cpu") && names("memory")
    };
    let spec = &pod.spec;
    let mut containers = spec.containers.iter().chain(&spec.init_containers);
    // What the kubelet says of a container takes the place of what the spec does, and may say less.
    if containers.all(said) && !is_resized(&pod.status) {
        return [0, 0];
    }
    let without = sum_up(pod, &mut Reader::default());
    // With resources of the pod as a whole, what any part of it says of a resource is enough.
    let as_a_whole = spec.resources.as_ref().is_some_and(|resources| {
        let mut names = resources.requests.keys();
        names.any(|name| is_pod_level(name))
    });
    let mut filled = Reader {
        fills: ["cpu", "memory"].map(|name| !(as_a_whole && without.contains_key(name))),
        ..Reader::default()
    };
    let (with, without) = (
        in_core_units(&sum_up(pod, &mut filled)),
        in_core_units(&without),
    );
    let of = |amounts: &Amounts, name| {
        let amount = amounts.iter().find(|(one, _)| one == name);
        amount.map_or(0, |(_, amount)| *amount)
    };
    ["cpu", "memory"].map(|name| of(&with, name) - of(&without, name))
}

/// Whether the kubelet says of any container what it has, or that it cannot have what it asks for.
fn is_resized(status: &PodStatus) -> bool {
    let (running, starting) = (&status.container_statuses, &status.init_container_statuses);
    let mut all = running.iter().chain(starting);
    let says = all.any(|one| one.resources.is_some() || !one.allocated_resources.is_empty());
    says || is_infeasible(status)
}

/// Whether a resource is one that only some nodes have (source: Kubernetes, `IsExtendedResourceName`).
#[must_use]
pub fn is_extended(resource: &str) -> bool {
    resource.contains('/')
        && !resource.contains("kubernetes.io/")
        && !resource.starts_with("requests.")
}

/// The effective requests of a pod.
#[must_use]
pub fn effective(pod: &Pod) -> Requests {
    let mut reader = Reader::default();
    Requests {
        amounts: in_core_units(&sum_up(pod, &mut reader)),
        unreadable: reader.finish(),
    }
}

/// What a pod needs by resource.
fn sum_up(pod: &Pod, reader: &mut Reader) -> Bag {
    let infeasible = is_infeasible(&pod.status);
    let asked = of_containers(pod, View::Asked, reader);
    let (mut needed, in_force) = under_way(pod, infeasible, reader);
    raise(&mut needed, &in_force);
    if !infeasible {
        raise(&mut needed, &asked);
    }
    needed.extend(of_the_pod(pod, &asked, infeasible, reader));
    add(
        &mut needed,
        &reader.bag("spec.overhead", &pod.spec.overhead),
    );
    needed.remove("pods");
    needed
}

/// Whether the node cannot give what a resize asks for: what it asks for then does not count. Only the
/// condition's type and reason are looked at, of the first of its type.
fn is_infeasible(status: &PodStatus) -> bool {
    let mut conditions = status.conditions.iter();
    let pending = conditions.find(|one| one.kind == "PodResizePending");
    pending.is_some_and(|one| one.reason == "Infeasible")
}

/// Amounts in the core's units, without zeros: `cpu` in thousandths, all else in whole units.
pub(super) fn in_core_units(bag: &Bag) -> Amounts {
    let amounts = bag.iter().map(|(name, quantity)| {
        let amount = match name.as_str() {
            "cpu" => quantity.milli_value(),
            _ => quantity.value(),
        };
        (name.clone(), amount)
    });
    amounts.filter(|(_, amount)| *amount != 0).collect()
}

/// Reads quantities and notes down what is wrong with them.
#[derive(Default)]
pub(super) struct Reader {
    unreadable: Vec<String>,
    /// Whether containers that say nothing of CPU count as asking for some; and of memory.
    fills: [bool; 2],
}

impl Reader {
    /// The quantities of a map; what is none, or is negative, counts as zero and is noted.
    pub(super) fn bag(&mut self, path: &str, texts: &Texts) -> Bag {
        let mut bag = Bag::new();
        for (name, text) in texts {
            let quantity = match Quantity::parse(&text.0) {
                Ok(quantity) if quantity < Quantity::ZERO => {
                    self.note(format!("{path}.{name}: {:?} is negative", text.0));
                    Quantity::ZERO
                }
                Ok(quantity) => quantity.in_milli_steps(),
                Err(error) => {
                    self.note(format!("{path}.{name}: {error}"));
                    Quantity::ZERO
                }
            };
            bag.insert(name.clone(), quantity);
        }
        bag
    }

    /// What a container counts as asking for.
    fn filled(&self, mut bag: Bag) -> Bag {
        let amounts = [("cpu", UNSAID_CPU), ("memory", UNSAID_MEMORY)];
        let filled = amounts.into_iter().zip(self.fills);
        for ((name, amount), _) in filled.filter(|(_, fills)| *fills) {
            if let Ok(amount) = Quantity::parse(amount) {
                bag.entry(name.to_owned()).or_insert(amount);
            }
        }
        bag
    }

    fn note(&mut self, text: String) {
        // A field is read once for each view of the pod, and noted once.
        if !self.unreadable.contains(&text) {
            self.unreadable.push(text);
        }
    }

    /// What was noted.
    pub(super) fn finish(self) -> Vec<String> {
        self.unreadable
    }
}

/// Of whom the amounts are: while a resize is under way the three differ.
#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    /// `spec`: what the user asked for.
    Asked,
    /// `status...allocatedResources`: what the kubelet set aside; else what was asked for, unless that
    /// is more than the node can give.
    Allocated { infeasible: bool },
    /// `status...resources`: what is in force; else what was set aside.
    InForce { infeasible: bool },
}

/// What the kubelet set aside, and what is in force: as it says for the whole pod if it says both, else
/// of the containers together.
fn under_way(pod: &Pod, infeasible: bool, reader: &mut Reader) -> (Bag, Bag) {
    let status = &pod.status;
    let in_force = status.resources.as_ref().map(|one| &one.requests);
    if let Some(in_force) = in_force.filter(|one| !one.is_empty())
        && !status.allocated_resources.is_empty()
    {
        return (
            reader.bag("status.allocatedResources", &status.allocated_resources),
            reader.bag("status.resources.requests", in_force),
        );
    }
    (
        of_containers(pod, View::Allocated { infeasible }, reader),
        of_containers(pod, View::InForce { infeasible }, reader),
    )
}

/// What pod-level resources put in the place of the containers' sums: of a pod that the kubelet says
/// something of, the largest of what is asked for and what it says.
fn of_the_pod(pod: &Pod, containers: &Bag, infeasible: bool, reader: &mut Reader) -> Bag {
    let Some(resources) = &pod.spec.resources else {
        return Bag::new();
    };
    let asked = pod_level(resources, containers, reader);
    let status = &pod.status;
    let Some(in_force) = status.resources.as_ref().filter(|_| !asked.is_empty()) else {
        return asked;
    };
    let mut bag = if infeasible { Bag::new() } else { asked };
    for (path, texts) in [
        ("status.resources.requests", &in_force.requests),
        ("status.allocatedResources", &status.allocated_resources),
    ] {
        raise(&mut bag, &reader.bag(path, texts));
    }
    bag.retain(|name, _| is_pod_level(name));
    bag
}

/// How the names of huge pages of all sizes begin.
pub(super) const HUGE_PAGES: &str = "hugepages-";

/// Pod-level resources take the place of the containers' for these only.
pub(super) fn is_pod_level(name: &str) -> bool {
    name == "cpu" || name == "memory" || name.starts_with(HUGE_PAGES)
}

/// What the containers of a pod's spec request together; what cannot be read is zero.
pub(super) fn of_all_containers(pod: &Pod) -> BTreeMap<String, Quantity> {
    of_containers(pod, View::Asked, &mut Reader::default())
}

/// Pod-level requests, with what the API server fills in where some are there: `cpu` and `memory` from
/// the containers, then limits.
fn pod_level(resources: &Resources, containers: &Bag, reader: &mut Reader) -> Bag {
    if resources.requests.is_empty() && resources.limits.is_empty() {
        return Bag::new();
    }
    // What can be shared is filled from the containers before limits, hugepages after them.
    let mut bag = containers.clone();
    bag.retain(|name, _| name.starts_with("hugepages-"));
    bag.extend(reader.bag("spec.resources.limits", &resources.limits));
    let shared = containers
        .iter()
        .filter(|(name, _)| *name == "cpu" || *name == "memory");
    bag.extend(shared.map(|(name, quantity)| (name.clone(), *quantity)));
    bag.extend(reader.bag("spec.resources.requests", &resources.requests));
    bag.retain(|name, _| is_pod_level(name));
    bag
}

/// The containers together: all that run at once, or the widest moment of the start.
fn of_containers(pod: &Pod, view: View, reader: &mut Reader) -> Bag {
    let spec = &pod.spec;
    let mut running = Bag::new();
    for container in &spec.containers {
        let own = of_container("spec.containers", container, &pod.status, view, reader);
        add(&mut running, &reader.filled(own));
    }
    let mut sidecars = Bag::new();
    let mut widest = Bag::new();
    for container in &spec.init_containers {
        let own = of_container("spec.initContainers", container, &pod.status, view, reader);
        let own = reader.filled(own);
        if container.is_sidecar() {
            add(&mut running, &own);
            add(&mut sidecars, &own);
            raise(&mut widest, &sidecars);
        } else {
            let mut width = sidecars.clone();
            add(&mut width, &own);
            raise(&mut widest, &width);
        }
    }
    raise(&mut running, &widest);
    running
}

fn of_container(
    list: &str,
    container: &Container,
    status: &PodStatus,
    view: View,
    reader: &mut Reader,
) -> Bag {
    if view != View::Asked {
        let (running, starting) = (&status.container_statuses, &status.init_container_statuses);
        let mut all = running.iter().chain(starting);
        let said = all.find(|one| one.name == container.name);
        if matches!(view, View::InForce { .. })
            && let Some(resources) = said.and_then(|one| one.resources.as_ref())
            && !resources.requests.is_empty()
        {
            return reader.bag("status.containerStatuses.resources", &resources.requests);
        }
        if let Some(said) = said.filter(|one| !one.allocated_resources.is_empty()) {
            let allocated = &said.allocated_resources;
            return reader.bag("status.containerStatuses.allocatedResources", allocated);
        }
        if let View::Allocated { infeasible: true } | View::InForce { infeasible: true } = view {
            return Bag::new();
        }
    }
    let path = format!("{list}[{}].resources", container.name);
    // Requests default to limits, as in the API server.
    let mut bag = reader.bag(&format!("{path}.limits"), &container.resources.limits);
    bag.extend(reader.bag(&format!("{path}.requests"), &container.resources.requests));
    bag
}

fn add(total: &mut Bag, more: &Bag) {
    for (name, quantity) in more {
        let sum = total.get(name).map_or(*quantity, |old| *old + *quantity);
        total.insert(name.clone(), sum);
    }
}

fn raise(total: &mut Bag, other: &Bag) {
    for (name, quantity) in other {
        let most = total
            .get(name)
            .map_or(*quantity, |old| (*old).max(*quantity));
        total.insert(name.clone(), most);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "json! reads best as it is")]

    use super::*;
    use serde_json::{Value, json};

    fn requests(pod: Value) -> Requests {
        effective(&serde_json::from_value(pod).unwrap())
    }

    fn cpu(spec: Value) -> Amounts {
        requests(json!({"metadata": {}, "spec": spec})).amounts
    }

    fn container(name: &str, cpu: &str) -> Value {
        json!({"name": name, "resources": {"requests": {"cpu": cpu}}})
    }

    fn sidecar(name: &str, cpu: &str) -> Value {
        let mut sidecar = container(name, cpu);
        sidecar["restartPolicy"] = json!("Always");
        sidecar
    }

    fn milli(amount: i64) -> Amounts {
        vec![("cpu".to_owned(), amount)]
    }

    #[test]
    fn containers_add_up_exactly_and_round_up_once() {
        let own = |cpu: &str, memory: Value| json!({"name": cpu, "resources": {"requests": {"cpu": cpu, "memory": memory}}});
        let amounts =
            cpu(json!({"containers": [own("100m", json!("500m")), own("0.2", json!("500m"))]}));
        assert_eq!(amounts, [("cpu".to_owned(), 300), ("memory".to_owned(), 1)]);
    }

    #[test]
    fn amounts_are_whole_thousandths_in_every_container() {
        let tiny = |name: &str| container(name, "1u");
        assert_eq!(cpu(json!({"containers": [tiny("a"), tiny("b")]})), milli(2));
    }

    #[test]
    fn hugepages_of_the_pod_are_its_limit_or_else_the_containers() {
        let pages = |limit: Value| {
            let own = json!({"name": "a", "resources": {"requests": {"hugepages-2Mi": "4Mi"}}});
            cpu(json!({"containers": [own], "resources": {"limits": limit}}))
        };
        let wanted = |mib: i64| [("hugepages-2Mi".to_owned(), mib << 20)];
        assert_eq!(pages(json!({"hugepages-2Mi": "6Mi"})), wanted(6));
        assert_eq!(pages(json!({})), wanted(4));
    }

    #[test]
    fn init_containers_and_sidecars_count_in_their_order() {
        let cases = [
            // The largest init container against the sum of the others.
            (json!([container("i", "5")]), 5000),
            (json!([container("i", "2"), container("j", "2")]), 3000),
            // A sidecar runs beside the containers.
            (json!([sidecar("s", "1")]), 4000),
            // Init containers after a sidecar run beside it, those before do not.
            (json!([sidecar("s", "1"), container("i", "4")]), 5000),
            (json!([container("i", "4"), sidecar("s", "1")]), 4000),
            (
                json!([sidecar("s", "1"), container("i", "3"), sidecar("t", "2")]),
                6000,
            ),
        ];
        for (inits, wanted) in cases {
            let spec = json!({
                "containers": [container("a", "1"), container("b", "2")], "initContainers": inits,
            });
            assert_eq!(cpu(spec.clone()), milli(wanted), "{spec}");
        }
    }

    #[test]
    fn limits_stand_in_for_absent_requests() {
        let resources =
            json!({"limits": {"cpu": "2", "nvidia.com/gpu": 1}, "requests": {"cpu": 1}});
        let amounts = cpu(json!({"containers": [{"name": "a", "resources": resources}]}));
        assert_eq!(
            amounts,
            [("cpu".to_owned(), 1000), ("nvidia.com/gpu".to_owned(), 1)]
        );
    }

    #[test]
    fn pod_level_resources_override_cpu_memory_and_hugepages_only() {
        let own = json!({"name": "a", "resources": {"requests": {"cpu": "3", "x/y": "1"}}});
        let level = json!({"requests": {"cpu": "2", "x/y": "9", "hugepages-2Mi": "4Mi"}, "limits": {"memory": "1Ki", "cpu": "8"}});
        let amounts = cpu(json!({"containers": [own], "resources": level}));
        let wanted = [
            ("cpu", 2000),
            ("hugepages-2Mi", 4 << 20),
            ("memory", 1024),
            ("x/y", 1),
        ];
        assert_eq!(
            amounts,
            wanted.map(|(name, amount)| (name.to_owned(), amount))
        );
    }

    #[test]
    fn overhead_comes_last() {
        let spec = json!({
            "containers": [container("a", "1")], "initContainers": [container("i", "3")],
            "resources": {"requests": {"cpu": "2"}}, "overhead": {"cpu": "250m"},
        });
        assert_eq!(cpu(spec), milli(2250));
    }

    #[test]
    fn a_resize_under_way_takes_the_largest_of_asked_allocated_and_in_force() {
        let pod = |allocated: &str, in_force: &str, reason: &str| {
            json!({
                "metadata": {}, "spec": {"containers": [container("a", "4")]},
                "status": {
                    "conditions": [{"type": "PodResizePending", "status": "True", "reason": reason}],
                    "containerStatuses": [{
                        "name": "a", "allocatedResources": {"cpu": allocated},
                        "resources": {"requests": {"cpu": in_force}},
                    }],
                },
            })
        };
        assert_eq!(requests(pod("2", "3", "Deferred")).amounts, milli(4000));
        assert_eq!(requests(pod("2", "3", "Infeasible")).amounts, milli(3000));
        assert_eq!(requests(pod("5", "3", "Deferred")).amounts, milli(5000));
        assert_eq!(requests(pod("2", "6", "Deferred")).amounts, milli(6000));
    }

    #[test]
    fn what_the_kubelet_does_not_say_of_a_container_is_unsaid() {
        let pod = json!({
            "metadata": {},
            "spec": {"containers": [{
                "name": "a", "resources": {"requests": {"cpu": "1", "memory": "64Mi"}},
            }]},
            "status": {"containerStatuses": [{"name": "a", "allocatedResources": {"cpu": "1"}}]},
        });
        let pod: Pod = serde_json::from_value(pod).unwrap();
        assert_eq!(unsaid(&pod), [0, (200 - 64) << 20]);
    }

    #[test]
    fn an_infeasible_resize_counts_only_what_the_kubelet_says() {
        let pod = |status: Value, reason: &str| {
            json!({
                "metadata": {},
                "spec": {
                    "containers": [container("a", "4"), container("b", "1")],
                    "initContainers": [container("i", "9")],
                },
                "status": {
                    "conditions": [
                        {"type": "PodResizePending", "status": "False", "reason": reason},
                        {"type": "PodResizePending", "status": "True", "reason": "Deferred"},
                    ],
                    "containerStatuses": status,
                },
            })
        };
        let of_a = json!([{"name": "a", "allocatedResources": {"cpu": "2"}, "resources": {}}]);
        // Who has no status counts nothing: `b` and the init container.
        assert_eq!(
            requests(pod(of_a.clone(), "Infeasible")).amounts,
            milli(2000)
        );
        assert_eq!(requests(pod(of_a, "Deferred")).amounts, milli(9000));
        assert_eq!(requests(pod(json!([]), "Infeasible")).amounts, []);
    }

    #[test]
    fn what_the_kubelet_says_of_the_pod_takes_the_containers_place_where_it_says_both() {
        let pod = |status: Value| {
            json!({
                "metadata": {},
                "spec": {"containers": [container("a", "4")]},
                "status": status,
            })
        };
        let of_containers = json!([{"name": "a", "allocatedResources": {"cpu": "6", "x/y": "1"}}]);
        let allocated = json!({"cpu": "5"});
        let both = json!({
            "allocatedResources": allocated, "resources": {"requests": {"cpu": "3"}},
            "containerStatuses": of_containers,
        });
        assert_eq!(requests(pod(both)).amounts, milli(5000));
        let one = json!({"allocatedResources": allocated, "containerStatuses": of_containers});
        let amounts = [("cpu".to_owned(), 6000), ("x/y".to_owned(), 1)];
        assert_eq!(requests(pod(one)).amounts, amounts);
    }

    #[test]
    fn the_api_server_fills_pod_level_requests_from_the_containers() {
        let pod = json!({
            "metadata": {},
            "spec": {
                "containers": [{"name": "a", "resources": {"requests": {"cpu": "1", "memory": "2"}}}],
                "resources": {"requests": {"cpu": "3"}},
            },
            "status": {"containerStatuses": [{"name": "a", "allocatedResources": {"memory": "5"}}]},
        });
        let amounts = [("cpu".to_owned(), 3000), ("memory".to_owned(), 2)];
        assert_eq!(requests(pod).amounts, amounts);
    }

    #[test]
    fn a_pod_level_resize_counts_as_one_of_containers_does() {
        let pod = json!({
            "metadata": {},
            "spec": {"containers": [container("a", "1")], "resources": {"requests": {"cpu": "2"}}},
            "status": {"allocatedResources": {"cpu": "3"}, "resources": {"requests": {"cpu": "5"}}},
        });
        assert_eq!(requests(pod).amounts, milli(5000));
    }

    #[test]
    fn what_cannot_be_read_is_named_once_and_counts_as_zero() {
        let found = requests(json!({"metadata": {}, "spec": {"containers": [
            {"name": "a", "resources": {"requests": {"cpu": "1x", "memory": "-1"}}},
        ]}}));
        assert_eq!(found.amounts, []);
        assert_eq!(found.unreadable.len(), 2, "{:?}", found.unreadable);
        let start = "spec.containers[a].resources.requests.cpu: \"1x\" is not a quantity";
        assert!(
            found.unreadable[0].starts_with(start),
            "{:?}",
            found.unreadable
        );
        assert_eq!(
            found.unreadable[1],
            "spec.containers[a].resources.requests.memory: \"-1\" is negative"
        );
    }
}
