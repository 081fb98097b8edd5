//! What is to be written now, and what an answer means.

use super::claims::Standing;
use super::read::{Asked, Assumed, FINALIZER, Job, Name, Plan};
use super::status::{Next, status};
use super::{Schedulings, Target, Want};
use crate::flights::May;
use crate::room::{Due, Room};
use crate::said;
use crate::{Answer, Deed, ObjectName, Observation, Resource, Write};
use muster_api::crd::CreationRequest;
use muster_model::units::{Millis, Time};
use serde_json::{Value, json};

/// What was sent is told within this time, or did not happen.
const TOLD: Millis = Millis(60_000);

/// What was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    Claim,
    Start,
    Release,
    /// Anything about a Scheduling.
    Scheduling,
}

/// A write of a BatchJob.
struct Patch {
    sent: Sent,
    operations: Vec<Value>,
    /// What is asked of it then; nothing of a release, which is not thought to have happened before it is told.
    asked: Option<Asked>,
}

impl Schedulings {
    /// The writes that are due and for which there is room.
    pub(super) fn deeds(&mut self, now: Time, room: &mut dyn Room) -> Vec<Write> {
        let mut due = Due::new(room);
        while !due.is_full()
            && let Some(target) = self.queue.next(due.room())
        {
            let write = match &target {
                Target::Job(name) => self.write_job(name, now),
                Target::Scheduling(name) => self.write_scheduling(name, now),
                Target::Refusal(_) => None,
            };
            due.add(write);
        }
        due.writes()
    }

    /// Whether something may be written now; else it is looked at again when it may.
    fn may(&mut self, target: &Target, now: Time) -> bool {
        match self.flights.may(target, now) {
            May::Now => true,
            // The answer marks it again.
            May::OnceAnswered => false,
            May::From(at) => {
                self.set_alarm(at, target.clone());
                false
            }
        }
    }

    fn write_job(&mut self, name: &Name, now: Time) -> Option<Write> {
        let target = Target::Job(name.clone());
        let Some(job) = self.known.jobs.get(name) else {
            self.flights.settle(&target);
            self.flights.settle(&Target::Refusal(name.clone()));
            return None;
        };
        let patch = match &job.assumed {
            Some(assumed) => {
                let lost = assumed.lost?;
                if lost + TOLD <= now {
                    self.think_undone(name);
                    return None;
                }
                self.again(name, job, assumed).or_else(|| {
                    self.set_alarm(lost + TOLD, target.clone());
                    None
                })?
            }
            None => self.wanted(name, job)?,
        };
        if !self.may(&target, now) {
            return None;
        }
        let mut job = self.known.jobs.get(name)?.clone();
        let write = Write {
            ticket: self.flights.begin(target, patch.sent),
            on: object(Resource::BatchJobs, name),
            deed: Deed::Patch {
                uid: job.uid.clone(),
                version: job.version.clone(),
                operations: patch.operations.clone(),
            },
        };
        if let Some(asked) = patch.asked
            && job.assumed.is_none()
        {
            job.assumed = Some(Assumed {
                asked,
                operations: patch.operations,
                lost: None,
            });
            self.set_job(name, Some(job));
        }
        Some(write)
    }

    /// What follows for a BatchJob from who is to claim it, and from the slots that were dealt.
    fn wanted(&self, name: &Name, job: &Job) -> Option<Patch> {
        let wants = self.wants.get(&name.namespace);
        match wants.and_then(|wants| wants.get(name)) {
            Some(Want::Released) => return release(&job.known),
            Some(Want::Claimed(scheduling)) => return Some(claim(scheduling)),
            None => {}
        }
        let claim = job.known.claim.clone()?;
        let plan = self.known.plans.get(&claim)?;
        let dealt = self.dealt.get(&plan.testbed)?;
        let slots = dealt.starts.get(name)?;
        Some(start(claim, &plan.testbed, slots))
    }

    /// What was sent once more, as long as that is what is wanted: then the answer tells whether it has happened.
    fn again(&self, name: &Name, job: &Job, assumed: &Assumed) -> Option<Patch> {
        let claim = assumed.asked.claim.as_ref()?;
        let plan = self.known.plans.get(claim)?;
        if !plan.is_bound() || !plan.has(&name.name) {
            return None;
        }
        let starts = assumed.asked.request.is_some() && job.known.claim.is_some();
        Some(Patch {
            sent: if starts { Sent::Start } else { Sent::Claim },
            operations: assumed.operations.clone(),
            asked: Some(assumed.asked.clone()),
        })
    }

    fn write_scheduling(&mut self, name: &Name, now: Time) -> Option<Write> {
        let target = Target::Scheduling(name.clone());
        let Some(plan) = self.known.plans.get(name) else {
            self.flights.settle(&target);
            return None;
        };
        let deed = match self.finalizer(name, plan) {
            Some(operations) => Deed::Patch {
                uid: plan.uid.clone(),
                version: plan.version.clone(),
                operations,
            },
            None if plan.is_bound() => {
                let operations = self.says(name, plan, now);
                if operations.is_empty() {
                    self.flights.settle(&target);
                    return None;
                }
                Deed::PatchStatus {
                    uid: plan.uid.clone(),
                    version: plan.version.clone(),
                    operations,
                }
            }
            None => return None,
        };
        if !self.may(&target, now) {
            return None;
        }
        Some(Write {
            ticket: self.flights.begin(target, Sent::Scheduling),
            on: object(Resource::Schedulings, name),
            deed,
        })
    }

    /// The finalizer comes before anything is claimed, and goes once nothing is claimed any more.
    fn finalizer(&self, name: &Name, plan: &Plan) -> Option<Vec<Value>> {
        match (plan.terminating, plan.finalizer()) {
            (false, None) if plan.finalizers.is_empty() => Some(vec![
                json!({"op": "add", "path": "/metadata/finalizers", "value": [FINALIZER]}),
            ]),
            (false, None) => Some(vec![
                json!({"op": "add", "path": "/metadata/finalizers/-", "value": FINALIZER}),
            ]),
            (true, Some(index)) if self.known.claimed_by(name).next().is_none() => {
                let path = format!("/metadata/finalizers/{index}");
                Some(vec![
                    json!({"op": "test", "path": path, "value": FINALIZER}),
                    json!({"op": "remove", "path": path}),
                ])
            }
            _ => None,
        }
    }

    fn says(&self, name: &Name, plan: &Plan, now: Time) -> Vec<Value> {
        let nothing = Standing::default();
        let dealt = self.dealt.get(&plan.testbed);
        let mut starts = dealt.iter().flat_map(|dealt| dealt.starts.keys());
        let next = Next {
            standing: self.standings.get(name).unwrap_or(&nothing),
            starts: starts.any(|job| job.namespace == name.namespace && plan.has(&job.name)),
            waits: dealt.and_then(|dealt| dealt.waits.get(name)),
        };
        let wanted = status(&self.known, name, plan, next, now);
        said::between(plan.said.as_ref(), &wanted)
    }

    /// Takes the answer to a write of this.
    pub(super) fn take(&mut self, target: &Target, sent: &Sent, answer: Answer, now: Time) {
        match target {
            Target::Job(name) => {
                self.asked(target, name, *sent, answer, now);
                self.mark_job(name);
            }
            Target::Scheduling(name) => {
                self.said(target, name, answer, now);
                self.mark_scheduling(name);
            }
            Target::Refusal(_) => {}
        }
        self.queue(target.clone());
    }

    fn asked(&mut self, target: &Target, name: &Name, sent: Sent, answer: Answer, now: Time) {
        match answer {
            Answer::Done(news) => {
                if sent == Sent::Start {
                    self.flights.settle(&Target::Refusal(name.clone()));
                }
                self.flights.settle(target);
                // Of one that is gone by now, the answer is of before.
                if let Some(Observation::BatchJob(job)) = news {
                    let known = self.known.jobs.get(name);
                    if known.is_some_and(|known| job.metadata.uid.as_ref() == Some(&known.uid)) {
                        self.job_is(&job);
                    }
                } else {
                    self.lose(target, name, now);
                }
            }
            Answer::Lost => self.lose(target, name, now),
            Answer::Throttled { until } => {
                self.think_not_done(name);
                self.flights.wait_until(target, until);
            }
            // News ends the wait.
            Answer::Conflict | Answer::NotFound | Answer::AlreadyExists => {
                self.think_not_done(name);
                self.flights.failed(target, now);
            }
            Answer::Refused { message } => {
                self.think_not_done(name);
                let job = self.known.jobs.get(name);
                let open = job.is_some_and(|job| job.assumed.is_some());
                if open || sent == Sent::Release {
                    self.flights.failed(target, now);
                }
                // It may be released at once, and is claimed anew only after a while.
                if sent != Sent::Release {
                    let refusal = Target::Refusal(name.clone());
                    let until = self.flights.failed(&refusal, now);
                    self.known.refused.insert(name.clone(), message);
                    self.set_alarm(until, refusal);
                }
            }
        }
    }

    /// Nobody knows whether it has happened.
    fn lose(&mut self, target: &Target, name: &Name, now: Time) {
        self.flights.failed(target, now);
        if let Some(job) = self.known.jobs.get_mut(name)
            && let Some(assumed) = &mut job.assumed
        {
            assumed.lost.get_or_insert(now);
        }
    }

    /// A write has not happened. An earlier one of the same that was lost may have.
    fn think_not_done(&mut self, name: &Name) {
        let job = self.known.jobs.get(name);
        let assumed = job.and_then(|job| job.assumed.as_ref());
        if assumed.is_some_and(|assumed| assumed.lost.is_none()) {
            self.think_undone(name);
        }
    }

    /// What was thought to have happened has not.
    fn think_undone(&mut self, name: &Name) {
        if let Some(mut job) = self.known.jobs.get(name).cloned() {
            job.assumed = None;
            self.set_job(name, Some(job));
        }
    }

    fn said(&mut self, target: &Target, name: &Name, answer: Answer, now: Time) {
        match answer {
            Answer::Done(Some(Observation::Scheduling(scheduling))) => {
                self.flights.settle(target);
                let known = self.known.plans.get(name);
                // Of one that is gone by now, the answer is of before.
                if known.is_some_and(|plan| scheduling.metadata.uid.as_ref() == Some(&plan.uid)) {
                    self.scheduling_is(&scheduling);
                }
            }
            Answer::Throttled { until } => self.flights.wait_until(target, until),
            Answer::Refused { .. } | Answer::Lost => {
                let plan = self.known.plans.get(name);
                if plan.is_some_and(|plan| !plan.is_bound()) {
                    self.known.not_bound.insert(name.clone());
                }
                self.flights.failed(target, now);
            }
            // News ends the wait.
            Answer::Done(_) | Answer::Conflict | Answer::NotFound | Answer::AlreadyExists => {
                self.flights.failed(target, now);
            }
        }
    }
}

fn claim(scheduling: &Name) -> Patch {
    let value = json!({"namespace": scheduling.namespace, "name": scheduling.name});
    Patch {
        sent: Sent::Claim,
        operations: vec![json!({"op": "add", "path": "/spec/activeScheduling", "value": value})],
        asked: Some(Asked {
            claim: Some(scheduling.clone()),
            request: None,
        }),
    }
}

fn start(claim: Name, testbed: &str, slots: &[i32]) -> Patch {
    let request = CreationRequest {
        replication: i32::try_from(slots.len()).unwrap_or(i32::MAX),
        testbed: testbed.to_owned(),
        slots: slots.to_vec(),
    };
    Patch {
        sent: Sent::Start,
        operations: vec![json!({"op": "add", "path": "/spec/creationRequest", "value": request})],
        asked: Some(Asked {
            claim: Some(claim),
            request: Some(request),
        }),
    }
}

/// Takes off what is asked of it.
fn release(asked: &Asked) -> Option<Patch> {
    let request = asked.request.as_ref().map(|_| "/spec/creationRequest");
    let claim = asked.claim.as_ref().map(|_| "/spec/activeScheduling");
    let paths = request.into_iter().chain(claim);
    let operations: Vec<Value> = paths
        .map(|path| json!({"op": "remove", "path": path}))
        .collect();
    (!operations.is_empty()).then_some(Patch {
        sent: Sent::Release,
        operations,
        asked: None,
    })
}

fn object(resource: Resource, name: &Name) -> ObjectName {
    ObjectName {
        resource,
        namespace: name.namespace.clone(),
        name: name.name.clone(),
    }
}
