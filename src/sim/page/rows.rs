//! The gangs as the page's rows, and which of them are left out where there are too many.

use crate::story::{GangStory, State};
use serde::Serialize;
use std::collections::BTreeMap;

/// So many bytes all rows and their words may have, by and large.
const MAX_BYTES: usize = 11_000_000;

/// One gang. The script takes it apart in this order.
#[derive(Debug, Serialize)]
pub(super) struct Row(
    /// Namespace and name.
    pub(super) String,
    /// 1: a pod without a PodGroup.
    pub(super) u8,
    /// The number of its queue.
    pub(super) usize,
    /// Its priority, if the scheduler ever found out.
    pub(super) Option<i32>,
    /// How many must run.
    pub(super) u32,
    /// Its pods, in all.
    pub(super) usize,
    /// The nodes they are on, or were last.
    pub(super) usize,
    /// When it was submitted, in milliseconds.
    pub(super) u64,
    /// State, beginning and pods on nodes of each span.
    pub(super) Vec<u64>,
    /// Kind, time, pods, row of the one it was for or -1, and words of each mark.
    pub(super) Vec<i64>,
    /// Why it waits at the end, by the number of the words, or -1.
    pub(super) i64,
    /// 1: more happened than is shown.
    pub(super) u8,
);

/// A gang that may have a row.
#[derive(Debug)]
pub(super) struct Candidate<'a> {
    pub(super) story: &'a GangStory,
    pub(super) name: String,
    pub(super) queue: usize,
    pub(super) nodes: usize,
    pub(super) why: Option<&'a str>,
}

impl Candidate<'_> {
    /// Those that were preempted come first, then those that never ran, then those that waited
    /// longest.
    fn importance(&self) -> (bool, bool, u64) {
        let ran = self.story.first_ran_at();
        let waited = ran.map_or(0, |at| at.since(self.story.submitted).0);
        (!self.story.marks.is_empty(), ran.is_none(), waited)
    }

    /// About how many bytes its row has.
    fn bytes(&self) -> usize {
        let digits = |number: u64| number.checked_ilog10().map_or(2, |log| log as usize + 2);
        let spans = self.story.spans.iter();
        let spans = spans.map(|span| 3 + digits(span.from.0) + digits(span.pods.into()));
        let marks = self.story.marks.iter().map(|mark| 16 + digits(mark.at.0));
        let fixed = 34 + digits(self.story.submitted.0);
        fixed + self.name.len() + spans.sum::<usize>() + marks.sum::<usize>()
    }
}

/// The rows, and what they refer to.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) rows: Vec<Row>,
    pub(super) texts: Vec<String>,
    /// By gang: its row, or -1.
    pub(super) places: Vec<i64>,
    /// How many gangs have none.
    pub(super) left_out: usize,
}

/// Makes rows of the gangs, by queue and submission; the least important are left out where they
/// are too many.
pub(super) fn rows(gangs: &[Candidate<'_>]) -> Rows {
    let mut by_importance: Vec<usize> = (0..gangs.len()).collect();
    by_importance.sort_by_key(|id| std::cmp::Reverse(gangs[*id].importance()));
    let (mut words, mut bytes) = (Words::default(), 0);
    let fits = |id: &usize| {
        let gang = &gangs[*id];
        let marks = gang.story.marks.iter().map(|mark| &*mark.text);
        let new = marks.chain(gang.why).map(|text| words.learn(text));
        bytes += gang.bytes() + new.sum::<usize>();
        bytes <= MAX_BYTES
    };
    let mut shown: Vec<usize> = by_importance.into_iter().take_while(fits).collect();
    shown.sort_by_key(|id| {
        let gang = &gangs[*id];
        (gang.queue, gang.story.submitted, *id)
    });
    let mut places = vec![-1; gangs.len()];
    for (place, id) in (0..).zip(&shown) {
        places[*id] = place;
    }
    Rows {
        rows: shown
            .iter()
            .map(|id| row(&gangs[*id], &words, &places))
            .collect(),
        texts: words.texts,
        places,
        left_out: gangs.len() - shown.len(),
    }
}

fn row(gang: &Candidate<'_>, words: &Words<'_>, places: &[i64]) -> Row {
    let story = gang.story;
    let spans = story.spans.iter();
    let spans = spans.flat_map(|span| [span.state as u64, span.from.0, span.pods.into()]);
    let marks = story.marks.iter().flat_map(|mark| {
        let by = mark.by.and_then(|id| places.get(id));
        let at = i64::try_from(mark.at.0).unwrap_or(i64::MAX);
        let text = words.number(&mark.text);
        [
            mark.kind as i64,
            at,
            mark.pods.into(),
            by.copied().unwrap_or(-1),
            text,
        ]
    });
    let waits = !matches!(story.state(), State::Running | State::Over);
    let why = gang.why.filter(|_| waits);
    Row(
        gang.name.clone(),
        u8::from(story.single.is_some()),
        gang.queue,
        story.standing.as_ref().map(|(_, priority)| *priority),
        story.min,
        story.lines.len(),
        gang.nodes,
        story.submitted.0,
        spans.collect(),
        marks.collect(),
        why.map_or(-1, |why| words.number(why)),
        u8::from(story.is_thinned()),
    )
}

/// Words that stand in the page once, however often they are said.
#[derive(Debug, Default)]
struct Words<'a> {
    numbers: BTreeMap<&'a str, i64>,
    texts: Vec<String>,
}

impl<'a> Words<'a> {
    /// Takes a text; says how many bytes that costs.
    fn learn(&mut self, text: &'a str) -> usize {
        let next = i64::try_from(self.texts.len()).unwrap_or(i64::MAX);
        if self.numbers.contains_key(text) {
            return 0;
        }
        self.numbers.insert(text, next);
        self.texts.push(text.to_owned());
        text.len() + 3
    }

    fn number(&self, text: &str) -> i64 {
        self.numbers.get(text).copied().unwrap_or(-1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::story::{Joins, Seat, Story};
    use muster_model::GangKey;
    use muster_model::units::Time;

    /// So many pods of which every tenth waits for ever.
    fn story(count: usize) -> Story {
        let mut story = Story::default();
        for line in 0..count {
            let key = GangKey {
                name: line.to_string(),
                ..GangKey::default()
            };
            let joins = Joins {
                line,
                key: &key,
                is_single: true,
                submitted: Time(0),
            };
            story.join(&joins, Time(0), |_| false);
            if !line.is_multiple_of(10) {
                story.moved(line, Seat::Bound, Time(line as u64), |_| true);
            }
        }
        story
    }

    #[test]
    fn of_too_many_gangs_those_that_started_soonest_are_left_out() {
        let story = story(2_000);
        let name = "x".repeat(10_000);
        let gangs: Vec<Candidate<'_>> = story
            .gangs
            .iter()
            .map(|story| Candidate {
                story,
                name: name.clone(),
                queue: 0,
                nodes: 1,
                why: Some("no room"),
            })
            .collect();
        let rows = rows(&gangs);
        assert!((800..1_200).contains(&rows.left_out), "{}", rows.left_out);
        let waiting = rows.rows.iter().filter(|row| row.8.len() == 3);
        assert_eq!(waiting.count(), 200, "all that wait are there");
        let soonest = rows.rows.iter().filter(|row| row.8.len() > 3);
        let soonest = soonest.map(|row| row.8[4]).min();
        assert!(soonest > Some(800), "{soonest:?}");
        assert_eq!(rows.texts, ["no room"]);
    }
}
