//! Where a record is written, for the commands that write one.

use anyhow::Context;
use muster_cluster::lease::Identity;
use muster_config::SchedulerConfiguration;
use muster_model::units::{Quantity, Time};
use muster_record::{MIN_LIMIT, Storage};
use muster_sim::recording::Recording;
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;

/// How much records take if nobody says it.
const LIMIT: &str = "4Gi";

/// Whether there is a record, and how large it may be.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct Record {
    /// Folder for a record of all that the scheduler hears and decides, for `muster replay`; it is made if it is not there
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// All records in that folder take no more than this, and the oldest are deleted for it
    #[arg(long, value_name = "SIZE", value_parser = limit, default_value = LIMIT)]
    record_limit: u64,
}

fn limit(text: &str) -> Result<u64, String> {
    let bytes = Quantity::parse(text).ok().map(Quantity::value);
    let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok());
    bytes.filter(|bytes| *bytes >= MIN_LIMIT).ok_or_else(|| {
        format!("{text:?} is no amount of bytes such as 500Mi or {LIMIT}, of {MIN_LIMIT} at least")
    })
}

impl Record {
    /// Where to write, if anything is.
    fn storage(&self) -> Option<Storage> {
        let folder = self.record.clone()?;
        let limit = self.record_limit;
        Some(Storage { folder, limit })
    }

    /// Whether something can be written there.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let Some(folder) = &self.record else {
            return Ok(());
        };
        try_out(folder).with_context(|| format!("--record {}", folder.display()))
    }

    /// A record of this process on a cluster.
    pub(super) fn of_cluster(
        &self,
        configuration: &SchedulerConfiguration,
        identity: &Identity,
    ) -> Option<muster_live::Recording> {
        Some(muster_live::Recording {
            storage: self.storage()?,
            instance: host_of(identity.name()),
            configuration: written(configuration),
            counts: Arc::default(),
        })
    }

    /// A record of a scenario that begins then.
    pub(super) fn of_scenario(
        &self,
        begin: Time,
        configuration: &SchedulerConfiguration,
    ) -> Option<Recording> {
        let storage = self.storage()?;
        Some(Recording::new(storage, begin, written(configuration)))
    }
}

/// A configuration as a file says it.
fn written(configuration: &SchedulerConfiguration) -> Option<Value> {
    serde_json::to_value(configuration).ok()
}

/// The pod or host that the name of a process begins with, as a part of a file's name.
fn host_of(instance: &str) -> String {
    let host = instance.split('_').next().unwrap_or_default();
    let allowed = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' {
            c
        } else {
            '-'
        }
    };
    host.chars().take(64).map(allowed).collect()
}

fn try_out(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let file = folder.join(format!(".tried-by-{}", process::id()));
    File::create(&file)?;
    fs::remove_file(&file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_an_amount_of_bytes_and_not_too_small() {
        assert_eq!(limit("500Mi"), Ok(500 << 20));
        assert_eq!(limit(LIMIT), Ok(4 << 30));
        assert_eq!(limit("1Mi"), Ok(MIN_LIMIT));
        for wrong in ["", "much", "-4Gi", "1000Ki", "10"] {
            let said = limit(wrong).unwrap_err();
            assert!(said.contains("1048576 at least"), "{said}");
        }
    }

    #[test]
    fn a_folder_is_made_and_what_is_none_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let record = |path: &str| Record {
            record: Some(folder.path().join(path)),
            record_limit: MIN_LIMIT,
        };
        record("a/b").check().unwrap();
        assert!(folder.path().join("a/b").is_dir());
        fs::write(folder.path().join("file"), "").unwrap();
        let said = format!("{:#}", record("file").check().unwrap_err());
        assert!(said.starts_with("--record "), "{said}");
        assert!(Record::default().check().is_ok());
    }
}
