//! `--why` as a user meets it in a simulation; the example of docs/why.md is played.

use crate::simulate::simulate;
use serde_json::Value;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn said(scenario: &str, arguments: &[&str]) -> String {
    let output = simulate(scenario, arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// The scenario of docs/why.md, and what its examples ask and say.
fn example() -> (String, Vec<(String, String)>) {
    let page = include_str!("../../docs/why.md");
    let mut scenario = String::new();
    let mut answers = Vec::new();
    for block in page.split("```").skip(1).step_by(2) {
        let (head, body) = block.split_once('\n').unwrap();
        match head.split_once(' ') {
            None if head == "yaml" && scenario.is_empty() => scenario = body.to_owned(),
            Some(("text", arguments)) => answers.push((arguments.to_owned(), body.to_owned())),
            _ => {}
        }
    }
    (scenario, answers)
}

fn json(arguments: &[&str]) -> Value {
    let (scenario, _) = example();
    let all = [arguments, &["--output", "json"]].concat();
    serde_json::from_str(&said(&scenario, &all)).unwrap()
}

#[test]
fn the_example_of_the_documents_is_what_is_said() {
    let (scenario, answers) = example();
    assert_eq!(answers.len(), 3);
    for (arguments, expected) in answers {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let said = said(&scenario, &arguments);
        let (_, answer) = said.split_once("used: cpu").unwrap();
        let (_, answer) = answer.split_once("\n\n").unwrap();
        assert_eq!(answer, expected, "{arguments:?}");
    }
}

#[test]
fn the_first_sentence_is_the_condition_of_the_pod_group() {
    let report = json(&["--until", "30s", "--why", "podgroup/shop"]);
    let message = report["podGroups"][0]["message"].as_str().unwrap();
    let why = &report["why"][0];
    assert_eq!(why["condition"]["message"], message);
    let (scenario, _) = example();
    let text = said(&scenario, &["--until", "30s", "--why", "mpg/default/shop"]);
    assert!(
        text.contains(&format!("\n\n{message}\n\nPodGroup")),
        "{text}"
    );
}

#[test]
fn json_has_the_fields_of_the_documents() {
    let report = json(&[
        "--until",
        "30s",
        "--why",
        "podgroup/shop",
        "--why",
        "podgroup/train",
        "--why",
        "queue/research",
    ]);
    let (shop, train, queue) = (&report["why"][0], &report["why"][1], &report["why"][2]);
    assert_eq!(shop["clock"], "scenario");
    assert_eq!(shop["waits"]["position"], 1);
    assert_eq!(shop["waits"]["asked"]["outcome"], "InVain");
    assert_eq!(shop["waits"]["asked"]["mayGo"], 2);
    assert_eq!(shop["waits"]["asked"]["spared"][0]["reason"], "Lifetime");
    assert_eq!(shop["waits"]["start"]["at"], 3600.0);
    assert_eq!(shop["waits"]["start"]["hangsOn"], "Lifetimes");
    assert_eq!(shop["waits"]["place"]["nodes"], 1);
    assert_eq!(train["runs"]["surplus"], 2);
    assert_eq!(train["runs"]["protection"]["at"], 3600.0);
    assert_eq!(queue["books"]["over"], 4.0);
    assert_eq!(queue["borrows"][0]["name"], "web");
    let page = include_str!("../../docs/why.md");
    let mut unknown = Vec::new();
    for answer in [shop, train, queue] {
        names(answer, &mut unknown);
    }
    unknown.retain(|name| !page.contains(name.as_str()));
    assert_eq!(unknown, [""; 0], "not in docs/why.md");
}

/// All names of fields.
fn names(value: &Value, all: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                all.push(name.clone());
                names(value, all);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| names(value, all)),
        _ => {}
    }
}

#[test]
fn without_a_question_there_is_no_answer() {
    assert!(json(&["--until", "30s"]).get("why").is_none());
}

#[test]
fn what_is_not_there_is_said_and_nothing_else() {
    let (scenario, _) = example();
    for (what, words) in [
        ("podgroup/nobody", "there is no PodGroup team/nobody at 30s"),
        ("queue/nobody", "there is no Queue nobody at 30s"),
        ("node/n-0", "unknown kind \"node\""),
    ] {
        let arguments = ["--until", "30s", "-n", "team", "--why", what];
        let output = simulate(&scenario, &arguments);
        assert_eq!(output.status.code(), Some(2));
        let stderr = text(&output.stderr);
        assert!(stderr.contains(words), "{stderr}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn without_a_time_the_answer_is_as_of_the_last_thing_that_happened() {
    let (scenario, _) = example();
    let text = said(&scenario, &["--why", "podgroup/shop"]);
    // The scheduler goes on to look at who waits for as long as it is left alone.
    assert!(
        text.contains("PodGroup   default/shop: Running, Scheduled, as of 1 h"),
        "{text}"
    );
}

/// What is said of a gang of the example about topologies.
fn placed(gang: &str) -> (String, Value) {
    let scenario = include_str!("../../examples/topology.yaml");
    let arguments = ["--until", "5m", "--why", gang];
    let all = [&arguments[..], &["--output", "json"]].concat();
    let report: Value = serde_json::from_str(&said(scenario, &all)).unwrap();
    (said(scenario, &arguments), report["why"][0]["runs"].clone())
}

#[test]
fn how_near_the_members_are_and_have_to_be_is_said_of_a_gang_that_runs() {
    let (text, runs) = placed("podgroup/pipeline");
    let expected = "
Near       at most 4 hops by Topology fabric: all in example.com/block=a; they have to be in one example.com/block, 4 hops at most
           subgroup front: at most 2 hops by Topology fabric: all in example.com/block=a,example.com/rack=a2; they have to be in one example.com/rack, 2 hops at most
           subgroup back: at most 2 hops by Topology fabric: all in example.com/block=a,example.com/rack=a3; they have to be in one example.com/rack, 2 hops at most
";
    assert!(text.contains(expected), "{text}");
    let near = &runs["near"];
    assert_eq!(near[0]["subgroup"], Value::Null);
    assert_eq!(near[0]["maxHops"], 4);
    assert_eq!(near[1]["domain"], "example.com/block=a,example.com/rack=a2");
    assert_eq!(near[2]["limit"]["level"], "example.com/rack");
    let page = include_str!("../../docs/why.md");
    let mut unknown = Vec::new();
    names(&runs, &mut unknown);
    unknown.retain(|name| !page.contains(name.as_str()));
    assert_eq!(unknown, [""; 0], "not in docs/why.md");
}

#[test]
fn what_a_gang_leaves_is_said_as_it_is_now() {
    // Three nodes of pipeline's seven have pods of vision, too.
    let (text, runs) = placed("podgroup/pipeline");
    assert_eq!(runs["nodeCount"], 7);
    assert_eq!(runs["ownNodes"], 4);
    let lost = runs["lostOpportunity"].as_f64().unwrap();
    let words = format!("Leaves     {lost} cores' worth free on 4 nodes that nobody else uses");
    assert!(text.contains(&words), "{text}");
    let (text, runs) = placed("podgroup/vision");
    assert_eq!(
        (&runs["ownNodes"], &runs["lostOpportunity"]),
        (&0.into(), &0.0.into())
    );
    assert!(
        text.contains("Leaves     nothing: all its nodes have pods of others, too"),
        "{text}"
    );
    assert!(
        text.contains("they have to be in one example.com/rack, 2 hops at most"),
        "{text}"
    );
}

#[test]
fn of_a_gang_that_wished_nothing_it_is_said_how_near_it_came() {
    let (text, runs) = placed("podgroup/sweep");
    assert_eq!(runs["near"][0]["limit"], Value::Null);
    let words = "Near       at most 2 hops by Topology fabric: all in example.com/block=b,example.com/rack=b1\n";
    assert!(text.contains(words), "{text}");
    // Without a Topology nobody knows.
    let train = json(&["--until", "30s", "--why", "podgroup/train"]);
    assert_eq!(train["why"][0]["runs"]["near"], Value::Array(Vec::new()));
}

#[test]
fn a_testbed_says_who_has_its_slots_as_the_documents_do() {
    let scenario = include_str!("../../examples/slots.yaml");
    let asked = [
        "--until",
        "30s",
        "--why",
        "testbed/lab",
        "--why",
        "pod/again",
    ];
    let text = said(scenario, &asked);
    let page = include_str!("../../docs/why.md");
    let (_, shown) = page.split_once("--why testbed/lab`:\n\n```\n").unwrap();
    let (shown, _) = shown.split_once("```").unwrap();
    assert!(text.contains(shown), "{text}");
    let waits = "again waits for slot 0 of testbed lab\n           - slot 0 on node n0: occupied by \
                 default/run-1-executor-0\n";
    assert!(text.contains(waits), "{text}");
    let report: Value = serde_json::from_str(&said(
        scenario,
        &[&asked[..], &["--output", "json"]].concat(),
    ))
    .unwrap();
    let (testbed, pod) = (&report["why"][0], &report["why"][1]);
    assert_eq!(testbed["kind"], "Testbed");
    assert_eq!(testbed["slots"][0]["state"], "Occupied");
    assert_eq!(testbed["slots"][0]["waiting"][0], "default/again");
    assert_eq!(testbed["claims"][0]["kind"], "Slot");
    assert_eq!(
        pod["claimants"][0]["slots"][0]["pod"],
        "default/run-1-executor-0"
    );
    let output = simulate(scenario, &["--why", "testbed/other"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(self::text(&output.stderr).contains("there is no Testbed other"));
}
