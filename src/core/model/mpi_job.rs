//! An MPIJob, as far as it says when its launcher is made.

/// An MPIJob of mpi-operator. Its PodGroup has its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct MpiJobSpec {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// How many workers have to run before its launcher is made; `None`: it is made with them.
    pub workers_first: Option<u32>,
}
