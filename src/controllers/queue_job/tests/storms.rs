//! Whatever happens in whatever order, it comes to rest, and what must hold holds all the way.

use super::world::{Key, World, key, over_quota, task};
use crate::queue_job::asked::Asked;
use crate::queue_job::{NEEDS, round};
use crate::{Answer, Deed, Machine, Resource, Write, ranges, testing};
use muster_api::crd::{QueueJob, QueueJobStatus};
use muster_model::units::Millis;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Something that happens.
#[derive(Clone, Debug)]
enum Act {
    /// A QueueJob is made or edited: its minimum, the replicas of its tasks, their template, its limit.
    Job(u8, u8, (u8, u8), bool, u8),
    JobGone(u8),
    Phase(u8, u8),
    /// All pods that are there run, as the most of them do most of the time.
    Run,
    PodGone(u8),
    /// A pod is told to go, and goes later.
    Going(u8),
    SpecGone(u8),
    Foreign(u8, u8),
    Quota(u8),
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
    let job = (0u8..2, 0u8..6, (0u8..4, 0u8..3), any::<bool>(), 1u8..6);
    prop_oneof![
        4 => job.prop_map(|(which, min, tasks, new, limit)| Job(which, min, tasks, new, limit)),
        1 => (0u8..2).prop_map(JobGone),
        7 => (any::<u8>(), 0u8..4).prop_map(|(pod, phase)| Phase(pod, phase)),
        4 => Just(Run),
        2 => any::<u8>().prop_map(PodGone),
        2 => any::<u8>().prop_map(Going),
        1 => (0u8..2).prop_map(SpecGone),
        1 => (0u8..2, 0u8..4).prop_map(|(which, of)| Foreign(which, of)),
        1 => (0u8..9).prop_map(Quota),
        8 => (0u8..3, 1u8..5).prop_map(|(of, count)| Hear(of, count)),
        1 => (0u8..3).prop_map(List),
        9 => (1u8..6).prop_map(Due),
        5 => any::<u8>().prop_map(CarryOut),
        10 => (any::<u8>(), 0u8..16).prop_map(|(which, how)| Answer(which, how)),
        3 => (1u16..25_000).prop_map(Wait),
        8 => (1u8..7).prop_map(Well),
        3 => any::<u8>().prop_map(Late),
        1 => Just(Restart),
    ]
}

/// What is known of the QueueJob of a uid.
#[derive(Default)]
struct Known {
    last: QueueJobStatus,
    /// Pods that were made to fail.
    failed: BTreeSet<String>,
    /// The most pods that it ever asked for.
    most: usize,
}

struct Storm {
    world: World,
    flying: Vec<(Write, Option<Answer>)>,
    /// Sent, answered by nothing, and not done so far.
    late: Vec<Write>,
    quota: usize,
    known: BTreeMap<String, Known>,
    /// The uids of what nobody here made.
    foreign: BTreeSet<String>,
}

fn name(which: u8) -> String {
    format!("job-{which}")
}

fn owner(object: &Value) -> &Value {
    &object["metadata"]["ownerReferences"][0]["uid"]
}

fn is_going(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

fn phase(pod: &Value) -> &str {
    pod["status"]["phase"].as_str().unwrap_or("Pending")
}

impl Storm {
    fn new() -> Self {
        Self {
            world: World::new(),
            flying: Vec::new(),
            late: Vec::new(),
            quota: 20,
            known: BTreeMap::new(),
            foreign: BTreeSet::new(),
        }
    }

    /// A pod that was made for a QueueJob.
    fn pod(&self, which: u8) -> Option<Key> {
        let pods = self.world.of(Resource::Pods);
        let ours: Vec<&Key> = pods
            .filter(|(_, pod)| !owner(pod).is_null())
            .map(|(key, _)| key)
            .collect();
        let index = usize::from(which) % ours.len().max(1);
        ours.get(index).map(|key| (*key).clone())
    }

    fn act(&mut self, act: Act) {
        let world = &mut self.world;
        match act {
            Act::Job(which, min, (first, second), new, limit) => {
                let total = i32::from(first) + i32::from(second);
                let mut tasks = json!([task("a", first.into()), task("b", second.into())]);
                if new {
                    tasks[0]["template"]["spec"]["containers"][0]["name"] = json!("new");
                }
                let mut spec = json!({"taskSpecs": tasks, "backoffLimit": limit});
                if i32::from(min) <= total {
                    spec["schedSpec"] = json!({"minAvailable": min});
                }
                let name = name(which);
                world.job(&name, spec);
                let uid = testing::text(&world.objects[&key(Resource::QueueJobs, &name)], "uid");
                let known = self.known.entry(uid).or_default();
                known.most = known.most.max(usize::try_from(total).unwrap());
            }
            Act::JobGone(which) => world.remove(&key(Resource::QueueJobs, &name(which))),
            Act::Phase(which, to) => {
                if let Some(key) = self.pod(which) {
                    self.turn(
                        &key,
                        ["Pending", "Running", "Succeeded", "Failed"][usize::from(to)],
                    );
                }
            }
            Act::Run => {
                let pods: Vec<Key> = (0..20).filter_map(|which| self.pod(which)).collect();
                for pod in pods {
                    if phase(&self.world.objects[&pod]) == "Pending" {
                        self.turn(&pod, "Running");
                    }
                }
            }
            Act::PodGone(which) => {
                if let Some(key) = self.pod(which) {
                    self.world.remove(&key);
                }
            }
            Act::Going(which) => {
                if let Some(key) = self.pod(which) {
                    self.world.edit(&key, |pod| {
                        pod["metadata"]["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
                    });
                }
            }
            Act::SpecGone(which) => {
                let key = key(Resource::SchedulingSpecs, &name(which));
                let ours = world
                    .objects
                    .get(&key)
                    .is_some_and(|one| !owner(one).is_null());
                if ours {
                    world.remove(&key);
                }
            }
            Act::Foreign(which, of) => self.foreign(which, of),
            Act::Quota(most) => self.quota = most.into(),
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

    /// A pod gets into this phase, unless it has ended.
    fn turn(&mut self, pod: &Key, to: &str) {
        let object = &self.world.objects[pod];
        if ["Succeeded", "Failed"].contains(&phase(object)) {
            return;
        }
        if to == "Failed" {
            let job = owner(object).as_str().unwrap_or_default().to_owned();
            let uid = testing::text(object, "uid");
            self.known.entry(job).or_default().failed.insert(uid);
        }
        self.world
            .edit(pod, |pod| pod["status"] = json!({"phase": to}));
    }

    /// Somebody else takes a name, or gives it back.
    fn foreign(&mut self, which: u8, of: u8) {
        let name = name(which);
        let key = match of {
            0 => key(Resource::SchedulingSpecs, &name),
            _ => key(Resource::Pods, &format!("{name}-a-{}", of - 1)),
        };
        match self.world.objects.get(&key) {
            None => {
                let meta = json!({"namespace": "team", "name": key.2});
                self.world
                    .put(key.0, json!({"metadata": meta, "spec": {"containers": []}}));
                self.foreign
                    .insert(testing::text(&self.world.objects[&key], "uid"));
            }
            Some(one) if owner(one).is_null() => self.world.remove(&key),
            Some(_) => {}
        }
    }

    fn carry_out(&mut self, write: &Write) -> Answer {
        let on = &write.on;
        let there = (on.resource, on.namespace.clone(), on.name.clone());
        let before = self.world.objects.get(&there);
        if let (Deed::Delete { uid } | Deed::Patch { uid, .. }, Some(before)) =
            (&write.deed, before)
            && before["metadata"]["uid"] == json!(uid)
        {
            assert!(!self.foreign.contains(uid), "of somebody else: {before}");
            assert_ne!(on.resource, Resource::QueueJobs, "none has an end");
            if on.resource == Resource::Pods {
                self.may_go(before);
            }
        }
        let makes_pod = on.resource == Resource::Pods && matches!(write.deed, Deed::Create(_));
        let there = self.world.of(Resource::Pods).count();
        if makes_pod && there >= self.quota {
            return over_quota(there);
        }
        let answer = self.world.carry_out(write);
        self.check();
        answer
    }

    /// A pod that failed goes once it is counted, or because all go, or the QueueJob asks for others: then it may have
    /// failed after it was told to go.
    fn may_go(&self, pod: &Value) {
        let jobs = self.world.of(Resource::QueueJobs).map(|(_, job)| job);
        let mut of_pod = jobs.filter(|job| job["metadata"]["uid"] == *owner(pod));
        let Some(job) = of_pod
            .next()
            .filter(|_| phase(pod) == "Failed" && !is_going(pod))
        else {
            return;
        };
        let status = &job["status"];
        if round::ended(&serde_json::from_value(status.clone()).unwrap_or_default()).is_some() {
            // It was told to go while it ran.
            return;
        }
        let edited = status["observedGeneration"] != job["metadata"]["generation"];
        let restarts = status["restarts"].as_i64().unwrap_or(0).to_string();
        let labels = &pod["metadata"]["labels"];
        let hashes = status["tasks"].as_array().into_iter().flatten();
        let same_template = hashes
            .clone()
            .any(|one| one["templateHash"] == labels["muster.dev/template-hash"]);
        let counted = status["countedPods"].as_array().into_iter().flatten();
        let is_counted = counted.clone().any(|uid| *uid == pod["metadata"]["uid"]);
        let is_surplus = {
            let name = testing::text(pod, "name");
            let job: QueueJob = serde_json::from_value(job.clone()).unwrap();
            let asked = Asked::read(&name_of(&job), &job.spec).unwrap();
            !asked.tasks.iter().any(|task| task.names.contains(&name))
        };
        let has_to =
            labels["muster.dev/restart"] != json!(restarts) || !same_template || is_surplus;
        assert!(
            is_counted || has_to || edited,
            "not counted: {pod} {status}"
        );
    }

    /// What holds after every write.
    fn check(&mut self) {
        for (_, job) in self.world.of(Resource::QueueJobs) {
            let uid = testing::text(job, "uid");
            let status: QueueJobStatus =
                serde_json::from_value(job["status"].clone()).unwrap_or_default();
            let known = self.known.entry(uid.clone()).or_default();
            let last = &known.last;
            assert!(status.restarts - last.restarts <= 1 && status.restarts >= last.restarts);
            assert!(
                status.failures >= last.failures && status.failed >= last.failed,
                "{status:?} {last:?}"
            );
            assert!(status.failures <= status.failed);
            let failed = i32::try_from(known.failed.len()).unwrap();
            assert!(
                status.failed <= failed,
                "{} of {failed} have failed",
                status.failed
            );
            if let Some(before) = round::ended(last) {
                let now = round::ended(&status).map(|one| &one.kind);
                assert_eq!(now, Some(&before.kind), "it ends once");
            }
            known.last = status;
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

    /// Everything goes well from here on.
    fn end(mut self) {
        for (write, answer) in std::mem::take(&mut self.flying) {
            let answer = answer.unwrap_or_else(|| self.carry_out(&write));
            let now = self.world.now;
            self.world.machine.answered(write.ticket, answer, now);
        }
        self.quota = usize::MAX;
        for _ in 0..2 {
            let going = self
                .world
                .of(Resource::Pods)
                .filter(|(_, pod)| is_going(pod));
            let going: Vec<Key> = going.map(|(key, _)| key.clone()).collect();
            going.iter().for_each(|key| self.world.remove(key));
            self.world.rest();
            // Longer than anything is waited for.
            self.world.pass(400);
            self.world.rest();
        }
        self.check();
        let jobs = self.world.of(Resource::QueueJobs);
        let uids: BTreeSet<String> = jobs.map(|(_, job)| testing::text(job, "uid")).collect();
        for resource in [Resource::Pods, Resource::SchedulingSpecs] {
            for (key, one) in self
                .world
                .of(resource)
                .filter(|(_, one)| !owner(one).is_null())
            {
                assert!(uids.contains(owner(one).as_str().unwrap()), "left: {key:?}");
            }
        }
        for which in 0..2 {
            self.at_rest(&name(which));
        }
        let foreign = self
            .world
            .objects
            .values()
            .filter(|one| owner(one).is_null());
        let foreign = foreign.filter(|one| one["spec"]["containers"].is_array());
        assert!(
            foreign
                .map(|one| testing::text(one, "uid"))
                .all(|uid| self.foreign.contains(&uid))
        );
        let count = self.world.written.len();
        self.world.restart();
        self.world.rest();
        assert_eq!(
            self.world.written.len(),
            count,
            "who starts anew finds all done"
        );
    }

    /// Exactly the pods are there that are wanted, and the status says how many.
    fn at_rest(&self, name: &str) {
        let Some(object) = self.world.objects.get(&key(Resource::QueueJobs, name)) else {
            return;
        };
        let uid = &object["metadata"]["uid"];
        let job: QueueJob = serde_json::from_value(object.clone()).unwrap();
        let (asked, status) = (
            Asked::read(name, &job.spec).unwrap(),
            job.status.clone().unwrap(),
        );
        let ours = self
            .world
            .of(Resource::Pods)
            .filter(|(_, pod)| owner(pod) == uid);
        let mut ours: BTreeMap<&str, &Value> =
            ours.map(|(key, pod)| (key.2.as_str(), pod)).collect();
        let in_phase = |wanted: &str| ours.values().filter(|pod| phase(pod) == wanted).count();
        let counted = [in_phase("Pending"), in_phase("Running")];
        let said = [status.pending, status.running].map(|count| usize::try_from(count).unwrap());
        assert_eq!(said, counted, "{name}: {status:?}");
        assert_eq!(status.counted_pods, [] as [String; 0]);
        if round::ended(&status).is_some() {
            assert_eq!(counted, [0, 0], "{name}");
            return;
        }
        assert!(status.failures <= job.spec.backoff_limit);
        assert_eq!(status.observed_generation, job.metadata.generation);
        let spec = self
            .world
            .objects
            .get(&key(Resource::SchedulingSpecs, name))
            .unwrap();
        let has_spec = owner(spec) == uid;
        if has_spec {
            assert_eq!(spec["spec"]["minAvailable"], json!(asked.min));
        }
        let mut is_taken = !has_spec;
        let mut succeeded = 0;
        for (task, said) in asked.tasks.iter().zip(&status.tasks) {
            let completed = ranges::read(&said.completed_indexes);
            succeeded += completed.len();
            for (index, name) in task.names.iter().enumerate() {
                let Some(pod) = ours.remove(name.as_str()) else {
                    let taken = self.world.objects.contains_key(&key(Resource::Pods, name));
                    is_taken |= taken && !completed.contains(&index);
                    assert!(
                        taken || !has_spec || completed.contains(&index),
                        "{name} is lacking: {status:?}"
                    );
                    continue;
                };
                let labels = &pod["metadata"]["labels"];
                assert_eq!(
                    labels["muster.dev/template-hash"],
                    json!(task.hash),
                    "{name}"
                );
                let has_succeeded = phase(pod) == "Succeeded";
                assert_eq!(
                    has_succeeded,
                    completed.contains(&index),
                    "{name}: {status:?}"
                );
                let now = labels["muster.dev/restart"] == json!(status.restarts.to_string());
                assert!(now || has_succeeded, "{name} is of an earlier restart");
                assert_ne!(phase(pod), "Failed", "{name}: {status:?}");
            }
        }
        assert!(ours.is_empty(), "not wanted: {:?}", ours.keys());
        assert_eq!(usize::try_from(status.succeeded).unwrap(), succeeded);
        let accepted = status
            .conditions
            .iter()
            .find(|one| one.kind == "Accepted")
            .unwrap();
        let wanted = if is_taken { "NameTaken" } else { "Accepted" };
        assert_eq!(accepted.reason, wanted, "{name}: {status:?}");
    }
}

fn name_of(job: &QueueJob) -> String {
    job.metadata.name.clone().unwrap_or_default()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_pods_that_are_wanted_are_there_and_nothing_counts_twice(
        acts in proptest::collection::vec(act(), 1..150)
    ) {
        let mut storm = Storm::new();
        for act in acts {
            storm.act(act);
        }
        storm.end();
    }
}
