//! A linter of plans: what must hold of every plan, checked by code of its own.
//!
//! It hears the same news as the scheduler and keeps its own account of nodes, pods and gangs,
//! in the words of the outside: names and uids, no ids, none of the state's sums. So a mistake
//! would have to be made twice to go unnoticed. It runs in tests, in the simulator after every
//! cycle, and live in debug builds; it changes nothing, and costs what the news and the plan
//! weigh.
//!
//! docs/architecture.md lists the invariants; each is a check in `checks.rs`.

mod account;
mod advised;
mod allowed;
mod asked;
mod checks;
mod company;
mod gangs;
mod hyper_nodes;
mod kept;
mod places;
mod roads;
mod spread;
mod volumes;

use super::engine::Plan;
use super::framework::{Profile, Profiles};
use super::model::Event;
use super::plugins::registry::{leaves_uneven, overcommits, takes_unfit_nodes};
use super::units::Time;
use account::Account;

/// A plan that must not be, in words.
pub type Note = String;

/// Hears news, looks at plans.
#[derive(Debug, Default)]
pub struct Linter {
    account: Account,
    allowed: Allowed,
}

/// What is allowed because nothing is configured that looks at it.
#[derive(Clone, Copy, Debug, Default)]
struct Allowed {
    /// A node may get more than it offers.
    overcommit: bool,
    /// Pods may be spread less evenly than they ask for.
    uneven: bool,
    /// A pod may get a node that its fields rule out.
    unfit: bool,
}

impl Linter {
    /// One that holds a scheduler with these profiles to all that they look at.
    #[must_use]
    pub fn of(profiles: Profiles<'_>) -> Self {
        let of_any = |broken: fn(&Profile) -> bool| profiles.iter().any(broken);
        let mut account = Account::default();
        account.leave_unchecked(profiles.unchecked());
        let allowed = Allowed {
            overcommit: of_any(overcommits),
            uneven: of_any(leaves_uneven),
            unfit: of_any(takes_unfit_nodes),
        };
        Self { account, allowed }
    }

    /// Takes one piece of news, before or after the scheduler does.
    pub fn hear(&mut self, event: &Event) {
        self.account.hear(event);
    }

    /// Looks at the plan that the scheduler made of all news so far, and takes its orders down as
    /// given.
    #[must_use]
    pub fn look(&mut self, plan: &Plan, now: Time) -> Vec<Note> {
        checks::look(&mut self.account, plan, self.allowed, now)
    }
}

#[cfg(test)]
mod tests;
