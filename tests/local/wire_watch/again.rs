//! What is asked for again after a failure, and what is not.

use super::*;

/// How many lists and how many watches were asked for.
fn asked_for(api: &FakeApi) -> (usize, usize) {
    let lines = api.lines();
    let watches = lines.iter().filter(|line| line.contains("watch=true"));
    let watches = watches.count();
    (lines.len() - watches, watches)
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_away_or_has_too_much_to_do_is_not_listed_anew_when_it_is_back() {
    for encoding in BOTH {
        let busy = || Reply::RetryAfter(429, 1, status_body(429, "too many requests"));
        let away = [(); 5].map(|()| Reply::Lost);
        let busy = [busy(), busy(), busy(), busy()];
        let back = Reply::Open(vec![change("ADDED", &pod("b", "2", 8))]);
        let (api, client) = FakeApi::speaking(
            encoding,
            server(
                [list("7", "", &[pod("a", "1", 3)])],
                away.into_iter().chain(busy).chain([back]),
            ),
        );
        let mut watch = Watch::start::<slim::Pod>(client);
        watch.tells(&["pod a/1", "synced pods", "pod b/2"]).await;
        assert_eq!(asked_for(&api), (1, 10), "{:?}", api.lines());
        watch.tells_no_more().await;
        assert_eq!(watch.says(Kind::Pods), "", "it is well again");
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_that_failed_is_asked_for_again_and_not_the_first() {
    for encoding in BOTH {
        let (api, client) = FakeApi::speaking(
            encoding,
            server(
                [
                    list("7", "next-page", &[pod("a", "1", 3)]),
                    Reply::Lost,
                    status(429, "too many requests"),
                    status(500, "etcd is away"),
                    list("7", "", &[pod("b", "2", 5)]),
                ],
                [],
            ),
        );
        let mut watch = Watch::start::<slim::Pod>(client);
        watch.tells(&["pod a/1", "pod b/2", "synced pods"]).await;
        let lines = api.lines();
        let pages = lines
            .iter()
            .filter(|line| line.contains("continue=next-page"));
        assert_eq!(pages.count(), 4, "{lines:?}");
        assert_eq!(asked_for(&api).0, 5);
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_of_a_list_that_is_too_old_has_it_listed_from_the_first_on() {
    let (api, client) = FakeApi::start(server(
        [
            list("7", "next-page", &[pod("a", "1", 3)]),
            status(410, "the continue token is too old"),
            list("9", "", &[pod("a", "1", 3), pod("b", "2", 8)]),
        ],
        [],
    ));
    let mut watch = Watch::start::<slim::Pod>(client);
    let told = ["pod a/1", "pod a/1", "pod b/2", "synced pods"];
    watch.tells(&told).await;
    assert_eq!(asked_for(&api).0, 3, "{:?}", api.lines());
}

#[tokio::test(start_paused = true)]
async fn who_says_when_to_come_again_is_not_asked_before() {
    let busy = || Reply::RetryAfter(429, 20, status_body(429, "too many requests"));
    let (api, client) = FakeApi::start(server([list("7", "", &[])], [busy(), Reply::Open(vec![])]));
    let mut watch = Watch::start::<slim::Pod>(client);
    watch.tells(&["synced pods"]).await;
    watch.tells_no_more().await;
    let asked = api.asked();
    let watches: Vec<_> = asked
        .iter()
        .filter(|one| one.line.contains("watch=true"))
        .collect();
    let waited = watches[1].at.duration_since(watches[0].at);
    assert!(waited >= Duration::from_secs(20), "{waited:?}");
}
