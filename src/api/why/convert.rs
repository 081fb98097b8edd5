//! From the core's explanations to their JSON.

use super::types::{self as json, ClockKind};
use muster_core::engine::{
    self as core, Asked, AskedAll, Claim, HangsOn, Loses, Lost, NotAsked, Protection, Spared, Taker,
};
use muster_core::state::Near;
use muster_model::Condition;
use muster_model::resources::CORE;
use muster_model::units::{Millis, Time};
use muster_model::{GangSpace, Lifetime};

/// A gang's explanation.
#[must_use]
pub fn gang(from: &core::GangExplanation, clock: ClockKind) -> json::Gang {
    let (namespace, name) = from.title.split_once('/').unwrap_or(("", &from.title));
    let single = from.key.space == GangSpace::Own;
    json::Gang {
        kind: if single { "Pod" } else { "PodGroup" }.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        clock,
        as_of: seconds(from.at),
        phase: from.phase.as_str().to_owned(),
        condition: condition(&from.says),
        priority: from.priority,
        lifetime_seconds: match from.lifetime {
            Lifetime::Unlimited => None,
            Lifetime::Limited(Millis(span)) => Some(seconds(Time(span))),
        },
        submitted_at: from.submitted.map(seconds),
        members: members(&from.members),
        queue: from.queue.as_ref().map(books),
        waits: from.waits.as_ref().map(waits),
        runs: from.runs.as_ref().map(runs),
        disruption: from.disruption.as_ref().map(|one| json::Disruption {
            at: seconds(one.at),
            by: one.by.as_ref().map(|(gang, _)| gang.clone()),
            by_queue: one.by.as_ref().map(|(_, queue)| queue.clone()),
            why: lost(one.lost).to_owned(),
            pods: one.pods,
        }),
        refused: from.refused.as_ref().map(reason),
        back_at: from.back_at.map(seconds),
    }
}

/// A queue's explanation.
#[must_use]
pub fn queue(from: &core::QueueExplanation, clock: ClockKind) -> json::Queue {
    json::Queue {
        kind: "Queue".to_owned(),
        clock,
        as_of: seconds(from.at),
        books: books(&from.books),
        condition: condition(&from.says),
        holders: from.holders.iter().map(holder).collect(),
        holder_count: from.holder_count,
        borrows: from
            .borrows
            .iter()
            .map(|one| json::Lender {
                name: one.name.clone(),
                unused: cores(one.unused),
                waiting: one.waiting,
                to: one.to.clone(),
            })
            .collect(),
        lender_count: from.lender_count,
        surplus: from.surplus,
        expired: from.expired,
        spared: spared_gangs(&from.spared),
        first: from.first.clone(),
        head: from.head.as_ref().map(condition),
        children: from
            .children
            .iter()
            .map(|one| json::Child {
                name: one.name.clone(),
                fair_share: cores(one.share),
                usage: cores(one.usage),
                waiting: one.waiting,
            })
            .collect(),
        child_count: from.child_count,
    }
}

fn condition(from: &Condition) -> json::ConditionSaid {
    json::ConditionSaid {
        kind: from.kind.to_owned(),
        status: from.status,
        reason: from.reason.to_owned(),
        message: from.message.clone(),
    }
}

fn reason((name, message): &(String, String)) -> json::Reason {
    json::Reason {
        name: name.clone(),
        message: message.clone(),
    }
}

const fn members(from: &core::Members) -> json::Members {
    json::Members {
        minimum: from.minimum,
        all: from.all,
        bound: from.bound,
        running: from.running,
        assumed: from.assumed,
        leaving: from.leaving,
        succeeded: from.succeeded,
        failed: from.failed,
    }
}

fn books(from: &core::Books) -> json::QueueBooks {
    let bounds = |all: &[core::Bound]| {
        let bound = |one: &core::Bound| json::Bound {
            resource: one.resource.clone(),
            held: one.held.clone(),
            bound: one.bound.clone(),
        };
        all.iter().map(bound).collect()
    };
    json::QueueBooks {
        name: from.name.clone(),
        parent: from.parent.clone(),
        exists: from.exists,
        fair_share: cores(from.share),
        usage: cores(from.usage),
        over: cores(from.over()),
        flow: cores(from.flow),
        flow_limit: from.most.map(cores),
        budget_left: thousandths(from.budget_left / 60),
        cluster: cores(from.cluster),
        limits: bounds(&from.limits),
        guaranteed: bounds(&from.guaranteed),
        waiting: from.waiting,
    }
}

fn waits(from: &core::Waits) -> json::Waits {
    json::Waits {
        position: from.position,
        ahead: json::Ahead {
            count: from.ahead.count,
            first: from.ahead.first.clone(),
            held_back: from.ahead.held_back.as_ref().map(reason),
        },
        tried_at: from.tried_at.map(seconds),
        short: from.short.as_ref().map(short),
        held: from.held.as_ref().map(|held| json::Held {
            by: held.by.clone(),
            until: held.until.map(seconds),
            for_good: held.for_good,
        }),
        asked: from.asked.as_ref().map(asked),
        place: from.place.as_ref().map(place),
        kept_for: from.kept_for.as_ref().map(|kept| json::KeptFor {
            first: kept.first.clone(),
            nodes: kept.nodes,
            others: kept.others,
        }),
        room_held: from
            .room_held
            .map(|(nodes, leaving)| json::RoomHeld { nodes, leaving }),
        start: json::Start {
            at: from.start.at.map(seconds),
            hangs_on: hangs_on(from.start.hangs_on).to_owned(),
        },
    }
}

fn short(from: &core::Short) -> json::Short {
    let count = |(name, count): &(String, usize)| json::NodeCount {
        name: name.clone(),
        count: *count,
    };
    json::Short {
        fit: from.fit,
        needed: from.needed,
        pod: from.pod.clone(),
        nodes: from.nodes,
        reasons: from.reasons.iter().map(count).collect(),
        closest: from.closest.as_ref().map(|closest| json::Closest {
            node: closest.node.clone(),
            lacks: closest
                .lacks
                .iter()
                .map(|lack| json::Lack {
                    resource: lack.resource.clone(),
                    amount: lack.amount.clone(),
                })
                .collect(),
        }),
    }
}

fn asked(from: &Asked) -> json::Asked {
    let nobody = |outcome: &str| json::Asked {
        outcome: outcome.to_owned(),
        ..json::Asked::default()
    };
    match from {
        Asked::HeldBack => nobody("HeldBack"),
        Asked::Nobody(NotAsked::NotMissing) => nobody("NotMissing"),
        Asked::Nobody(NotAsked::PartlyBound) => nobody("PartlyBound"),
        Asked::Nobody(NotAsked::Postponed) => nobody("Postponed"),
        Asked::Nobody(NotAsked::Never) => nobody("Never"),
        Asked::Nobody(NotAsked::Behind { heads }) => json::Asked {
            heads: Some(*heads),
            ..nobody("Behind")
        },
        Asked::Found(all) => json::Asked {
            outcome: "Found".to_owned(),
            ..asked_all(all)
        },
        Asked::InVain(all, proven) => json::Asked {
            outcome: "InVain".to_owned(),
            proven: *proven,
            ..asked_all(all)
        },
    }
}

fn asked_all(all: &AskedAll) -> json::Asked {
    json::Asked {
        outcome: String::new(),
        proven: false,
        heads: None,
        at: Some(seconds(all.at)),
        go: all.go,
        go_of: all.go_of.clone(),
        may_go: all.may_go,
        example: all.example.clone(),
        leaving: all.leaving,
        spared: spared_gangs(&all.spared),
        foreign: all.foreign,
    }
}

fn place(from: &core::ReservedPlace) -> json::Place {
    let holder = |(name, at): &(String, Option<Time>)| json::PlaceHolder {
        name: name.clone(),
        ends_at: at.map(seconds),
    };
    json::Place {
        nodes: from.nodes,
        at: from.at.map(seconds),
        holders: from.holders.iter().map(holder).collect(),
        holder_count: from.holder_count,
    }
}

fn spared_gangs(from: &core::SparedGangs) -> Vec<json::SparedCount> {
    let count = |(why, gangs, example): (Spared, u32, &str)| json::SparedCount {
        reason: spared(why).to_owned(),
        plugin: why.plugin().map(str::to_owned),
        gangs,
        example: example.to_owned(),
        until: why.until().map(seconds),
    };
    from.iter().map(count).collect()
}

fn runs(from: &core::Runs) -> json::Runs {
    let nodes = from.nodes.iter().map(|(name, pods)| json::NodeCount {
        name: name.clone(),
        count: *pods as usize,
    });
    let could = |one: &core::Could| {
        let (all, surplus, kept) = match one.loses {
            Loses::All => (true, 0, None),
            Loses::Surplus(surplus, why) => (false, surplus, Some(why)),
            Loses::Nothing(why) => (false, 0, Some(why)),
        };
        json::Could {
            to: taker(one.to).to_owned(),
            all,
            surplus,
            kept: kept.map(|why| spared(why).to_owned()),
            plugin: kept.and_then(Spared::plugin).map(str::to_owned),
            until: kept.and_then(Spared::until).map(seconds),
        }
    };
    json::Runs {
        since: from.since.map(seconds),
        nodes: nodes.collect(),
        node_count: from.node_count,
        near: from.near.iter().map(near).collect(),
        own_nodes: from.own_nodes,
        lost_opportunity: Some(cores(from.lost)),
        packed: from.packed.map(|one| json::Packed {
            lost: cores(one.lost),
            at_least: cores(one.at_least),
        }),
        surplus: from.surplus,
        worth: cores(from.worth),
        protection: protection(from.protection),
        queue_over: cores(from.queue_over),
        could_lose: from.could_lose.iter().map(could).collect(),
    }
}

fn near(from: &Near) -> json::Near {
    let limit = from.limit.as_ref();
    json::Near {
        subgroup: from.subgroup.clone(),
        topology: from.topology.clone(),
        max_hops: from.hops,
        domain: from.domain.clone(),
        node: from.node.clone(),
        limit: limit.map(|(level, hops)| json::NearLimit {
            level: level.clone(),
            max_hops: *hops,
        }),
    }
}

fn holder(from: &core::Holder) -> json::Holder {
    json::Holder {
        name: from.title.clone(),
        worth: cores(from.worth),
        pods: from.pods,
        surplus: from.surplus,
        protection: protection(from.protection),
    }
}

fn protection(from: Protection) -> json::Protection {
    let (kind, at) = match from {
        Protection::Unlimited => ("Unlimited", None),
        Protection::Until(at) => ("Until", Some(at)),
        Protection::Over(at) => ("Over", Some(at)),
        Protection::Unknown => ("Unknown", None),
    };
    json::Protection {
        kind: kind.to_owned(),
        at: at.map(seconds),
    }
}

/// A reason to keep a place, as it stands in JSON.
pub(super) const fn spared(why: Spared) -> &'static str {
    match why {
        Spared::HoldsNothing => "HoldsNothing",
        Spared::Undefined => "Undefined",
        Spared::Leaving => "Leaving",
        Spared::Incomplete => "Incomplete",
        Spared::Refused(_) => "Refused",
        Spared::NotEntitled => "NotEntitled",
        Spared::WithinShare => "WithinShare",
        Spared::Priority => "Priority",
        Spared::Lifetime(Some(_)) => "Lifetime",
        Spared::Lifetime(None) => "Unlimited",
        Spared::NoSurplus => "NoSurplus",
        Spared::MinRuntime(_) => "MinRuntime",
        Spared::TooOften(_) => "TooOften",
        Spared::Evictor(_) => "Evictor",
        Spared::Critical => "Critical",
        Spared::Plugin(_) => "Plugin",
    }
}

/// Why a gang lost its place, as it stands in JSON.
pub(super) const fn lost(why: Lost) -> &'static str {
    match why {
        Lost::Surplus => "Surplus",
        Lost::Claimed(Claim::Expired) => "PastItsLifetime",
        Lost::Claimed(Claim::Due) => "Due",
        Lost::Claimed(Claim::Lower) => "LowerPriority",
        Lost::Moved => "Moved",
        Lost::NotCompleted => "NotCompleted",
    }
}

const fn taker(who: Taker) -> &'static str {
    match who {
        Taker::EqualInQueue => "EqualInQueue",
        Taker::HigherInQueue => "HigherInQueue",
        Taker::NeedyQueue => "NeedyQueue",
        Taker::Head => "Head",
    }
}

/// What a start hangs on, as it stands in JSON.
pub(super) const fn hangs_on(what: HangsOn) -> &'static str {
    match what {
        HangsOn::News => "News",
        HangsOn::NextDecision => "NextDecision",
        HangsOn::BackOff => "BackOff",
        HangsOn::Leaving => "Leaving",
        HangsOn::Flow => "Flow",
        HangsOn::Books => "Books",
        HangsOn::Ahead => "Ahead",
        HangsOn::Room => "Room",
        HangsOn::Lifetimes => "Lifetimes",
        HangsOn::Overdue => "Overdue",
        HangsOn::Place => "Place",
        HangsOn::KeptRoom => "KeptRoom",
        HangsOn::Never => "Never",
        HangsOn::Permit => "Permit",
        HangsOn::Answer => "Answer",
    }
}

/// Worth in cores, to the thousandth.
fn cores(worth: u64) -> f64 {
    thousandths(worth / (CORE / 1_000))
}

fn seconds(time: Time) -> f64 {
    thousandths(time.0)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "for people: what is beyond 2^53 thousandths is shown a little off"
)]
fn thousandths(amount: u64) -> f64 {
    amount as f64 / 1_000.0
}
