//! Decisions are asked about once, with all places: against a real server that counts.

use super::*;
use crate::answerer::{Answerer, Outside};
use crate::fence::Fence;
use futures::future::join_all;
use muster_config::SchedulerConfiguration;
use muster_model::units::Millis;
use muster_model::{About, Answer, AskedPlace, Body, GangKey, PodKey, Question, QuestionId};
use serde_json::Value;

/// A plugin that lets everything pass, and what it was asked.
struct Door {
    _server: Server,
    directory: Directory,
    heard: Arc<Mutex<Vec<Value>>>,
}

impl Door {
    async fn open() -> Self {
        let heard = Arc::default();
        let server = Server::start(Manner::Allows(Arc::clone(&heard))).await;
        let text = format!(
            "apiVersion: config.muster.dev/v1alpha1\nkind: SchedulerConfiguration\nremotePlugins:\n\
             - {{name: door, url: 'http://{}/', points: [Reserve, Permit, PreBind, PostBind, Bind], timeout: 30s}}\n",
            server.address
        );
        let config: SchedulerConfiguration = muster_config::parse("test", &text).unwrap();
        let metrics = Arc::new(Metrics::new().unwrap());
        let directory = Directory::new(&config, Clock::start(), &metrics).unwrap();
        Self {
            _server: server,
            directory,
            heard,
        }
    }

    async fn ask(&self, question: &Question) -> Answer {
        let config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
        let client = kube::Client::try_from(config).unwrap();
        let outside = Outside::new(client, Fence::open());
        self.directory.answer(question, &outside).await
    }

    /// The point, the number and how many pods there were in each of the messages since this was last asked.
    fn heard(&self) -> Vec<(String, String, usize)> {
        let heard = std::mem::take(&mut *self.heard.lock().unwrap());
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let message = |one: &Value| {
            let pods = one["pods"].as_array().unwrap();
            assert!(pods.iter().all(|pod| pod["node"] == "n"), "{pods:?}");
            assert_eq!(one["podCount"], pods.len());
            (text(&one["point"]), text(&one["id"]), pods.len())
        };
        heard.iter().map(message).collect()
    }
}

/// A question about so many pods of a gang, from this one on.
fn question(id: u64, point: RemotePoint, pods: std::ops::Range<u32>) -> Question {
    let key = |pod: u32| PodKey {
        name: format!("g-{pod}"),
        ..PodKey::default()
    };
    let asked = |pod: u32| AskedPod {
        key: key(pod),
        node: Some("n".to_owned()),
        ..AskedPod::default()
    };
    let place = |pod: u32| AskedPlace {
        pod: key(pod),
        node: "n".to_owned(),
    };
    Question {
        id: QuestionId(id),
        about: About::Places(pods.clone().map(place).collect()),
        body: Body::Remote(Box::new(RemoteQuestion {
            plugin: "door".into(),
            point,
            gang: AskedGang {
                key: GangKey::default(),
                ..AskedGang::default()
            },
            pods: pods.clone().map(asked).collect(),
            pod_count: u32::try_from(pods.len()).unwrap(),
            nodes: Arc::default(),
        })),
        at_most: Millis(30_000),
        leaves_traces: point == RemotePoint::Reserve,
        undoes: None,
    }
}

fn yes() -> Answer {
    Answer::Yes(String::new())
}

#[tokio::test]
async fn a_decision_on_a_gang_of_a_hundred_is_one_message_at_each_point() {
    let door = Door::open().await;
    for (id, point) in [
        (1, RemotePoint::Reserve),
        (2, RemotePoint::Permit),
        (3, RemotePoint::PreBind),
        (4, RemotePoint::PostBind),
    ] {
        let question = question(id, point, 0..100);
        assert_eq!(door.ask(&question).await, yes());
        let message = (point.as_str().to_owned(), id.to_string(), 100);
        assert_eq!(door.heard(), [message]);
    }
}

#[tokio::test]
async fn what_was_reserved_is_given_back_in_one_message_with_the_places_that_came_to_nothing() {
    let door = Door::open().await;
    let reserve = question(1, RemotePoint::Reserve, 0..100);
    assert_eq!(door.ask(&reserve.undone_by(QuestionId(2))).await, yes());
    let all = ("Unreserve".to_owned(), "2".to_owned(), 100);
    assert_eq!(door.heard(), [all]);
    let places = reserve.about.places();
    let mut undo = reserve.undone_at(QuestionId(3), &places[20]);
    undo.undo_also_at(&reserve, &places[70]);
    assert_eq!(door.ask(&undo).await, yes());
    let two = ("Unreserve".to_owned(), "3".to_owned(), 2);
    assert_eq!(door.heard(), [two]);
}

#[tokio::test]
async fn a_decision_with_more_places_than_a_message_may_name_is_asked_about_in_parts() {
    let door = Door::open().await;
    let question = question(7, RemotePoint::Permit, 0..2_500);
    assert_eq!(door.ask(&question).await, yes());
    let mut heard = door.heard();
    heard.sort_unstable();
    let part = |id: &str, pods| ("Permit".to_owned(), id.to_owned(), pods);
    let parts = [part("7.1", 1_024), part("7.2", 1_024), part("7.3", 452)];
    assert_eq!(heard, parts);
}

#[tokio::test]
async fn binds_that_are_sent_at_once_are_asked_for_in_one_message() {
    let door = Door::open().await;
    let questions = (0..64).map(|pod| question(u64::from(pod), RemotePoint::Bind, pod..pod + 1));
    let questions: Vec<Question> = questions.collect();
    let answers = join_all(questions.iter().map(|one| door.ask(one))).await;
    assert_eq!(answers, vec![yes(); 64]);
    let together = ("Bind".to_owned(), "0".to_owned(), 64);
    assert_eq!(door.heard(), [together]);
}
