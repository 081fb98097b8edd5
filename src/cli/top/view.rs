//! What `muster top` shows: queues as a tree with what they hold, and gangs that wait in the order in which they will be
//! looked at. From the objects alone: nothing here waits for anybody.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time as Date;
use kube::ResourceExt;
use muster_api::condition::Condition;
use muster_api::crd::{PodGroup, Queue};
use muster_model::units::Time;
use serde::Serialize;
use std::borrow::Borrow;
use std::collections::BTreeMap;

/// The queue of who names none.
const USUAL: &str = "-";
/// A tree of queues is not deeper.
const DEPTH: usize = 64;
/// Lines that are neither queues nor gangs: the head, the titles and what parts them.
const FRAME: usize = 5;

/// All that is shown.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct View {
    /// Whose gangs these are.
    place: String,
    /// How many gangs have all they need.
    running: usize,
    /// The queues, each behind the one it is below.
    queues: Vec<QueueLine>,
    /// The gangs that wait, start or are repaired.
    gangs: Vec<GangLine>,
    /// What could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct QueueLine {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(skip)]
    depth: usize,
    tier: i32,
    weight: i32,
    /// In cores' worth, as the status has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    fair_share: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flow: Option<String>,
    /// In core-minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    budget_left: Option<i64>,
    waiting: i32,
    running: i32,
    /// Why no gang may start in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    closed: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct GangLine {
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<i32>,
    namespace: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<String>,
    phase: String,
    bound: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_available: Option<i32>,
    /// Since it was made.
    waits_seconds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    starts_in_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl View {
    /// What these objects say at a time.
    pub(super) fn of<Q: Borrow<Queue>, P: Borrow<PodGroup>>(
        queues: &[Q],
        gangs: &[P],
        now: Time,
        place: String,
        notes: Vec<String>,
    ) -> Self {
        let gangs = gangs.iter().map(Borrow::borrow);
        let (waiting, others): (Vec<&PodGroup>, Vec<_>) = gangs.partition(|gang| waits(gang));
        let mut gangs: Vec<GangLine> = waiting
            .into_iter()
            .map(|gang| GangLine::of(gang, now))
            .collect();
        gangs.sort_by(|a, b| a.order().cmp(&b.order()));
        Self {
            place,
            running: others
                .iter()
                .filter(|gang| phase(gang) == "Running")
                .count(),
            queues: tree(queues.iter().map(Borrow::borrow)),
            gangs,
            notes,
        }
    }

    /// The same in columns, in at most so many columns and lines of text.
    pub(super) fn text(&self, width: usize, height: usize) -> String {
        let (waiting, running) = (self.gangs.len(), self.running);
        let mut lines = vec![format!(
            "{}: {waiting} waiting, {running} running",
            self.place
        )];
        lines.extend(self.notes.iter().cloned());
        let room = height.saturating_sub(FRAME + self.notes.len());
        // Each has half of the room, and what the other leaves.
        let half = room / 2;
        let for_queues = room.saturating_sub(self.gangs.len().min(half)).max(half);
        if !self.queues.is_empty() {
            lines.push(String::new());
            let rows = self.queues.iter().map(QueueLine::cells);
            lines.extend(columns(QUEUE_TITLES, rows, for_queues));
        }
        lines.push(String::new());
        if self.gangs.is_empty() {
            lines.push("No gang waits.".to_owned());
        } else {
            let rows = self.gangs.iter().map(GangLine::cells);
            let left = room.saturating_sub(self.queues.len().min(for_queues));
            lines.extend(columns(GANG_TITLES, rows, left));
        }
        let cut = lines.iter().map(|line| cut(line, width));
        let lines: Vec<String> = cut.take(height).collect();
        lines.join("\n") + "\n"
    }
}

/// Whether something keeps it from having all it needs.
fn waits(gang: &PodGroup) -> bool {
    let settled = ["Running", "Finished", "Failed"].contains(&phase(gang));
    !settled || condition(gang, "Repairing").is_some_and(Condition::is_true)
}

/// Its phase; that of one of which Muster has not said anything yet.
fn phase(gang: &PodGroup) -> &str {
    let status = gang.status.as_ref();
    let phase = status.and_then(|status| status.phase.as_deref());
    phase.unwrap_or("Pending")
}

fn condition<'g>(gang: &'g PodGroup, kind: &str) -> Option<&'g Condition> {
    let status = gang.status.as_ref()?;
    status.conditions.iter().find(|one| one.kind == kind)
}

/// A date as the clock counts.
fn time(date: &Date) -> Time {
    Time(u64::try_from(date.0.as_millisecond()).unwrap_or_default())
}

impl GangLine {
    fn of(gang: &PodGroup, now: Time) -> Self {
        let status = gang.status.clone().unwrap_or_default();
        let made = gang.metadata.creation_timestamp.as_ref().map_or(now, time);
        // What is asked first and answered by no says why.
        let admitted = condition(gang, "Admitted").filter(|one| !one.is_true());
        let repairing = condition(gang, "Repairing").filter(|one| one.is_true());
        let scheduled = condition(gang, "Scheduled").filter(|one| !one.is_true());
        let why = admitted.or(repairing).or(scheduled);
        let starts = status.estimated_start.as_ref().map(time);
        Self {
            position: status.position,
            namespace: gang.namespace().unwrap_or_default(),
            name: gang.name_any(),
            queue: gang.spec.queue.clone(),
            phase: phase(gang).to_owned(),
            bound: status.bound.unwrap_or_default(),
            min_available: status.min_available,
            waits_seconds: now.since(made).0 / 1_000,
            starts_in_seconds: starts.map(|at| at.since(now).0 / 1_000),
            reason: why.map(|why| why.reason.clone()),
            message: why.map(|why| why.message.clone()),
        }
    }

    /// By position; who has none behind them, who waits longest first.
    fn order(&self) -> (i32, u64, &str, &str) {
        (
            self.position.unwrap_or(i32::MAX),
            u64::MAX - self.waits_seconds,
            &self.namespace,
            &self.name,
        )
    }

    fn cells(&self) -> [String; 8] {
        let minimum = self.min_available.map_or_else(|| "?".to_owned(), text);
        let why = match (&self.reason, &self.message) {
            (Some(reason), Some(message)) if !message.is_empty() => format!("{reason}: {message}"),
            (reason, _) => reason.clone().unwrap_or_default(),
        };
        [
            self.position.map_or_else(|| USUAL.to_owned(), text),
            format!("{}/{}", self.namespace, self.name),
            self.queue.clone().unwrap_or_else(|| USUAL.to_owned()),
            self.phase.clone(),
            format!("{}/{minimum}", self.bound),
            span(self.waits_seconds),
            self.starts_in_seconds
                .map_or_else(|| USUAL.to_owned(), span),
            why,
        ]
    }
}

const GANG_TITLES: [&str; 8] = [
    "#",
    "GANG",
    "QUEUE",
    "PHASE",
    "BOUND",
    "AGE",
    "STARTS IN",
    "WHY NOT",
];

impl QueueLine {
    fn of(queue: &Queue, depth: usize) -> Self {
        let status = queue.status.clone().unwrap_or_default();
        let ready = status.conditions.iter().find(|one| one.kind == "Ready");
        let closed = ready.filter(|ready| !ready.is_true());
        let count = |of: [Option<i32>; 2]| of.into_iter().flatten().sum();
        Self {
            name: queue.name_any(),
            parent: queue.spec.parent.clone(),
            depth,
            tier: queue.spec.priority,
            weight: queue.spec.weight,
            waiting: count([status.pending, status.inqueue]),
            running: count([status.running, status.unknown]),
            fair_share: status.fair_share,
            usage: status.usage,
            flow: status.flow,
            budget_left: status.budget_left,
            closed: closed.map(|one| format!("{}: {}", one.reason, one.message)),
        }
    }

    fn cells(&self) -> [String; 9] {
        let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| USUAL.to_owned());
        [
            format!("{}{}", "  ".repeat(self.depth), self.name),
            self.tier.to_string(),
            self.weight.to_string(),
            or_none(&self.usage),
            or_none(&self.fair_share),
            or_none(&self.flow),
            self.waiting.to_string(),
            self.running.to_string(),
            self.closed.clone().unwrap_or_default(),
        ]
    }
}

const QUEUE_TITLES: [&str; 9] = [
    "QUEUE",
    "TIER",
    "WEIGHT",
    "USAGE",
    "SHARE",
    "FLOW",
    "WAITING",
    "RUNNING",
    "NOT READY",
];

/// Each queue behind its parent, by tier and then by name among its siblings. Whose parent is not there, or is below
/// itself, comes as if it had none.
fn tree<'q>(queues: impl Iterator<Item = &'q Queue>) -> Vec<QueueLine> {
    let queues: BTreeMap<String, &Queue> = queues.map(|one| (one.name_any(), one)).collect();
    let rooted = |queue: &Queue| {
        let mut parent = queue.spec.parent.as_ref();
        for _ in 0..DEPTH {
            match parent.map(|name| queues.get(name)) {
                None => return true,
                Some(None) => return false,
                Some(Some(above)) => parent = above.spec.parent.as_ref(),
            }
        }
        false
    };
    let mut below: BTreeMap<Option<&str>, Vec<&Queue>> = BTreeMap::new();
    for queue in queues.values() {
        let parent = queue.spec.parent.as_deref().filter(|_| rooted(queue));
        below.entry(parent).or_default().push(queue);
    }
    for siblings in below.values_mut() {
        // The last is taken first.
        siblings.sort_by_key(|one| (one.spec.priority, std::cmp::Reverse(one.name_any())));
    }
    let mut lines = Vec::new();
    let mut path = vec![below.remove(&None).unwrap_or_default()];
    while let Some(siblings) = path.last_mut() {
        let Some(queue) = siblings.pop() else {
            path.pop();
            continue;
        };
        lines.push(QueueLine::of(queue, path.len() - 1));
        // One without a name is nobody's parent.
        let children = queue.metadata.name.as_deref();
        let children = children.and_then(|name| below.remove(&Some(name)));
        path.push(children.unwrap_or_default());
    }
    lines
}

/// Rows in columns under titles; of more rows than there is room for, how many more there are.
fn columns<const N: usize>(
    titles: [&str; N],
    rows: impl ExactSizeIterator<Item = [String; N]>,
    room: usize,
) -> Vec<String> {
    let all = rows.len();
    let shown = if all > room {
        room.saturating_sub(1)
    } else {
        all
    };
    let mut table = vec![titles.map(str::to_owned)];
    table.extend(rows.take(shown).map(|row| row.map(|cell| plain(&cell))));
    let width = |column: usize| {
        table
            .iter()
            .map(move |row| row[column].chars().count())
            .max()
    };
    let widths: Vec<usize> = (0..N)
        .map(|column| width(column).unwrap_or_default())
        .collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        cells.join("  ").trim_end().to_owned()
    };
    let mut lines: Vec<String> = table.iter().map(line).collect();
    if shown < all {
        lines.push(format!("... and {} more", all - shown));
    }
    lines
}

/// Without what a terminal would take for an order: conditions are words of whoever wrote them.
fn plain(cell: &str) -> String {
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    cell.chars().map(shown).collect()
}

/// The beginning of a line that does not fit.
fn cut(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let start: String = line.chars().take(width.saturating_sub(1)).collect();
    start + "…"
}

/// Whole seconds as people say them: `45s`, `10m`, `1h05m`, `3d`.
fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h{:02}m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{}d", seconds / 86_400),
    }
}

fn text(number: i32) -> String {
    number.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn queue(value: Value) -> Queue {
        let mut object = json!({"apiVersion": "muster.dev/v1alpha1", "kind": "Queue", "spec": {}});
        merge(&mut object, value);
        serde_json::from_value(object).unwrap()
    }

    fn gang(name: &str, status: &Value) -> PodGroup {
        let object = json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": "PodGroup",
            "metadata": {"name": name, "namespace": "ml", "creationTimestamp": "1970-01-01T00:01:40Z"},
            "spec": {"queue": "research"}, "status": status,
        });
        serde_json::from_value(object).unwrap()
    }

    fn merge(into: &mut Value, from: Value) {
        let (Value::Object(into), Value::Object(from)) = (into, from) else {
            return;
        };
        into.extend(from);
    }

    fn no(kind: &str, reason: &str, message: &str) -> Value {
        json!({"type": kind, "status": "False", "reason": reason, "message": message})
    }

    fn yes(kind: &str) -> Value {
        json!({"type": kind, "status": "True", "reason": "Fits", "message": ""})
    }

    fn shown(queues: &[Queue], gangs: &[PodGroup]) -> View {
        View::of(
            queues,
            gangs,
            Time(400_000),
            "namespace ml".to_owned(),
            Vec::new(),
        )
    }

    fn gangs() -> [PodGroup; 6] {
        let short = no("Scheduled", "Unschedulable", "0 of 4 members fit");
        [
            gang("new", &json!(null)),
            gang(
                "runs",
                &json!({"phase": "Running", "bound": 4, "minAvailable": 4}),
            ),
            gang(
                "second",
                &json!({"phase": "Inqueue", "position": 2, "bound": 0, "minAvailable": 4,
                "conditions": [yes("Admitted"), short], "estimatedStart": "1970-01-01T01:10:00Z"}),
            ),
            gang(
                "first",
                &json!({"phase": "Pending", "position": 1,
                "conditions": [no("Admitted", "QueueClosed", "queue is closed"), no("Scheduled", "NotAdmitted", "x")]}),
            ),
            gang("done", &json!({"phase": "Finished"})),
            gang(
                "mends",
                &json!({"phase": "Running", "bound": 3, "minAvailable": 4,
                "conditions": [{"type": "Repairing", "status": "True", "reason": "MembersLost", "message": "1 is gone"}]}),
            ),
        ]
    }

    #[test]
    fn gangs_that_wait_stand_in_their_order_with_the_reason() {
        let text = shown(&[], &gangs()).text(120, usize::MAX);
        let wanted = "\
namespace ml: 4 waiting, 1 running

#  GANG       QUEUE     PHASE    BOUND  AGE  STARTS IN  WHY NOT
1  ml/first   research  Pending  0/?    5m   -          QueueClosed: queue is closed
2  ml/second  research  Inqueue  0/4    5m   1h03m      Unschedulable: 0 of 4 members fit
-  ml/mends   research  Running  3/4    5m   -          MembersLost: 1 is gone
-  ml/new     research  Pending  0/?    5m   -
";
        assert_eq!(text, wanted);
    }

    #[test]
    fn queues_stand_behind_their_parents_and_higher_tiers_first() {
        let named =
            |name: &str, spec: Value| queue(json!({"metadata": {"name": name}, "spec": spec}));
        let open = json!({"usage": "8", "fairShare": "12.5", "flow": "9.25", "pending": 1, "inqueue": 2, "running": 3,
            "conditions": [yes("Ready")]});
        let closed = json!({"conditions": [no("Ready", "Closed", "nobody starts")]});
        let queues = [
            named("b", json!({"parent": "top"})),
            named("top", json!({})),
            named("lost", json!({"parent": "nowhere"})),
            queue(
                json!({"metadata": {"name": "a"}, "spec": {"parent": "top", "weight": 3}, "status": open}),
            ),
            queue(
                json!({"metadata": {"name": "urgent"}, "spec": {"priority": 10}, "status": closed}),
            ),
            named("egg", json!({"parent": "hen"})),
            named("hen", json!({"parent": "egg"})),
        ];
        let text = shown(&queues, &[]).text(120, usize::MAX);
        let wanted = "\
namespace ml: 0 waiting, 0 running

QUEUE   TIER  WEIGHT  USAGE  SHARE  FLOW  WAITING  RUNNING  NOT READY
urgent  10    1       -      -      -     0        0        Closed: nobody starts
egg     0     1       -      -      -     0        0
hen     0     1       -      -      -     0        0
lost    0     1       -      -      -     0        0
top     0     1       -      -      -     0        0
  a     0     3       8      12.5   9.25  3        3
  b     0     1       -      -      -     0        0

No gang waits.
";
        assert_eq!(text, wanted);
    }

    #[test]
    fn what_does_not_fit_is_counted_and_no_line_is_wider() {
        let named = |index: usize| queue(json!({"metadata": {"name": format!("q{index:02}")}}));
        let queues: Vec<Queue> = (0..20).map(named).collect();
        let some = |index: usize| {
            gang(
                &format!("g{index:02}"),
                &json!({"phase": "Inqueue",
            "conditions": [no("Scheduled", "Unschedulable", &"x".repeat(300))]}),
            )
        };
        let gangs: Vec<PodGroup> = (0..50).map(some).collect();
        for height in [0, 1, 7, 12, 24, 60, 200] {
            let text = shown(&queues, &gangs).text(80, height);
            assert!(text.lines().count() <= height.max(1), "{height}:\n{text}");
            assert!(
                text.lines().all(|line| line.chars().count() <= 80),
                "{text}"
            );
            if (12..60).contains(&height) {
                assert_eq!(text.matches("... and ").count(), 2, "{height}:\n{text}");
            }
        }
        let text = shown(&queues, &gangs).text(80, 200);
        assert!(!text.contains("... and "), "{text}");
        // What the gangs leave is the queues'.
        let text = shown(&queues, &gangs[..2]).text(80, 30);
        assert!(!text.contains("... and "), "{text}");
    }

    #[test]
    fn words_of_others_give_the_terminal_no_orders() {
        let evil = gang(
            "evil",
            &json!({"phase": "Inqueue",
            "conditions": [no("Scheduled", "Unschedulable", "\u{1b}[2Jgone\nnext")]}),
        );
        let text = shown(&[], &[evil]).text(120, usize::MAX);
        assert!(text.contains("Unschedulable:  [2Jgone next"), "{text}");
    }

    #[test]
    fn programs_read_the_same() {
        let value = serde_json::to_value(shown(&[], &gangs())).unwrap();
        assert_eq!(value["running"], 1);
        let second = &value["gangs"][1];
        assert_eq!(
            (&second["position"], &second["name"]),
            (&json!(2), &json!("second"))
        );
        assert_eq!(second["waitsSeconds"], 300);
        assert_eq!(second["startsInSeconds"], 3_800);
        assert_eq!(second["reason"], "Unschedulable");
    }

    #[test]
    fn spans_are_short() {
        let spans = [59, 60, 3_599, 3_900, 90_000].map(span);
        assert_eq!(spans, ["59s", "1m", "59m", "1h05m", "1d"]);
    }
}
