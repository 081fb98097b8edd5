//! Pods of their own in queues, and who is evicted for whom.

use super::*;
use muster_model::EvictCause;

/// A story with a queue beside `default`; both may hold as much as they like.
pub(super) fn story() -> Story {
    let mut story = Story::new();
    for name in ["default", "other"] {
        story.tell(Event::is(QueueSpec {
            name: name.into(),
            uid: name.into(),
            over_share: 1_000_000,
            excess_budget: Some(u64::MAX),
            ..QueueSpec::default()
        }));
    }
    story
}

/// A pod of its own that runs.
pub(super) struct Job<'a> {
    pub(super) name: &'a str,
    pub(super) queue: &'a str,
    pub(super) cpus: i64,
    pub(super) priority: i32,
    pub(super) lifetime: Option<u64>,
}

pub(super) const fn job<'a>(name: &'a str, queue: &'a str, cpus: i64, priority: i32) -> Job<'a> {
    Job {
        name,
        queue,
        cpus,
        priority,
        lifetime: None,
    }
}

impl Story {
    pub(super) fn job(&mut self, job: &Job<'_>) -> PodKey {
        self.submit(PodSpec {
            queue: Some(job.queue.to_owned()),
            priority: Some(job.priority),
            lifetime: job.lifetime.map(Millis),
            created: self.now,
            ..pod(job.name, None, job.cpus)
        })
    }

    /// Whom a cycle evicts.
    pub(super) fn evicted(&mut self) -> Vec<String> {
        let plan = self.later(0);
        let evicted = plan.effects.iter().filter_map(|effect| match effect {
            Effect::Evict(order) => {
                assert_eq!(order.cause, EvictCause::Preemption);
                assert!(order.beneficiary.is_some(), "it is said for whom");
                Some(order.pod.name.clone())
            }
            _ => None,
        });
        evicted.collect()
    }

    pub(super) fn gone(&mut self, name: &str) {
        let key = self.key(name);
        self.tell(Event::EvictResult(key.clone(), EvictOutcome::Accepted));
        self.tell(Event::Gone(ObjectKey::Pod(key)));
    }

    pub(super) fn key(&self, name: &str) -> PodKey {
        let mut pods = self.scheduler.state().pods();
        let found = pods.find(|(_, pod)| pod.key.name == name);
        found.unwrap().1.key.clone()
    }
}
