//! The queues' values over time, within bounds.

use crate::report::thousandths;
use crate::story::{Point, Series, Story};
use serde::Serialize;

/// So many queues have curves.
const MAX_CURVES: usize = 1_000;
/// So many points all curves have together.
const MAX_POINTS: usize = 120_000;

/// Values over time, in columns.
#[derive(Debug, Default, Serialize)]
pub(super) struct Curves {
    /// When the books changed, and to which usage, fair share and flow.
    t: Vec<u64>,
    u: Vec<u64>,
    s: Vec<u64>,
    f: Vec<u64>,
    /// When the counts changed, and how many gangs waited and ran then.
    c: Vec<u64>,
    w: Vec<u64>,
    r: Vec<u64>,
}

/// Makes curves within their bounds.
#[derive(Debug)]
pub(super) struct AllCurves {
    /// Points that one curve may have.
    points: usize,
    /// By the queue's number: whether it has curves.
    shown: Vec<bool>,
    /// Within how many milliseconds changes were merged.
    pub(super) merged: u64,
}

impl AllCurves {
    pub(super) fn new(story: &Story, counts: &[Series], names: &[String]) -> Self {
        let most = |number: &usize| {
            let books = story.books.queues.get(&names[*number]);
            let points = books.map_or(&[][..], Series::points).iter();
            let busy = counts[*number].points().len();
            (points.map(|one| one.values[0]).max(), busy)
        };
        // Where there are too many, those that used the most have curves.
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by_cached_key(|number| std::cmp::Reverse(most(number)));
        let mut shown = vec![false; names.len()];
        for number in order.iter().take(MAX_CURVES) {
            shown[*number] = true;
        }
        // Two for each queue, and two for all together.
        let curves = 2 * (order.len().min(MAX_CURVES) + 1);
        Self {
            points: MAX_POINTS / curves,
            shown,
            merged: 0,
        }
    }

    pub(super) fn left_out(&self) -> usize {
        self.shown.iter().filter(|shown| !**shown).count()
    }

    pub(super) fn of_queue(
        &mut self,
        books: Option<&Series>,
        number: usize,
        counts: &[Series],
    ) -> Option<Curves> {
        let none = Series::new(0);
        let books = books.unwrap_or(&none);
        self.shown[number].then(|| self.of(books, counts.get(number)))
    }

    pub(super) fn of(&mut self, books: &Series, counts: Option<&Series>) -> Curves {
        let books = self.thinned(books);
        let counts = counts.map(|counts| self.thinned(counts));
        let counts = counts.as_ref().map_or(&[][..], Series::points);
        let column =
            |points: &[Point], which: usize| points.iter().map(|one| one.values[which]).collect();
        let worth = |which: usize| {
            let points = books.points().iter();
            points.map(|one| thousandths(one.values[which])).collect()
        };
        Curves {
            t: times(books.points()),
            u: worth(0),
            s: worth(1),
            f: worth(2),
            c: times(counts),
            w: column(counts, 0),
            r: column(counts, 1),
        }
    }

    fn thinned(&mut self, series: &Series) -> Series {
        let mut series = series.clone();
        series.thin(self.points);
        self.merged = self.merged.max(series.stretch());
        series
    }
}

fn times(points: &[Point]) -> Vec<u64> {
    points.iter().map(|one| one.at.0).collect()
}
