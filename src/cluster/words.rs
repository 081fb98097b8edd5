//! What is to be written of objects: a state machine over what the core wants said and what the
//! API server holds. No I/O and no clock: lanes and simulator drive the same one.
//!
//! There is one memory of what an object says, fed by the watches and by our own writes. A word is
//! written where it differs, and as long as it differs: what was lost, refused or overwritten
//! heals, and a start writes nothing that is there already. Words are gathered for a moment, are
//! never in two writes at once, and are tried again ever more slowly.

use super::attempt::Answer;
use jiff::Timestamp;
use muster_api::kinds::Subject;
use muster_api::said::Said;
use muster_api::status::Status;
use muster_model::units::Doubling;
use muster_model::units::{Millis, Time};
use muster_model::{GangStatus, PodWaits, QueueStatus, TopologyStatus};
use std::collections::{BTreeMap, BTreeSet};

/// A status waits so long for what follows: a gang goes through several in a moment.
pub const GATHER: Millis = Millis(200);
/// Between two writes to one object.
const GAP: Millis = Millis(500);
/// After a write somebody else's or an older word may still come in by the watch: it is corrected
/// after so long, and then ever more slowly.
const HEAL: Doubling = Doubling {
    first: Millis(2_000),
    longest: Millis(60_000),
};

/// What may not be written yet for the sake of others is looked at again after so long.
const HELD: Millis = Millis(500);

/// What is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// The status of a PodGroup.
    Gang(Box<GangStatus>),
    /// The status of a Queue.
    Queue(QueueStatus),
    /// The status of a Topology.
    Topology(TopologyStatus),
    /// Why a pod waits.
    Pod(PodWaits),
}

impl Word {
    /// What it is about.
    #[must_use]
    pub fn subject(&self) -> Subject {
        match self {
            Self::Gang(status) => Subject::Gang(status.source, status.uid.clone()),
            Self::Queue(status) => Subject::Queue(status.uid.clone()),
            Self::Topology(status) => Subject::Topology(status.uid.clone()),
            Self::Pod(order) => Subject::Pod(order.pod.uid.clone()),
        }
    }

    /// The namespace of what it is about; empty if that has none.
    #[must_use]
    pub fn namespace(&self) -> &str {
        match self {
            Self::Gang(status) => &status.gang.namespace,
            Self::Pod(order) => &order.pod.namespace,
            Self::Queue(_) | Self::Topology(_) => "",
        }
    }

    /// It as the status of its object, without times; `None` where that kind has nothing for it.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        match self {
            Self::Gang(status) => Status::of_gang(status),
            Self::Queue(status) => Some(status.into()),
            Self::Topology(status) => Some(status.into()),
            Self::Pod(order) => Some(order.into()),
        }
    }

    fn said(&self) -> Option<Said> {
        self.status().map(Status::said)
    }
}

/// A word to be written now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// About what.
    pub subject: Subject,
    /// What.
    pub word: Word,
    /// Whether it is another kind of thing than the object says already: worth an event.
    pub is_news: bool,
    held: Said,
}

impl Write {
    /// It as the status that is written: conditions that have their status already have had it since
    /// when the object says, and the others have it from now on. On a pod the time that is there stays
    /// unless it is news.
    #[must_use]
    pub fn status(&self, now: Timestamp) -> Option<Status> {
        let status = self.word.status()?;
        if matches!(self.word, Word::Pod(_)) && !self.is_news {
            return Some(status);
        }
        let since = |kind: &str, is_true| self.held.since(kind, is_true).unwrap_or(now);
        Some(status.stamped(since))
    }

    /// For which `resourceVersion` alone it is: what is true of a pod that waits is not of one that somebody has bound
    /// meanwhile.
    #[must_use]
    pub fn only_at(&self) -> Option<&str> {
        self.held.version.as_deref()
    }

    /// What became of it, by the API server's answer.
    #[must_use]
    pub fn answered(&self, answer: &Answer, now: Timestamp) -> Written {
        match answer {
            Answer::Accepted => Written::Done(self.outcome(now)),
            Answer::Status { code: 404, .. } => Written::Gone,
            // A conflict (409) is another writer, or another object of that name: the watch tells which.
            _ => Written::Failed,
        }
    }

    /// What the object says once this is written.
    #[must_use]
    pub fn outcome(&self, now: Timestamp) -> Said {
        let status = self.status(now);
        let mut said = status.map(Status::said).unwrap_or_default();
        if said.nominated.is_none() {
            said.nominated.clone_from(&self.held.nominated);
        }
        // What it is at by now the watch tells: until then nothing more is taken.
        said.version.clone_from(&self.held.version);
        said
    }
}

/// What became of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// The object says this now.
    Done(Said),
    /// The object is gone.
    Gone,
    /// It was not written; it is tried again.
    Failed,
}

#[derive(Clone, Debug, Default)]
struct Entry {
    held: Said,
    wanted: Option<(Word, Said)>,
    /// When it is to be written; `None`: there is nothing to write, or it is being written.
    due: Option<Time>,
    written_at: Option<Time>,
    being_written: bool,
    /// Something was seen while it was being written: from before, or from after.
    seen_meanwhile: bool,
    /// Writes in a row that failed, or that somebody undid.
    setbacks: u32,
}

/// The words of all objects.
#[derive(Debug, Default)]
pub struct Words {
    entries: BTreeMap<Subject, Entry>,
    /// What is to be written when, by rank: statuses of gangs and queues go before what is said
    /// on pods.
    due: [BTreeSet<(Time, Subject)>; 2],
}

impl Words {
    /// The API server holds this of an object.
    pub fn seen(&mut self, subject: &Subject, said: Said, now: Time) {
        if said == Said::default() && !self.entries.contains_key(subject) {
            return;
        }
        let entry = self.entries.entry(subject.clone()).or_default();
        let undone = entry.written_at.is_some()
            && entry
                .wanted
                .as_ref()
                .is_some_and(|(_, wanted)| entry.held.says(wanted) && !said.says(wanted));
        if undone {
            entry.setbacks = entry.setbacks.saturating_add(1);
        }
        entry.seen_meanwhile = entry.being_written;
        entry.held = said;
        self.plan(subject, now);
    }

    /// The object is gone, or nothing is to be said of it any more.
    pub fn forget(&mut self, subject: &Subject) {
        if let Some(entry) = self.entries.remove(subject)
            && let Some(at) = entry.due
        {
            self.due[rank(subject)].remove(&(at, subject.clone()));
        }
    }

    /// Nothing is to be said of the object any more; what it says is remembered.
    pub fn silence(&mut self, subject: &Subject) {
        let Some(entry) = self.entries.get_mut(subject) else {
            return;
        };
        entry.wanted = None;
        if let Some(at) = entry.due.take() {
            self.due[rank(subject)].remove(&(at, subject.clone()));
        }
    }

    /// The core wants this said.
    pub fn want(&mut self, word: Word, now: Time) {
        let Some(said) = word.said() else { return };
        let subject = word.subject();
        let entry = self.entries.entry(subject.clone()).or_default();
        let changed = entry.wanted.as_ref().is_none_or(|(_, before)| {
            (before.text, &before.nominated) != (said.text, &said.nominated)
        });
        if changed {
            entry.setbacks = 0;
        }
        entry.wanted = Some((word, said));
        self.plan(&subject, now);
    }

    /// The next word that may be written now; [`Words::written`] must follow. Those that may not begin wait for a
    /// moment, behind the others.
    pub fn take(&mut self, now: Time, may_begin: impl Fn(&Word) -> bool) -> Option<Write> {
        loop {
            let is_ready = |due: &&mut BTreeSet<(Time, Subject)>| {
                let first = due.first();
                first.is_some_and(|(at, _)| *at <= now)
            };
            let due = self.due.iter_mut().find(is_ready)?;
            let (_, subject) = due.pop_first()?;
            let entry = self.entries.get_mut(&subject)?;
            let (word, said) = entry.wanted.as_ref()?;
            if !may_begin(word) {
                entry.due = Some(now + HELD);
                due.insert((now + HELD, subject));
                continue;
            }
            let write = Write {
                word: word.clone(),
                is_news: entry.held.kind != said.kind,
                held: entry.held.clone(),
                subject,
            };
            entry.due = None;
            (entry.being_written, entry.seen_meanwhile) = (true, false);
            return Some(write);
        }
    }

    /// What became of a write that was taken.
    pub fn written(&mut self, subject: &Subject, result: Written, now: Time) {
        let Some(entry) = self.entries.get_mut(subject) else {
            return;
        };
        entry.being_written = false;
        entry.written_at = Some(now);
        match result {
            // Else the watch will tell, or the word is written once more.
            Written::Done(said) if !entry.seen_meanwhile => entry.held = said,
            Written::Done(_) => {}
            Written::Gone => return self.forget(subject),
            Written::Failed => entry.setbacks = entry.setbacks.saturating_add(1),
        }
        self.plan(subject, now);
    }

    /// When the next word may be written.
    #[must_use]
    pub fn next_due(&self) -> Option<Time> {
        let firsts = self.due.iter().filter_map(BTreeSet::first);
        firsts.map(|(at, _)| *at).min()
    }

    /// Of how many objects it is known what they say, or are to say.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is known of any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many words are not written yet.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.due.iter().map(BTreeSet::len).sum()
    }

    /// Sets when a subject's word is written, if it has to be.
    fn plan(&mut self, subject: &Subject, now: Time) {
        let Some(entry) = self.entries.get_mut(subject) else {
            return;
        };
        let wanted = entry.wanted.as_ref();
        let differs = wanted.is_some_and(|(_, wanted)| !entry.held.says(wanted));
        let due = if differs && !entry.being_written {
            Some(entry.due.unwrap_or_else(|| entry.next(subject, now)))
        } else {
            None
        };
        if due != entry.due {
            if let Some(before) = std::mem::replace(&mut entry.due, due) {
                self.due[rank(subject)].remove(&(before, subject.clone()));
            }
            if let Some(at) = due {
                self.due[rank(subject)].insert((at, subject.clone()));
            }
        }
    }
}

impl Entry {
    fn next(&self, subject: &Subject, now: Time) -> Time {
        let gather = match subject {
            Subject::Pod(_) => Millis(0),
            Subject::Gang(..) | Subject::Queue(_) | Subject::Topology(_) => GATHER,
        };
        let Some(written) = self.written_at else {
            return now + gather;
        };
        let pause = match self.setbacks {
            0 => GAP,
            many => HEAL.after(many - 1),
        };
        (written + pause).max(now + gather)
    }
}

/// What goes first.
const fn rank(subject: &Subject) -> usize {
    match subject {
        Subject::Gang(..) | Subject::Queue(_) | Subject::Topology(_) => 0,
        Subject::Pod(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::PodKey;

    fn waits(message: &str) -> Word {
        Word::Pod(PodWaits {
            pod: PodKey {
                uid: "u".into(),
                ..PodKey::default()
            },
            reason: "Unschedulable".into(),
            message: message.into(),
            nominated: None,
        })
    }

    fn subject() -> Subject {
        Subject::Pod("u".to_owned())
    }

    fn write(words: &mut Words, now: Time) -> Write {
        let write = words.take(now, |_| true).expect("a word is due");
        let said = write.outcome(Timestamp::UNIX_EPOCH);
        words.written(&write.subject, Written::Done(said), now);
        write
    }

    #[test]
    fn what_an_object_says_already_is_not_written() {
        let mut words = Words::default();
        words.seen(&subject(), waits("a").said().unwrap(), Time(0));
        words.want(waits("a"), Time(1));
        assert_eq!((words.next_due(), words.waiting()), (None, 0));
        words.want(waits("b"), Time(2));
        assert!(write(&mut words, Time(2)).is_news);
        assert_eq!(words.next_due(), None);
    }

    #[test]
    fn other_numbers_are_written_but_no_news() {
        let mut words = Words::default();
        words.seen(&subject(), waits("1 of 2").said().unwrap(), Time(0));
        words.want(waits("3 of 4"), Time(1));
        assert!(!write(&mut words, Time(1)).is_news);
    }

    #[test]
    fn what_was_not_written_is_tried_again_ever_more_slowly() {
        let mut words = Words::default();
        words.want(waits("a"), Time(0));
        let (mut now, mut gaps) = (Time(0), Vec::new());
        for _ in 0..8 {
            let write = words.take(now, |_| true).unwrap();
            assert_eq!(
                words.take(now + HEAL.longest, |_| true),
                None,
                "never in two writes at once"
            );
            words.written(&write.subject, Written::Failed, now);
            let next = words.next_due().unwrap();
            gaps.push(next.since(now).0);
            now = next;
        }
        assert_eq!(
            gaps,
            [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]
        );
    }

    #[test]
    fn a_word_that_met_another_writer_is_written_again() {
        let mut words = Words::default();
        let conflict = |code| Answer::Status {
            code,
            message: String::new(),
            retry_after: None,
        };
        for (code, is_tried_again) in [(409, true), (404, false)] {
            words.want(waits("a"), Time(0));
            let write = words.take(Time(0), |_| true).unwrap();
            let written = write.answered(&conflict(code), Timestamp::UNIX_EPOCH);
            words.written(&write.subject, written, Time(0));
            assert_eq!(words.next_due().is_some(), is_tried_again, "{code}");
            words.forget(&subject());
        }
    }

    #[test]
    fn who_may_not_begin_waits_behind_the_others() {
        let of = |namespace: &str, uid: &str| {
            let Word::Pod(mut order) = waits("a") else {
                unreachable!()
            };
            (order.pod.namespace, order.pod.uid) = (namespace.to_owned(), uid.to_owned());
            Word::Pod(order)
        };
        let mut words = Words::default();
        for uid in 0..3 {
            words.want(of("held", &format!("a-{uid}")), Time(0));
        }
        words.want(of("free", "b"), Time(0));
        let may = |word: &Word| word.namespace() != "held";
        let first = words.take(Time(0), may).map(|write| write.subject);
        assert_eq!(first, Some(Subject::Pod("b".to_owned())));
        assert_eq!(words.take(Time(0), may), None);
        assert_eq!(
            (words.waiting(), words.next_due()),
            (3, Some(Time(0) + HELD))
        );
        assert!(words.take(Time(0) + HELD, |_| true).is_some());
    }

    #[test]
    fn what_somebody_overwrote_is_said_again_and_never_in_a_hurry() {
        let mut words = Words::default();
        words.want(waits("a"), Time(0));
        write(&mut words, Time(0));
        words.seen(&subject(), Said::default(), Time(100));
        assert_eq!(words.next_due(), Some(Time(2_000)));
        write(&mut words, Time(2_000));
        words.seen(&subject(), Said::default(), Time(2_100));
        assert_eq!(words.next_due(), Some(Time(6_000)));
    }

    #[test]
    fn what_was_overwritten_before_the_answer_came_is_said_again() {
        let mut words = Words::default();
        words.want(waits("a"), Time(0));
        let taken = words.take(Time(0), |_| true).unwrap();
        words.seen(&subject(), taken.outcome(Timestamp::UNIX_EPOCH), Time(5));
        words.seen(&subject(), Said::default(), Time(6));
        let said = taken.outcome(Timestamp::UNIX_EPOCH);
        words.written(&taken.subject, Written::Done(said), Time(10));
        assert!(words.next_due().is_some());
    }

    #[test]
    fn late_news_of_an_older_word_causes_no_second_write() {
        let mut words = Words::default();
        words.want(waits("a"), Time(0));
        write(&mut words, Time(0));
        words.seen(&subject(), Said::default(), Time(10));
        words.seen(&subject(), waits("a").said().unwrap(), Time(20));
        assert_eq!(words.next_due(), None);
    }

    #[test]
    fn statuses_are_gathered_and_go_before_what_is_said_on_pods() {
        let mut words = Words::default();
        words.want(waits("a"), Time(0));
        let queue = QueueStatus {
            queue: "q".into(),
            uid: "1".into(),
            ..QueueStatus::default()
        };
        words.want(Word::Queue(queue.clone()), Time(0));
        let more = QueueStatus {
            gangs: [1; muster_model::PHASES],
            ..queue
        };
        words.want(Word::Queue(more.clone()), Time(GATHER.0 - 1));
        assert_eq!(words.waiting(), 2);
        let first = write(&mut words, Time(GATHER.0));
        assert_eq!(first.word, Word::Queue(more));
        assert_eq!(write(&mut words, Time(GATHER.0)).word, waits("a"));
    }

    #[test]
    fn what_is_silent_is_not_written_again_until_something_is_wanted() {
        let mut words = Words::default();
        words.want(waits("a"), Time(0));
        words.silence(&subject());
        assert_eq!((words.next_due(), words.waiting()), (None, 0));
        words.want(waits("b"), Time(1));
        write(&mut words, Time(1));
        words.silence(&subject());
        // Whoever it belongs to now says something else.
        words.seen(&subject(), waits("theirs").said().unwrap(), Time(100));
        assert_eq!(words.next_due(), None);
        words.want(waits("b"), Time(200));
        assert!(words.next_due().is_some());
    }

    #[test]
    fn a_pod_that_waits_no_more_is_not_spoken_of() {
        let mut words = Words::default();
        words.want(waits("a"), Time(0));
        words.forget(&subject());
        assert_eq!((words.take(Time(9), |_| true), words.waiting()), (None, 0));
    }

    #[test]
    fn what_is_said_of_a_pod_is_for_the_version_at_which_it_waits() {
        let mut words = Words::default();
        let at = |version: &str| Said {
            version: Some(version.into()),
            ..Said::default()
        };
        words.seen(&subject(), at("7"), Time(0));
        words.want(waits("a"), Time(1));
        let write = words.take(Time(1), |_| true).unwrap();
        assert_eq!(write.only_at(), Some("7"));
        words.written(&write.subject, Written::Failed, Time(1));
        words.seen(&subject(), at("8"), Time(2));
        let due = words.next_due().unwrap();
        let write = words.take(due, |_| true).unwrap();
        assert_eq!(write.only_at(), Some("8"));
        // It was bound meanwhile.
        words.forget(&subject());
        words.written(&write.subject, Written::Failed, due);
        assert_eq!((words.next_due(), words.len()), (None, 0));
    }
}
