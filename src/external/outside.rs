//! Programs of others that use the interface over a book that is filled by hand: what they need is fetched by who runs
//! this, which each test names.

use crate::tests::bench;
use muster_serve::{Bounds, host};
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::process::Command;

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
