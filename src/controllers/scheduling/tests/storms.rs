//! Whatever happens in whatever order, it comes to rest, and what must hold holds all the way.

use super::world::{World, bed_key, follow, job_key, plan_key, queue, show_slots, slots};
use crate::{Answer, Machine, Resource, Write};
use muster_api::crd::SchedulingState;
use muster_model::units::Millis;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Something that happens.
#[derive(Clone, Debug)]
enum Act {
    /// A Scheduling is made, or edited: of which mode, and its jobs with their slots.
    Plan(u8, u8, Vec<(u8, u8)>),
    PlanDeleted(u8),
    JobMade(u8),
    JobGone(u8),
    /// Somebody else writes into a BatchJob.
    Touched(u8),
    /// Somebody else claims a BatchJob, or takes its claim away.
    Claimed(u8, u8),
    BedIs(u8),
    BedGone,
    Follows(u8),
    Ends(u8, bool),
    Shows,
    Hear(u8, u8),
    List(u8),
    Due(u8),
    /// A write happens; its answer comes later.
    CarryOut(u8),
    Answer(u8, u8),
    Twice(u8),
    Wait(u16),
    /// All is heard, all that is due happens and is answered, and some BatchJobs follow.
    Round(u8),
    Restart,
}

const JOBS: u8 = 5;
const PLANS: u8 = 4;

fn act() -> impl Strategy<Value = Act> {
    use Act::*;
    let items = proptest::collection::vec((0..JOBS + 1, any::<u8>()), 1..4);
    prop_oneof![
        4 => (0..PLANS, 0u8..3, items).prop_map(|(plan, mode, items)| Plan(plan, mode, items)),
        1 => (0..PLANS).prop_map(PlanDeleted),
        1 => (0..JOBS + 1).prop_map(JobMade),
        1 => (0..JOBS).prop_map(JobGone),
        1 => (0..JOBS).prop_map(Touched),
        1 => (0..JOBS, 0..PLANS + 2).prop_map(|(job, plan)| Claimed(job, plan)),
        1 => (1u8..5).prop_map(BedIs),
        1 => Just(BedGone),
        12 => (0..JOBS).prop_map(Follows),
        5 => (any::<u8>(), any::<bool>()).prop_map(|(which, well)| Ends(which, well)),
        5 => Just(Shows),
        12 => (0u8..3, 1u8..5).prop_map(|(of, count)| Hear(of, count)),
        1 => (0u8..3).prop_map(List),
        12 => (1u8..6).prop_map(Due),
        6 => any::<u8>().prop_map(CarryOut),
        12 => (any::<u8>(), 0u8..16).prop_map(|(which, how)| Answer(which, how)),
        1 => any::<u8>().prop_map(Twice),
        4 => (1u16..3_000).prop_map(Wait),
        10 => any::<u8>().prop_map(Round),
        1 => Just(Restart),
    ]
}

const RESOURCES: [Resource; 3] = [
    Resource::Schedulings,
    Resource::BatchJobs,
    Resource::Testbeds,
];

struct Storm {
    world: World,
    /// Sent and not answered; with the answer that is on its way.
    flying: Vec<(Write, Option<Answer>)>,
    answered: Vec<Write>,
}

fn job(number: u8) -> String {
    format!("job-{number}")
}

fn plan(number: u8) -> String {
    format!("plan-{number}")
}

/// What a Scheduling asks for; every job once.
fn spec(mode: u8, items: &[(u8, u8)]) -> Value {
    let mut seen = BTreeSet::new();
    let items = items.iter().filter(|(number, _)| seen.insert(*number));
    let names: Vec<(String, u8)> = items.map(|(number, of)| (job(*number), *of)).collect();
    if mode == 0 {
        let jobs = names.iter();
        let jobs = jobs.map(|(name, of)| (name.as_str(), i32::from(of % 3) + 1));
        return queue(&jobs.collect::<Vec<_>>());
    }
    let on = names.iter().map(|(_, of)| {
        let first = i32::from(of % 4);
        let count = i32::from(of / 4 % 2) + 1;
        (first..first + count).collect::<Vec<i32>>()
    });
    let on: Vec<Vec<i32>> = on.collect();
    let jobs = names.iter().zip(&on);
    let jobs = jobs.map(|((name, _), on)| (name.as_str(), on.as_slice()));
    let mode = if mode == 1 { "strict" } else { "relaxed" };
    slots(mode, &jobs.collect::<Vec<_>>())
}

impl Storm {
    fn new() -> Self {
        let jobs: Vec<String> = (0..JOBS).map(job).collect();
        let jobs: Vec<&str> = jobs.iter().map(String::as_str).collect();
        Self {
            world: World::with(4, &jobs),
            flying: Vec::new(),
            answered: Vec::new(),
        }
    }

    fn act(&mut self, act: Act) {
        let world = &mut self.world;
        match act {
            Act::Plan(number, mode, items) => world.plan(&plan(number), spec(mode, &items)),
            Act::PlanDeleted(number) => world.delete(&plan_key(&plan(number))),
            Act::JobMade(number) => {
                if !world.objects.contains_key(&job_key(&job(number))) {
                    world.job(&job(number));
                }
            }
            Act::JobGone(number) => world.remove(&job_key(&job(number))),
            Act::Touched(number) => self.touch(number, |job| {
                let count = job["spec"]["job"]["count"].as_u64().unwrap_or(0);
                job["spec"]["job"]["count"] = json!(count + 1);
            }),
            Act::Claimed(number, by) => self.touch(number, |job| {
                let spec = job["spec"].as_object_mut().unwrap();
                spec.remove("creationRequest");
                if by > PLANS {
                    spec.remove("activeScheduling");
                } else {
                    let claim = json!({"namespace": "team", "name": plan(by)});
                    spec.insert("activeScheduling".to_owned(), claim);
                }
            }),
            Act::BedIs(count) => world.bed("lab", count.into()),
            Act::BedGone => world.remove(&bed_key("lab")),
            Act::Follows(number) => {
                if world.objects.contains_key(&job_key(&job(number))) {
                    follow(world, &job(number));
                }
            }
            Act::Ends(which, well) => {
                let running = world.running();
                if let Some(job) = running.get(usize::from(which) % running.len().max(1)) {
                    world.ends(job, if well { "Completed" } else { "Failed" });
                }
            }
            Act::Shows => _ = show_slots(world),
            Act::Hear(of, count) => {
                for _ in 0..count {
                    world.hear(RESOURCES[usize::from(of)]);
                }
            }
            Act::List(of) => world.list(RESOURCES[usize::from(of)]),
            Act::Due(most) => {
                let writes = world.machine.due(world.now, most.into());
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
            Act::Twice(which) => {
                let count = self.answered.len().max(1);
                if let Some(write) = self.answered.get(usize::from(which) % count) {
                    let answer = Answer::Conflict;
                    world.machine.answered(write.ticket, answer, world.now);
                }
            }
            Act::Wait(span) => world.now = world.now + Millis(span.into()),
            Act::Round(which) => {
                world.hear_all();
                for write in world.due() {
                    if self.flying.iter().all(|(other, _)| other.on != write.on) {
                        world.answer(&write);
                        world.check();
                    }
                }
                for number in (0..JOBS).filter(|number| which & (1 << number) != 0) {
                    if world.objects.contains_key(&job_key(&job(number))) {
                        follow(world, &job(number));
                    }
                }
            }
            Act::Restart => {
                // What was sent may have happened.
                for (write, answer) in std::mem::take(&mut self.flying) {
                    if answer.is_none() && write.ticket.0 % 2 == 0 {
                        self.carry_out(&write);
                    }
                }
                self.answered.clear();
                self.world.restart();
            }
        }
    }

    fn touch(&mut self, number: u8, change: impl FnOnce(&mut Value)) {
        let key = job_key(&job(number));
        if self.world.objects.contains_key(&key) {
            self.world.edit(&key, change);
        }
    }

    fn carry_out(&mut self, write: &Write) -> Answer {
        let answer = self.world.carry_out(write);
        self.world.check();
        answer
    }

    fn answer(&mut self, which: u8, how: u8) {
        if self.flying.is_empty() {
            return;
        }
        let (write, came) = self.flying.remove(usize::from(which) % self.flying.len());
        let until = self.world.now + Millis(700);
        let answer = match how {
            0 => Answer::Lost,
            1 => {
                came.unwrap_or_else(|| self.carry_out(&write));
                Answer::Lost
            }
            // What happened is not refused.
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
        self.answered.push(write);
    }

    /// Everything goes well from here on: then every Scheduling that can end has ended, and no claim is left but
    /// of what runs for ever; nobody who waits for somebody's help holds anything.
    fn end(mut self) {
        for (write, answer) in std::mem::take(&mut self.flying) {
            let answer = answer.unwrap_or_else(|| self.carry_out(&write));
            let now = self.world.now;
            self.world.machine.answered(write.ticket, answer, now);
        }
        let world = &mut self.world;
        world.bed("lab", 6);
        for number in 0..JOBS {
            if !world.objects.contains_key(&job_key(&job(number))) {
                world.job(&job(number));
            }
        }
        world.now = world.now + Millis(120_000);
        world.rest_and_end();
        world.check();
        for name in world.job_names() {
            assert_eq!(world.claim_of(&name), None, "{name} is still claimed");
        }
        let last = job(JOBS);
        let missing = !world.objects.contains_key(&job_key(&last));
        for name in world.plan_names() {
            let status = world.status(&name);
            let key = plan_key(&name);
            let meta = &world.objects[&key]["metadata"];
            assert!(meta["deletionTimestamp"].is_null(), "{name} is still there");
            assert_eq!(status.observed_generation, meta["generation"].as_i64());
            let lacks = missing && status.jobs.iter().any(|one| one.name == last);
            let ended = matches!(
                status.state,
                Some(SchedulingState::Completed | SchedulingState::Failed)
            );
            assert_eq!(ended, !lacks, "{name}: {status:#?}");
            assert_eq!(status.completed_at.is_some(), ended);
        }
        let count = world.written.len();
        world.restart();
        world.rest_and_end();
        assert_eq!(world.written.len(), count, "at rest nothing is written");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_it_comes_to_rest_with_everything_ended_and_given_back(
        acts in proptest::collection::vec(act(), 1..160)
    ) {
        let mut storm = Storm::new();
        for number in 0..PLANS {
            let items = [(number, number), (number + 1, number * 3)];
            storm.world.plan(&plan(number), spec(number % 3, &items));
        }
        for act in acts {
            storm.act(act);
        }
        storm.end();
    }
}
