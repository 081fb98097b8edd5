//! Who might have to go for a gang, in the order of harm (source: mission, "Preemption").

use crate::core::actions::{Cycle, Stage};
use crate::core::placement::Demand;
use crate::core::state::{
    ClusterState, Eviction, Gang, GangId, Pod, PodId, Queue, QueueId, Standing,
};
use crate::core::units::{Millis, Time};
use std::cmp::Reverse;

/// For so long after the API server refused to delete one of its members, a gang is not asked again.
const REFUSED_FOR: Millis = Millis(60_000);

/// What goes together or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// Whose members.
    pub(super) gang: GangId,
    /// One member beyond the minimum, or all.
    pub(super) pods: Vec<PodId>,
    /// Whether that is the whole gang.
    pub(super) whole: bool,
}

/// How much harm it does: what comes first does least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Harm {
    /// A member beyond the minimum: of the queue furthest over its share, the latest.
    Surplus {
        over: Reverse<u64>,
        created: Reverse<Time>,
    },
    /// A gang past its lifetime, of a queue over its share.
    Expired { priority: i32, pods: usize },
    /// A gang of lower priority, of the same queue.
    Lower { priority: i32, pods: usize },
}

/// All who may have to go for a gang, least harm first.
pub(super) fn units(cx: &Cycle<'_>, gang_id: GangId) -> Vec<Unit> {
    let state = &*cx.state;
    let own = &state[gang_id];
    let Some(own_queue) = own.queue else {
        return Vec::new();
    };
    let needy = is_below_its_share(state, own_queue, gang_id);
    let mut all = Vec::new();
    for (id, gang) in state.gangs() {
        let counts = gang.counts();
        let Some(queue) = gang.queue.filter(|_| id != gang_id && counts.bound() > 0) else {
            continue;
        };
        let same_queue = queue == own_queue;
        let over = over_its_share(state, queue);
        // Who is not whole, or leaves already, is left alone: it is completed, or goes anyway. Of whom
        // nobody said what they need, all are needed.
        let undefined = gang.definition().is_none() && !gang.is_single();
        let releasing = cx.agenda.progress(id).stage() == Stage::Releasing;
        if undefined
            || releasing
            || refuses(cx, gang)
            || gang.unsecured() > 0
            || !(same_queue || (needy && over > 0))
        {
            continue;
        }
        if !same_queue || gang.priority <= own.priority {
            surplus(state, id, gang, over, &mut all);
        }
        let expired = cx.is_expired(id);
        let priority = gang.priority;
        let whole = |harm: fn(i32, usize) -> Harm| {
            let pods = members(state, gang);
            (harm(priority, pods.len()), id, pods, true)
        };
        if same_queue && priority < own.priority {
            all.push(whole(|priority, pods| Harm::Lower { priority, pods }));
        } else if !same_queue && expired {
            all.push(whole(|priority, pods| Harm::Expired { priority, pods }));
        }
    }
    all.sort();
    let unit = |(_, gang, pods, whole)| Unit { gang, pods, whole };
    all.into_iter().map(unit).collect()
}

/// The members of a gang beyond its minimum, one by one.
fn surplus(
    state: &ClusterState,
    id: GangId,
    gang: &Gang,
    over: u64,
    all: &mut Vec<(Harm, GangId, Vec<PodId>, bool)>,
) {
    // Who is still on the way to a node does not stand in for who leaves one.
    let spare = i64::from(gang.secured()) - i64::from(gang.min_available());
    let mut spare = usize::try_from(spare).unwrap_or(0);
    if spare == 0 {
        return;
    }
    for (index, subgroup) in gang.subgroups.iter().enumerate() {
        let beyond = subgroup.secured().saturating_sub(subgroup.min) as usize;
        let mut pods: Vec<_> = gang.members.iter().copied().collect();
        pods.retain(|pod| {
            let pod = state.pod(*pod);
            pod.is_some_and(|pod| pod.subgroup == Some(index) && may_go(state, pod))
        });
        let created = |pod: &PodId| state.pod(*pod).map_or(Time::ZERO, |pod| pod.created);
        pods.sort_by_key(|pod| Reverse((created(pod), *pod)));
        for pod in pods.into_iter().take(beyond.min(spare)) {
            spare -= 1;
            let harm = Harm::Surplus {
                over: Reverse(over),
                created: Reverse(created(&pod)),
            };
            all.push((harm, id, vec![pod], false));
        }
    }
}

/// Whether the API server has lately refused to delete one of its members.
fn refuses(cx: &Cycle<'_>, gang: &Gang) -> bool {
    let lately = |pod: &Pod| match pod.eviction {
        Eviction::Refused(at) => cx.now.since(at) < REFUSED_FOR,
        _ => false,
    };
    let mut members = gang.members.iter().filter_map(|id| cx.state.pod(*id));
    members.any(lately)
}

/// The members of a gang that hold a node.
fn members(state: &ClusterState, gang: &Gang) -> Vec<PodId> {
    let holds = |id: &&PodId| state.pod(**id).is_some_and(|pod| pod.room().is_some());
    gang.members.iter().filter(holds).copied().collect()
}

fn may_go(state: &ClusterState, pod: &Pod) -> bool {
    let standing = state.standing(pod);
    matches!(standing, Standing::Bound | Standing::Running) && !pod.eviction.is_under_way()
}

/// By how much a queue is over its fair share, in worth.
fn over_its_share(state: &ClusterState, queue: QueueId) -> u64 {
    let queue = state.queues().path(queue).next();
    queue.map_or(0, |(_, queue)| {
        usage(state, queue).saturating_sub(queue.account.share)
    })
}

/// Whether a queue would still be at or below its fair share with a gang.
fn is_below_its_share(state: &ClusterState, queue: QueueId, gang: GangId) -> bool {
    let Some((_, queue)) = state.queues().path(queue).next() else {
        return false;
    };
    let mut with = queue.account.held.all.clone();
    with.add_all(&Demand::amounts(state, gang));
    state.weights().of(&with) <= queue.account.share
}

fn usage(state: &ClusterState, queue: &Queue) -> u64 {
    state.weights().of(&queue.account.held.all)
}
