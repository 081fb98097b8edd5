//! `muster snapshot` asks for pages, and goes on where the rest of a list is not known any more as it was.

use muster::api::snapshot::{contents, decompressed};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::thread;

/// Answers requests on a connection until it ends.
fn serve(stream: &TcpStream, asked: &Mutex<Vec<String>>, answer: fn(&str) -> (u16, Value)) {
    let mut lines = BufReader::new(stream).lines();
    while let Some(Ok(first)) = lines.next() {
        let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
        while lines
            .next()
            .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
        {}
        let (code, body) = answer(&path);
        asked.lock().unwrap().push(path);
        let body = body.to_string();
        let mut stream = stream;
        let head = format!(
            "HTTP/1.1 {code} Said\r\nContent-Type: application/json\r\nDate: Sat, 31 Jan 2026 12:00:00 GMT\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        if stream.write_all((head + &body).as_bytes()).is_err() {
            return;
        }
    }
}

/// Takes a snapshot of what answers so; returns what was said and asked, and the objects.
fn snapshot(answer: fn(&str) -> (u16, Value)) -> (Output, Vec<String>, Vec<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let seen = Arc::clone(&seen);
            thread::spawn(move || serve(&stream, &seen, answer));
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let (config, file) = (folder.path().join("config"), folder.path().join("taken.gz"));
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {}}],
    });
    fs::write(&config, kubeconfig.to_string()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["snapshot", "--kubeconfig"])
        .arg(&config)
        .arg("-o")
        .arg(&file)
        .output()
        .unwrap();
    let text = fs::read(&file).map(|bytes| decompressed(&bytes).unwrap());
    let text = String::from_utf8(text.unwrap_or_default()).unwrap();
    let found = contents(&text).map(Result::unwrap);
    let objects = found.into_iter().flat_map(|found| found.objects);
    let objects = objects.map(|(_, line)| serde_json::from_str(line).unwrap());
    let objects = objects.collect();
    let asked = asked.lock().unwrap().clone();
    (output, asked, objects)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn list(items: &Value, next: &str) -> (u16, Value) {
    (
        200,
        json!({"kind": "List", "metadata": {"continue": next}, "items": items}),
    )
}

fn node(name: &str) -> Value {
    json!([{"metadata": {"name": name, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "status": {"allocatable": {"cpu": "4", "pods": "10"}}}])
}

#[test]
fn lists_are_read_in_pages_and_on_where_the_rest_is_told_anew() {
    let (output, asked, objects) = snapshot(|path| {
        let is_nodes = path.starts_with("/api/v1/nodes?");
        match path.split_once("continue=").map(|(_, token)| token) {
            None if is_nodes => list(&node("n1"), "first"),
            Some("first") => {
                let status = json!({"kind": "Status", "code": 410, "message": "too old",
                    "metadata": {"continue": "second"}});
                (410, status)
            }
            Some("second") => list(&node("n2"), ""),
            _ => list(&json!([]), ""),
        }
    });
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("2 objects, "), "{}", said(&output));
    assert!(
        said(&output).ends_with("as of 2026-01-31T12:00:00Z\n"),
        "{}",
        said(&output)
    );
    let names: Vec<&Value> = objects.iter().map(|one| &one["metadata"]["name"]).collect();
    assert_eq!(names, ["n1", "n2"]);
    assert_eq!(
        (&objects[0]["apiVersion"], &objects[0]["kind"]),
        (&"v1".into(), &"Node".into())
    );
    assert!(
        asked.iter().all(|path| path.contains("limit=500")),
        "{asked:?}"
    );
    assert!(
        !asked.iter().any(|path| path.contains("secrets")),
        "{asked:?}"
    );
}

#[test]
fn what_is_not_installed_is_left_out_and_what_is_refused_ends_it() {
    let (output, _, objects) = snapshot(|path| match path {
        path if path.contains("muster.dev") || path.contains("volcano.sh") => {
            (404, json!({"kind": "Status", "message": "no such kind"}))
        }
        path if path.starts_with("/api/v1/pods?") => {
            let odd = json!([{"metadata": {"name": "odd"}, "spec": {"nodeName": 7}}]);
            list(&odd, "")
        }
        _ => list(&json!([]), ""),
    });
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(objects.len(), 0);
    assert!(
        said(&output).starts_with("left out: 1 Pod, as Muster does: "),
        "{}",
        said(&output)
    );

    let (output, _, _) = snapshot(|path| match path {
        path if path.starts_with("/api/v1/nodes?") => (
            403,
            json!({"kind": "Status", "message": "nodes is forbidden"}),
        ),
        _ => list(&json!([]), ""),
    });
    assert_eq!(output.status.code(), Some(1));
    let words = "/api/v1/nodes: 403 Forbidden: nodes is forbidden\n";
    assert_eq!(said(&output), words);
}
