//! What the system knows of this process: CPU, memory, files. The names are those that programs
//! of every language use, so that what an admin has for the others serves for Muster, too.
//!
//! It is read from `/proc` by hand: what the metrics library has for it counts whole seconds of
//! CPU only, and brings five crates. Where there is no `/proc`, these metrics are absent.

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{Counter, Gauge, Result};
use std::fs;

/// Linux tells programs times in hundredths of a second (`USER_HZ`), whatever it counts in itself.
const TICKS_PER_SECOND: f64 = 100.0;

/// The metrics of this process, read when they are asked for.
#[derive(Debug)]
pub(super) struct Process {
    cpu: Counter,
    resident: Gauge,
    started: Option<Gauge>,
    open_files: Gauge,
    max_files: Gauge,
}

impl Process {
    pub(super) fn new() -> Result<Self> {
        let started = match started_at() {
            Some(seconds) => {
                let gauge = Gauge::new(
                    "process_start_time_seconds",
                    "When the process started, in seconds since 1970.",
                )?;
                gauge.set(seconds);
                Some(gauge)
            }
            None => None,
        };
        Ok(Self {
            cpu: Counter::new(
                "process_cpu_seconds_total",
                "CPU time of the process, its own and the system's for it.",
            )?,
            resident: Gauge::new(
                "process_resident_memory_bytes",
                "Memory that the process holds.",
            )?,
            started,
            open_files: Gauge::new("process_open_fds", "Open file descriptors.")?,
            max_files: Gauge::new(
                "process_max_fds",
                "How many file descriptors may be open at once.",
            )?,
        })
    }
}

impl Collector for Process {
    fn desc(&self) -> Vec<&Desc> {
        let gauges = [&self.resident, &self.open_files, &self.max_files];
        let gauges = gauges.into_iter().chain(&self.started);
        self.cpu
            .desc()
            .into_iter()
            .chain(gauges.flat_map(Collector::desc))
            .collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let mut found = Vec::new();
        if let Some(seconds) = read("stat").as_deref().and_then(cpu_seconds) {
            self.cpu.inc_by((seconds - self.cpu.get()).max(0.0));
            found.extend(self.cpu.collect());
        }
        let gauges = [
            (
                &self.resident,
                read("status").as_deref().and_then(resident_bytes),
            ),
            (&self.open_files, open_files()),
            (
                &self.max_files,
                read("limits").as_deref().and_then(max_files),
            ),
        ];
        for (gauge, value) in gauges {
            if let Some(value) = value {
                gauge.set(value);
                found.extend(gauge.collect());
            }
        }
        found.extend(self.started.iter().flat_map(Collector::collect));
        found
    }
}

fn read(file: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/self/{file}")).ok()
}

/// The field of `/proc/PID/stat` of this number, from 1 (proc(5)). The second is a name in
/// parentheses and may hold blanks; only fields after it are looked for.
fn stat_field(stat: &str, number: usize) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let field = rest.split_whitespace().nth(number.checked_sub(3)?)?;
    field.parse().ok()
}

fn cpu_seconds(stat: &str) -> Option<f64> {
    let (user, system) = (stat_field(stat, 14)?, stat_field(stat, 15)?);
    Some((user + system) / TICKS_PER_SECOND)
}

/// The first word after `label` at the beginning of a line.
fn after<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let mut lines = text.lines();
    let rest = lines.find_map(|line| line.strip_prefix(label))?;
    rest.split_whitespace().next()
}

fn resident_bytes(status: &str) -> Option<f64> {
    let kibibytes: f64 = after(status, "VmRSS:")?.parse().ok()?;
    Some(kibibytes * 1024.0)
}

/// The soft limit; none where there is no limit.
fn max_files(limits: &str) -> Option<f64> {
    after(limits, "Max open files")?.parse().ok()
}

/// How many files are open, without the one that is opened to count them.
fn open_files() -> Option<f64> {
    let count = fs::read_dir("/proc/self/fd").ok()?.count();
    Some(f64::from(u32::try_from(count).ok()?.saturating_sub(1)))
}

/// When this process started, in seconds since 1970: what its own line says is since the boot.
fn started_at() -> Option<f64> {
    let boot = fs::read_to_string("/proc/stat").ok()?;
    let boot: f64 = after(&boot, "btime")?.parse().ok()?;
    Some(boot + stat_field(&read("stat")?, 22)? / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_files_are_read_as_they_are_written() {
        let stat = "7 (a) b c) S 1 7 7 0 -1 4194304 9 0 0 0 150 50 0 0 20 0 3 0 8000 1 1 1";
        assert_eq!(cpu_seconds(stat), Some(2.0));
        assert_eq!(stat_field(stat, 22), Some(8000.0));
        assert_eq!(stat_field("7 (a) S 1", 14), None);
        assert_eq!(
            resident_bytes("Name:\ta\nVmRSS:\t   12 kB\n"),
            Some(12288.0)
        );
        let limits = "Limit  Soft  Hard\nMax open files            1024     524288   files\n";
        assert_eq!(max_files(limits), Some(1024.0));
        assert_eq!(
            max_files("Max open files  unlimited unlimited files\n"),
            None
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_knows_itself() {
        let process = Process::new().unwrap();
        let families = process.collect();
        assert_eq!(families.len(), 5);
        assert!(process.started.as_ref().unwrap().get() > 1.5e9);
        assert!(process.resident.get() > 1e6);
        assert!(process.open_files.get() >= 3.0);
        assert!(process.max_files.get() > process.open_files.get());
        let before = process.cpu.get();
        process.collect();
        assert!(process.cpu.get() >= before);
    }
}
