//! The page of `muster controllers --external` on a real API server, used in a headless Chromium (tests/page/whole.mjs),
//! and its topics, used by clients of STOMP (tests/page/stomp.mjs).
//!
//! Needs what `hack/build-control-plane` builds, Node and a Chromium: `hack/page-test` fetches that, and runs this.

use crate::deployed::CONTROLLERS;
use crate::process::Process;
use crate::served;
use std::process::Command;

const JOBS: [(&str, &str); 3] = [("count", "3s"), ("endless", "1h"), ("sort", "3s")];

#[test]
#[ignore = "needs Node and a Chromium: hack/page-test runs it"]
fn whole_schedulings_are_clicked_through() {
    let place = std::env::var("PAGE_TEST").expect("hack/page-test sets PAGE_TEST");
    let cluster = served::cluster(&JOBS);
    let muster = cluster.muster_with_ghosts();
    let kubeconfig = cluster.plane.kubeconfig_of(CONTROLLERS).unwrap();
    let options = ["--leader-elect=false", "--external=127.0.0.1:0"];
    let mut controllers = Process::controllers(&kubeconfig, &options);
    let address = served::address(&controllers);
    let token = served::token(&cluster);
    for (program, words) in [
        ("stomp.mjs", "clients of STOMP are not served"),
        ("whole.mjs", "the page does not what it is to do"),
    ] {
        let status = Command::new("node")
            .arg(program)
            .current_dir(&place)
            .env("EXTERNAL_URL", &address)
            .env("EXTERNAL_TOKEN", &token)
            .status()
            .unwrap();
        assert!(status.success(), "{words}");
    }
    controllers.signal("-TERM");
    assert!(controllers.ended().success());
    muster.stop();
}
