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
mod books;
mod checks;
mod claims;
mod company;
mod hyper_nodes;
mod kept;
mod limits;
mod places;
mod roads;
mod slots;
mod spread;
mod trial;
mod volumes;

use account::Account;
use muster_model::Event;
use muster_model::Exemptions;
use muster_model::Plan;
use muster_model::units::Time;

pub use trial::Trial;

/// A plan that must not be, in words.
pub type Note = String;

/// Hears news, looks at plans.
#[derive(Debug, Default)]
pub struct Linter {
    account: Account,
    exempt: Exemptions,
    has_begun: bool,
}

impl Linter {
    /// One that holds a scheduler to all but this.
    #[must_use]
    pub fn of(exempt: Exemptions) -> Self {
        let mut account = Account::default();
        account.leave_unchecked(&exempt.unchecked);
        Self {
            account,
            exempt,
            has_begun: false,
        }
    }

    /// Takes one piece of news, before or after the scheduler does.
    pub fn hear(&mut self, event: &Event) {
        self.account.hear(event);
    }

    /// A trial of places on what is known so far; nothing that is tried is taken down here.
    #[must_use]
    pub fn trial(&self) -> Trial {
        let mut account = self.account.clone();
        if !self.has_begun {
            account.gangs.recall();
        }
        Trial::new(account, self.exempt.clone())
    }

    /// Looks at the plan that the scheduler made of all news so far, and takes its orders down as
    /// given.
    #[must_use]
    pub fn look(&mut self, plan: &Plan, now: Time) -> Vec<Note> {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.account.gangs.recall();
        }
        checks::look(&mut self.account, plan, &self.exempt, now)
    }
}

#[cfg(test)]
mod tests;
