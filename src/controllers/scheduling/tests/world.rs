//! A world of Schedulings: BatchJobs that follow what is asked of them as their machine does, and a Testbed
//! that shows who sits on its slots.

use crate::scheduling::Schedulings;
use crate::{Machine, Resource, Write, testing};
use muster_api::crd::{BatchJob, BatchJobState, Scheduling, SchedulingStatus};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

pub(super) use crate::testing::Key;

pub(super) type World = testing::World<Schedulings>;

pub(super) fn job_key(name: &str) -> Key {
    (Resource::BatchJobs, "team".to_owned(), name.to_owned())
}

pub(super) fn plan_key(name: &str) -> Key {
    (Resource::Schedulings, "team".to_owned(), name.to_owned())
}

pub(super) fn bed_key(name: &str) -> Key {
    (Resource::Testbeds, String::new(), name.to_owned())
}

/// Jobs with so many slots each.
pub(super) fn queue(jobs: &[(&str, i32)]) -> Value {
    let jobs = jobs
        .iter()
        .map(|(name, slots)| json!({"name": name, "slots": slots}));
    json!({"testbed": "lab", "queueBased": jobs.collect::<Vec<_>>()})
}

/// Jobs on given slots.
pub(super) fn slots(mode: &str, jobs: &[(&str, &[i32])]) -> Value {
    let jobs = jobs
        .iter()
        .map(|(name, slots)| json!({"name": name, "slots": slots}));
    let jobs: Vec<Value> = jobs.collect();
    json!({"testbed": "lab", "slotBased": {"mode": mode, "jobs": jobs}})
}

impl World {
    /// A Testbed with so many slots, and these BatchJobs.
    pub(super) fn with(count: i32, jobs: &[&str]) -> Self {
        let mut world = Self::made_by(Schedulings::new);
        world.bed("lab", count);
        for job in jobs {
            world.job(job);
        }
        world
    }

    pub(super) fn bed(&mut self, name: &str, count: i32) {
        let slots: Vec<Value> = (0..count).map(free_slot).collect();
        let spec = json!({"nodeLabel": "lab", "slotsPerNode": 1, "resourcesPerSlot": {"cpu": "1"}});
        let status = json!({"total": count, "slots": slots});
        let meta = json!({"name": name});
        let bed = json!({"metadata": meta, "spec": spec, "status": status});
        self.put(Resource::Testbeds, bed);
        while show_slots(self) {}
    }

    pub(super) fn job(&mut self, name: &str) {
        let meta = json!({"namespace": "team", "name": name});
        let job = json!({"metadata": meta, "spec": {"job": {}}});
        self.put(Resource::BatchJobs, job);
    }

    /// Creates a Scheduling, or edits the one of this name.
    pub(super) fn plan(&mut self, name: &str, spec: Value) {
        let key = plan_key(name);
        if self.objects.contains_key(&key) {
            self.edit(&key, |plan| plan["spec"] = spec);
            return;
        }
        let meta = json!({"namespace": "team", "name": name});
        self.put(
            Resource::Schedulings,
            json!({"metadata": meta, "spec": spec}),
        );
    }

    /// Until nothing happens any more; jobs begin, and none ends.
    pub(super) fn rest(&mut self) {
        self.rest_with(Self::follow_and_show);
    }

    /// Until nothing happens any more; jobs that run end, one after the other.
    pub(super) fn rest_and_end(&mut self) {
        self.rest_with(Self::play);
    }

    /// What is to be sent now.
    pub(super) fn due(&mut self) -> Vec<Write> {
        self.machine.due(self.now, 100)
    }

    /// A write is carried out and answered.
    pub(super) fn answer(&mut self, write: &Write) {
        let answer = self.carry_out(write);
        self.machine.answered(write.ticket, answer, self.now);
    }

    /// What is due now is carried out; how many writes that were.
    pub(super) fn machine_writes(&mut self) -> usize {
        let writes = self.due();
        for write in &writes {
            self.answer(write);
        }
        writes.len()
    }

    pub(super) fn follow_and_show(&mut self) -> bool {
        follow_all(self) | show_slots(self)
    }

    /// A pod of somebody else sits on a slot.
    pub(super) fn occupy(&mut self, slot: usize) {
        self.edit(&bed_key("lab"), |bed| {
            let slot = &mut bed["status"]["slots"][slot];
            slot["state"] = json!("Occupied");
            slot["podName"] = json!("somebody");
        });
    }

    /// It is gone.
    pub(super) fn vacate(&mut self, slot: usize) {
        self.edit(&bed_key("lab"), |bed| {
            bed["status"]["slots"][slot]["podName"] = json!(null);
        });
        show_slots(self);
    }

    /// The jobs that were asked to start, in that order.
    pub(super) fn started(&self) -> Vec<String> {
        let all = self.of(Resource::Pods);
        all.map(|(_, pod)| pod["job"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Jobs follow, slots are shown, or a job ends.
    pub(super) fn play(&mut self) -> bool {
        if self.follow_and_show() {
            return true;
        }
        let running = self.running();
        for job in running.iter().take(1) {
            self.ends(job, "Completed");
        }
        !running.is_empty()
    }

    pub(super) fn read_job(&self, name: &str) -> BatchJob {
        serde_json::from_value(self.objects[&job_key(name)].clone()).unwrap()
    }

    pub(super) fn job_names(&self) -> Vec<String> {
        let jobs = self.of(Resource::BatchJobs);
        let jobs = jobs.filter(|(key, _)| key.1 == "team");
        jobs.map(|(key, _)| key.2.clone()).collect()
    }

    pub(super) fn plan_names(&self) -> Vec<String> {
        let plans = self.of(Resource::Schedulings);
        plans.map(|(key, _)| key.2.clone()).collect()
    }

    pub(super) fn running(&self) -> Vec<String> {
        let jobs = self.job_names();
        let runs = |name: &String| {
            let status = self.read_job(name).status;
            status.is_some_and(|status| status.state == Some(BatchJobState::Running))
        };
        jobs.into_iter().filter(runs).collect()
    }

    pub(super) fn ends(&mut self, job: &str, how: &str) {
        self.edit(&job_key(job), |job| {
            job["status"]["state"] = json!(how);
            job["status"]["completedAt"] = json!("2026-01-01T01:00:00Z");
        });
    }

    pub(super) fn claim_of(&self, job: &str) -> Option<String> {
        let claim = self.read_job(job).spec.active_scheduling;
        claim.map(|claim| claim.name)
    }

    pub(super) fn slots_of(&self, job: &str) -> Option<Vec<i32>> {
        let request = self.read_job(job).spec.creation_request;
        request.map(|request| request.slots)
    }

    pub(super) fn status(&self, plan: &str) -> SchedulingStatus {
        let object = self.objects[&plan_key(plan)].clone();
        let plan: Scheduling = serde_json::from_value(object).unwrap();
        plan.status.unwrap_or_default()
    }

    /// Its state and its jobs in short: `Confirmation: a Submitted [0, 1], b InQueue`.
    pub(super) fn says(&self, plan: &str) -> String {
        let status = self.status(plan);
        let jobs = status.jobs.iter().map(|job| {
            let slots = format!(" {:?}", job.slots);
            let slots = if job.slots.is_empty() { "" } else { &slots };
            format!("{} {:?}{slots}", job.name, job.state)
        });
        let jobs: Vec<String> = jobs.collect();
        format!(
            "{:?}: {}",
            status.state.unwrap_or_default(),
            jobs.join(", ")
        )
    }

    /// Status, reason and message of the condition Accepted.
    pub(super) fn accepted(&self, plan: &str) -> String {
        let status = self.status(plan);
        let one = &status.conditions[0];
        format!("{} {}: {}", one.status, one.reason, one.message)
    }

    /// No slot is promised to two, and nobody is asked to start for nobody.
    pub(super) fn check(&self) {
        let mut promised: BTreeMap<(String, i32), String> = BTreeMap::new();
        for name in self.job_names() {
            let job = self.read_job(&name);
            for slot in takes(&job) {
                let before = promised.insert(slot.clone(), name.clone());
                assert_eq!(before, None, "slot {slot:?} is promised to {name}, too");
            }
        }
    }
}

/// The slots that a BatchJob may have pods on.
fn takes(job: &BatchJob) -> BTreeSet<(String, i32)> {
    let status = job.status.clone().unwrap_or_default();
    let ended = matches!(
        status.state,
        Some(BatchJobState::Completed | BatchJobState::Failed)
    ) && status.active_scheduling == job.spec.active_scheduling;
    let request = job.spec.creation_request.iter().filter(|_| !ended);
    let asked = request.flat_map(|one| one.slots.iter().map(|slot| (one.testbed.clone(), *slot)));
    let there = matches!(
        status.state,
        Some(BatchJobState::Submitted | BatchJobState::Running)
    );
    let testbed = status.testbed.iter().filter(|_| there);
    let there = testbed.flat_map(|bed| status.slots.iter().map(|slot| (bed.clone(), *slot)));
    asked.chain(there).collect()
}

/// All BatchJobs follow what is asked of them. Whether something changed.
pub(super) fn follow_all(world: &mut World) -> bool {
    let jobs = world.job_names();
    let changed = jobs.iter().filter(|name| follow(world, name)).count();
    changed > 0
}

/// A BatchJob goes one step towards what is asked of it.
pub(super) fn follow(world: &mut World, name: &str) -> bool {
    let job = world.read_job(name);
    let before = job.status.clone().unwrap_or_default();
    let mut status = before.clone();
    let mut starts = false;
    let state = status.state.unwrap_or_default();
    let claim = &job.spec.active_scheduling;
    status.observed_generation = job.metadata.generation;
    if status.active_scheduling != *claim && status.active_scheduling.is_some() {
        // What runs is removed; what has ended stays as it is.
        if !matches!(state, BatchJobState::Completed | BatchJobState::Failed) {
            status.state = Some(BatchJobState::Ready);
        }
        status.active_scheduling = None;
    } else if claim.is_some() {
        status.active_scheduling.clone_from(claim);
        let again = status.active_scheduling != before.active_scheduling;
        match &job.spec.creation_request {
            _ if again => status.state = Some(BatchJobState::InQueue),
            // What has ended stays so as long as the same claim counts.
            None if matches!(state, BatchJobState::Completed | BatchJobState::Failed) => {}
            None => status.state = Some(BatchJobState::InQueue),
            Some(request) => match state {
                BatchJobState::Ready | BatchJobState::InQueue => {
                    status.state = Some(BatchJobState::Submitted);
                    status.testbed = Some(request.testbed.clone());
                    status.slots.clone_from(&request.slots);
                    status.completed_at = None;
                    starts = true;
                }
                BatchJobState::Submitted => status.state = Some(BatchJobState::Running),
                BatchJobState::Running | BatchJobState::Completed | BatchJobState::Failed => {}
            },
        }
    }
    if status == before {
        return false;
    }
    if starts {
        let count = world.of(Resource::Pods).count();
        let meta = json!({"namespace": "team", "name": format!("run-{count:05}")});
        world.put(Resource::Pods, json!({"metadata": meta, "job": name}));
    }
    world.edit(&job_key(name), |job| {
        job["status"] = serde_json::to_value(&status).unwrap();
    });
    true
}

fn free_slot(position: i32) -> Value {
    json!({
        "position": position, "nodeName": "node", "nodeId": "1", "nodePosition": position,
        "ghost": format!("ghost-{position}"), "state": "Free",
    })
}

/// The Testbeds show who sits on their slots. Whether something changed.
pub(super) fn show_slots(world: &mut World) -> bool {
    let mut taken = BTreeSet::new();
    for name in world.running() {
        let status = world.read_job(&name).status.unwrap_or_default();
        let bed = status.testbed.unwrap_or_default();
        taken.extend(status.slots.into_iter().map(|slot| (bed.clone(), slot)));
    }
    let beds = world.of(Resource::Testbeds);
    let beds: Vec<Key> = beds.map(|(key, _)| key.clone()).collect();
    let mut changed = false;
    for bed in beds {
        let mut shown = world.objects[&bed].clone();
        for slot in shown["status"]["slots"].as_array_mut().unwrap() {
            let position = i32::try_from(slot["position"].as_i64().unwrap()).unwrap();
            let guest = taken.contains(&(bed.2.clone(), position));
            // A pod of somebody else stays.
            if slot["podName"].is_null() {
                slot["state"] = json!(if guest { "Occupied" } else { "Free" });
            }
        }
        if shown != world.objects[&bed] {
            world.edit(&bed, |one| *one = shown);
            changed = true;
        }
    }
    changed
}
