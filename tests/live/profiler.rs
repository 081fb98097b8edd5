//! The example of a scheduler that plans by itself, run to its end against `muster run --controllers --external`.

use crate::live::{eventually, text};
use crate::process::Process;
use crate::served;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn the_profiler_runs_every_pair_once() {
    let jobs = [("count", "2s"), ("scan", "3s"), ("sort", "2s")];
    let cluster = served::cluster(&jobs);
    let options = [
        "--controllers",
        "--leader-elect=false",
        "--external=127.0.0.1:0",
    ];
    let mut muster = Process::start(&cluster, &options);
    let address = served::address(&muster);
    let bed = "/apis/muster.dev/v1alpha1/testbeds/bed";
    eventually("every slot is held", || {
        let bed = cluster.plane.get(bed).unwrap();
        bed["status"]["free"] == 4 && text(&bed, "/status/conditions/0/reason") == "Held"
    });
    let file = cluster.plane.dir().join("token");
    fs::write(&file, served::token(&cluster)).unwrap();
    let profile = || {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let run = Command::new("python3")
            .arg(root.join("examples/external-scheduler/profiler.py"))
            .args([
                "--server",
                &address,
                "--testbed",
                "bed",
                "--patience",
                "120",
            ])
            .arg("--token-file")
            .arg(&file)
            .output()
            .unwrap();
        let said = String::from_utf8(run.stderr).unwrap();
        assert!(run.status.success(), "{said}");
        let matrix = String::from_utf8(run.stdout).unwrap();
        println!("{matrix}");
        matrix
    };
    let matrix = profile();
    let mut lines = matrix.lines().map(|line| line.split('\t'));
    let head: Vec<&str> = lines.next().unwrap().collect();
    assert_eq!(head, ["", "count", "scan", "sort"]);
    let rows: BTreeMap<&str, Vec<&str>> = lines
        .map(|mut line| (line.next().unwrap(), line.collect()))
        .collect();
    assert_eq!(rows.keys().copied().collect::<Vec<_>>(), head[1..]);
    for (row, name) in head[1..].iter().enumerate() {
        for (column, took) in rows[name].iter().enumerate() {
            if row == column {
                assert_eq!(*took, "-", "{name} beside itself");
            } else {
                let took: f64 = took.parse().unwrap();
                assert!((1.0..60.0).contains(&took), "{name}: {took} s");
            }
        }
    }
    let history = |name: &str| {
        let path = format!("/apis/muster.dev/v1alpha1/namespaces/default/batchjobs/{name}");
        let job = cluster.plane.get(&path).unwrap();
        let runs = job["status"]["history"].as_array().cloned();
        let runs = runs.unwrap_or_default();
        runs.iter()
            .map(|run| text(run, "/state"))
            .collect::<Vec<_>>()
    };
    for (name, _) in jobs {
        assert_eq!(history(name), ["Completed", "Completed"], "{name}");
    }
    // What is known is not measured again.
    assert_eq!(profile(), matrix);
    assert_eq!(history("count").len(), 2);
    let metrics = muster.get("/metrics");
    let name = r#"muster_external_requests_total{code="201",method="POST",route="/api/v1/namespaces/{namespace}/schedulings"} 3"#;
    assert!(metrics.contains(name), "three pairs");
    muster.signal("-TERM");
    assert!(muster.ended().success());
}
