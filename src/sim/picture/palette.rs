//! Which gang has which colour: the same from its first place to its end, and another than those that
//! run beside it, as long as there are enough.
//!
//! The colours are those of Okabe and Ito, which people who see fewer colours tell apart; where there
//! are more gangs than colours, a pattern is laid over them. Numbers stand on them besides.

use crate::story::{GangStory, State};
use muster_model::units::Time;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Orange, sky blue, bluish green, yellow, blue, vermilion, reddish purple.
pub const COLOURS: [&str; 7] = [
    "#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7",
];

/// How many patterns there are, none being one of them.
pub const PATTERNS: usize = 4;

/// After so many colours with patterns they begin anew.
pub const SLOTS: usize = COLOURS.len() * PATTERNS;

/// By gang of a story: its colour and pattern, from 0; pods on their own, and who never had a place,
/// have none.
#[must_use]
pub fn slots(gangs: &[GangStory]) -> Vec<Option<usize>> {
    let mut stays: Vec<(Time, usize, Time)> = Vec::new();
    for (id, gang) in gangs.iter().enumerate() {
        let placed = gang.spans.iter().find(|span| span.pods > 0);
        if let Some(placed) = placed.filter(|_| gang.single.is_none()) {
            let last = gang.spans.last().filter(|span| span.state == State::Over);
            stays.push((
                placed.from,
                id,
                last.map_or(Time(u64::MAX), |span| span.from),
            ));
        }
    }
    stays.sort_unstable();
    let mut slots = vec![None; gangs.len()];
    let (mut free, mut taken) = (BTreeSet::new(), BinaryHeap::new());
    let mut next = 0;
    for (from, id, to) in stays {
        while let Some(Reverse((end, slot))) = taken.peek().copied()
            && end <= from
        {
            taken.pop();
            free.insert(slot);
        }
        let slot = free.pop_first().unwrap_or_else(|| {
            next += 1;
            next - 1
        });
        taken.push(Reverse((to, slot)));
        slots[id] = Some(slot % SLOTS);
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::story::{Joins, Seat, Story};
    use muster_model::GangKey;

    /// A gang of one pod on a node from one time to another.
    fn gang(story: &mut Story, line: usize, from: u64, to: Option<u64>) {
        let key = GangKey {
            name: line.to_string(),
            ..GangKey::default()
        };
        story.group(&key, 1, true, false, Time(0));
        let joins = Joins {
            line,
            key: &key,
            is_single: false,
            submitted: Time(0),
        };
        story.join(&joins, Time(0), |_| false);
        story.moved(line, Seat::Bound, Time(from), |_| true);
        if let Some(to) = to {
            story.moved(line, Seat::Ended, Time(to), |_| true);
        }
    }

    #[test]
    fn who_runs_beside_each_other_has_another_colour_and_colours_are_used_again() {
        let mut story = Story::default();
        for (line, (from, to)) in [(1, Some(5)), (2, None), (5, None), (3, Some(4))]
            .into_iter()
            .enumerate()
        {
            gang(&mut story, line, from, to);
        }
        assert_eq!(slots(&story.gangs), [Some(0), Some(1), Some(0), Some(2)]);
    }

    #[test]
    fn a_gang_keeps_its_colour_whatever_comes_later() {
        let mut story = Story::default();
        for line in 0..10 {
            gang(&mut story, line, 1 + line as u64, None);
        }
        let before = slots(&story.gangs);
        gang(&mut story, 10, 50, None);
        assert_eq!(slots(&story.gangs)[..10], before);
        assert_eq!(before[9], Some(9));
    }
}
