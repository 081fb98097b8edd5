//! Drives the protocols of writes about pods: the one loop in which they meet the network.

use super::Answerers;
use super::Context;
use super::pace::{Slot, Slots};
use super::requests;
use super::send::{read_pod, write_in};
use crate::attempt::{Answer, PodRequest, Protocol, Step};
use crate::clock::wall;
use muster_model::{PodKey, Question};
use tokio::time::sleep_until;

/// What an attempt is about.
#[derive(Clone, Copy)]
pub(super) struct About<'a> {
    /// The pod.
    pub(super) pod: &'a PodKey,
    /// What it is told, if it is told anything.
    pub(super) message: &'a str,
    /// Who answers what is asked outside, where that is part of it.
    pub(super) answerers: Option<&'a Answerers>,
    /// What comes back says something of the API server.
    pub(super) paces: bool,
}

impl About<'_> {
    /// Asks outside. What is done there is a write like any other: nobody else is to lead while it may
    /// still happen, as far as that can be known from here.
    async fn ask(self, question: &Question, context: &Context) -> Answer {
        let (Some(answerers), Some(sending)) = (self.answerers, context.fence.begin()) else {
            return Answer::Lost;
        };
        let answer = answerers.ask(question, context).await;
        if !matches!(answer, muster_model::Answer::Failed { .. }) {
            sending.ended();
        }
        Answer::Outside(answer)
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
        let (sent, pod) = (clock.now(), about.pod);
        let answer = match request {
            PodRequest::Read => read_pod(context, requests::read(pod), &pod.uid).await,
            PodRequest::Ask(question) => about.ask(&question, context).await,
            PodRequest::Bind(target) => {
                let make = |encoding| requests::bind(pod, &target, encoding);
                write_in(context, make).await
            }
            PodRequest::Tell => {
                let make = |_| requests::disruption_target(pod, about.message, wall(sent));
                write_in(context, make).await
            }
            PodRequest::Delete => write_in(context, |_| requests::delete(pod)).await,
        };
        let now = clock.now();
        if about.paces {
            slots.answered(&answer, sent, now);
        }
        attempt.answered(&answer, sent, now);
    }
}
