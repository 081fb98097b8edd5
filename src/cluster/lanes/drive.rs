//! Drives the protocols of writes about pods: the one loop in which they meet the network.

use super::Context;
use super::pace::{Slot, Slots};
use super::requests::{self, Made};
use super::send::{read_pod, write_in};
use crate::cluster::attempt::{PodRequest, Protocol, Step};
use crate::cluster::clock::wall;
use crate::cluster::encoding::Encoding;
use crate::core::model::PodKey;
use crate::core::units::Time;
use tokio::time::sleep_until;

/// What an attempt is about.
#[derive(Clone, Copy)]
pub(super) struct About<'a> {
    /// The pod.
    pub(super) pod: &'a PodKey,
    /// What it is told, if it is told anything.
    pub(super) message: &'a str,
}

impl About<'_> {
    /// The request that an attempt wants to be sent.
    pub(super) fn make(self, request: &PodRequest, now: Time, encoding: Encoding) -> Made {
        match request {
            PodRequest::Bind(node) => requests::bind(self.pod, node, encoding),
            PodRequest::Tell => requests::disruption_target(self.pod, self.message, wall(now)),
            PodRequest::Delete => requests::delete(self.pod),
            PodRequest::Read => requests::read(self.pod),
        }
    }
}

/// Carries an attempt to its end. While it waits for its next try, others use its slot.
pub(super) async fn drive<P: Protocol>(
    context: &Context,
    about: About<'_>,
    mut attempt: P,
    slots: &Slots,
    slot: Slot,
) -> P::Outcome {
    let clock = context.clock;
    let mut slot = Some(slot);
    loop {
        let request = match attempt.next(clock.now()) {
            Step::Done(outcome) => return outcome,
            Step::WaitUntil(time) => {
                slot = None;
                sleep_until(clock.instant(time)).await;
                continue;
            }
            Step::Send(request) => request,
        };
        if slot.is_none() {
            slot = Some(slots.take().await);
        }
        let sent = clock.now();
        let make = |encoding| about.make(&request, sent, encoding);
        let answer = match request {
            PodRequest::Read => {
                read_pod(&context.client, make(Encoding::Json), &about.pod.uid).await
            }
            _ => write_in(context, make).await,
        };
        let now = clock.now();
        slots.answered(&answer, sent, now);
        attempt.answered(&answer, now);
    }
}
