//! Programs of others that use the interface over a book that is filled by hand: what they need is fetched by who runs
//! this, which each test names.

use crate::tests::bench;
use muster_serve::{Bounds, host};
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::time::timeout;

/// How long what takes a minute may take where others have the processors.
const LONGEST: Duration = Duration::from_secs(240);

/// Serves what the other tests ask, with everything allowed in the namespace `team` to the token `all`.
async fn served() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let bounds = Bounds {
        connections: 128,
        connection_for: Duration::from_secs(300),
    };
    tokio::spawn(host(listener, crate::router(bench().desk), bounds));
    at
}

#[tokio::test]
#[ignore = "needs Node and what hack/page-test fetches, which runs it"]
async fn clients_of_stomp_are_told_of_changes() {
    let place = std::env::var("PAGE_TEST").expect("hack/page-test sets PAGE_TEST");
    let at = served().await;
    let status = Command::new("node")
        .arg("stomp.mjs")
        .current_dir(place)
        .env("EXTERNAL_URL", format!("http://{at}"))
        .env("EXTERNAL_TOKEN", "all")
        .stdin(Stdio::null())
        .status()
        .await
        .unwrap();
    assert!(status.success(), "clients of STOMP are not served");
}

/// Not of the stream of changes, which does not end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Python and what hack/schemathesis fetches, which runs it"]
async fn answers_are_as_the_description_says() {
    let place = std::env::var("SCHEMATHESIS").expect("hack/schemathesis sets SCHEMATHESIS");
    let at = served().await;
    let run = "import sys; from schemathesis.cli import schemathesis; sys.exit(schemathesis())";
    let settings = tempfile::tempdir().unwrap();
    for (name, text) in [("schemathesis.toml", SETTINGS), ("hooks.py", HOOKS)] {
        std::fs::write(settings.path().join(name), text).unwrap();
    }
    // By number, not by time: the same requests on every machine.
    let options = [
        "--phases=examples,coverage,fuzzing,stateful",
        "--max-examples=60",
        "--generation-deterministic",
        "--exclude-path=/api/v1/events",
        "--no-color",
    ];
    let ended = Command::new("python3")
        .args(["-c", run, "run"])
        .args(options)
        .arg(format!("http://{at}/api/v1/openapi.json"))
        .current_dir(settings.path())
        .env("PYTHONPATH", place)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .status();
    let status = timeout(LONGEST, ended).await;
    let status = status.expect("it takes too long").unwrap();
    assert!(
        status.success(),
        "some answers are not as openapi.json says"
    );
}

/// Where there is something, and who may look at it.
const SETTINGS: &str = r#"
hooks = "hooks.py"
[headers]
Authorization = "Bearer all"
[parameters]
"path.namespace" = "team"
"#;

/// What the description cannot say but in words, a BatchJob is in a list once: a second one of a name gets another.
const HOOKS: &str = r#"
import schemathesis

def once(jobs):
    seen = set()
    for number, job in enumerate(jobs if isinstance(jobs, list) else []):
        name = job.get("name") if isinstance(job, dict) else None
        if isinstance(name, str):
            if name in seen:
                job["name"] = f"{name[:50]}-{number}"
            seen.add(name)

@schemathesis.hook
def before_call(context, case, kwargs):
    if isinstance(case.body, dict):
        placed = case.body.get("slotBased")
        once(case.body.get("queueBased"))
        once(placed.get("jobs") if isinstance(placed, dict) else None)
"#;
