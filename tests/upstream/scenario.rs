//! A case as a file that `muster simulate` plays.

use super::case::{Case, KINDS};
use serde_json::Value;
use std::fmt::Write;
use std::path::PathBuf;

/// Writes a case with what differs into a file of Cargo's folder for tests, and gives its path.
pub(crate) fn write(seed: u64, case: &Case, differences: &[String]) -> PathBuf {
    let mut text = format!("# Case {seed} of tests/upstream, made smaller. What differs:\n");
    for line in differences {
        writeln!(text, "#   {}", line.replace('\n', " ")).unwrap();
    }
    if !case.args.is_empty() {
        writeln!(text, "# Arguments: {}", Value::Object(case.args.clone())).unwrap();
    }
    for (field, version, kind) in KINDS {
        for object in case.of_kind(field) {
            let mut object = object.clone();
            object["apiVersion"] = version.into();
            object["kind"] = kind.into();
            document(&mut text, &object);
        }
    }
    for object in case.nodes.iter().chain(&case.pods).chain([&case.pod]) {
        document(&mut text, object);
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("upstream");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{seed}.yaml"));
    std::fs::write(&path, text).unwrap();
    path
}

/// JSON is YAML.
fn document(text: &mut String, object: &Value) {
    writeln!(
        text,
        "---\n{}",
        serde_json::to_string_pretty(object).unwrap()
    )
    .unwrap();
}
