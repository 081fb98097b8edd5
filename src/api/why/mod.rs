//! The sentences of `muster why`: all of them are here. They are made of what the engine records, as it
//! is written down ([`explanation`](muster_model::explanation)): whoever asks a running scheduler reads
//! what `muster simulate` would say.

mod gang;
mod queue;
mod slots;
mod time;

#[cfg(test)]
mod tests;

pub use gang::gang as gang_in_words;
pub use queue::queue as queue_in_words;
pub use slots::testbed as testbed_in_words;

use muster_model::counted;
use muster_model::explanation::{Books, Protection, ProtectionKind, SparedCount, Thousandths};
use std::fmt::Write;
use time::Clock;

/// How wide the column of titles is.
const TITLE: usize = 11;

/// Lines with a title each: what people look for stands on the left.
#[derive(Debug, Default)]
struct Page(String);

impl Page {
    /// A page whose first line is a sentence.
    fn new(first: &str) -> Self {
        Self(format!("{first}\n\n"))
    }

    /// A line with a title.
    fn line(&mut self, title: &str, text: &str) {
        let _ = writeln!(self.0, "{title:<TITLE$}{text}");
    }

    /// A line that belongs to the one above.
    fn more(&mut self, text: &str) {
        self.line("", text);
    }
}

/// `1 pod`, `2 pods`.
fn many(number: u32, of: &str) -> String {
    counted(number as usize, of)
}

/// Worth and budgets, with at most one digit after the point.
fn number(amount: Thousandths) -> String {
    let text = format!("{:.1}", amount.as_f64());
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// `3 cores' worth`.
fn worth(amount: Thousandths) -> String {
    match number(amount).as_str() {
        "1" => "1 core's worth".to_owned(),
        amount => format!("{amount} cores' worth"),
    }
}

/// `a, b and c`.
fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// What a queue is entitled to, and what it has.
fn books(page: &mut Page, books: &Books) {
    let over = if books.over > Thousandths(0) {
        format!(", {} more than its share", number(books.over))
    } else {
        String::new()
    };
    page.more(&format!(
        "fair share {} of {}; it holds {}{over}; flow {}",
        number(books.fair_share),
        worth(books.cluster),
        number(books.usage),
        number(books.flow)
    ));
    let most = match books.flow_limit {
        Some(most) => format!(
            "gangs with an unlimited lifetime may raise its flow to {}; ",
            number(most)
        ),
        None => String::new(),
    };
    let left = number(books.budget_left);
    page.more(&format!(
        "{most}{left} core-minutes are left of its excess budget"
    ));
    for bound in &books.limits {
        let (held, bound) = (&bound.held, &bound.bound);
        page.more(&format!("holds {held} of its limit of {bound}"));
    }
    for bound in &books.guaranteed {
        let (held, bound) = (&bound.held, &bound.bound);
        page.more(&format!("is guaranteed {bound}, and holds {held}"));
    }
}

/// Why gangs keep what they have.
fn spared(one: &SparedCount, clock: Clock) -> String {
    let gangs = many(one.gangs, "gang");
    let (keeps, example) = (kept(&one.reason, one.plugin.as_deref()), &one.example);
    format!("{gangs} ({example}): {keeps}{}", until(one, clock))
}

/// When gangs do not keep it any more.
fn until(one: &SparedCount, clock: Clock) -> String {
    let Some(at) = one.until.map(|at| clock.at(at)) else {
        return String::new();
    };
    if one.gangs == 1 {
        format!(" (until {at})")
    } else {
        format!(" (the first until {at})")
    }
}

/// Why a gang keeps what it has, or its minimum.
fn kept(reason: &str, plugin: Option<&str>) -> String {
    let words = match reason {
        "Plugin" => {
            let who = plugin.unwrap_or("of its profile");
            return format!("plugin {who} spares it");
        }
        "HoldsNothing" => "holds no node",
        "Undefined" => "its PodGroup is missing, so nobody knows what it needs",
        "Leaving" => "leaves already",
        "Incomplete" => "not whole: it is completed, or leaves anyway",
        "Refused" => "the API server refused lately to delete one of its pods",
        "NotEntitled" => "of another queue, and the queue that asks would be over its fair share",
        "WithinShare" => "of another queue that is within its fair share, or below one that is",
        "Priority" => "of the same queue, with the same priority or a higher one",
        "Lifetime" => "of another queue, and the lifetime is not over",
        "Unlimited" => "of another queue; with an unlimited lifetime nothing goes for fairness",
        "NoSurplus" => "has no member beyond its minimum",
        "MinRuntime" => "has just started, and the minRuntime of its queue protects it",
        "TooOften" => "made room for others too often within the last hour",
        "Evictor" => "it was given its room within the last hour by the gang that asks",
        "Critical" => "one of its pods is critical for the system",
        other => return other.to_owned(),
    };
    words.to_owned()
}

/// How long a gang is protected.
fn protected(protection: &Protection, clock: Clock) -> String {
    match (&protection.kind, protection.at) {
        (ProtectionKind::Unlimited, _) => {
            "unlimited lifetime: it never goes for fairness".to_owned()
        }
        (ProtectionKind::Until, Some(at)) => format!("lifetime until {}", clock.at(at)),
        (ProtectionKind::Over, Some(at)) => format!("past its lifetime since {}", clock.at(at)),
        (ProtectionKind::Unknown, _) => "protected: its start was before this process".to_owned(),
        (ProtectionKind::Until, None) => "Until".to_owned(),
        (ProtectionKind::Over, None) => "Over".to_owned(),
        (ProtectionKind::Other(other), _) => other.clone(),
    }
}
