//! A Kubernetes control plane on loopback, without containers: etcd,
//! kube-apiserver and, by choice, kube-controller-manager, kube-scheduler and
//! kwok (which plays the kubelets). For tests, benchmarks and playing.
//!
//! The programs are built once by `hack/build-control-plane`, never by a test.
//! Where Go is missing, `KUBEBUILDER_ASSETS` may name a folder that has them.
//! Where both are missing, [`Builder::start`] fails and says what to do: a test
//! that needs a control plane must not pass without one.
//!
//! ```no_run
//! use muster_devcluster::{ControlPlane, fake_node};
//! # fn main() -> anyhow::Result<()> {
//! let plane = ControlPlane::builder().kwok(true).controller_manager(true).start()?;
//! plane.create_nodes(100, |i| fake_node(&format!("node-{i}"), &[("cpu", "8"), ("memory", "32Gi")]))?;
//! println!("{}", plane.kubectl(&["get", "nodes"])?);
//! # Ok(()) }
//! ```
//!
//! Everything stops when the [`ControlPlane`] is dropped, and also when the
//! process that holds it is killed: each component runs under a small
//! supervisor that notices the end of its standard input.
//!
//! Only `std` threads and blocking calls here: a test may use any runtime
//! beside it. Call from `spawn_blocking` where blocking is not welcome.

mod api;
mod builder;
mod files;
mod flags;
mod home;
mod nodes;
mod options;
mod pki;
mod plane;
mod ports;
mod process;
mod programs;
mod wait;

pub use builder::Builder;
pub use nodes::fake_node;
pub use plane::ControlPlane;
pub use programs::{Role, find as find_program};
