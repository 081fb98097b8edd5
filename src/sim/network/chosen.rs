//! What becomes of requests where somebody chooses it, and not chance: for those who try every order.

use super::{Fate, Network, Rates, Request};
use crate::random::Random;
use crate::server::Stream;
use muster_cluster::lease::election;
use muster_model::units::{Millis, Time};
use std::fmt::Debug;

/// What a process sends.
#[derive(Clone, Copy, Debug)]
pub enum Sent<'a> {
    /// About the Lease.
    Lease(&'a election::Request),
    /// Anything else.
    Other(&'a Request),
}

/// Who chooses.
pub trait Chooser: Debug + Send {
    /// What becomes of a request that is sent now.
    fn fate(&mut self, sent: Sent<'_>, now: Time) -> Fate;

    /// After how long what was sent last is carried out once more, if it is: somebody on the way has sent it twice.
    fn again(&mut self) -> Option<Millis>;

    /// How late a piece of news that is told now arrives.
    fn lag(&mut self, stream: Stream, now: Time) -> Millis;
}

impl Network {
    /// All that becomes of requests and news is chosen; so many binds may be under way at once.
    #[must_use]
    pub fn chosen(chooser: Box<dyn Chooser>, bind_slots: u64) -> Self {
        let rates = Rates {
            bind_slots,
            ..Rates::default()
        };
        let mut network = Self::faulty(rates, Random::new(0), Time(u64::MAX));
        network.chooser = Some(chooser);
        network
    }

    pub(super) fn choice(&mut self, sent: Sent<'_>, now: Time) -> Option<Fate> {
        let chooser = self.chooser.as_mut()?;
        Some(chooser.fate(sent, now))
    }

    /// After how long what was sent last is carried out once more, if it is.
    pub fn again(&mut self) -> Option<Millis> {
        self.chooser.as_mut()?.again()
    }
}
