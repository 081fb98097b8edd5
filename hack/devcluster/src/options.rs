//! What a control plane shall have, as data: the builder fills it in, and flags follow from it.

use std::path::PathBuf;

/// What to start. Everything optional is off.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    pub(crate) kwok: bool,
    pub(crate) controller_manager: bool,
    pub(crate) kube_scheduler: bool,
    pub(crate) upstream_pod_groups: bool,
    pub(crate) pod_groups_of_jobs: bool,
    pub(crate) node_lifecycle: bool,
    pub(crate) end_to_end: bool,
    pub(crate) audit: bool,
    pub(crate) users: Vec<(String, Vec<String>)>,
    pub(crate) api_server_flags: Vec<String>,
    pub(crate) dir: Option<PathBuf>,
}
