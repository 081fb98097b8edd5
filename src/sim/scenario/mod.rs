//! A scenario: what exists when, read from ordinary Kubernetes YAML.
//!
//! Everything that is wrong is found before anything is played, and named with file and line.

mod answers;
mod behaviour;
mod documents;
mod dumped;
mod durations;
mod edits;
mod jobs;
mod kinds;
mod lives;
mod load;
mod model;
mod path;
mod problems;
mod schema;

pub use dumped::Choices;
pub use durations::Durations;
pub use edits::refused_edit;
pub use kinds::made_pod;
pub use load::{Source, load, load_by, stamped, written};
pub use model::{
    Amount, Before, BudgetPlan, Entry, JobPlan, Needed, OnEviction, Played, PodPlan, Run, Scenario,
};
pub use problems::ScenarioError;
