//! What hangs for one namespace holds up no other: evictions, as the lane sends them.

use super::*;

/// An eviction of one of many pods.
fn evict_of(namespace: &str, index: usize) -> Effect {
    Effect::Evict(Evict {
        pod: PodKey {
            namespace: namespace.to_owned(),
            name: format!("p-{index}"),
            uid: format!("{namespace}-{index}"),
        },
        cause: EvictCause::Release,
        beneficiary: None,
        message: "released".into(),
        again: false,
    })
}

#[tokio::test(start_paused = true)]
async fn deletions_that_hang_in_two_namespaces_hold_up_no_other() {
    let (_, client) = FakeApi::start(|asked: &Asked| {
        if asked.line.starts_with("DELETE") && asked.line.contains("/deaf-") {
            let timed_out = status(504, "the webhook did not answer");
            return Reply::Late(Duration::from_secs(2), Box::new(timed_out));
        }
        Reply::Json(201, json!({}))
    });
    let mut rig = Rig::new(client);
    rig.lanes.submit(evict_of("calm", 0));
    for index in 0..1_000 {
        for namespace in ["deaf-a", "deaf-b"] {
            rig.lanes.submit(evict_of(namespace, index));
        }
    }
    // All that may be on the wire are of those that hang, and the first have come to nothing.
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(3) {
        let _ = timeout(Duration::from_millis(100), rig.news.recv()).await;
    }
    for index in 0..300 {
        rig.lanes.submit(evict_of("free", index));
    }
    let begun = Instant::now();
    let mut gone = 0;
    while gone < 300 {
        if let Event::EvictResult(pod, outcome) = rig.event().await
            && pod.namespace == "free"
        {
            assert_eq!(outcome, EvictOutcome::Accepted);
            gone += 1;
        }
    }
    let took = begun.elapsed();
    assert!(took < Duration::from_millis(2_500), "{took:?}");
}
