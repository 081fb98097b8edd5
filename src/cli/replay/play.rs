//! Plays a term, and takes down what came of it.

use anyhow::bail;
use muster_core::engine::Policy;
use muster_model::explanation::{Clock, Thousandths};
use muster_model::units::Time;
use muster_model::{Effect, Plan};
use muster_record::{Difference, Gap, Played, Player, Read, Reader, Term};
use serde::Serialize;
use std::path::PathBuf;

/// How far a term could be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Came {
    /// Every plan was the same.
    Same,
    /// One was another.
    Differs,
    /// Entries are missing: what follows cannot be played.
    Gap,
    /// It does not begin with the start of the scheduler.
    NoBeginning,
}

/// What came of a term.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome {
    pub(super) term: String,
    /// The version of Muster that wrote it.
    pub(super) muster: String,
    pub(super) clock: Clock,
    /// When it begins and ends, in seconds.
    pub(super) from: Thousandths,
    pub(super) to: Thousandths,
    /// What was compared.
    pub(super) news: u64,
    pub(super) plans: u64,
    pub(super) binds: u64,
    pub(super) evictions: u64,
    pub(super) came: Came,
    /// Entries that stand behind what could be compared.
    pub(super) not_compared: u64,
    pub(super) gaps: Vec<Gap>,
    /// The file that has no end, and how many lines of it are whole.
    pub(super) cut_off: Option<(PathBuf, u64)>,
    pub(super) difference: Option<Differs>,
}

/// The first plan that is another.
#[derive(Debug, Serialize)]
pub(super) struct Differs {
    pub(super) file: PathBuf,
    pub(super) line: u64,
    pub(super) entry: u64,
    pub(super) at: Thousandths,
    pub(super) recorded: Plan,
    pub(super) played: Plan,
}

/// Plays a term up to a time, and compares.
pub(super) fn compare(
    term: &Term,
    reader: &mut Reader,
    policy: Policy,
    until: Option<Time>,
) -> anyhow::Result<Outcome> {
    let about = reader.about();
    let seconds = |at: Time| Thousandths(at.0);
    let mut outcome = Outcome {
        term: term.name.clone(),
        muster: reader.muster().to_owned(),
        clock: about.clock,
        from: seconds(about.started),
        to: seconds(about.started),
        news: 0,
        plans: 0,
        binds: 0,
        evictions: 0,
        came: Came::Same,
        not_compared: 0,
        gaps: Vec::new(),
        cut_off: None,
        difference: None,
    };
    let mut player = reader.has_beginning().then(|| Player::new(policy));
    if player.is_none() {
        outcome.came = Came::NoBeginning;
    }
    while let Some(read) = reader.read()? {
        let line = match read {
            Read::Line(line) => line,
            Read::Gap(gap) => {
                outcome.gaps.push(gap);
                if player.take().is_some() {
                    outcome.came = Came::Gap;
                }
                continue;
            }
            Read::CutOff { file, lines } => {
                outcome.cut_off = Some((file, lines));
                continue;
            }
        };
        let at = line.at()?;
        if until.is_some_and(|until| at > until) {
            break;
        }
        outcome.to = seconds(at);
        let Some(playing) = &mut player else {
            outcome.not_compared += 1;
            continue;
        };
        match playing.play(&line)? {
            Played::Heard => outcome.news += 1,
            Played::Same(plan) => {
                outcome.plans += 1;
                outcome.count(&plan);
            }
            Played::Differs(difference) => {
                let Difference {
                    at,
                    recorded,
                    played,
                } = *difference;
                outcome.came = Came::Differs;
                outcome.difference = Some(Differs {
                    file: line.file,
                    line: line.number,
                    entry: line.entry,
                    at: seconds(at),
                    recorded,
                    played,
                });
                player = None;
            }
        }
    }
    Ok(outcome)
}

impl Outcome {
    fn count(&mut self, plan: &Plan) {
        for effect in &plan.effects {
            match effect {
                Effect::Bind(_) => self.binds += 1,
                Effect::Evict(_) => self.evictions += 1,
                _ => {}
            }
        }
    }
}

/// Plays a term up to a time; says when it heard of something last.
///
/// # Errors
/// When it cannot be read, or what the scheduler knew then cannot be found out.
pub(super) fn up_to(
    term: &Term,
    reader: &mut Reader,
    player: &mut Player,
    until: Option<Time>,
) -> anyhow::Result<Time> {
    let name = &term.name;
    if !reader.has_beginning() {
        bail!(
            "{name}: its beginning is missing, so what the scheduler knew cannot be found out; --decisions lists what is \
             left"
        );
    }
    let mut last = reader.about().started;
    while let Some(read) = reader.read()? {
        match read {
            Read::Line(line) => {
                let at = line.at()?;
                if until.is_some_and(|until| at > until) {
                    break;
                }
                last = at;
                if let Played::Differs(_) = player.play(&line)? {
                    let file = line.file.display();
                    bail!(
                        "{file}, line {}: another plan is made of what was heard than the one that is recorded, so what \
                         the scheduler knew afterwards cannot be found out",
                        line.number
                    );
                }
            }
            Read::Gap(gap) => {
                bail!("{name}: {gap}; what the scheduler knew afterwards cannot be found out")
            }
            Read::CutOff { .. } => {}
        }
    }
    Ok(last)
}
