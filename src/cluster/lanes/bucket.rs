//! A token bucket: so many writes a second, with a burst.

use std::time::Duration;
use tokio::time::Instant;

/// Allows `per_second` writes on average and `burst` at once.
#[derive(Debug)]
pub(super) struct Bucket {
    per_second: u32,
    burst: u32,
    /// When the bucket, emptied by what was taken, would have been exactly empty.
    empty_at: Instant,
}

impl Bucket {
    /// A full bucket. Both numbers are at least one.
    #[must_use]
    pub(super) fn new(per_second: u32, burst: u32, now: Instant) -> Self {
        let (per_second, burst) = (per_second.max(1), burst.max(1));
        let full = Duration::from_secs(1).saturating_mul(burst) / per_second;
        Self {
            per_second,
            burst,
            empty_at: now.checked_sub(full).unwrap_or(now),
        }
    }

    /// Takes one token, or says when there will be one.
    pub(super) fn take(&mut self, now: Instant) -> Result<(), Instant> {
        let token = Duration::from_secs(1) / self.per_second;
        let full = token.saturating_mul(self.burst);
        let floor = now.checked_sub(full).unwrap_or(self.empty_at);
        let next = self.empty_at.max(floor) + token;
        if next > now {
            return Err(next);
        }
        self.empty_at = next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(bucket: &mut Bucket, now: Instant) -> u32 {
        let mut taken = 0;
        while bucket.take(now).is_ok() {
            taken += 1;
        }
        taken
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_and_then_the_rate() {
        let start = Instant::now();
        let mut bucket = Bucket::new(10, 5, start);
        assert_eq!(taken(&mut bucket, start), 5);
        let later = start + Duration::from_millis(300);
        assert_eq!(taken(&mut bucket, later), 3);
        assert_eq!(bucket.take(later), Err(later + Duration::from_millis(100)));
    }

    #[tokio::test(start_paused = true)]
    async fn rest_saves_no_more_than_a_burst() {
        let start = Instant::now();
        let mut bucket = Bucket::new(10, 5, start);
        assert_eq!(taken(&mut bucket, start + Duration::from_secs(3600)), 5);
    }
}
