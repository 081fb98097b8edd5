//! What the pages of `docs/migrate` show works as they say: all their pods start where there is room for them, and with
//! one CPU less no gang does in part.

use crate::simulate_cli::json;
use std::path::Path;

/// A node with so many CPUs.
fn node(cpus: usize) -> String {
    format!(
        "apiVersion: v1
kind: Node
metadata: {{name: n}}
status: {{allocatable: {{cpu: \"{cpus}\", memory: 64Gi, pods: \"110\"}}}}
---
"
    )
}

/// The blocks of YAML on a page.
fn blocks(page: &str) -> Vec<&str> {
    let begun = page.split("```yaml\n").skip(1);
    begun
        .map(|rest| rest.split_once("```").unwrap().0)
        .collect()
}

/// The documents of pods whose names begin so, and all that is not of pods: but of Queues only those of which these
/// documents speak, for a Queue without work has a share of the room, too.
fn of_pods<'a>(documents: &[&'a str], begins: &str) -> Vec<&'a str> {
    let has_pods = |one: &str| one.contains("kind: Pod\n") || one.contains("kind: Job\n");
    let is_asked = |one: &&&str| has_pods(one) && one.contains(&format!("name: {begins}"));
    let pods = documents.iter().filter(is_asked).copied();
    let pods: Vec<&str> = pods.collect();
    let is_kept = |one: &&&str| {
        let queue = one.split_once("kind: Queue\nmetadata: {name: ");
        let name = queue.map(|(_, rest)| rest.split_once('}').unwrap().0);
        !has_pods(one) && name.is_none_or(|name| pods.iter().any(|one| one.contains(name)))
    };
    let others = documents.iter().filter(is_kept).copied();
    others.chain(pods.iter().copied()).collect()
}

/// Plays what a page shows of pods whose names begin so, by the configuration that it shows, on so many CPUs and for so
/// long: each of them, and whether it was bound.
fn play(name: &str, begins: &str, cpus: usize, until: &str) -> Vec<(String, bool)> {
    let path = format!("{}/docs/migrate/{name}.md", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(path).unwrap();
    let (configuration, objects): (Vec<&str>, Vec<&str>) = blocks(&page)
        .into_iter()
        .partition(|block| block.contains("config.muster.dev"));
    let objects = objects.join("---\n");
    let objects: Vec<&str> = objects.split("---\n").collect();
    let scenario = node(cpus) + &of_pods(&objects, begins).join("---\n");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("muster.yaml");
    let mut arguments = vec!["--until", until];
    if let [configuration] = configuration[..] {
        std::fs::write(&file, configuration).unwrap();
        arguments.extend(["--config", path_of(&file)]);
    }
    let report = json(&scenario, &arguments);
    let pods = report["pods"].as_array().unwrap().iter();
    pods.map(|pod| {
        let name = pod["name"].as_str().unwrap().to_owned();
        (name, !pod["boundAt"].is_null())
    })
    .collect()
}

fn path_of(file: &Path) -> &str {
    file.to_str().unwrap()
}

/// A page, how many pods it shows, and its gangs: how the names of their pods begin, and how many they are.
type Page = (&'static str, usize, &'static [(&'static str, usize)]);

const PAGES: [Page; 5] = [
    ("coscheduling", 4, &[("train", 2), ("older", 2)]),
    ("kube-scheduler", 4, &[("train", 2)]),
    ("kueue", 5, &[("train", 3), ("job", 2)]),
    ("volcano", 3, &[("train", 3)]),
    ("yunikorn", 3, &[("", 3)]),
];

#[test]
fn what_the_pages_on_moving_over_show_starts_as_it_is() {
    for (name, size, _) in PAGES {
        let pods = play(name, "", 16, "1m");
        assert_eq!(pods.len(), size, "{name}");
        assert!(pods.iter().all(|(_, bound)| *bound), "{name}: {pods:?}");
    }
}

/// Each pod asks for one CPU: if they were not one gang, all but one of them would start, or the driver.
#[test]
fn nothing_of_a_gang_that_they_show_starts_where_one_cpu_is_lacking() {
    for (name, _, gangs) in PAGES {
        for (begins, size) in gangs {
            let pods = play(name, begins, *size, "1m");
            assert_eq!(pods.len(), *size, "{name}: {pods:?}");
            assert!(pods.iter().all(|(_, bound)| *bound), "{name}: {pods:?}");
            // Before executors come that a driver makes when it runs.
            let pods = play(name, begins, size - 1, "4s");
            assert!(
                !pods.is_empty() && pods.iter().all(|(_, bound)| !bound),
                "{name}: {pods:?}"
            );
        }
    }
}
