//! The books of both clusters: who waits, who is on a node, which gangs are whole, when they became it.

use crate::report::{Difference, Flow, Now, Pair, Size, State};
use muster_model::units::{Millis, Time};
use muster_model::{GangKey, GangSpace};
use std::collections::{BTreeMap, BTreeSet};

/// Starts that are closer than this are at the same time.
const SAME: Millis = Millis(1_000);

/// How a pod counts for its gang.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It does not.
    #[default]
    Absent,
    /// It wants a node.
    Waits,
    /// It is on one.
    Holds,
    /// It has ended well.
    Done,
}

/// A pod as a member of its gang.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// Its gang, by what its pods really say.
    pub(crate) gang: GangKey,
    /// The same, as the core has it.
    pub(crate) key: GangKey,
    /// The same for people.
    pub(crate) title: String,
    /// Since when the pod wants to run.
    pub(crate) submitted: Time,
    pub(crate) standing: Pair<Standing>,
    /// The node that it makes one that is used.
    pub(crate) node: Pair<Option<String>>,
    /// When it was seen to start.
    pub(crate) since: Pair<Option<Time>>,
}

/// When a gang was whole for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// Before anybody looked.
    Before,
    At(Time),
}

/// A gang in one of the clusters.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    waits: u32,
    holds: u32,
    done: u32,
    /// Members that had ended well and are gone.
    retired: u32,
    /// A member was seen to start.
    seen: bool,
    start: Option<Start>,
}

impl Side {
    fn count(&mut self, standing: Standing) -> Option<&mut u32> {
        match standing {
            Standing::Absent => None,
            Standing::Waits => Some(&mut self.waits),
            Standing::Holds => Some(&mut self.holds),
            Standing::Done => Some(&mut self.done),
        }
    }

    const fn available(&self) -> u32 {
        self.holds
            .saturating_add(self.done)
            .saturating_add(self.retired)
    }

    const fn state(&self, minimum: u32) -> State {
        match (self.holds, self.waits) {
            (0, 0) => State::Over,
            (0, _) => State::Waits,
            _ if self.available() >= minimum => State::Whole,
            _ => State::InPart,
        }
    }

    const fn size(&self) -> Size {
        let available = self.available();
        Size {
            members: available.saturating_add(self.waits),
            available,
        }
    }

    const fn is_empty(&self) -> bool {
        self.waits == 0 && self.holds == 0 && self.done == 0
    }
}

#[derive(Clone, Debug)]
struct Gang {
    key: GangKey,
    title: String,
    submitted: Time,
    minimum: u32,
    sides: Pair<Side>,
}

/// Both of a pair, with its name as an index.
const SIDES: [fn(&mut Pair<Side>) -> &mut Side; 2] =
    [|pair| &mut pair.real, |pair| &mut pair.shadow];

/// The books.
#[derive(Debug, Default)]
pub(crate) struct Books {
    gangs: BTreeMap<GangKey, Gang>,
    /// Gangs that may have become whole.
    touched: BTreeSet<GangKey>,
    /// How many pods make it one that is used, by node.
    used: Pair<BTreeMap<String, u32>>,
    pub(crate) period: Flow,
    pub(crate) total: Flow,
}

impl Books {
    /// Notes what a pod was and what it is now; `None`: it is not considered.
    pub(crate) fn note(&mut self, before: Option<&Member>, after: Option<&Member>) {
        let moved = before
            .zip(after)
            .is_some_and(|(before, after)| before.gang != after.gang);
        if let Some(before) = before {
            self.leave(before, after.filter(|_| !moved));
        }
        if let Some(after) = after {
            self.join(after);
            self.note_start(before, after);
        }
        if let Some(before) = before {
            self.drop_if_empty(&before.gang);
        }
    }

    fn leave(&mut self, member: &Member, after: Option<&Member>) {
        change(&mut self.used.real, member.node.real.as_ref(), false);
        change(&mut self.used.shadow, member.node.shadow.as_ref(), false);
        let Some(gang) = self.gangs.get_mut(&member.gang) else {
            return;
        };
        let is_gone =
            |standing: Option<Standing>| standing.is_none_or(|one| one == Standing::Absent);
        let standings = [
            (member.standing.real, after.map(|after| after.standing.real)),
            (
                member.standing.shadow,
                after.map(|after| after.standing.shadow),
            ),
        ];
        for (side, (before, after)) in SIDES.into_iter().zip(standings) {
            let side = side(&mut gang.sides);
            if let Some(count) = side.count(before) {
                *count = count.saturating_sub(1);
            }
            if before == Standing::Done && is_gone(after) {
                side.retired = side.retired.saturating_add(1);
            }
        }
        self.touched.insert(member.gang.clone());
    }

    fn join(&mut self, member: &Member) {
        change(&mut self.used.real, member.node.real.as_ref(), true);
        change(&mut self.used.shadow, member.node.shadow.as_ref(), true);
        let gang = self
            .gangs
            .entry(member.gang.clone())
            .or_insert_with(|| Gang {
                key: member.key.clone(),
                title: member.title.clone(),
                submitted: member.submitted,
                minimum: 1,
                sides: Pair::default(),
            });
        gang.key.clone_from(&member.key);
        gang.submitted = gang.submitted.min(member.submitted);
        let standings = [member.standing.real, member.standing.shadow];
        let seen = [member.since.real, member.since.shadow];
        for ((side, standing), since) in SIDES.into_iter().zip(standings).zip(seen) {
            let side = side(&mut gang.sides);
            if let Some(count) = side.count(standing) {
                *count = count.saturating_add(1);
            }
            side.seen |= since.is_some();
        }
        self.touched.insert(member.gang.clone());
    }

    /// Counts how long a pod waited that starts.
    fn note_start(&mut self, before: Option<&Member>, after: &Member) {
        let was = before.map_or_else(Pair::default, |before| before.since);
        for flow in [&mut self.period, &mut self.total] {
            for (was, since, waits) in [
                (was.real, after.since.real, &mut flow.pods.real),
                (was.shadow, after.since.shadow, &mut flow.pods.shadow),
            ] {
                if let (None, Some(since)) = (was, since) {
                    waits.add(since.since(after.submitted));
                }
            }
        }
    }

    fn drop_if_empty(&mut self, key: &GangKey) {
        let gang = self.gangs.get(key);
        if gang.is_some_and(|gang| gang.sides.real.is_empty() && gang.sides.shadow.is_empty()) {
            self.gangs.remove(key);
            self.touched.remove(key);
        }
    }

    /// Notes which gangs are whole now that were not before. `minimum` says how many members one needs. Returns those that
    /// nobody but the shadow has any more, and that can never be whole there.
    pub(crate) fn settle(
        &mut self,
        now: Time,
        minimum: impl Fn(&GangKey) -> Option<u32>,
    ) -> Vec<GangKey> {
        let mut hopeless = Vec::new();
        for key in std::mem::take(&mut self.touched) {
            let Some(gang) = self.gangs.get_mut(&key) else {
                continue;
            };
            gang.minimum = minimum(&gang.key).unwrap_or(1).max(1);
            let needed = gang.minimum;
            let mut starts = [false; 2];
            for (side, starts) in SIDES.into_iter().zip(&mut starts) {
                let side = side(&mut gang.sides);
                if side.start.is_none() && side.state(needed) == State::Whole {
                    *starts = side.seen;
                    side.start = Some(if side.seen {
                        Start::At(now)
                    } else {
                        Start::Before
                    });
                }
            }
            if key.space == GangSpace::Own {
                continue;
            }
            let waits = gang.sides.shadow.state(needed) == State::Waits;
            if waits && gang.sides.real.is_empty() && gang.sides.shadow.size().members < needed {
                hopeless.push(key.clone());
            }
            let waited = now.since(gang.submitted);
            for flow in [&mut self.period, &mut self.total] {
                for (starts, waits) in starts
                    .into_iter()
                    .zip([&mut flow.gangs.real, &mut flow.gangs.shadow])
                {
                    if starts {
                        waits.add(waited);
                    }
                }
                if let (true, Some(Start::At(real)), Some(Start::At(shadow))) = (
                    starts != [false; 2],
                    gang.sides.real.start,
                    gang.sides.shadow.start,
                ) {
                    let count = if real.since(shadow) >= SAME {
                        &mut flow.sooner
                    } else if shadow.since(real) >= SAME {
                        &mut flow.later
                    } else {
                        &mut flow.same
                    };
                    *count += 1;
                }
            }
        }
        hopeless
    }

    /// Has a gang looked at when it is settled next.
    pub(crate) fn touch(&mut self, gang: &GangKey) {
        if self.gangs.contains_key(gang) {
            self.touched.insert(gang.clone());
        }
    }

    /// Has all gangs looked at when it is settled next: how many members they need may be otherwise.
    pub(crate) fn touch_all(&mut self) {
        self.touched.extend(self.gangs.keys().cloned());
    }

    /// Counts a pod that was evicted in the shadow.
    pub(crate) const fn note_eviction(&mut self) {
        self.period.evictions += 1;
        self.total.evictions += 1;
    }

    /// How things are.
    pub(crate) fn now(&self) -> Pair<Now> {
        let mut now = Pair {
            real: Now {
                nodes_used: self.used.real.len() as u64,
                ..Now::default()
            },
            shadow: Now {
                nodes_used: self.used.shadow.len() as u64,
                ..Now::default()
            },
        };
        for (key, gang) in &self.gangs {
            let sides = [
                (&gang.sides.real, &mut now.real),
                (&gang.sides.shadow, &mut now.shadow),
            ];
            for (side, now) in sides {
                now.pods_on_nodes += u64::from(side.holds);
                now.pods_waiting += u64::from(side.waits);
                if key.space == GangSpace::Own {
                    continue;
                }
                match side.state(gang.minimum) {
                    State::Waits => now.gangs_waiting += 1,
                    State::InPart => now.gangs_in_part += 1,
                    State::Whole => now.gangs_whole += 1,
                    State::Over => {}
                }
            }
        }
        now
    }

    /// The gangs that are not in the same state in both: first those with which the shadow is ahead, each in the order in
    /// which they came.
    pub(crate) fn differences(&self) -> Vec<Difference> {
        let differ = self.gangs.values().filter_map(|gang| {
            let state = gang.sides.map(|side| side.state(gang.minimum));
            (state.real != state.shadow).then(|| Difference {
                key: gang.key.clone(),
                gang: gang.title.clone(),
                minimum: gang.minimum,
                state,
                size: gang.sides.map(Side::size),
                submitted: gang.submitted,
                reason: None,
            })
        });
        let mut found: Vec<Difference> = differ.collect();
        found.sort_by_key(|one| (one.state.shadow < one.state.real, one.submitted));
        found
    }
}

fn change(used: &mut BTreeMap<String, u32>, node: Option<&String>, more: bool) {
    let Some(node) = node else { return };
    if more {
        *used.entry(node.clone()).or_default() += 1;
        return;
    }
    if let Some(count) = used.get_mut(node) {
        *count = count.saturating_sub(1);
        if *count == 0 {
            used.remove(node);
        }
    }
}
