//! A FlinkDeployment (`flink.apache.org/v1beta1`), whose TaskManagers fill their slots exactly.
//!
//! Its gang is a PodGroup of ours, with the JobManager as its minimum: that makes the TaskManagers, and their room is
//! held by ghosts. The operator knows no schedulers: who places the pods is said in their templates.

use super::{
    For, Problem, Wanted, at, claim, fits, gang, group, has, invalid, metadata, object, refuse,
};
use serde_json::{Map, Value, json};

/// Settings of Flink that would say otherwise than the slots do.
const NOT_TO_SAY: [&str; 6] = [
    "kubernetes.taskmanager.cpu",
    "kubernetes.taskmanager.cpu.amount",
    "kubernetes.taskmanager.labels",
    "kubernetes.taskmanager.memory.limit-factor",
    "kubernetes.taskmanager.cpu.limit-factor",
    "taskmanager.memory.process.size",
];
const TASK_SLOTS: &str = "taskmanager.numberOfTaskSlots";
/// The container that the operator means.
const MAIN: &str = "flink-main-container";

pub(super) fn wanted(flink: &Value, of: For<'_>) -> Result<Wanted, Problem> {
    let field = "spec.flinkDeployment";
    let mut spec = json!(object(Some(flink)));
    if flink.get("job").is_none_or(Value::is_null) {
        return invalid(format!(
            "{field}.job: is missing, and without one it never ends"
        ));
    }
    let conf = flink.get("flinkConfiguration").cloned().unwrap_or_default();
    refuse(&format!("{field}.flinkConfiguration"), &conf, &NOT_TO_SAY)?;
    let (cpu, memory) = (has(of, "cpu"), has(of, "memory") / (1 << 20));
    if cpu == 0 || memory == 0 {
        return Err(Problem {
            reason: "PodsTooLarge",
            message: format!(
                "{field}.taskManager: needs cpu and memory; a slot of testbed {} has {cpu}m cpu and {memory}Mi memory",
                of.request.testbed
            ),
        });
    }
    let replication = i64::from(of.request.replication);
    let said = conf.get(TASK_SLOTS);
    let said = said.and_then(|one| one.as_i64().or_else(|| one.as_str()?.parse().ok()));
    let task_slots = said.unwrap_or(1).clamp(1, 1_000);
    let configuration = at(&mut spec, &["flinkConfiguration"]);
    configuration.insert(TASK_SLOTS.to_owned(), json!(task_slots.to_string()));
    let job = at(&mut spec, &["job"]);
    job.insert("parallelism".to_owned(), json!(replication * task_slots));
    let scheduler = json!(of.settings.scheduler_name);
    at(&mut spec, &["podTemplate", "metadata", "labels"]).extend(gang(of));
    let pod = at(&mut spec, &["podTemplate", "spec"]);
    pod.insert("schedulerName".to_owned(), scheduler.clone());
    let workers = at(&mut spec, &["taskManager"]);
    workers.remove("resources");
    workers.insert("replicas".to_owned(), json!(replication));
    let mut resource = json!({"memory": format!("{memory}m")});
    resource["cpu"] = if cpu % 1_000 == 0 {
        json!(cpu / 1_000)
    } else {
        // A number with at most three decimals, as the operator reads it.
        let text = format!("{}.{:03}", cpu / 1_000, cpu % 1_000);
        json!(text.parse::<f64>().unwrap_or_default())
    };
    workers.insert("resource".to_owned(), resource);
    let labels = at(
        &mut spec,
        &["taskManager", "podTemplate", "metadata", "labels"],
    );
    labels.extend(claim(of)?);
    let pod = at(&mut spec, &["taskManager", "podTemplate", "spec"]);
    pod.insert("schedulerName".to_owned(), scheduler);
    for field in ["podTemplate", "taskManager.podTemplate"] {
        beside(field, &spec, (cpu, memory), of)?;
    }
    let mut minimum = Map::new();
    minimum.insert("minAvailable".to_owned(), json!(1));
    Ok(Wanted {
        group: group(of, None, &minimum),
        application: json!({
            "apiVersion": "flink.apache.org/v1beta1",
            "kind": "FlinkDeployment",
            "metadata": metadata(of, None),
            "spec": spec,
        }),
    })
}

/// Whether whoever is in a pod beside the TaskManager fits into the slot as well.
fn beside(
    field: &str,
    spec: &Value,
    (cpu, memory): (i64, i64),
    of: For<'_>,
) -> Result<(), Problem> {
    let path = format!("/{}/spec", field.replace('.', "/"));
    let pod = spec.pointer(&path).cloned().unwrap_or_default();
    let requests = json!({"cpu": format!("{cpu}m"), "memory": format!("{memory}Mi")});
    let mut containers = vec![json!({"name": MAIN, "resources": {"requests": requests}})];
    let others = pod.get("containers").and_then(Value::as_array);
    let others = others.into_iter().flatten();
    let others = others.filter(|one| one.get("name").and_then(Value::as_str) != Some(MAIN));
    containers.extend(others.cloned());
    let mut all = json!({"containers": containers});
    if let Some(first) = pod.get("initContainers") {
        all["initContainers"] = first.clone();
    }
    fits(&format!("spec.flinkDeployment.{field}.spec"), &all, of)
}
