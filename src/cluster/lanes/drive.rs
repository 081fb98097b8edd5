//! Drives the protocols of writes about pods: the one loop in which they meet the network.

use super::Context;
use super::requests::{self, Made};
use super::send::{read_pod, write_in};
use crate::cluster::attempt::{PodRequest, Protocol, Step};
use crate::cluster::clock::wall;
use crate::cluster::encoding::Encoding;
use crate::core::model::PodKey;
use crate::core::units::Time;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
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

/// How many requests may be on the wire at once.
#[derive(Clone)]
pub(super) struct Slots(Arc<Semaphore>);

/// One of them; free again when it is dropped.
pub(super) type Slot = OwnedSemaphorePermit;

impl Slots {
    pub(super) fn new(count: usize) -> Self {
        Self(Arc::new(Semaphore::new(count.max(1))))
    }

    /// A slot, once one is free.
    pub(super) async fn take(&self) -> Option<Slot> {
        // It is never closed.
        Arc::clone(&self.0).acquire_owned().await.ok()
    }

    /// Whether nobody else knows of these.
    pub(super) fn are_unused(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

/// Carries an attempt to its end. While it waits for its next try, others use its slot.
pub(super) async fn drive<P: Protocol>(
    context: &Context,
    about: About<'_>,
    mut attempt: P,
    slots: &Slots,
    mut slot: Option<Slot>,
) -> P::Outcome {
    let clock = context.clock;
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
            slot = slots.take().await;
        }
        let make = |encoding| about.make(&request, clock.now(), encoding);
        let answer = match request {
            PodRequest::Read => {
                read_pod(&context.client, make(Encoding::Json), &about.pod.uid).await
            }
            _ => write_in(context, make).await,
        };
        attempt.answered(&answer, clock.now());
    }
}
