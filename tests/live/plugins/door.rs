//! A plugin in a thread of the test: what it is asked is kept, and how it answers is the test's.

use crate::live::text;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A plugin that is asked about decisions: what it was asked, and how it answers.
pub(super) struct Door {
    pub(super) port: u16,
    heard: Arc<Mutex<Vec<Value>>>,
}

impl Door {
    /// `decide` says what it answers.
    pub(super) fn open(decide: impl Fn(&Value) -> Value + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (heard, decide) = (Arc::new(Mutex::new(Vec::new())), Arc::new(decide));
        let writer = Arc::clone(&heard);
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let (heard, decide) = (Arc::clone(&writer), Arc::clone(&decide));
                thread::spawn(move || {
                    let Some(request) = request(&stream) else {
                        return;
                    };
                    let request: Value = serde_json::from_slice(&request).unwrap();
                    let mut answer = decide(&request);
                    heard.lock().unwrap().push(request);
                    answer["apiVersion"] = "plugins.muster.dev/v1alpha1".into();
                    let body = answer.to_string();
                    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\n";
                    let _ = write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len());
                });
            }
        });
        Self { port, heard }
    }

    /// What it was asked at a point about pods whose names begin so: how many pods, in how many questions.
    pub(super) fn heard(&self, point: &str, prefix: &str) -> (usize, usize) {
        let heard = self.heard.lock().unwrap();
        let asked = heard.iter().filter(|one| one["point"] == point);
        let pods = asked.map(|one| one["pods"].as_array().unwrap().clone());
        let pods: Vec<Vec<Value>> = pods
            .filter(|pods| text(&pods[0], "/name").starts_with(prefix))
            .collect();
        (pods.iter().map(Vec::len).sum(), pods.len())
    }
}

/// The body of a request.
pub(super) fn request(stream: &TcpStream) -> Option<Vec<u8>> {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut length, mut line) = (0, String::new());
    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
        let lower = line.to_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(body)
}
