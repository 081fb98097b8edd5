//! Waiting for something to become true, with a limit.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

const PAUSE: Duration = Duration::from_millis(20);

/// Polls until `check` says true. An error of `check` ends the waiting.
#[expect(
    clippy::disallowed_methods,
    reason = "waits for other processes, in real time"
)]
pub(crate) fn until(
    what: &str,
    limit: Duration,
    mut check: impl FnMut() -> Result<bool>,
) -> Result<()> {
    let start = Instant::now();
    while !check()? {
        if start.elapsed() > limit {
            bail!("{what}: not within {} s", limit.as_secs());
        }
        sleep(PAUSE);
    }
    Ok(())
}
