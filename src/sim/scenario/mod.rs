//! A scenario: what exists when, as read from files.

mod model;

pub use model::{Entry, JobPlan, Object, OnEviction, PodPlan, Run, Scenario};
