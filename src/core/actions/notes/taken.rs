//! How often a gang made room for others, and for whom: so that nobody has to again and again.

use muster_model::units::{Millis, Time};

/// What counts is what happened within so long.
const WINDOW: Millis = Millis(3_600_000);
/// So often within that a gang may have to go as a whole. With the back-offs after each (10, 20, 40
/// seconds and so on) a gang would else start anew for ever without getting anywhere.
const MOST_WHOLE: usize = 4;
/// So often within that it may lose members beyond its minimum: once a minute.
const MOST_PARTS: usize = 60;

/// When a gang made room within the last hour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// When it went as a whole, and for whom: the `arrival` of that gang, which no other has.
    whole: Vec<(Time, u64)>,
    /// When it lost members beyond its minimum.
    parts: Vec<Time>,
}

impl Taken {
    /// It goes as a whole for the gang of this arrival.
    pub fn note_whole(&mut self, now: Time, arrival: u64) {
        self.whole.retain(|(at, _)| *at + WINDOW > now);
        self.whole.push((now, arrival));
    }

    /// It loses members beyond its minimum.
    pub fn note_part(&mut self, now: Time) {
        self.parts.retain(|at| *at + WINDOW > now);
        if self.parts.last() != Some(&now) {
            self.parts.push(now);
        }
    }

    /// Whether it made room so often that it is left alone; until when.
    #[must_use]
    pub fn too_often(&self, whole: bool, now: Time) -> Option<Time> {
        let nth_last = |most: usize, of: usize| of.checked_sub(most);
        let at = if whole {
            self.whole.get(nth_last(MOST_WHOLE, self.whole.len())?)?.0
        } else {
            *self.parts.get(nth_last(MOST_PARTS, self.parts.len())?)?
        };
        Some(at + WINDOW).filter(|until| *until > now)
    }

    /// Whether it went for the gang of this arrival; until when that counts.
    #[must_use]
    pub fn lately_for(&self, arrival: u64, now: Time) -> Option<Time> {
        let mut last = self.whole.iter().rev();
        let (at, _) = last.find(|(_, one)| *one == arrival)?;
        Some(*at + WINDOW).filter(|until| *until > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_four_times_within_an_hour_it_is_left_alone_until_the_first_is_an_hour_old() {
        let mut taken = Taken::default();
        for minute in 0..4 {
            assert_eq!(taken.too_often(true, Time(minute * 60_000)), None);
            taken.note_whole(Time(minute * 60_000), 7);
        }
        let now = Time(4 * 60_000);
        assert_eq!(taken.too_often(true, now), Some(Time(3_600_000)));
        assert_eq!(taken.too_often(true, Time(3_600_000)), None);
        assert_eq!(taken.too_often(false, now), None);
        assert_eq!(taken.lately_for(7, now), Some(Time(3_600_000 + 180_000)));
        assert_eq!(taken.lately_for(8, now), None);
    }
}
