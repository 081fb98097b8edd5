//! `muster probe`, as kubelet runs it.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Command, Output};
use std::thread;

fn probe(what: &str, address: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["probe", what, "--address", address])
        .output()
        .unwrap()
}

/// What is asked of somebody who answers so, and what comes of it.
fn answered(what: &str, answer: &'static str) -> (String, Output) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut asked = String::new();
        while !asked.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut asked).unwrap(), 0, "{asked:?}");
        }
        stream.write_all(answer.as_bytes()).unwrap();
        asked
    });
    let output = probe(what, &address);
    (server.join().unwrap(), output)
}

#[test]
fn yes_is_exit_code_0() {
    let (asked, output) = answered("healthz", "HTTP/1.1 200 OK\r\nx: y\r\n\r\nok\n");
    assert_eq!(asked.lines().next(), Some("GET /healthz HTTP/1.0"));
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout, b"ok\n");
}

#[test]
fn no_is_exit_code_1_and_says_why() {
    let no = "HTTP/1.1 503 Service Unavailable\r\n\r\nnot ready\npods: not synced yet\n";
    let (asked, output) = answered("readyz", no);
    assert_eq!(asked.lines().next(), Some("GET /readyz HTTP/1.0"));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stderr, b"not ready\npods: not synced yet\n");
}

#[test]
fn nobody_and_nonsense_are_exit_code_1() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let nobody = probe("healthz", &address);
    let (_, nonsense) = answered("healthz", "nonsense");
    let (_, nothing) = answered("healthz", "");
    for output in [nobody, nonsense, nothing] {
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("/healthz: "), "{said}");
    }
}

#[test]
fn deploy_asks_where_the_programs_answer() {
    for file in ["deploy/03-deployment.yaml", "deploy/05-controllers.yaml"] {
        let path = format!("{}/{file}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let after = |mark: &str| {
            let parts = text.split(mark).skip(1);
            let addresses = parts.map(|rest| rest.split('"').next().unwrap().to_owned());
            addresses.collect::<Vec<_>>()
        };
        let served = after("\"--probes=");
        assert_eq!(served.len(), 1, "{file}");
        assert!(served[0].starts_with("127.0.0.1:"), "{served:?}");
        let asked = after("\"--address=");
        assert_eq!(asked, [served[0].as_str(), served[0].as_str()], "{file}");
        for what in ["muster, probe, healthz,", "muster, probe, readyz,"] {
            assert!(text.contains(what), "{file}: {what}");
        }
        assert!(!text.contains("httpGet"), "{file}");
    }
}

#[test]
fn probes_are_served_on_loopback_alone() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let kubeconfig = "
apiVersion: v1
kind: Config
current-context: nobody
clusters: [{name: nobody, cluster: {server: 'http://127.0.0.1:9'}}]
contexts: [{name: nobody, context: {cluster: nobody}}]
";
    file.write_all(kubeconfig.as_bytes()).unwrap();
    for program in ["run", "controllers"] {
        let output = Command::new(env!("CARGO_BIN_EXE_muster"))
            .args([program, "--listen=127.0.0.1:0", "--leader-elect=false"])
            .args(["--probes=0.0.0.0:0", "--kubeconfig"])
            .arg(file.path())
            .output()
            .unwrap();
        assert!(!output.status.success(), "{program}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let wanted = "--probes 0.0.0.0:0: it is for this host alone";
        assert!(said.contains(wanted), "{said}");
    }
}
