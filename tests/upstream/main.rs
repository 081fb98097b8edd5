//! Kubernetes' own filters say the same of every node as Muster does.
//!
//! A generator draws a small cluster and a pod that waits in it. kube-scheduler's code (the role
//! `filters` of hack/control-plane) and Muster both decide on it: the same nodes fit, the others are
//! refused in the same words, the pods' effective requests are the same, and so is the message. What
//! differs is made smaller and written as a file that `muster simulate` plays.
//!
//! `MUSTER_CASES=2000 cargo test --test upstream -- --nocapture` plays so many and prints what they
//! came to; `MUSTER_SEED=77` plays one. Needs what `hack/build-control-plane` builds.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod case;
mod compare;
mod dice;
mod oracle;
mod ours;
mod rules;
mod scenario;
mod shrink;

use compare::differences;
use dice::Dice;
use oracle::{Answer, Oracle};
use ours::ours;
use rules::RULES;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::scope;

/// How many cases are played unless the environment says otherwise.
const CASES: u64 = 10_000;
/// Each with an oracle of its own.
const WORKERS: usize = 2;
/// So many that differ are made smaller and shown.
const SHOWN: usize = 5;
/// How often each refusal has to have come up in a run of all cases.
const OFTEN: u64 = 50;

/// What the cases came to.
#[derive(Default)]
struct Tally {
    /// What was drawn.
    drawn: BTreeMap<String, u64>,
    /// What nodes said.
    said: BTreeMap<String, u64>,
    /// Of what pods became.
    became: BTreeMap<&'static str, u64>,
    wrong: Vec<String>,
    differ: usize,
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text}: expected a number")),
    )
}

#[test]
fn every_node_says_what_kube_schedulers_filters_say() {
    let seeds = match number("MUSTER_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("MUSTER_CASES").unwrap_or(CASES),
    };
    let cases = seeds.end - seeds.start;
    let (next, tally) = (AtomicU64::new(seeds.start), Mutex::new(Tally::default()));
    scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                let mut oracle = Oracle::start();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    play(seed, &mut oracle, &tally);
                }
            });
        }
    });
    let tally = tally.into_inner().unwrap();
    tally.print(cases);
    assert!(
        tally.differ == 0,
        "{} of {cases} cases differ:\n{}",
        tally.differ,
        tally.wrong.join("\n")
    );
    if cases >= CASES {
        let there = RULES.iter().filter(|rule| rule.there);
        for words in there.flat_map(|rule| rule.words) {
            let times = tally.said.get(*words).copied().unwrap_or(0);
            assert!(times >= OFTEN, "{words:?} came up {times} times only");
        }
    }
}

/// Plays a case.
fn play(seed: u64, oracle: &mut Oracle, tally: &Mutex<Tally>) {
    let mut dice = Dice::new(seed);
    let case = rules::draw(&mut dice);
    oracle.send(&case);
    let mine = ours(&case);
    let theirs = oracle.answer();
    let found = differences(&case, &theirs, &mine);
    let mut sum = tally.lock().unwrap();
    for (corner, times) in dice.seen() {
        *sum.drawn.entry(corner).or_default() += times;
    }
    sum.count(&theirs);
    if found.is_empty() {
        return;
    }
    sum.differ += 1;
    if sum.wrong.len() >= SHOWN {
        return;
    }
    // The first words of a difference say what it is about: it stays about that.
    let first = found[0].clone();
    let about = kind_of(&first);
    let small = shrink::shrink(case, |smaller| {
        let theirs = oracle.ask(smaller);
        let found = differences(smaller, &theirs, &ours(smaller));
        found.iter().any(|one| kind_of(one) == about)
    });
    let theirs = oracle.ask(&small);
    let found = differences(&small, &theirs, &ours(&small));
    let path = scenario::write(seed, &small, &found);
    let text = format!("case {seed}, {}:\n  {}", path.display(), found.join("\n  "));
    sum.wrong.push(text);
}

/// What a difference is about; what is refused as it is written is another matter.
fn kind_of(difference: &str) -> (&str, bool) {
    let about = difference.split([' ', ':']).next().unwrap_or_default();
    (about, difference.contains("not supported"))
}

impl Tally {
    fn count(&mut self, theirs: &Answer) {
        let fit = theirs.fit().count();
        let became = match fit {
            _ if theirs.gated.is_some() => "gated",
            0 if theirs.pre_filter.is_some() => "refused before any node",
            0 => "fit nowhere",
            _ if fit == theirs.nodes.len() => "fit everywhere",
            _ => "fit on some nodes",
        };
        *self.became.entry(became).or_default() += 1;
        let verdicts = theirs.nodes.values().chain(&theirs.pre_filter);
        for verdict in verdicts {
            for reason in &verdict.reasons {
                *self.said.entry(reason.clone()).or_default() += 1;
            }
            if verdict.fits() {
                *self.said.entry("it fits".to_owned()).or_default() += 1;
            }
        }
        for (plugin, scores) in theirs.scores.iter().filter(|(name, _)| !name.is_empty()) {
            if scores.values().min() != scores.values().max() {
                let words = format!("{plugin} tells nodes apart");
                *self.said.entry(words).or_default() += 1;
            }
        }
    }

    fn print(&self, cases: u64) {
        println!("{cases} cases, {} differ", self.differ);
        for (title, counts) in [("drawn", &self.drawn), ("nodes said", &self.said)] {
            println!("\n{title}:");
            for (name, times) in counts {
                println!("{times:9}  {name}");
            }
        }
        println!("\npods:");
        for (name, times) in &self.became {
            println!("{times:9}  {name}");
        }
    }
}
