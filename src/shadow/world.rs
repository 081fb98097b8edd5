//! The shadow itself: real news in, news of the shadow out; orders of the core in, what comes of them out.

use crate::books::{Books, Member};
use crate::course::{Course, Place};
use crate::report::{Evicted, Left, Report};
use muster_model::units::Time;
use muster_model::{
    Answer, Bind, BindOutcome, Effect, Event, Evict, EvictOutcome, GangKey, Object, ObjectKey,
    PodKey, PodSpec, Question, Source,
};
use std::collections::{BTreeMap, BTreeSet};

/// So many pods are kept that end later in the shadow than their objects are deleted.
const OUTLIVING: usize = 100_000;
/// So many gangs that differ, and so many evictions, are in a report.
const SHOWN: usize = 20;

/// Namespace and name.
type PodName = (String, String);

/// The cluster as it would be.
#[derive(Debug)]
pub struct World {
    /// The pods that are considered.
    pods: BTreeMap<PodName, Course>,
    /// Those that end in the shadow, by when.
    ends: BTreeSet<(Time, PodName)>,
    /// Those whose objects are gone, by gang.
    outliving: BTreeMap<GangKey, BTreeSet<PodName>>,
    outliving_count: usize,
    /// PodGroups that are gone and whose pods are not.
    bereft: BTreeMap<GangKey, BTreeSet<Source>>,
    /// Pods of others, by uid, that were evicted in the shadow: it does not see them any more.
    hidden: BTreeSet<String>,
    books: Books,
    evicted: Vec<Evicted>,
    left: Left,
    began: Time,
    reported: Time,
}

impl World {
    /// One that begins now, empty.
    #[must_use]
    pub fn new(now: Time) -> Self {
        Self {
            pods: BTreeMap::new(),
            ends: BTreeSet::new(),
            outliving: BTreeMap::new(),
            outliving_count: 0,
            bereft: BTreeMap::new(),
            hidden: BTreeSet::new(),
            books: Books::default(),
            evicted: Vec::new(),
            left: Left::default(),
            began: now,
            reported: now,
        }
    }

    /// Everything there is has been told: from now on it is looked at what happens.
    pub const fn begin(&mut self, now: Time) {
        (self.began, self.reported) = (now, now);
    }

    /// What the core is to be told of news of the real cluster.
    pub fn hear(&mut self, event: Event, now: Time) -> Vec<Event> {
        let mut told = self.come_to(now);
        match event {
            Event::Is(Object::Pod(spec)) => self.pod_is(*spec, now, &mut told),
            Event::Gone(ObjectKey::Pod(key)) => self.pod_is_gone(key, &mut told),
            Event::Gone(ObjectKey::Node(name)) => {
                told.push(Event::Gone(ObjectKey::Node(name.clone())));
                self.node_is_gone(&name, &mut told);
            }
            Event::Is(Object::Gang(gang)) => {
                if let Some(gone) = self.bereft.get_mut(&gang.key) {
                    gone.remove(&gang.source);
                }
                // How many members it needs may be another number.
                self.books.touch(&gang.key);
                told.push(Event::Is(Object::Gang(gang)));
            }
            Event::Gone(ObjectKey::Gang(gang, source)) => {
                if self.outliving.contains_key(&gang) {
                    self.bereft.entry(gang).or_default().insert(source);
                } else {
                    told.push(Event::Gone(ObjectKey::Gang(gang, source)));
                }
            }
            event => told.push(event),
        }
        told
    }

    /// What comes of an order: no news reaches the real cluster.
    pub fn carry_out(&mut self, effect: Effect, now: Time) -> Vec<Event> {
        let mut told = Vec::new();
        match effect {
            Effect::Bind(bind) => self.bind(bind, now, &mut told),
            Effect::Evict(evict) => self.evict(evict, now, &mut told),
            Effect::Ask(question) => told.push(yes(&question)),
            // A bind or a question was answered at once. What is to be said is said by the report.
            Effect::Recall(_)
            | Effect::GiveUp(_)
            | Effect::PodWaits(_)
            | Effect::GangStatus(_)
            | Effect::GangSilent(..)
            | Effect::QueueStatus(_)
            | Effect::TopologyStatus(_)
            | Effect::TopologyDoubt(_) => {}
        }
        told
    }

    /// When something happens in the shadow by itself.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        self.ends.first().map(|(at, _)| *at)
    }

    /// What has happened in the shadow by itself by now.
    pub fn come_to(&mut self, now: Time) -> Vec<Event> {
        let mut told = Vec::new();
        while self.ends.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, name)) = self.ends.pop_first() else {
                break;
            };
            self.change(&name, Course::end);
            let Some(course) = self.pods.get(&name) else {
                continue;
            };
            told.push(Event::is(course.shown()));
            if course.is_gone {
                self.leave(&name, &mut told);
            }
        }
        told
    }

    /// Notes which gangs are whole now, and has those go that wait for members who will not come. `minimum` says how many
    /// members a gang needs, as the core has it.
    pub fn settle(&mut self, now: Time, minimum: impl Fn(&GangKey) -> Option<u32>) -> Vec<Event> {
        let mut told = Vec::new();
        for gang in self.books.settle(now, minimum) {
            for name in self.outliving.get(&gang).cloned().unwrap_or_default() {
                self.leave(&name, &mut told);
            }
        }
        told
    }

    /// A report; the next one is of the time from now on.
    pub fn report(&mut self, now: Time) -> Report {
        let mut differences = self.books.differences();
        let left = Left {
            differences: differences.len().saturating_sub(SHOWN) as u64,
            ..self.left
        };
        differences.truncate(SHOWN);
        self.left.evictions = 0;
        Report {
            at: now,
            since: std::mem::replace(&mut self.reported, now),
            began: self.began,
            now: self.books.now(),
            period: std::mem::take(&mut self.books.period),
            total: self.books.total.clone(),
            differences,
            evicted: std::mem::take(&mut self.evicted),
            left,
        }
    }

    /// Has every gang looked at when it is settled next: how many members it needs may be another number than it was.
    pub fn look_at_all(&mut self) {
        self.books.touch_all();
    }

    fn pod_is(&mut self, spec: PodSpec, now: Time, told: &mut Vec<Event>) {
        let name = name_of(&spec.key);
        let is_another = |known: &Course| known.is_gone || known.real.key.uid != spec.key.uid;
        let is_considered = spec.ours && spec.ghost_of.is_none();
        if self
            .pods
            .get(&name)
            .is_some_and(|known| is_another(known) || !is_considered)
        {
            self.leave(&name, told);
        }
        if !is_considered {
            if !self.hidden.contains(&spec.key.uid) {
                told.push(Event::is(spec));
            }
            return;
        }
        if self.pods.contains_key(&name) {
            self.change(&name, |course| course.is_now(spec, now));
        } else {
            let course = Course::new(spec, now);
            self.books.note(None, Some(&course.member()));
            self.pods.insert(name.clone(), course);
        }
        let Some(course) = self.pods.get(&name) else {
            return;
        };
        // It is told as it ends, where it does so now.
        if course.ends_at().is_none_or(|at| at > now) {
            told.push(Event::is(course.shown()));
        }
        told.extend(self.come_to(now));
    }

    fn pod_is_gone(&mut self, key: PodKey, told: &mut Vec<Event>) {
        let name = name_of(&key);
        let is_it = |known: &&Course| key.uid.is_empty() || known.real.key.uid == key.uid;
        let Some(course) = self.pods.get(&name).filter(is_it) else {
            // Of a pod that has left before the shadow has nothing to forget.
            if !self.hidden.remove(&key.uid) {
                told.push(Event::Gone(ObjectKey::Pod(key)));
            }
            return;
        };
        if !course.outlives_its_object() {
            return self.leave(&name, told);
        }
        let gang = course.real.gang_key();
        if self.outliving_count >= OUTLIVING {
            self.left.pods += 1;
            return self.leave(&name, told);
        }
        self.change(&name, |course| course.is_gone = true);
        self.outliving.entry(gang).or_default().insert(name);
        self.outliving_count += 1;
    }

    /// What is on a node goes with it, and is made anew.
    fn node_is_gone(&mut self, node: &str, told: &mut Vec<Event>) {
        let on_it = |course: &Course| course.nodes().shadow == Some(node);
        let names = self.pods.iter().filter(|(_, course)| on_it(course));
        let names: Vec<PodName> = names.map(|(name, _)| name.clone()).collect();
        for name in names {
            let Some(course) = self.pods.get(&name) else {
                continue;
            };
            told.push(Event::Gone(ObjectKey::Pod(course.key())));
            self.begin_anew(&name, told);
        }
    }

    fn bind(&mut self, bind: Bind, now: Time, told: &mut Vec<Event>) {
        let name = name_of(&bind.pod);
        let waits = |course: &&Course| course.key() == bind.pod && course.place == Place::Waits;
        if self.pods.get(&name).filter(waits).is_none() {
            told.push(Event::BindResult(bind.pod, BindOutcome::Gone));
            return;
        }
        self.change(&name, |course| course.bind(bind.node.clone(), now));
        let outcome = BindOutcome::Bound { node: bind.node };
        told.push(Event::BindResult(bind.pod, outcome));
        if let Some(course) = self.pods.get(&name) {
            told.push(Event::is(course.shown()));
        }
    }

    fn evict(&mut self, evict: Evict, now: Time, told: &mut Vec<Event>) {
        let name = name_of(&evict.pod);
        let gone = Event::EvictResult(evict.pod.clone(), EvictOutcome::Gone);
        let is_it = |course: &&Course| course.key() == evict.pod;
        let Some(course) = self.pods.get(&name).filter(is_it) else {
            // It is a pod of others: a ghost, that makes room for who claims its slot.
            self.hidden.insert(evict.pod.uid);
            told.push(gone);
            return;
        };
        told.push(gone);
        let node = course.nodes().shadow.unwrap_or_default().to_owned();
        if course.is_leaving() {
            return self.leave(&name, told);
        }
        self.begin_anew(&name, told);
        self.books.note_eviction();
        if self.evicted.len() == SHOWN {
            self.left.evictions += 1;
            return;
        }
        self.evicted.push(Evicted {
            at: now,
            pod: evict.pod.to_string(),
            node,
            cause: evict.cause,
            beneficiary: evict.beneficiary.map(|gang| gang.to_string()),
            message: evict.message,
        });
    }

    fn begin_anew(&mut self, name: &PodName, told: &mut Vec<Event>) {
        self.change(name, Course::begin_anew);
        if let Some(course) = self.pods.get(name) {
            told.push(Event::is(course.shown()));
        }
    }

    /// Changes a pod: the one way in which the books and the times of ends follow.
    fn change(&mut self, name: &PodName, how: impl FnOnce(&mut Course)) {
        let Some(course) = self.pods.get_mut(name) else {
            return;
        };
        let (before, ended_at) = (course.member(), course.ends_at());
        how(course);
        let (after, ends_at) = (course.member(), course.ends_at());
        self.note_end(name, ended_at, ends_at);
        self.books.note(Some(&before), Some(&after));
    }

    fn note_end(&mut self, name: &PodName, before: Option<Time>, after: Option<Time>) {
        if before == after {
            return;
        }
        if let Some(at) = before {
            self.ends.remove(&(at, name.clone()));
        }
        if let Some(at) = after {
            self.ends.insert((at, name.clone()));
        }
    }

    /// A pod is not in the shadow any more.
    fn leave(&mut self, name: &PodName, told: &mut Vec<Event>) {
        let Some(course) = self.pods.remove(name) else {
            return;
        };
        let member: Member = course.member();
        self.note_end(name, course.ends_at(), None);
        self.books.note(Some(&member), None);
        told.push(Event::Gone(ObjectKey::Pod(course.key())));
        if course.is_gone {
            self.forget_outliving(name, &member.gang, told);
        }
    }

    /// One less is left whose object is gone; with the last of a gang its PodGroup goes, too, if it is to.
    fn forget_outliving(&mut self, name: &PodName, gang: &GangKey, told: &mut Vec<Event>) {
        self.outliving_count = self.outliving_count.saturating_sub(1);
        let Some(left) = self.outliving.get_mut(gang) else {
            return;
        };
        left.remove(name);
        if left.is_empty() {
            self.outliving.remove(gang);
            let sources = self.bereft.remove(gang).unwrap_or_default().into_iter();
            told.extend(sources.map(|source| Event::Gone(ObjectKey::Gang(gang.clone(), source))));
        }
    }
}

fn name_of(key: &PodKey) -> PodName {
    (key.namespace.clone(), key.name.clone())
}

/// What is asked outside is taken as done: nobody is asked.
fn yes(question: &Question) -> Event {
    Event::Answer(question.id, Answer::Yes(String::new()))
}
