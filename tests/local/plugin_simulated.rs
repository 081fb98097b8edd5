//! A plugin in another process on virtual time: what `muster simulate` plays of docs/plugins.md.

use std::fs;
use std::path::Path;
use std::process::Command;

/// What becomes of scenario files with this configuration.
fn simulate(rest: &str, files: &[&Path]) -> serde_json::Value {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("muster.yaml");
    let text =
        format!("apiVersion: config.muster.dev/v1alpha1\nkind: SchedulerConfiguration\n{rest}\n");
    fs::write(&config, text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["simulate", "--output", "json", "--config"])
        .arg(&config)
        .args(files)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_example_of_the_document_is_placed_where_the_plugin_lets_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let report = simulate(
        "remotePlugins: [{name: licences, url: 'http://127.0.0.1:8888/', points: [Filter]}]",
        &[&root.join("examples/plugins/licences.yaml")],
    );
    let pod = &report["pods"][0];
    assert_eq!(pod["node"], "n2", "{report}");
    assert!(pod["boundAt"].as_f64().unwrap() >= 0.2, "{report}");
    let words = "node(s) had no licence solver";
    let document = fs::read_to_string(root.join("docs/plugins.md")).unwrap();
    assert!(document.contains(words));
}

#[test]
fn what_a_plugin_binds_is_bound_and_what_it_leaves_is_bound_by_muster() {
    let dir = tempfile::tempdir().unwrap();
    let scenario = dir.path().join("cards.yaml");
    let node = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n\
                status: {allocatable: {cpu: \"8\", memory: 8Gi, pods: \"110\"}}\n";
    let pod = |name: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{schedulerName: muster, \
             containers: [{{name: c, image: i, resources: {{requests: {{cpu: \"1\"}}}}}}]}}\n"
        )
    };
    let answers = "apiVersion: simulate.muster.dev/v1\nkind: PluginAnswers\nmetadata: {name: cards}\n\
                   plugin: cards\nanswers:\n\
                   - {point: Bind, pod: left, answer: skip, after: 500ms}\n\
                   - {point: Bind, pod: slow, answer: \"yes\", after: 30s}\n\
                   - {point: Bind, pod: later, answer: \"no\", message: no such card, times: 1}\n\
                   - {point: Bind, pod: dead, answer: never, times: 1}\n";
    let names = ["done", "left", "slow", "later", "dead"];
    let mut objects = vec![node.to_owned(), answers.to_owned()];
    objects.extend(names.map(pod));
    fs::write(&scenario, objects.join("---\n")).unwrap();
    let report = simulate(
        "remotePlugins: [{name: cards, url: 'http://127.0.0.1:8888/', points: [Bind]}]",
        &[&scenario],
    );
    let bound_at = |name: &str| {
        let mut pods = report["pods"].as_array().unwrap().iter();
        let pod = pods.find(|pod| pod["name"] == name).unwrap();
        assert_eq!(pod["node"], "n1", "{report}");
        pod["boundAt"].as_f64().unwrap()
    };
    // Who says yes has bound the pod by then, however late they say so.
    assert!(bound_at("done") < 0.1 && bound_at("slow") < 0.1, "{report}");
    assert!((0.5..0.6).contains(&bound_at("left")), "{report}");
    // What is refused is tried again after a while, and so is what nobody knows anything of.
    assert!(
        bound_at("later") >= 1.0 && bound_at("dead") >= 2.0,
        "{report}"
    );
}
