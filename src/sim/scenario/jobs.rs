//! The pods a `batch/v1` Job makes, named `name-0`, `name-1`, ...

use serde_json::{Value, json};

/// More pods than this of one job are taken for a slip.
const MAX_PODS: u64 = 1_000_000;

/// What a job makes.
pub(super) struct Made {
    /// Its pods, in order.
    pub(super) pods: Vec<Value>,
    /// How many of them may be unfinished at a time.
    pub(super) parallelism: usize,
}

/// Expands a job. Source of the rules: the documentation of `batch/v1` Job: `parallelism` and
/// `completions` are 1 by default, without `completions` every pod of `parallelism` counts.
pub(super) fn expand(job: &Value) -> Result<Made, String> {
    let spec = &job["spec"];
    let number = |field: &str| match spec[field].as_i64() {
        Some(found) => u64::try_from(found)
            .map(Some)
            .map_err(|_| format!("spec.{field}: {found} is negative")),
        None => Ok(None),
    };
    let parallelism = number("parallelism")?.unwrap_or(1);
    let indexed = spec["completionMode"] == "Indexed";
    let completions = match number("completions")? {
        Some(completions) => completions,
        None if indexed => return Err("spec.completions is missing for mode Indexed".to_owned()),
        None => parallelism,
    };
    if completions > MAX_PODS {
        return Err(format!(
            "spec.completions: {completions} are too many: at most {MAX_PODS} are played"
        ));
    }
    let suspended = spec["suspend"] == true;
    let parallelism = if suspended { 0 } else { parallelism };
    let pods = (0..completions).map(|index| pod(job, index, indexed));
    Ok(Made {
        pods: pods.collect(),
        parallelism: usize::try_from(parallelism).unwrap_or(usize::MAX),
    })
}

/// That of a Job of a cluster, else one of its own.
fn uid(job: &Value) -> String {
    let metadata = &job["metadata"];
    match metadata["uid"].as_str() {
        Some(uid) => uid.to_owned(),
        None => format!("job-{}", metadata["name"].as_str().unwrap_or_default()),
    }
}

fn pod(job: &Value, index: u64, indexed: bool) -> Value {
    let name = job["metadata"]["name"].as_str().unwrap_or_default();
    let template = &job["spec"]["template"];
    let mut metadata = template["metadata"].clone();
    if !metadata.is_object() {
        metadata = json!({});
    }
    metadata["name"] = format!("{name}-{index}").into();
    metadata["namespace"] = job["metadata"]["namespace"].clone();
    for key in ["batch.kubernetes.io/job-name", "job-name"] {
        metadata["labels"][key] = name.into();
    }
    if indexed {
        let key = "batch.kubernetes.io/job-completion-index";
        metadata["labels"][key] = index.to_string().into();
        metadata["annotations"][key] = index.to_string().into();
    }
    metadata["ownerReferences"] = json!([{
        "apiVersion": "batch/v1", "kind": "Job", "name": name, "controller": true,
        "uid": uid(job),
    }]);
    json!({"metadata": metadata, "spec": template["spec"]})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(spec: &Value) -> Value {
        json!({"metadata": {"name": "j", "namespace": "n"}, "spec": spec})
    }

    #[test]
    fn completions_and_parallelism_have_their_defaults() {
        let count = |spec: Value| {
            let made = expand(&job(&spec)).unwrap();
            (made.pods.len(), made.parallelism)
        };
        assert_eq!(count(json!({})), (1, 1));
        assert_eq!(count(json!({"parallelism": 3})), (3, 3));
        assert_eq!(count(json!({"parallelism": 2, "completions": 5})), (5, 2));
        assert_eq!(count(json!({"parallelism": 2, "suspend": true})), (2, 0));
        let refused = |spec: Value| expand(&job(&spec)).err().unwrap();
        assert!(refused(json!({"completionMode": "Indexed"})).contains("spec.completions"));
        assert_eq!(
            refused(json!({"parallelism": -3})),
            "spec.parallelism: -3 is negative"
        );
        assert!(refused(json!({"parallelism": 2_000_000})).contains("at most 1000000"));
    }

    #[test]
    fn pods_carry_their_owner_their_index_and_the_template() {
        let made = expand(&job(&json!({
            "completions": 2, "completionMode": "Indexed",
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"x": 1}},
        })));
        let pod = &made.unwrap().pods[1];
        let metadata = &pod["metadata"];
        assert_eq!(metadata["name"], "j-1");
        assert_eq!(metadata["namespace"], "n");
        assert_eq!(metadata["labels"]["a"], "b");
        assert_eq!(metadata["labels"]["job-name"], "j");
        let key = "batch.kubernetes.io/job-completion-index";
        assert_eq!(metadata["annotations"][key], "1");
        assert_eq!(metadata["ownerReferences"][0]["controller"], true);
        assert_eq!(pod["spec"]["x"], 1);
    }
}
