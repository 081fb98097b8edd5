//! Objects that appear more than once: created, edited, deleted and created again, in the order of
//! their times and whatever their order in the files.

use super::behaviour;
use super::documents::Document;
use super::edits;
use super::kinds::{Kind, Known};
use super::model::{Entry, Played};
use super::problems::Problems;
use muster_model::Object;
use muster_model::units::Time;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// API version and kind, namespace, name.
pub(super) type Name = (String, String, String);

/// A document that describes one object, or copies of it.
#[derive(Debug)]
pub(super) struct Origin<'a> {
    pub(super) document: Document<'a>,
    pub(super) known: &'static Known,
    /// What it is called in messages.
    pub(super) title: String,
    /// Its uid, if it is of a cluster.
    pub(super) uid: Option<String>,
    /// `None`: as it is written in the document.
    pub(super) value: Option<Value>,
}

impl Origin<'_> {
    fn value(&self) -> Cow<'_, Value> {
        match &self.value {
            Some(value) => Cow::Borrowed(value),
            // It was read before.
            None => Cow::Owned(self.document.value().unwrap_or_default()),
        }
    }
}

/// One time at which a file shows an object.
#[derive(Clone, Debug)]
pub(super) struct Appearance<'a> {
    pub(super) origin: Rc<Origin<'a>>,
    /// Which copy it is, where copies are made.
    pub(super) copy: Option<usize>,
    pub(super) at: Time,
    pub(super) delete_at: Option<Time>,
    /// What is played of it; nothing for kinds without effect and for the pods of a job.
    pub(super) entry: Option<usize>,
}

impl Appearance<'_> {
    fn value(&self) -> Cow<'_, Value> {
        match self.copy {
            Some(index) => Cow::Owned(behaviour::stamp(&self.origin.value(), index)),
            None => self.origin.value(),
        }
    }

    /// Why it cannot be an edit of the one before it in the same life.
    fn refusal(
        &self,
        first: &Self,
        before: &Self,
        ends_at: Option<&Self>,
        name: &str,
    ) -> Option<String> {
        let there = before.origin.document.place();
        let is_of_job = |one: &Self| one.entry.is_none() && one.origin.known.kind == Kind::Job;
        if is_of_job(self) || is_of_job(before) {
            return Some(format!("the name {name:?} is taken by the one at {there}"));
        }
        if self.at == before.at {
            return Some(format!(
                "the name {name:?} is taken by the one at {there}; an edit has a later {}at",
                behaviour::PREFIX
            ));
        }
        if let (Some(_), Some(end)) = (self.delete_at, ends_at) {
            let place = end.origin.document.place();
            let prefix = behaviour::PREFIX;
            return Some(format!(
                "{prefix}delete-at: its end is given already at {place}"
            ));
        }
        let kind = self.origin.known.kind;
        let refused = edits::refusal(kind, &first.value(), &before.value(), &self.value());
        let (path, words) = refused?;
        let path = path.to_string();
        let stop = if path.is_empty() { "" } else { ": " };
        Some(format!(
            "{path}{stop}{words} (it is an edit of the one at {there})"
        ))
    }
}

/// Finds out which appearances create an object and which edit it.
pub(super) fn tell_apart(
    names: BTreeMap<Name, Vec<Appearance<'_>>>,
    entries: &mut [Entry],
    problems: &mut Problems,
) {
    // Of many copies that are wrong in the same way one is enough.
    let mut said = BTreeSet::new();
    let twice = names.into_iter().filter(|(_, all)| all.len() > 1);
    for ((_, _, name), mut appearances) in twice {
        appearances.sort_by_key(|one| one.at);
        let mut first = &appearances[0];
        let mut ends_at: Option<&Appearance<'_>> = None;
        for (index, now) in appearances.iter().enumerate() {
            let ended = ends_at.and_then(|one| one.delete_at);
            let creates = index == 0 || ended.is_some_and(|end| end <= now.at);
            if creates {
                (first, ends_at) = (now, None);
            } else {
                let before = &appearances[index - 1];
                if let Some(message) = now.refusal(first, before, ends_at, &name) {
                    let origin = &now.origin;
                    let place = origin.document.subject(&message);
                    if said.insert((place.file.clone(), place.line)) {
                        problems.error(&place, format!("{}: {message}", origin.title));
                    }
                    continue;
                }
                make_edit(entries, before.entry, now);
            }
            if now.delete_at.is_some() {
                ends_at = Some(now);
            }
        }
    }
}

/// Has what is played of an appearance change what is there. Only a pod has to be told apart: of
/// everything else the API server has at most one by a name.
fn make_edit(entries: &mut [Entry], before: Option<usize>, now: &Appearance<'_>) {
    let (Some(before), Some(index)) = (before, now.entry) else {
        return;
    };
    let before = entries[before].object.clone();
    match (before, &mut entries[index].object) {
        // Nobody applies a node's status: where none is given it stays.
        (Played::Plain(Object::Node(before)), Played::Plain(Object::Node(node)))
            if now.origin.value()["status"].is_null() =>
        {
            node.allocatable = before.allocatable;
        }
        (Played::Pod(before) | Played::PodEdit(before), object) => {
            if let Played::Pod(plan) = object {
                plan.run = before.run;
                *object = Played::PodEdit(std::mem::take(plan));
            }
        }
        _ => {}
    }
}
