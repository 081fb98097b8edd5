//! How many gangs waited and ran in each queue, over time.

use crate::story::{GangStory, Point, Series, State};
use muster_model::units::Time;

/// So many points a queue should have.
const POINTS: usize = 10_000;

/// A change of the counts of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    at: Time,
    queue: usize,
    waiting: i64,
    running: i64,
}

/// By queue, and last for all of them: the numbers of gangs that wait and run. `gangs` come with
/// their queues' numbers, `parents` are by queue.
pub(super) fn counts<'a>(
    gangs: impl Iterator<Item = (&'a GangStory, usize)>,
    parents: &[Option<usize>],
) -> Vec<Series> {
    let mut changes: Vec<Change> = gangs.flat_map(changes).collect();
    changes.sort_unstable();
    let all = parents.len();
    let mut series = vec![Series::new(POINTS); all + 1];
    let mut now = vec![(0_i64, 0_i64); all + 1];
    for change in changes {
        // The tree is no deeper than the core allows; a queue is not its own ancestor.
        let above = std::iter::successors(Some(change.queue), |one| parents[*one]);
        for queue in above.take(parents.len()).chain([all]) {
            let (waiting, running) = &mut now[queue];
            *waiting += change.waiting;
            *running += change.running;
            let value = |count: i64| u64::try_from(count).unwrap_or(0);
            series[queue].push(Point {
                at: change.at,
                values: [value(*waiting), value(*running), 0],
            });
        }
    }
    series
}

/// What one gang adds to the counts of its queue.
fn changes((gang, queue): (&GangStory, usize)) -> impl Iterator<Item = Change> {
    let one = |is: bool| i64::from(is);
    let mut before = (false, false);
    gang.spans.iter().filter_map(move |span| {
        let runs = span.state == State::Running;
        let now = (!runs && span.state != State::Over, runs);
        let change = Change {
            at: span.from,
            queue,
            waiting: one(now.0) - one(before.0),
            running: one(now.1) - one(before.1),
        };
        before = now;
        ((change.waiting, change.running) != (0, 0)).then_some(change)
    })
}
