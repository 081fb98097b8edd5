//! `muster crds`: prints the manifests of Muster's kinds, for `kubectl apply -f -`.

use super::print;
use muster_api::crd;
use std::process::ExitCode;

/// Prints all manifests, one YAML document each.
pub(super) fn run() -> ExitCode {
    let manifests = match crd::manifests() {
        Ok(manifests) => manifests,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let documents: Vec<String> = manifests.into_iter().map(|(_, yaml)| yaml).collect();
    print(&documents.join("---\n"))
}
