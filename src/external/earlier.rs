//! The bodies of `/external`, as an earlier interface of this sort has them: so what was written for that works here.

use super::views::{JobView, SchedulingView, SlotView, TestbedView};
use super::wishes::{Invalid, Wish, list, need, object, object_name, placed};
use muster_api::crd::{QueuedJob, SchedulingSpec, SlotBased, SlotState};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Names in a queue, at most: each name once for each of its slots.
const MOST_QUEUED: usize = 10_000;
/// BatchJobs in a queue, and slots of each, at most.
const MOST_JOBS: usize = 100;
const MOST_SLOTS: usize = 1_000;

/// A Testbed.
pub(crate) fn testbed(view: &TestbedView) -> Value {
    let state = match view.ready {
        Some(true) => "SUCCESS",
        Some(false) => "ERROR",
        None => "IN_PROGRESS",
    };
    let mut nodes: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for one in &view.slots {
        nodes.entry(&one.node).or_default().push(slot(one));
    }
    json!({
        "name": view.identity.name,
        "state": state,
        "numberOfNodes": view.nodes,
        "numberOfSlotsPerNode": view.slots_per_node,
        "slotsByNode": nodes,
    })
}

fn slot(slot: &SlotView) -> Value {
    let (state, reserved) = match slot.state {
        SlotState::Free => ("FREE", false),
        SlotState::Reserved => ("RESERVED", true),
        SlotState::Occupied => ("OCCUPIED", false),
    };
    let pod = slot.pod.as_deref();
    let pod = pod.map(|pod| pod.rsplit('/').next().unwrap_or(pod));
    // Who sits there: the ghost, until it has made room.
    let sits = match slot.state {
        SlotState::Free | SlotState::Reserved => Some(slot.ghost.as_str()),
        SlotState::Occupied => pod,
    };
    let id = slot.node_id.parse::<i64>();
    json!({
        "state": state,
        "podName": sits,
        "podUId": slot.pod_uid.as_ref().filter(|_| slot.state == SlotState::Occupied),
        "nodeName": slot.node,
        "nodeId": id.map_or_else(|_| json!(slot.node_id), |number| json!(number)),
        "slotPositionOnNode": slot.node_position,
        "position": slot.position,
        "reservedFor": pod.filter(|_| reserved),
    })
}

/// A BatchJob.
pub(crate) fn job(view: &JobView) -> Value {
    let events = view.history.iter().map(|run| {
        json!({
            "start": run.started_at,
            "stop": run.completed_at,
            "successful": run.state == muster_api::crd::BatchJobState::Completed,
            "scheduling": run.scheduling,
        })
    });
    json!({
        "name": view.identity.name,
        "state": format!("{:?}State", view.state),
        "externalScheduler": view.external_scheduler,
        "scheduledEvents": events.collect::<Vec<_>>(),
    })
}

/// How many names the queue of a Scheduling has.
pub(crate) fn queued(view: &SchedulingView) -> usize {
    let jobs = view.queue_based.iter().flatten();
    jobs.map(|job| usize::try_from(job.slots).unwrap_or_default())
        .sum()
}

/// A Scheduling.
pub(crate) fn scheduling(view: &SchedulingView) -> Value {
    let queue = view.queue_based.as_ref().map(|jobs| {
        let names = jobs.iter().flat_map(|job| {
            let times = usize::try_from(job.slots).unwrap_or_default();
            std::iter::repeat_n(job.name.as_str(), times)
        });
        names.take(MOST_JOBS * MOST_SLOTS).collect::<Vec<_>>()
    });
    let jobs = view.jobs.iter();
    let jobs = jobs.map(|job| json!({"name": job.name, "state": job.state}));
    json!({
        "name": view.identity.name,
        "testBed": view.testbed,
        "queue": queue,
        "slots": view.slot_based,
        "state": format!("{:?}State", view.state),
        "jobStatus": jobs.collect::<Vec<_>>(),
    })
}

/// Reads the body of a Scheduling. What it says of states is passed over: callers send back what they were shown.
pub(crate) fn wish(body: &[u8], namespace: &str) -> Result<Wish, Invalid> {
    let fields = object(body)?;
    let name = object_name(need(&fields, "name", "name")?, "name", 253)?;
    let testbed = object_name(need(&fields, "testBed", "testBed")?, "testBed", 63)?;
    let filled = |field: &str| fields.get(field).filter(|value| !value.is_null());
    let (queue_based, slot_based) = match (filled("queue"), filled("slots")) {
        (Some(queue), None) => (Some(queue_of(queue)?), None),
        (None, Some(slots)) => (None, Some(slots_of(slots)?)),
        (Some(_), Some(_)) | (None, None) => {
            let words = "exactly one of queue and slots is needed";
            return Err(Invalid::new("queue", words));
        }
    };
    Ok(Wish {
        namespace: namespace.to_owned(),
        name,
        spec: SchedulingSpec {
            testbed,
            queue_based,
            slot_based,
        },
        version: None,
    })
}

/// A BatchJob that is named several times has as many slots.
fn queue_of(value: &Value) -> Result<Vec<QueuedJob>, Invalid> {
    let mut jobs: Vec<QueuedJob> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (index, item) in list(value, "queue", MOST_QUEUED)?.iter().enumerate() {
        let field = format!("queue[{index}]");
        let name = object_name(item, &field, 63)?;
        let place = *places.entry(name.clone()).or_insert(jobs.len());
        match jobs.get_mut(place) {
            Some(job) if job.slots >= 1_000 => {
                let words = format!("is {name:?} once more than {MOST_SLOTS} times");
                return Err(Invalid::new(&field, words));
            }
            Some(job) => job.slots += 1,
            None => jobs.push(QueuedJob { name, slots: 1 }),
        }
    }
    if jobs.len() > MOST_JOBS {
        let words = format!("has {} names, must have at most {MOST_JOBS}", jobs.len());
        return Err(Invalid::new("queue", words));
    }
    Ok(jobs)
}

fn slots_of(value: &Value) -> Result<SlotBased, Invalid> {
    // The mode was written in capitals, too.
    let mut value = value.clone();
    if let Some(Value::String(mode)) = value.get_mut("mode") {
        mode.make_ascii_lowercase();
    }
    placed(&value, "slots")
}

/// Reads what a scheduler wants kept, and of which BatchJob.
pub(crate) fn kept(body: &[u8]) -> Result<(String, Map<String, Value>), Invalid> {
    let fields = object(body)?;
    let name = object_name(need(&fields, "name", "name")?, "name", 253)?;
    let kept = fields.get("externalScheduler").cloned();
    match kept.unwrap_or(Value::Null) {
        Value::Object(kept) => Ok((name, kept)),
        Value::Null => Ok((name, Map::new())),
        _ => {
            let words = "must be an object, of lists of objects";
            Err(Invalid::new("externalScheduler", words))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_named_three_times_has_three_slots() {
        let body = json!({"name": "one", "testBed": "bed", "queue": ["a", "b", "a", "a"],
                          "slots": null, "state": "InitialState", "jobStatus": []});
        let wish = wish(body.to_string().as_bytes(), "team").unwrap();
        let jobs = wish.spec.queue_based.unwrap();
        let jobs: Vec<_> = jobs.iter().map(|job| (&*job.name, job.slots)).collect();
        assert_eq!(jobs, [("a", 3), ("b", 1)]);
    }

    #[test]
    fn exactly_one_of_queue_and_slots() {
        for more in [
            json!({}),
            json!({"queue": ["a"], "slots": {"jobs": []}}),
            json!({"queue": null, "slots": null}),
        ] {
            let mut body = json!({"name": "one", "testBed": "bed"});
            let more = more.as_object().unwrap().clone();
            body.as_object_mut().unwrap().extend(more);
            let found = wish(body.to_string().as_bytes(), "team").unwrap_err();
            assert_eq!(found.field, "queue");
        }
        let names: Vec<String> = (0..101).map(|index| format!("job-{index}")).collect();
        let body = json!({"name": "one", "testBed": "bed", "queue": names});
        let found = wish(body.to_string().as_bytes(), "team").unwrap_err();
        assert_eq!(found.message, "has 101 names, must have at most 100");
    }
}
