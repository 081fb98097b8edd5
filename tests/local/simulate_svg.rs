//! `muster simulate --svg`: the picture is there, says what the report says, has nothing in it that
//! runs or is fetched, and stays small.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/topology.yaml");

fn muster(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_muster"))
        .current_dir(folder)
        .arg("simulate")
        .args(arguments)
        .output()
        .unwrap()
}

/// Plays a scenario; returns what was printed as JSON, and the picture.
fn draw(yaml: &str, arguments: &[&str]) -> (Value, String) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("day.yaml"), yaml).unwrap();
    let all = [
        &["day.yaml", "--output", "json", "--svg", "day.svg"],
        arguments,
    ]
    .concat();
    let output = muster(folder.path(), &all);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), said.as_str()), (Some(0), ""));
    let picture = fs::read_to_string(folder.path().join("day.svg")).unwrap();
    (serde_json::from_slice(&output.stdout).unwrap(), picture)
}

fn example() -> String {
    fs::read_to_string(EXAMPLE).unwrap()
}

/// What a reader sees: the contents of all elements of this name.
fn texts<'a>(picture: &'a str, name: &str) -> Vec<&'a str> {
    let open = format!("<{name}");
    let parts = picture.split(&open).skip(1);
    let parts = parts.filter_map(|part| part.split_once('>')?.1.split_once(&format!("</{name}>")));
    parts.map(|(text, _)| text).collect()
}

/// Every element is closed in its place, and there is nothing but what a picture needs.
fn check(picture: &str) {
    let mut open: Vec<&str> = Vec::new();
    for tag in picture.split('<').skip(1) {
        let (tag, text) = tag.split_once('>').unwrap();
        assert!(!text.contains('>'), "{text}");
        let name = tag
            .trim_start_matches('/')
            .split([' ', '/'])
            .next()
            .unwrap();
        let known = [
            "svg", "title", "style", "defs", "pattern", "g", "rect", "circle", "path", "text",
        ];
        assert!(known.contains(&name), "{tag}");
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        for attribute in ["href", "onload", "onclick", "src=", "javascript"] {
            assert!(!tag.contains(attribute), "{tag}");
        }
    }
    assert!(open.is_empty(), "{open:?}");
    for word in ["@import", "url(http", "<!", "<?"] {
        assert!(!picture.contains(word), "{word}");
    }
    let addresses = picture.matches("//").count();
    assert_eq!(addresses, 1, "only the name of the language");
}

#[test]
fn the_picture_of_the_documents_is_the_one_that_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let output = muster(
        folder.path(),
        &[EXAMPLE, "--svg", "picture.svg", "--at", "5m"],
    );
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let drawn = fs::read_to_string(folder.path().join("picture.svg")).unwrap();
    check(&drawn);
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/topology.svg");
    if std::env::var_os("MUSTER_UPDATE").is_some() {
        fs::write(kept, &drawn).unwrap();
    }
    let kept = fs::read_to_string(kept).unwrap_or_default();
    assert!(
        kept == drawn,
        "docs/topology.svg is old: MUSTER_UPDATE=1 cargo test --test local simulate_svg makes it anew"
    );
    assert!(drawn.len() < 40_000, "{}", drawn.len());
}

#[test]
fn the_picture_says_what_the_report_says_at_that_time() {
    let (report, _) = draw(&example(), &["--until", "5m"]);
    let (_, picture) = draw(&example(), &["--at", "5m"]);
    let texts = texts(&picture, "text");
    let mut listed = 0;
    for gang in report["podGroups"].as_array().unwrap() {
        let name = format!("default/{}", gang["name"].as_str().unwrap());
        let at = texts.iter().position(|text| *text == name).unwrap();
        let bound = format!("{}/{}", gang["bound"], gang["minAvailable"]);
        assert_eq!(texts[at + 1], bound, "{name}");
        if gang["bound"] != 0 {
            listed += 1;
            let lost = gang["lostOpportunity"].as_f64().unwrap();
            assert_eq!(texts[at + 2], gang["maxHops"].to_string(), "{name}");
            assert!(
                (texts[at + 3].parse::<f64>().unwrap() - lost).abs() < 0.06,
                "{name}"
            );
        }
    }
    assert_eq!(listed, 5);
    let sum = "At 5m: 8 of 24 nodes free; 5 gangs on nodes, 1 waiting";
    assert!(texts.contains(&sum), "{texts:?}");
    let waits = texts
        .iter()
        .any(|text| text.starts_with("7 of 8 members fit in one"));
    assert!(waits, "why it waits is said: {texts:?}");
}

#[test]
fn who_ends_before_the_others_brings_them_no_nearer() {
    let (report, _) = draw(&example(), &[]);
    let gangs = report["podGroups"].as_array().unwrap();
    let hops = |name: &str| {
        let found = gangs.iter().find(|gang| gang["name"] == name);
        found.unwrap()["maxHops"].as_u64()
    };
    assert_eq!((hops("pipeline"), hops("llm")), (Some(4), Some(2)));
}

#[test]
fn who_is_on_a_node_and_how_full_it_is_is_told_of_each() {
    let (_, picture) = draw(&example(), &["--at", "5m"]);
    let titles = texts(&picture, "title");
    let of = |node: &str| {
        let found = titles
            .iter()
            .find(|title| title.starts_with(&format!("{node}: ")));
        found
            .copied()
            .unwrap_or_else(|| panic!("{node}: {titles:?}"))
    };
    assert_eq!(
        of("a2-0"),
        "a2-0: 100 % of cpu taken; gang 2 25 %; gang 3 75 %"
    );
    assert_eq!(of("b3-0"), "b3-0: 62 % of cpu taken; gang 4 62 %");
    assert_eq!(of("b2-0"), "b2-0: 0 % of cpu taken");
    let exclusive = picture.matches("class=\"x\"").count();
    assert_eq!(exclusive, 3, "two nodes, and what the mark means");
    let racks = texts(&picture, "text")
        .into_iter()
        .filter(|text| text.starts_with("rack=b"));
    assert_eq!(racks.collect::<Vec<_>>(), ["rack=b1", "rack=b2", "rack=b3"]);
}

#[test]
fn the_same_input_gives_the_same_bytes_and_the_report_does_not_change() {
    let (with, first) = draw(&example(), &["--at", "4m30s"]);
    let (_, second) = draw(&example(), &["--at", "4m30s"]);
    assert_eq!(first, second);
    let folder = tempfile::tempdir().unwrap();
    let without = muster(folder.path(), &[EXAMPLE, "--output", "json"]);
    let without: Value = serde_json::from_slice(&without.stdout).unwrap();
    assert_eq!(with, without);
    let (_, end) = draw(&example(), &[]);
    assert!(
        texts(&end, "text").contains(&"Nobody waits"),
        "without --at it is the end"
    );
}

#[test]
fn a_gang_has_the_same_number_and_colour_at_all_times() {
    let colour = |at: &str| {
        let (_, picture) = draw(&example(), &["--at", at]);
        let (before, _) = picture.split_once(">default/pipeline<").unwrap();
        let swatch = before.rsplit("<rect class=\"").next().unwrap();
        swatch.split('"').next().unwrap().to_owned()
    };
    let all: Vec<String> = ["2m", "5m", "14m", "21m"].into_iter().map(colour).collect();
    assert_eq!(all, ["g2"; 4]);
}

#[test]
fn without_a_topology_all_nodes_are_in_one_place_and_of_several_one_is_chosen() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/quickstart.yaml");
    let flat = fs::read_to_string(path).unwrap();
    let (_, picture) = draw(&flat, &["--at", "3m"]);
    assert!(
        picture.contains("No Topology: all nodes are in one place"),
        "{picture}"
    );
    check(&picture);
    let other = "---\napiVersion: muster.dev/v1alpha1\nkind: Topology\nmetadata: {name: abc}\n\
                 spec: {levels: [{nodeLabel: example.com/block}]}\n";
    let two = example() + other;
    let (_, first) = draw(&two, &["--at", "5m"]);
    assert!(first.contains("Domains of Topology abc: block; it is the first of 2 by name"));
    let (_, named) = draw(&two, &["--at", "5m", "--topology", "fabric"]);
    assert!(
        named.contains("Domains of Topology fabric: block, rack"),
        "{named}"
    );
}

#[test]
fn nodes_in_no_domain_are_drawn_apart() {
    let stray = "---\napiVersion: v1\nkind: Node\nmetadata: {name: stray}\n\
                 status: {allocatable: {cpu: 4, pods: 9}}\n";
    let (_, picture) = draw(&(example() + stray), &["--at", "5m"]);
    assert!(texts(&picture, "text").contains(&"in no domain"));
    assert!(
        texts(&picture, "title")
            .iter()
            .any(|title| title.starts_with("stray: "))
    );
}

#[test]
fn hostile_words_stay_words() {
    let hostile = "</text><script>alert(1)</script>";
    let yaml = format!(
        "apiVersion: v1\nkind: Node\nmetadata: {{name: n, labels: {{\"rack\": \"{hostile}\"}}}}\n\
         status: {{allocatable: {{cpu: 1, pods: 9}}}}\n---\n\
         apiVersion: muster.dev/v1alpha1\nkind: Topology\nmetadata: {{name: t}}\n\
         spec: {{levels: [{{nodeLabel: rack}}]}}\n---\n\
         apiVersion: muster.dev/v1alpha1\nkind: PodGroup\nmetadata: {{name: g}}\n\
         spec: {{minAvailable: 1, queue: \"{hostile}\"}}\n---\n\
         apiVersion: v1\nkind: Pod\nmetadata: {{name: p, labels: {{muster.dev/pod-group: g}}}}\n\
         spec: {{containers: [{{name: c, image: i}}]}}\n"
    );
    let folder = tempfile::tempdir().unwrap();
    let name = "<b onload='x'>&.yaml";
    fs::write(folder.path().join(name), yaml).unwrap();
    let output = muster(folder.path(), &[name, "--svg", "day.svg"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let picture = fs::read_to_string(folder.path().join("day.svg")).unwrap();
    check(&picture.replace("onload", ""));
    assert!(!picture.contains("<script") && !picture.contains("<b"));
    let escaped =
        "queue &quot;&lt;/text&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot; does not exist";
    assert!(picture.contains(escaped), "{picture}");
    assert!(
        picture.contains("&lt;b onload=&apos;x&apos;&gt;&amp;.yaml"),
        "{picture}"
    );
}

#[test]
fn of_many_nodes_the_picture_stays_small_and_says_what_a_cell_is_for() {
    let mut yaml = "apiVersion: muster.dev/v1alpha1\nkind: Topology\nmetadata: {name: t}\n\
                    spec: {levels: [{nodeLabel: block}, {nodeLabel: rack}]}\n"
        .to_owned();
    for rack in 0..500 {
        yaml += &format!(
            "---\napiVersion: v1\nkind: Node\nmetadata: {{name: r{rack}-n$(INDEX), labels: {{block: b{}, rack: r{rack}}}, \
             annotations: {{simulate.muster.dev/replicas: \"40\"}}}}\n\
             status: {{allocatable: {{cpu: 8, pods: 110}}}}\n",
            rack / 25
        );
    }
    for gang in 0..60 {
        yaml += &format!(
            "---\napiVersion: muster.dev/v1alpha1\nkind: PodGroup\nmetadata: {{name: g{gang}}}\n\
             spec: {{minAvailable: 9}}\n---\n\
             apiVersion: v1\nkind: Pod\nmetadata: {{name: g{gang}, labels: {{muster.dev/pod-group: g{gang}}}, \
             annotations: {{simulate.muster.dev/replicas: \"9\"}}}}\n\
             spec: {{containers: [{{name: c, image: i, resources: {{requests: {{cpu: 8}}}}}}]}}\n"
        );
    }
    let (_, picture) = draw(&yaml, &[]);
    assert!(picture.len() < 1_500_000, "{}", picture.len());
    let said = "There are many nodes: a cell is for up to 7 of one domain";
    assert!(picture.contains(said), "what is left out is said");
    assert!(picture.contains("19460 of 20000 nodes free; 60 gangs on nodes, 0 waiting"));
    assert!(
        texts(&picture, "text").contains(&"and 20 more"),
        "so is who is not listed"
    );
    check(&picture);
}

#[test]
fn what_does_not_fit_is_said_and_nothing_is_played() {
    let folder = tempfile::tempdir().unwrap();
    let svg = ["--svg", "day.svg"];
    for (arguments, words) in [
        (&["--at", "soon"][..], "'soon' for '--at <DURATION>'"),
        (
            &["--at", "6m", "--until", "5m"],
            "--at: at 360s nothing is played any more: --until ends it at 300s",
        ),
        (
            &["--topology", "nothing"],
            "--topology: there is no Topology nothing in what is played; there is fabric",
        ),
    ] {
        let all = [&[EXAMPLE], &svg[..], arguments].concat();
        let output = muster(folder.path(), &all);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
        assert!(output.stdout.is_empty());
    }
    for (arguments, words) in [
        (["--at", "5m"], "--svg <FILE>"),
        (
            ["--topology", "fabric"],
            "--topology: it says how --svg and --html draw the cluster, and neither is given",
        ),
    ] {
        let output = muster(folder.path(), &[&[EXAMPLE], &arguments[..]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_picture_that_cannot_be_written_is_said_and_the_report_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    for (path, words) in [
        ("none/day.svg", "there is no directory none"),
        (".", "it is a directory"),
        (EXAMPLE, "it is read as a scenario"),
    ] {
        let output = muster(folder.path(), &[EXAMPLE, "--svg", path]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.starts_with(&format!("cannot write {path}: ")),
            "{said}"
        );
        assert!(said.contains(words) && output.stdout.is_empty(), "{said}");
    }
    let output = muster(folder.path(), &[EXAMPLE, "--svg", "a", "--html", "a"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said, "--svg and --html: one file cannot be both\n");
}

#[test]
fn slots_are_drawn_with_their_numbers_and_who_has_them() {
    let slots = include_str!("../../examples/slots.yaml");
    let (_, picture) = draw(slots, &["--at", "30s"]);
    check(&picture);
    let titles = texts(&picture, "title");
    assert!(titles[0].ends_with("; 2 of 4 slots free"), "{}", titles[0]);
    let node = titles.iter().find(|one| one.starts_with("n1: ")).unwrap();
    assert!(node.contains("gang 1 (slot 1) 40 %"), "{node}");
    assert!(node.contains("free slots 3 40 %"), "{node}");
    let words = texts(&picture, "text");
    let numbers = words.iter().filter(|one| ["2", "3"].contains(one));
    assert_eq!(
        numbers.count(),
        2,
        "the numbers of the free slots: {words:?}"
    );
    assert!(
        picture.contains("<text class=\"m\""),
        "who has one: its number"
    );
    assert!(words.iter().any(|one| one.starts_with("a free slot")));
    let (_, without) = draw(&example(), &["--at", "5m"]);
    assert!(!without.contains("url(#ps)"), "only where there are slots");
}
