//! Terms that a gang which runs asks for by an edit: it has them once its queue would let a new gang start on
//! them.

use super::charges::{charge_who_runs, protected};
use super::notes::Refusal;
use super::{Cycle, quota_words};
use crate::fairness;
use crate::state::{ClusterState, Eased, GangId, Terms};
use muster_model::units::Time;
use muster_model::{Lifetime, Why};
use std::collections::BTreeSet;

/// Has a gang ask anew for what it was not granted: the books have changed.
pub fn ask_again(cx: &mut Cycle<'_>, gang_id: GangId) {
    if let Some(refusal) = &mut cx.agenda.note_mut(gang_id).not_granted {
        refusal.until = Some(Time::ZERO);
    }
}

/// Gives a gang the terms that it asks for, or finds out why not.
pub(super) fn grant(cx: &mut Cycle<'_>, gang_id: GangId) {
    let Some(asked) = cx.state[gang_id].asks else {
        cx.agenda.note_mut(gang_id).not_granted = None;
        return;
    };
    if let Some(why) = fairness::refuses(cx.state, &cx.state[gang_id], asked.queue) {
        return refuse(cx, gang_id, asked, &why, None);
    }
    let before = cx.agenda.note(gang_id).not_granted.as_ref();
    if before.is_some_and(|refusal| refusal.stands(asked, cx.now)) {
        return;
    }
    cx.state.settle();
    let holds = cx.state[gang_id].in_use.clone();
    let stays = protected(cx, gang_id);
    let look = |state: &ClusterState| fairness::check_terms(state, asked, &holds, &stays);
    match cx.state.as_if_it_held_nothing(gang_id, look) {
        Ok(_) => {
            cx.state.grant(gang_id);
            cx.agenda.note_mut(gang_id).not_granted = None;
            charge_who_runs(cx, &BTreeSet::from([gang_id]));
        }
        Err(blocked) => {
            let why = quota_words::why(cx.state, asked.queue, &blocked);
            let eased = match blocked.by {
                Some(queue) if blocked.for_good => Eased::Terms(queue),
                by => Eased::Use(by),
            };
            cx.agenda.hold_apart(eased, gang_id);
            if let Some(until) = blocked.until {
                cx.agenda.at(until, gang_id);
            }
            let until = blocked.until.unwrap_or(Time(u64::MAX));
            refuse(cx, gang_id, asked, &why, Some(until));
        }
    }
}

/// Notes why a gang does not have what it asks for; until when that holds, where only its queue's books say so.
fn refuse(cx: &mut Cycle<'_>, gang_id: GangId, asked: Terms, why: &Why, until: Option<Time>) {
    let message = in_words(cx.state, gang_id, asked, &why.message);
    cx.agenda.note_mut(gang_id).not_granted = Some(Refusal {
        asked,
        why: Why::new(why.reason.clone(), &message),
        until,
    });
}

fn in_words(state: &ClusterState, gang_id: GangId, asked: Terms, why: &str) -> String {
    let gang = &state[gang_id];
    let (mut asks, mut has) = (Vec::new(), Vec::new());
    if gang.queue != Some(asked.queue) {
        let name = state.queues().get(asked.queue).map(|one| &*one.name);
        asks.push(format!("queue {}", name.unwrap_or_default()));
        has.push(format!("in queue {}", state.queue_name(gang_id)));
    }
    if gang.lifetime != asked.lifetime {
        asks.push(lifetime(asked.lifetime));
        has.push(format!("with {}", lifetime(gang.lifetime)));
    }
    let (asks, has) = (asks.join(" and "), has.join(" "));
    format!("it asks for {asks}, and runs on {has}: {why}")
}

fn lifetime(lifetime: Lifetime) -> String {
    match lifetime {
        Lifetime::Unlimited => "an unlimited lifetime".to_owned(),
        Lifetime::Limited(span) => format!("a lifetime of {span}"),
    }
}
