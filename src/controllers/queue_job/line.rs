//! In which order pods are made, over all QueueJobs (docs/queuejobs.md, "The order of creation").
//!
//! Minima first, the most important job's first; then what is beyond them, in turns. In a namespace what is behind
//! waits until what is before it is made, so that a quota that runs out hits the least important.

use crate::desk::Name;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Where in the line a QueueJob stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) priority: Reverse<i64>,
    /// In seconds.
    pub(super) created: i64,
    pub(super) job: Name,
}

/// A pod that is lacking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lacking {
    pub(super) name: String,
    /// The place of its task.
    pub(super) task: usize,
    /// How important it is among the pods of its job.
    pub(super) priority: i64,
    /// `None`: it belongs to the minimum. Else in which turn it is.
    pub(super) turn: Option<usize>,
}

/// What became of the making of a pod that is lacking still.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Try {
    /// It is on its way; if a quota left no room for it before, in these words.
    Flying(Option<String>),
    /// Nobody knows what came of it, or it came too fast, or together with others.
    Again,
    /// It is made, which the watch has not told yet.
    Made,
    /// A quota leaves no room.
    Quota(String),
    /// It is not to be, for another reason.
    Refused(String),
    /// The name is taken, or the namespace is not there.
    Aside,
}

impl Try {
    /// Whether those behind go on.
    const fn lets_go(&self) -> bool {
        matches!(self, Self::Made | Self::Refused(_) | Self::Aside)
    }

    /// What a quota said that leaves no room for it, or left none when it was last tried.
    pub(super) fn quota(&self) -> Option<&String> {
        match self {
            Self::Quota(words) => Some(words),
            Self::Flying(words) => words.as_ref(),
            Self::Again | Self::Made | Self::Refused(_) | Self::Aside => None,
        }
    }
}

/// The tries of the pods of a QueueJob, by name.
pub(super) type Tries = BTreeMap<String, Try>;

/// Those who lack pods.
#[derive(Debug, Default)]
pub(super) struct Line {
    lacking: BTreeMap<Place, Vec<Lacking>>,
    places: BTreeMap<Name, Place>,
    /// Something has changed since it was walked to its end.
    moved: bool,
}

impl Line {
    /// This is what a QueueJob lacks.
    pub(super) fn lacks(&mut self, place: Place, lacking: Vec<Lacking>) {
        self.leaves(&place.job);
        if !lacking.is_empty() {
            self.places.insert(place.job.clone(), place.clone());
            self.lacking.insert(place, lacking);
        }
    }

    /// A QueueJob lacks nothing.
    pub(super) fn leaves(&mut self, job: &Name) {
        self.moved = true;
        if let Some(place) = self.places.remove(job) {
            self.lacking.remove(&place);
        }
    }

    /// Those who lack pods.
    pub(super) fn jobs(&self) -> impl Iterator<Item = &Name> {
        self.places.keys()
    }

    /// Whether it is worth a walk; whether the walk came to its end is said by [`walked`](Self::walked).
    pub(super) const fn has_moved(&self) -> bool {
        self.moved
    }

    pub(super) const fn walked(&mut self) {
        self.moved = false;
    }

    /// Those who may be made now, in their order, those that are on their way among them, until one is not taken.
    pub(super) fn walk<'a>(
        &'a self,
        tries: &dyn Fn(&Name) -> Option<&'a Tries>,
        take: &mut dyn FnMut(&'a Name, &'a Lacking) -> bool,
    ) {
        let none = &NONE;
        let of = |place: &'a Place| tries(&place.job).unwrap_or(none);
        // Namespaces in which the line stands.
        let mut stands: BTreeSet<&str> = BTreeSet::new();
        let mut beyond: Vec<(usize, &Place, &Lacking)> = Vec::new();
        for (place, lacking) in &self.lacking {
            let (tries, namespace) = (of(place), place.job.0.as_str());
            let count = lacking.iter().take_while(|one| one.turn.is_none()).count();
            let (minimum, rest) = lacking.split_at(count);
            let ranks = minimum.chunk_by(|one, other| one.priority == other.priority);
            for rank in ranks {
                if stands.contains(namespace) {
                    break;
                }
                for one in rank {
                    if !take(&place.job, one) {
                        return;
                    }
                    let tried = tries.get(&one.name);
                    if !tried.is_some_and(Try::lets_go) {
                        stands.insert(namespace);
                    }
                    if tried.is_some_and(|tried| tried.quota().is_some()) {
                        break;
                    }
                }
            }
            let turns = rest.iter().filter_map(|one| Some((one.turn?, place, one)));
            beyond.extend(turns);
        }
        beyond.retain(|(_, place, _)| !stands.contains(place.job.0.as_str()));
        beyond.sort_by_key(|(turn, place, _)| (*turn, *place));
        for (_, place, one) in beyond {
            let namespace = place.job.0.as_str();
            if stands.contains(namespace) {
                continue;
            }
            if !take(&place.job, one) {
                return;
            }
            let tried = of(place).get(&one.name);
            if tried.is_some_and(|tried| tried.quota().is_some()) {
                stands.insert(namespace);
            }
        }
    }
}

impl Line {
    /// Those behind one of their namespace for whom a quota leaves no room; each with who stands before them. What a quota
    /// said to them themselves was before that. To be asked after a walk.
    pub(super) fn waiting<'a>(
        &'a self,
        tries: &dyn Fn(&Name) -> Option<&'a Tries>,
    ) -> BTreeMap<&'a Name, &'a str> {
        let tried = |job: &'a Name, pods: &'a [Lacking]| {
            let tries = tries(job).unwrap_or(&NONE);
            pods.iter().filter_map(|one| tries.get(&one.name))
        };
        // Who stopped the line in each namespace.
        let mut stopped: BTreeMap<&str, &Name> = BTreeMap::new();
        for (place, pods) in &self.lacking {
            if tried(&place.job, pods).any(|tried| tried.quota().is_some()) {
                stopped.entry(&place.job.0).or_insert(&place.job);
            }
        }
        let (mut waiting, mut before) = (BTreeMap::new(), BTreeMap::new());
        for (place, pods) in &self.lacking {
            let (job, namespace) = (&place.job, place.job.0.as_str());
            let Some(first) = stopped.get(namespace).copied() else {
                continue;
            };
            let last = before.insert(namespace, job).unwrap_or(first);
            if job != first && tried(job, pods).all(|tried| tried.quota().is_some()) {
                waiting.insert(job, last.1.as_str());
            }
        }
        waiting
    }
}

static NONE: Tries = BTreeMap::new();

#[cfg(test)]
mod tests {
    use super::*;

    fn lacking(name: &str, priority: i64, turn: Option<usize>) -> Lacking {
        let name = name.to_owned();
        Lacking {
            name,
            task: 0,
            priority,
            turn,
        }
    }

    fn place(priority: i64, created: i64, namespace: &str, job: &str) -> Place {
        let job = (namespace.to_owned(), job.to_owned());
        Place {
            priority: Reverse(priority),
            created,
            job,
        }
    }

    /// Who may be made, in which order.
    fn walked(line: &Line, tries: &BTreeMap<Name, Tries>) -> Vec<String> {
        let mut taken = Vec::new();
        line.walk(&|job| tries.get(job), &mut |_, one| {
            taken.push(one.name.clone());
            true
        });
        taken
    }

    fn tried(job: &str, pods: &[(&str, Try)]) -> (Name, Tries) {
        let tries = pods
            .iter()
            .map(|(name, tried)| ((*name).to_owned(), tried.clone()));
        (("n".to_owned(), job.to_owned()), tries.collect())
    }

    #[test]
    fn minima_go_first_by_priority_age_and_name_and_wait_for_each_other_in_a_namespace() {
        let mut line = Line::default();
        line.lacks(place(0, 5, "n", "old"), vec![lacking("old-0", 0, None)]);
        line.lacks(place(0, 6, "n", "new"), vec![lacking("new-0", 0, None)]);
        line.lacks(
            place(7, 9, "n", "high"),
            vec![
                lacking("high-0", 3, None),
                lacking("high-1", 3, None),
                lacking("high-2", 0, None),
                lacking("high-3", 0, Some(0)),
            ],
        );
        line.lacks(
            place(-1, 0, "m", "other"),
            vec![lacking("other-0", 0, None), lacking("other-1", 0, Some(0))],
        );
        assert_eq!(
            walked(&line, &BTreeMap::new()),
            ["high-0", "high-1", "other-0"]
        );
        let made = |names: &[&str]| {
            let made: Vec<(&str, Try)> = names.iter().map(|name| (*name, Try::Made)).collect();
            BTreeMap::from([tried("high", &made)])
        };
        let next = walked(&line, &made(&["high-0"]));
        assert_eq!(next, ["high-0", "high-1", "other-0"], "high-1 is not made");
        let next = walked(&line, &made(&["high-0", "high-1"]));
        assert_eq!(next[2..], ["high-2", "other-0"], "the next task");
        let next = walked(&line, &made(&["high-0", "high-1", "high-2"]));
        assert_eq!(
            next[3..],
            ["old-0", "other-0"],
            "the next job, before what is beyond"
        );
    }

    #[test]
    fn what_is_beyond_goes_in_turns_and_who_has_more_already_joins_later() {
        let mut line = Line::default();
        let many = |name: &str, from: usize| -> Vec<Lacking> {
            let all = from..from + 3;
            all.map(|turn| lacking(&format!("{name}-{turn}"), 0, Some(turn)))
                .collect()
        };
        line.lacks(place(0, 1, "n", "a"), many("a", 1));
        line.lacks(place(9, 2, "n", "b"), many("b", 0));
        line.lacks(place(0, 3, "m", "c"), many("c", 2));
        let order = [
            "b-0", "b-1", "a-1", "b-2", "a-2", "c-2", "a-3", "c-3", "c-4",
        ];
        assert_eq!(walked(&line, &BTreeMap::new()), order);
        line.leaves(&("n".to_owned(), "b".to_owned()));
        assert_eq!(
            walked(&line, &BTreeMap::new()),
            ["a-1", "a-2", "c-2", "a-3", "c-3", "c-4"]
        );
    }

    #[test]
    fn a_quota_stops_the_line_behind_it_and_no_other_refusal_does() {
        let mut line = Line::default();
        let two = |name: &str| -> Vec<Lacking> {
            (0..2)
                .map(|index| lacking(&format!("{name}-{index}"), 0, None))
                .collect()
        };
        line.lacks(place(2, 1, "n", "a"), two("a"));
        line.lacks(place(1, 1, "n", "b"), two("b"));
        line.lacks(
            place(0, 1, "n", "c"),
            vec![lacking("c-0", 0, Some(0)), lacking("c-1", 0, Some(1))],
        );
        let quota = || Try::Quota("q".to_owned());
        let refused = || Try::Refused("r".to_owned());
        let tries = |all: Vec<(Name, Tries)>| all.into_iter().collect::<BTreeMap<_, _>>();
        let first = tries(vec![tried("a", &[("a-0", quota()), ("a-1", quota())])]);
        assert_eq!(
            walked(&line, &first),
            ["a-0"],
            "one is tried, and nobody else"
        );
        let again = tries(vec![tried(
            "a",
            &[("a-0", Try::Flying(Some("q".to_owned()))), ("a-1", quota())],
        )]);
        assert_eq!(
            walked(&line, &again),
            ["a-0"],
            "while it is tried anew, too"
        );
        let lost = tries(vec![tried("a", &[("a-0", Try::Again), ("a-1", Try::Made)])]);
        assert_eq!(
            walked(&line, &lost),
            ["a-0", "a-1"],
            "what is not known is waited for"
        );
        let other = tries(vec![tried("a", &[("a-0", refused()), ("a-1", Try::Aside)])]);
        assert_eq!(walked(&line, &other), ["a-0", "a-1", "b-0", "b-1"]);
        let second = tries(vec![
            tried("a", &[("a-0", refused()), ("a-1", Try::Made)]),
            tried("b", &[("b-0", Try::Made), ("b-1", quota())]),
        ]);
        assert_eq!(
            walked(&line, &second),
            ["a-0", "a-1", "b-0", "b-1"],
            "the first goes on"
        );
        let beyond = tries(vec![
            tried("a", &[("a-0", refused()), ("a-1", refused())]),
            tried("b", &[("b-0", refused()), ("b-1", refused())]),
            tried("c", &[("c-0", quota())]),
        ]);
        assert_eq!(walked(&line, &beyond)[4..], ["c-0"]);
    }
}
