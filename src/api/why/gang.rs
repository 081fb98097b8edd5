//! A gang's explanation in words.

use super::time::{Clock, lasting};
use super::{Page, books, kept, list, many, protected, slots, spared, worth};
use muster_model::explanation::{
    Asked, ClaimKind, Could, Disruption, GangExplanation, HangsOn, Held, KeptFor, Lost, Members,
    Near, NodeCount, NotOurs, Outcome, Packed, Place, PlaceHolder, RoomClaim, Runs, Short, Start,
    Taker, Thousandths, Waits,
};
use muster_model::units::{Millis, Time};
use muster_model::{Lifetime, counted};

/// A gang's explanation in words. Its first line is the condition of its PodGroup.
#[must_use]
pub fn gang(gang: &GangExplanation) -> String {
    if let Some(whose) = &gang.not_ours {
        return not_ours(gang, whose);
    }
    let clock = Clock::new(gang.clock, gang.as_of);
    let mut page = Page::new(&gang.condition.message);
    head(&mut page, gang, clock);
    if let Some(one) = &gang.disruption {
        disruption(&mut page, gang, one, clock);
    }
    if let Some(runs) = &gang.runs {
        running(&mut page, runs, clock);
    }
    queue(&mut page, gang);
    claims(&mut page, &gang.claims, clock);
    slots::claimants(&mut page, gang);
    if let Some(waits) = &gang.waits {
        waiting(&mut page, gang, waits, clock);
    }
    page.0
}

/// All there is to say of a group that is not ours.
fn not_ours(gang: &GangExplanation, whose: &NotOurs) -> String {
    let GangExplanation {
        kind,
        namespace,
        name,
        ..
    } = gang;
    let scheduler = &whose.scheduler;
    let whose = match whose.by_pods {
        true => format!("its pods name {scheduler}"),
        false => format!("it has no pods, and its kind is {scheduler}'s"),
    };
    format!("{kind} {namespace}/{name} is not ours: {whose}\n")
}

fn head(page: &mut Page, gang: &GangExplanation, clock: Clock) {
    let GangExplanation {
        kind,
        namespace,
        name,
        phase,
        ..
    } = gang;
    let reason = match &*gang.condition.reason {
        "" => String::new(),
        reason => format!(", {reason}"),
    };
    page.line(
        kind,
        &format!(
            "{namespace}/{name}: {phase}{reason}, as of {}",
            clock.present()
        ),
    );
    let submitted = match gang.submitted_at {
        Some(at) => format!("submitted at {}, ", clock.at(at)),
        None => String::new(),
    };
    let lifetime = match gang.lifetime {
        Lifetime::Unlimited => "unlimited lifetime".to_owned(),
        Lifetime::Limited(Millis(0)) => "lifetime 0: it gives way at any time".to_owned(),
        Lifetime::Limited(length) => format!("lifetime {}", lasting(length)),
    };
    page.more(&format!(
        "{submitted}priority {}, {lifetime}",
        gang.priority
    ));
    if let Some(words) = &gang.not_granted {
        page.more(words);
    }
    for words in &gang.read_otherwise {
        page.more(words);
    }
    page.line("Members", &members(gang.members));
}

fn members(members: Members) -> String {
    let Members {
        minimum,
        all,
        bound,
        running,
        ..
    } = members;
    let mut text = format!("{minimum} must run; {all} there, {bound} on nodes ({running} running)");
    let others = [
        (members.assumed, "on the way to a node"),
        (members.leaving, "leaving"),
        (members.succeeded, "succeeded"),
        (members.failed, "failed"),
    ];
    for (some, what) in others.into_iter().filter(|(some, _)| *some > 0) {
        text.push_str(&format!(", {some} {what}"));
    }
    text
}

fn queue(page: &mut Page, gang: &GangExplanation) {
    let Some(queue) = &gang.queue else { return };
    let name = &queue.name;
    if !queue.exists {
        page.line("Queue", &format!("{name}: nobody declared it"));
        return;
    }
    let below = queue.parent.as_ref();
    let below = below.map_or_else(String::new, |parent| format!(" (below {parent})"));
    let place = place(gang.waits.as_ref(), queue.waiting);
    page.line("Queue", &format!("{name}{below}{place}"));
    books(page, queue);
}

/// Where a gang stands in its queue, and behind whom.
fn place(waits: Option<&Waits>, waiting: usize) -> String {
    let Some(waits) = waits else {
        return match waiting {
            0 => ": nobody waits in it".to_owned(),
            _ => format!(": {} in it", gangs_wait(waiting)),
        };
    };
    let first = list(&waits.ahead.first);
    match waits.position {
        Some(1) if waiting <= 1 => ": nobody else waits in it".to_owned(),
        Some(1) => format!(": it is the first of the {waiting} that wait"),
        Some(position) => {
            let ahead = position as usize - 1;
            let more = ahead.saturating_sub(waits.ahead.first.len());
            let more = match more {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!(": place {position} of the {waiting} that wait, behind {first}{more}")
        }
        None if !waits.ahead.first.is_empty() => {
            format!(": far behind in the line of {waiting}, whose first are {first}")
        }
        None => String::new(),
    }
}

fn gangs_wait(waiting: usize) -> String {
    match waiting {
        1 => "1 gang waits".to_owned(),
        many => format!("{many} gangs wait"),
    }
}

fn waiting(page: &mut Page, gang: &GangExplanation, waits: &Waits, clock: Clock) {
    if let Some(held) = &waits.held {
        page.line("Waits for", &what_books_say(held, clock));
    } else if let Some(head) = &waits.ahead.held_back {
        let (name, why) = (&head.name, &head.message);
        page.line("Waits for", &format!("{name}, which is ahead: {why}"));
    } else if let Some(short) = &waits.short {
        shortage(page, short);
    }
    if let Some(room) = waits.room_held {
        let (nodes, pods) = (counted(room.nodes, "node"), counted(room.leaving, "pod"));
        page.line(
            "Room",
            &format!("held for it on {nodes}, until {pods} have left"),
        );
    }
    if let Some(place) = &waits.place {
        reserved(page, place, clock);
    }
    if let Some(kept) = &waits.kept_for {
        page.line("Kept room", &kept_room(kept));
    }
    if let Some(asked) = &waits.asked {
        who_goes(page, gang, asked, clock);
    }
    page.line("May start", &may_start(&waits.start, clock));
    let tried = waits.tried_at.map_or_else(
        || "not since it waits for this".to_owned(),
        |at| format!("at {}", clock.at(at)),
    );
    page.line("Last tried", &tried);
}

/// What it has a claim to; of what others leave and of what is reserved more is said elsewhere.
fn claims(page: &mut Page, claims: &[RoomClaim], clock: Clock) {
    for claim in claims {
        let on = counted(claim.nodes, "node");
        let at = |time: Option<Time>| time.map(|at| clock.at(at)).unwrap_or_default();
        let said = match claim.kind {
            ClaimKind::Decided => format!("taken on {on}, and its binds are not ordered yet"),
            ClaimKind::Held => format!(
                "held on {on} for members that are not there yet, until {} if none comes",
                at(claim.until)
            ),
            ClaimKind::Returning => format!(
                "held on {on}, for it was moved, until {} at the latest",
                at(claim.until)
            ),
            _ => continue,
        };
        page.line("Room", &said);
    }
}

fn what_books_say(held: &Held, clock: Clock) -> String {
    let whose = match &held.by {
        Some(queue) => format!("what queue {queue} may hold"),
        None => "what other queues are guaranteed".to_owned(),
    };
    if held.for_good {
        return format!("{whose}: it asks for more than there may ever be");
    }
    match held.until {
        Some(until) => format!("{whose}; asked again at {}", clock.at(until)),
        None => format!("{whose}; asked again when that changes"),
    }
}

fn shortage(page: &mut Page, short: &Short) {
    let mut text = match short.fit {
        Some(fit) => format!(
            "room for {} of {}",
            short.needed.saturating_sub(fit),
            many(short.needed, "member")
        ),
        None => format!("room for {}", many(short.needed, "member")),
    };
    if !short.reasons.is_empty() {
        let said = |one: &NodeCount| format!("{} say {}", one.count, one.name);
        let said: Vec<String> = short.reasons.iter().map(said).collect();
        text.push_str(&format!(
            "; of {}, {}",
            counted(short.nodes, "node"),
            said.join(", ")
        ));
    }
    page.line("Waits for", &text);
    if let Some(closest) = &short.closest {
        let lacks: Vec<String> = closest.lacks.iter().map(|one| one.amount.clone()).collect();
        let (node, pod) = (
            &closest.node,
            short.pod.as_deref().unwrap_or("the next pod"),
        );
        page.more(&format!(
            "closest fit: node {node} lacks {} for {pod}",
            list(&lacks)
        ));
    }
}

/// The place that is reserved for it, and who is there.
fn reserved(page: &mut Page, place: &Place, clock: Clock) {
    let free = match place.at {
        Some(at) => format!("free by {}", clock.at(at)),
        None => "and nobody knows when it will be free".to_owned(),
    };
    let nodes = many(place.nodes, "node");
    page.line("Reserved", &format!("a place on {nodes}, {free}"));
    if place.holders.is_empty() {
        return;
    }
    let holder = |one: &PlaceHolder| match one.ends_at {
        Some(at) => format!("{} (lifetime until {})", one.name, clock.at(at)),
        None => format!("{} (nobody knows until when)", one.name),
    };
    let holders: Vec<String> = place.holders.iter().map(holder).collect();
    let more = match place.holder_count.saturating_sub(holders.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    page.more(&format!("there now: {}{more}", holders.join(", ")));
}

/// For whom room is kept that it may not take.
fn kept_room(kept: &KeptFor) -> String {
    let more = match kept.others {
        0 => String::new(),
        more => format!(", and for {}", counted(more, "other")),
    };
    let (on, first) = (counted(kept.nodes, "node"), &kept.first);
    format!("on {on} for {first}{more}, whose start it must not delay")
}

/// Who would have to go for it, and why they may not.
fn who_goes(page: &mut Page, gang: &GangExplanation, asked: &Asked, clock: Clock) {
    let title = "Others go";
    let text = match &asked.outcome {
        Outcome::HeldBack => "nobody is asked to: its queue does not let it start".to_owned(),
        Outcome::NotMissing => {
            "nobody: its minimum has a place, and nobody goes for more".to_owned()
        }
        Outcome::PartlyBound => {
            "nobody: a part of it is bound; it is completed with what is free, or released"
                .to_owned()
        }
        Outcome::Postponed => "not asked yet: only so many plans are made at once".to_owned(),
        Outcome::Never => "nobody is asked to: its preemptionPolicy is Never".to_owned(),
        Outcome::Behind => {
            let heads = asked.heads.unwrap_or_default();
            format!("nobody yet: only the first {heads} gangs of a queue have others asked to go")
        }
        Outcome::Found => {
            let (go, leaving) = (many(asked.go, "pod"), asked.leaving);
            let of = list(&asked.go_of);
            match (asked.go, leaving) {
                (0, _) => "nobody has to: those that leave anyway are enough".to_owned(),
                (_, 0) => format!("{go} of {of}"),
                _ => format!("{go} of {of}; {leaving} leave anyway"),
            }
        }
        Outcome::InVain if asked.may_go == 0 && asked.leaving == 0 => {
            "nobody may be made to go for it:".to_owned()
        }
        Outcome::InVain => {
            let example = asked.example.as_ref();
            let of = example.map_or_else(String::new, |one| format!(" (of {one})"));
            let (go, leave) = (many(asked.may_go, "pod"), asked.leaving);
            format!(
                "not enough: {go} may be made to go{of} and {leave} leave anyway; the others keep their place:"
            )
        }
        Outcome::Other(other) => other.clone(),
    };
    page.line(title, &text);
    if asked.outcome != Outcome::InVain {
        return;
    }
    if !asked.proven {
        page.more("(searched only in part: there may be a way that was not seen)");
    }
    let whose = gang.queue.as_ref().map_or("", |queue| queue.name.as_str());
    for one in &asked.spared {
        let words = spared(one, clock).replace("the queue that asks", &format!("queue {whose}"));
        page.more(&format!("- {words}"));
    }
    if asked.foreign > 0 {
        let pods = many(asked.foreign, "pod");
        page.more(&format!("- {pods} of other schedulers: never touched"));
    }
    if asked.spared.is_empty() && asked.foreign == 0 {
        page.more("- nobody else runs");
    }
    if let Some(at) = asked.at {
        page.more(&format!("as found at {}", clock.at(at)));
    }
}

/// When it may start, and what that hangs on.
pub(super) fn may_start(start: &Start, clock: Clock) -> String {
    let hangs_on = match &start.hangs_on {
        HangsOn::News => "when what it waits for is there: see the first line",
        HangsOn::NextDecision => "at the next decision",
        HangsOn::BackOff => "it is tried again when its back-off is over",
        HangsOn::Leaving => "when the pods that are in its place have left",
        HangsOn::Flow => "when the flow of its queue has decayed, if there is room then",
        HangsOn::Books => "when gangs of its queue end, or its share, budget or limit grows",
        HangsOn::Ahead => "when the gangs ahead of it have started",
        HangsOn::Room => "when there is room: pods end, or a node comes; nobody promised when",
        HangsOn::Lifetimes => {
            "when the lifetimes of those in its place are over, or earlier if they end"
        }
        HangsOn::Overdue => "when those have left its place whose time there is over",
        HangsOn::Place => "when those in its place end; nobody promised when",
        HangsOn::KeptRoom => "when there is room that is not kept for others; nobody promised when",
        HangsOn::Never => "never, unless its queue gets a larger share, budget or limit",
        HangsOn::Permit => "when a Permit plugin lets it",
        HangsOn::Answer => "when a plugin has its answer from outside",
        HangsOn::Other(other) => other,
    };
    match start.at {
        Some(at) if start.hangs_on == HangsOn::Lifetimes => {
            format!("by {}: {hangs_on}", clock.at(at))
        }
        Some(at) => format!("not before {}: {hangs_on}", clock.at(at)),
        None if start.hangs_on == HangsOn::Never => hangs_on.to_owned(),
        None => format!("unknown: {hangs_on}"),
    }
}

fn running(page: &mut Page, runs: &Runs, clock: Clock) {
    let since = match runs.since {
        Some(at) => format!("since {}", clock.at(at)),
        None => "since before this scheduler started".to_owned(),
    };
    let (worth, nodes) = (worth(runs.worth), counted(runs.node_count, "node"));
    page.line("Runs", &format!("{since} on {nodes}, with {worth}"));
    let some: Vec<String> = runs
        .nodes
        .iter()
        .map(|one| format!("{} ({})", one.name, one.count))
        .collect();
    let more = match runs.node_count.saturating_sub(runs.nodes.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    page.more(&format!("nodes (members): {}{more}", some.join(", ")));
    let mut title = "Near";
    for one in &runs.near {
        page.line(std::mem::take(&mut title), &near(one));
    }
    if let Some(lost) = runs.lost_opportunity {
        page.line("Leaves", &leaves(runs.own_nodes, lost));
    }
    if let Some(one) = &runs.packed {
        page.line("Packed", &packed(one));
    }
    page.line("Protected", &protected(&runs.protection, clock));
    let mut title = "Could lose";
    for one in &runs.could_lose {
        page.line(std::mem::take(&mut title), &could_lose(one, clock));
    }
}

/// How near to each other its members are, and have to be.
fn near(near: &Near) -> String {
    let whose = match &near.subgroup {
        Some(name) => format!("subgroup {name}: "),
        None => String::new(),
    };
    let topology = &near.topology;
    let place = match (&near.node, &near.domain) {
        (Some(node), _) => format!(": all on node {node}"),
        (_, Some(domain)) => format!(": all in {domain}"),
        _ => String::new(),
    };
    let mut text = match near.max_hops {
        Some(0) => format!("{whose}0 hops by Topology {topology}{place}"),
        Some(hops) => {
            let hops = many(hops, "hop");
            format!("{whose}at most {hops} by Topology {topology}{place}")
        }
        None => format!("{whose}Topology {topology} has no path between some of its nodes"),
    };
    if let Some(limit) = &near.limit {
        let hops = many(limit.max_hops, "hop");
        text.push_str(&match &limit.level {
            Some(level) => format!("; they have to be in one {level}, {hops} at most"),
            None => format!("; they have to be within {hops}"),
        });
    }
    text
}

/// What it leaves that only whole nodes are good for.
fn leaves(own_nodes: usize, lost: Thousandths) -> String {
    if own_nodes == 0 {
        return "nothing: all its nodes have pods of others, too".to_owned();
    }
    let (worth, nodes) = (worth(lost), counted(own_nodes, "node"));
    format!("{worth} free on {nodes} that nobody else uses: lost to who needs whole nodes")
}

/// How far the placement of its minimum was from the best there was.
fn packed(one: &Packed) -> String {
    let lost = worth(one.lost);
    if one.lost <= one.at_least {
        return format!("its minimum opened nodes with {lost} left free: no placement left less");
    }
    let least = worth(one.at_least);
    format!("its minimum opened nodes with {lost} left free; no placement left less than {least}")
}

/// To whom it could lose what.
pub(super) fn could_lose(could: &Could, clock: Clock) -> String {
    let to = match &could.to {
        Taker::EqualInQueue => "to gangs of its queue with the same priority",
        Taker::HigherInQueue => "to gangs of its queue with a higher priority",
        Taker::NeedyQueue => "to gangs of queues below their fair share",
        Taker::Head => "to the first gang of a queue, if its place is reserved and is due",
        Taker::Other(other) => other,
    };
    let what = match (could.all, could.surplus) {
        (true, _) => "everything".to_owned(),
        (false, 0) => "nothing".to_owned(),
        (false, surplus) => {
            let members = many(surplus, "member");
            format!("{members} beyond its minimum")
        }
    };
    let why = match could.kept.as_deref() {
        Some("Priority") | None => return format!("{what} {to}"),
        Some("Unlimited") => "its lifetime is unlimited".to_owned(),
        Some("Lifetime") => "its lifetime is not over".to_owned(),
        Some("WithinShare") => "its queue, or one above it, is within its fair share".to_owned(),
        Some(other) => kept(other, could.plugin.as_deref()),
    };
    let until = could.until.map(|at| format!(", until {}", clock.at(at)));
    format!("{what} {to} ({why}{})", until.unwrap_or_default())
}

fn disruption(page: &mut Page, gang: &GangExplanation, one: &Disruption, clock: Clock) {
    let (at, pods) = (clock.at(one.at), many(one.pods, "pod"));
    let whom = match (&one.by, &one.by_queue) {
        (Some(by), Some(queue)) => format!("for {by} of queue {queue}"),
        _ => "for nobody".to_owned(),
    };
    let why = match &one.why {
        Lost::Surplus => "they were beyond its minimum",
        Lost::Moved => "it fitted elsewhere as well",
        Lost::PastItsLifetime => "it was past its lifetime, and its queue over its fair share",
        Lost::Due => "it was past its lifetime, and its room was promised to the first of a queue",
        Lost::LowerPriority => "its priority was lower, in the same queue",
        Lost::NotCompleted => "it was below its minimum and could not be completed in time",
        Lost::Other(other) => other,
    };
    let title = if one.why == Lost::NotCompleted {
        "Released"
    } else {
        "Preempted"
    };
    page.line(title, &format!("at {at}, {whom}: {pods} had to go"));
    page.more(&format!("why it: {why}"));
    if let Some(refused) = &gang.refused {
        let (pod, words) = (&refused.name, &refused.message);
        page.more(&format!("pod {pod} could not be deleted: {words}"));
    }
    if one.why == Lost::Surplus {
        return;
    }
    match gang.back_at {
        Some(at) => page.more(&format!("may come back: not before {}", clock.at(at))),
        None if gang.members.leaving > 0 => {
            page.more("may come back: some seconds after its last pod has left");
        }
        None => page.more("may come back: as soon as there is room; it waits in its queue again"),
    }
}
