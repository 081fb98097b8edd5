//! Muster on a real kube-apiserver, with etcd, the controller manager and kwok's kubelets.
//!
//! `cargo test --test live smoke` runs one module. Needs what `hack/build-control-plane` builds.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "../support/admin.rs"]
mod admin;
#[path = "../support/audit.rs"]
mod audit;
#[path = "../support/expect.rs"]
mod expect;
#[path = "../support/facts.rs"]
mod facts;
#[path = "../../examples/gang_by_permit.rs"]
mod gang_by_permit;
#[path = "../support/json_only.rs"]
mod json_only;
#[path = "../support/live.rs"]
mod live;
#[path = "../../examples/network_device.rs"]
mod network_device;
#[path = "../support/process.rs"]
mod process;
#[path = "../support/tables.rs"]
mod tables;

mod admission;
mod bench;
mod chart;
mod deploy;
mod deployed;
mod dry_run;
mod examples;
mod external;
mod failover;
mod flink;
mod kubeflow;
mod operators;
mod outage;
mod page;
mod playground;
mod plugins;
mod preemption;
mod processes;
mod profiler;
mod programs;
mod promises;
mod protobuf;
mod queue_jobs;
mod recorded;
mod scenarios;
mod scheduling;
mod served;
mod slots_docs;
mod smoke;
mod snapshots;
mod spark;
mod tenants;
mod testbed;
mod top;
mod training_runs;
mod unreadable;
mod upstream;
mod upstream_jobs;
mod whose;
mod why;
mod words;
