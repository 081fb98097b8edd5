//! A component as a process that cannot outlive us.
//!
//! It runs under a shell script (supervise.sh) that holds its process id, takes
//! orders on standard input and kills it when that input ends. Nothing but a
//! POSIX shell is needed, whatever program it is, and no code runs in us when
//! we are killed ourselves.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context, Result, bail};

const SUPERVISOR: &str = include_str!("supervise.sh");

/// How much of the end of a log an error quotes.
const LOG_TAIL_BYTES: u64 = 2_000;

/// What to run; kept so that it can be started again.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) name: &'static str,
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    /// Where its log and its process id go.
    pub(crate) dir: PathBuf,
    /// A directory that goes with the program when we are gone.
    pub(crate) cleanup: Option<PathBuf>,
}

impl Task {
    fn log(&self) -> PathBuf {
        self.dir.join(format!("{}.log", self.name))
    }

    fn pid_file(&self) -> PathBuf {
        self.dir.join(format!("{}.pid", self.name))
    }

    /// The last lines of its log, to explain a failure.
    pub(crate) fn log_tail(&self) -> String {
        let read = || -> std::io::Result<String> {
            let mut file = File::open(self.log())?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(LOG_TAIL_BYTES)))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        read().unwrap_or_else(|error| format!("(no log: {error})"))
    }
}

/// A running [`Task`]. Dropping it stops it.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) task: Task,
    supervisor: Child,
    orders: Option<ChildStdin>,
}

impl Process {
    pub(crate) fn start(task: Task) -> Result<Self> {
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(task.log())
            .with_context(|| format!("cannot write {}", task.log().display()))?;
        let mut supervisor = Command::new("sh")
            .args(["-c", SUPERVISOR, "supervise"])
            .arg(task.pid_file())
            .arg(task.cleanup.as_deref().unwrap_or(Path::new("")))
            .arg(&task.program)
            .args(&task.args)
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            // Out of our process group: a Ctrl-C, or a timeout that kills the
            // whole group, must not take the supervisor before it has cleaned up.
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {} (is there a sh?)", task.name))?;
        let orders = supervisor.stdin.take();
        Ok(Self {
            task,
            supervisor,
            orders,
        })
    }

    /// Whether it has ended, by itself or by us.
    pub(crate) fn has_ended(&mut self) -> bool {
        // Not being able to ask means there is nothing to ask any more.
        !matches!(self.supervisor.try_wait(), Ok(None))
    }

    /// Fails with the end of its log if it has ended.
    pub(crate) fn check(&mut self) -> Result<()> {
        if self.has_ended() {
            bail!(
                "{} ended; the end of its log:\n{}",
                self.task.name,
                self.task.log_tail()
            );
        }
        Ok(())
    }

    /// The id of the program's own process.
    pub(crate) fn pid(&self) -> Option<u32> {
        fs::read_to_string(self.task.pid_file())
            .ok()?
            .trim()
            .parse()
            .ok()
    }

    pub(crate) fn pause(&mut self) -> Result<()> {
        self.order("pause")
    }

    pub(crate) fn resume(&mut self) -> Result<()> {
        self.order("resume")
    }

    /// Kills the program and waits until it is gone. Its data stays.
    pub(crate) fn kill(&mut self) -> Result<()> {
        if self.has_ended() {
            return Ok(());
        }
        self.order("kill")?;
        self.supervisor.wait()?;
        Ok(())
    }

    fn order(&mut self, order: &str) -> Result<()> {
        let Some(orders) = &mut self.orders else {
            bail!("{} is being stopped", self.task.name)
        };
        writeln!(orders, "{order}")
            .with_context(|| format!("{} is not running: cannot {order} it", self.task.name))
    }

    /// Asks it to end, without waiting: several may end side by side.
    pub(crate) fn begin_stop(&mut self) {
        self.orders = None;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.begin_stop();
        // Waiting fails only when it has been waited for.
        let _ = self.supervisor.wait();
    }
}
