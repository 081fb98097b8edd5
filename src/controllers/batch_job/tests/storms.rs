//! Whatever happens in whatever order, it comes to rest, and what must hold holds all the way.

use super::world::{OURS, World, key, plain};
use crate::batch_job::NEEDS;
use crate::{Answer, Deed, Machine, Resource, Write};
use muster_api::crd::BatchJobState;
use muster_model::units::Millis;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Something that happens.
#[derive(Clone, Debug)]
enum Act {
    Batch(u8, bool),
    BatchGone(u8),
    Claim(u8, u8, u8),
    Release(u8),
    Ends(u8, bool),
    Runs(u8),
    Deleted(u8, u8),
    Foreign(u8, u8),
    Testbed(bool),
    Hear(u8, u8),
    List(u8),
    Due(u8),
    CarryOut(u8),
    Answer(u8, u8),
    Wait(u16),
    /// For so many rounds all is told, done and answered.
    Well(u8),
    /// A write of which nobody knew what came of it happens after all.
    Late(u8),
    Restart,
}

fn act() -> impl Strategy<Value = Act> {
    use Act::*;
    prop_oneof![
        2 => (0u8..2, any::<bool>()).prop_map(|(which, spark)| Batch(which, spark)),
        1 => (0u8..2).prop_map(BatchGone),
        6 => (0u8..2, 0u8..2, 0u8..3).prop_map(|(which, who, slots)| Claim(which, who, slots)),
        4 => (0u8..2).prop_map(Release),
        3 => (0u8..2, any::<bool>()).prop_map(|(which, well)| Ends(which, well)),
        3 => (0u8..2).prop_map(Runs),
        1 => (0u8..2, 0u8..4).prop_map(|(which, of)| Deleted(which, of)),
        1 => (0u8..2, 0u8..4).prop_map(|(which, of)| Foreign(which, of)),
        1 => any::<bool>().prop_map(Testbed),
        12 => (0u8..7, 1u8..5).prop_map(|(of, count)| Hear(of, count)),
        1 => (0u8..7).prop_map(List),
        10 => (1u8..6).prop_map(Due),
        5 => any::<u8>().prop_map(CarryOut),
        12 => (any::<u8>(), 0u8..16).prop_map(|(which, how)| Answer(which, how)),
        3 => (1u16..9_000).prop_map(Wait),
        6 => (1u8..7).prop_map(Well),
        3 => any::<u8>().prop_map(Late),
        1 => Just(Restart),
    ]
}

struct Storm {
    world: World,
    flying: Vec<(Write, Option<Answer>)>,
    /// Sent, answered by nothing, and not done so far.
    late: Vec<Write>,
    /// How many runs of each BatchJob, by its uid, have been told as ended.
    runs: BTreeMap<String, usize>,
}

fn name(which: u8) -> String {
    format!("work-{which}")
}

impl Storm {
    fn act(&mut self, act: Act) {
        let world = &mut self.world;
        match act {
            Act::Batch(which, spark) => {
                let (name, spark) = (name(which), spark && which == 1);
                let batch = key(Resource::BatchJobs, &name);
                let spec = world.objects.get(&batch).map(|one| one["spec"].clone());
                let mut now = if spark {
                    json!({"sparkApplication": {"driver": {}, "executor": {}}})
                } else {
                    plain()
                };
                for field in ["activeScheduling", "creationRequest"] {
                    let value = spec.as_ref().map(|spec| spec[field].clone());
                    if let Some(value) = value.filter(|value| !value.is_null()) {
                        now[field] = value;
                    }
                }
                world.batch(&name, now);
            }
            Act::BatchGone(which) => world.remove(&key(Resource::BatchJobs, &name(which))),
            Act::Claim(which, who, slots) => {
                if self.is_there(which) {
                    let slots: Vec<u32> = (0..u32::from(slots)).collect();
                    let world = &mut self.world;
                    world.claim(&name(which), &format!("plan-{who}"), &slots);
                }
            }
            Act::Release(which) => {
                if self.is_there(which) {
                    self.world.release(&name(which));
                }
            }
            Act::Ends(which, well) => {
                let name = name(which);
                if world.objects.contains_key(&key(Resource::Jobs, &name)) {
                    let job = &world.objects[&key(Resource::Jobs, &name)];
                    if job["status"]["conditions"].is_null() {
                        world.ends(&name, if well { "Complete" } else { "Failed" });
                    }
                }
                let spark = key(Resource::SparkApplications, &name);
                if world.objects.contains_key(&spark) {
                    let state = if well { "COMPLETED" } else { "FAILED" };
                    let state = json!({"state": state});
                    world.edit(&spark, |one| {
                        one["status"] = json!({"applicationState": state});
                    });
                }
            }
            Act::Runs(which) => {
                let name = name(which);
                if world.objects.contains_key(&key(Resource::Jobs, &name)) {
                    world.pods_run(&name, 2);
                }
            }
            Act::Deleted(which, of) => {
                let key = key(OURS[usize::from(of)], &name(which));
                if world.objects.get(&key).is_some_and(|one| !is_foreign(one)) {
                    world.remove(&key);
                }
            }
            Act::Foreign(which, of) => {
                let key = key(OURS[usize::from(of)], &name(which));
                match world.objects.get(&key) {
                    None => {
                        let meta = json!({"namespace": "team", "name": key.2});
                        world.put(key.0, json!({"metadata": meta, "spec": {}}));
                    }
                    Some(one) if is_foreign(one) => world.remove(&key),
                    Some(_) => {}
                }
            }
            Act::Testbed(there) => {
                if there {
                    world.testbed("lab", "4", "8Gi");
                } else {
                    world.remove(&(Resource::Testbeds, String::new(), "lab".to_owned()));
                }
            }
            Act::Hear(of, count) => {
                for _ in 0..count {
                    world.hear(NEEDS[usize::from(of)]);
                }
            }
            Act::List(of) => world.list(NEEDS[usize::from(of)]),
            Act::Due(most) => {
                let writes = world.machine.due(world.now, most.into());
                assert!(writes.len() <= most.into());
                self.flying
                    .extend(writes.into_iter().map(|one| (one, None)));
                let objects: BTreeSet<_> = self.flying.iter().map(|(one, _)| &one.on).collect();
                assert_eq!(objects.len(), self.flying.len(), "two writes of one object");
            }
            Act::CarryOut(which) => {
                if !self.flying.is_empty() {
                    let index = usize::from(which) % self.flying.len();
                    let (write, answer) = self.flying[index].clone();
                    let answer = answer.unwrap_or_else(|| self.carry_out(&write));
                    self.flying[index].1 = Some(answer);
                }
            }
            Act::Answer(which, how) => self.answer(which, how),
            Act::Wait(span) => world.now = world.now + Millis(span.into()),
            Act::Well(rounds) => {
                for _ in 0..rounds {
                    self.world.hear_all();
                    let now = self.world.now;
                    for write in self.world.machine.due(now, 9) {
                        let answer = self.carry_out(&write);
                        self.world.machine.answered(write.ticket, answer, now);
                    }
                }
            }
            Act::Late(which) => {
                if !self.late.is_empty() {
                    let write = self.late.remove(usize::from(which) % self.late.len());
                    self.carry_out(&write);
                }
            }
            Act::Restart => {
                for (write, answer) in std::mem::take(&mut self.flying) {
                    match answer {
                        None if write.ticket.0 % 2 == 0 => _ = self.carry_out(&write),
                        None => self.late.push(write),
                        Some(_) => {}
                    }
                }
                self.world.restart();
            }
        }
    }

    fn is_there(&self, which: u8) -> bool {
        let key = key(Resource::BatchJobs, &name(which));
        self.world.objects.contains_key(&key)
    }

    fn carry_out(&mut self, write: &Write) -> Answer {
        let there = (
            write.on.resource,
            write.on.namespace.clone(),
            write.on.name.clone(),
        );
        let before = self.world.objects.get(&there).cloned();
        if let (Deed::Delete { uid }, Some(before)) = (&write.deed, &before) {
            let same = before["metadata"]["uid"] == json!(uid);
            assert!(!same || !is_foreign(before), "not ours: {before}");
        }
        let answer = self.world.carry_out(write);
        self.check();
        answer
    }

    /// There is one application of each BatchJob at most; and no run is told twice.
    fn check(&mut self) {
        for which in 0..2 {
            let name = name(which);
            let ours = OURS
                .iter()
                .filter(|resource| **resource != Resource::PodGroups);
            let ours = ours.filter_map(|one| self.world.objects.get(&key(*one, &name)));
            // Of two BatchJobs of one name, the last one's may be there beside what is left of the first.
            let owners = ours.filter(|one| !is_foreign(one));
            let owners: Vec<&Value> = owners
                .map(|one| &one["metadata"]["ownerReferences"][0]["uid"])
                .collect();
            let each: BTreeSet<String> = owners.iter().map(ToString::to_string).collect();
            assert_eq!(owners.len(), each.len(), "two applications of {name}");
            if !self.is_there(which) {
                continue;
            }
            let status = self.world.status(&name);
            assert!(status.history.len() <= 10);
            let batch = &self.world.objects[&key(Resource::BatchJobs, &name)];
            let uid = crate::testing::text(batch, "uid");
            let told = self.runs.entry(uid).or_default();
            assert!(status.history.len() <= *told + 1, "two runs at once");
            *told = status.history.len();
        }
    }

    fn answer(&mut self, which: u8, how: u8) {
        if self.flying.is_empty() {
            return;
        }
        let (write, came) = self.flying.remove(usize::from(which) % self.flying.len());
        let until = self.world.now + Millis(700);
        let answer = match how {
            0 => {
                if came.is_none() {
                    self.late.push(write.clone());
                }
                Answer::Lost
            }
            1 => {
                came.unwrap_or_else(|| self.carry_out(&write));
                Answer::Lost
            }
            2 if came.is_none() => Answer::Refused {
                message: "no".to_owned(),
            },
            3 if came.is_none() => Answer::Throttled { until },
            4 => match came.unwrap_or_else(|| self.carry_out(&write)) {
                Answer::Done(_) => Answer::Done(None),
                other => other,
            },
            _ => came.unwrap_or_else(|| self.carry_out(&write)),
        };
        let now = self.world.now;
        self.world.machine.answered(write.ticket, answer, now);
    }

    /// Everything goes well from here on. Who is claimed and asked runs, if nobody is in the way; then all is released,
    /// and nothing stays.
    fn end(mut self) {
        for (write, answer) in std::mem::take(&mut self.flying) {
            let answer = answer.unwrap_or_else(|| self.carry_out(&write));
            let now = self.world.now;
            self.world.machine.answered(write.ticket, answer, now);
        }
        self.world.testbed("lab", "4", "8Gi");
        self.world.now = self.world.now + Millis(120_000);
        self.world.rest();
        self.check();
        for which in 0..2 {
            self.at_rest(which);
            if self.is_there(which) {
                self.world.release(&name(which));
            }
        }
        self.world.rest();
        self.check();
        for (key, one) in &self.world.objects {
            assert!(!OURS.contains(&key.0) || is_foreign(one), "left: {key:?}");
        }
        for which in (0..2).filter(|which| self.is_there(*which)) {
            let status = self.world.status(&name(which));
            assert_eq!(status.active_scheduling, None);
            let state = status.state.unwrap();
            let begun = [
                BatchJobState::InQueue,
                BatchJobState::Submitted,
                BatchJobState::Running,
            ];
            assert!(!begun.contains(&state), "{state:?}");
        }
    }

    fn at_rest(&self, which: u8) {
        let name = name(which);
        let around = OURS
            .iter()
            .filter_map(|one| self.world.objects.get(&key(*one, &name)));
        let around: Vec<&Value> = around.collect();
        let ours = around.iter().filter(|one| !is_foreign(one)).count();
        if !self.is_there(which) {
            assert_eq!(ours, 0, "left of {name}: {around:?}");
            return;
        }
        let batch = &self.world.objects[&key(Resource::BatchJobs, &name)];
        let spec = &batch["spec"];
        let status = self.world.status(&name);
        let claim = spec["activeScheduling"]["name"].as_str();
        let honoured = status.active_scheduling.map(|one| one.name);
        assert_eq!(honoured.as_deref(), claim, "{name}");
        let state = status.state.unwrap();
        let asked = claim.is_some() && !spec["creationRequest"].is_null();
        let over = matches!(state, BatchJobState::Completed | BatchJobState::Failed);
        if !asked {
            assert!(ours == 0 || over, "{name}: {state:?} {around:?}");
        } else if ours == around.len() && !over {
            assert_eq!(ours, 2, "{name}: {state:?} {around:?}");
            let begun = [BatchJobState::Submitted, BatchJobState::Running];
            assert!(begun.contains(&state), "{name}: {state:?}");
            // It runs where it is said to run.
            let job = self.world.objects.get(&key(Resource::Jobs, &name));
            let labels = job.map(|job| &job["spec"]["template"]["metadata"]["labels"]);
            if let Some(labels) = labels {
                let slots: Vec<String> = status.slots.iter().map(i32::to_string).collect();
                assert_eq!(labels["muster.dev/slots"], slots.join("_"), "{name}");
            }
        }
    }
}

fn is_foreign(object: &Value) -> bool {
    object["metadata"]["ownerReferences"].is_null()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_who_is_asked_runs_once_and_nothing_stays_of_who_is_released(
        acts in proptest::collection::vec(act(), 1..140)
    ) {
        let mut storm = Storm {
            world: World::new(),
            flying: Vec::new(),
            late: Vec::new(),
            runs: BTreeMap::new(),
        };
        for act in acts {
            storm.act(act);
        }
        storm.end();
    }
}
