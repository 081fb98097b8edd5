//! The directories of one control plane.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result};
use tempfile::TempDir;

/// Memory-backed where it exists: etcd writes much and its data is worth nothing.
const MEMORY: &str = "/dev/shm";

/// Where logs, keys and kubeconfigs are, and the store's data.
#[derive(Debug)]
pub(crate) struct Home {
    dir: PathBuf,
    /// Removed at the end; none when the caller named the directory.
    temporary: Option<TempDir>,
    data: TempDir,
}

impl Home {
    pub(crate) fn create(dir: Option<&Path>) -> Result<Self> {
        let mut name = tempfile::Builder::new();
        name.prefix("muster-devcluster-");
        let data = if Path::new(MEMORY).is_dir() {
            name.tempdir_in(MEMORY)
        } else {
            name.tempdir()
        }
        .context("cannot make a directory for etcd's data")?;
        let (dir, temporary) = match dir {
            Some(dir) => {
                fs::create_dir_all(dir)
                    .with_context(|| format!("cannot make {}", dir.display()))?;
                (dir.canonicalize()?, None)
            }
            None => {
                let temporary = name
                    .tempdir()
                    .context("cannot make a temporary directory")?;
                (temporary.path().to_owned(), Some(temporary))
            }
        };
        Ok(Self {
            dir,
            temporary,
            data,
        })
    }

    /// Leaves the logs where they are at the end: they explain a failure.
    pub(crate) fn keep(&mut self) {
        if let Some(dir) = self.temporary.take() {
            let _ = dir.keep(); // the path is known already
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.data.path().to_owned()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if thread::panicking() && self.temporary.is_some() {
            self.keep();
            eprintln!(
                "the logs of the control plane are in {}",
                self.dir.display()
            );
        }
    }
}
