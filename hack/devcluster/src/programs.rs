//! The components and where their programs are.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

/// A component of the control plane: one process each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The store of the API server.
    Etcd,
    /// kube-apiserver.
    ApiServer,
    /// kube-controller-manager.
    ControllerManager,
    /// kube-scheduler, to compare with or to schedule other pods beside Muster.
    Scheduler,
    /// kwok, in place of every kubelet.
    Kwok,
}

impl Role {
    /// The name of the program, and of its log in [`crate::ControlPlane::dir`]
    /// (`NAME.log`).
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Kwok => "kwok",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The path of a program: from what `hack/build-control-plane` built, else from
/// `KUBEBUILDER_ASSETS`.
///
/// # Errors
/// When it is in neither.
pub fn find(name: &str) -> Result<PathBuf> {
    match folders()
        .into_iter()
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
    {
        Some(path) => Ok(path),
        None => bail!(
            "{name} is not there: run hack/build-control-plane (it needs Go), \
             or set KUBEBUILDER_ASSETS to a folder that has it"
        ),
    }
}

fn folders() -> Vec<PathBuf> {
    // Cargo sets no variable that names the target directory, so the same two
    // places are tried that hack/build-control-plane writes to.
    let target = match env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => PathBuf::from(dir),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"),
    };
    // The script writes its stamp last: without it, the folder is half built.
    let built = target.join("control-plane");
    let built = built.join("stamp").is_file().then_some(built);
    built
        .into_iter()
        .chain(env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from))
        .collect()
}
