//! `muster simulate --html`: the page is there, says what the report says, asks nothing of anybody,
//! and stays small.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Plays a scenario; returns what was printed as JSON, and the page.
fn play(yaml: &str, arguments: &[&str]) -> (Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let output = simulate(folder.path(), yaml, arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), said.as_str()), (Some(0), ""));
    let page = fs::read_to_string(folder.path().join("day.html")).unwrap();
    (serde_json::from_slice(&output.stdout).unwrap(), page)
}

fn simulate(folder: &Path, yaml: &str, arguments: &[&str]) -> Output {
    fs::write(folder.join("day.yaml"), yaml).unwrap();
    Command::new(env!("CARGO_BIN_EXE_muster"))
        .current_dir(folder)
        .args(["simulate", "day.yaml", "--output", "json"])
        .args(["--html", "day.html"])
        .args(arguments)
        .output()
        .unwrap()
}

/// The page before its data, the data, and the page after it.
fn parts(page: &str) -> (&str, Value, &str) {
    let (before, rest) = page
        .split_once("<script type=\"application/json\" id=\"data\">")
        .unwrap();
    let (json, after) = rest.split_once("</script>").unwrap();
    (before, serde_json::from_str(json).unwrap(), after)
}

fn data(page: &str) -> Value {
    parts(page).1
}

/// A scenario without what it expects.
fn preemption() -> String {
    let text = include_str!("../scenarios/preemption-by-priority.yaml");
    let documents = text.split("---\n");
    let played: Vec<&str> = documents
        .filter(|one| !one.contains("kind: Expect"))
        .collect();
    played.join("---\n")
}

fn quickstart() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/quickstart.yaml");
    fs::read_to_string(path).unwrap()
}

/// Milliseconds of seconds.
fn millis(seconds: &Value) -> Option<u64> {
    Some((seconds.as_f64()? * 1000.0).round() as u64)
}

const WAITING: u64 = 0;
const RUNNING: u64 = 2;
const PREEMPTED: u64 = 3;
const OVER: u64 = 5;

/// The spans of a gang's row: state, from when on, pods.
fn spans(row: &Value) -> Vec<[u64; 3]> {
    let numbers: Vec<u64> = serde_json::from_value(row[8].clone()).unwrap();
    let spans = numbers.chunks_exact(3);
    spans.map(|one| [one[0], one[1], one[2]]).collect()
}

fn row<'a>(data: &'a Value, name: &str) -> &'a Value {
    let rows = data["gangs"].as_array().unwrap();
    rows.iter().find(|row| row[0] == name).unwrap()
}

#[test]
fn the_same_input_and_seed_give_the_same_page() {
    let once = || play(&quickstart(), &["--seed", "7"]).1;
    assert_eq!(once(), once());
}

#[test]
fn the_page_agrees_with_the_report() {
    let (report, page) = play(&quickstart(), &[]);
    let data = data(&page);
    assert_eq!(data["title"], "day.yaml");
    assert_eq!(data["end"].as_u64(), millis(&report["end"]));
    for figure in ["waitP50", "waitP99", "evictions", "makespan", "utilisation"] {
        assert_eq!(
            data["figures"][figure], report["metrics"][figure],
            "{figure}"
        );
    }
    let pods = report["pods"].as_array().unwrap();
    let of_nobody = pods.iter().filter(|pod| pod["podGroup"].is_null());
    let singles: Vec<&Value> = of_nobody.filter(|pod| !pod["queue"].is_null()).collect();
    let groups = report["podGroups"].as_array().unwrap();
    assert_eq!(data["figures"]["singles"], singles.len());
    assert_eq!(data["figures"]["gangs"], groups.len());
    assert_eq!(
        data["gangs"].as_array().unwrap().len(),
        singles.len() + groups.len()
    );
    for gang in groups {
        let name = format!(
            "{}/{}",
            gang["namespace"].as_str().unwrap(),
            gang["name"].as_str().unwrap()
        );
        let row = row(&data, &name);
        let ran = spans(row).into_iter().find(|span| span[0] == RUNNING);
        assert_eq!(
            ran.map(|span| span[1]),
            millis(&gang["scheduledAt"]),
            "{name}"
        );
        assert_eq!(row[7].as_u64(), millis(&gang["submittedAt"]), "{name}");
        assert_eq!(row[4], gang["minAvailable"], "{name}");
        let queue = &data["queues"][row[2].as_u64().unwrap() as usize];
        assert_eq!(queue["name"], gang["queue"], "{name}");
    }
    for pod in singles {
        let name = format!(
            "{}/{}",
            pod["namespace"].as_str().unwrap(),
            pod["name"].as_str().unwrap()
        );
        let spans = spans(row(&data, &name));
        let [state, end, _] = spans.last().unwrap();
        assert_eq!(
            (*state, Some(*end)),
            (OVER, millis(&pod["finishedAt"])),
            "{name}"
        );
    }
}

#[test]
fn the_last_point_of_a_queue_is_what_the_report_says_of_it() {
    let (report, page) = play(&quickstart(), &["--until", "20m"]);
    let data = data(&page);
    let mut used = 0.0;
    for queue in report["queues"].as_array().unwrap() {
        let mut curves = data["queues"].as_array().unwrap().iter();
        let curves = curves.find(|one| one["name"] == queue["name"]).unwrap();
        let last = |column: &str| {
            let column = curves[column].as_array().unwrap();
            column.last().unwrap().as_f64().unwrap() / 1000.0
        };
        let is = |field: &str| queue[field].as_f64().unwrap();
        assert!((last("u") - is("usage")).abs() < 1e-9, "{queue}");
        assert!((last("s") - is("fairShare")).abs() < 1e-9, "{queue}");
        assert!(
            is("flow") >= is("usage") && last("f") >= is("flow"),
            "{queue}"
        );
        used += is("usage");
    }
    assert!(used > 0.0, "somebody uses something after 20 minutes");
    let cluster = data["cluster"]["u"].as_array().unwrap();
    assert!((cluster.last().unwrap().as_f64().unwrap() / 1000.0 - used).abs() < 0.01);
}

#[test]
fn a_preempted_gang_says_when_and_for_whom() {
    let (report, page) = play(&preemption(), &[]);
    let data = data(&page);
    let marked = data["gangs"].as_array().unwrap().iter();
    let marked: Vec<&Value> = marked
        .filter(|row| row[9] != serde_json::json!([]))
        .collect();
    assert!(!marked.is_empty());
    let mut evicted = 0;
    for row in marked {
        let mark: Vec<i64> = serde_json::from_value(row[9].clone()).unwrap();
        let [kind, at, pods, by, text] = mark[..5] else {
            panic!("{row}")
        };
        assert_eq!(kind, 0, "preempted");
        let fell = spans(row).into_iter().find(|span| span[0] == PREEMPTED);
        assert_eq!(fell.map(|span| span[1] as i64), Some(at), "{row}");
        let by = &data["gangs"][by as usize];
        let words = data["texts"][text as usize].as_str().unwrap();
        let queue = &data["queues"][by[2].as_u64().unwrap() as usize]["name"];
        let said = format!(
            "preempted for {} of queue {}",
            by[0].as_str().unwrap(),
            queue.as_str().unwrap()
        );
        assert_eq!(words, said);
        evicted += pods;
    }
    assert_eq!(report["metrics"]["evictions"], evicted);
    let preempted = data["figures"]["preempted"].as_u64();
    assert!(preempted > Some(0));
}

#[test]
fn counts_over_time_are_those_of_the_bars() {
    let data = data(&play(&quickstart(), &[]).1);
    let rows = data["gangs"].as_array().unwrap();
    let cluster = &data["cluster"];
    let times: Vec<u64> = serde_json::from_value(cluster["c"].clone()).unwrap();
    assert!(times.len() > 5);
    for (index, time) in times.iter().enumerate() {
        let (mut waiting, mut running) = (0, 0);
        for row in rows {
            let span = spans(row).into_iter().rfind(|span| span[1] <= *time);
            match span.map(|span| span[0]) {
                Some(RUNNING) => running += 1,
                Some(OVER) | None => {}
                Some(_) => waiting += 1,
            }
        }
        assert_eq!(
            (&cluster["w"][index], &cluster["r"][index]),
            (&waiting.into(), &running.into())
        );
    }
}

#[test]
fn the_page_asks_nothing_of_the_network_and_hostile_words_stay_words() {
    let hostile = "</script><script>alert(1)</script><img src=x>";
    let node = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus: {allocatable: {cpu: 1, pods: 9}}\n---\n";
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {{nodeSelector: {{x: y}}, \
         containers: [{{name: c, image: i}}], schedulingGates: [{{name: \"{hostile}\"}}]}}\n---\n\
         apiVersion: v1\nkind: Pod\nmetadata: {{name: q, labels: {{muster.dev/queue: \"{hostile}\"}}}}\n\
         spec: {{containers: [{{name: c, image: i}}]}}\n"
    );
    let folder = tempfile::tempdir().unwrap();
    let output = simulate(folder.path(), &(node.to_owned() + &pod), &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let page = fs::read_to_string(folder.path().join("day.html")).unwrap();
    let (before, data, after) = parts(&page);
    assert!(!page.contains("alert(1)</script>"));
    assert!(
        data.to_string().contains(hostile),
        "the words are there, as words"
    );
    assert!(before.contains("default-src 'none'"));
    for part in [before, after] {
        for word in ["http:", "https:", "//", "src=", "href=", "url(", "@import"] {
            assert!(!part.contains(word), "{word}");
        }
    }
    assert_eq!(after.matches("<script").count(), 1, "only its own script");
}

#[test]
fn a_page_that_cannot_be_written_is_said_and_what_was_there_stays() {
    let folder = tempfile::tempdir().unwrap();
    for (path, words) in [
        ("none/day.html", "there is no directory none"),
        (".", "it is a directory"),
        ("day.yaml", "it is read as a scenario"),
    ] {
        fs::write(folder.path().join("day.yaml"), preemption()).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_muster"))
            .current_dir(folder.path())
            .args(["simulate", "day.yaml", "--html", path])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.starts_with(&format!("cannot write {path}: ")),
            "{said}"
        );
        assert!(said.contains(words), "{said}");
        assert_eq!(
            fs::read_to_string(folder.path().join("day.yaml")).unwrap(),
            preemption()
        );
    }
}

#[test]
fn without_html_nothing_is_written_and_the_report_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("day.yaml"), preemption()).unwrap();
    let without = Command::new(env!("CARGO_BIN_EXE_muster"))
        .current_dir(folder.path())
        .args(["simulate", "day.yaml", "--output", "json"])
        .output()
        .unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let with = simulate(folder.path(), &preemption(), &[]);
    assert_eq!(with.stdout, without.stdout);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn of_a_large_day_the_page_stays_usable_and_says_what_was_left_out() {
    let mut yaml = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n\
                    status: {allocatable: {cpu: 100, pods: 110}}\n"
        .to_owned();
    // Long names make many rows large; what is bounded is the page, not the number of gangs.
    let (space, long) = ("y".repeat(63), "x".repeat(240));
    for index in 0..32 {
        yaml += &format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {long}-{index}, namespace: {space}, \
             annotations: {{simulate.muster.dev/replicas: \"1000\"}}}}\n\
             spec: {{containers: [{{name: c, image: i, resources: {{requests: {{cpu: \"1\"}}}}}}]}}\n"
        );
    }
    let (_, page) = play(&yaml, &[]);
    let bytes = page.len();
    assert!(bytes < 14_000_000, "{bytes}");
    let data = data(&page);
    let left_out = data["leftOut"]["gangs"].as_u64().unwrap() as usize;
    let rows = data["gangs"].as_array().unwrap();
    assert!(left_out > 0);
    assert_eq!(rows.len() + left_out, 32_000);
    assert_eq!(data["figures"]["singles"], 32_000);
    let cluster = &data["cluster"];
    let last = |column: &str| cluster[column].as_array().unwrap().last().cloned().unwrap();
    assert_eq!(
        (last("w"), last("r")),
        (31_900.into(), 100.into()),
        "all are counted"
    );
    let waiting = rows.iter().filter(|row| spans(row)[0][0] == WAITING);
    assert!(waiting.count() > 0);
}

#[test]
fn a_bar_ends_with_its_pod_and_an_edit_or_a_deletion_afterwards_changes_nothing() {
    let pod = |more: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: p, annotations: \
             {{simulate.muster.dev/duration: 10s{more}}}}}\n\
             spec: {{containers: [{{name: c, image: i}}]}}\n---\n"
        )
    };
    let node = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n\
                status: {allocatable: {cpu: 1, pods: 9}}\n---\n";
    let edit = pod(", simulate.muster.dev/at: 20s, simulate.muster.dev/delete-at: 30s")
        .replace("name: p,", "name: p, labels: {a: b},");
    let (_, page) = play(&(node.to_owned() + &pod("") + &edit), &[]);
    let bar = spans(row(&data(&page), "default/p"));
    assert_eq!(bar, [[RUNNING, 0, 1], [OVER, 10_000, 0]]);
}

fn topology() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/topology.yaml");
    fs::read_to_string(path).unwrap()
}

fn numbers(value: &Value) -> Vec<i64> {
    serde_json::from_value(value.clone()).unwrap()
}

/// The pods on nodes at a time, by node and gang: how many.
fn on_nodes(data: &Value, at: i64) -> BTreeMap<(String, String), i64> {
    let places = &data["places"];
    let mut found = BTreeMap::new();
    for stay in numbers(&places["stays"]).chunks_exact(6) {
        let [node, from, to, row, _, pods] = stay[..] else {
            panic!("{stay:?}")
        };
        if from <= at && (to < 0 || at < to) {
            let node = places["nodes"][node as usize].as_str().unwrap();
            let gang = data["gangs"][row as usize][0].as_str().unwrap();
            *found.entry((node.to_owned(), gang.to_owned())).or_default() += pods;
        }
    }
    found
}

#[test]
fn who_is_on_which_node_is_what_the_report_says_at_any_time() {
    let data = data(&play(&topology(), &[]).1);
    for (until, at) in [("30s", 30_000), ("5m", 300_000), ("14m", 840_000)] {
        let (report, _) = play(&topology(), &["--until", until]);
        let mut expected = BTreeMap::new();
        for pod in report["pods"].as_array().unwrap() {
            if let (Some(node), "Running") = (pod["node"].as_str(), pod["phase"].as_str().unwrap())
            {
                let gang = pod["podGroup"].as_str().or(pod["name"].as_str()).unwrap();
                let key = (node.to_owned(), format!("default/{gang}"));
                *expected.entry(key).or_default() += 1;
            }
        }
        assert!(expected.len() > 3, "{until}");
        assert_eq!(on_nodes(&data, at), expected, "{until}");
    }
}

#[test]
fn the_page_has_the_tree_of_the_picture() {
    let folder = tempfile::tempdir().unwrap();
    let output = simulate(
        folder.path(),
        &topology(),
        &["--svg", "day.svg", "--at", "5m"],
    );
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let (picture, data) = (read("day.svg"), data(&read("day.html")));
    let places = &data["places"];
    let frames = places["frames"].as_array().unwrap();
    assert_eq!(frames.len(), 8);
    for frame in frames {
        let label = frame[5].as_str().unwrap();
        assert!(picture.contains(&format!(">{label}<")), "{label}");
    }
    assert_eq!(places["words"], "Domains of Topology fabric: block, rack");
    // Numbers and colours are the same, too.
    for (row, gang) in data["gangs"].as_array().unwrap().iter().enumerate() {
        let mark = numbers(&places["marks"][row]);
        let Some((before, _)) = picture.split_once(&format!(">{}<", gang[0].as_str().unwrap()))
        else {
            continue;
        };
        if mark[1] >= 0 && gang[1] == 0 && mark[0] < 6 {
            let swatch = before.rsplit("<rect class=\"").next().unwrap();
            assert!(
                swatch.starts_with(&format!("g{}\"", mark[1])),
                "{gang}: {swatch}"
            );
            assert!(
                swatch.contains(&format!(">{}<", mark[0])),
                "{gang}: {swatch}"
            );
        }
    }
}

#[test]
fn a_node_that_is_cordoned_or_goes_is_so_from_then_on() {
    let gone = "---\napiVersion: v1\nkind: Node\nmetadata: {name: late, annotations: \
                {simulate.muster.dev/at: 1m, simulate.muster.dev/delete-at: 2m}}\n\
                status: {allocatable: {cpu: 1, pods: 9}}\n";
    let data = data(&play(&(topology() + gone), &[]).1);
    let places = &data["places"];
    let of = |name: &str| {
        let mut names = places["nodes"].as_array().unwrap().iter();
        let node = names.position(|one| one == name).unwrap() as i64;
        let all = numbers(&places["presences"]);
        let own = all.chunks_exact(5).filter(|one| one[0] == node);
        own.map(|one| [one[1], one[2], one[4]]).collect::<Vec<_>>()
    };
    assert_eq!(of("late"), [[60_000, 120_000, 0]]);
    assert_eq!(of("b3-3"), [[0, 180_000, 0], [180_000, -1, 1]]);
    assert_eq!(of("a1-0"), [[0, -1, 0]]);
}
