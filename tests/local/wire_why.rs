//! `/debug/why` on the wire: who is let in, what the API server is asked about them, how often, and
//! that nobody is told anything before.

use crate::fake_api::{Asked, FakeApi, Reply, status};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use muster::cluster::health::Role;
use muster::cluster::reviews::{Object, Reviews, Verdict};
use muster::cluster::{Explanations, Health, Metrics};
use muster::core::engine::Scheduler;
use muster::model::units::Time;
use muster::model::{Event, GangSpec, PodSpec, QueueSpec, TestbedSpec, plain};
use muster::serve::{Desk, Shown, serve};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::advance;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};

/// Believes whoever is there.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// An API server that knows the tokens of `ann`, `bob`, `cat` and `dan`; `ann` may get and list what she likes, `cat` get, and list
/// in namespace `ml`, and `dan` get only.
fn script(asked: &Asked) -> Reply {
    let spec = &asked.body["spec"];
    let token = spec["token"].as_str();
    match asked.line.as_str() {
        "POST /apis/authentication.k8s.io/v1/tokenreviews?" => {
            let user = json!({"username": token, "groups": ["g"], "extra": {"k": ["v"]}});
            let known = matches!(token, Some("ann" | "bob" | "cat" | "dan"));
            let status = json!({"authenticated": known, "user": user});
            Reply::Json(201, json!({"spec": spec, "status": status}))
        }
        "POST /apis/authorization.k8s.io/v1/subjectaccessreviews?" => {
            let what = &spec["resourceAttributes"];
            let allowed = match spec["user"].as_str() {
                Some("ann") => true,
                Some("cat") => what["verb"] == "get" || what["namespace"] == "ml",
                Some("dan") => what["verb"] == "get",
                _ => false,
            };
            Reply::Json(201, json!({"spec": spec, "status": {"allowed": allowed}}))
        }
        other => panic!("{other}"),
    }
}

fn train() -> Object {
    Object {
        resource: "podgroups",
        namespace: Some("ml".to_owned()),
        name: "train".to_owned(),
    }
}

#[tokio::test(start_paused = true)]
async fn the_api_server_says_who_it_is_and_what_they_may_and_is_believed_for_a_while() {
    let (api, client) = FakeApi::of_reviews(script);
    let reviews = Reviews::new(client);
    assert_eq!(reviews.may_get("ann", &train()).await, Verdict::Allowed);
    let asked = api.asked();
    assert_eq!(asked.len(), 2);
    let spec = &asked[1].body["spec"];
    assert_eq!(spec["user"], "ann");
    assert_eq!(spec["groups"], json!(["g"]));
    assert_eq!(spec["extra"], json!({"k": ["v"]}));
    let wanted = json!({
        "verb": "get", "group": "muster.dev", "resource": "podgroups",
        "namespace": "ml", "name": "train",
    });
    assert_eq!(spec["resourceAttributes"], wanted);
    assert_eq!(reviews.may_get("ann", &train()).await, Verdict::Allowed);
    assert_eq!(api.asked().len(), 2, "it is believed");
    advance(Duration::from_secs(6)).await;
    assert_eq!(reviews.may_get("ann", &train()).await, Verdict::Allowed);
    assert_eq!(api.asked().len(), 4, "and asked again later");
}

#[tokio::test(start_paused = true)]
async fn what_one_may_is_not_what_another_may_nor_for_another_object() {
    let (_, client) = FakeApi::of_reviews(script);
    let reviews = Reviews::new(client);
    assert_eq!(reviews.may_get("ann", &train()).await, Verdict::Allowed);
    let bob = Verdict::Forbidden("bob".to_owned());
    assert_eq!(reviews.may_get("bob", &train()).await, bob);
    assert_eq!(reviews.may_get("forged", &train()).await, Verdict::Unknown);
    assert_eq!(reviews.may_get("", &train()).await, Verdict::Unknown);
    let long = "x".repeat(17 << 10);
    assert_eq!(reviews.may_get(&long, &train()).await, Verdict::Unknown);
    assert_eq!(reviews.may_get("ann", &train()).await, Verdict::Allowed);
}

#[tokio::test(start_paused = true)]
async fn reviews_are_bounded_and_a_failure_is_not_remembered() {
    let (api, client) = FakeApi::of_reviews(script);
    let reviews = Reviews::new(client);
    let mut busy = 0;
    for index in 0..30 {
        let object = Object {
            name: format!("gang-{index}"),
            ..train()
        };
        busy += u32::from(reviews.may_get("ann", &object).await == Verdict::Busy);
    }
    // The first as a stranger, and then a quarter of what all have.
    assert_eq!((busy, api.asked().len()), (24, 12));
    advance(Duration::from_secs(1)).await;
    assert_eq!(
        reviews.may_get("bob", &train()).await,
        Verdict::Forbidden("bob".to_owned())
    );

    let mut answers = vec![status(500, "etcd is away")];
    let (_, client) =
        FakeApi::of_reviews(move |asked| answers.pop().unwrap_or_else(|| script(asked)));
    let reviews = Reviews::new(client);
    let failed = reviews.may_get("ann", &train()).await;
    assert!(matches!(failed, Verdict::Failed(words) if words.contains("etcd is away")));
    assert_eq!(reviews.may_get("ann", &train()).await, Verdict::Allowed);
}

#[tokio::test(start_paused = true)]
async fn who_asks_much_and_who_shows_tokens_of_nobody_leave_room_for_others() {
    let (api, client) = FakeApi::of_reviews(script);
    let reviews = Reviews::new(client);
    let bob = Verdict::Forbidden("bob".to_owned());
    assert_eq!(reviews.may_get("bob", &train()).await, bob);
    let of = |name: &str, index: usize| Object {
        name: format!("{name}-{index}"),
        ..train()
    };
    assert_eq!(reviews.may_get("ann", &train()).await, Verdict::Allowed);
    for index in 0..100 {
        let forged = format!("forged-{index}");
        reviews.may_get(&forged, &train()).await;
        reviews.may_get("ann", &of("a", index)).await;
    }
    assert_eq!(reviews.may_get("bob", &of("b", 0)).await, bob);
    let reviewed = |token: &str| {
        let asked = api.asked();
        let all = asked
            .iter()
            .filter_map(|one| one.body["spec"]["token"].as_str());
        all.filter(|one| one.starts_with(token)).count()
    };
    assert_eq!((reviewed("forged"), reviewed("ann")), (8, 6));
    // Strangers have no more than half of those under way, either.
    advance(Duration::from_secs(1)).await;
    let hang = Reply::Late(Duration::from_secs(3), Box::new(status(500, "late")));
    let (_, client) = FakeApi::of_reviews(move |asked| {
        let token = asked.body["spec"]["token"].as_str().unwrap_or_default();
        match token.starts_with("forged") {
            true => hang.clone(),
            false => script(asked),
        }
    });
    let reviews = Reviews::new(client);
    assert_eq!(reviews.may_get("bob", &train()).await, bob);
    let train = train();
    let forged = ["forged-0", "forged-1", "forged-2"].map(|token| reviews.may_get(token, &train));
    let (forged, bob_again) = tokio::join!(futures::future::join_all(forged), async {
        tokio::task::yield_now().await;
        reviews.may_get("bob", &of("b", 1)).await
    });
    assert_eq!(bob_again, bob);
    assert_eq!(
        forged.iter().filter(|one| **one == Verdict::Busy).count(),
        1
    );
}

/// The pages of an instance that knows queue `q`, in which gangs of two namespaces wait, and how it is doing.
async fn pages(role: Role) -> (SocketAddr, FakeApi) {
    let (api, client) = FakeApi::of_reviews(script);
    let mut scheduler = Scheduler::default();
    scheduler.keep_explaining();
    let queue = QueueSpec {
        name: "q".to_owned(),
        uid: "1".to_owned(),
        ..QueueSpec::default()
    };
    scheduler.apply(Time::ZERO, Event::is(queue));
    let testbed = TestbedSpec {
        name: "lab".to_owned(),
        uid: "2".to_owned(),
        ..TestbedSpec::default()
    };
    scheduler.apply(Time::ZERO, Event::is(testbed));
    for (namespace, name) in [("ml", "first"), ("other", "second")] {
        let key = plain::key(namespace, name);
        let group = GangSpec {
            queue: Some("q".to_owned()),
            ..plain::group(key, 1)
        };
        scheduler.apply(Time::ZERO, Event::is(group));
        let pod = PodSpec {
            gang: plain::member_of(name),
            ..plain::pod(namespace, name.to_owned(), plain::amounts([("cpu", 1_000)]))
        };
        scheduler.apply(Time::ZERO, Event::is(pod));
    }
    let _ = scheduler.cycle(Time::ZERO);
    let explanations = Explanations::default();
    explanations.take(scheduler.take_explained(Time::ZERO).0);
    let health = Arc::new(Health::default());
    health.set_role(role);
    let shown = Shown {
        health: Arc::clone(&health),
        metrics: Arc::new(Metrics::new().unwrap()),
        desk: Some(Desk {
            health,
            explanations: Arc::new(explanations),
            reviews: Arc::new(Reviews::new(client)),
        }),
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, shown));
    (address, api)
}

/// The code and the body of an answer.
async fn get(address: SocketAddr, page: &str, header: &str) -> (u16, String) {
    get_over(TcpStream::connect(address).await.unwrap(), page, header).await
}

/// The same as the API server's proxy asks: in TLS, and for no name.
async fn get_encrypted(address: SocketAddr, page: &str, header: &str) -> (u16, String) {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody(provider)))
        .with_no_client_auth();
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("10.0.0.7").unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream);
    get_over(stream.await.unwrap(), page, header).await
}

async fn get_over(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    page: &str,
    header: &str,
) -> (u16, String) {
    let request = format!("GET {page} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n{header}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let code = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    (code, body.to_owned())
}

#[tokio::test]
async fn who_may_read_an_object_is_told_why_and_nobody_else() {
    let (address, _) = pages(Role::Leading).await;
    let ann = "authorization: Bearer ann\r\n";
    let page = "/debug/why/queues/q";
    let (code, body) = get(address, page, ann).await;
    assert_eq!(code, 200, "{body}");
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["books"]["name"], "q");
    let (code, body) = get(address, page, "authorization: Bearer bob\r\n").await;
    assert_eq!(
        (code, body.as_str()),
        (403, "bob may not get queues.muster.dev q\n")
    );
    let (code, body) = get(address, "/debug/why/testbeds/lab", ann).await;
    assert_eq!(code, 200, "{body}");
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (&body["kind"], &body["clock"]),
        (&"Testbed".into(), &"utc".into())
    );
    let bob = "authorization: Bearer bob\r\n";
    let (code, body) = get(address, "/debug/why/testbeds/lab", bob).await;
    assert_eq!(
        (code, body.as_str()),
        (403, "bob may not get testbeds.muster.dev lab\n")
    );
    let (code, body) = get(address, "/debug/why/testbeds/other", ann).await;
    assert_eq!(
        (code, body.as_str()),
        (404, "the scheduler knows no Testbed other\n")
    );
    let (code, body) = get(address, "/debug/why/queues/other", ann).await;
    assert_eq!(
        (code, body.as_str()),
        (404, "the scheduler knows no Queue other\n")
    );
    let (code, _) = get(address, "/debug/why/podgroups/ml/train", ann).await;
    assert_eq!(code, 404);
}

#[tokio::test]
async fn names_of_other_namespaces_are_for_who_may_list_podgroups_there() {
    let (address, _) = pages(Role::Leading).await;
    let hidden = "a gang of another namespace";
    for (user, page, first) in [
        ("ann", "queues/q", ["ml/first", "other/second"]),
        ("cat", "queues/q?namespace=ml", ["ml/first", hidden]),
        ("dan", "queues/q?namespace=ml", [hidden, hidden]),
        ("cat", "queues/q", [hidden, hidden]),
    ] {
        let header = format!("authorization: Bearer {user}\r\n");
        let (code, body) = get(address, &format!("/debug/why/{page}"), &header).await;
        assert_eq!(code, 200, "{body}");
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["first"], json!(first), "{user} {page}");
        let head = body["head"]["message"].as_str().unwrap();
        assert_eq!(head.is_empty(), first[0] == hidden, "{user}: {head}");
    }
    // What is ahead of one's own gang.
    let page = "/debug/why/podgroups/other/second";
    for (user, first) in [("ann", "ml/first"), ("dan", hidden)] {
        let header = format!("authorization: Bearer {user}\r\n");
        let (_, body) = get(address, page, &header).await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["waits"]["ahead"]["first"], json!([first]), "{body}");
        assert_eq!(body["name"], "second");
    }
}

#[tokio::test]
async fn a_token_that_comes_through_a_proxy_is_taken_encrypted_only() {
    let (address, api) = pages(Role::Leading).await;
    let page = "/debug/why/queues/q";
    let forwarded = "x-muster-authorization: Bearer ann\r\n";
    let (code, body) = get(address, page, forwarded).await;
    assert_eq!(code, 400, "{body}");
    assert!(body.contains("has to come encrypted"), "{body}");
    assert!(api.asked().is_empty());
    let (code, body) = get_encrypted(address, page, forwarded).await;
    assert_eq!(code, 200, "{body}");
    // The other pages are there, too.
    let (code, body) = get_encrypted(address, "/healthz", "").await;
    assert_eq!((code, body.as_str()), (200, "ok\n"));
}

#[tokio::test]
async fn who_begins_in_neither_way_keeps_nobody_from_an_answer() {
    let (address, _) = pages(Role::Leading).await;
    let mut silent = Vec::new();
    for begun in [&b""[..], b"\x16", b"\x16\x03\x01", b"\x00\xff"] {
        for _ in 0..12 {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(begun).await.unwrap();
            silent.push(stream);
        }
    }
    let (code, _) = get(address, "/healthz", "").await;
    assert_eq!(code, 200);
    // A handshake that is not gone on with ends by itself.
    let (code, _) = get_encrypted(address, "/healthz", "").await;
    assert_eq!(code, 200);
}

#[tokio::test(start_paused = true)]
async fn a_token_of_an_audience_of_its_own_is_good_for_asking_why() {
    let claims = |aud: Value| {
        let claims = json!({"sub": "ann", "aud": aud}).to_string();
        format!("head.{}.sign", BASE64_URL_SAFE_NO_PAD.encode(claims))
    };
    let (api, client) = FakeApi::of_reviews(|asked| {
        let spec = &asked.body["spec"];
        if asked.line.contains("subjectaccessreviews") {
            return Reply::Json(201, json!({"spec": spec, "status": {"allowed": true}}));
        }
        let user = json!({"username": "ann"});
        let status = json!({"authenticated": true, "user": user, "audiences": spec["audiences"]});
        Reply::Json(201, json!({"spec": spec, "status": status}))
    });
    let reviews = Reviews::new(client);
    for (aud, asks) in [
        (json!(["muster.dev/why"]), json!(["muster.dev/why"])),
        (json!("muster.dev/why"), json!(["muster.dev/why"])),
        (json!(["https://kubernetes.default.svc"]), Value::Null),
    ] {
        let token = claims(aud);
        assert_eq!(reviews.may_get(&token, &train()).await, Verdict::Allowed);
        let asked = api.asked();
        let review = &asked[asked.len() - 2];
        assert_eq!(review.body["spec"]["audiences"], asks);
        assert_eq!(review.body["spec"]["token"], token.as_str());
    }
}

#[tokio::test]
async fn the_api_server_is_not_asked_about_what_cannot_be() {
    let (address, api) = pages(Role::Leading).await;
    for (page, header, code) in [
        ("/debug/why/queues/q", "", 401),
        ("/debug/why/queues/q", "authorization: Basic YTpi\r\n", 401),
        ("/debug/why/queues/q", "authorization: Bearer \r\n", 401),
        (
            "/debug/why/queues/a%2Fb",
            "authorization: Bearer ann\r\n",
            400,
        ),
        (
            "/debug/why/podgroups/a%20b/c",
            "authorization: Bearer ann\r\n",
            400,
        ),
        ("/debug/why", "authorization: Bearer ann\r\n", 404),
    ] {
        assert_eq!(get(address, page, header).await.0, code, "{page} {header}");
    }
    assert_eq!(api.lines(), [""; 0]);
}

#[tokio::test]
async fn an_instance_that_stands_by_says_who_schedules() {
    let (address, _) = pages(Role::StandingBy).await;
    let (code, body) = get(
        address,
        "/debug/why/queues/q",
        "authorization: Bearer ann\r\n",
    )
    .await;
    let words = "this instance does not schedule: nobody has the lease\n";
    assert_eq!((code, body.as_str()), (503, words));
}
