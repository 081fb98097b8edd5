//! The best layout of members on nodes, where amounts alone decide: branch and bound over classes of
//! equal members and equal nodes.
//!
//! What is searched for is the least lost opportunity, then the fewest nodes. All is in integers, and
//! what ends a search is work done, never time: the answer is the same on every machine. A search that
//! ends early has the best layout it found, and a bound that no layout is below.
//!
//! A layout is a way to choose members (where more are there than are needed, `choices`), a number of
//! nodes of each class to be opened (`cases`), and what goes to each node (`walk`). What nodes that
//! are opened leave free is fixed by the first two but for members that go to nodes in use. So cases are
//! gone through by what they lose at least (`bounds`), and the first layout that loses no more than the
//! next case is the best.

mod bounds;
mod cases;
mod choices;
mod greedy;
mod patterns;
mod problem;
mod search;
mod walk;

pub use problem::{Cost, Layout, Load, Members, Nodes, Problem, Quota};
pub use search::{Answer, Goal, solve};

/// How much work may be done still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort(u64);

impl Effort {
    /// So much of it: a unit is about a look at one class.
    #[must_use]
    pub const fn new(units: u64) -> Self {
        Self(units)
    }

    /// What is left.
    #[must_use]
    pub const fn left(self) -> u64 {
        self.0
    }

    /// Takes so much, and says whether there was enough.
    pub const fn spend(&mut self, units: u64) -> bool {
        let enough = self.0 >= units;
        self.0 = self.0.saturating_sub(units);
        enough
    }
}
