//! Each rule of the election by itself.

use super::Identity;
use super::election::{
    ANSWER_WITHIN, Answer, DURATION, Election, End, LOOK_EVERY, RENEW_EVERY, RETRY, Record,
    Request, SEND_FOR, UNKNOWN,
};
use crate::attempt::Step;
use crate::ending::WRITE_ENDS_WITHIN;
use muster_model::units::{Millis, Time};

const START: Time = Time(100_000);
const RTT: Millis = Millis(5);
const ME: &str = "muster-0_u_2";
const BEFORE_ME: &str = "muster-0_u_1";
const OTHER: &str = "muster-1_v_1";

fn at(millis: u64) -> Time {
    START + Millis(millis)
}

fn candidate() -> Election {
    Election::new(Identity::in_pod("muster-0", "u", "2"), START)
}

fn record(version: u32, holder: impl Into<Option<&'static str>>) -> Record {
    Record {
        uid: "a".to_owned(),
        version: version.to_string(),
        holder: holder.into().map(str::to_owned),
        duration: DURATION,
    }
}

fn replace(version: u32) -> Step<Request, End> {
    Step::Send(Request::Replace {
        version: version.to_string(),
        hold: true,
    })
}

const READ: Step<Request, End> = Step::Send(Request::Read);

fn lost(reason: &str) -> Step<Request, End> {
    let reason = reason.to_owned();
    Step::Done(End::Lost { reason })
}

/// Takes an answer that came right away.
fn answer(election: &mut Election, answer: Answer, sent: Time) {
    election.answered(answer, sent, sent + RTT);
}

/// A candidate that has read this.
fn knows(record: Record) -> Election {
    let mut election = candidate();
    assert_eq!(election.next(START), READ);
    answer(&mut election, Answer::Found(record), START);
    election
}

/// Holds the lease at version 2 since a request at `START`, of a lease that was free.
fn holder() -> Election {
    let mut election = knows(record(1, None));
    assert_eq!(election.next(START), replace(1));
    answer(&mut election, Answer::Written(record(2, ME)), START);
    election
}

#[test]
fn the_times_fit_together() {
    assert_eq!(SEND_FOR, Millis(3_500));
    const { assert!(RENEW_EVERY.0 + ANSWER_WITHIN.0 < SEND_FOR.0) };
    assert!(LOOK_EVERY > RENEW_EVERY && RETRY < RENEW_EVERY);
}

#[test]
fn a_free_lease_is_taken_at_once_and_writes_may_be_sent() {
    let election = holder();
    assert_eq!(election.may_send_until(at(5)), Some(START + SEND_FOR));
    assert_eq!(election.next(at(5)), Step::WaitUntil(START + RENEW_EVERY));
    assert_eq!(election.holder(), Some(ME));
    assert_eq!(election.watch_from(), None, "a holder needs no news");
}

#[test]
fn sending_ends_by_the_start_of_the_last_renewal_not_by_its_answer() {
    let mut election = holder();
    assert_eq!(election.next(at(1_500)), replace(2));
    election.answered(Answer::Written(record(3, ME)), at(1_500), at(2_900));
    assert_eq!(election.may_send_until(at(2_900)), Some(at(5_000)));
    assert_eq!(election.may_send_until(at(4_999)), Some(at(5_000)));
    assert_eq!(election.may_send_until(at(5_000)), None);
}

#[test]
fn a_lease_of_another_is_taken_when_it_ran_out_as_we_saw_it() {
    let mut election = knows(record(1, OTHER));
    let seen = START + RTT;
    assert_eq!(election.next(seen), Step::WaitUntil(seen + LOOK_EVERY));
    // Looking again and finding the same does not begin the wait anew.
    let look = seen + LOOK_EVERY;
    assert_eq!(election.next(look), READ);
    answer(&mut election, Answer::Found(record(1, OTHER)), look);
    let later = look + LOOK_EVERY + RTT;
    assert_eq!(election.next(later), READ);
    answer(&mut election, Answer::Found(record(1, OTHER)), later);
    assert_eq!(election.next(later + RTT), Step::WaitUntil(seen + DURATION));
    assert_eq!(election.next(seen + DURATION), replace(1));
}

#[test]
fn each_renewal_of_another_begins_the_wait_anew() {
    let mut election = knows(record(1, OTHER));
    election.heard(Some(record(2, OTHER)), at(1_500));
    election.heard(Some(record(3, OTHER)), at(3_000));
    election.heard(Some(record(4, OTHER)), at(4_500));
    assert_ne!(election.next(at(6_100)), replace(4));
    election.heard(Some(record(4, OTHER)), at(6_200));
    election.heard(Some(record(4, OTHER)), at(8_000));
    assert_eq!(election.next(at(10_500)), replace(4));
}

#[test]
fn the_longer_of_the_records_duration_and_ours_counts() {
    let lasting = |duration| Record {
        duration,
        ..record(1, OTHER)
    };
    for (duration, waits) in [(15_000, 15_000), (1_000, 6_000), (0, 6_000)] {
        let mut election = knows(lasting(Millis(duration)));
        let runs_out = START + RTT + Millis(waits);
        election.heard(Some(lasting(Millis(duration))), runs_out - Millis(1));
        assert_eq!(
            election.next(runs_out - Millis(1)),
            Step::WaitUntil(runs_out)
        );
        assert_eq!(election.next(runs_out), replace(1));
    }
}

#[test]
fn news_that_it_was_given_back_is_acted_on_at_once() {
    let mut election = knows(record(1, OTHER));
    assert_eq!(election.watch_from(), Some("1"));
    election.heard(Some(record(2, None)), at(700));
    assert_eq!(election.next(at(700)), replace(2));
    answer(&mut election, Answer::Written(record(3, ME)), at(700));
    assert_eq!(election.may_send_until(at(705)), Some(at(700) + SEND_FOR));
}

#[test]
fn of_a_lost_race_the_winner_is_read_at_once() {
    let mut election = knows(record(1, None));
    answer(&mut election, Answer::Conflict, START);
    assert_eq!(election.next(START + RTT), READ);
    answer(&mut election, Answer::Found(record(2, OTHER)), START + RTT);
    assert!(matches!(election.next(at(10)), Step::WaitUntil(_)));
}

#[test]
fn conflicts_upon_conflicts_do_not_turn_in_a_hot_loop() {
    let mut election = knows(record(1, None));
    let mut now = START;
    let mut writes = 0;
    while now < at(10_000) {
        match election.next(now) {
            Step::Send(Request::Read) => {
                answer(&mut election, Answer::Found(record(1, None)), now);
            }
            Step::Send(_) => {
                writes += 1;
                answer(&mut election, Answer::Conflict, now);
            }
            Step::WaitUntil(time) => now = time,
            Step::Done(end) => panic!("{end:?}"),
        }
        now = now + RTT;
    }
    assert!(writes <= 42, "{writes} writes in ten seconds");
}

#[test]
fn the_next_process_of_a_pod_takes_over_when_what_was_sent_has_ended() {
    let mut election = knows(record(1, BEFORE_ME));
    assert_eq!(election.next(at(5)), replace(1), "without waiting it out");
    answer(&mut election, Answer::Written(record(2, ME)), at(5));
    assert_eq!(election.may_send_until(at(10)), None);
    assert_eq!(election.next(at(10)), Step::WaitUntil(at(1_505)));
    assert_eq!(election.next(at(1_505)), replace(2));
    answer(&mut election, Answer::Written(record(3, ME)), at(1_505));
    let quiet = START + WRITE_ENDS_WITHIN;
    assert_eq!(election.next(at(1_510)), Step::WaitUntil(quiet), "to begin");
    assert_eq!(election.may_send_until(quiet - Millis(1)), None);
    assert_eq!(election.may_send_until(quiet), Some(at(1_505) + SEND_FOR));
}

#[test]
fn a_lease_that_is_absent_is_made_for_whoever_held_it_and_runs_out() {
    let mut deleted = knows(record(1, OTHER));
    deleted.heard(None, at(700));
    assert_eq!(deleted.next(at(700)), READ);
    for mut election in [candidate(), deleted] {
        answer(&mut election, Answer::Absent, at(700));
        assert_eq!(election.next(at(705)), Step::Send(Request::Create));
        let made = record(9, UNKNOWN);
        answer(&mut election, Answer::Written(made.clone()), at(705));
        assert_eq!(election.may_send_until(at(710)), None);
        let runs_out = at(710) + DURATION;
        election.heard(Some(made), runs_out - Millis(1));
        assert_eq!(
            election.next(runs_out - Millis(1)),
            Step::WaitUntil(runs_out)
        );
        assert_eq!(election.next(runs_out), replace(9));
    }
}

#[test]
fn a_write_that_was_not_answered_and_took_it_is_found_and_confirmed() {
    let mut election = knows(record(1, None));
    election.answered(Answer::Failed, START, START + ANSWER_WITHIN);
    let now = START + ANSWER_WITHIN;
    assert_eq!(election.may_send_until(now), None);
    assert_eq!(election.next(now), READ);
    answer(&mut election, Answer::Found(record(2, ME)), now);
    assert_eq!(election.may_send_until(now + RTT), None, "since when?");
    assert_eq!(election.next(now + RTT), replace(2));
}

#[test]
fn failures_are_tried_again_half_a_second_after_they_began() {
    let mut election = candidate();
    answer(&mut election, Answer::Failed, START);
    assert_eq!(election.next(at(5)), Step::WaitUntil(START + RETRY));
    let mut election = holder();
    answer(&mut election, Answer::Failed, at(1_500));
    assert_eq!(election.next(at(1_505)), Step::WaitUntil(at(2_000)));
    assert_eq!(election.next(at(2_000)), replace(2));
    // After a wait for an answer that did not come, at once.
    election.answered(Answer::Failed, at(2_000), at(3_500));
    assert_eq!(election.next(at(3_500)), replace(2));
}

#[test]
fn a_holder_that_cannot_renew_stops_sending_goes_on_trying_and_may_go_on() {
    let mut election = holder();
    let mut now = at(1_500);
    while now < at(5_900) {
        assert_eq!(election.next(now), replace(2));
        election.answered(Answer::Failed, now, now + ANSWER_WITHIN);
        now = now + ANSWER_WITHIN;
    }
    assert_eq!(election.may_send_until(now), None);
    // It is late: another may have it.
    assert_eq!(election.next(now), READ);
    answer(&mut election, Answer::Found(record(2, ME)), now);
    assert_eq!(election.may_send_until(now + RTT), None);
    assert_eq!(election.next(now + RTT), replace(2));
    answer(&mut election, Answer::Written(record(3, ME)), now + RTT);
    let until = now + RTT + SEND_FOR;
    assert_eq!(election.may_send_until(now + RTT + RTT), Some(until));
}

#[test]
fn a_renewal_that_was_not_answered_but_happened_is_found_by_its_conflict() {
    let mut election = holder();
    election.answered(Answer::Failed, at(1_500), at(3_000));
    assert_eq!(election.next(at(3_000)), replace(2));
    answer(&mut election, Answer::Conflict, at(3_000));
    assert_eq!(election.may_send_until(at(3_005)), None, "in doubt");
    assert_eq!(election.next(at(3_005)), READ);
    answer(&mut election, Answer::Found(record(3, ME)), at(3_005));
    assert_eq!(election.may_send_until(at(3_010)), Some(START + SEND_FOR));
    assert_eq!(election.next(at(3_010)), replace(3));
}

#[test]
fn a_holder_that_was_deposed_learns_it_without_a_write() {
    let mut election = holder();
    // Stopped for forty seconds.
    let now = at(40_000);
    assert_eq!(election.may_send_until(now), None);
    assert_eq!(election.next(now), READ);
    answer(&mut election, Answer::Found(record(9, OTHER)), now);
    assert_eq!(election.next(now + RTT), lost("muster-1_v_1 holds it"));
    assert_eq!(election.may_send_until(now + RTT), None);
}

#[test]
fn it_is_lost_when_another_holds_it_or_nobody_or_it_is_gone() {
    let anew = Record {
        uid: "b".to_owned(),
        ..record(9, ME)
    };
    let cases = [
        (Answer::Found(record(9, OTHER)), "muster-1_v_1 holds it"),
        (Answer::Found(record(9, None)), "somebody else gave it back"),
        (Answer::Found(anew), "it was deleted and made anew"),
        (Answer::Absent, "it was deleted"),
        // Another process of our pod: the name is not ours.
        (Answer::Found(record(9, BEFORE_ME)), "muster-0_u_1 holds it"),
    ];
    for (found, reason) in cases {
        let mut election = holder();
        answer(&mut election, Answer::Conflict, at(1_500));
        assert_eq!(election.next(at(1_505)), READ);
        answer(&mut election, found, at(1_505));
        assert_eq!(election.next(at(1_510)), lost(reason));
        // Whatever comes after that.
        answer(&mut election, Answer::Written(record(10, ME)), at(1_510));
        assert_eq!(election.may_send_until(at(1_515)), None);
    }
}

#[test]
fn news_that_may_be_late_does_not_unseat_a_holder() {
    let mut election = holder();
    let before = election.clone();
    election.heard(Some(record(1, OTHER)), at(100));
    election.heard(None, at(100));
    assert_eq!(election, before);
}

#[test]
fn given_back_is_what_was_ours() {
    let free = Step::Send(Request::Replace {
        version: "2".to_owned(),
        hold: false,
    });
    let mut election = holder();
    election.release(at(100));
    assert_eq!(election.may_send_until(at(100)), None);
    assert_eq!(election.next(at(100)), free);
    answer(&mut election, Answer::Written(record(3, None)), at(100));
    assert_eq!(election.next(at(105)), Step::Done(End::Released));

    // A renewal was on its way: the lease is at another version, and still ours.
    let mut election = holder();
    election.release(at(100));
    answer(&mut election, Answer::Conflict, at(100));
    assert_eq!(election.next(at(105)), READ);
    answer(&mut election, Answer::Found(record(3, ME)), at(105));
    let free = Step::Send(Request::Replace {
        version: "3".to_owned(),
        hold: false,
    });
    assert_eq!(election.next(at(110)), free);

    // Another holds it: that is not ours to end.
    let mut election = holder();
    election.release(at(100));
    answer(&mut election, Answer::Conflict, at(100));
    answer(&mut election, Answer::Found(record(3, OTHER)), at(105));
    assert_eq!(election.next(at(110)), Step::Done(End::NotOurs));
}

/// A write that gives the Lease back.
fn give_back(version: u32) -> Step<Request, End> {
    Step::Send(Request::Replace {
        version: version.to_string(),
        hold: false,
    })
}

#[test]
fn who_may_have_taken_it_without_hearing_so_reads_and_gives_back_what_is_its_own() {
    let in_doubt = |version| {
        let mut election = knows(record(1, None));
        assert_eq!(election.next(at(5)), replace(1));
        election.answered(Answer::Failed, at(5), at(5) + ANSWER_WITHIN);
        let told = at(10) + ANSWER_WITHIN;
        election.release(told);
        assert_eq!(election.next(told), READ);
        answer(&mut election, Answer::Found(version), told);
        (election, told + RTT)
    };
    let (mut election, now) = in_doubt(record(2, ME));
    assert_eq!(election.next(now), give_back(2));
    answer(&mut election, Answer::Written(record(3, None)), now);
    assert_eq!(election.next(now), Step::Done(End::Released));
    // It may arrive yet: another version of the same, and it does not.
    let (election, now) = in_doubt(record(1, None));
    assert_eq!(election.next(now), give_back(1));
    // Another was faster.
    let (election, now) = in_doubt(record(2, OTHER));
    assert_eq!(election.next(now), Step::Done(End::NotOurs));
}

#[test]
fn one_that_ran_out_and_may_be_taken_yet_is_given_back_and_one_that_was_renewed_is_not() {
    for (version, then) in [(1, give_back(1)), (2, Step::Done(End::NotOurs))] {
        let mut election = knows(record(1, OTHER));
        let ran_out = at(5) + DURATION;
        answer(&mut election, Answer::Found(record(1, OTHER)), ran_out);
        assert_eq!(election.next(ran_out), replace(1));
        election.answered(Answer::Failed, ran_out, ran_out + ANSWER_WITHIN);
        let told = ran_out + ANSWER_WITHIN;
        election.release(told);
        let found = Answer::Found(record(version, OTHER));
        answer(&mut election, found, told);
        assert_eq!(election.next(told + RTT), then);
    }
}

#[test]
fn what_is_not_ours_or_not_quiet_is_not_given_back() {
    let mut election = knows(record(1, OTHER));
    election.release(at(100));
    assert_eq!(election.next(at(100)), Step::Done(End::NotOurs));
    // Nothing is asked for what was never asked for.
    let mut election = candidate();
    election.release(at(0));
    assert_eq!(election.next(at(0)), Step::Done(End::NotOurs));
    // Taken from our dead predecessor, whose writes may still happen.
    let mut election = knows(record(1, BEFORE_ME));
    answer(&mut election, Answer::Written(record(2, ME)), at(5));
    election.release(at(100));
    assert_eq!(election.next(at(100)), Step::Done(End::RunsOut));
}
