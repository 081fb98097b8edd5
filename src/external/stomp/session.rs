//! What a client of STOMP wants, and what it is told: no I/O.
//!
//! A client connects once, then subscribes to topics. Nobody sends anything here: what is written goes by HTTP.

use super::frame::{Command, Frame, Wrong, written};
use crate::book::Change;
use crate::earlier_routes;
use crate::views::Kind;
use crate::wishes::is_name;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Subscriptions of one connection, at most.
pub(crate) const MOST_SUBSCRIPTIONS: usize = 256;
/// No id of a subscription is longer.
const MOST_ID: usize = 128;
/// No name in Kubernetes is longer.
const MOST_NAME: usize = 253;
/// How often signs of life may be asked of us.
const BEATS: Duration = Duration::from_secs(10);

/// What is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V11,
    V12,
}

impl Version {
    const fn name(self) -> &'static str {
        match self {
            Self::V11 => "1.1",
            Self::V12 => "1.2",
        }
    }

    /// The newest of those that a client speaks.
    fn agreed(accepted: &str) -> Option<Self> {
        let speaks = |version: &Self| accepted.split(',').any(|one| one.trim() == version.name());
        [Self::V12, Self::V11].into_iter().find(speaks)
    }
}

/// Whose changes are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Topic {
    pub(super) kind: Kind,
    /// Of one object; `None`: the names of all that change.
    pub(super) name: Option<String>,
}

impl Topic {
    /// What is called what in topics.
    fn kind(word: &str) -> Option<Kind> {
        match word {
            "testbeds" => Some(Kind::Testbed),
            "jobs" => Some(Kind::BatchJob),
            "schedulings" => Some(Kind::Scheduling),
            _ => None,
        }
    }

    fn read(destination: &str) -> Option<Self> {
        let rest = destination.strip_prefix("/topic/")?;
        let (word, name) = match rest.split_once('/') {
            Some((word, name)) => (word, Some(name)),
            None => (rest, None),
        };
        let kind = Self::kind(word)?;
        let fits = name.is_none_or(|name| is_name(name, MOST_NAME));
        let name = name.map(str::to_owned);
        fits.then_some(Self { kind, name })
    }
}

/// What a frame asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// To be let in.
    Connect {
        version: Version,
        /// What it shows, as in the header of HTTP of that name.
        authorization: Option<String>,
        /// How often it wants signs of life.
        beats: Option<Duration>,
    },
    /// To be told of changes.
    Subscribe {
        id: String,
        destination: String,
        topic: Topic,
    },
    /// Not to be told of them any more.
    Unsubscribe { id: String },
    /// To end.
    Disconnect,
}

/// Reads what a frame asks for.
pub(super) fn request(frame: &Frame) -> Result<Request, Wrong> {
    let need = |name: &str| {
        let value = frame.header(name).filter(|value| !value.is_empty());
        value.ok_or_else(|| format!("{} needs the header {name}", frame.command.name()))
    };
    let id = || {
        let id = need("id")?;
        let fits = id.len() <= MOST_ID;
        let fits = fits.then(|| id.to_owned());
        fits.ok_or_else(|| format!("id: has more than {MOST_ID} bytes"))
    };
    match frame.command {
        Command::Connect => {
            let accepted = frame.header("accept-version").unwrap_or("1.0");
            let version = Version::agreed(accepted);
            let version =
                version.ok_or_else(|| "only STOMP 1.1 and 1.2 are spoken here".to_owned())?;
            let authorization = frame.header_in_any_case("authorization");
            let authorization = authorization.map(str::to_owned);
            Ok(Request::Connect {
                version,
                authorization,
                beats: beats(frame.header("heart-beat").unwrap_or("0,0"))?,
            })
        }
        Command::Subscribe => {
            if frame.header("ack").is_some_and(|ack| ack != "auto") {
                return Err("ack: only auto is known here".to_owned());
            }
            let destination = need("destination")?;
            let topic = Topic::read(destination).ok_or_else(|| {
                "destination: there are the topics /topic/testbeds, /topic/jobs and \
                 /topic/schedulings, and below each a topic of every name"
                    .to_owned()
            })?;
            Ok(Request::Subscribe {
                id: id()?,
                destination: destination.to_owned(),
                topic,
            })
        }
        Command::Unsubscribe => Ok(Request::Unsubscribe { id: id()? }),
        Command::Disconnect => Ok(Request::Disconnect),
        Command::Send
        | Command::Ack
        | Command::Nack
        | Command::Begin
        | Command::Commit
        | Command::Abort => {
            let command = frame.command.name();
            Err(format!(
                "{command} is not served: topics are only to be read"
            ))
        }
    }
}

/// How often a client wants signs of life, as it and we can. Of it we want none: whether it is there, pings of the
/// WebSocket tell, which a browser answers even for a page that sleeps.
fn beats(header: &str) -> Result<Option<Duration>, Wrong> {
    let wrong = || "heart-beat: must be two numbers of milliseconds".to_owned();
    let (gives, wants) = header.split_once(',').ok_or_else(wrong)?;
    let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
    number(gives)?;
    let wants = Duration::from_millis(number(wants)?.into());
    Ok((!wants.is_zero()).then(|| wants.max(BEATS)))
}

/// A subscription.
#[derive(Debug)]
struct Subscription {
    destination: String,
    topic: Topic,
    /// Changes after this one are told.
    after: u64,
}

/// The subscriptions of a client that was let in.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    by_id: BTreeMap<String, Subscription>,
    /// How many messages there were.
    told: u64,
}

impl Subscriptions {
    /// One more: changes after this one are told.
    pub(super) fn add(
        &mut self,
        id: String,
        destination: String,
        topic: Topic,
        after: u64,
    ) -> Result<(), Wrong> {
        if self.by_id.contains_key(&id) {
            return Err("id: there is a subscription of this id".to_owned());
        }
        if self.by_id.len() >= MOST_SUBSCRIPTIONS {
            return Err(format!(
                "there are {MOST_SUBSCRIPTIONS} subscriptions, the most that there may be"
            ));
        }
        let one = Subscription {
            destination,
            topic,
            after,
        };
        self.by_id.insert(id, one);
        Ok(())
    }

    /// One less. That there is none of this id is no mistake: it may have crossed an answer.
    pub(super) fn remove(&mut self, id: &str) {
        self.by_id.remove(id);
    }

    /// Of which kinds changes are told.
    pub(super) fn kinds(&self) -> impl Iterator<Item = Kind> {
        let subscribed = |kind: &Kind| self.by_id.values().any(|one| one.topic.kind == *kind);
        let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(subscribed).collect();
        kinds.into_iter()
    }

    /// Who is told of a change, and what: its object is in the namespace that is shown.
    pub(super) fn told(&mut self, change: &Change) -> Vec<Told> {
        let key = &change.held.key;
        let body = |resource: Value| {
            let body = json!({"action": change.action.name(), "resource": resource});
            Arc::<str>::from(body.to_string())
        };
        // Made once, however many there are who are told it.
        let (mut name, mut whole) = (None::<Arc<str>>, None::<Arc<str>>);
        let mut told = Vec::new();
        for (id, one) in &self.by_id {
            if one.topic.kind != key.kind || change.position <= one.after {
                continue;
            }
            let body = match &one.topic.name {
                None => name.get_or_insert_with(|| body(json!(key.name))),
                Some(of) if *of == key.name => {
                    whole.get_or_insert_with(|| body(earlier_routes::shown(&change.held.view)))
                }
                Some(_) => continue,
            };
            self.told += 1;
            told.push(Told {
                id: id.clone(),
                destination: one.destination.clone(),
                number: self.told,
                body: Arc::clone(body),
            });
        }
        told
    }
}

/// What one subscription is told.
#[derive(Debug)]
pub(super) struct Told {
    id: String,
    destination: String,
    number: u64,
    body: Arc<str>,
}

impl Told {
    /// The same as a frame.
    pub(super) fn message(&self) -> String {
        let number = self.number.to_string();
        let headers = [
            ("subscription", self.id.as_str()),
            ("message-id", number.as_str()),
            ("destination", self.destination.as_str()),
            ("content-type", "application/json"),
        ];
        written("MESSAGE", &headers, &self.body)
    }
}

/// The answer to who was let in.
pub(super) fn connected(version: Version) -> String {
    let beats = format!("{},0", BEATS.as_millis());
    let headers = [
        ("version", version.name()),
        ("heart-beat", beats.as_str()),
        ("server", "muster"),
    ];
    written("CONNECTED", &headers, "")
}

/// The answer to a frame that wanted one.
pub(super) fn receipt(id: &str) -> String {
    written("RECEIPT", &[("receipt-id", id)], "")
}

/// The last that is said to a client.
pub(super) fn error(words: &str, receipt: Option<&str>) -> String {
    let mut headers = vec![("message", words), ("content-type", "text/plain")];
    headers.extend(receipt.map(|id| ("receipt-id", id)));
    // To whoever speaks another version, which there are.
    headers.push(("version", "1.1,1.2"));
    written("ERROR", &headers, words)
}

#[cfg(test)]
mod tests {
    use super::super::frame::Decoder;
    use super::*;
    use crate::book::{Action, Held};
    use crate::views::View;
    use muster_api::crd::{Scheduling, SchedulingSpec};

    fn asked(text: &str) -> Result<Request, Wrong> {
        let mut decoder = Decoder::default();
        decoder.feed(text.as_bytes());
        decoder.feed(b"\n\0");
        request(&decoder.next().unwrap().unwrap())
    }

    #[test]
    fn the_newest_version_that_both_speak_is_spoken() {
        for (accepted, expected) in [
            ("1.0,1.1,1.2", "1.2"),
            ("1.1, 1.0", "1.1"),
            ("2.0,1.2", "1.2"),
        ] {
            let asked = asked(&format!("CONNECT\naccept-version:{accepted}\n"));
            let Ok(Request::Connect { version, .. }) = asked else {
                panic!("{asked:?}");
            };
            assert_eq!(version.name(), expected);
        }
        for old in [
            "CONNECT\n",
            "STOMP\naccept-version:1.0\n",
            "CONNECT\naccept-version:\n",
        ] {
            assert_eq!(
                asked(old).unwrap_err(),
                "only STOMP 1.1 and 1.2 are spoken here"
            );
        }
    }

    #[test]
    fn a_token_is_shown_and_signs_of_life_are_asked_for() {
        let found =
            asked("CONNECT\naccept-version:1.2\nauthorization:Bearer x\nheart-beat:0,4000\n");
        let expected = Request::Connect {
            version: Version::V12,
            authorization: Some("Bearer x".to_owned()),
            beats: Some(BEATS),
        };
        assert_eq!(found, Ok(expected));
        let long = u32::MAX.to_string();
        assert_eq!(
            beats(&format!("0,{long}")),
            Ok(Some(Duration::from_millis(u32::MAX.into())))
        );
        assert_eq!(beats("10000,0"), Ok(None));
        for bad in ["", "1", "1,", "-1,0", "0,x", "1,2,3", "99999999999,0"] {
            assert!(beats(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn there_is_a_topic_of_each_kind_and_of_each_name() {
        let topic = |destination: &str| {
            let found = Topic::read(destination)?;
            Some((found.kind.name(), found.name.unwrap_or_default()))
        };
        assert_eq!(topic("/topic/testbeds"), Some(("Testbed", String::new())));
        assert_eq!(
            topic("/topic/jobs/a.b"),
            Some(("BatchJob", "a.b".to_owned()))
        );
        assert_eq!(
            topic("/topic/schedulings/x"),
            Some(("Scheduling", "x".to_owned()))
        );
        for none in [
            "",
            "/topic/",
            "/topic/pods",
            "/topic/jobs/",
            "/topic/jobs/A",
            "/topic/jobs/a/b",
            "/queue/jobs",
            "topic/jobs",
        ] {
            assert_eq!(topic(none), None, "{none}");
            let text = format!("SUBSCRIBE\nid:0\ndestination:{none}\n");
            assert!(asked(&text).unwrap_err().contains("destination"), "{none}");
        }
    }

    #[test]
    fn what_is_not_served_is_refused_by_name() {
        for command in ["SEND", "ACK", "NACK", "BEGIN", "COMMIT", "ABORT"] {
            let wrong = asked(&format!("{command}\ndestination:/topic/jobs\n")).unwrap_err();
            let expected = format!("{command} is not served: topics are only to be read");
            assert_eq!(wrong, expected);
        }
        let wrong = asked("SUBSCRIBE\nid:0\ndestination:/topic/jobs\nack:client\n").unwrap_err();
        assert_eq!(wrong, "ack: only auto is known here");
        assert!(asked("SUBSCRIBE\ndestination:/topic/jobs\n").is_err());
        assert!(asked("UNSUBSCRIBE\n").is_err());
        let long = "x".repeat(MOST_ID + 1);
        assert!(asked(&format!("UNSUBSCRIBE\nid:{long}\n")).is_err());
    }

    fn change(position: u64, name: &str) -> Change {
        let mut one = Scheduling::new(name, SchedulingSpec::default());
        one.metadata.namespace = Some("team".to_owned());
        let view = View::from(&one);
        let held = Held {
            key: view.key(),
            view,
            text: String::new(),
        };
        Change {
            position,
            action: Action::Modified,
            held: Arc::new(held),
        }
    }

    fn messages(all: &mut Subscriptions, change: &Change) -> Vec<String> {
        all.told(change).iter().map(Told::message).collect()
    }

    fn subscribe(
        all: &mut Subscriptions,
        id: &str,
        destination: &str,
        after: u64,
    ) -> Result<(), Wrong> {
        let topic = Topic::read(destination).unwrap();
        all.add(id.to_owned(), destination.to_owned(), topic, after)
    }

    #[test]
    fn of_all_the_name_is_told_and_of_one_the_whole_object() {
        let mut all = Subscriptions::default();
        subscribe(&mut all, "a", "/topic/schedulings", 0).unwrap();
        subscribe(&mut all, "b", "/topic/schedulings/one", 0).unwrap();
        subscribe(&mut all, "c", "/topic/jobs/one", 0).unwrap();
        let told = messages(&mut all, &change(1, "one"));
        assert_eq!(told.len(), 2);
        let expected = "MESSAGE\nsubscription:a\nmessage-id:1\ndestination:/topic/schedulings\n\
                        content-type:application/json\n\n{\"action\":\"MODIFIED\",\"resource\":\"one\"}\0";
        assert_eq!(told[0], expected);
        let body = told[1].split_once("\n\n").unwrap().1.trim_end_matches('\0');
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["resource"]["name"], "one");
        assert_eq!(body["resource"]["state"], "InitialState");
        assert_eq!(all.told(&change(2, "two")).len(), 1);
        all.remove("a");
        all.remove("a");
        assert_eq!(all.told(&change(3, "two")).len(), 0);
        assert_eq!(
            Vec::from_iter(all.kinds()),
            [Kind::BatchJob, Kind::Scheduling]
        );
    }

    #[test]
    fn what_was_before_a_subscription_is_not_told() {
        let mut all = Subscriptions::default();
        subscribe(&mut all, "a", "/topic/schedulings", 7).unwrap();
        assert_eq!(all.told(&change(7, "one")).len(), 0);
        assert_eq!(all.told(&change(8, "one")).len(), 1);
    }

    #[test]
    fn subscriptions_are_bounded_and_each_has_an_id_of_its_own() {
        let mut all = Subscriptions::default();
        for number in 0..MOST_SUBSCRIPTIONS {
            subscribe(&mut all, &number.to_string(), "/topic/jobs", 0).unwrap();
        }
        assert!(subscribe(&mut all, "more", "/topic/jobs", 0).is_err());
        all.remove("7");
        assert!(subscribe(&mut all, "8", "/topic/jobs", 0).is_err(), "twice");
        subscribe(&mut all, "more", "/topic/jobs", 0).unwrap();
    }
}
