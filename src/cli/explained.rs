//! Why something is where it is, of whatever kind it is: for commands that have a scheduler at hand.

use super::why_target::{Target, TargetKind};
use muster_api::why::{gang_in_words, queue_in_words, testbed_in_words};
use muster_core::engine::Scheduler;
use muster_model::explanation::{Clock, GangExplanation, QueueExplanation, TestbedExplanation};
use muster_model::units::Time;
use serde::Serialize;

/// Why something is where it is.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Explanation {
    Gang(Box<GangExplanation>),
    Queue(Box<QueueExplanation>),
    Testbed(Box<TestbedExplanation>),
}

impl Explanation {
    /// Of what a scheduler knows, as of `now`, which is counted from what the clock says. `None`: there is no such thing.
    pub(super) fn of(
        scheduler: &Scheduler,
        target: &Target,
        now: Time,
        clock: Clock,
    ) -> Option<Self> {
        let namespace = target.namespace.as_deref().unwrap_or_default();
        let key = match target.kind {
            TargetKind::PodGroup => scheduler.gang_named(namespace, &target.name)?,
            TargetKind::Pod => scheduler.pod_named(namespace, &target.name)?,
            TargetKind::Queue => {
                let mut found = scheduler.explain_queue(&target.name, now)?;
                found.clock = clock;
                return Some(Self::Queue(Box::new(found)));
            }
            TargetKind::Testbed => {
                let mut found = scheduler.explain_testbed(&target.name, now)?;
                found.clock = clock;
                return Some(Self::Testbed(Box::new(found)));
            }
        };
        let mut found = scheduler.explain_gang(&key, now, u32::MAX)?;
        found.clock = clock;
        Some(Self::Gang(Box::new(found)))
    }

    /// The sentences of `muster why`.
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Gang(gang) => gang_in_words(gang),
            Self::Queue(queue) => queue_in_words(queue),
            Self::Testbed(testbed) => testbed_in_words(testbed),
        }
    }
}
