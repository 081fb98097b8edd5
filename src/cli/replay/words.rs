//! The sentences of `muster replay`.

use super::play::{Came, Differs, Outcome};
use super::time::in_words;
use muster_model::explanation::{Clock, Thousandths};
use muster_model::units::Time;
use muster_model::{Effect, EvictCause, Plan, counted};
use muster_record::{Decided, What};
use std::path::Path;

/// So many effects are shown of a plan that is another.
const EFFECTS: usize = 10;
/// No effect is shown with more characters.
const LENGTH: usize = 300;

/// A line of what was decided.
pub(super) fn decided(decided: &Decided, clock: Clock) -> String {
    let at = at(decided.at, clock);
    let what = match &decided.what {
        What::Placed {
            gang,
            queue,
            pods,
            nodes,
        } => format!(
            "placed      {gang} (queue {queue}): {} on {}",
            counted(*pods as usize, "pod"),
            counted(*nodes as usize, "node")
        ),
        What::Bind {
            pod, gang, node, ..
        } => format!("bind        {pod} of {gang} to {node}"),
        What::Evict {
            pod,
            gang,
            node,
            cause,
            beneficiary,
            message,
            ..
        } => {
            let node = node.as_deref().unwrap_or("no node");
            let goes = match (cause, beneficiary) {
                (_, Some(other)) => format!("for {other}"),
                (EvictCause::Release, None) => "with its gang".to_owned(),
                (EvictCause::Preemption, None) => "to make room".to_owned(),
            };
            format!("evict       {pod} of {gang} from {node}, {goes}: {message}")
        }
        What::Refused {
            gang,
            queue,
            reason,
            message,
        } => format!("refused     {gang} (queue {queue}): {reason}: {message}"),
        What::Released {
            gang,
            queue,
            pods,
            message,
        } => format!(
            "released    {gang} (queue {queue}): {}: {message}",
            counted(*pods as usize, "pod")
        ),
        What::NotBound {
            pod, gang, message, ..
        } => format!("not bound   {pod} of {gang}: {message}"),
        What::NotEvicted {
            pod, gang, message, ..
        } => format!("not evicted {pod} of {gang}: {message}"),
    };
    format!("{at}  {what}")
}

/// A file without an end.
pub(super) fn cut_off(file: &Path, lines: u64) -> String {
    format!(
        "{}: it ends after line {lines} without an end: who wrote it still does, or ended without warning",
        file.display()
    )
}

/// What came of a term; `against` is by which configuration it was played, if not by its own.
pub(super) fn outcome(outcome: &Outcome, against: Option<&str>) -> String {
    let (from, to) = (
        at(outcome.from, outcome.clock),
        at(outcome.to, outcome.clock),
    );
    let mut text = format!(
        "{}: from {from} to {to}, written by muster {}\n",
        outcome.term, outcome.muster
    );
    let mut line = |words: &str| text.push_str(&format!("  {words}\n"));
    let compared = format!(
        "{}, {} with {} and {}",
        many(outcome.news, "piece of news", "pieces of news"),
        many(outcome.plans, "plan", "plans"),
        many(outcome.binds, "bind", "binds"),
        many(outcome.evictions, "eviction", "evictions"),
    );
    if outcome.came == Came::NoBeginning {
        line(
            "its beginning is missing: nothing can be played again; --decisions lists what is left",
        );
    } else {
        let by = against.map_or_else(String::new, |file| format!(" by {file}"));
        line(&format!("{compared}: the same plans{by}, byte for byte"));
    }
    for one in &outcome.gaps {
        line(&one.to_string());
    }
    if let Some(difference) = &outcome.difference {
        differs(difference, outcome.clock, against, &mut line);
    }
    if outcome.not_compared > 0 {
        let entries = many(outcome.not_compared, "entry", "entries");
        line(&format!("what follows is not compared: {entries}"));
    }
    if let Some((file, lines)) = &outcome.cut_off {
        line(&cut_off(file, *lines));
    }
    text
}

fn differs(found: &Differs, clock: Clock, against: Option<&str>, line: &mut impl FnMut(&str)) {
    let at = at(found.at, clock);
    let place = format!("{}, line {}", found.file.display(), found.line);
    line(&match against {
        Some(file) => format!("at {at} {file} decides otherwise ({place}):"),
        None => format!(
            "then another plan was made: entry {} at {at} ({place}):",
            found.entry
        ),
    });
    let only = |one: &Plan, other: &Plan| -> Vec<String> {
        let effects = one.effects.iter();
        let effects = effects.filter(|effect| !other.effects.contains(effect));
        effects.map(effect).collect()
    };
    let recorded = only(&found.recorded, &found.played);
    let played = only(&found.played, &found.recorded);
    for (who, effects) in [("recorded", &recorded), ("played", &played)] {
        for effect in effects.iter().take(EFFECTS) {
            line(&format!("  {who}: {effect}"));
        }
        if effects.len() > EFFECTS {
            line(&format!("  {who}: and {} more", effects.len() - EFFECTS));
        }
    }
    let (then, now) = (&found.recorded, &found.played);
    let same_effects = recorded.is_empty() && played.is_empty();
    let parts = [
        (
            "the order of effects",
            same_effects && then.effects != now.effects,
        ),
        ("decisions", then.decisions != now.decisions),
        ("spans", then.spans != now.spans),
        ("places that are held", then.held != now.held),
        ("claims", then.claims != now.claims),
        ("nodes that are kept", then.onto_kept != now.onto_kept),
        ("the time of the next cycle", then.wake_at != now.wake_at),
        ("whether there is more", then.more != now.more),
    ];
    let parts = parts.iter().filter(|(_, other)| *other);
    let parts: Vec<&str> = parts.map(|(name, _)| *name).collect();
    if !parts.is_empty() {
        line(&format!("  other too: {}", parts.join(", ")));
    }
}

fn effect(effect: &Effect) -> String {
    let text = match effect {
        Effect::Bind(bind) => format!("bind {} to {}", bind.pod, bind.node),
        Effect::Evict(evict) => format!("evict {}: {}", evict.pod, evict.message),
        Effect::PodWaits(waits) => {
            format!("{} waits: {}: {}", waits.pod, waits.reason, waits.message)
        }
        other => serde_json::to_string(other).unwrap_or_default(),
    };
    if text.chars().count() <= LENGTH {
        return text;
    }
    let cut: String = text.chars().take(LENGTH).collect();
    format!("{cut}...")
}

fn many(count: u64, one: &str, several: &str) -> String {
    let name = if count == 1 { one } else { several };
    format!("{count} {name}")
}

fn at(at: Thousandths, clock: Clock) -> String {
    in_words(Time(at.0), clock)
}
