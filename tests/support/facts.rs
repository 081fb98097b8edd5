//! What holds of BatchJobs, Schedulings, Testbeds and their slots at times, and what a scenario expects of that.
//!
//! Each is known by its kind and name (`BatchJob a`, `Slot lab/0`), and at each time some words hold of it: its state,
//! the reason of its condition, of a BatchJob also where it is (`Running on 0_1`); `Absent` of what is not there.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Kind and name of objects, and a word that holds of each.
pub type Words = BTreeMap<String, String>;

/// What was seen, from when to when.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Of each object, since when which words hold, in milliseconds.
    all: BTreeMap<String, Vec<(u64, BTreeSet<String>)>>,
    /// When it was last looked.
    until: u64,
}

/// What is seen at one time.
#[derive(Clone, Debug, Default)]
pub struct Look(BTreeMap<String, BTreeSet<String>>);

impl Look {
    /// Takes in a BatchJob, a Scheduling, a Testbed or a slice of one.
    pub fn see(&mut self, kind: &str, object: &Value) {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let name = text("/metadata/name").unwrap_or_default();
        let name = match text("/metadata/namespace") {
            None | Some("default") => name.to_owned(),
            Some(namespace) => format!("{namespace}/{name}"),
        };
        let status = &object["status"];
        let conditions = status["conditions"].as_array();
        let reasons = conditions.into_iter().flatten();
        let mut words: BTreeSet<String> = reasons
            .filter_map(|one| Some(one["reason"].as_str()?.to_owned()))
            .collect();
        if let Some(state) = text("/status/state") {
            words.insert(state.to_owned());
            let slots = status["slots"].as_array().into_iter().flatten();
            let slots: Vec<String> = slots.map(Value::to_string).collect();
            words.insert(format!("{state} on {}", slots.join("_")));
        }
        if kind == "TestbedSlice" {
            let testbed = text("/spec/testbed").unwrap_or_default();
            return self.see_slots(testbed, &object["spec"]["slots"]);
        }
        if kind == "Testbed" {
            self.see_slots(&name, &status["slots"]);
        }
        self.0.insert(format!("{kind} {name}"), words);
    }

    fn see_slots(&mut self, testbed: &str, slots: &Value) {
        for slot in slots.as_array().into_iter().flatten() {
            let state = slot["state"].as_str().unwrap_or_default().to_owned();
            let slot = format!("Slot {testbed}/{}", slot["position"]);
            self.0.insert(slot, [state].into());
        }
    }
}

impl Facts {
    /// Takes in what is seen now.
    pub fn add(&mut self, look: Look, now: u64) {
        self.until = now;
        let absent = || BTreeSet::from(["Absent".to_owned()]);
        let mut look = look.0;
        for known in self.all.keys() {
            look.entry(known.clone()).or_insert_with(absent);
        }
        for (object, words) in look {
            let history = self.all.entry(object).or_default();
            if history.last().is_none_or(|(_, last)| *last != words) {
                history.push((now, words));
            }
        }
    }

    /// Nothing has changed until then.
    pub fn lasts(&mut self, until: u64) {
        self.until = until;
    }

    /// When something changed.
    fn times(&self) -> BTreeSet<u64> {
        let histories = self.all.values().flatten();
        histories.map(|(at, _)| *at).collect()
    }

    /// What holds of an object at a time.
    fn at(&self, object: &str, time: u64) -> Option<&BTreeSet<String>> {
        let history = self.all.get(object)?;
        let mut before = history.iter().rev().filter(|(at, _)| *at <= time);
        before.next().map(|(_, words)| words)
    }

    fn holds(&self, object: &str, word: &str, time: u64) -> bool {
        self.at(object, time)
            .map_or(word == "Absent", |words| words.contains(word))
    }

    /// The first time at which all of this holds.
    fn first(&self, all: &Words) -> Option<u64> {
        let mut times = self.times().into_iter();
        times.find(|time| {
            let mut all = all.iter();
            all.all(|(object, word)| self.holds(object, word, *time))
        })
    }
}

/// What is expected, and whether it holds: of each a line for what does not.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// What holds at the end.
    pub states: &'a Words,
    /// What holds so many seconds after the beginning.
    pub states_at: &'a BTreeMap<u64, Words>,
    /// What holds together at some time.
    pub together: &'a [Words],
    /// What never holds together.
    pub not_together: &'a [Words],
    /// What holds for the first time one after the other.
    pub in_order: &'a [Vec<Words>],
}

impl Expected<'_> {
    /// What does not hold, one line each.
    pub fn check(&self, seen: &Facts, wrong: &mut Vec<String>) {
        check_at(self.states, seen.until, seen, wrong);
        for (seconds, states) in self.states_at {
            let time = seconds * 1_000;
            if seen.until < time {
                wrong.push(format!("{seconds} s: it has not come to that"));
            } else {
                check_at(states, time, seen, wrong);
            }
        }
        for all in self.together {
            if seen.first(all).is_none() {
                let seen = history(all, seen);
                wrong.push(format!("{all:?} never held together: {seen}"));
            }
        }
        for all in self.not_together {
            if let Some(time) = seen.first(all) {
                let seen = history(all, seen);
                wrong.push(format!("{all:?} held together at {time} ms: {seen}"));
            }
        }
        for order in self.in_order {
            let times: Vec<Option<u64>> = order.iter().map(|all| seen.first(all)).collect();
            if times.contains(&None) || !times.is_sorted() {
                wrong.push(format!("not in order: {order:?} held first at {times:?}"));
            }
        }
    }
}

fn check_at(states: &Words, time: u64, seen: &Facts, wrong: &mut Vec<String>) {
    for (object, word) in states {
        if !seen.holds(object, word, time) {
            let found = seen.at(object, time);
            wrong.push(format!(
                "{object} is {found:?} at {time} ms, not {word}: {}",
                history([(object, word)], seen)
            ));
        }
    }
}

/// What became of some objects.
fn history<'a>(of: impl IntoIterator<Item = (&'a String, &'a String)>, seen: &Facts) -> String {
    let lines = of.into_iter().map(|(object, _)| {
        let history = seen.all.get(object).into_iter().flatten();
        let words = history.map(|(at, words)| {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            format!("{at} ms {}", words.join(", "))
        });
        format!("{object}: {}", words.collect::<Vec<_>>().join("; "))
    });
    lines.collect::<Vec<_>>().join(" | ")
}
