//! PodGroups of all kinds into one gang model.

use super::{Reading, count, created, filled, topologies, topology, volcano_subgroups};
use crate::requests::{Reader, in_core_units};
use crate::slim::{Text, Texts};
use crate::status::Status;
use crate::upstream::INITIALLY_SCHEDULED;
use crate::{coscheduling, crd, duration, names, upstream, volcano};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use muster_model::units::Millis;
use muster_model::{
    Amounts, GangKey, GangSpec, GrantedTerms, LetIn, Lifetime, MAX_NAMED_SUBGROUPS, Recalled,
    Source, SubgroupSpec, TopologyWish,
};
use std::collections::BTreeMap;

/// Our own PodGroup.
#[must_use]
pub fn muster_gang(group: &crd::PodGroup) -> GangSpec {
    let spec = &group.spec;
    let mut problems = Vec::new();
    let subgroups: Vec<SubgroupSpec> = spec
        .subgroups
        .iter()
        .map(|subgroup| SubgroupSpec {
            name: subgroup.name.clone(),
            min: count("spec.subgroups.min", subgroup.min, &mut problems),
            max: subgroup
                .max
                .map(|max| count("spec.subgroups.max", max, &mut problems)),
            topology: topology::wish(subgroup.topology.as_ref()),
            exclusive: subgroup.exclusive,
        })
        .collect();
    let minima = subgroups
        .iter()
        .fold(0_u32, |sum, subgroup| sum.saturating_add(subgroup.min));
    let unsaid = if subgroups.is_empty() { 1 } else { minima };
    let said = spec.min_available;
    let said = said.map(|min| count("spec.minAvailable", min, &mut problems));
    let quantities = spec.min_resources.iter();
    let quantities = quantities.map(|(name, quantity)| (name.clone(), Text(quantity.0.clone())));
    GangSpec {
        min_available: said.unwrap_or(unsaid).max(minima),
        subgroups,
        queue: filled(spec.queue.as_ref()),
        priority: spec.priority,
        priority_class: filled(spec.priority_class_name.as_ref()),
        node_selector: spec.node_selector.clone(),
        topology: topology::wish(spec.topology.as_ref()),
        exclusive: spec.exclusive,
        min_resources: min_resources(&quantities.collect(), &mut problems),
        lifetime: span("spec.lifetime", spec.lifetime.as_deref(), &mut problems),
        replicas: spec
            .replicas
            .map(|most| count("spec.replicas", most, &mut problems)),
        repair_for: repair_for(spec.disruption.as_ref(), &mut problems),
        recalled: recalled(group.status.as_ref()),
        invalid: joined(&problems),
        ..identity(&group.metadata, Source::Muster)
    }
}

/// Our SchedulingSpec. What is not its controller's it cannot be.
#[must_use]
pub fn scheduling_spec_gang(object: &crd::JobSchedulingSpec) -> GangSpec {
    let (spec, meta) = (&object.spec, &object.metadata);
    let mut problems = Vec::new();
    if let Some(owner) =
        names::controller(meta).filter(|owner| meta.name.as_ref() != Some(&owner.name))
    {
        let (name, wanted) = (meta.name.as_deref().unwrap_or_default(), &owner.name);
        problems.push(format!(
            "metadata.name: {name:?}, and the name of its controller, {wanted:?}, is by what pods find it"
        ));
    }
    let minimum = spec.min_available.unwrap_or(1);
    GangSpec {
        min_available: count("spec.minAvailable", minimum, &mut problems),
        priority: spec.priority,
        priority_class: filled(spec.priority_class_name.as_ref()),
        node_selector: spec.node_selector.clone(),
        recalled: recalled(object.status.as_ref()),
        invalid: joined(&problems),
        ..identity(meta, Source::SchedulingSpec)
    }
}

/// What a status says that was written of a gang; as a process that begins reads it.
#[must_use]
pub fn said_of_gang(status: &Status) -> Recalled {
    match status {
        Status::PodGroup(status) => recalled(Some(status)),
        Status::Volcano(status) => have_succeeded(status.succeeded),
        Status::Coscheduling(status) => have_succeeded(status.succeeded),
        Status::Upstream(status) => was_scheduled(status),
        _ => Recalled::default(),
    }
}

/// What our own status keeps. Who may write it is Muster.
fn recalled(status: Option<&crd::PodGroupStatus>) -> Recalled {
    let succeeded = status.and_then(|status| status.succeeded).unwrap_or(0);
    Recalled {
        granted: status.and_then(granted),
        let_in: status.and_then(let_in),
        ..have_succeeded(u32::try_from(succeeded).unwrap_or(0))
    }
}

/// What the status of a kind that has no more to say keeps.
const fn have_succeeded(succeeded: u32) -> Recalled {
    Recalled {
        granted: None,
        let_in: None,
        succeeded,
        was_scheduled: false,
    }
}

/// What upstream's status keeps.
fn was_scheduled(status: &upstream::PodGroupStatus) -> Recalled {
    let mut conditions = status.conditions.iter();
    Recalled {
        was_scheduled: conditions
            .any(|one| one.kind == INITIALLY_SCHEDULED && one.status == "True"),
        ..Recalled::default()
    }
}

/// What the status says that it was let in with. Who wrote it before there was such a field did not.
fn let_in(status: &crd::PodGroupStatus) -> Option<LetIn> {
    let granted = status.granted.as_ref()?;
    let quantities = granted.min_resources.iter();
    let texts = quantities.map(|(name, quantity)| (name.clone(), Text(quantity.0.clone())));
    Some(LetIn {
        min_available: u32::try_from(granted.min_available?).ok()?,
        min_resources: min_resources(&texts.collect(), &mut Vec::new()),
    })
}

/// On what terms the status says that it was granted what it holds.
fn granted(status: &crd::PodGroupStatus) -> Option<GrantedTerms> {
    let granted = status.granted.as_ref()?;
    let lifetime = granted.lifetime.as_deref().map(duration::parse);
    Some(GrantedTerms {
        queue: filled(granted.queue.as_ref())?,
        lifetime: Lifetime::of(lifetime.transpose().ok()?),
    })
}

/// Volcano's PodGroup. Without `minMember` it is no gang: its pods are placed one by one.
#[must_use]
pub fn volcano_gang(group: &volcano::PodGroup, reading: &Reading) -> GangSpec {
    let spec = &group.spec;
    let mut problems = Vec::new();
    let wish = spec.network_topology.as_ref();
    let wish = wish.and_then(|wish| topologies::wish("spec.networkTopology", wish, &mut problems));
    let labelled = volcano_subgroups::labelled(&spec.sub_group_policy, &mut problems);
    let min_available = count(
        "spec.minMember",
        spec.min_member.unwrap_or(0),
        &mut problems,
    );
    let (texts, read_otherwise) = as_others_mean(&spec.min_resources);
    GangSpec {
        topology: wish,
        min_available,
        subgroups: tasks(&spec.min_task_member, min_available, &mut problems),
        labelled,
        queue: filled(spec.queue.as_ref()),
        priority_class: filled(spec.priority_class_name.as_ref()),
        min_resources: min_resources(&texts, &mut problems),
        recalled: have_succeeded(group.status.succeeded),
        read_otherwise,
        invalid: joined(&problems),
        ..of_another_kind(&group.metadata, Source::Volcano, reading)
    }
}

/// The tasks that have a minimum, as subgroups, and one for all others. As Volcano has it they do not count
/// where they want more together than the whole.
fn tasks(
    minima: &BTreeMap<String, i32>,
    of_all: u32,
    problems: &mut Vec<String>,
) -> Vec<SubgroupSpec> {
    if minima.len() > MAX_NAMED_SUBGROUPS {
        let found = minima.len();
        problems.push(format!(
            "spec.minTaskMember: {found} tasks, and at most {MAX_NAMED_SUBGROUPS} may have a minimum"
        ));
        return Vec::new();
    }
    let named = minima.iter().map(|(name, min)| SubgroupSpec {
        name: name.clone(),
        min: count("spec.minTaskMember", *min, problems),
        ..SubgroupSpec::default()
    });
    let mut tasks: Vec<SubgroupSpec> = named.collect();
    let wanted = tasks
        .iter()
        .fold(0_u32, |sum, one| sum.saturating_add(one.min));
    if wanted == 0 || wanted > of_all {
        return Vec::new();
    }
    tasks.push(SubgroupSpec::default());
    tasks
}

/// Coscheduling's PodGroup. Without `minMember` it is no gang: its pods are placed one by one. Its queue is its label
/// `muster.dev/queue`.
#[must_use]
pub fn coscheduling_gang(group: &coscheduling::PodGroup, reading: &Reading) -> GangSpec {
    let spec = &group.spec;
    let mut problems = Vec::new();
    let (texts, read_otherwise) = as_others_mean(&spec.min_resources);
    GangSpec {
        min_available: count(
            "spec.minMember",
            spec.min_member.unwrap_or(0),
            &mut problems,
        ),
        queue: queue_by_label(&group.metadata),
        min_resources: min_resources(&texts, &mut problems),
        recalled: have_succeeded(group.status.succeeded),
        read_otherwise,
        invalid: joined(&problems),
        ..of_another_kind(&group.metadata, Source::Coscheduling, reading)
    }
}

/// Upstream's PodGroup. With the basic policy it is no gang: its pods are placed one by one.
#[must_use]
pub fn upstream_gang(group: &upstream::PodGroup, reading: &Reading) -> GangSpec {
    let spec = &group.spec;
    let mut problems = Vec::new();
    let min_available = match (spec.scheduling_policy.gang, spec.scheduling_policy.basic) {
        (Some(gang), None) => count(
            "spec.schedulingPolicy.gang.minCount",
            gang.min_count,
            &mut problems,
        ),
        (None, Some(_)) => 0,
        _ => {
            problems.push("spec.schedulingPolicy: must be one of basic and gang".to_owned());
            0
        }
    };
    let topology = match &spec.scheduling_constraints.topology[..] {
        [] => None,
        [only] => Some(TopologyWish::of_label(&only.key)),
        several => {
            problems.push(format!(
                "spec.schedulingConstraints.topology: {} items, and there can be one",
                several.len()
            ));
            None
        }
    };
    if !spec.parent_composite_pod_group_name.is_empty() {
        problems.push("spec.parentCompositePodGroupName is not supported yet".to_owned());
    }
    if !spec.resource_claims.is_empty() {
        problems.push("spec.resourceClaims is not supported yet".to_owned());
    }
    GangSpec {
        min_available,
        queue: queue_by_label(&group.metadata),
        priority: spec.priority,
        priority_class: filled(Some(&spec.priority_class_name)),
        topology,
        goes_whole: spec.disruption_mode.all.is_some(),
        one_by_one: spec.disruption_mode.all.is_none() && reading.is_as_upstream(&group.metadata),
        recalled: was_scheduled(&group.status),
        invalid: joined(&problems),
        ..of_another_kind(&group.metadata, Source::Upstream, reading)
    }
}

/// The queue of a kind that has no field for it.
fn queue_by_label(meta: &ObjectMeta) -> Option<String> {
    let queue = names::filled_label(meta, names::QUEUE);
    queue.map(str::to_owned)
}

/// One text of all problems, if there are any.
fn joined(problems: &[String]) -> Option<String> {
    (!problems.is_empty()).then(|| problems.join("; "))
}

/// The identity of a PodGroup that is not of our own kind.
fn of_another_kind(meta: &ObjectMeta, source: Source, reading: &Reading) -> GangSpec {
    let controller = names::controller(meta).map(|one| (one.kind.as_str(), &one.name));
    GangSpec {
        stands_in: reading.stands_in_for(source) || reading.is_claimed(meta),
        of_mpi_job: controller == meta.name.as_ref().map(|name| ("MPIJob", name)),
        ..identity(meta, source)
    }
}

fn identity(meta: &ObjectMeta, source: Source) -> GangSpec {
    GangSpec {
        key: GangKey {
            namespace: meta.namespace.clone().unwrap_or_default(),
            space: source.space(),
            name: meta.name.clone().unwrap_or_default(),
        },
        source,
        uid: meta.uid.clone().unwrap_or_default(),
        generation: meta.generation.unwrap_or(0),
        created: created(meta),
        ..GangSpec::default()
    }
}

fn min_resources(texts: &Texts, problems: &mut Vec<String>) -> Amounts {
    let mut reader = Reader::default();
    let bag = reader.bag("spec.minResources", texts);
    problems.extend(reader.finish());
    in_core_units(&bag)
}

/// `minResources` as the controllers of other projects mean them, and what is not so written: under the names of
/// resources, and memory in Java's words. spark-operator adds up Spark's `512m`, which are mebibytes there and
/// thousandths of a byte in a quantity.
fn as_others_mean(texts: &Texts) -> (Texts, Vec<String>) {
    let mut resources = of_quota_keys(texts);
    let mut read_otherwise = Vec::new();
    if let Some(memory) = resources.get_mut("memory")
        && let Some(mebibytes) = memory
            .0
            .strip_suffix('m')
            .and_then(|text| text.parse::<u32>().ok())
        && mebibytes > 0
    {
        let meant = format!("{mebibytes}Mi");
        read_otherwise.push(format!(
            "minResources of {} memory are thousandths of a byte: {meant} are held",
            memory.0,
        ));
        memory.0 = meant;
    }
    (resources, read_otherwise)
}

/// Keys of resource quotas as resources: `requests.cpu` is `cpu`, and `count/pods` is `pods` (Volcano's
/// controller says both of every Job); limits and counts of other objects reserve nothing. A resource
/// under its own name counts before the same with the prefix.
fn of_quota_keys(texts: &Texts) -> Texts {
    let mut resources = Texts::new();
    for (key, text) in texts {
        let name = key.strip_prefix("requests.");
        let name = name.or_else(|| key.strip_prefix("count/").filter(|name| *name == "pods"));
        if let Some(name) = name {
            resources.insert(name.to_owned(), text.clone());
        }
    }
    for (key, text) in texts {
        let prefixes = ["requests.", "limits.", "count/"];
        if !prefixes.iter().any(|prefix| key.starts_with(prefix)) {
            resources.insert(key.clone(), text.clone());
        }
    }
    resources
}

fn repair_for(disruption: Option<&crd::Disruption>, problems: &mut Vec<String>) -> Option<Millis> {
    let repair = disruption.filter(|one| one.policy == crd::DisruptionPolicy::Repair)?;
    span(
        "spec.disruption.deadline",
        repair.deadline.as_deref(),
        problems,
    )
}

fn span(path: &str, text: Option<&str>, problems: &mut Vec<String>) -> Option<Millis> {
    match duration::parse(text?) {
        Ok(span) => Some(span),
        Err(error) => {
            problems.push(format!("{path}: {error}"));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "json! reads best as it is")]

    use super::*;
    use muster_model::{GangSpace, ProfileId};
    use serde_json::{Value, json};

    fn muster(spec: Value) -> GangSpec {
        let value = json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": "PodGroup", "spec": spec,
            "metadata": {
                "name": "g", "namespace": "n", "uid": "u", "generation": 3,
                "creationTimestamp": "1970-01-01T00:00:05Z",
            },
        });
        muster_gang(&serde_json::from_value(value).unwrap())
    }

    fn volcano(spec: Value) -> GangSpec {
        let value = json!({"metadata": {"name": "g", "namespace": "n"}, "spec": spec});
        volcano_gang(&serde_json::from_value(value).unwrap(), &Reading::default())
    }

    fn upstream(spec: Value) -> GangSpec {
        let meta = json!({"name": "g", "namespace": "n", "labels": {"muster.dev/queue": "q"}});
        let value = json!({"metadata": meta, "spec": spec});
        upstream_gang(&serde_json::from_value(value).unwrap(), &Reading::default())
    }

    fn amounts(pairs: &[(&str, i64)]) -> Amounts {
        pairs
            .iter()
            .map(|(name, amount)| ((*name).to_owned(), *amount))
            .collect()
    }

    #[test]
    fn a_gang_carries_the_identity_of_its_object() {
        let gang = muster(json!({}));
        assert_eq!(gang.key.to_string(), "n/g");
        assert_eq!(
            (gang.key.space, gang.source),
            (GangSpace::Named, Source::Muster)
        );
        assert_eq!(
            (gang.uid.as_str(), gang.generation, gang.created.0),
            ("u", 3, 5000)
        );
    }

    #[test]
    fn the_minimum_is_said_or_that_of_the_subgroups_or_one() {
        assert_eq!(muster(json!({})).min_available, 1);
        assert_eq!(muster(json!({"minAvailable": 4})).min_available, 4);
        let subgroups = json!([{"name": "a", "min": 2, "max": 5}, {"name": "b"}]);
        let gang = muster(json!({"subgroups": subgroups}));
        assert_eq!(gang.min_available, 3);
        assert_eq!(gang.subgroups[0].max, Some(5));
        assert_eq!((gang.subgroups[1].min, gang.subgroups[1].max), (1, None));
        let both = |min: i32| muster(json!({"minAvailable": min, "subgroups": subgroups}));
        assert_eq!(both(4).min_available, 4);
        assert_eq!(both(1).min_available, 3);
    }

    #[test]
    fn our_fields_are_read() {
        let gang = muster(json!({
            "queue": "q", "priorityClassName": "high", "nodeSelector": {"a": "b"},
            "minResources": {"cpu": "1500m", "memory": "1Ki"}, "lifetime": "1h30m",
        }));
        assert_eq!(gang.queue.as_deref(), Some("q"));
        assert_eq!(gang.priority_class.as_deref(), Some("high"));
        assert_eq!(gang.node_selector["a"], "b");
        assert_eq!(
            gang.min_resources,
            amounts(&[("cpu", 1500), ("memory", 1024)])
        );
        assert_eq!(
            (gang.lifetime, gang.invalid),
            (Some(Millis(5_400_000)), None)
        );
    }

    #[test]
    fn how_far_it_may_grow_and_how_long_it_is_repaired_are_read() {
        let gang = muster(json!({
            "replicas": 5, "disruption": {"policy": "Repair", "deadline": "2m"},
        }));
        assert_eq!(
            (gang.replicas, gang.repair_for),
            (Some(5), Some(Millis(120_000)))
        );
        let gang = muster(json!({"disruption": {"policy": "Preempt"}}));
        assert_eq!((gang.replicas, gang.repair_for), (None, None));
        let gang = muster(json!({"disruption": {"policy": "Repair", "deadline": "soon"}}));
        let invalid = gang.invalid.unwrap();
        assert!(
            invalid.contains("spec.disruption.deadline: \"soon\""),
            "{invalid}"
        );
    }

    #[test]
    fn who_has_succeeded_is_read_from_the_status_of_each_kind_that_says_it() {
        let of = |status: Value| {
            json!({
                "apiVersion": "muster.dev/v1alpha1", "kind": "PodGroup",
                "metadata": {"name": "g", "namespace": "n"}, "spec": {}, "status": status,
            })
        };
        let told = of(json!({"succeeded": 2}));
        let ours = |value: &Value| muster_gang(&serde_json::from_value(value.clone()).unwrap());
        let reading = Reading::default();
        let volcanos = volcano_gang(&serde_json::from_value(told.clone()).unwrap(), &reading);
        let others = coscheduling_gang(&serde_json::from_value(told.clone()).unwrap(), &reading);
        for gang in [ours(&told), volcanos, others] {
            assert_eq!(gang.recalled, have_succeeded(2), "{:?}", gang.source);
        }
        for nothing in [json!({}), json!({"succeeded": -1})] {
            assert_eq!(ours(&of(nothing)).recalled, Recalled::default());
        }
    }

    #[test]
    fn what_cannot_be_valid_is_said_with_its_path() {
        let gang =
            muster(json!({"minAvailable": -1, "minResources": {"cpu": "x"}, "lifetime": "soon"}));
        let invalid = gang.invalid.unwrap();
        for path in [
            "spec.minAvailable: -1",
            "spec.minResources.cpu: \"x\"",
            "spec.lifetime: \"soon\"",
        ] {
            assert!(invalid.contains(path), "{invalid}");
        }
    }

    #[test]
    fn volcanos_fields_are_read_with_their_quota_keys() {
        let gang = volcano(json!({
            "minMember": 2, "queue": "q", "priorityClassName": "high",
            "minResources": {"requests.cpu": "3", "limits.cpu": "9", "memory": "2Mi", "requests.memory": 9},
        }));
        assert_eq!((gang.min_available, gang.source), (2, Source::Volcano));
        assert_eq!(gang.key.space, GangSpace::Named);
        assert_eq!(
            gang.min_resources,
            amounts(&[("cpu", 3000), ("memory", 2 << 20)])
        );
        assert_eq!(
            (gang.queue.as_deref(), gang.priority_class.as_deref()),
            (Some("q"), Some("high"))
        );
    }

    #[test]
    fn memory_in_thousandths_of_a_byte_is_in_mebibytes_and_that_is_said() {
        let read = |memory: &str| {
            let gang = volcano(json!({"minResources": {"memory": memory}}));
            (gang.min_resources, gang.read_otherwise.concat())
        };
        let mebibytes = |count: i64| amounts(&[("memory", count << 20)]);
        let said = "minResources of 1536m memory are thousandths of a byte: 1536Mi are held";
        assert_eq!(read("1536m"), (mebibytes(1536), said.to_owned()));
        for (as_written, bytes) in [("1536Mi", 1536 << 20), ("2", 2), ("1.5m", 1)] {
            let found = read(as_written);
            assert_eq!(found, (amounts(&[("memory", bytes)]), String::new()));
        }
        let ours = muster(json!({"minResources": {"memory": "1536m"}}));
        assert_eq!(ours.min_resources, amounts(&[("memory", 2)]));
    }

    #[test]
    fn what_volcanos_controller_says_of_a_job_is_pods_and_what_they_request() {
        let gang = volcano(json!({
            "minMember": 2,
            "minResources": {"count/pods": "2", "pods": "2", "cpu": "2", "requests.cpu": "2"},
        }));
        assert_eq!(gang.min_resources, amounts(&[("cpu", 2000), ("pods", 2)]));
        let gang = volcano(json!({"minResources": {"count/pods": "2", "count/jobs.batch": "1"}}));
        assert_eq!(gang.min_resources, amounts(&[("pods", 2)]));
    }

    #[test]
    fn the_minima_of_tasks_count_unless_they_want_more_than_the_whole() {
        let tasks = |minimum: i32| {
            let minima = json!({"worker": 2, "ps": 1});
            let gang = volcano(json!({"minMember": minimum, "minTaskMember": minima}));
            let found = gang.subgroups.into_iter();
            found.map(|one| (one.name, one.min)).collect::<Vec<_>>()
        };
        let named = |name: &str, min| (name.to_owned(), min);
        let wanted = [named("ps", 1), named("worker", 2), named("", 0)];
        assert_eq!(tasks(3), wanted);
        assert_eq!(tasks(2), []);
        let many: serde_json::Map<String, Value> =
            (0..64).map(|index| (index.to_string(), 1.into())).collect();
        let gang = volcano(json!({"minMember": 64, "minTaskMember": many}));
        let problem = "spec.minTaskMember: 64 tasks, and at most 63 may have a minimum";
        assert_eq!(gang.invalid.as_deref(), Some(problem));
        let gang = volcano(json!({"minMember": 1, "minTaskMember": {"a": -1}}));
        assert_eq!(
            gang.invalid.as_deref(),
            Some("spec.minTaskMember: -1 is negative")
        );
    }

    #[test]
    fn a_volcano_group_without_a_minimum_is_no_gang() {
        let gang = volcano(json!(null));
        assert_eq!((gang.min_available, gang.invalid), (0, None));
        assert!(volcano(json!({"minMember": -1})).invalid.is_some());
    }

    /// Whether a Volcano and an upstream PodGroup with these labels are for us before they have pods,
    /// where ours are these scheduler names.
    fn stands_in(names: &[&str], labels: &Value) -> [bool; 2] {
        let reading = Reading {
            scheduler_names: names.iter().map(|name| (*name).to_owned()).collect(),
            ..Reading::default()
        };
        let value = json!({"metadata": {"name": "g", "namespace": "n", "labels": labels}});
        let of_volcano = serde_json::from_value(value.clone()).unwrap();
        let of_upstream = serde_json::from_value(value).unwrap();
        [
            volcano_gang(&of_volcano, &reading).stands_in,
            upstream_gang(&of_upstream, &reading).stands_in,
        ]
    }

    #[test]
    fn we_stand_in_for_the_scheduler_of_a_kind_where_ours_have_its_name() {
        let none = json!(null);
        assert_eq!(stands_in(&["muster"], &none), [false, false]);
        assert_eq!(stands_in(&["muster", "volcano"], &none), [true, false]);
        assert_eq!(stands_in(&["default-scheduler"], &none), [false, true]);
    }

    #[test]
    fn the_label_claims_a_group_if_it_names_a_scheduler_of_ours() {
        let named = |name: &str| json!({"muster.dev/scheduler-name": name});
        assert_eq!(stands_in(&["muster"], &named("muster")), [true, true]);
        assert_eq!(stands_in(&["muster"], &named("other")), [false, false]);
        assert_eq!(stands_in(&["muster"], &named("")), [false, false]);
    }

    #[test]
    fn a_scheduling_spec_is_a_gang_of_the_name_of_its_controller() {
        let read = |name: &str, spec: Value| {
            let owner = json!({
                "apiVersion": "muster.dev/v1alpha1", "kind": "QueueJob", "name": "job", "uid": "u",
                "controller": true,
            });
            let meta = json!({"name": name, "namespace": "n", "ownerReferences": [owner]});
            let object = json!({"metadata": meta, "spec": spec});
            scheduling_spec_gang(&serde_json::from_value(object).unwrap())
        };
        let gang = read(
            "job",
            json!({"minAvailable": 3, "priority": 7, "nodeSelector": {"a": "b"}}),
        );
        assert_eq!((gang.min_available, gang.priority), (3, Some(7)));
        assert_eq!(
            gang.node_selector,
            BTreeMap::from([("a".into(), "b".into())])
        );
        assert_eq!(
            (gang.key.space, gang.source, gang.invalid),
            (GangSpace::SchedulingSpec, Source::SchedulingSpec, None)
        );
        assert_eq!(read("job", json!({})).min_available, 1);
        let other = read("other", json!({}));
        let problem = "metadata.name: \"other\", and the name of its controller, \"job\", is by what pods find it";
        assert_eq!(other.invalid.as_deref(), Some(problem));
    }

    #[test]
    fn upstreams_policy_decides_on_the_minimum() {
        let gang = upstream(json!({"schedulingPolicy": {"gang": {"minCount": 3}}, "priority": 7}));
        assert_eq!((gang.min_available, gang.priority), (3, Some(7)));
        assert_eq!(
            (gang.key.space, gang.source),
            (GangSpace::Upstream, Source::Upstream)
        );
        assert_eq!(gang.queue.as_deref(), Some("q"));
        let basic = upstream(json!({"schedulingPolicy": {"basic": {}}}));
        assert_eq!((basic.min_available, basic.invalid), (0, None));
        assert!(
            upstream(json!({}))
                .invalid
                .unwrap()
                .contains("spec.schedulingPolicy")
        );
    }

    #[test]
    fn upstreams_gangs_end_with_their_first_scheduling_where_their_profile_is_as_kube_scheduler() {
        let reading = Reading {
            scheduler_names: vec!["muster".to_owned(), "like-upstream".to_owned()],
            profiles: [("like-upstream".to_owned(), ProfileId(1))].into(),
            as_upstream: vec![ProfileId(1)],
            ..Reading::default()
        };
        let read = |labels: Value, mode: Value, reading: &Reading| {
            let value = json!({
                "metadata": {"name": "g", "namespace": "n", "labels": labels},
                "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}, "disruptionMode": mode},
                "status": {"conditions": [{"type": "PodGroupInitiallyScheduled", "status": "True"}]},
            });
            upstream_gang(&serde_json::from_value(value).unwrap(), reading)
        };
        let claimed = json!({"muster.dev/scheduler-name": "like-upstream"});
        let single = read(claimed.clone(), json!({"single": {}}), &reading);
        assert!(single.one_by_one && single.recalled.was_scheduled);
        assert_eq!(single.min_available, 3, "what it asks for");
        assert!(!read(claimed, json!({"all": {}}), &reading).one_by_one);
        assert!(
            !read(json!({}), json!({}), &reading).one_by_one,
            "by the first"
        );
        let everybody = Reading {
            as_upstream: vec![ProfileId::default()],
            ..reading
        };
        assert!(read(json!({}), json!({}), &everybody).one_by_one);
    }

    #[test]
    fn upstreams_topology_is_a_label_of_nodes() {
        let gang = upstream(json!({
            "schedulingPolicy": {"gang": {"minCount": 3}},
            "schedulingConstraints": {"topology": [{"key": "rack"}]},
        }));
        let wish = gang.topology.unwrap();
        assert_eq!(
            (wish.name.as_deref(), wish.label()),
            (Some("label:rack"), Some("rack"))
        );
        assert_eq!(
            (wish.required_level.as_deref(), gang.invalid),
            (Some("rack"), None)
        );
    }

    #[test]
    fn what_is_not_honoured_of_upstreams_is_refused_by_name() {
        let gang = upstream(json!({
            "schedulingPolicy": {"basic": {}}, "resourceClaims": [{"name": "c"}],
            "parentCompositePodGroupName": "whole",
            "schedulingConstraints": {"topology": [{"key": "rack"}, {"key": "zone"}]},
        }));
        let invalid = gang.invalid.unwrap();
        assert!(
            invalid.contains("spec.schedulingConstraints.topology: 2 items, and there can be one"),
            "{invalid}"
        );
        for path in ["spec.resourceClaims", "spec.parentCompositePodGroupName"] {
            assert!(invalid.contains(path), "{invalid}");
        }
    }
}
