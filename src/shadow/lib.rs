//! A cluster and its shadow: the same pods, as the scheduler of the cluster places them, and as Muster would.
//!
//! A layer between who watches and the core ([`World::hear`]), and in place of who writes ([`World::carry_out`]): what
//! the core orders becomes news of the shadow, and nothing reaches the cluster. docs/shadow.md has the model. Pure: time
//! is an argument, nothing is read and nothing decided.

mod books;
mod course;
mod report;
#[cfg(test)]
mod tests;
mod waits;
mod world;

pub use report::{Difference, Evicted, Flow, Left, Now, Pair, Report, Size, State};
pub use waits::Waits;
pub use world::World;
