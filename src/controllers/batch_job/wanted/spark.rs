//! A SparkApplication (`sparkoperator.k8s.io/v1beta2`), whose executors fill their slots exactly.
//!
//! Its gang is a PodGroup of ours, with the driver as its minimum: the driver makes the executors, and their
//! room is held by ghosts. `batchScheduler` is taken off: what the operator makes by it is a PodGroup of
//! `scheduling.x-k8s.io` or of Volcano that asks for the executors' room beside the slots. Who places the pods is said by
//! `schedulerName`, which the operator's webhook writes.

use super::{
    For, Problem, Wanted, at, claim, fits, gang, group, has, invalid, metadata, object, refuse,
};
use muster_model::units::{Quantity, thousandths_in_text};
use serde_json::{Map, Value, json};

/// Settings of Spark that add to what an executor asks for, or say how many there are and who places them.
const NOT_TO_SAY: [&str; 15] = [
    "spark.dynamicAllocation.enabled",
    "spark.executor.cores",
    "spark.executor.instances",
    "spark.executor.memory",
    "spark.executor.memoryOverhead",
    "spark.executor.memoryOverheadFactor",
    "spark.executor.pyspark.memory",
    "spark.executor.resource.gpu.amount",
    "spark.kubernetes.driver.scheduler.name",
    "spark.kubernetes.executor.limit.cores",
    "spark.kubernetes.executor.request.cores",
    "spark.kubernetes.executor.scheduler.name",
    "spark.kubernetes.memoryOverheadFactor",
    "spark.kubernetes.scheduler.name",
    "spark.memory.offHeap.size",
];

/// The least memory of an executor, in MiB (source: Spark's `UnifiedMemoryManager`: 1.5 times what it reserves).
const LEAST: i64 = 450;
/// The least overhead (source: Spark's `spark.executor.minMemoryOverhead`).
const LEAST_OVERHEAD: i64 = 384;

pub(super) fn wanted(spark: &Value, of: For<'_>) -> Result<Wanted, Problem> {
    let field = "spec.sparkApplication";
    let mut spec = json!(object(Some(spark)));
    if spark.pointer("/dynamicAllocation/enabled") == Some(&json!(true)) {
        return invalid(format!(
            "{field}.dynamicAllocation.enabled: there are as many executors as the slots say"
        ));
    }
    let conf = spark.get("sparkConf").cloned().unwrap_or_default();
    refuse(&format!("{field}.sparkConf"), &conf, &NOT_TO_SAY)?;
    let fields = at(&mut spec, &[]);
    fields.remove("timeToLiveSeconds");
    fields.remove("suspend");
    fields.remove("batchScheduler");
    let options = object(fields.remove("batchSchedulerOptions").as_ref());
    let class = options.get("priorityClassName");
    let scheduler = json!(of.settings.scheduler_name);
    for role in ["driver", "executor"] {
        let pod = at(&mut spec, &[role]);
        pod.insert("schedulerName".to_owned(), scheduler.clone());
        if let Some(class) = class {
            let own = pod.entry("priorityClassName");
            own.or_insert_with(|| class.clone());
        }
    }
    at(&mut spec, &["driver", "labels"]).extend(gang(of));
    at(&mut spec, &["executor", "labels"]).extend(claim(of)?);
    executor(spark, at(&mut spec, &["executor"]), of)?;
    let mut minimum = Map::new();
    minimum.insert("minAvailable".to_owned(), json!(1));
    for name in ["queue", "priorityClassName"] {
        if let Some(value) = options.get(name) {
            minimum.insert(name.to_owned(), value.clone());
        }
    }
    Ok(Wanted {
        group: group(of, None, &minimum),
        application: json!({
            "apiVersion": "sparkoperator.k8s.io/v1beta2",
            "kind": "SparkApplication",
            "metadata": metadata(of, None),
            "spec": spec,
        }),
    })
}

/// Has the executors ask for exactly what a slot holds of CPU and memory.
fn executor(spark: &Value, pod: &mut Map<String, Value>, of: For<'_>) -> Result<(), Problem> {
    let field = "spec.sparkApplication.executor";
    let (cpu, memory) = (has(of, "cpu"), has(of, "memory") / (1 << 20));
    if cpu == 0 || memory < LEAST {
        return Err(Problem {
            reason: "PodsTooLarge",
            message: format!(
                "{field}: an executor needs cpu and at least {LEAST}Mi memory; a slot of testbed {} has {cpu}m cpu and \
                 {memory}Mi memory",
                of.request.testbed
            ),
        });
    }
    pod.insert("instances".to_owned(), json!(of.request.replication));
    pod.insert("coreRequest".to_owned(), json!(thousandths_in_text(cpu)));
    pod.entry("cores")
        .or_insert_with(|| json!((cpu / 1_000).max(1)));
    if let Some(limit) = pod.get("coreLimit").and_then(Value::as_str) {
        let limit_is = Quantity::parse(limit).map_or(0, Quantity::milli_value);
        if limit_is < cpu {
            let slot = thousandths_in_text(cpu);
            return invalid(format!(
                "{field}.coreLimit: {limit} is below the slot's {slot}, which an executor asks for"
            ));
        }
    }
    let overhead = match pod.get("memoryOverhead") {
        None => usual_overhead(spark, memory),
        Some(said) => {
            let text = said.as_str().unwrap_or_default();
            let read = mebibytes(text).filter(|overhead| memory - overhead >= LEAST);
            let Some(overhead) = read else {
                return invalid(format!(
                    "{field}.memoryOverhead: {text:?} is no amount such as 512m that leaves {LEAST}Mi of the slot's \
                     {memory}Mi"
                ));
            };
            overhead
        }
    };
    pod.insert(
        "memory".to_owned(),
        json!(format!("{}m", memory - overhead)),
    );
    pod.insert("memoryOverhead".to_owned(), json!(format!("{overhead}m")));
    // Whoever is in the pod beside the executor.
    let requests = json!({"cpu": thousandths_in_text(cpu), "memory": format!("{memory}Mi")});
    let mut containers = vec![json!({"name": "executor", "resources": {"requests": requests}})];
    let sidecars = pod.get("sidecars").and_then(Value::as_array);
    containers.extend(sidecars.into_iter().flatten().cloned());
    let mut spec = json!({"containers": containers});
    if let Some(first) = pod.get("initContainers") {
        spec["initContainers"] = first.clone();
    }
    fits(field, &spec, of)
}

/// Of the memory of a slot, the part that Spark would set aside beside the heap; less where too little is left.
fn usual_overhead(spark: &Value, memory: i64) -> i64 {
    // In thousandths of the heap: 0.1, and 0.4 where most is not in it.
    let of_others = matches!(
        spark.get("type").and_then(Value::as_str),
        Some("Python" | "R")
    );
    let factor = spark.get("memoryOverheadFactor").and_then(Value::as_str);
    let factor = factor.and_then(|text| Quantity::parse(text).ok());
    let factor = factor.map(|one| one.milli_value().clamp(0, 1_000_000));
    let factor = factor.unwrap_or(if of_others { 400 } else { 100 });
    // Rounded up.
    let part = (memory * factor + 999 + factor) / (1_000 + factor);
    part.max(LEAST_OVERHEAD).min(memory - LEAST)
}

/// Reads an amount of memory as Spark does where MiB are meant: `512m`, `1g`, `512`.
fn mebibytes(text: &str) -> Option<i64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: i64 = digits.parse().ok()?;
    let found = match text.strip_prefix(digits)? {
        "" | "m" | "mb" => number,
        "k" | "kb" => number.checked_add(1_023)? / 1_024,
        "g" | "gb" => number.checked_mul(1 << 10)?,
        "t" | "tb" => number.checked_mul(1 << 20)?,
        _ => return None,
    };
    (0..=1 << 40).contains(&found).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_as_spark_does() {
        let read = [
            ("512m", Some(512)),
            ("1g", Some(1_024)),
            ("7", Some(7)),
            ("1025k", Some(2)),
            ("2T", Some(2 << 20)),
            ("1Gi", None),
            ("-1m", None),
            ("m", None),
            ("99999999999999999999g", None),
            ("9999999999999999t", None),
        ];
        for (text, found) in read {
            assert_eq!(mebibytes(text), found, "{text}");
        }
    }

    #[test]
    fn heap_and_overhead_are_a_slot_together_and_the_overhead_what_spark_takes() {
        for memory in [450, 500, 834, 1_000, 4_096, 8_192, 100_000] {
            for kind in ["Java", "Python"] {
                let overhead = usual_overhead(&json!({"type": kind}), memory);
                let heap = memory - overhead;
                assert!(heap >= LEAST, "{memory}: {overhead}");
                let factor = if kind == "Java" { 10 } else { 40 };
                if memory >= 2 * LEAST {
                    assert!(overhead >= LEAST_OVERHEAD && overhead * 100 >= heap * factor);
                }
            }
        }
    }
}
