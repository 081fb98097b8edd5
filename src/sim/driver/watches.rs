//! What a process hears: each watch at its own pace, in its own order, and sometimes not at all.
//!
//! A watch that breaks loses what was on its way; the list after it tells what is there, and what
//! it lacks of what was told before is gone, as `cluster::watch` has it.

use crate::server::{Stream, Told};
use crate::storage::deletion;
use muster_model::units::Time;
use muster_model::{Event, GangKey, PodKey, Source};
use std::collections::BTreeMap;

/// An object that a watch told of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Object {
    Node(String),
    Pod(String, String),
    Gang(GangKey, Source),
    Queue(String),
    Topology(String),
    HyperNode(String),
    PriorityClass(String),
    Namespace(String),
    Budget(String, String),
    /// By the event of its deletion.
    Storage(String),
}

/// The watches of one process.
#[derive(Debug, Default)]
pub(super) struct Watches(BTreeMap<Stream, Watch>);

/// One watch.
#[derive(Debug, Default)]
struct Watch {
    /// Until when news is on its way, and how many pieces.
    until: Time,
    on_its_way: usize,
    /// Rises when the watch breaks: what was on its way before is lost.
    generation: u64,
    /// It broke, and the list after it is not there yet.
    broken: bool,
    /// What was told, and what is told when it is gone.
    known: BTreeMap<Object, Told>,
}

impl Watches {
    fn watch(&mut self, stream: Stream) -> &mut Watch {
        self.0.entry(stream).or_default()
    }

    /// Whether what is told now is heard at once: nothing is on its way before it.
    pub(super) fn is_idle(&mut self, stream: Stream) -> bool {
        self.watch(stream).on_its_way == 0
    }

    /// Whether what happens now is never told.
    pub(super) fn is_broken(&mut self, stream: Stream) -> bool {
        self.watch(stream).broken
    }

    /// Puts a piece of news on its way that would arrive at `at`; says when it does, behind what is
    /// on its way already, and of which generation it is.
    pub(super) fn send(&mut self, stream: Stream, at: Time) -> (Time, u64) {
        let watch = self.watch(stream);
        watch.until = at.max(watch.until);
        watch.on_its_way += 1;
        (watch.until, watch.generation)
    }

    /// A piece of news arrives; whether it was not lost with its watch.
    pub(super) fn arrives(&mut self, stream: Stream, generation: u64) -> bool {
        let watch = self.watch(stream);
        if generation != watch.generation {
            return false;
        }
        watch.on_its_way = watch.on_its_way.saturating_sub(1);
        true
    }

    /// Notes what a piece of news tells of.
    pub(super) fn note(&mut self, stream: Stream, told: &Told) {
        let known = &mut self.watch(stream).known;
        match about(&told.event) {
            Some((object, Some(gone))) => {
                let says = told
                    .says
                    .as_ref()
                    .map(|(subject, _)| (subject.clone(), None));
                known.insert(object, Told { event: gone, says });
            }
            Some((object, None)) => _ = known.remove(&object),
            None => {}
        }
    }

    /// The watch breaks.
    pub(super) fn cut(&mut self, stream: Stream) {
        let watch = self.watch(stream);
        watch.generation += 1;
        watch.on_its_way = 0;
        watch.broken = true;
    }

    /// A list takes the place of the broken watch; returns what it shows to be gone.
    pub(super) fn mend(&mut self, stream: Stream, list: &[Told]) -> Vec<Told> {
        let watch = self.watch(stream);
        watch.broken = false;
        let listed: Vec<Object> = list
            .iter()
            .filter_map(|told| about(&told.event).map(|(object, _)| object))
            .collect();
        let mut gone = std::mem::take(&mut watch.known);
        for object in &listed {
            gone.remove(object);
        }
        gone.into_values().collect()
    }
}

/// The object an event is about, and the event of its deletion, if this one is not that.
fn about(event: &Event) -> Option<(Object, Option<Event>)> {
    let of_pod = |key: &PodKey| Object::Pod(key.namespace.clone(), key.name.clone());
    Some(match event {
        Event::Node(node) => {
            let name = node.name.clone();
            (Object::Node(name.clone()), Some(Event::NodeDeleted(name)))
        }
        Event::NodeDeleted(name) => (Object::Node(name.clone()), None),
        Event::Pod(pod) => (of_pod(&pod.key), Some(Event::PodDeleted(pod.key.clone()))),
        Event::PodDeleted(key) => (of_pod(key), None),
        Event::Gang(gang) => {
            let gone = Event::GangDeleted(gang.key.clone(), gang.source);
            (Object::Gang(gang.key.clone(), gang.source), Some(gone))
        }
        Event::GangDeleted(key, source) => (Object::Gang(key.clone(), *source), None),
        Event::Queue(queue) => {
            let name = queue.name.clone();
            (Object::Queue(name.clone()), Some(Event::QueueDeleted(name)))
        }
        Event::QueueDeleted(name) => (Object::Queue(name.clone()), None),
        Event::Topology(topology) => {
            let name = topology.name.clone();
            let gone = Event::TopologyDeleted(name.clone());
            (Object::Topology(name), Some(gone))
        }
        Event::TopologyDeleted(name) => (Object::Topology(name.clone()), None),
        Event::HyperNode(hyper_node) => {
            let name = hyper_node.name.clone();
            let gone = Event::HyperNodeDeleted(name.clone());
            (Object::HyperNode(name), Some(gone))
        }
        Event::HyperNodeDeleted(name) => (Object::HyperNode(name.clone()), None),
        Event::PriorityClass(class) => {
            let name = class.name.clone();
            let gone = Event::PriorityClassDeleted(name.clone());
            (Object::PriorityClass(name), Some(gone))
        }
        Event::PriorityClassDeleted(name) => (Object::PriorityClass(name.clone()), None),
        Event::Namespace(namespace) => {
            let name = namespace.name.clone();
            let gone = Event::NamespaceDeleted(name.clone());
            (Object::Namespace(name), Some(gone))
        }
        Event::NamespaceDeleted(name) => (Object::Namespace(name.clone()), None),
        Event::DisruptionBudget(budget) => {
            let (namespace, name) = (budget.namespace.clone(), budget.name.clone());
            let gone = Event::DisruptionBudgetDeleted(namespace.clone(), name.clone());
            (Object::Budget(namespace, name), Some(gone))
        }
        Event::DisruptionBudgetDeleted(namespace, name) => {
            (Object::Budget(namespace.clone(), name.clone()), None)
        }
        Event::Storage(event) => {
            let gone = deletion(event);
            let is_gone = gone == **event;
            let object = Object::Storage(format!("{gone:?}"));
            let gone = Event::Storage(Box::new(gone));
            (object, (!is_gone).then_some(gone))
        }
        Event::BindResult(..) | Event::EvictResult(..) | Event::Answer(..) => return None,
    })
}
