//! What the pages of `docs/migrate` show works as they say: all their pods start.

use crate::simulate_cli::json;
use std::path::Path;

/// Room for everything that a page shows.
const NODE: &str = "
apiVersion: v1
kind: Node
metadata: {name: n}
status: {allocatable: {cpu: \"16\", memory: 64Gi, pods: \"110\"}}
---
";

/// The blocks of YAML on a page.
fn blocks(page: &str) -> Vec<&str> {
    let begun = page.split("```yaml\n").skip(1);
    begun
        .map(|rest| rest.split_once("```").unwrap().0)
        .collect()
}

/// Plays what a page shows by the configuration that it shows; how many pods there were.
fn play(name: &str) -> usize {
    let path = format!("{}/docs/migrate/{name}.md", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(path).unwrap();
    let (configuration, objects): (Vec<&str>, Vec<&str>) = blocks(&page)
        .into_iter()
        .partition(|block| block.contains("config.muster.dev"));
    let scenario = format!("{NODE}{}", objects.join("---\n"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("muster.yaml");
    let mut arguments = vec!["--until", "1m"];
    if let [configuration] = configuration[..] {
        std::fs::write(&file, configuration).unwrap();
        arguments.extend(["--config", path_of(&file)]);
    }
    let report = json(&scenario, &arguments);
    let pods = report["pods"].as_array().unwrap();
    for pod in pods {
        assert!(!pod["boundAt"].is_null(), "{name}: {pod}");
    }
    pods.len()
}

fn path_of(file: &Path) -> &str {
    file.to_str().unwrap()
}

#[test]
fn what_the_pages_on_moving_over_show_starts_as_it_is() {
    for (name, pods) in [
        ("coscheduling", 4),
        ("kube-scheduler", 4),
        ("kueue", 5),
        ("volcano", 3),
        ("yunikorn", 3),
    ] {
        assert_eq!(play(name), pods, "{name}");
    }
}
