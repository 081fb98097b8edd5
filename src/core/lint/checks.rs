//! What must hold of a plan: one function a rule. The rules are those of docs/architecture.md.

use super::Note;
use super::account::Account;
use super::allowed::not_allowed;
use super::asked;
use super::books::Count;
use super::books::Labels;
use super::claims;
use super::company::{firsts, in_company};
use super::kept::may_be_there;
use super::limits;
use super::places::{near_enough, not_shared};
use super::slots;
use super::spread::Spreads;
use super::volumes;
use muster_model::Exemptions;
use muster_model::units::Time;
use muster_model::{Bind, Evict, EvictCause, GangKey, GangSpace, PodKey, PodWaits};
use muster_model::{Effect, GangPhase, GangStatus, HeldPlace, MAX_MESSAGE, Outcome, Plan};
use std::collections::{BTreeMap, BTreeSet};

/// Looks at a plan and takes its orders down.
pub(super) fn look(
    account: &mut Account,
    plan: &Plan,
    exempt: &Exemptions,
    now: Time,
) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut bound: BTreeMap<GangKey, Labels> = BTreeMap::new();
    let firsts = firsts(account, plan);
    let completed = limits::to_be_completed(account, plan);
    let mut places = Places::new(plan, exempt);
    let (mut released, mut preempted) = (BTreeSet::new(), BTreeSet::new());
    for effect in &plan.effects {
        if let Effect::GiveUp(id) = effect {
            account.asked.give_up(*id);
        }
    }
    for effect in &plan.effects {
        match effect {
            Effect::Bind(order) => {
                places.before_next_bind(account);
                notes.extend(bind(account, order));
                notes.extend(slots::bind(account, order));
                // What is asked in this plan comes after its binds, and is about another decision.
                notes.extend(asked::nothing_open(account, order));
                let like_it = |other: &PodKey| account.need_the_same_once_bound(&order.pod, other);
                notes.extend(account.advised.unfit(order, like_it));
                slots::take_down(account, order);
                places.bind(account, order);
                if let Some(pod) = account.pod(&order.pod) {
                    let labels = bound.entry(pod.gang.clone()).or_default();
                    labels.insert(pod.subgroup.clone());
                }
            }
            Effect::Recall(pod) => {
                notes.extend(recall(account, pod));
                account.change(pod, |pod| pod.recalled = true);
            }
            Effect::Evict(order) => {
                notes.extend(evict(account, order));
                account.change(&order.pod, |pod| {
                    pod.evicting = true;
                    pod.refused = false;
                });
                match order.cause {
                    EvictCause::Release => released.extend(gang_of(account, &order.pod)),
                    EvictCause::Preemption => preempted.extend(gang_of(account, &order.pod)),
                }
            }
            Effect::PodWaits(order) => notes.extend(waits(account, order)),
            Effect::Ask(question) => {
                account.volumes.ask(question);
                account.advised.ask(question);
                notes.extend(asked::ask(account, question));
            }
            Effect::GiveUp(_)
            | Effect::GangStatus(_)
            | Effect::GangSilent(..)
            | Effect::QueueStatus(_)
            | Effect::TopologyStatus(_)
            | Effect::TopologyDoubt(_) => {}
        }
    }
    places.rest(account);
    for (pod, node) in &places.taken {
        places.notes.extend(in_company(account, pod, node, &firsts));
    }
    claims::take_down(account, &plan.claims);
    if !exempt.overcommit {
        notes.extend(claims::respected(account, &places.taken));
        notes.extend(slots::respected(account, &places.taken));
    }
    limits::take_down(account, plan);
    notes.extend(limits::exceeded(account, &places.taken, &completed));
    notes.extend(places.notes);
    for effect in &plan.effects {
        match effect {
            Effect::Bind(order) => notes.extend(place(account, order, exempt)),
            Effect::GangStatus(of_gang) => notes.extend(status(account, of_gang)),
            _ => {}
        }
    }
    for (gang, added_to) in &bound {
        notes.extend(minimum_or_nothing(account, gang, added_to));
        notes.extend(near_enough(account, gang, added_to));
    }
    for gang in &released {
        notes.extend(whole_release(account, gang));
    }
    for gang in &preempted {
        notes.extend(kept_or_whole(account, gang));
    }
    for one in &plan.onto_kept {
        notes.extend(may_be_there(account, one, now));
    }
    for decision in &plan.decisions {
        if let Outcome::Waits { reason, message } = &decision.outcome {
            notes.extend(words(reason, message).map(|note| format!("{}: {note}", decision.gang)));
        }
    }
    for note in &mut notes {
        *note = format!("at {}: {note}", now.since(Time::ZERO));
    }
    notes
}

/// The places that a plan takes and gives back, in the order of decision. What depends on where others
/// are is looked at when a place is taken: by a bind, or for a decision that waits.
struct Places<'a> {
    held: std::iter::Peekable<std::slice::Iter<'a, HeldPlace>>,
    binds: usize,
    spreads: Spreads,
    allow_uneven: bool,
    /// Who takes which.
    taken: Vec<(&'a PodKey, &'a str)>,
    notes: Vec<Note>,
}

impl<'a> Places<'a> {
    fn new(plan: &'a Plan, exempt: &Exemptions) -> Self {
        Self {
            held: plan.held.iter().peekable(),
            binds: 0,
            spreads: Spreads::default(),
            allow_uneven: exempt.uneven,
            taken: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Takes down what was held and let go before the next bind.
    fn before_next_bind(&mut self, account: &mut Account) {
        while let Some(one) = self.held.next_if(|one| one.after <= self.binds) {
            self.hold(account, one);
        }
    }

    /// Takes down what was held and let go after the last bind.
    fn rest(&mut self, account: &mut Account) {
        while let Some(one) = self.held.next() {
            self.hold(account, one);
        }
    }

    fn hold(&mut self, account: &mut Account, one: &'a HeldPlace) {
        if let Some(node) = &one.node {
            self.take(account, &one.pod, node);
        } else {
            self.taken.retain(|(pod, _)| **pod != one.pod);
            self.spreads.forget();
        }
        account.change(&one.pod, |pod| pod.held.clone_from(&one.node));
    }

    fn bind(&mut self, account: &mut Account, order: &'a Bind) {
        self.binds += 1;
        let held = account.pod(&order.pod).and_then(|pod| pod.held.as_ref());
        if held != Some(&order.node) {
            self.take(account, &order.pod, &order.node);
        }
        account.change(&order.pod, |pod| {
            pod.held = None;
            pod.ordered = Some(order.node.clone());
        });
    }

    fn take(&mut self, account: &Account, pod: &'a PodKey, node: &'a str) {
        let uneven = self.spreads.look(account, pod, node);
        self.notes.extend(uneven.filter(|_| !self.allow_uneven));
        self.taken.push((pod, node));
    }
}

/// What speaks against the place of a bind, once it is taken down.
pub(super) fn place(account: &Account, order: &Bind, exempt: &Exemptions) -> Vec<Note> {
    let room = || room(account, order);
    let mut notes: Vec<Note> = (!exempt.overcommit)
        .then(room)
        .flatten()
        .into_iter()
        .collect();
    notes.extend(not_shared(account, order));
    let unfit = || not_allowed(account, order);
    notes.extend((!exempt.unfit).then(unfit).flatten());
    notes.extend(volumes::bind(account, order));
    notes
}

fn gang_of(account: &Account, pod: &PodKey) -> Option<GangKey> {
    account.pod(pod).map(|pod| pod.gang.clone())
}

/// A bind is for a pod of ours that waits, once, on a node that is there.
pub(super) fn bind(account: &Account, order: &Bind) -> Option<Note> {
    let pod = &order.pod;
    let Some(found) = account.pod(pod) else {
        return Some(format!("bind of {pod}, which does not exist"));
    };
    let wrong = if !found.ours && !slots::is_ghost(account, found) {
        "is another scheduler's"
    } else if found.node.is_some() {
        "is bound already"
    } else if found.ordered.is_some() {
        "is on its way already"
    } else if found.terminating || found.phase.is_terminal() {
        "has ended or is going"
    } else if found.held_back {
        "is held back"
    } else if !account.has_node(&order.node) {
        "would go to a node that does not exist"
    } else {
        return None;
    };
    Some(format!("bind of {pod} to {}: it {wrong}", order.node))
}

/// No node has more in use than it offers, of what the new pod requests.
fn room(account: &Account, order: &Bind) -> Option<Note> {
    let found = account.pod(&order.pod)?;
    let excess = account.excess(found, &order.node)?;
    let (pod, node) = (&order.pod, &order.node);
    Some(format!(
        "bind of {pod}: node {node} would have {excess} in use"
    ))
}

/// A gang is bound with all of its minimum, or not at all; no subgroup exceeds its maximum.
pub(super) fn minimum_or_nothing(
    account: &Account,
    key: &GangKey,
    added_to: &Labels,
) -> Option<Note> {
    if key.space == GangSpace::Own {
        return None;
    }
    let gang = account.gangs.get(key)?;
    let Some(spec) = gang.definition() else {
        return Some(format!("gang {key} is bound without a PodGroup"));
    };
    if let Some(invalid) = &spec.invalid {
        return Some(format!("gang {key} is bound although {invalid}"));
    }
    if let Some(lacks) = gang.lacks(|counts| counts.available()) {
        return Some(format!("gang {key} is bound in part: {lacks}"));
    }
    let exceeds = gang.exceeds(added_to)?;
    Some(format!("gang {key} is bound beyond its maximum: {exceeds}"))
}

/// What is asked back is on its way.
fn recall(account: &Account, pod: &PodKey) -> Option<Note> {
    let on_its_way = account.pod(pod).is_some_and(|pod| pod.ordered.is_some());
    (!on_its_way).then(|| format!("recall of {pod}, which is not on its way"))
}

/// An eviction is of a pod of ours that is bound, once, and says why.
fn evict(account: &Account, order: &Evict) -> Option<Note> {
    let pod = &order.pod;
    let Some(found) = account.pod(pod) else {
        return Some(format!("eviction of {pod}, which does not exist"));
    };
    let of_slot = found
        .ghost_of
        .as_ref()
        .and_then(|_| slots::evict(account, order, found));
    let wrong = if let Some(wrong) = of_slot {
        wrong
    } else if !found.ours && found.ghost_of.is_none() {
        "is another scheduler's"
    } else if !found.holds_node() {
        "holds no node"
    } else if found.evicting {
        "is being evicted already"
    } else if found.terminating {
        "is going already"
    } else if order.message.is_empty() {
        "is not told why"
    } else {
        return None;
    };
    Some(format!("eviction of {pod}: it {wrong}"))
}

/// A gang is released because it is below its minimum, and as a whole.
fn whole_release(account: &Account, key: &GangKey) -> Option<Note> {
    let gang = account.gangs.get(key)?;
    if gang.definition().is_some() && gang.lacks(|counts| counts.secured()).is_none() {
        return Some(format!(
            "gang {key} is released although it has its minimum"
        ));
    }
    let stays = account.staying(key).next()?;
    Some(format!("gang {key} is released and {} stays", stays.key))
}

/// A gang that makes room for another keeps its minimum, or goes as a whole.
fn kept_or_whole(account: &Account, key: &GangKey) -> Option<Note> {
    let gang = account.gangs.get(key)?;
    gang.lacks(|counts| counts.secured())?;
    let stays = account.staying(key).next()?;
    Some(format!(
        "gang {key} is cut below its minimum to make room, and {} stays",
        stays.key
    ))
}

/// A pod of which it is said why it waits exists and waits.
fn waits(account: &Account, order: &PodWaits) -> Option<Note> {
    let pod = &order.pod;
    let Some(found) = account.pod(pod) else {
        return Some(format!("{pod} waits, and does not exist"));
    };
    if !found.ours || found.node.is_some() || found.ordered.is_some() {
        return Some(format!("{pod} waits, and has a node or is not ours"));
    }
    words(&order.reason, &order.message).map(|note| format!("{pod}: {note}"))
}

/// What a status says is so, of a gang that is ours.
fn status(account: &Account, status: &GangStatus) -> Option<Note> {
    let key = &status.gang;
    let Some(gang) = account.gangs.get(key) else {
        return Some(format!("status of gang {key}, which does not exist"));
    };
    if !gang.is_ours(account.claims.contains(&key.namespace)) {
        return Some(format!("status of gang {key}, which is not ours"));
    }
    let counts = gang.everybody();
    let said = [
        status.bound,
        status.running,
        status.succeeded,
        status.failed,
    ]
    .map(i64::from);
    let found = [
        counts.holding(),
        counts.of(Count::Running),
        counts.of(Count::Succeeded) + counts.of(Count::Retired),
        counts.of(Count::Failed),
    ];
    if said != found {
        return Some(format!(
            "gang {key}: bound, running, succeeded, failed are {found:?}, not {said:?}"
        ));
    }
    let lacks = gang.lacks(|counts| counts.secured());
    let scheduled = status.conditions.iter().find(|one| one.kind == "Scheduled");
    if scheduled.is_some_and(|one| one.status) && lacks.is_some() {
        return Some(format!(
            "gang {key} is said to be scheduled, and has {lacks:?}"
        ));
    }
    let runs = status.phase == GangPhase::Running;
    if runs && (lacks.is_some() || status.position.is_some()) {
        return Some(format!("gang {key} is said to run, and waits: {lacks:?}"));
    }
    let mut conditions = status.conditions.iter();
    conditions.find_map(|one| {
        let note = words(&one.reason, &one.message)?;
        Some(format!("gang {key}, condition {}: {note}", one.kind))
    })
}

/// A reason is one word; a message is bounded.
fn words(reason: &str, message: &str) -> Option<Note> {
    let upper = reason.starts_with(|first: char| first.is_ascii_uppercase());
    if !upper || !reason.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Some(format!("reason {reason:?} is not CamelCase"));
    }
    let length = message.len();
    (length > MAX_MESSAGE).then(|| format!("a message of {length} bytes"))
}
