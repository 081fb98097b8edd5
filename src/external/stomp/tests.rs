//! Clients of STOMP over a book that is filled by hand, on virtual time: they are connected by pipes in memory.

use super::*;
use crate::book::Bounds;
use crate::desk::{Access, GREETINGS, Later, STREAMS};
use crate::tests::{Bench, job};
use crate::views::{Key, View};
use futures::{SinkExt, StreamExt};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use muster_api::crd::{Scheduling, SchedulingSpec};
use muster_cluster::reviews::Verdict;
use serde_json::{Value, json};
use std::sync::Mutex;
use tokio::io::{DuplexStream, duplex};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message as Heard};
use tokio_tungstenite::{WebSocketStream, client_async};

/// `all` may watch everything, `looker` Testbeds only, as long as nobody says otherwise.
#[derive(Default)]
struct Rights(Mutex<Option<Verdict>>);

impl Access for Rights {
    fn may<'a>(&'a self, token: &'a str, asked: &'a Asked) -> Later<'a, Verdict> {
        let said = self.0.lock().unwrap().clone();
        let verdict = said.unwrap_or_else(|| match (token, asked.resource) {
            ("all", _) | ("looker", "testbeds") => Verdict::Allowed,
            ("looker" | "nothing", _) => Verdict::Forbidden(token.to_owned()),
            _ => Verdict::Unknown,
        });
        Box::pin(async move { verdict })
    }
}

fn bench() -> (Bench, Arc<Rights>) {
    let rights = Arc::new(Rights::default());
    let access: Arc<dyn Access> = Arc::<Rights>::clone(&rights);
    (Bench::with(Bounds::default(), access), rights)
}

/// A client.
struct Talk(WebSocketStream<DuplexStream>);

async fn open_at(bench: &Bench, path: &str, token: &str) -> Result<Talk, u16> {
    open_from(bench, path, token, "").await
}

/// A client in a page of this origin.
async fn open_from(bench: &Bench, path: &str, token: &str, origin: &str) -> Result<Talk, u16> {
    let (ours, theirs) = duplex(1 << 16);
    let router = TowerToHyperService::new(crate::router(bench.desk.clone()));
    let served = http1::Builder::new().serve_connection(TokioIo::new(theirs), router);
    tokio::spawn(served.with_upgrades());
    let mut request = format!("ws://muster{path}").into_client_request().unwrap();
    let headers = request.headers_mut();
    headers.insert(
        "sec-websocket-protocol",
        "v12.stomp, v11.stomp, v10.stomp".parse().unwrap(),
    );
    if !token.is_empty() {
        headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
    }
    if !origin.is_empty() {
        headers.insert("origin", origin.parse().unwrap());
    }
    match client_async(request, ours).await {
        Ok((socket, response)) => {
            assert_eq!(response.headers()["sec-websocket-protocol"], "v12.stomp");
            Ok(Talk(socket))
        }
        Err(Error::Http(response)) => Err(response.status().as_u16()),
        Err(other) => panic!("{other}"),
    }
}

async fn open(bench: &Bench) -> Talk {
    open_at(bench, "/scheduler", "").await.unwrap()
}

impl Talk {
    async fn say(&mut self, text: &str) {
        self.0.send(Heard::text(text)).await.unwrap();
    }

    /// The next text; `None`: there is an end.
    async fn hear(&mut self) -> Option<String> {
        loop {
            match self.0.next().await? {
                Ok(Heard::Text(text)) => return Some(text.to_string()),
                Ok(Heard::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// Lets itself in.
    async fn connect(&mut self, token: &str) -> String {
        self.say(&format!(
            "CONNECT\naccept-version:1.1,1.2\nAuthorization:Bearer {token}\n\n\0"
        ))
        .await;
        self.hear().await.unwrap()
    }

    async fn subscribe(&mut self, id: &str, topic: &str) {
        let text = format!("SUBSCRIBE\nid:{id}\ndestination:/topic/{topic}\nreceipt:{id}\n\n\0");
        self.say(&text).await;
        assert_eq!(
            self.hear().await.unwrap(),
            format!("RECEIPT\nreceipt-id:{id}\n\n\0")
        );
    }

    /// The body of the next message.
    async fn told(&mut self) -> Value {
        let text = self.hear().await.unwrap();
        assert!(text.starts_with("MESSAGE\n"), "{text}");
        let body = text.split_once("\n\n").unwrap().1.trim_end_matches('\0');
        serde_json::from_str(body).unwrap()
    }

    /// That nothing but an error comes, and then the end.
    async fn fails(&mut self, expected: &str) {
        let text = self.hear().await.unwrap_or_default();
        assert!(
            text.starts_with("ERROR\n") && text.contains(expected),
            "{text:?}: {expected}"
        );
        assert_eq!(self.hear().await, None);
    }
}

fn scheduling(namespace: &str, name: &str) -> View {
    let mut one = Scheduling::new(name, SchedulingSpec::default());
    one.metadata.namespace = Some(namespace.to_owned());
    View::from(&one)
}

#[tokio::test(start_paused = true)]
async fn changes_are_told_by_name_and_in_whole() {
    let (bench, _) = bench();
    let mut client = open(&bench).await;
    let connected = client.connect("all").await;
    assert!(
        connected.starts_with("CONNECTED\nversion:1.2\n"),
        "{connected}"
    );
    client.subscribe("0", "schedulings").await;
    client.subscribe("1", "schedulings/one").await;
    client.subscribe("2", "jobs/a").await;
    bench.book.put(scheduling("other", "one"));
    bench.book.put(scheduling("team", "one"));
    let expected = json!({"action": "ADDED", "resource": "one"});
    assert_eq!(client.told().await, expected);
    let whole = client.told().await;
    let (code, shown) = bench.ask("all", "GET /external/schedulings/one", "").await;
    assert_eq!(code, 200);
    assert_eq!(whole, json!({"action": "ADDED", "resource": shown}));
    bench.book.put(job("a", "{\"x\": [1]}"));
    let whole = client.told().await;
    assert_eq!(whole["action"], "MODIFIED");
    assert_eq!(whole["resource"]["externalScheduler"], json!({"x": [1]}));
    client.say("UNSUBSCRIBE\nid:0\n\n\0").await;
    client.say("UNSUBSCRIBE\nid:1\nreceipt:r\n\n\0").await;
    assert_eq!(client.hear().await.unwrap(), "RECEIPT\nreceipt-id:r\n\n\0");
    bench.book.gone(&Key::new(Kind::Scheduling, "team", "one"));
    bench.book.gone(&Key::new(Kind::BatchJob, "team", "a"));
    let gone = client.told().await;
    assert_eq!(
        (&gone["action"], &gone["resource"]["name"]),
        (&json!("DELETED"), &json!("a"))
    );
    client.say("DISCONNECT\nreceipt:bye\n\n\0").await;
    assert_eq!(
        client.hear().await.unwrap(),
        "RECEIPT\nreceipt-id:bye\n\n\0"
    );
    assert_eq!(client.hear().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_token_in_the_header_of_the_upgrade_is_enough() {
    let (bench, _) = bench();
    let mut client = open_at(&bench, "/scheduler/websocket", "all")
        .await
        .unwrap();
    client.say("STOMP\naccept-version:1.1\nhost:x\n\n\0").await;
    let said = client.hear().await.unwrap();
    assert!(said.starts_with("CONNECTED\nversion:1.1\n"), "{said}");
    assert_eq!(
        open_at(&bench, "/scheduler", "forged").await.err(),
        Some(401)
    );
}

#[tokio::test(start_paused = true)]
async fn a_page_of_another_origin_has_to_show_a_token_itself() {
    let (bench, _) = bench();
    let begin = "CONNECT\naccept-version:1.2\n\n\0";
    let mut own = open_from(&bench, "/scheduler", "all", "https://muster")
        .await
        .unwrap();
    own.say(begin).await;
    assert!(own.hear().await.unwrap().starts_with("CONNECTED\n"));
    for origin in ["https://muster.evil", "null", "muster"] {
        let open = || open_from(&bench, "/scheduler", "all", origin);
        let mut other = open().await.unwrap();
        other.say(begin).await;
        other.fails("a bearer token is needed").await;
        let said = open().await.unwrap().connect("all").await;
        assert!(said.starts_with("CONNECTED\n"), "{origin}: {said}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_is_sent_away_counts_until_it_has_gone() {
    let (bench, _) = bench();
    let mut client = open(&bench).await;
    client
        .say("SUBSCRIBE\nid:0\ndestination:/topic/jobs\n\n\0")
        .await;
    tokio::time::sleep(CLOSE_WITHIN / 2).await;
    assert_eq!(bench.desk.greetings.available_permits(), GREETINGS - 1);
    // It reads nothing, and is let go all the same.
    tokio::time::sleep(SEND_WITHIN + CLOSE_WITHIN).await;
    assert_eq!(bench.desk.greetings.available_permits(), GREETINGS);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_let_in_without_a_token_that_is_theirs() {
    let (bench, _) = bench();
    for (text, expected) in [
        (
            "CONNECT\naccept-version:1.2\n\n\0",
            "a bearer token is needed",
        ),
        (
            "CONNECT\naccept-version:1.2\nAuthorization:all\n\n\0",
            "a bearer token is needed",
        ),
        (
            "CONNECT\naccept-version:1.2\nAuthorization:Bearer forged\n\n\0",
            "is not valid",
        ),
        (
            "SUBSCRIBE\nid:0\ndestination:/topic/jobs\n\n\0",
            "has to be CONNECT",
        ),
        ("CONNECT\n\n\0", "only STOMP 1.1 and 1.2"),
        ("\0", "ends before"),
    ] {
        let mut client = open(&bench).await;
        client.say(text).await;
        client.fails(expected).await;
    }
    let mut client = open(&bench).await;
    client
        .0
        .send(Heard::binary(vec![0xff_u8; 100]))
        .await
        .unwrap();
    client.fails("begins with no command").await;
    tokio::time::sleep(2 * CLOSE_WITHIN).await;
    assert_eq!(bench.desk.streams.available_permits(), STREAMS);
    assert_eq!(bench.desk.greetings.available_permits(), GREETINGS);
}

#[tokio::test(start_paused = true)]
async fn what_somebody_may_not_watch_is_not_told() {
    let (bench, _) = bench();
    let mut client = open(&bench).await;
    assert!(client.connect("looker").await.starts_with("CONNECTED"));
    client.subscribe("0", "testbeds").await;
    client
        .say("SUBSCRIBE\nid:1\ndestination:/topic/jobs/a\nreceipt:7\n\n\0")
        .await;
    let said = client.hear().await.unwrap();
    assert!(
        said.contains("looker may not watch batchjobs in namespace team"),
        "{said}"
    );
    assert!(said.contains("\nreceipt-id:7\n"), "{said}");
    assert_eq!(client.hear().await, None);
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_ends_it_with_words() {
    let (bench, _) = bench();
    for (text, expected) in [
        (
            "SEND\ndestination:/topic/jobs\nreceipt:r\n\nhello\0",
            "SEND is not served",
        ),
        ("BEGIN\ntransaction:t\n\n\0", "BEGIN is not served"),
        (
            "CONNECT\naccept-version:1.2\n\n\0",
            "you are connected already",
        ),
        (
            "SUBSCRIBE\nid:0\ndestination:/topic/pods\n\n\0",
            "destination",
        ),
        ("FLY\n\n\0", "is no command"),
    ] {
        let mut client = open(&bench).await;
        client.connect("all").await;
        client.say(text).await;
        client.fails(expected).await;
    }
}

#[tokio::test(start_paused = true)]
async fn who_does_not_say_who_it_is_is_sent_away() {
    let (bench, _) = bench();
    let mut client = open(&bench).await;
    let begin = Instant::now();
    client.say("\n\n").await;
    client.fails("CONNECT did not come within 10 s").await;
    assert!(begin.elapsed() <= GREETING_WITHIN + CLOSE_WITHIN);
}

#[tokio::test(start_paused = true)]
async fn who_is_too_slow_is_told_so_and_sent_away() {
    let rights: Arc<dyn Access> = Arc::new(Rights::default());
    let bounds = Bounds {
        changes: 2,
        ..Bounds::default()
    };
    let bench = Bench::with(bounds, rights);
    let mut client = open(&bench).await;
    client.connect("all").await;
    client.subscribe("0", "jobs").await;
    // Without a pause in which they could be told.
    for kept in ["{\"a\":1}", "{\"a\":2}", "{\"a\":3}"] {
        bench.book.put(job("a", kept));
    }
    client.fails("you read too slowly").await;
    // One that reads nothing at all is cut off, whatever there is to tell.
    let bench = bench_that_is_large();
    let mut client = open(&bench).await;
    client.connect("all").await;
    client.subscribe("0", "jobs/a").await;
    for number in 0..100 {
        let kept = json!({"x": "y".repeat(60_000), "number": number});
        bench.book.put(job("a", &kept.to_string()));
        tokio::task::yield_now().await;
    }
    assert_eq!(bench.desk.streams.available_permits(), STREAMS - 1);
    tokio::time::sleep(SEND_WITHIN + CLOSE_WITHIN).await;
    assert_eq!(bench.desk.streams.available_permits(), STREAMS);
}

fn bench_that_is_large() -> Bench {
    bench().0
}

#[tokio::test(start_paused = true)]
async fn rights_that_are_taken_away_end_it() {
    for taken in [Verdict::Unknown, Verdict::Forbidden("all".to_owned())] {
        let (bench, rights) = bench();
        let mut client = open(&bench).await;
        client.connect("all").await;
        client.subscribe("0", "jobs").await;
        let begin = Instant::now();
        *rights.0.lock().unwrap() = Some(taken.clone());
        let expected = match taken {
            Verdict::Unknown => "the token is not valid",
            _ => "all may not watch batchjobs",
        };
        client.fails(expected).await;
        assert!(begin.elapsed() <= RIGHTS_EVERY + CLOSE_WITHIN);
    }
}

#[tokio::test(start_paused = true)]
async fn that_nobody_can_say_what_it_may_do_is_borne_for_some_minutes() {
    let (bench, rights) = bench();
    let mut client = open(&bench).await;
    client.connect("all").await;
    let begin = Instant::now();
    *rights.0.lock().unwrap() = Some(Verdict::Failed("no answer".to_owned()));
    client.fails("the API server did not say").await;
    let took = begin.elapsed();
    assert!(
        took >= RIGHTS_FOR && took <= RIGHTS_FOR + RIGHTS_EVERY,
        "{took:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn signs_of_life_come_as_they_are_asked_for_and_an_hour_is_the_most() {
    let (bench, _) = bench();
    let mut client = open(&bench).await;
    client
        .say("CONNECT\naccept-version:1.2\nheart-beat:0,20000\nAuthorization:Bearer all\n\n\0")
        .await;
    assert!(
        client
            .hear()
            .await
            .unwrap()
            .contains("\nheart-beat:10000,0\n")
    );
    let begin = Instant::now();
    let mut beats = 0;
    let last = loop {
        match client.hear().await.unwrap().as_str() {
            "\n" => beats += 1,
            other => break other.to_owned(),
        }
    };
    assert!(last.contains("has lasted an hour"), "{last}");
    assert_eq!(begin.elapsed().as_secs(), 3_600);
    assert!((178..=180).contains(&beats), "{beats}");
}

#[tokio::test(start_paused = true)]
async fn who_is_not_there_any_more_is_forgotten() {
    let (bench, _) = bench();
    let mut client = open(&bench).await;
    client.connect("all").await;
    // It reads nothing, so that it answers no ping.
    tokio::time::sleep(SILENT_FOR + PING_EVERY).await;
    assert_eq!(bench.desk.streams.available_permits(), STREAMS);
}

#[tokio::test(start_paused = true)]
async fn connections_are_bounded_before_and_after_they_are_let_in() {
    let (bench, _) = bench();
    let mut open_ones = Vec::new();
    for _ in 0..GREETINGS {
        open_ones.push(open(&bench).await);
    }
    assert_eq!(open_at(&bench, "/scheduler", "").await.err(), Some(503));
    open_ones.clear();
    tokio::time::sleep(GREETING_WITHIN).await;
    for _ in 0..STREAMS {
        let mut client = open(&bench).await;
        assert!(client.connect("all").await.starts_with("CONNECTED"));
        open_ones.push(client);
    }
    let mut more = open(&bench).await;
    let said = more.connect("all").await;
    assert!(said.contains("too many streams are open"), "{said}");
    let (code, _) = bench
        .ask("all", "GET /api/v1/events?namespace=team", "")
        .await;
    assert_eq!(code, 503, "streams of both sorts share their places");
}

#[tokio::test(start_paused = true)]
async fn sockjs_is_served_by_its_web_socket() {
    let (bench, _) = bench();
    let (code, info) = bench.ask("", "GET /scheduler/info", "").await;
    assert_eq!((code, &info["websocket"]), (200, &json!(true)));
    assert_eq!(info["cookie_needed"], json!(false));
    let mut client = open_at(&bench, "/scheduler/017/abcdefgh/websocket", "all")
        .await
        .unwrap();
    assert_eq!(client.hear().await.unwrap(), "o");
    client
        .say("[\"CONNECT\\naccept-version:1.2\\n\\n\\u0000\"]")
        .await;
    let said = client.hear().await.unwrap();
    assert!(said.starts_with("a[\"CONNECTED\\nversion:1.2"), "{said}");
    client.say("[1]").await;
    let said = client.hear().await.unwrap();
    assert!(said.starts_with("a[\"ERROR"), "{said}");
    assert_eq!(client.hear().await.unwrap(), "c[3000,\"Go away!\"]");
    assert_eq!(client.hear().await, None);
}

#[tokio::test]
async fn what_is_no_web_socket_is_told_so() {
    let (bench, _) = bench();
    for line in ["GET /scheduler", "GET /scheduler/websocket"] {
        let (code, said) = bench.ask("all", line, "").await;
        assert!([400, 426].contains(&code), "{code}: {said}");
        assert!(said["error"]["message"].is_string(), "{said}");
    }
}
