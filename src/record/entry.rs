//! One line of a record.

use muster_model::units::Time;
use muster_model::{Event, Plan};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What reached the core, or what it decided then. Each is a line of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Entry {
    /// News, before what it implies is made of it.
    Heard(Time, Event),
    /// It was to decide, and this came of it.
    Decided(Time, Plan),
    /// Entries are missing here.
    Gap(Time, Gap),
}

/// The same of what somebody else has. It is written as the same line.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryRef<'a> {
    /// News.
    Heard(Time, &'a Event),
    /// It was to decide.
    Decided(Time, &'a Plan),
    /// Entries are missing here.
    Gap(Time, &'a Gap),
}

/// Entries that are missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// How many.
    pub entries: u64,
    /// Why, in words.
    pub why: String,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = &self.why;
        match self.entries {
            0 => write!(f, "entries may be missing: {why}"),
            1 => write!(f, "1 entry is missing: {why}"),
            entries => write!(f, "{entries} entries are missing: {why}"),
        }
    }
}

impl Entry {
    /// When it was.
    #[must_use]
    pub const fn at(&self) -> Time {
        match self {
            Self::Heard(at, _) | Self::Decided(at, _) | Self::Gap(at, _) => *at,
        }
    }

    /// The same for who only looks at it.
    #[must_use]
    pub const fn view(&self) -> EntryRef<'_> {
        match self {
            Self::Heard(at, event) => EntryRef::Heard(*at, event),
            Self::Decided(at, plan) => EntryRef::Decided(*at, plan),
            Self::Gap(at, gap) => EntryRef::Gap(*at, gap),
        }
    }

    /// Reads a line.
    pub(crate) fn read(line: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(line)
    }
}

impl EntryRef<'_> {
    /// When it was.
    #[must_use]
    pub const fn at(self) -> Time {
        match self {
            Self::Heard(at, _) | Self::Decided(at, _) | Self::Gap(at, _) => at,
        }
    }

    /// The same for who keeps it.
    #[must_use]
    pub fn to_entry(self) -> Entry {
        match self {
            Self::Heard(at, event) => Entry::Heard(at, event.clone()),
            Self::Decided(at, plan) => Entry::Decided(at, plan.clone()),
            Self::Gap(at, gap) => Entry::Gap(at, gap.clone()),
        }
    }

    /// How many entries it stands for.
    pub(crate) const fn count(self) -> u64 {
        match self {
            Self::Heard(..) | Self::Decided(..) => 1,
            Self::Gap(_, gap) => gap.entries,
        }
    }

    /// Adds it to a text as a line, or adds nothing.
    pub(crate) fn write(self, text: &mut Vec<u8>) -> serde_json::Result<()> {
        let before = text.len();
        let written = serde_json::to_writer(&mut *text, &self);
        match written {
            Ok(()) => text.push(b'\n'),
            Err(_) => text.truncate(before),
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::testing::{group, node, pod};
    use muster_model::{
        Answer, Bind, BindOutcome, Code, Decision, Effect, Evict, EvictCause, EvictOutcome,
        ObjectKind, Outcome, PodWaits, QuestionId, Writes,
    };

    fn again(entry: &Entry) -> Entry {
        let mut text = Vec::new();
        entry.view().write(&mut text).unwrap();
        let line = text.strip_suffix(b"\n").unwrap();
        assert!(!line.contains(&b'\n'), "it is one line");
        assert_eq!(line, serde_json::to_vec(entry).unwrap());
        Entry::read(line).unwrap()
    }

    #[test]
    fn what_is_written_of_any_news_is_read_as_the_same() {
        let objects = ObjectKind::ALL.iter().map(|kind| kind.empty());
        let objects: Vec<_> = objects
            .chain([
                node("a", 4).into(),
                pod("p", Some("g"), 1).into(),
                group("g").into(),
            ])
            .collect();
        let gone = objects.iter().map(|object| Event::Gone(object.key()));
        let key = pod("p", None, 1).key;
        let told = [
            Event::BindResult(key.clone(), BindOutcome::Bound { node: "a".into() }),
            Event::BindResult(
                key.clone(),
                BindOutcome::Refused {
                    message: "no\n".into(),
                },
            ),
            Event::EvictResult(key, EvictOutcome::Accepted),
            Event::Answer(QuestionId(7), Answer::Yes("done".into())),
            Event::Writes(Writes::Stalled { since: Time(3) }),
        ];
        let events: Vec<Event> = gone.chain(told).collect();
        let is = objects.into_iter().map(Event::Is);
        for (at, event) in (0..).map(Time).zip(is.chain(events)) {
            let entry = Entry::Heard(at, event);
            assert_eq!(again(&entry), entry);
        }
    }

    #[test]
    fn what_is_not_written_is_as_it_is_where_nothing_is_said() {
        let mut spec = pod("p", Some("g"), 1);
        let mut line = Vec::new();
        let entry = Entry::Heard(Time(1), Event::is(spec.clone()));
        entry.view().write(&mut line).unwrap();
        let text = String::from_utf8(line).unwrap();
        assert!(!text.contains("terminating"), "{text}");
        // A field that an earlier version did not know is missing likewise.
        let text = text.replace(r#""ours":true,"#, "");
        spec.ours = false;
        let read = Entry::read(text.as_bytes()).unwrap();
        assert_eq!(read, Entry::Heard(Time(1), Event::is(spec)));
        let text = r#"{"decided":[2,{"effects":[]}]}"#;
        let read = Entry::read(text.as_bytes()).unwrap();
        assert_eq!(read, Entry::Decided(Time(2), Plan::default()));
    }

    #[test]
    fn what_is_written_of_a_plan_is_read_as_the_same() {
        let pod = pod("p", None, 1).key;
        let plan = Plan {
            effects: vec![
                Effect::Bind(Bind {
                    pod: pod.clone(),
                    node: "a".into(),
                    slot: Some(3),
                    completes: true,
                    asks: None,
                }),
                Effect::Evict(Evict {
                    pod: pod.clone(),
                    cause: EvictCause::Preemption,
                    beneficiary: Some(group("g").key),
                    message: "for g".into(),
                    again: false,
                }),
                Effect::PodWaits(PodWaits {
                    pod,
                    reason: Code::new("Unschedulable"),
                    message: "0/1 nodes are available".into(),
                    nominated: None,
                }),
            ],
            decisions: vec![Decision {
                gang: "team/g".into(),
                group: None,
                queue: "default".into(),
                outcome: Outcome::Waits {
                    reason: Code::new("Unschedulable"),
                    message: "no room".into(),
                },
            }],
            wake_at: Some(Time(u64::MAX)),
            ..Plan::default()
        };
        let entry = Entry::Decided(Time(5), plan);
        assert_eq!(again(&entry), entry);
        let entry = Entry::Gap(
            Time(6),
            Gap {
                entries: 2,
                why: "slow".into(),
            },
        );
        assert_eq!(again(&entry), entry);
        assert_eq!((entry.at(), entry.view().count()), (Time(6), 2));
        assert_eq!(entry.view().at(), Time(6));
    }
}
