//! Questions that wait for their turn, and which may be asked now. No I/O and no clock: the ask lane and
//! the simulator use the same rules.
//!
//! Those that go to the same and have a pod or a gang in common are asked one after the other, so that what
//! is undone is undone before it is asked again. Who does not answer keeps nobody else waiting: each has
//! slots of its own. What undoes something is tried again until it is done.

use muster_model::units::Doubling;
use muster_model::units::{Millis, Time};
use muster_model::{About, Answer, GangKey, PodKey, Question, QuestionId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The rests after undoings that failed.
const RESTS: Doubling = Doubling {
    first: Millis(500),
    longest: Millis(60_000),
};

/// Whom questions are about that are asked one after the other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Whom {
    Pod(PodKey),
    Gang(GangKey),
}

impl Whom {
    /// All whom a question is about.
    fn of(question: &Question) -> Vec<Self> {
        match &question.about {
            About::Places(places) => {
                let pods = places.iter().map(|place| place.pod.clone());
                pods.map(Self::Pod).collect()
            }
            About::Gang(gang) => vec![Self::Gang(gang.clone())],
        }
    }
}

/// A question in its lines, one for each whom it is about.
#[derive(Debug)]
struct Entry {
    question: Question,
    tries: u32,
    /// In how many of its lines it is not the first.
    behind: usize,
}

/// To whom a question that was not begun goes, and until when it waits.
#[derive(Debug)]
struct Place {
    name: String,
    expires_at: Time,
}

/// Who answers, and what waits for it.
#[derive(Debug, Default)]
struct Desk {
    entries: BTreeMap<QuestionId, Entry>,
    /// A question enters all of its lines at once, and leaves them at once.
    lines: BTreeMap<Whom, VecDeque<QuestionId>>,
    /// Those that are the first in all of their lines and may be asked from then on, in the order in which
    /// they came.
    ready: BTreeMap<(Time, u64), QuestionId>,
    in_flight: usize,
}

impl Desk {
    /// Puts a question at the end of its lines. Whether it is the first in all.
    fn put(&mut self, question: Question) -> bool {
        let (id, mut behind) = (question.id, 0);
        for whom in Whom::of(&question) {
            let line = self.lines.entry(whom).or_default();
            behind += usize::from(!line.is_empty());
            line.push_back(id);
        }
        let entry = Entry {
            question,
            tries: 0,
            behind,
        };
        self.entries.insert(id, entry);
        behind == 0
    }

    /// Takes a question out of its lines. Those behind it that may be asked for that.
    fn remove(&mut self, id: QuestionId) -> Vec<QuestionId> {
        let Some(entry) = self.entries.remove(&id) else {
            return Vec::new();
        };
        let mut first = Vec::new();
        for whom in Whom::of(&entry.question) {
            let Some(line) = self.lines.get_mut(&whom) else {
                continue;
            };
            let was_first = line.front() == Some(&id);
            line.retain(|one| *one != id);
            let next = line.front().copied();
            if next.is_none() {
                self.lines.remove(&whom);
            }
            let next = next.filter(|_| was_first);
            if let Some(entry) = next.and_then(|next| self.entries.get_mut(&next)) {
                entry.behind -= 1;
                if entry.behind == 0 {
                    first.push(entry.question.id);
                }
            }
        }
        first
    }
}

/// All questions that are not answered.
#[derive(Debug)]
pub struct Asking {
    slots: usize,
    serial: u64,
    desks: BTreeMap<String, Desk>,
    /// Those that are not begun, but for what undoes something.
    waiting: BTreeMap<QuestionId, Place>,
    /// When they are not worth beginning any more.
    expire: BTreeSet<(Time, QuestionId)>,
    answers: Vec<(QuestionId, Answer)>,
}

impl Asking {
    /// At most so many questions to each who answers at once.
    #[must_use]
    pub const fn new(slots: usize) -> Self {
        Self {
            slots,
            serial: 0,
            desks: BTreeMap::new(),
            waiting: BTreeMap::new(),
            expire: BTreeSet::new(),
            answers: Vec::new(),
        }
    }

    /// Takes a question. What was never asked needs no undoing.
    pub fn put(&mut self, question: Question, now: Time) {
        if let Some(undone) = question.undoes
            && self.withdraw(undone, now)
        {
            self.answers.push((question.id, Answer::Yes(String::new())));
            return;
        }
        let (id, name) = (question.id, question.body.addressee().to_owned());
        if question.undoes.is_none() {
            let expires_at = now + question.at_most;
            self.expire.insert((expires_at, id));
            let name = name.clone();
            self.waiting.insert(id, Place { name, expires_at });
        }
        if self.desks.entry(name.clone()).or_default().put(question) {
            self.may_be_asked(&name, [id], now);
        }
    }

    /// These may be asked from then on.
    fn may_be_asked(&mut self, name: &str, ids: impl IntoIterator<Item = QuestionId>, at: Time) {
        let Some(desk) = self.desks.get_mut(name) else {
            return;
        };
        for id in ids {
            self.serial += 1;
            desk.ready.insert((at, self.serial), id);
        }
    }

    /// Nobody waits for this answer any more: it is not asked if it was not yet.
    pub fn give_up(&mut self, id: QuestionId, now: Time) {
        self.withdraw(id, now);
    }

    /// It does not wait any more; where it was.
    fn leaves(&mut self, id: QuestionId) -> Option<Place> {
        let place = self.waiting.remove(&id)?;
        self.expire.remove(&(place.expires_at, id));
        Some(place)
    }

    /// Takes a question out of its line that was not begun, and says that it was not asked. Whether it
    /// was there.
    fn withdraw(&mut self, id: QuestionId, now: Time) -> bool {
        let Some(Place { name, .. }) = self.leaves(id) else {
            return false;
        };
        self.answers.push((id, Answer::Unsent));
        let next = self.desks.get_mut(&name).map(|desk| {
            desk.ready.retain(|_, one| *one != id);
            desk.remove(id)
        });
        self.may_be_asked(&name, next.into_iter().flatten(), now);
        true
    }

    /// The next question to be asked now, if there is one.
    pub fn next(&mut self, now: Time) -> Option<Question> {
        let slots = self.slots;
        let free = |desk: &&mut Desk| {
            let first = desk.ready.first_key_value();
            desk.in_flight < slots && first.is_some_and(|((at, _), _)| *at <= now)
        };
        let desk = self.desks.values_mut().find(free)?;
        let (_, id) = desk.ready.pop_first()?;
        let entry = desk.entries.get_mut(&id)?;
        entry.tries += 1;
        desk.in_flight += 1;
        let question = entry.question.clone();
        self.leaves(question.id);
        Some(question)
    }

    /// A question that was begun has ended like this.
    pub fn ended(&mut self, question: &Question, answer: Answer, now: Time) {
        let (id, name) = (question.id, question.body.addressee());
        let Some(desk) = self.desks.get_mut(name) else {
            return;
        };
        let Some(entry) = desk.entries.get(&id) else {
            return;
        };
        desk.in_flight = desk.in_flight.saturating_sub(1);
        if question.undoes.is_some() && !matches!(answer, Answer::Yes(_)) {
            let again = now + RESTS.after(entry.tries.saturating_sub(1));
            return self.may_be_asked(name, [id], again);
        }
        let next = desk.remove(id);
        self.answers.push((id, answer));
        self.may_be_asked(name, next, now);
    }

    /// Says of those whose time is over, and that were not begun, that they were not asked.
    pub fn expire(&mut self, now: Time) {
        while let Some((at, id)) = self.expire.first().copied()
            && at <= now
        {
            self.withdraw(id, now);
        }
    }

    /// Nothing may be asked now: says so of all that were not begun. What is to be undone stays.
    pub fn cease(&mut self, now: Time) {
        while let Some((_, id)) = self.expire.first().copied() {
            self.withdraw(id, now);
        }
    }

    /// When something is to be done here next, whatever ends.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        let free = self
            .desks
            .values()
            .filter(|desk| desk.in_flight < self.slots);
        let first = |desk: &Desk| desk.ready.first_key_value().map(|((at, _), _)| *at);
        let ready = free.filter_map(first);
        let expires = self.expire.first().map(|(at, _)| *at);
        ready.chain(expires).min()
    }

    /// Takes the answers, for the core.
    pub fn take_answers(&mut self) -> Vec<(QuestionId, Answer)> {
        std::mem::take(&mut self.answers)
    }

    /// How many questions are not answered, and how many of these undo something.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let desks = self.desks.values();
        let (mut all, mut undo) = (0, 0);
        for entry in desks.flat_map(|desk| desk.entries.values()) {
            all += 1;
            undo += usize::from(entry.question.undoes.is_some());
        }
        (all, undo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::{AskedPlace, Body, Point};

    fn question(id: u64, plugin: &str, pods: &str) -> Question {
        let place = |pod: &str| AskedPlace {
            pod: PodKey {
                uid: pod.to_owned(),
                ..PodKey::default()
            },
            node: "n".to_owned(),
        };
        Question {
            id: QuestionId(id),
            about: About::Places(pods.split(' ').map(place).collect()),
            body: Body::Plugin {
                plugin: plugin.to_owned(),
                point: Point::PreBind,
                payload: String::new(),
            },
            at_most: Millis(10_000),
            leaves_traces: true,
            undoes: None,
        }
    }

    fn yes() -> Answer {
        Answer::Yes(String::new())
    }

    fn failed() -> Answer {
        Answer::Failed {
            message: String::new(),
        }
    }

    fn ids(asking: &mut Asking, now: u64) -> Vec<u64> {
        let next = std::iter::from_fn(|| asking.next(Time(now)));
        next.map(|one| one.id.0).collect()
    }

    #[test]
    fn about_one_pod_one_is_asked_after_the_other_and_about_others_at_once() {
        let mut asking = Asking::new(8);
        for (id, pod) in [(1, "a"), (2, "a"), (3, "b")] {
            asking.put(question(id, "p", pod), Time(0));
        }
        assert_eq!(ids(&mut asking, 0), [1, 3]);
        asking.ended(&question(1, "p", "a"), yes(), Time(5));
        assert_eq!(ids(&mut asking, 5), [2]);
        assert_eq!(asking.take_answers(), [(QuestionId(1), yes())]);
    }

    #[test]
    fn a_question_about_several_pods_waits_for_those_about_any_of_them_and_holds_them_up() {
        let mut asking = Asking::new(8);
        for (id, pods) in [(1, "a"), (2, "a b c"), (3, "b"), (4, "c"), (5, "d")] {
            asking.put(question(id, "p", pods), Time(0));
        }
        assert_eq!(ids(&mut asking, 0), [1, 5]);
        asking.ended(&question(1, "p", "a"), yes(), Time(5));
        assert_eq!(ids(&mut asking, 5), [2]);
        asking.give_up(QuestionId(3), Time(5));
        assert_eq!(ids(&mut asking, 5), [0; 0]);
        asking.ended(&question(2, "p", "a b c"), yes(), Time(6));
        assert_eq!(ids(&mut asking, 6), [4]);
        for (id, pod) in [(4, "c"), (5, "d")] {
            asking.ended(&question(id, "p", pod), yes(), Time(7));
        }
        assert_eq!((asking.counts(), asking.due()), ((0, 0), None));
        assert!(asking.desks.values().all(|desk| desk.lines.is_empty()));
    }

    #[test]
    fn who_does_not_answer_keeps_nobody_else_waiting() {
        let mut asking = Asking::new(1);
        for (id, plugin, pod) in [(1, "hangs", "a"), (2, "hangs", "b"), (3, "well", "a")] {
            asking.put(question(id, plugin, pod), Time(0));
        }
        assert_eq!(ids(&mut asking, 0), [1, 3]);
        asking.expire(Time(10_000));
        assert_eq!(asking.take_answers(), [(QuestionId(2), Answer::Unsent)]);
        assert_eq!(asking.due(), None);
    }

    #[test]
    fn what_was_never_asked_is_not_undone() {
        let mut asking = Asking::new(1);
        for (id, pod) in [(1, "a"), (2, "b")] {
            asking.put(question(id, "p", pod), Time(0));
        }
        assert_eq!(ids(&mut asking, 0), [1]);
        asking.put(question(2, "p", "b").undone_by(QuestionId(3)), Time(1));
        let answers = asking.take_answers();
        assert_eq!(
            answers,
            [(QuestionId(2), Answer::Unsent), (QuestionId(3), yes())]
        );
        asking.put(question(1, "p", "a").undone_by(QuestionId(4)), Time(1));
        assert_eq!(ids(&mut asking, 1), [0; 0]);
        asking.ended(&question(1, "p", "a"), failed(), Time(2));
        assert_eq!(ids(&mut asking, 2), [4]);
    }

    #[test]
    fn what_undoes_something_is_tried_again_until_it_is_done_and_before_anything_else() {
        let mut asking = Asking::new(1);
        let undo = question(1, "p", "a").undone_by(QuestionId(2));
        asking.put(undo.clone(), Time(0));
        asking.put(question(3, "p", "a"), Time(0));
        for at in [0, 500, 1_500, 3_500] {
            assert_eq!(asking.due(), Some(Time(at)));
            assert_eq!(ids(&mut asking, at), [2]);
            asking.ended(&undo, failed(), Time(at));
            assert_eq!(ids(&mut asking, at), [0; 0]);
        }
        assert_eq!(ids(&mut asking, 7_500), [2]);
        asking.ended(&undo, yes(), Time(7_500));
        assert_eq!(ids(&mut asking, 7_500), [3]);
        assert_eq!(asking.take_answers(), [(QuestionId(2), yes())]);
        assert_eq!(asking.counts(), (1, 0));
    }

    #[test]
    fn while_nothing_may_be_asked_what_is_to_be_undone_stays() {
        let mut asking = Asking::new(4);
        asking.put(question(1, "p", "a"), Time(0));
        let undo = question(5, "p", "b").undone_by(QuestionId(2));
        asking.put(undo, Time(0));
        asking.cease(Time(1));
        assert_eq!(asking.take_answers(), [(QuestionId(1), Answer::Unsent)]);
        assert_eq!(asking.counts(), (1, 1));
        assert_eq!(ids(&mut asking, 1), [2]);
    }

    #[test]
    fn what_nobody_waits_for_is_not_asked() {
        let mut asking = Asking::new(1);
        for id in [1, 2, 3] {
            asking.put(question(id, "p", "a"), Time(0));
        }
        assert_eq!(ids(&mut asking, 0), [1]);
        asking.give_up(QuestionId(1), Time(1));
        asking.give_up(QuestionId(2), Time(1));
        assert_eq!(asking.take_answers(), [(QuestionId(2), Answer::Unsent)]);
        asking.ended(&question(1, "p", "a"), yes(), Time(2));
        assert_eq!(ids(&mut asking, 2), [3]);
    }
}
