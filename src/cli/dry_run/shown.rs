//! A report of a dry run in words, and in JSON.

use muster_cluster::clock::wall;
use muster_model::EvictCause;
use muster_model::units::{Millis, Time};
use muster_shadow::{Difference, Evicted, Flow, Now, Pair, Report, Size, State, Waits};
use serde_json::{Value, json};
use std::fmt::{self, Display, Write};

/// How wide the first column is, and each of the others.
const LABEL: usize = 22;
const CELL: usize = 12;

/// For people.
pub(super) fn text(report: &Report, names: &[String]) -> String {
    let mut text = String::new();
    // A String takes whatever is written.
    let _ = write_text(&mut text, report, names);
    text
}

fn write_text(text: &mut String, report: &Report, names: &[String]) -> fmt::Result {
    let ran = report.at.since(report.began);
    let names = names.join(", ");
    writeln!(
        text,
        "{}  dry run for {names}, for {}",
        date(report.at),
        long(ran)
    )?;
    heading(text, "now")?;
    let now = &report.now;
    row(text, "gangs whole", &now.map(|now| now.gangs_whole))?;
    row(text, "gangs in part", &now.map(|now| now.gangs_in_part))?;
    row(text, "gangs waiting", &now.map(|now| now.gangs_waiting))?;
    row(text, "pods on nodes", &now.map(|now| now.pods_on_nodes))?;
    row(text, "pods waiting", &now.map(|now| now.pods_waiting))?;
    row(text, "nodes used", &now.map(|now| now.nodes_used))?;
    let period = report.at.since(report.since);
    heading(text, &format!("in the last {}", long(period)))?;
    write_flow(text, &report.period)?;
    if report.since > report.began {
        heading(text, "since it began")?;
        write_flow(text, &report.total)?;
    }
    if !report.differences.is_empty() {
        text.push_str("not the same in both\n");
    }
    for one in &report.differences {
        writeln!(text, "  {}", difference(one))?;
    }
    more(text, report.left.differences, "more gangs")?;
    if !report.evicted.is_empty() {
        text.push_str("evicted in the shadow\n");
    }
    for one in &report.evicted {
        writeln!(text, "  {}", evicted(one))?;
    }
    more(text, report.left.evictions, "more pods")?;
    let pods = report.left.pods;
    if pods > 0 {
        writeln!(
            text,
            "{pods} pods left the shadow before they would have ended: too many are gone in the cluster"
        )?;
    }
    Ok(())
}

fn heading(text: &mut String, what: &str) -> fmt::Result {
    writeln!(text, "{what:<LABEL$}{:>CELL$}{:>CELL$}", "real", "shadow")
}

fn row<T: Display>(text: &mut String, label: &str, pair: &Pair<T>) -> fmt::Result {
    let cells = pair.map(ToString::to_string);
    writeln!(
        text,
        "  {label:<20}{:>CELL$}{:>CELL$}",
        cells.real, cells.shadow
    )
}

fn write_flow(text: &mut String, flow: &Flow) -> fmt::Result {
    for (what, waits) in [("gangs", &flow.gangs), ("pods", &flow.pods)] {
        row(text, &format!("{what} started"), &waits.map(Waits::started))?;
        for (label, percent) in [("waited, median", 50), ("waited, p99", 99)] {
            let cell = |waits: &Waits| waits.percentile(percent).map_or("-".to_owned(), long);
            row(text, &format!("  {label}"), &waits.map(cell))?;
        }
    }
    let evictions = flow.evictions.to_string();
    let (real, shadow) = ("?".to_owned(), evictions);
    row(text, "evictions", &Pair { real, shadow })?;
    let Flow {
        sooner,
        later,
        same,
        ..
    } = flow;
    if sooner + later + same > 0 {
        writeln!(
            text,
            "  gangs that started in both: {sooner} sooner in the shadow, {later} later, {same} at the same time"
        )?;
    }
    Ok(())
}

fn more(text: &mut String, count: u64, what: &str) -> fmt::Result {
    if count > 0 {
        writeln!(text, "  and {count} {what}")?;
    }
    Ok(())
}

/// `ml/a (needs 2): runs in part (1 of 2 pods); in the shadow it runs (2 of 2 pods)`.
fn difference(one: &Difference) -> String {
    let far = |state, size: Size| {
        let Size { members, available } = size;
        match state {
            State::Waits => format!("waits ({members} pods)"),
            State::InPart => format!("runs in part ({available} of {members} pods)"),
            State::Whole => format!("runs ({available} of {members} pods)"),
            State::Over => "is over".to_owned(),
        }
    };
    let real = far(one.state.real, one.size.real);
    let shadow = far(one.state.shadow, one.size.shadow);
    let reason = one.reason.as_ref().map(|reason| format!(": {reason}"));
    let (gang, needs) = (&one.gang, one.minimum);
    let reason = reason.unwrap_or_default();
    format!("{gang} (needs {needs}): {real}; in the shadow it {shadow}{reason}")
}

fn evicted(one: &Evicted) -> String {
    let Evicted {
        pod,
        node,
        beneficiary,
        message,
        ..
    } = one;
    let whom = beneficiary.as_ref().map(|gang| format!(" for {gang}"));
    format!("{pod} from {node}{}: {message}", whom.unwrap_or_default())
}

/// A time as a date.
fn date(at: Time) -> String {
    wall(at).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A span as people say it: `4.2s`, `90s`, `12m`, `5h`.
fn long(span: Millis) -> String {
    let seconds = span.0 / 1_000;
    match seconds {
        0..10 => format!("{}.{}s", seconds, span.0 % 1_000 / 100),
        10..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        _ => format!("{}h", seconds / 3_600),
    }
}

/// For programs.
pub(super) fn json(report: &Report, names: &[String]) -> Value {
    let both = |of: fn(&Now) -> Value| json!({"real": of(&report.now.real), "shadow": of(&report.now.shadow)});
    json!({
        "at": date(report.at),
        "since": date(report.since),
        "began": date(report.began),
        "schedulerNames": names,
        "now": both(|now| json!({
            "gangsWhole": now.gangs_whole,
            "gangsInPart": now.gangs_in_part,
            "gangsWaiting": now.gangs_waiting,
            "podsOnNodes": now.pods_on_nodes,
            "podsWaiting": now.pods_waiting,
            "nodesUsed": now.nodes_used,
        })),
        "period": flow(&report.period),
        "total": flow(&report.total),
        "differences": report.differences.iter().map(difference_json).collect::<Vec<_>>(),
        "evicted": report.evicted.iter().map(evicted_json).collect::<Vec<_>>(),
        "leftOut": {
            "differences": report.left.differences,
            "evicted": report.left.evictions,
            "pods": report.left.pods,
        },
    })
}

fn flow(flow: &Flow) -> Value {
    let waits = |pair: &Pair<Waits>| {
        let of = |waits: &Waits| {
            json!({
                "started": waits.started(),
                "waitP50": waits.percentile(50).map(seconds),
                "waitP99": waits.percentile(99).map(seconds),
            })
        };
        json!({"real": of(&pair.real), "shadow": of(&pair.shadow)})
    };
    json!({
        "gangs": waits(&flow.gangs),
        "pods": waits(&flow.pods),
        "startedInBoth": {"sooner": flow.sooner, "later": flow.later, "same": flow.same},
        "evictions": flow.evictions,
    })
}

fn difference_json(one: &Difference) -> Value {
    let far = |state, size: Size| {
        let state = match state {
            State::Waits => "Waits",
            State::InPart => "InPart",
            State::Whole => "Whole",
            State::Over => "Over",
        };
        json!({"state": state, "members": size.members, "available": size.available})
    };
    json!({
        "gang": one.gang,
        "minAvailable": one.minimum,
        "submitted": date(one.submitted),
        "real": far(one.state.real, one.size.real),
        "shadow": far(one.state.shadow, one.size.shadow),
        "reason": one.reason.as_deref(),
    })
}

fn evicted_json(one: &Evicted) -> Value {
    let cause = match one.cause {
        EvictCause::Release => "Release",
        EvictCause::Preemption => "Preemption",
    };
    json!({
        "at": date(one.at),
        "pod": one.pod,
        "node": one.node,
        "cause": cause,
        "for": one.beneficiary,
        "message": &*one.message,
    })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "for people; beyond 2^53 ms nobody waits"
)]
fn seconds(span: Millis) -> f64 {
    span.0 as f64 / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::GangKey;
    use muster_shadow::Left;
    use std::sync::Arc;

    fn waits(of: &[u64]) -> Waits {
        let mut waits = Waits::default();
        of.iter().for_each(|wait| waits.add(Millis(*wait)));
        waits
    }

    fn report() -> Report {
        let real = Now {
            gangs_in_part: 2,
            pods_on_nodes: 2,
            pods_waiting: 2,
            nodes_used: 2,
            ..Now::default()
        };
        let shadow = Now {
            gangs_whole: 1,
            gangs_in_part: 0,
            gangs_waiting: 1,
            ..real
        };
        let period = Flow {
            gangs: Pair {
                real: waits(&[]),
                shadow: waits(&[4_250, 300_000]),
            },
            sooner: 3,
            evictions: 1,
            ..Flow::default()
        };
        Report {
            at: Time::from_secs(1_000_120),
            since: Time::from_secs(1_000_060),
            began: Time::from_secs(1_000_000),
            now: Pair { real, shadow },
            total: period.clone(),
            period,
            differences: vec![Difference {
                key: GangKey::default(),
                gang: "ml/b".to_owned(),
                minimum: 2,
                state: Pair {
                    real: State::InPart,
                    shadow: State::Waits,
                },
                size: Pair {
                    real: Size {
                        members: 2,
                        available: 1,
                    },
                    shadow: Size {
                        members: 2,
                        available: 0,
                    },
                },
                submitted: Time::from_secs(1_000_010),
                reason: Some("0/2 nodes are available".into()),
            }],
            evicted: vec![Evicted {
                at: Time::from_secs(1_000_100),
                pod: "ml/p".to_owned(),
                node: "n".to_owned(),
                cause: EvictCause::Preemption,
                beneficiary: Some("ml/a".to_owned()),
                message: Arc::from("makes room"),
            }],
            left: Left {
                differences: 7,
                ..Left::default()
            },
        }
    }

    #[test]
    fn a_report_in_words() {
        let found = text(&report(), &["default-scheduler".to_owned()]);
        let flow = "\
\x20 gangs started                  0           2
    waited, median               -        4.2s
    waited, p99                  -          5m
  pods started                   0           0
    waited, median               -           -
    waited, p99                  -           -
  evictions                      ?           1
  gangs that started in both: 3 sooner in the shadow, 0 later, 0 at the same time
";
        let wanted = format!(
            "\
1970-01-12T13:48:40Z  dry run for default-scheduler, for 2m
now                           real      shadow
  gangs whole                    0           1
  gangs in part                  2           0
  gangs waiting                  0           1
  pods on nodes                  2           2
  pods waiting                   2           2
  nodes used                     2           2
in the last 60s               real      shadow
{flow}since it began                real      shadow
{flow}not the same in both
  ml/b (needs 2): runs in part (1 of 2 pods); in the shadow it waits (2 pods): 0/2 nodes are available
  and 7 more gangs
evicted in the shadow
  ml/p from n for ml/a: makes room
"
        );
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_report_in_json_has_the_same() {
        let found = json(&report(), &["default-scheduler".to_owned()]);
        assert_eq!(found["at"], "1970-01-12T13:48:40Z");
        assert_eq!(found["now"]["shadow"]["gangsWhole"], 1);
        let gangs = &found["period"]["gangs"];
        assert_eq!(
            gangs["real"],
            json!({"started": 0, "waitP50": null, "waitP99": null})
        );
        assert_eq!(
            gangs["shadow"],
            json!({"started": 2, "waitP50": 4.25, "waitP99": 300.0})
        );
        let one = &found["differences"][0];
        assert_eq!(
            one["real"],
            json!({"state": "InPart", "members": 2, "available": 1})
        );
        assert_eq!(one["reason"], "0/2 nodes are available");
        assert_eq!(found["evicted"][0]["cause"], "Preemption");
        assert_eq!(
            found["leftOut"],
            json!({"differences": 7, "evicted": 0, "pods": 0})
        );
    }

    #[test]
    fn spans_are_short() {
        let words = [50, 9_999, 10_000, 119_000, 120_000, 7_200_000].map(|ms| long(Millis(ms)));
        assert_eq!(words, ["0.0s", "9.9s", "10s", "119s", "2m", "2h"]);
    }
}
