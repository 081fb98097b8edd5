//! All that may happen in small worlds: every order in which news is heard, writes are carried out, answered
//! or lost, BatchJobs follow, and end well or not.
//!
//! In every state that can be reached, no slot is promised twice, no two Schedulings hold what the other
//! waits for, and there is a way to the end: so there is neither a deadlock nor a circle without a way out.

use crate::scheduling::known::Known;
use crate::scheduling::phase::Phase;
use crate::scheduling::read::{Ask, Asked, Assumed, Bed, FINALIZER, Item, Job, Name, Order, Plan};
use crate::scheduling::{Schedulings, Want, claims};
use muster_api::crd::{
    BatchJobState, CreationRequest, ScheduledJob, ScheduledJobState, SchedulingStatus,
};
use muster_model::units::Time;
use std::collections::BTreeMap;

/// A BatchJob: claimed by a Scheduling (by its number; one that is not there has a number, too), to run on
/// slots, and what its status says.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct ModelJob {
    claim: Option<usize>,
    slots: Option<Vec<i32>>,
    told: bool,
    state: BatchJobState,
    active: Option<usize>,
    on: Vec<i32>,
}

/// Who claims a BatchJob, and on which slots it is to run.
type ModelAsked = (usize, Option<Vec<i32>>);

/// A Scheduling: what its status says of which BatchJobs have ended, whether well.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct ModelPlan {
    ended: BTreeMap<usize, bool>,
    deleted: bool,
    gone: bool,
    edited: bool,
}

/// A state: what is, and what the machine has heard of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    jobs: Vec<ModelJob>,
    plans: Vec<ModelPlan>,
    /// The slots that the Testbed shows as occupied.
    occupied: Vec<i32>,
    /// With what was sent and is thought to have happened.
    heard_jobs: Vec<(ModelJob, Option<ModelAsked>)>,
    heard_plans: Vec<ModelPlan>,
    heard_occupied: Vec<i32>,
    foreign_came: bool,
}

/// What the Schedulings of a world ask for.
#[derive(Clone)]
struct Asks {
    order: Order,
    items: Vec<(usize, Ask)>,
    /// What they ask for after an edit.
    then: Option<Vec<(usize, Ask)>>,
}

/// A world to look at all of.
struct Model {
    slots: i32,
    jobs: usize,
    plans: Vec<Asks>,
    /// News comes late and answers are lost; else the machine knows everything at once.
    late: bool,
    /// BatchJobs may fail.
    fails: bool,
    /// So many Schedulings, the first, may be deleted.
    deletes: usize,
    /// Somebody else may claim the first BatchJob once.
    foreign: bool,
}

fn any(order: Order, items: &[(usize, i32)]) -> Asks {
    let items = items.iter().map(|(job, count)| (*job, Ask::Any(*count)));
    Asks {
        order,
        items: items.collect(),
        then: None,
    }
}

fn these(order: Order, items: &[(usize, &[i32])]) -> Asks {
    let items = items
        .iter()
        .map(|(job, slots)| (*job, Ask::These(slots.to_vec())));
    Asks {
        order,
        items: items.collect(),
        then: None,
    }
}

fn job_name(number: usize) -> Name {
    Name::new("team", &format!("job-{number}"))
}

fn plan_name(number: usize) -> Name {
    Name::new("team", &format!("plan-{number}"))
}

fn number(name: &Name) -> usize {
    let (_, number) = name.name.rsplit_once('-').unwrap();
    number.parse().unwrap()
}

fn request(slots: &[i32]) -> CreationRequest {
    CreationRequest {
        replication: i32::try_from(slots.len()).unwrap(),
        testbed: "lab".to_owned(),
        slots: slots.to_vec(),
    }
}

impl Model {
    fn items(&self, plan: usize, edited: bool) -> &[(usize, Ask)] {
        let asks = &self.plans[plan];
        match &asks.then {
            Some(then) if edited => then,
            _ => &asks.items,
        }
    }

    fn first(&self) -> State {
        let jobs = vec![ModelJob::default(); self.jobs];
        let plans = vec![ModelPlan::default(); self.plans.len()];
        State {
            heard_jobs: jobs.iter().map(|job| (job.clone(), None)).collect(),
            heard_plans: plans.clone(),
            jobs,
            plans,
            ..State::default()
        }
    }

    /// What the machine knows.
    fn known(&self, state: &State) -> Known {
        let mut known = Known::default();
        let slots = (0..self.slots).map(|slot| (slot, !state.heard_occupied.contains(&slot)));
        let bed = Bed {
            slots: slots.collect(),
            ..Bed::default()
        };
        known.beds.insert("lab".to_owned(), bed);
        for (index, (job, assumed)) in state.heard_jobs.iter().enumerate() {
            let asked = |claim: Option<usize>, slots: Option<&Vec<i32>>| Asked {
                claim: claim.map(plan_name),
                request: slots.map(|slots| request(slots)),
            };
            let job = Job {
                known: asked(job.claim, job.slots.as_ref()),
                assumed: assumed.as_ref().map(|(claim, slots)| Assumed {
                    asked: asked(Some(*claim), slots.as_ref()),
                    operations: Vec::new(),
                    lost: None,
                }),
                told: job.told,
                state: job.state,
                active: job.active.map(plan_name),
                testbed: Some("lab".to_owned()),
                slots: job.on.clone(),
                ..Job::default()
            };
            known.set_job(&job_name(index), Some(job));
        }
        for (index, plan) in state.heard_plans.iter().enumerate() {
            if plan.gone {
                continue;
            }
            let ended = plan.ended.iter().map(|(job, well)| ScheduledJob {
                name: job_name(*job).name,
                state: if *well {
                    ScheduledJobState::Completed
                } else {
                    ScheduledJobState::Failed
                },
                slots: Vec::new(),
            });
            let items = self.items(index, plan.edited).iter();
            let plan = Plan {
                uid: String::new(),
                version: String::new(),
                generation: 1,
                created: None,
                terminating: plan.deleted,
                finalizers: vec![FINALIZER.to_owned()],
                testbed: "lab".to_owned(),
                order: self.plans[index].order,
                items: items
                    .map(|(job, ask)| Item {
                        name: job_name(*job).name,
                        ask: ask.clone(),
                    })
                    .collect(),
                said: Some(SchedulingStatus {
                    jobs: ended.collect(),
                    ..SchedulingStatus::default()
                }),
            };
            known.set_plan(&plan_name(index), Some(plan));
        }
        known
    }

    /// The states that may be next.
    fn next(&self, state: &State) -> Vec<State> {
        let mut next = Vec::new();
        self.writes(state, &mut next);
        self.others(state, &mut next);
        if self.late {
            Self::news(state, &mut next);
        } else {
            for one in &mut next {
                one.heard_jobs = one.jobs.iter().map(|job| (job.clone(), None)).collect();
                one.heard_plans.clone_from(&one.plans);
                one.heard_occupied.clone_from(&one.occupied);
            }
        }
        next.retain(|one| one != state);
        next
    }

    /// What the machine may write, each by itself.
    fn writes(&self, state: &State, next: &mut Vec<State>) {
        let now = Time(1_000_000);
        let mut machine = Schedulings::new();
        machine.known = self.known(state);
        for index in 0..self.jobs {
            machine.orphans.insert(job_name(index), Time::ZERO);
        }
        machine.marked.namespaces.insert("team".to_owned());
        machine.marked.beds.insert("lab".to_owned());
        machine.settle(now);
        for index in 0..self.jobs {
            let name = job_name(index);
            let (heard, assumed) = &state.heard_jobs[index];
            let wants = machine.wants.get("team");
            let want = wants.and_then(|wants| wants.get(&name));
            let starts = machine.dealt.get("lab");
            let starts = starts.and_then(|dealt| dealt.starts.get(&name));
            let asked = match (assumed, want, starts) {
                // It is sent once more.
                (Some(asked), _, _) => Some(asked.clone()),
                (None, Some(Want::Claimed(plan)), _) => Some((number(plan), None)),
                (None, Some(Want::Released), _) => None,
                (None, None, Some(slots)) => heard.claim.map(|plan| (plan, Some(slots.clone()))),
                (None, None, None) => continue,
            };
            self.write_job(state, index, asked, next);
        }
        for index in 0..self.plans.len() {
            if state.heard_plans[index] == state.plans[index] {
                self.write_plan(state, &machine.known, index, next);
            }
        }
    }

    fn write_job(
        &self,
        state: &State,
        index: usize,
        asked: Option<ModelAsked>,
        next: &mut Vec<State>,
    ) {
        let releases = asked.is_none();
        let sends_again = state.heard_jobs[index].1.is_some();
        if state.heard_jobs[index].0 == state.jobs[index] {
            let mut after = state.clone();
            let job = &mut after.jobs[index];
            job.claim = asked.as_ref().map(|(claim, _)| *claim);
            job.slots = asked.as_ref().and_then(|(_, slots)| slots.clone());
            job.told = false;
            after.heard_jobs[index] = (job.clone(), None);
            next.push(after.clone());
            if self.late && !sends_again {
                // It has happened, and the answer is lost.
                after.heard_jobs[index].clone_from(&state.heard_jobs[index]);
                after.heard_jobs[index].1.clone_from(&asked);
                next.push(after);
            }
        }
        if self.late && !sends_again && !releases {
            // It has not happened, and nobody knows.
            let mut after = state.clone();
            after.heard_jobs[index].1 = asked;
            next.push(after);
        }
    }

    /// A Scheduling says what has ended, or goes.
    fn write_plan(&self, state: &State, known: &Known, index: usize, next: &mut Vec<State>) {
        let name = plan_name(index);
        let Some(plan) = known.plans.get(&name) else {
            return;
        };
        let mut after = state.clone();
        let is = &mut after.plans[index];
        if plan.terminating {
            is.gone = known.claimed_by(&name).next().is_none();
        } else {
            let of = |job: &usize| plan.has(&job_name(*job).name);
            is.ended.retain(|job, _| of(job));
            for (job, phase) in claims::phases(known, &name, plan) {
                if let Phase::Ended { failed, .. } = phase {
                    is.ended.insert(number(&Name::new("team", &job)), !failed);
                }
            }
        }
        after.heard_plans[index] = after.plans[index].clone();
        next.push(after);
    }

    /// What others do.
    fn others(&self, state: &State, next: &mut Vec<State>) {
        for index in 0..self.jobs {
            for well in [true, false] {
                let mut after = state.clone();
                follow(&mut after.jobs[index], well || !self.fails);
                next.push(after);
            }
        }
        let mut after = state.clone();
        let running = state
            .jobs
            .iter()
            .filter(|job| job.state == BatchJobState::Running);
        after.occupied = running.flat_map(|job| job.on.clone()).collect();
        after.occupied.sort_unstable();
        next.push(after);
        for index in 0..self.plans.len() {
            let is = &state.plans[index];
            if index < self.deletes && !is.deleted {
                let mut after = state.clone();
                after.plans[index].deleted = true;
                next.push(after);
            }
            if self.plans[index].then.is_some() && !is.edited {
                let mut after = state.clone();
                after.plans[index].edited = true;
                next.push(after);
            }
        }
        if self.foreign && !state.foreign_came && state.jobs[0].claim.is_none() {
            let mut after = state.clone();
            after.foreign_came = true;
            after.jobs[0].claim = Some(99);
            after.jobs[0].told = false;
            next.push(after);
        }
    }

    fn news(state: &State, next: &mut Vec<State>) {
        for (index, job) in state.jobs.iter().enumerate() {
            if state.heard_jobs[index].0 != *job {
                let mut after = state.clone();
                after.heard_jobs[index] = (job.clone(), None);
                next.push(after);
            }
        }
        for (index, plan) in state.plans.iter().enumerate() {
            let mut after = state.clone();
            after.heard_plans[index] = plan.clone();
            next.push(after);
        }
        let mut after = state.clone();
        after.heard_occupied.clone_from(&state.occupied);
        next.push(after);
    }

    fn wants(&self, state: &State, plan: usize, job: usize) -> bool {
        let is = &state.plans[plan];
        let items = self.items(plan, is.edited);
        let listed = items.iter().any(|(item, _)| *item == job);
        listed && !is.deleted && !is.ended.contains_key(&job)
    }

    /// What holds in every state.
    fn check(&self, state: &State) {
        let mut promised: Vec<i32> = Vec::new();
        for job in &state.jobs {
            let mut mine: Vec<i32> = Vec::new();
            let ended = matches!(job.state, BatchJobState::Completed | BatchJobState::Failed);
            if let Some(slots) = job
                .slots
                .as_ref()
                .filter(|_| !ended || job.active != job.claim)
            {
                mine.extend(slots);
            }
            if matches!(job.state, BatchJobState::Submitted | BatchJobState::Running) {
                mine.extend(&job.on);
            }
            mine.sort_unstable();
            mine.dedup();
            promised.extend(mine);
        }
        let count = promised.len();
        promised.sort_unstable();
        promised.dedup();
        assert_eq!(
            promised.len(),
            count,
            "a slot is promised twice: {state:#?}"
        );
        if self.plans.iter().any(|asks| asks.then.is_some()) {
            return;
        }
        let holds_for = |holder: usize, other: usize| {
            state.jobs.iter().enumerate().any(|(index, job)| {
                job.claim == Some(holder) && job.slots.is_none() && self.wants(state, other, index)
            })
        };
        for one in 0..self.plans.len() {
            for other in 0..one {
                let each = holds_for(one, other) && holds_for(other, one);
                assert!(!each, "each holds what the other wants: {state:#?}");
            }
        }
    }

    /// Whether everything is over and given back.
    fn is_over(&self, state: &State) -> bool {
        let over = |(index, plan): (usize, &ModelPlan)| {
            let items = self.items(index, plan.edited);
            plan.gone || !plan.deleted && items.iter().all(|(job, _)| plan.ended.contains_key(job))
        };
        state.plans.iter().enumerate().all(over) && state.jobs.iter().all(|job| job.claim.is_none())
    }

    /// Looks at all states; how many there are.
    fn explore(&self) -> usize {
        let first = self.first();
        let mut numbers = BTreeMap::from([(first.clone(), 0)]);
        let mut states = vec![first];
        let mut from: Vec<Vec<usize>> = vec![Vec::new()];
        let mut at = 0;
        while let Some(state) = states.get(at).cloned() {
            self.check(&state);
            for next in self.next(&state) {
                let number = *numbers.entry(next.clone()).or_insert_with(|| {
                    states.push(next);
                    from.push(Vec::new());
                    states.len() - 1
                });
                from[number].push(at);
            }
            at += 1;
            assert!(states.len() < 400_000, "the world is not small");
        }
        // Back from where everything is over.
        let over = (0..states.len()).filter(|index| self.is_over(&states[*index]));
        let mut open: Vec<usize> = over.collect();
        let mut reached = vec![false; states.len()];
        while let Some(index) = open.pop() {
            if !std::mem::replace(&mut reached[index], true) {
                open.extend(&from[index]);
            }
        }
        let stuck = reached.iter().position(|reached| !reached);
        if let Some(stuck) = stuck {
            panic!("there is no way to the end from {:#?}", states[stuck]);
        }
        states.len()
    }
}

/// A BatchJob goes one step towards what is asked of it; one that runs ends.
fn follow(job: &mut ModelJob, well: bool) {
    use BatchJobState::{Completed, Failed, InQueue, Ready, Running, Submitted};
    job.told = true;
    if job.active.is_some() && job.active != job.claim {
        job.active = None;
        if !matches!(job.state, Completed | Failed) {
            job.state = Ready;
        }
    } else if job.claim.is_some() {
        let again = job.active.is_none();
        job.active = job.claim;
        job.state = match (&job.slots, job.state) {
            _ if again => InQueue,
            // What has ended stays so as long as the same claim counts.
            (None, ended @ (Completed | Failed)) => ended,
            (None, _) => InQueue,
            (Some(slots), Ready | InQueue) => {
                job.on.clone_from(slots);
                Submitted
            }
            (Some(_), Submitted) => Running,
            (Some(_), Running) if well => Completed,
            (Some(_), Running) => Failed,
            (Some(_), ended) => ended,
        };
    }
    if !matches!(job.state, Submitted | Running) {
        job.on.clear();
    }
}

fn model(slots: i32, jobs: usize, plans: Vec<Asks>) -> Model {
    Model {
        slots,
        jobs,
        plans,
        late: false,
        fails: false,
        deletes: 0,
        foreign: false,
    }
}

/// Two Schedulings of the same two BatchJobs, in opposite order.
fn crossed(order: Order) -> Model {
    let (first, second) = match order {
        Order::Queue => (any(order, &[(0, 1), (1, 1)]), any(order, &[(1, 1), (0, 2)])),
        Order::Strict | Order::Relaxed => (
            these(order, &[(0, &[0]), (1, &[0, 1])]),
            these(order, &[(1, &[1]), (0, &[0])]),
        ),
    };
    model(2, 2, vec![first, second])
}

#[test]
fn two_that_want_the_same_jobs_never_hold_a_part_each_and_both_end() {
    for order in [Order::Queue, Order::Strict, Order::Relaxed] {
        let mut world = crossed(order);
        world.fails = true;
        say("the same jobs", &world);
    }
}

#[test]
fn news_that_is_late_and_answers_that_are_lost_change_nothing_of_that() {
    for order in [Order::Queue, Order::Relaxed] {
        let mut world = crossed(order);
        world.late = true;
        say("the same jobs, late", &world);
    }
}

#[test]
fn slots_that_meet_are_promised_to_one_at_a_time_and_all_end() {
    let apart = |order| {
        let first = these(order, &[(0, &[0, 1]), (1, &[1])]);
        let second = these(order, &[(2, &[1])]);
        model(2, 3, vec![first, second])
    };
    say("slots that meet, strict", &apart(Order::Strict));
    say("slots that meet, relaxed", &apart(Order::Relaxed));
    let first = any(Order::Queue, &[(0, 2)]);
    let second = these(Order::Strict, &[(1, &[0])]);
    let mut world = model(2, 2, vec![first, second]);
    world.late = true;
    say("slots that meet, late", &world);
}

#[test]
fn three_in_a_ring_of_jobs_and_slots_all_end() {
    let one = |job, next, slot: i32| {
        let slots = [slot, (slot + 1) % 3];
        these(Order::Relaxed, &[(job, &slots), (next, &slots[..1])])
    };
    let ring = vec![one(0, 1, 0), one(1, 2, 1), one(2, 0, 2)];
    say("a ring of three", &model(3, 3, ring));
    let first = any(Order::Queue, &[(0, 1), (1, 3)]);
    let second = these(Order::Strict, &[(1, &[0]), (2, &[2])]);
    let third = any(Order::Queue, &[(2, 4)]);
    say(
        "three of all kinds",
        &model(4, 3, vec![first, second, third]),
    );
}

#[test]
fn deletions_at_any_time_leave_nothing_claimed() {
    let mut world = crossed(Order::Queue);
    world.deletes = 2;
    say("deletions", &world);
    let first = any(Order::Queue, &[(0, 1), (1, 1)]);
    let second = any(Order::Queue, &[(1, 1)]);
    let mut world = model(1, 2, vec![first, second]);
    world.deletes = 1;
    world.late = true;
    say("deletions, late", &world);
}

#[test]
fn a_claim_of_somebody_else_on_the_way_is_no_deadlock() {
    let mut world = crossed(Order::Queue);
    world.foreign = true;
    say("somebody else", &world);
    world = model(1, 2, vec![any(Order::Queue, &[(0, 1), (1, 1)])]);
    world.foreign = true;
    world.late = true;
    say("somebody else, late", &world);
}

#[test]
fn edits_that_make_each_want_what_the_other_has_are_no_deadlock() {
    let mut first = any(Order::Queue, &[(0, 1)]);
    first.then = Some(vec![(0, Ask::Any(1)), (1, Ask::Any(1))]);
    let mut second = any(Order::Queue, &[(1, 1)]);
    second.then = Some(vec![(1, Ask::Any(1)), (0, Ask::Any(1))]);
    let world = model(2, 2, vec![first.clone(), second.clone()]);
    say("each appends the other's", &world);
    let both = any(Order::Queue, &[(1, 1), (0, 1)]);
    let mut world = model(1, 2, vec![first.clone(), both]);
    world.late = true;
    say("one appends the other's, late", &world);
    first.then = Some(vec![(1, Ask::Any(1))]);
    let world = model(2, 2, vec![first.clone(), second]);
    say("one is taken off", &world);
    let mut world = model(1, 2, vec![first]);
    world.late = true;
    say("one is taken off, late", &world);
}

fn say(what: &str, world: &Model) {
    println!("{what}: {} states", world.explore());
}
