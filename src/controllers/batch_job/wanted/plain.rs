//! A Job and its PodGroup.

use super::{For, Problem, Wanted, at, claim, fill, fits, group, invalid, metadata, object};
use serde_json::{Map, Value, json};

/// Fields of a Job that would have it made otherwise, or gone before its end is seen.
const NOT_KEPT: [&str; 4] = [
    "ttlSecondsAfterFinished",
    "selector",
    "manualSelector",
    "suspend",
];

pub(super) fn wanted(
    job: &Value,
    template: Option<&Value>,
    of: For<'_>,
) -> Result<Wanted, Problem> {
    Ok(Wanted {
        group: group_of(template, of)?,
        application: application(job, of)?,
    })
}

/// The PodGroup: as its template says, with a minimum of all pods or more.
fn group_of(template: Option<&Value>, of: For<'_>) -> Result<Value, Problem> {
    let mut fields = template.and_then(Value::as_object).into_iter().flatten();
    if let Some((name, _)) = fields.find(|(name, _)| *name != "metadata" && *name != "spec") {
        let field = "spec.podGroupTemplate";
        return invalid(format!(
            "{field}.{name}: it has metadata and spec, and nothing else"
        ));
    }
    let spec = template.and_then(|template| template.get("spec"));
    let mut spec: Map<String, Value> = object(spec);
    let minimum = spec.get("minAvailable").and_then(Value::as_i64);
    let replication = i64::from(of.request.replication);
    let minimum = minimum.unwrap_or_default().max(replication);
    spec.insert("minAvailable".to_owned(), json!(minimum));
    Ok(group(
        of,
        template.and_then(|one| one.get("metadata")),
        &spec,
    ))
}

fn application(job: &Value, of: For<'_>) -> Result<Value, Problem> {
    let field = "spec.job.spec.template.spec";
    let mut spec = json!(object(job.get("spec")));
    let fields = at(&mut spec, &[]);
    for name in NOT_KEPT {
        fields.remove(name);
    }
    let replication = i64::from(of.request.replication);
    let completions = fields.get("completions").and_then(Value::as_i64);
    let completions = completions.unwrap_or_default().max(replication);
    fields.insert("parallelism".to_owned(), json!(replication));
    fields.insert("completions".to_owned(), json!(completions));
    at(&mut spec, &["template", "metadata", "labels"]).extend(claim(of)?);
    let pod = at(&mut spec, &["template", "spec"]);
    let scheduler = json!(of.settings.scheduler_name);
    pod.insert("schedulerName".to_owned(), scheduler);
    pod.entry("restartPolicy").or_insert_with(|| json!("Never"));
    match pod.get_mut("containers").and_then(Value::as_array_mut) {
        Some(containers) => match containers.as_mut_slice() {
            [] => return invalid(format!("{field}.containers: is empty")),
            [one] => fill(&format!("{field}.containers[0]"), one, of)?,
            // What each of several asks for, nobody but the user can say.
            _ => {}
        },
        None => return invalid(format!("{field}.containers: is missing")),
    }
    fits(field, &json!(pod), of)?;
    Ok(json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(of, job.get("metadata")),
        "spec": spec,
    }))
}
