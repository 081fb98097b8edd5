//! A plugin whose answers make no sense, or do not end.

use super::door::request;
use super::{configured, nodes_of, why};
use crate::live::{Cluster, eventually};
use crate::process::Process;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Answers every request with the next of these manners, the last for ever.
fn liar(manners: &'static [&'static str]) -> (u16, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&asked);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let index = counter.fetch_add(1, Ordering::Relaxed) as usize;
            let manner = manners[index.min(manners.len() - 1)];
            thread::spawn(move || answer(stream, manner));
        }
    });
    (port, asked)
}

fn answer(mut stream: TcpStream, manner: &str) {
    if request(&stream).is_none() {
        return;
    }
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\n";
    if manner == "endless" {
        let chunk = format!("10000\r\n{}\r\n", "[".repeat(65_536));
        let _ = write!(stream, "{head}transfer-encoding: chunked\r\n\r\n");
        // A gigabyte, if somebody takes it.
        for _ in 0..16_384 {
            if stream.write_all(chunk.as_bytes()).is_err() {
                return;
            }
        }
        return;
    }
    let _ = write!(
        stream,
        "{head}content-length: {}\r\n\r\n{manner}",
        manner.len()
    );
}

#[test]
fn a_plugin_that_lies_or_sends_a_gigabyte_is_not_believed_and_breaks_no_gang() {
    let cluster = Cluster::start();
    cluster.nodes(2, "8");
    let (port, asked) = liar(&[
        r#"{"apiVersion": "plugins.muster.dev/v1alpha1", "refused": {"node-9": "no"}}"#,
        "endless",
        "not JSON",
        r#"{"apiVersion": "plugins.muster.dev/v1alpha1", "refused": {"node-0": "node(s) lied"}}"#,
    ]);
    let dir = tempfile::tempdir().unwrap();
    let config = configured(
        &dir,
        &format!(
            "remotePlugins:\n- {{name: liar, url: 'http://127.0.0.1:{port}/', points: [Filter], timeout: 10s}}\n"
        ),
    );
    let muster = Process::start(&cluster, &[&config]);
    cluster.gang("train", 2);
    cluster.pods("train", 2, "1");
    let heard = Arc::new(Mutex::new(Vec::new()));
    eventually("it is believed when it makes sense", || {
        let (_, message) = why(&cluster, "train");
        let mut heard = heard.lock().unwrap();
        if heard.last() != Some(&message) {
            heard.push(message);
        }
        cluster.bound("train") == 2
    });
    assert_eq!(nodes_of(&cluster, "train"), ["node-1", "node-1"]);
    assert!(asked.load(Ordering::Relaxed) >= 4);
    let metrics = muster.get("/metrics");
    for (result, count) in [("wrong", 2), ("failed", 1), ("answered", 1)] {
        let line = format!(
            "muster_plugin_requests_total{{plugin=\"liar\",point=\"Filter\",result=\"{result}\"}} {count}"
        );
        assert!(metrics.contains(&line), "{line}: {metrics}");
    }
}
