//! The scheduler under test as a child process.

use super::Error;
use std::fs;
use std::io;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::time::sleep;

/// How long it may take to end when asked to.
const END_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A running scheduler. It does not outlive this value.
pub(super) struct Subject {
    command: String,
    child: Child,
}

impl Subject {
    /// Starts a command line of `sh`. Its output goes to our standard error.
    pub(super) fn start(command: &str) -> Result<Self, Error> {
        let child = Command::new("sh")
            // In place of the shell, so that the process is the scheduler itself.
            .args(["-c", &format!("exec {command}")])
            .stdin(Stdio::null())
            .stdout(io::stderr())
            .spawn();
        let child = child.map_err(|cause| Error::Start {
            command: command.to_owned(),
            cause,
        })?;
        Ok(Self {
            command: command.to_owned(),
            child,
        })
    }

    /// Whether it still runs.
    pub(super) fn check(&mut self) -> Result<(), Error> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(Error::Ended {
                command: self.command.clone(),
                status: status.to_string(),
            }),
            Err(error) => Err(Error::Ended {
                command: self.command.clone(),
                status: error.to_string(),
            }),
        }
    }

    /// The most memory it ever had resident, where `/proc` tells.
    pub(super) fn peak_resident_bytes(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        peak_resident_bytes(&status)
    }

    /// Asks it to end (SIGTERM), and ends it if it does not.
    pub(super) async fn stop(mut self) {
        let pid = self.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &pid]).status();
        let looks = END_WITHIN.as_millis() / LOOK_EVERY.as_millis();
        for _ in 0..looks {
            if asked.is_err() || !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            sleep(LOOK_EVERY).await;
        }
        tracing::warn!(
            command = self.command,
            "did not end within {} s: killed",
            END_WITHIN.as_secs()
        );
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        // Both fail only when it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn peak_resident_bytes(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peak_memory_is_read_from_the_status_of_the_process() {
        let status = "Name:\tmuster\nVmHWM:\t   81920 kB\nVmRSS:\t 1 kB\n";
        assert_eq!(peak_resident_bytes(status), Some(80 << 20));
        assert_eq!(peak_resident_bytes("Name:\tx\n"), None);
    }

    #[test]
    fn a_scheduler_that_ends_by_itself_is_noticed() {
        let mut subject = Subject::start("sh -c 'exit 3'").unwrap();
        let _ = subject.child.wait();
        let error = subject.check().unwrap_err().to_string();
        assert!(error.contains("exit status: 3"), "{error}");
    }
}
