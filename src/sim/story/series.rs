//! Values over time: kept where they change, and thinned out where they change too often.

use muster_model::units::Time;

/// Values from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// From when on.
    pub at: Time,
    /// What.
    pub values: [u64; 3],
}

/// Values over time. Of more than twice so many points as it should have, those of one stretch of
/// time are merged to the first, the last, and those with the least of the first value and the
/// most of each: so every point that is left is true, and extremes stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    points: Vec<Point>,
    should_have: usize,
    /// How long a stretch is; zero: nothing was merged.
    stretch: u64,
}

/// Points that are left of one stretch at most.
const LEFT: usize = 6;

impl Series {
    /// An empty one that should have so many points.
    #[must_use]
    pub const fn new(should_have: usize) -> Self {
        Self {
            points: Vec::new(),
            should_have,
            stretch: 0,
        }
    }

    /// The points in the order of time.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Within how many milliseconds points were merged; zero: none were.
    #[must_use]
    pub const fn stretch(&self) -> u64 {
        self.stretch
    }

    /// From now on the values are these.
    pub fn push(&mut self, point: Point) {
        match self.points.last_mut() {
            Some(last) if last.values == point.values => return,
            Some(last) if last.at == point.at => last.values = point.values,
            _ => self.points.push(point),
        }
        if self.points.len() > self.should_have.saturating_mul(2) {
            self.thin(self.should_have);
        }
    }

    /// Merges until there are at most so many, or six in all where that is less.
    pub fn thin(&mut self, most: usize) {
        let most = most.max(LEFT);
        if self.points.len() <= most {
            return;
        }
        let span = self.points.last().map_or(0, |last| last.at.0);
        if self.stretch == 0 {
            self.stretch = (span / (most as u64 / 2)).max(1);
        }
        self.merge();
        while self.points.len() > most && self.stretch <= span {
            self.stretch = self.stretch.saturating_mul(2);
            self.merge();
        }
    }

    fn merge(&mut self) {
        let stretch = self.stretch;
        let stretches = self
            .points
            .chunk_by(|a, b| a.at.0 / stretch == b.at.0 / stretch);
        self.points = stretches.flat_map(extremes).collect();
    }
}

/// The first and the last, and those with the least and the most.
fn extremes(points: &[Point]) -> Vec<Point> {
    if points.len() <= 2 {
        return points.to_vec();
    }
    let value = |index: usize, which: usize| points[index].values[which];
    let mut keep = vec![0, points.len() - 1];
    keep.extend((0..points.len()).min_by_key(|one| value(*one, 0)));
    for which in 0..3 {
        // Of equals the first.
        let most = (0..points.len()).rev().max_by_key(|one| value(*one, which));
        keep.extend(most);
    }
    keep.sort_unstable();
    keep.dedup();
    keep.into_iter().map(|index| points[index]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at: u64, value: u64) -> Point {
        Point {
            at: Time(at),
            values: [value, 0, 0],
        }
    }

    #[test]
    fn a_point_is_kept_where_something_changes_and_one_for_each_time() {
        let mut series = Series::new(100);
        for (at, value) in [(0, 1), (0, 2), (5, 2), (6, 3), (6, 4)] {
            series.push(point(at, value));
        }
        assert_eq!(series.points(), [point(0, 2), point(6, 4)]);
        assert_eq!(series.stretch(), 0);
    }

    #[test]
    fn too_many_points_are_merged_and_extremes_stay() {
        let mut series = Series::new(100);
        for at in 0..100_000 {
            let value = match at {
                50_001 => 9_999,
                70_003 => 0,
                _ => 1_000 + at % 7,
            };
            series.push(point(at, value));
        }
        assert!((50..=200).contains(&series.points().len()));
        assert!(
            (1..=100_000 / 16).contains(&series.stretch()),
            "no longer than it must be"
        );
        for truth in [point(0, 1_000), point(50_001, 9_999), point(70_003, 0)] {
            assert!(series.points().contains(&truth), "{truth:?}");
        }
        assert_eq!(
            series.points().last(),
            Some(&point(99_999, 1_000 + 99_999 % 7))
        );
        assert!(series.points().is_sorted_by_key(|one| one.at));
    }

    #[test]
    fn a_few_points_are_left_whatever_is_asked_for() {
        let mut series = Series::new(1_000);
        for at in 0..500 {
            series.push(point(at, at * 37 % 101));
        }
        series.thin(0);
        assert!(series.points().len() <= LEFT);
    }
}
