//! The rules of Jobs, each by its name; and that any interleaving comes to rest.
#![expect(clippy::needless_pass_by_value, reason = "json! reads best as it is")]

use super::{Jobs, Settings};
use crate::testing::{self, Key};
use crate::{Answer, Machine, Resource, Write};
use muster_model::units::Millis;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;

type World = testing::World<Jobs>;

fn world() -> World {
    World::made_by(|| Jobs::new(&Settings::default()))
}

fn job_key(name: &str) -> Key {
    (Resource::Jobs, "team".to_owned(), name.to_owned())
}

fn pod_key(name: &str) -> Key {
    (Resource::Pods, "team".to_owned(), name.to_owned())
}

fn job(world: &mut World, name: &str, mut spec: Value) {
    let labels = json!({"app": name, "job-name": "forged"});
    let container = json!({"name": "a", "resources": {"requests": {"cpu": "1"}}});
    spec["template"] = json!({
        "metadata": {"labels": labels},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    });
    let status = world
        .objects
        .get(&job_key(name))
        .map(|one| one["status"].clone());
    let mut object = json!({"metadata": {"namespace": "team", "name": name}, "spec": spec});
    if let Some(status) = status.filter(|status| !status.is_null()) {
        object["status"] = status;
    }
    world.put(Resource::Jobs, object);
}

fn pods(world: &World) -> Vec<String> {
    let pods = world.of(Resource::Pods).map(|(key, _)| key.2.clone());
    pods.collect()
}

fn phase(world: &mut World, pod: &str, phase: &str) {
    world.edit(&pod_key(pod), |pod| pod["status"] = json!({"phase": phase}));
}

fn status(world: &World, name: &str) -> Value {
    world.objects[&job_key(name)]["status"].clone()
}

fn condition(world: &World, name: &str) -> String {
    let status = status(world, name);
    let one = &status["conditions"][0];
    let text = |field: &str| one[field].as_str().unwrap_or_default().to_owned();
    format!("{}={} {}", text("type"), text("status"), text("reason"))
}

#[test]
fn a_pod_whose_making_came_to_nothing_is_made_later_though_nobody_tells_of_anything() {
    for lost in [true, false] {
        let mut world = world();
        job(
            &mut world,
            "job",
            json!({"parallelism": 1, "completions": 1}),
        );
        world.hear_all();
        let (now, mut tries) = (world.now, 0);
        for write in world.machine.due(now, 10) {
            let answer = if write.on.resource == Resource::Jobs {
                world.carry_out(&write)
            } else if lost {
                Answer::Lost
            } else {
                // It is gone before the watch, which is broken, tells of it.
                let made = world.carry_out(&write);
                world.remove(&pod_key("job-0"));
                world.list(Resource::Pods);
                made
            };
            tries += usize::from(write.on.resource == Resource::Pods);
            world.machine.answered(write.ticket, answer, now);
        }
        assert_eq!(tries, 1);
        world.rest();
        assert_eq!(pods(&world), ["job-0"], "lost: {lost}");
    }
}

#[test]
fn as_many_pods_run_at_a_time_as_it_says_until_enough_have_succeeded() {
    let mut world = world();
    job(
        &mut world,
        "job",
        json!({"parallelism": 2, "completions": 3}),
    );
    world.rest();
    assert_eq!(pods(&world), ["job-0", "job-1"]);
    let pod = &world.objects[&pod_key("job-0")];
    assert_eq!(
        pod["metadata"]["labels"]["batch.kubernetes.io/job-name"],
        "job"
    );
    assert_eq!(pod["metadata"]["labels"]["job-name"], "job");
    assert_eq!(pod["metadata"]["labels"]["app"], "job");
    assert_eq!(status(&world, "job")["active"], 2);
    phase(&mut world, "job-0", "Succeeded");
    world.rest();
    assert_eq!(pods(&world), ["job-0", "job-1", "job-2"]);
    phase(&mut world, "job-1", "Succeeded");
    phase(&mut world, "job-2", "Succeeded");
    world.rest();
    assert_eq!(condition(&world, "job"), "Complete=True CompletionsReached");
    let status = status(&world, "job");
    assert_eq!(
        (&status["succeeded"], &status["active"]),
        (&json!(3), &Value::Null)
    );
    assert!(status["startTime"].is_string() && status["completionTime"].is_string());
    let count = world.written.len();
    world.restart();
    world.rest();
    assert_eq!(world.written.len(), count);
}

#[test]
fn pods_that_fail_are_replaced_until_too_many_have_failed() {
    let mut world = world();
    let spec = json!({"parallelism": 2, "completions": 2, "backoffLimit": 1});
    job(&mut world, "job", spec);
    world.rest();
    phase(&mut world, "job-0", "Failed");
    world.rest();
    assert_eq!(pods(&world), ["job-0", "job-1", "job-2"]);
    phase(&mut world, "job-1", "Failed");
    world.rest();
    assert_eq!(condition(&world, "job"), "Failed=True BackoffLimitExceeded");
    assert_eq!(pods(&world), ["job-0", "job-1"], "who ran on has gone");
    assert_eq!(status(&world, "job")["failed"], 2);
    assert_eq!(status(&world, "job")["active"], Value::Null);
}

#[test]
fn an_indexed_job_has_a_pod_for_each_index_and_makes_that_anew_which_failed() {
    let mut world = world();
    let spec = json!({"parallelism": 3, "completions": 3, "completionMode": "Indexed"});
    job(&mut world, "job", spec);
    world.rest();
    assert_eq!(pods(&world), ["job-0", "job-1", "job-2"]);
    let index = "batch.kubernetes.io/job-completion-index";
    let meta = &world.objects[&pod_key("job-1")]["metadata"];
    assert_eq!(
        (&meta["labels"][index], &meta["annotations"][index]),
        (&json!("1"), &json!("1"))
    );
    phase(&mut world, "job-1", "Failed");
    phase(&mut world, "job-0", "Succeeded");
    world.rest();
    assert_eq!(pods(&world), ["job-0", "job-1", "job-1-1", "job-2"]);
    phase(&mut world, "job-1-1", "Succeeded");
    world.rest();
    assert_eq!(status(&world, "job")["completedIndexes"], "0,1");
    world.remove(&pod_key("job-0"));
    phase(&mut world, "job-2", "Succeeded");
    world.rest();
    assert_eq!(condition(&world, "job"), "Complete=True CompletionsReached");
}

#[test]
fn a_pod_that_vanishes_before_its_end_comes_again_and_one_that_had_ended_does_not() {
    let mut world = world();
    job(
        &mut world,
        "job",
        json!({"parallelism": 2, "completions": 2}),
    );
    world.rest();
    world.remove(&pod_key("job-0"));
    phase(&mut world, "job-1", "Succeeded");
    world.rest();
    assert_eq!(pods(&world), ["job-0", "job-1"]);
    world.remove(&pod_key("job-1"));
    world.restart();
    world.rest();
    assert_eq!(pods(&world), ["job-0"]);
}

#[test]
fn pods_that_were_there_before_count_and_a_name_that_somebody_has_is_passed_over() {
    let mut world = world();
    job(
        &mut world,
        "job",
        json!({"parallelism": 3, "completions": 3}),
    );
    let uid = testing::text(&world.objects[&job_key("job")], "uid");
    let owner = json!({
        "apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": uid, "controller": true,
    });
    let meta = json!({"namespace": "team", "name": "job-x7k2p", "ownerReferences": [owner]});
    let pod = |meta| json!({"metadata": meta, "spec": {"containers": []}});
    world.put(Resource::Pods, pod(meta));
    world.put(
        Resource::Pods,
        pod(json!({"namespace": "team", "name": "job-0"})),
    );
    world.rest();
    assert_eq!(pods(&world), ["job-0", "job-1", "job-2", "job-x7k2p"]);
    world.remove(&job_key("job"));
    world.rest();
    assert_eq!(pods(&world), ["job-0"], "the pods of a Job that is gone go");
}

#[test]
fn without_completions_any_success_is_enough() {
    let mut world = world();
    job(&mut world, "job", json!({"parallelism": 2}));
    world.rest();
    phase(&mut world, "job-1", "Succeeded");
    world.rest();
    assert_eq!(pods(&world), ["job-0", "job-1"]);
    phase(&mut world, "job-0", "Succeeded");
    world.rest();
    assert_eq!(condition(&world, "job"), "Complete=True CompletionsReached");
}

/// Something that happens.
#[derive(Clone, Debug)]
enum Act {
    Job(u8, u8, u8, bool),
    JobGone(u8),
    Phase(u8, u8),
    PodGone(u8),
    Hear(bool, u8),
    List(bool),
    Due(u8),
    CarryOut(u8),
    Answer(u8, u8),
    Wait(u16),
    Restart,
}

fn act() -> impl Strategy<Value = Act> {
    use Act::*;
    prop_oneof![
        3 => (0u8..2, 0u8..4, 0u8..5, any::<bool>()).prop_map(|(a, b, c, d)| Job(a, b, c, d)),
        1 => (0u8..2).prop_map(JobGone),
        6 => (any::<u8>(), 0u8..4).prop_map(|(pod, phase)| Phase(pod, phase)),
        1 => any::<u8>().prop_map(PodGone),
        8 => (any::<bool>(), 1u8..5).prop_map(|(of, count)| Hear(of, count)),
        1 => any::<bool>().prop_map(List),
        8 => (1u8..6).prop_map(Due),
        5 => any::<u8>().prop_map(CarryOut),
        10 => (any::<u8>(), 0u8..16).prop_map(|(which, how)| Answer(which, how)),
        3 => (1u16..3_000).prop_map(Wait),
        1 => Just(Restart),
    ]
}

struct Storm {
    world: World,
    flying: Vec<(Write, Option<Answer>)>,
}

fn resource(is_job: bool) -> Resource {
    if is_job {
        Resource::Jobs
    } else {
        Resource::Pods
    }
}

impl Storm {
    fn act(&mut self, act: Act) {
        let world = &mut self.world;
        let names = pods(world);
        let pod = |which: u8| names.get(usize::from(which) % names.len().max(1));
        match act {
            Act::Job(which, parallelism, completions, indexed) => {
                let mode = if indexed { "Indexed" } else { "NonIndexed" };
                // Completions and mode of a Job stay.
                let name = format!("job-{which}");
                let spec = world
                    .objects
                    .get(&job_key(&name))
                    .map(|one| one["spec"].clone());
                let spec = spec.unwrap_or_else(|| {
                    json!({"completions": completions, "completionMode": mode, "backoffLimit": 3})
                });
                let mut spec = spec;
                spec["parallelism"] = json!(parallelism);
                job(world, &name, spec);
            }
            Act::JobGone(which) => world.remove(&job_key(&format!("job-{which}"))),
            Act::Phase(which, to) => {
                if let Some(name) = pod(which) {
                    let is = world.objects[&pod_key(name)]["status"]["phase"].clone();
                    if is != json!("Succeeded") && is != json!("Failed") {
                        let to = ["Pending", "Running", "Succeeded", "Failed"][usize::from(to)];
                        phase(world, name, to);
                    }
                }
            }
            Act::PodGone(which) => {
                if let Some(name) = pod(which) {
                    world.remove(&pod_key(name));
                }
            }
            Act::Hear(of, count) => {
                for _ in 0..count {
                    world.hear(resource(of));
                }
            }
            Act::List(of) => world.list(resource(of)),
            Act::Due(most) => {
                let writes = world.machine.due(world.now, most.into());
                assert!(writes.len() <= most.into());
                self.flying
                    .extend(writes.into_iter().map(|one| (one, None)));
                let objects: BTreeSet<_> = self.flying.iter().map(|(one, _)| &one.on).collect();
                assert_eq!(objects.len(), self.flying.len(), "two writes of one object");
            }
            Act::CarryOut(which) => {
                let count = self.flying.len().max(1);
                if let Some((write, answer)) = self.flying.get_mut(usize::from(which) % count) {
                    answer.get_or_insert_with(|| world.carry_out(write));
                }
            }
            Act::Answer(which, how) => self.answer(which, how),
            Act::Wait(span) => world.now = world.now + Millis(span.into()),
            Act::Restart => {
                for (write, answer) in std::mem::take(&mut self.flying) {
                    if answer.is_none() && write.ticket.0 % 2 == 0 {
                        world.carry_out(&write);
                    }
                }
                world.restart();
            }
        }
    }

    fn answer(&mut self, which: u8, how: u8) {
        if self.flying.is_empty() {
            return;
        }
        let (write, came) = self.flying.remove(usize::from(which) % self.flying.len());
        let answer = match how {
            0 => Answer::Lost,
            1 if came.is_none() => Answer::Refused {
                message: "no".to_owned(),
            },
            2 => {
                came.unwrap_or_else(|| self.world.carry_out(&write));
                Answer::Lost
            }
            _ => came.unwrap_or_else(|| self.world.carry_out(&write)),
        };
        let now = self.world.now;
        self.world.machine.answered(write.ticket, answer, now);
    }

    /// Everything goes well from here on.
    fn end(mut self) {
        for (write, answer) in std::mem::take(&mut self.flying) {
            let answer = answer.unwrap_or_else(|| self.world.carry_out(&write));
            let now = self.world.now;
            self.world.machine.answered(write.ticket, answer, now);
        }
        self.world.now = self.world.now + Millis(120_000);
        self.world.rest_with(|_| false);
        let world = &self.world;
        for (key, pod) in world.of(Resource::Pods) {
            let owner = &pod["metadata"]["ownerReferences"][0];
            let job = world.objects.get(&job_key(owner["name"].as_str().unwrap()));
            let job = job.unwrap_or_else(|| panic!("{key:?} is of nobody"));
            assert_eq!(job["metadata"]["uid"], owner["uid"]);
        }
        for (key, job) in world.of(Resource::Jobs) {
            let of_job = world.of(Resource::Pods).filter(|(_, pod)| {
                pod["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
            });
            let phases: Vec<&str> = of_job
                .map(|(_, pod)| pod["status"]["phase"].as_str().unwrap_or("Pending"))
                .collect();
            let count = |phase: &str| phases.iter().filter(|one| **one == phase).count();
            let active = count("Pending") + count("Running");
            let number = |value: &Value| usize::try_from(value.as_u64().unwrap_or(0)).unwrap();
            let status = &job["status"];
            assert_eq!(number(&status["active"]), active, "{key:?} {status}");
            assert!(
                number(&status["failed"]) >= count("Failed"),
                "{key:?} {status}"
            );
            if super::is_over(status) {
                assert_eq!(active, 0, "{key:?} {status}");
                continue;
            }
            let lacking = number(&job["spec"]["completions"]) - number(&status["succeeded"]);
            assert_ne!(lacking, 0, "{key:?} {status}");
            let room = number(&job["spec"]["parallelism"]).min(lacking);
            assert_eq!(active, room, "{key:?} {status}");
        }
    }
}

impl World {
    fn rest(&mut self) {
        self.rest_with(|_| false);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_it_comes_to_rest_with_the_pods_that_are_lacking(
        acts in proptest::collection::vec(act(), 1..120)
    ) {
        let mut storm = Storm { world: world(), flying: Vec::new() };
        for act in acts {
            storm.act(act);
        }
        storm.end();
    }
}
