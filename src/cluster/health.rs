//! Whether Muster can do its work, and if not, what is in the way.
//!
//! The watches, the access check and the lease write it; `/readyz` and the log read it.

use crate::pulse::Pulse;
use muster_api::kinds::Kind;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How the watch of one kind is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watched {
    /// The first list is not complete.
    Listing,
    /// All is known and changes come in.
    Synced,
    /// The cluster does not serve this kind.
    NotServed,
    /// Nothing that is configured looks at this kind.
    Unread,
    /// It cannot be listed or watched.
    Failing(String),
}

/// What the controllers watch beside the kinds that have a name in [`Kind`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Beside {
    /// The kind, as kubectl calls it: `jobs.batch`.
    pub name: String,
    /// Whether a cluster may do without it.
    pub optional: bool,
    /// Whether it is installed with Muster.
    pub ours: bool,
}

/// Who leads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Nobody has been asked yet.
    #[default]
    Starting,
    /// Another instance schedules; this one waits to take over.
    StandingBy,
    /// This instance schedules.
    Leading,
    /// This instance has stopped deciding.
    Stopping,
}

#[derive(Debug, Default)]
struct Inner {
    role: Role,
    kinds: BTreeMap<Kind, Watched>,
    beside: BTreeMap<Beside, Watched>,
    /// What is said of the objects of a kind that cannot be read.
    unreadable: BTreeMap<Kind, String>,
    denied: BTreeSet<String>,
    /// Rights that are missing and without which the most works.
    denied_beside: BTreeSet<String>,
    lease: Option<String>,
    /// The right to watch the lease is missing, and what that means.
    lease_unwatched: Option<&'static str>,
    holder: Option<String>,
}

/// The shared record.
#[derive(Debug)]
pub struct Health {
    /// What is watched.
    watched: &'static [Kind],
    /// The cluster may do without Muster's own kinds.
    without_ours: bool,
    inner: Mutex<Inner>,
    pulse: Pulse,
}

/// Of who watches everything.
impl Default for Health {
    fn default() -> Self {
        Self::of(&Kind::ALL)
    }
}

impl Health {
    /// Of who watches these kinds.
    #[must_use]
    pub fn of(watched: &'static [Kind]) -> Self {
        Self {
            watched,
            without_ours: false,
            inner: Mutex::default(),
            pulse: Pulse::default(),
        }
    }

    /// Of who watches everything where Muster need not be installed.
    #[must_use]
    pub fn where_not_installed() -> Self {
        Self {
            without_ours: true,
            ..Self::default()
        }
    }

    /// Whether the cluster may do without this kind.
    #[must_use]
    pub fn is_optional(&self, kind: Kind) -> bool {
        kind.is_optional() || self.without_ours && kind.is_ours()
    }

    /// What is wrong with a kind in this state.
    pub(super) fn problem(&self, kind: Kind, state: &Watched) -> Option<String> {
        wrong(state, self.is_optional(kind), kind.is_ours())
    }

    /// Whether who decides moves.
    #[must_use]
    pub const fn pulse(&self) -> &Pulse {
        &self.pulse
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets how the watch of a kind is doing.
    pub fn set_kind(&self, kind: Kind, state: Watched) {
        self.inner().kinds.insert(kind, state);
    }

    /// Sets how a watch beside those is doing.
    pub fn set_beside(&self, kind: Beside, state: Watched) {
        self.inner().beside.insert(kind, state);
    }

    /// Sets what is said of the objects of a kind that cannot be read; `None`: there is none.
    pub fn set_unreadable(&self, kind: Kind, words: Option<String>) {
        let mut inner = self.inner();
        match words {
            Some(words) => _ = inner.unreadable.insert(kind, words),
            None => _ = inner.unreadable.remove(&kind),
        }
    }

    /// What is to be known of it that keeps Muster from none of its work, one line each.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let inner = self.inner();
        let unreadable = inner.unreadable.iter();
        let lines = unreadable.map(|(kind, words)| format!("{}: {words}", kind.name()));
        let denied = inner.denied_beside.iter();
        let denied = denied.map(String::as_str).chain(inner.lease_unwatched);
        denied.map(missing).chain(lines).collect()
    }

    /// Sets which rights are missing, each as `verb resource (what does not work)`: those without which it is not
    /// ready, and the others.
    pub fn set_denied(&self, needed: BTreeSet<String>, others: BTreeSet<String>) {
        let mut inner = self.inner();
        (inner.denied, inner.denied_beside) = (needed, others);
    }

    /// Sets the name in the lease.
    pub fn set_holder(&self, holder: Option<&str>) {
        let mut inner = self.inner();
        if inner.holder.as_deref() != holder {
            inner.holder = holder.map(str::to_owned);
        }
    }

    /// The name in the lease, as it was last seen.
    #[must_use]
    pub fn holder(&self) -> Option<String> {
        self.inner().holder.clone()
    }

    /// Sets why the lease cannot be asked for.
    pub fn set_lease_problem(&self, problem: Option<String>) {
        self.inner().lease = problem;
    }

    /// Sets which right to watch the lease is missing, as [`set_denied`](Self::set_denied) has it.
    pub fn set_lease_unwatched(&self, right: Option<&'static str>) {
        self.inner().lease_unwatched = right;
    }

    /// Sets who leads.
    pub fn set_role(&self, role: Role) {
        self.inner().role = role;
    }

    /// Who leads.
    #[must_use]
    pub fn role(&self) -> Role {
        self.inner().role
    }

    /// What keeps Muster from its work, one line each; empty when it is ready. An instance that
    /// stands by is ready: it could take over.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let inner = self.inner();
        let mut problems: Vec<String> = inner.denied.iter().map(|right| missing(right)).collect();
        problems.extend(inner.lease.clone());
        match inner.role {
            Role::Starting => problems.push("starting: nobody leads yet".to_owned()),
            Role::Stopping => problems.push("stopping".to_owned()),
            Role::StandingBy => {}
            Role::Leading => {
                problems.extend(self.watched.iter().filter_map(|kind| {
                    let state = inner.kinds.get(kind).unwrap_or(&Watched::Listing);
                    self.problem(*kind, state)
                        .map(|what| format!("{}: {what}", kind.name()))
                }));
                problems.extend(inner.beside.iter().filter_map(|(kind, state)| {
                    let what = wrong(state, kind.optional, kind.ours);
                    what.map(|what| format!("{}: {what}", kind.name))
                }));
            }
        }
        problems
    }
}

fn missing(right: &str) -> String {
    format!("missing permission: {right}")
}

fn wrong(state: &Watched, optional: bool, ours: bool) -> Option<String> {
    match state {
        Watched::Synced | Watched::Unread => None,
        Watched::Listing => Some("not synced yet".to_owned()),
        Watched::NotServed if optional => None,
        Watched::NotServed if ours => Some(
            "the API server does not serve this kind: install it with `kubectl apply -f crds/`"
                .to_owned(),
        ),
        Watched::NotServed => Some("the API server does not serve this kind".to_owned()),
        Watched::Failing(message) => Some(message.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leading() -> Health {
        let health = Health::default();
        health.set_role(Role::Leading);
        for kind in Kind::ALL {
            health.set_kind(kind, Watched::Synced);
        }
        health
    }

    #[test]
    fn ready_when_every_kind_is_synced_and_nothing_is_denied() {
        assert_eq!(leading().problems(), Vec::<String>::new());
    }

    #[test]
    fn a_missing_crd_is_named_with_the_remedy() {
        let health = leading();
        health.set_kind(Kind::Queues, Watched::NotServed);
        assert_eq!(
            health.problems(),
            [
                "queues.muster.dev: the API server does not serve this kind: install it with `kubectl apply -f crds/`"
            ]
        );
    }

    #[test]
    fn a_cluster_may_do_without_optional_kinds() {
        let health = leading();
        health.set_kind(Kind::VolcanoPodGroups, Watched::NotServed);
        assert!(health.problems().is_empty());
    }

    #[test]
    fn a_cluster_without_muster_may_do_without_its_kinds() {
        let health = Health::where_not_installed();
        health.set_role(Role::Leading);
        for kind in Kind::ALL {
            let absent = kind.is_ours() || kind.is_optional();
            let state = if absent {
                Watched::NotServed
            } else {
                Watched::Synced
            };
            health.set_kind(kind, state);
        }
        assert!(health.problems().is_empty(), "{:?}", health.problems());
        health.set_kind(Kind::Pods, Watched::NotServed);
        assert_eq!(
            health.problems(),
            ["pods: the API server does not serve this kind"]
        );
    }

    #[test]
    fn what_is_watched_beside_is_said_in_the_same_words() {
        let health = leading();
        let kind = |name: &str, optional, ours| Beside {
            name: name.to_owned(),
            optional,
            ours,
        };
        let jobs = kind("jobs.batch", false, false);
        let spark = kind("sparkapplications.sparkoperator.k8s.io", true, false);
        let ours = kind("schedulings.muster.dev", false, true);
        health.set_beside(jobs.clone(), Watched::Listing);
        health.set_beside(spark.clone(), Watched::NotServed);
        health.set_beside(ours.clone(), Watched::Synced);
        assert_eq!(health.problems(), ["jobs.batch: not synced yet"]);
        health.set_beside(jobs, Watched::Synced);
        assert!(health.problems().is_empty());
        health.set_beside(spark, Watched::Failing("no permission".to_owned()));
        health.set_beside(ours, Watched::NotServed);
        assert_eq!(
            health.problems(),
            [
                "schedulings.muster.dev: the API server does not serve this kind: install it with `kubectl apply -f crds/`",
                "sparkapplications.sparkoperator.k8s.io: no permission",
            ]
        );
        health.set_role(Role::StandingBy);
        assert!(health.problems().is_empty());
    }

    #[test]
    fn a_missing_permission_is_named() {
        let health = leading();
        let other = BTreeSet::from(["patch topologies".to_owned()]);
        health.set_denied(BTreeSet::new(), other.clone());
        assert_eq!(health.problems(), [""; 0], "the most works");
        assert_eq!(health.remarks(), ["missing permission: patch topologies"]);
        let needed = BTreeSet::from(["create pods/binding".to_owned()]);
        health.set_denied(needed, other);
        assert_eq!(
            health.problems(),
            ["missing permission: create pods/binding"]
        );
    }

    #[test]
    fn one_that_stands_by_is_ready_without_having_listed_anything() {
        let health = Health::default();
        assert_eq!(health.problems(), ["starting: nobody leads yet"]);
        health.set_role(Role::StandingBy);
        assert!(health.problems().is_empty());
    }
}
