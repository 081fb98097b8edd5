//! What is written is read again, and what cannot be is said in a sentence.

use super::*;
use serde_json::json;

fn written(objects: &[Value]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), false).unwrap();
    for object in objects {
        writer.object(object).unwrap();
    }
    writer.end("2026-01-31T12:00:00Z").unwrap().0
}

fn read(bytes: &[u8]) -> Result<Vec<Value>, SnapshotError> {
    let text = String::from_utf8(decompressed(bytes)?).unwrap();
    let contents = contents(&text).unwrap()?;
    assert_eq!(contents.taken_at, "2026-01-31T12:00:00Z");
    let objects = contents.objects.into_iter();
    Ok(objects
        .map(|(_, line)| serde_json::from_str(line).unwrap())
        .collect())
}

#[test]
fn what_is_written_is_read_again() {
    let objects = [json!({"kind": "A"}), json!({"kind": "B", "text": "a\nb"})];
    let bytes = written(&objects);
    assert!(is_compressed(&bytes));
    assert_eq!(read(&bytes).unwrap(), objects);
    assert!(contents("kind: Snapshot\n").is_none());
    assert!(
        contents("{\"apiVersion\": \"v1\", \"kind\": \"Snapshot\", \"muster\": \"1\"}\n").is_none()
    );
}

#[test]
fn a_snapshot_that_cannot_be_used_is_refused_with_the_reason() {
    let bytes = written(&[json!({"kind": "A"}), json!({"kind": "B"})]);
    for cut in [11, bytes.len() / 2, bytes.len() - 1] {
        let said = read(&bytes[..cut]).unwrap_err();
        assert!(matches!(said, SnapshotError::CutOff(_)), "{said}");
    }
    let mut damaged = bytes.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xff;
    assert!(decompressed(&damaged).is_err());
    let text = String::from_utf8(decompressed(&bytes).unwrap()).unwrap();
    let said = |text: &str| contents(text).unwrap().unwrap_err().to_string();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.remove(1);
    assert_eq!(
        said(&lines.join("\n")),
        "it is damaged: it has 1 objects, and says that it has 2"
    );
    lines.pop();
    assert_eq!(said(&lines.join("\n")), "it is cut off: its end is missing");
    let newer = text.replace(
        "dev/v1\",\"kind\":\"Snapshot\"",
        "dev/v2\",\"kind\":\"Snapshot\"",
    );
    let words = "it is a snapshot of version \"snapshot.muster.dev/v2\", written by muster ";
    assert!(said(&newer).starts_with(words), "{}", said(&newer));
}

#[test]
fn what_is_not_read_is_not_in_it() {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "a", "namespace": "n", "uid": "u", "creationTimestamp": "2026-01-31T12:00:00Z",
            "annotations": {"acme.example/token": "SECRET", "muster.dev/lifetime": "5m"},
            "managedFields": [{"manager": "SECRET"}],
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "SECRET", "name": "SECRET", "uid": "1"},
                {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "2", "controller": true},
            ],
        },
        "spec": {
            "serviceAccountName": "SECRET", "imagePullSecrets": [{"name": "SECRET"}],
            "resourceClaims": [{"name": "SECRET"}],
            "containers": [{
                "name": "c", "image": "i", "command": ["SECRET"], "args": ["SECRET"],
                "env": [{"name": "A", "value": "SECRET"}], "envFrom": [{"secretRef": {"name": "SECRET"}}],
                "lifecycle": {"preStop": {"exec": {"command": ["SECRET"]}}},
                "livenessProbe": {"exec": {"command": ["SECRET"]}},
                "resources": {"requests": {"cpu": "1"}},
            }],
            "volumes": [{"name": "v", "secret": {"secretName": "SECRET"}}],
        },
        "status": {"phase": "Running", "podIP": "10.0.0.1", "message": "SECRET"},
    });
    let reducer = Reducer::default();
    reducer.reduce(&mut pod).unwrap();
    let text = pod.to_string();
    // That there is a claim of a device is read, and not which.
    let rest = text.replace("{\"name\":\"SECRET\"}", "{}");
    assert!(!rest.contains("SECRET"), "{text}");
    assert_eq!(
        pod["metadata"]["annotations"],
        json!({"muster.dev/lifetime": "5m"})
    );
    assert_eq!(pod["metadata"]["ownerReferences"][0]["name"], "j");
    assert_eq!(
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"],
        "1"
    );

    let mut job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"},
        "spec": {"completions": 2, "template": {"spec": {"containers": [{
            "name": "c", "command": ["SECRET"], "env": [{"name": "SECRET"}],
            "resources": {"requests": {"cpu": "1"}}}]}}},
    });
    reducer.reduce(&mut job).unwrap();
    assert!(!job.to_string().contains("SECRET"), "{job}");
    let requests = "/spec/template/spec/containers/0/resources/requests/cpu";
    assert_eq!(job.pointer(requests).unwrap(), "1");

    for (kind, words) in [
        ("Secret", "kind \"Secret\" is not read"),
        ("ConfigMap", "kind"),
    ] {
        let mut other = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "s"}});
        let said = reducer.reduce(&mut other).unwrap_err().to_string();
        assert!(said.contains(words), "{said}");
    }
    let mut odd =
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {"nodeName": 1}});
    assert!(matches!(reducer.reduce(&mut odd), Err(Unread::Object(_))));
}

#[test]
fn names_are_replaced_and_equal_ones_by_equal_ones() {
    let mut names = Names::default();
    let mut node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "acme-12", "labels": {
            "kubernetes.io/hostname": "acme-12", "acme.example/rack": "acme-r7", "tier": "3"}},
        "status": {"allocatable": {"cpu": "4", "nvidia.com/gpu": "8", "acme.example/card": "1"}},
    });
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "acme-0", "namespace": "acme", "labels": {
            "muster.dev/pod-group": "acme-gang", "training.kubeflow.org/replica-type": "worker"},
            "annotations": {"yunikorn.apache.org/task-groups": "[{\"name\": \"acme\", \"minMember\": 2}]"}},
        "spec": {"nodeName": "acme-12", "schedulerName": "muster",
            "nodeSelector": {"acme.example/rack": "acme-r7"},
            "priorityClassName": "system-node-critical",
            "affinity": {"x": [{"key": "acme.example/rack", "operator": "In", "values": ["acme-r7"]}]}},
        "status": {"phase": "Pending", "message": "acme", "selector": "muster.dev/pod-group=acme-gang,x=acme"},
    });
    for object in [&mut node, &mut pod] {
        names.replace(object);
        assert!(!object.to_string().contains("acme"), "{object}");
    }
    let name = node["metadata"]["name"].as_str().unwrap();
    assert!(name.ends_with("-12"), "{name}");
    assert_eq!(node["metadata"]["labels"]["kubernetes.io/hostname"], name);
    assert_eq!(pod["spec"]["nodeName"], name);
    let labels = node["metadata"]["labels"].as_object().unwrap();
    let (rack, at) = labels
        .iter()
        .find(|(_, value)| value.as_str().unwrap().ends_with('7'))
        .unwrap();
    assert_eq!(&pod["spec"]["nodeSelector"][rack], at);
    let term = &pod["spec"]["affinity"]["x"][0];
    assert_eq!((&term["key"], &term["values"][0]), (&json!(rack), at));
    assert_eq!(term["operator"], "In");
    let labels = &pod["metadata"]["labels"];
    assert_eq!(labels["training.kubeflow.org/replica-type"], "worker");
    let gang = labels["muster.dev/pod-group"].as_str().unwrap();
    let selector = pod["status"]["selector"].as_str().unwrap();
    let words = format!("muster.dev/pod-group={gang},");
    assert!(selector.starts_with(&words), "{selector}");
    let offered = node["status"]["allocatable"].as_object().unwrap();
    assert_eq!(
        (&offered["cpu"], &offered["nvidia.com/gpu"]),
        (&json!("4"), &json!("8"))
    );
    assert_eq!(pod["spec"]["schedulerName"], "muster");
    assert_eq!(pod["spec"]["priorityClassName"], "system-node-critical");
    let groups = &pod["metadata"]["annotations"]["yunikorn.apache.org/task-groups"];
    assert!(
        groups.as_str().unwrap().contains("\"minMember\":2"),
        "{groups}"
    );
}

#[test]
fn numbers_amounts_and_dates_are_no_names() {
    for text in [
        "8",
        "1500m",
        "1Gi",
        "90s",
        "1h30m",
        "2026-01-31T12:00:00Z",
        "0_3_4",
        "0,2-5",
        "50%",
    ] {
        assert!(is_kept(text), "{text}");
    }
    for text in ["10.0.0.1", "10.0.0.1:80", "7b", "n1", "1password"] {
        assert!(!is_kept(text), "{text}");
    }
}

fn is_kept(text: &str) -> bool {
    let mut value = json!({"a": text});
    Names::default().replace(&mut value);
    value["a"] == text
}
