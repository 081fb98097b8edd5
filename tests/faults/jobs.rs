//! QueueJobs in the worlds in which faults happen: they are edited, deleted and made again while their controllers die
//! and a quota leaves no room, their pods fail, and somebody else has the names that they want. What must hold of them
//! is in `job_rules`.

use crate::plans::life;
use crate::pods::pod;
use crate::small::NS;
use crate::small::lot::Lot;
use crate::world::entry;
use muster::controllers::Resource;
use muster::model::units::{Millis, Time};
use muster::sim::random::Random;
use muster::sim::scenario::{Entry, Played};
use serde_json::{Value, json};

/// Names of QueueJobs, of which none begins another.
const JOBS: [&str; 3] = ["serve", "train", "weigh"];
/// Of so many worlds of a thousand they are a part.
const SHARE: u64 = 150;
/// What a seed is mixed with to draw them: all else is drawn as it would be without them.
const SALT: u64 = 0x6a6f_6273;

/// The lots of QueueJobs in the world of a seed, if there are any in it.
pub(crate) fn lots(seed: u64) -> Option<Random> {
    let mut random = Random::new(seed ^ SALT);
    random.per_mille(SHARE).then_some(random)
}

/// QueueJobs; any of them may come late, be edited, go, and come again.
pub(crate) fn jobs(random: &mut Random, entries: &mut Vec<Entry>) {
    let count = 1 + usize::try_from(random.below(3)).unwrap();
    for name in &JOBS[..count] {
        life(random, entries, Resource::QueueJobs, |random| {
            job(random, name)
        });
        if random.per_mille(150) {
            let spec = json!({
                "metadata": {"namespace": NS, "name": name}, "spec": {"minAvailable": 1},
            });
            let object = Played::Whole(Resource::SchedulingSpecs, Box::new(spec));
            entries.push(somebodys(random, object));
        }
        if random.per_mille(150) {
            let name = format!("{name}-a-{}", random.below(2));
            let plan = pod(name, None, 250, None);
            entries.push(somebodys(random, Played::Pod(Box::new(plan))));
        }
    }
}

/// Something that has a name that a QueueJob wants, for a while or for ever.
fn somebodys(random: &mut Random, object: Played) -> Entry {
    let mut theirs = entry(random.below(12_000), object);
    if random.per_mille(600) {
        theirs.delete_at = Some(Time(theirs.at.0 + 1 + random.below(15_000)));
    }
    theirs
}

/// Whether a pod may be one of a QueueJob, by its name.
pub(crate) fn may_be_made(pod: &str) -> bool {
    let job = pod.split('-').next();
    job.is_some_and(|job| JOBS.contains(&job))
}

/// One or two tasks of a few pods, which end well, badly or never.
fn job(random: &mut Random, name: &str) -> Value {
    let mut tasks = vec![task(random, Some("a"))];
    if random.per_mille(500) {
        let label = ["b", "c"][random.count(2) as usize];
        let label = random.per_mille(700).then_some(label);
        tasks.push(task(random, label));
    }
    let replicas = |task: &Value| task["replicas"].as_u64().unwrap_or_default();
    let total: u64 = tasks.iter().map(replicas).sum();
    let mut sched = json!({});
    if random.per_mille(600) {
        sched["minAvailable"] = random.below(total + 1).into();
    }
    if random.per_mille(400) {
        sched["priority"] = random.below(3).into();
    }
    let mut spec = json!({
        "schedSpec": sched, "taskSpecs": tasks, "backoffLimit": random.below(4),
    });
    if random.per_mille(200) {
        spec["ttlSecondsAfterFinished"] = random.below(60).into();
    }
    if random.per_mille(30) {
        // No template has it.
        spec["selector"] = json!({"matchLabels": {"no": "such"}});
    }
    json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "QueueJob",
        "metadata": {"namespace": NS, "name": name}, "spec": spec,
    })
}

fn task(random: &mut Random, label: Option<&str>) -> Value {
    let mut annotations = json!({});
    let span = |span: Millis| format!("{}ms", span.0);
    if random.per_mille(800) {
        let duration = Millis(500 + random.below(12_000));
        annotations["simulate.muster.dev/duration"] = span(duration).into();
    }
    if random.per_mille(200) {
        annotations["simulate.muster.dev/ends"] = "Failed".into();
    }
    if random.per_mille(150) {
        let stops_in = Millis(random.below(6_000));
        annotations["simulate.muster.dev/stops-in"] = span(stops_in).into();
    }
    let cpu = format!("{}m", 250 * (1 + random.below(4)));
    let mut spec = json!({
        "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}],
    });
    if random.per_mille(300) {
        spec["priority"] = random.below(3).into();
    }
    let mut task = json!({
        "replicas": random.below(5),
        "template": {"metadata": {"annotations": annotations}, "spec": spec},
    });
    if let Some(label) = label {
        task["name"] = label.into();
    }
    task
}
