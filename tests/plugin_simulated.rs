//! A plugin in another process on virtual time: what `muster simulate` plays of docs/plugins.md.

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn the_example_of_the_document_is_placed_where_the_plugin_lets_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("muster.yaml");
    let text = "apiVersion: config.muster.dev/v1alpha1\nkind: SchedulerConfiguration\n\
                remotePlugins: [{name: licences, url: 'http://127.0.0.1:8888/', points: [Filter]}]\n";
    fs::write(&config, text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["simulate", "--output", "json", "--config"])
        .arg(&config)
        .arg(root.join("examples/plugins/licences.yaml"))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let pod = &report["pods"][0];
    assert_eq!(pod["node"], "n2", "{report}");
    assert!(pod["boundAt"].as_f64().unwrap() >= 0.2, "{report}");
    let words = "node(s) had no licence solver";
    let document = fs::read_to_string(root.join("docs/plugins.md")).unwrap();
    assert!(document.contains(words));
}
