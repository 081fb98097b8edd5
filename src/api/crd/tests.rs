//! What the rules of our kinds accept and refuse, without a server.
#![expect(clippy::needless_pass_by_value, reason = "json! reads best as it is")]

use super::*;
use serde_json::{Value, json};

fn group(spec: Value) -> PodGroup {
    let value = json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "n"}, "spec": spec,
    });
    serde_json::from_value(value).unwrap()
}

fn subgroups(count: usize) -> Value {
    (0..count)
        .map(|index| json!({"name": format!("s{index}")}))
        .collect()
}

#[test]
fn pod_groups_that_can_be_valid_are_accepted() {
    let accepted = [
        json!({}),
        json!({"minAvailable": 3, "queue": "q", "priorityClassName": "high", "lifetime": "0s"}),
        json!({"minAvailable": 0, "minResources": {"cpu": 1, "memory": "1Gi"}, "priority": -5}),
        json!({"lifetime": "1h30m"}),
        json!({"lifetime": "1.5h"}),
        json!({"subgroups": [{"name": "a", "min": 2, "max": 2}, {"name": "b", "min": 0}]}),
        json!({"minAvailable": 5, "subgroups": [{"name": "a", "max": 2}, {"name": "b", "max": 3}]}),
        json!({"minAvailable": 50, "subgroups": [{"name": "a", "max": 2}, {"name": "b"}]}),
        json!({"subgroups": subgroups(64), "nodeSelector": {"a": ""}}),
        json!({"subgroups": [{"name": "a", "min": 0}], "minResources": {"cpu": "1"}}),
        json!({"minAvailable": 2, "replicas": 2}),
        json!({"replicas": 7, "subgroups": [{"name": "a", "min": 2}, {"name": "b", "min": 3}]}),
        json!({"disruption": {}}),
        json!({"disruption": {"policy": "Preempt"}}),
        json!({"disruption": {"policy": "Repair", "deadline": "2m"}}),
    ];
    for spec in accepted {
        assert_eq!(validate(&group(spec.clone())), Ok(()), "{spec}");
    }
}

#[test]
fn pod_groups_that_never_could_be_valid_are_refused_with_the_field() {
    let long = "x".repeat(254);
    let refused = [
        (
            json!({"minAvailable": -1}),
            "spec.minAvailable: must be between 0",
        ),
        (
            json!({"minAvailable": 0}),
            "minAvailable 0 needs minResources",
        ),
        (
            json!({"minAvailable": 0, "minResources": {}}),
            "minAvailable 0 needs minResources",
        ),
        (
            json!({"priority": 1, "priorityClassName": "a"}),
            "exclude each other",
        ),
        (
            json!({"priority": 1_000_000_001}),
            "spec.priority: must be between",
        ),
        (
            json!({"queue": ""}),
            "spec.queue: must have between 1 and 253",
        ),
        (
            json!({"queue": long}),
            "spec.queue: must have between 1 and 253",
        ),
        (
            json!({"priorityClassName": ""}),
            "spec.priorityClassName: must have",
        ),
        (
            json!({"lifetime": "soon"}),
            "spec.lifetime: must be a duration",
        ),
        (
            json!({"lifetime": "-1s"}),
            "spec.lifetime: must be a duration",
        ),
        (json!({"lifetime": ""}), "spec.lifetime: must be a duration"),
        (json!({"replicas": 0}), "spec.replicas: must be between 1"),
        (
            json!({"minAvailable": 3, "replicas": 2}),
            "replicas is below minAvailable",
        ),
        (
            json!({"replicas": 2, "subgroups": [{"name": "a", "min": 2}, {"name": "b"}]}),
            "replicas is below the sum of the subgroups' minima",
        ),
        (
            json!({"disruption": {"policy": "Repair"}}),
            "policy Repair needs a deadline",
        ),
        (
            json!({"disruption": {"deadline": "2m"}}),
            "policy Repair needs a deadline",
        ),
        (
            json!({"disruption": {"policy": "Repair", "deadline": "later"}}),
            "spec.disruption.deadline: must be a duration",
        ),
        (
            json!({"minResources": {"cpu": "many"}}),
            "spec.minResources.cpu: \"many\"",
        ),
        (
            json!({"subgroups": [{"name": "a", "min": 3, "max": 2}]}),
            "max is below min",
        ),
        (
            json!({"subgroups": [{"name": "a", "min": -1}]}),
            "min: must be between 0",
        ),
        (
            json!({"subgroups": [{"name": "a", "min": 0, "max": 0}, {"name": "b"}]}),
            "max: must be between 1",
        ),
        (
            json!({"subgroups": [{"name": ""}]}),
            "name: must have between 1 and 63",
        ),
        (
            json!({"subgroups": [{"name": "a"}, {"name": "a"}]}),
            "names must be unique",
        ),
        (
            json!({"subgroups": subgroups(65)}),
            "must have at most 64 items",
        ),
        (
            json!({"subgroups": [{"name": "a", "min": 0}]}),
            "minima are all 0",
        ),
        (
            json!({"minAvailable": 6, "subgroups": [{"name": "a", "max": 2}, {"name": "b", "max": 3}]}),
            "exceeds the sum of the subgroups' maxima",
        ),
    ];
    for (spec, wanted) in refused {
        let problems = validate(&group(spec.clone())).unwrap_err();
        let found = problems.iter().any(|problem| problem.contains(wanted));
        assert!(found && problems.len() == 1, "{spec}: {problems:?}");
    }
}

#[test]
fn what_the_rules_accept_conversion_can_read() {
    for lifetime in ["0", "0s", "90s", "1h30m", ".5s", "1.s", "+2m", "1µs"] {
        let group = group(json!({"lifetime": lifetime}));
        assert_eq!(validate(&group), Ok(()), "{lifetime}");
        assert_eq!(
            crate::convert::muster_gang(&group).invalid,
            None,
            "{lifetime}"
        );
    }
}

#[test]
fn queues_have_a_weight_of_at_least_one() {
    let queue = |spec: Value| {
        let value = json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": "Queue",
            "metadata": {"name": "q"}, "spec": spec,
        });
        validate_queue(&serde_json::from_value(value).unwrap())
    };
    assert_eq!(queue(json!({})), Ok(()));
    assert_eq!(queue(json!({"weight": 65535, "priority": -1})), Ok(()));
    for weight in [0, -1, 65536] {
        let problems = queue(json!({"weight": weight})).unwrap_err();
        assert!(
            problems[0].contains("spec.weight: must be between"),
            "{problems:?}"
        );
    }
}

#[test]
fn min_runtime_is_a_duration() {
    let queue = |min_runtime: &str| {
        let value = json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": "Queue",
            "metadata": {"name": "q"}, "spec": {"preemption": {"minRuntime": min_runtime}},
        });
        validate_queue(&serde_json::from_value(value).unwrap())
    };
    for span in ["0s", "10m", "1h30m"] {
        assert_eq!(queue(span), Ok(()), "{span}");
    }
    for span in ["soon", "-1s", ""] {
        let problems = queue(span).unwrap_err();
        assert!(
            problems[0].contains("spec.preemption.minRuntime: must be a duration"),
            "{problems:?}"
        );
    }
}

#[test]
fn testbeds_name_a_label_slots_and_what_a_slot_has() {
    let testbed = |change: fn(&mut Value)| {
        let mut value = json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": "Testbed", "metadata": {"name": "t"},
            "spec": {
                "nodeLabel": "example.com/testbed", "slotsPerNode": 2,
                "resourcesPerSlot": {"cpu": 2, "memory": "1Gi"},
            },
        });
        change(&mut value["spec"]);
        validate_testbed(&serde_json::from_value(value).unwrap())
    };
    assert_eq!(testbed(|_| {}), Ok(()));
    assert_eq!(testbed(|spec| spec["nodeLabel"] = json!("rack")), Ok(()));
    type Change = fn(&mut Value);
    let refused: [(Change, &str); 5] = [
        (
            |spec| spec["slotsPerNode"] = json!(0),
            "spec.slotsPerNode: must be between 1 and 100",
        ),
        (
            |spec| spec["slotsPerNode"] = json!(101),
            "spec.slotsPerNode: must be between 1 and 100",
        ),
        (
            |spec| spec["nodeLabel"] = json!("/x"),
            "spec.nodeLabel: must be the name of a label",
        ),
        (
            |spec| spec["resourcesPerSlot"] = json!({}),
            "spec.resourcesPerSlot: must name at least one resource",
        ),
        (
            |spec| spec["resourcesPerSlot"] = json!({"cpu": "many"}),
            "spec.resourcesPerSlot.cpu: \"many\"",
        ),
    ];
    for (change, wanted) in refused {
        let problems = testbed(change).unwrap_err();
        let found = problems.iter().any(|problem| problem.contains(wanted));
        assert!(found && problems.len() == 1, "{wanted}: {problems:?}");
    }
}

fn queue_job(spec: Value) -> Result<(), Vec<String>> {
    let value = json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "QueueJob",
        "metadata": {"name": "q", "namespace": "n"}, "spec": spec,
    });
    validate_queue_job(&serde_json::from_value(value).unwrap())
}

#[test]
fn queue_jobs_that_can_be_valid_are_accepted() {
    let task = json!({"template": {"spec": {}}});
    let many: Vec<Value> = (0..64).map(|_| task.clone()).collect();
    let accepted = [
        json!({"taskSpecs": [task]}),
        json!({"taskSpecs": many, "schedSpec": {"minAvailable": 64}}),
        json!({"taskSpecs": [{"name": "a", "replicas": 0, "template": {}}], "backoffLimit": 0}),
        json!({
            "selector": {"matchLabels": {"a": "b"}},
            "schedSpec": {"minAvailable": 5, "priority": -7, "nodeSelector": {"a": ""}},
            "taskSpecs": [
                {"name": "a", "replicas": 2, "template": {}},
                {"name": "b-0", "replicas": 3, "template": {}},
                {"template": {}},
            ],
            "ttlSecondsAfterFinished": 0,
        }),
    ];
    for spec in accepted {
        assert_eq!(queue_job(spec.clone()), Ok(()), "{spec}");
    }
}

#[test]
fn queue_jobs_that_never_could_be_valid_are_refused_with_the_field() {
    let task =
        |name: &str, replicas: i32| json!({"name": name, "replicas": replicas, "template": {}});
    let many: Vec<Value> = (0..65).map(|_| json!({"template": {}})).collect();
    let refused = [
        (
            json!({"taskSpecs": []}),
            "spec.taskSpecs: must have between 1 and 64",
        ),
        (
            json!({"taskSpecs": many}),
            "spec.taskSpecs: must have between 1 and 64",
        ),
        (
            json!({"taskSpecs": [task("a", 1), task("a", 1)]}),
            "spec.taskSpecs: names must be unique",
        ),
        (
            json!({"taskSpecs": [task("0", 1)]}),
            "name: must have at most 63",
        ),
        (
            json!({"taskSpecs": [task("a-", 1)]}),
            "name: must have at most 63",
        ),
        (
            json!({"taskSpecs": [task("a", -1)]}),
            "replicas: must be between 0 and 10000",
        ),
        (
            json!({"taskSpecs": [task("a", 10_001)]}),
            "replicas: must be between 0 and 10000",
        ),
        (
            json!({"taskSpecs": [task("a", 2)], "schedSpec": {"minAvailable": 3}}),
            "minAvailable exceeds the sum of the replicas",
        ),
        (
            json!({"taskSpecs": [task("a", 2)], "schedSpec": {"minAvailable": -1}}),
            "minAvailable: must be between 0",
        ),
        (
            json!({"taskSpecs": [task("a", 2)], "schedSpec": {"priority": 1, "priorityClassName": "a"}}),
            "exclude each other",
        ),
        (
            json!({"taskSpecs": [task("a", 2)], "backoffLimit": -1}),
            "spec.backoffLimit: must be between 0",
        ),
        (
            json!({"taskSpecs": [task("a", 2)], "ttlSecondsAfterFinished": -1}),
            "spec.ttlSecondsAfterFinished: must be between 0",
        ),
    ];
    for (spec, wanted) in refused {
        let problems = queue_job(spec.clone()).unwrap_err();
        let found = problems.iter().any(|problem| problem.contains(wanted));
        assert!(found && problems.len() == 1, "{spec}: {problems:?}");
    }
}
