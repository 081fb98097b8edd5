//! What needs no control plane: the program from outside, its files and documents, what goes over the
//! wire, and the scenarios on virtual time.
//!
//! `cargo test --test local wire` runs one module.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[path = "../support/expect.rs"]
mod expect;
#[path = "../support/facts.rs"]
mod facts;
#[path = "../support/fake_api.rs"]
mod fake_api;
#[path = "../../examples/gang_by_permit.rs"]
mod gang_by_permit;
#[path = "../../examples/network_device.rs"]
mod network_device;
#[path = "../support/replayed.rs"]
mod replayed;
#[path = "../support/schema.rs"]
mod schema;
#[path = "../support/simulate.rs"]
mod simulate;
#[path = "../support/tables.rs"]
mod tables;

mod api_crds;
mod architecture;
mod chart;
mod check_cli;
mod commands;
mod config_commands;
mod config_docs;
mod config_file;
mod config_schema;
mod convert_cli;
mod dry_run_cli;
mod end_to_end;
mod external_flags;
mod framework;
mod left_out;
mod log_cli;
mod metrics_docs;
mod migrate;
mod plans;
mod plugin_schema;
mod plugin_simulated;
mod plugins;
mod probe_cli;
mod protobuf;
mod queue_edits;
mod queue_jobs;
mod replay;
mod scenarios;
mod simulate_cli;
mod simulate_cluster;
mod simulate_html;
mod simulate_input;
mod simulate_svg;
mod snapshot_cli;
mod whose;
mod why_cli;
mod why_json;
mod wire;
mod wire_lease;
mod wire_watch;
mod wire_why;
mod workloads;
mod written;
