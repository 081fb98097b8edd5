//! A queue's explanation in words.

use super::time::Clock;
use super::{Page, books, kept, list, many, number, protected, until, worth};
use muster_model::counted;
use muster_model::explanation::{Child, Holder, Lender, QueueExplanation, Thousandths};

/// A queue's explanation in words. Its first line sums it up.
#[must_use]
pub fn queue(queue: &QueueExplanation) -> String {
    let clock = Clock::new(queue.clock, queue.as_of);
    let mut page = Page::new(&summary(queue));
    let below = queue.books.parent.as_ref();
    let below = below.map_or_else(String::new, |parent| format!(" (below {parent})"));
    let name = &queue.books.name;
    page.line(
        "Queue",
        &format!("{name}{below}, as of {}", clock.present()),
    );
    books(&mut page, &queue.books);
    borrows(&mut page, queue);
    holders(&mut page, queue, clock);
    back(&mut page, queue, clock);
    children(&mut page, queue);
    waits(&mut page, queue);
    page.0
}

/// How the queue stands, in one sentence.
fn summary(queue: &QueueExplanation) -> String {
    let name = &queue.books.name;
    if !queue.condition.status {
        let (reason, message) = (&queue.condition.reason, &queue.condition.message);
        return format!("Queue {name} takes no gangs ({reason}): {message}.");
    }
    let holds = if queue.books.over > Thousandths(0) {
        format!("is {} over its fair share", worth(queue.books.over))
    } else if queue.books.usage > Thousandths(0) {
        "is within its fair share".to_owned()
    } else {
        "holds nothing".to_owned()
    };
    let waits = match queue.books.waiting {
        0 => "nobody waits in it".to_owned(),
        1 => "1 gang waits in it".to_owned(),
        many => format!("{many} gangs wait in it"),
    };
    format!("Queue {name} {holds}, and {waits}.")
}

fn borrows(page: &mut Page, queue: &QueueExplanation) {
    if queue.books.over == Thousandths(0) && queue.borrows.is_empty() {
        return;
    }
    if queue.borrows.is_empty() {
        page.line("Borrows", "what no queue beside it is entitled to");
        return;
    }
    let name = &queue.books.name;
    let words = |one: &Lender| {
        let unused = number(one.unused);
        let waiting = match one.waiting {
            0 => "nobody waits there".to_owned(),
            1 => "1 gang waits there".to_owned(),
            many => format!("{many} gangs wait there"),
        };
        let to = if one.to == *name {
            String::new()
        } else {
            format!(" (lent to {})", one.to)
        };
        format!(
            "from {}, which leaves {unused} of its share unused{to}; {waiting}",
            one.name
        )
    };
    let mut title = "Borrows";
    for one in &queue.borrows {
        page.line(std::mem::take(&mut title), &words(one));
    }
    let more = queue.lender_count.saturating_sub(queue.borrows.len());
    if more > 0 {
        page.more(&format!("and from {more} more"));
    }
}

fn holders(page: &mut Page, queue: &QueueExplanation, clock: Clock) {
    if queue.holders.is_empty() {
        return;
    }
    let words = |one: &Holder| {
        let surplus = match one.surplus {
            0 => String::new(),
            surplus => format!(", {surplus} beyond its minimum"),
        };
        let (name, worth) = (&one.name, number(one.worth));
        if one.pods == 0 {
            return format!("{name}: {worth}, held for it until it starts");
        }
        let (pods, protected) = (many(one.pods, "pod"), protected(&one.protection, clock));
        format!("{name}: {worth} with {pods}{surplus}; {protected}")
    };
    let mut title = "Held by";
    for one in &queue.holders {
        page.line(std::mem::take(&mut title), &words(one));
    }
    let more = queue.holder_count.saturating_sub(queue.holders.len());
    if more > 0 {
        page.more(&format!("and {}", counted(more, "smaller gang")));
    }
}

/// Who could take something of it.
fn back(page: &mut Page, queue: &QueueExplanation, clock: Clock) {
    if queue.holder_count == 0 {
        return;
    }
    let mut what = Vec::new();
    if queue.surplus > 0 {
        what.push(format!(
            "{} beyond a minimum",
            many(queue.surplus, "member")
        ));
    }
    if queue.expired > 0 {
        what.push(format!("{} past the lifetime", many(queue.expired, "gang")));
    }
    let text = if what.is_empty() {
        "nothing now".to_owned()
    } else {
        let asking: Vec<String> = queue
            .borrows
            .iter()
            .filter(|one| one.waiting > 0)
            .map(|one| one.name.clone())
            .collect();
        let whom = if asking.is_empty() {
            "queues below their fair share; none of them has a gang waiting".to_owned()
        } else {
            format!("queues below their fair share, such as {}", list(&asking))
        };
        format!("{} by {whom}", list(&what))
    };
    page.line("Take back", &text);
    for one in &queue.spared {
        let kept = match &*one.reason {
            "Unlimited" => "an unlimited lifetime".to_owned(),
            "Lifetime" => "a lifetime that is not over".to_owned(),
            "WithinShare" => "their queue, or one above it, is within its fair share".to_owned(),
            other => kept(other, one.plugin.as_deref()),
        };
        let (gangs, example) = (many(one.gangs, "gang"), &one.example);
        let until = until(one, clock);
        page.more(&format!(
            "not the minimum of {gangs} ({example}): {kept}{until}"
        ));
    }
}

fn children(page: &mut Page, queue: &QueueExplanation) {
    let words = |one: &Child| {
        let (share, usage) = (number(one.fair_share), number(one.usage));
        format!(
            "{}: holds {usage}, fair share {share}, {} waiting",
            one.name, one.waiting
        )
    };
    let mut title = "Below it";
    for one in &queue.children {
        page.line(std::mem::take(&mut title), &words(one));
    }
    let more = queue.child_count.saturating_sub(queue.children.len());
    if more > 0 {
        page.more(&format!("and {more} more"));
    }
}

fn waits(page: &mut Page, queue: &QueueExplanation) {
    if queue.first.is_empty() {
        return;
    }
    let more = queue.books.waiting.saturating_sub(queue.first.len());
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    page.line("Waiting", &format!("{}{more}", list(&queue.first)));
    if let (Some(head), Some(first)) = (&queue.head, queue.first.first()) {
        page.more(&format!("{first} is next: {}", head.message));
    }
}
