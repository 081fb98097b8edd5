//! What becomes of slots, in words: a testbed as a table, and what a gang's pods claim.

use super::time::Clock;
use super::{Page, list, many};
use muster_model::counted;
use muster_model::explanation::{
    Claimant, ClaimedSlot, GangExplanation, SlotIs, SlotLine, SlotWaiter, TestbedExplanation,
};

/// A testbed's explanation in words. Its first line sums it up.
#[must_use]
pub fn testbed(testbed: &TestbedExplanation) -> String {
    let clock = Clock::new(testbed.clock, testbed.as_of);
    let mut page = Page::new(&summary(testbed));
    let name = &testbed.name;
    page.line("Testbed", &format!("{name}, as of {}", clock.present()));
    table(&mut page, testbed);
    let more = testbed.slot_count.saturating_sub(testbed.slots.len());
    if more > 0 {
        page.more(&format!("and {more} more"));
    }
    let mut title = "Waiting";
    for one in &testbed.waiting {
        page.line(std::mem::take(&mut title), &waiter(one));
    }
    let more = testbed.waiting_count.saturating_sub(testbed.waiting.len());
    if more > 0 {
        page.more(&format!("and {}", counted(more, "other gang")));
    }
    page.0
}

/// How the testbed stands, in one sentence.
fn summary(testbed: &TestbedExplanation) -> String {
    let (name, all) = (&testbed.name, testbed.slot_count);
    let waits = match testbed.waiting_count {
        0 => "nobody waits for one".to_owned(),
        1 => "1 gang waits for one".to_owned(),
        many => format!("{many} gangs wait for one"),
    };
    if all == 0 {
        return format!("Testbed {name} has no slots, and {waits}.");
    }
    let (free, taken) = (testbed.free, testbed.taken);
    let mut parts = vec![format!("{free} free"), format!("{taken} taken")];
    let others = all.saturating_sub(free + taken);
    if others > 0 {
        parts.push(format!("{others} without room"));
    }
    let slots = counted(all, "slot");
    format!("Testbed {name} has {slots}: {}, and {waits}.", list(&parts))
}

fn table(page: &mut Page, testbed: &TestbedExplanation) {
    let head = ["slot", "node", "state", "held by", "waiting"].map(str::to_owned);
    let rows: Vec<[String; 5]> = std::iter::once(head)
        .chain(testbed.slots.iter().map(row))
        .collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths = [0, 1, 2, 3, 4].map(width);
    if testbed.slots.is_empty() {
        return;
    }
    let mut title = "Slots";
    for row in &rows {
        let mut text = String::new();
        for (cell, width) in row.iter().zip(widths) {
            let gap = if text.is_empty() { "" } else { "  " };
            text.push_str(&format!("{gap}{cell:<width$}"));
        }
        page.line(std::mem::take(&mut title), text.trim_end());
    }
}

fn row(slot: &SlotLine) -> [String; 5] {
    let ghost = match slot.ghost_on_node {
        true => format!("ghost {}", slot.ghost),
        false => "its ghost is to come".to_owned(),
    };
    let by = match (&slot.pod, slot.state == SlotIs::Free) {
        (Some(pod), _) => pod.clone(),
        (None, true) => ghost,
        (None, false) => String::new(),
    };
    let more = slot.waiting_count.saturating_sub(slot.waiting.len());
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    [
        slot.position.to_string(),
        slot.node.clone(),
        state(slot),
        by,
        format!("{}{more}", slot.waiting.join(", ")),
    ]
}

fn state(slot: &SlotLine) -> String {
    let lacks: Vec<String> = slot.lacks.iter().map(|one| one.amount.clone()).collect();
    match (&slot.state, lacks.is_empty()) {
        (SlotIs::Free, _) => "free".to_owned(),
        (SlotIs::Reserved, _) => "reserved".to_owned(),
        (SlotIs::Occupied, true) => "occupied".to_owned(),
        (SlotIs::Occupied, false) => format!("occupied, node lacks {}", list(&lacks)),
        (SlotIs::NoRoom, true) => "no room yet".to_owned(),
        (SlotIs::NoRoom, false) => format!("no room yet, node lacks {}", list(&lacks)),
        (SlotIs::NoNode, _) => "its node is not there".to_owned(),
        (SlotIs::Other(other), _) => other.clone(),
    }
}

fn waiter(one: &SlotWaiter) -> String {
    let name = &one.name;
    let queue = match (&one.queue, one.position) {
        (Some(queue), Some(place)) => format!(" (queue {queue}, place {place})"),
        (Some(queue), None) => format!(" (queue {queue})"),
        (None, _) => String::new(),
    };
    let pods = many(one.pods, "pod");
    let for_what = numbers(&one.slots, one.slot_count);
    let refused = one.refused.as_ref();
    let refused = refused.map_or_else(String::new, |why| format!("; {why}"));
    format!("{name}{queue}: {pods} for {for_what}{refused}")
}

/// `slot 0`, `one of slots 0, 1`, `one of slots 0, 1 and 5 more`.
fn numbers(slots: &[u32], count: usize) -> String {
    let told: Vec<String> = slots.iter().map(u32::to_string).collect();
    let more = match count.saturating_sub(slots.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match count {
        1 => format!("slot {}", told.join(", ")),
        _ => format!("one of slots {}{more}", told.join(", ")),
    }
}

/// What the pods of a gang claim.
pub(super) fn claimants(page: &mut Page, gang: &GangExplanation) {
    let mut title = "Slots";
    for one in &gang.claimants {
        page.line(std::mem::take(&mut title), &claimant(one));
        if one.has.is_none() && one.refused.is_none() {
            for slot in &one.slots {
                page.more(&format!("- {}", claimed(slot)));
            }
            let more = one.slot_count.saturating_sub(one.slots.len());
            if more > 0 {
                page.more(&format!("- and {more} more"));
            }
        }
    }
    let more = gang.claimant_count.saturating_sub(gang.claimants.len());
    if more > 0 {
        page.more(&format!(
            "and {} of it claim slots",
            counted(more, "other pod")
        ));
    }
}

fn claimant(one: &Claimant) -> String {
    let (pod, testbed) = (&one.pod, &one.testbed);
    if let Some(refused) = &one.refused {
        return format!("{pod}: {refused}");
    }
    let positions: Vec<u32> = one.slots.iter().map(|slot| slot.position).collect();
    let claimed = numbers(&positions, one.slot_count);
    match one.has {
        Some(has) => {
            let slot = one.slots.iter().find(|slot| slot.position == has);
            let reserved = slot.is_some_and(|slot| slot.state == SlotIs::Reserved);
            let has_it = if reserved { "is to have" } else { "has" };
            let node = slot.and_then(|slot| slot.node.as_ref());
            let node = node.map_or_else(String::new, |node| format!(" on node {node}"));
            let of = match one.slot_count {
                0 | 1 => String::new(),
                _ => format!(" ({claimed})"),
            };
            format!("{pod} {has_it} slot {has} of testbed {testbed}{node}{of}")
        }
        None => format!("{pod} waits for {claimed} of testbed {testbed}"),
    }
}

fn claimed(slot: &ClaimedSlot) -> String {
    let position = slot.position;
    let Some(node) = &slot.node else {
        return format!("slot {position}: there is none");
    };
    let who = slot.pod.as_deref().unwrap_or_default();
    let stands = match &slot.state {
        SlotIs::Free => "free".to_owned(),
        SlotIs::Reserved => format!("reserved for {who}"),
        SlotIs::Occupied => format!("occupied by {who}"),
        SlotIs::NoRoom => "waits for room on its node".to_owned(),
        SlotIs::NoNode => "its node is not there".to_owned(),
        SlotIs::Other(other) => other.clone(),
    };
    format!("slot {position} on node {node}: {stands}")
}
