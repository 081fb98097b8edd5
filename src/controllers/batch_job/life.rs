//! How far a BatchJob is, and what follows: a function of what its status says and of what is seen.
//!
//! Two states, one in the other: the outer says whether a claim is honoured, the inner how far the run of who
//! claims is. What belongs to a claim is there only while the claim is honoured, and the claim is let go only when all
//! of it is gone: so releasing at any moment leaves nothing.

use muster_api::crd::BatchJobState as Run;

/// What a BatchJob's status says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// How far the run is.
    pub(super) run: Run,
    /// Whether a claim is honoured.
    pub(super) honoured: bool,
    /// Whether the application that it runs by, or ran by, is noted.
    pub(super) noted: bool,
}

/// Who claims it now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// Nobody.
    None,
    /// Whose claim is honoured.
    Same,
    /// Somebody whose claim is not honoured yet.
    Other,
}

/// The application as it is seen, under the name that it has to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Application {
    /// There is none.
    Absent,
    /// Somebody else's.
    Foreign,
    /// It goes, or it is being made or deleted.
    Moving,
    /// Ours, of another run.
    Old,
    /// Ours, of this run, and how far it is.
    This(Phase),
}

/// How far an application is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Not all of its pods have run.
    Submitted,
    /// All of its pods have run.
    Running,
    /// It has succeeded.
    Completed,
    /// It has failed.
    Failed,
}

/// The PodGroup as it is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// There is none.
    Absent,
    /// Somebody else's.
    Foreign,
    /// It goes, or it is being made or deleted.
    Moving,
    /// Ours, of another run.
    Old,
    /// Ours, of this run.
    This,
}

/// What is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// Who claims it.
    pub(super) claim: Claim,
    /// Whether it is asked to run.
    pub(super) asked: bool,
    /// Whether what it is asked for can be made.
    pub(super) possible: bool,
    /// Its application.
    pub(super) application: Application,
    /// The PodGroup of that.
    pub(super) group: Group,
}

/// What is to be made or deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// The PodGroup is made.
    MakeGroup,
    /// The application is made.
    MakeApplication,
    /// The PodGroup is deleted.
    DeleteGroup,
    /// The application is deleted.
    DeleteApplication,
}

/// What follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// What the status has to say.
    pub(super) next: State,
    /// A run has ended, so.
    pub(super) ended: Option<Run>,
    /// What is to be made or deleted.
    pub(super) wants: Vec<Want>,
}

/// What follows from what the status says and what is seen.
pub(super) fn step(is: State, seen: Seen) -> Step {
    match (is.honoured, seen.claim) {
        (true, Claim::Same) if is_over(is.run) => stay(is, remains(seen, true)),
        (true, Claim::Same) if seen.asked => run(is, seen),
        (true, Claim::Same) => leave(is, seen, true),
        (true, Claim::None | Claim::Other) => leave(is, seen, false),
        (false, claim) => idle(is, seen, claim != Claim::None),
    }
}

/// Nobody's claim is honoured: nothing of it may be there. Then the next claim is.
fn idle(is: State, seen: Seen, claimed: bool) -> Step {
    if claimed && is_clean(seen) {
        return to(Run::InQueue, true, false, None);
    }
    let over = is_over(is.run);
    let next = State {
        run: if over { is.run } else { Run::Ready },
        honoured: false,
        noted: over && is.noted,
    };
    stay(next, remains(seen, false))
}

/// What is there of a run goes; then the claim does, unless it only asks for nothing any more.
fn leave(is: State, seen: Seen, keeps_claim: bool) -> Step {
    if let Some(end) = end(is, seen) {
        return end;
    }
    if !is_clean(seen) {
        return stay(is, remains(seen, false));
    }
    let had_begun = matches!(is.run, Run::Submitted | Run::Running);
    let ended = had_begun.then_some(Run::Ready);
    if keeps_claim {
        return to(Run::InQueue, true, false, ended);
    }
    if is_over(is.run) {
        return to(is.run, false, is.noted, None);
    }
    to(Run::Ready, false, false, ended)
}

/// It is asked to run.
fn run(is: State, seen: Seen) -> Step {
    if let Some(end) = end(is, seen) {
        return end;
    }
    let begun = is.noted && matches!(is.run, Run::Submitted | Run::Running);
    match seen.application {
        Application::This(phase) => {
            let all_run = phase == Phase::Running || begun && is.run == Run::Running;
            let run = if all_run {
                Run::Running
            } else {
                Run::Submitted
            };
            let mut step = to(run, true, true, None);
            if seen.group == Group::Absent && seen.possible {
                step.wants.push(Want::MakeGroup);
            }
            step
        }
        Application::Moving => stay(is, Vec::new()),
        // The application of this run is gone before it has ended.
        _ if begun => to(Run::Failed, true, true, Some(Run::Failed)),
        Application::Old => Step {
            wants: vec![Want::DeleteApplication],
            ..to(Run::InQueue, true, false, None)
        },
        Application::Foreign => to(Run::InQueue, true, false, None),
        Application::Absent => {
            let want = match seen.group {
                Group::Old => Some(Want::DeleteGroup),
                Group::Absent if seen.possible => Some(Want::MakeGroup),
                Group::This if seen.possible => Some(Want::MakeApplication),
                Group::Absent | Group::This | Group::Moving | Group::Foreign => None,
            };
            Step {
                wants: want.into_iter().collect(),
                ..to(Run::InQueue, true, false, None)
            }
        }
    }
}

/// That the run has ended, if that is seen and not said yet.
fn end(is: State, seen: Seen) -> Option<Step> {
    let run = match seen.application {
        Application::This(Phase::Completed) => Run::Completed,
        Application::This(Phase::Failed) => Run::Failed,
        _ => return None,
    };
    (!is_over(is.run)).then(|| to(run, is.honoured, true, Some(run)))
}

/// What is there of ours and is not to be; what is of this run may stay, if that is said.
fn remains(seen: Seen, this_may_stay: bool) -> Vec<Want> {
    let mut wants = Vec::new();
    match seen.application {
        Application::This(_) if this_may_stay => {}
        Application::This(_) | Application::Old => wants.push(Want::DeleteApplication),
        Application::Absent | Application::Foreign | Application::Moving => {}
    }
    match seen.group {
        Group::This | Group::Old if !this_may_stay => wants.push(Want::DeleteGroup),
        _ => {}
    }
    wants
}

/// Whether nothing of ours is there.
fn is_clean(seen: Seen) -> bool {
    matches!(seen.application, Application::Absent | Application::Foreign)
        && matches!(seen.group, Group::Absent | Group::Foreign)
}

/// Whether a run has ended by itself.
pub(super) fn is_over(run: Run) -> bool {
    matches!(run, Run::Completed | Run::Failed)
}

fn stay(next: State, wants: Vec<Want>) -> Step {
    Step {
        next,
        ended: None,
        wants,
    }
}

fn to(run: Run, honoured: bool, noted: bool, ended: Option<Run>) -> Step {
    Step {
        next: State {
            run,
            honoured,
            noted,
        },
        ended,
        wants: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNS: [Run; 6] = [
        Run::Ready,
        Run::InQueue,
        Run::Submitted,
        Run::Running,
        Run::Completed,
        Run::Failed,
    ];
    const APPLICATIONS: [Application; 8] = [
        Application::Absent,
        Application::Foreign,
        Application::Moving,
        Application::Old,
        Application::This(Phase::Submitted),
        Application::This(Phase::Running),
        Application::This(Phase::Completed),
        Application::This(Phase::Failed),
    ];
    const GROUPS: [Group; 5] = [
        Group::Absent,
        Group::Foreign,
        Group::Moving,
        Group::Old,
        Group::This,
    ];

    /// All pairs of what a status may say and what may be seen.
    fn pairs() -> Vec<(State, Seen)> {
        let mut all = Vec::new();
        for run in RUNS {
            for (honoured, noted) in [(false, false), (false, true), (true, false), (true, true)] {
                for claim in [Claim::None, Claim::Same, Claim::Other] {
                    for (asked, possible) in
                        [(false, false), (false, true), (true, false), (true, true)]
                    {
                        for application in APPLICATIONS {
                            for group in GROUPS {
                                let is = State {
                                    run,
                                    honoured,
                                    noted,
                                };
                                let seen = Seen {
                                    claim,
                                    asked,
                                    possible,
                                    application,
                                    group,
                                };
                                all.push((is, seen));
                            }
                        }
                    }
                }
            }
        }
        assert_eq!(all.len(), 11_520);
        all
    }

    #[test]
    fn only_ours_is_deleted_and_only_what_is_absent_is_made() {
        for (is, seen) in pairs() {
            let wants = step(is, seen).wants;
            let fits = wants.iter().all(|want| match want {
                Want::MakeGroup => seen.group == Group::Absent,
                Want::MakeApplication => seen.application == Application::Absent,
                Want::DeleteGroup => matches!(seen.group, Group::This | Group::Old),
                Want::DeleteApplication => {
                    matches!(seen.application, Application::This(_) | Application::Old)
                }
            });
            assert!(fits, "{is:?} {seen:?} {wants:?}");
        }
    }

    #[test]
    fn an_application_is_made_only_for_a_claim_that_is_honoured_and_asks_with_its_group_there() {
        for (is, seen) in pairs() {
            let step = step(is, seen);
            if step.wants.contains(&Want::MakeApplication) {
                let may = is.honoured && seen.claim == Claim::Same && seen.asked && seen.possible;
                assert!(may && seen.group == Group::This, "{is:?} {seen:?}");
                assert!(!is_over(is.run), "{is:?} {seen:?}");
            }
        }
    }

    #[test]
    fn a_claim_is_let_go_or_taken_only_when_nothing_of_ours_is_there() {
        for (is, seen) in pairs() {
            let next = step(is, seen).next;
            if next.honoured != is.honoured {
                assert!(is_clean(seen), "{is:?} {seen:?}");
                assert_eq!(next.honoured, seen.claim != Claim::None && !is.honoured);
            }
        }
    }

    #[test]
    fn a_run_is_noted_as_ended_exactly_when_it_ends() {
        for (is, seen) in pairs() {
            let Step { next, ended, .. } = step(is, seen);
            let begun = is.honoured && matches!(is.run, Run::Submitted | Run::Running);
            let ends = !is_over(is.run) && is_over(next.run);
            let released = begun && matches!(next.run, Run::Ready | Run::InQueue);
            // A status that says of a run that it has begun, and not by what, is of nobody's making.
            let real = is.noted || !matches!(is.run, Run::Submitted | Run::Running);
            if real {
                assert_eq!(
                    ended.is_some(),
                    ends || released,
                    "{is:?} {seen:?} {next:?}"
                );
            }
            if let Some(ended) = ended.filter(|ended| is_over(*ended)) {
                assert_eq!(ended, next.run, "{is:?} {seen:?}");
            }
        }
    }

    #[test]
    fn what_has_ended_stays_until_it_is_claimed_anew() {
        for (is, seen) in pairs() {
            let next = step(is, seen).next;
            if is_over(is.run) && next.run != is.run {
                assert!(!is.honoured && seen.claim != Claim::None, "{is:?} {seen:?}");
                assert_eq!(next.run, Run::InQueue);
            }
        }
    }

    /// What becomes of what is seen when what is wanted is done.
    fn done(seen: &mut Seen, wants: &[Want]) {
        for want in wants {
            match want {
                Want::MakeGroup => seen.group = Group::This,
                Want::MakeApplication => {
                    seen.application = Application::This(Phase::Submitted);
                }
                Want::DeleteGroup => seen.group = Group::Absent,
                Want::DeleteApplication => seen.application = Application::Absent,
            }
        }
        if seen.application == Application::Moving {
            seen.application = Application::Absent;
        }
        if seen.group == Group::Moving {
            seen.group = Group::Absent;
        }
    }

    #[test]
    fn from_anywhere_a_release_ends_with_nothing_and_a_request_with_an_application() {
        for (mut is, mut seen) in pairs() {
            let from = (is, seen);
            for _ in 0..8 {
                let step = step(is, seen);
                if step.next.honoured && !is.honoured {
                    seen.claim = Claim::Same;
                } else if !step.next.honoured && seen.claim == Claim::Same {
                    seen.claim = Claim::Other;
                }
                is = step.next;
                done(&mut seen, &step.wants);
            }
            let last = step(is, seen);
            assert_eq!(
                (last.next, &last.wants),
                (is, &Vec::new()),
                "{from:?}: no rest"
            );
            if seen.claim == Claim::None {
                assert!(!is.honoured && is_clean(seen), "{from:?}");
                assert!(is_over(is.run) || is.run == Run::Ready, "{from:?}");
            } else {
                assert!(is.honoured, "{from:?}");
                let free = seen.application != Application::Foreign && seen.group != Group::Foreign;
                if seen.asked && seen.possible && free {
                    let there = matches!(seen.application, Application::This(_));
                    assert!(there || is_over(is.run), "{from:?} {is:?} {seen:?}");
                }
            }
        }
    }
}
