//! A scenario: what exists when, read from ordinary Kubernetes YAML.
//!
//! Everything that is wrong is found before anything is played, and named with file and line.

mod answers;
mod behaviour;
mod documents;
mod edits;
mod jobs;
mod kinds;
mod lives;
mod load;
mod model;
mod path;
mod problems;
mod schema;

pub use kinds::made_pod;
pub use load::{Source, load, stamped};
pub use model::{
    Amount, BudgetPlan, Entry, JobPlan, Needed, OnEviction, Played, PodPlan, Run, Scenario,
};
pub use problems::ScenarioError;
