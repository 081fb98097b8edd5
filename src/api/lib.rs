//! Kubernetes objects in, core types out: the only place that knows both worlds.
//!
//! `slim` decodes, `crd` defines our own kinds, `convert` translates objects into the core's
//! model, `status` translates the core's answers back and reads what an object says already, of which
//! `said` is what is kept. No I/O happens here, and nothing fails on what an object says: what cannot be honoured is named on
//! its spec. `slots` reads what a Testbed asks for and what a pod claims of it, `slices` makes Testbeds whole whose slots
//! are in several objects, `written` reads what specs of ours have in common. `creation` does of a pod what the API
//! server does. `yaml` and `duration` read what people write in files. `remote` has the messages of plugins in other processes. `why` has the core's explanations as
//! JSON and in words. `snapshot` has what is read of a whole cluster, in one file.

pub mod condition;
pub mod conventions;
pub mod convert;
pub mod coscheduling;
pub mod crd;
pub mod creation;
pub mod duration;
pub mod kinds;
pub mod mpi_job;
pub mod names;
pub mod protobuf;
pub mod ranks;
pub mod remote;
pub mod requests;
pub mod said;
pub mod slices;
pub mod slim;
pub mod slots;
pub mod snapshot;
pub mod status;
pub mod topologies;
pub mod upstream;
mod version;
pub mod volcano;
pub mod why;
mod written;
pub mod yaml;

pub use convert::{Ignored, Reading};
