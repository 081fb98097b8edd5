//! No queue is made to hold more than its limit, but by a gang that has to be completed.

use super::Note;
use super::account::{Account, Pod};
use super::books::Gang;
use muster_model::{Effect, GangKey, Outcome, Plan, PodKey};
use std::collections::{BTreeMap, BTreeSet};

/// The gangs that a plan may complete, whatever their queues hold: they are bound in part, lack a place, and
/// had their minimum before.
pub(super) fn to_be_completed(account: &Account, plan: &Plan) -> BTreeSet<GangKey> {
    let binds = plan.effects.iter().filter_map(|effect| match effect {
        Effect::Bind(order) => Some(&order.pod),
        _ => None,
    });
    let held = plan.held.iter().filter(|one| one.node.is_some());
    let pods = binds.chain(held.map(|one| &one.pod));
    let gangs = pods.filter_map(|pod| Some(&account.pod(pod)?.gang));
    let in_part = gangs.filter(|key| {
        let Some(gang) = account.gangs.get(key) else {
            return false;
        };
        let before = account.queues.minimum(key);
        before.is_none_or(|before| gang.minimum() <= before)
            && gang.everybody().holding() > 0
            && gang.lacks(|counts| counts.available()).is_some()
    });
    in_part.cloned().collect()
}

/// Takes down of which queue the gangs are that a plan gives places.
pub(super) fn take_down(account: &mut Account, plan: &Plan) {
    for decision in &plan.decisions {
        let Outcome::Placed { .. } = decision.outcome else {
            continue;
        };
        let gang = match &decision.group {
            Some(group) => Some(group.clone()),
            None => single(account, &decision.gang),
        };
        if let Some(gang) = gang {
            let minimum = account.gangs.get(&gang).map_or(0, Gang::minimum);
            account.queues.placed(&gang, &decision.queue, minimum);
        }
    }
    for effect in &plan.effects {
        if let Effect::GangStatus(status) = effect {
            account.queues.said(status);
        }
    }
}

/// The gang of a pod without one, which is called by its name.
fn single(account: &Account, title: &str) -> Option<GangKey> {
    let (namespace, name) = title.split_once('/')?;
    let key = PodKey {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        uid: String::new(),
    };
    account.pod(&key).map(|pod| pod.gang.clone())
}

/// The queues that these pods bring beyond their limits.
pub(super) fn exceeded(
    account: &Account,
    taken: &[(&PodKey, &str)],
    completed: &BTreeSet<GangKey>,
) -> Vec<Note> {
    let pods = taken.iter().filter_map(|(pod, _)| account.pod(pod));
    let pods: Vec<&Pod> = pods.collect();
    let mut limits = BTreeMap::new();
    for pod in &pods {
        limits.extend(account.queues.limits(&pod.gang));
    }
    let mut notes = Vec::new();
    for (queue, limit) in limits {
        let gangs: BTreeSet<&GangKey> = account.queues.gangs_in(queue).collect();
        if gangs.iter().any(|gang| completed.contains(gang)) {
            continue;
        }
        let own = pods.iter().filter(|pod| gangs.contains(&pod.gang));
        let own: Vec<&&Pod> = own.collect();
        let grows = |resource: &str| own.iter().any(|pod| pod.requests(resource) > 0);
        for (resource, most) in limit.iter().filter(|(resource, _)| grows(resource)) {
            let held = gangs.iter().map(|gang| account.holds(gang, resource));
            let held: i128 = held.sum();
            if held > i128::from(*most) {
                let note = format!("queue {queue} holds {held} of at most {most} {resource}");
                notes.push(note);
            }
        }
    }
    notes
}
