//! What random worlds have found before, played again.

use crate::keep_the_invariants;
use crate::steps::Step;
use crate::steps::Step::{
    Answer, GroupAgain, GroupEdit, GroupGone, NodeGone, Others, PodEnds, PodGone, PodRuns,
    QueueGone, Topology,
};

const fn node(index: u8, cpus: u8) -> Step {
    Step::Node {
        index,
        cpus,
        gpus: 0,
        tainted: false,
    }
}

const fn pod(index: u8, group: Option<u8>, cpus: u8, company: u8) -> Step {
    Step::Pod {
        index,
        group,
        cpus,
        gated: false,
        company,
    }
}

/// One that says its minimum, whether it has subgroups and names a queue, its priority and its lifetime.
fn group(index: u8, min: u8, split: bool, has_queue: bool, priority: u8, lifetime: u8) -> Step {
    Step::Group {
        index,
        min,
        split,
        queue: has_queue.then_some(0),
        priority,
        lifetime,
        said: Vec::new(),
    }
}

const fn queue() -> Step {
    Step::Queue {
        index: 0,
        said: Vec::new(),
    }
}

fn queue_that_says(index: u8, said: &[u8]) -> Step {
    Step::Queue {
        index,
        said: said.to_vec(),
    }
}

const fn cycle(later_ms: u32) -> Step {
    Step::Cycle { later_ms }
}

#[test]
fn one_that_waits_to_be_spread_where_what_it_counts_changes() {
    keep_the_invariants(&[
        node(0, 3),
        pod(4, Some(1), 1, 2),
        pod(9, Some(1), 1, 0),
        group(1, 1, true, false, 0, 0),
        PodEnds {
            index: 0,
            well: false,
        },
    ]);
}

#[test]
fn places_that_are_held_and_let_go_in_one_plan() {
    keep_the_invariants(&[
        pod(2, Some(0), 2, 5),
        pod(5, Some(2), 3, 3),
        pod(1, None, 1, 3),
        group(2, 1, false, false, 1, 0),
        node(1, 4),
        pod(0, None, 3, 9),
        node(0, 2),
        pod(4, Some(2), 2, 5),
        node(3, 4),
        cycle(0),
        pod(9, None, 1, 9),
        Answer(3),
        Answer(3),
        Answer(3),
        Answer(3),
        cycle(0),
        node(2, 1),
        Answer(3),
        pod(8, Some(0), 2, 9),
        pod(3, Some(2), 1, 5),
        node(0, 4),
        cycle(996),
        Answer(3),
        group(0, 1, false, false, 1, 0),
        pod(10, None, 1, 2),
        pod(6, Some(2), 1, 0),
        pod(11, None, 1, 1),
        cycle(521),
        group(2, 1, false, true, 0, 1),
        node(2, 4),
        Answer(3),
        cycle(1000),
    ]);
}

#[test]
fn one_that_another_helped_in_the_cycle_of_a_sweep() {
    keep_the_invariants(&[
        node(0, 3),
        pod(1, None, 1, 3),
        pod(0, None, 1, 2),
        node(1, 3),
        cycle(0),
        cycle(0),
        pod(2, None, 3, 2),
        node(1, 4),
        Answer(1),
    ]);
}

#[test]
fn a_release_where_nothing_is_asked_for() {
    keep_the_invariants(&[
        node(1, 4),
        pod(0, Some(0), 1, 0),
        Others { group: 0, what: 0 },
        cycle(0),
        node(0, 3),
        group(0, 2, false, false, 0, 0),
        Answer(3),
        pod(1, Some(0), 2, 5),
        pod(3, Some(0), 2, 2),
        cycle(0),
        cycle(1549),
        cycle(1932),
        cycle(1519),
        NodeGone(1),
        Answer(0),
        GroupGone(0),
    ]);
}

#[test]
fn a_group_of_others_that_becomes_ours_and_runs_out() {
    keep_the_invariants(&[
        pod(9, Some(0), 1, 2),
        pod(5, None, 3, 4),
        node(2, 3),
        group(0, 2, false, false, 0, 1),
        Others { group: 2, what: 0 },
        GroupGone(1),
        pod(10, Some(0), 2, 2),
        Topology(false),
        node(0, 3),
        cycle(0),
        Answer(3),
        queue(),
        Others { group: 0, what: 0 },
        pod(8, Some(2), 1, 0),
        pod(1, Some(0), 1, 0),
        Answer(0),
        cycle(0),
        pod(0, None, 1, 0),
        cycle(200000),
        Answer(1),
        Answer(3),
        cycle(0),
        pod(11, Some(0), 1, 3),
        PodGone(5),
        pod(4, Some(0), 3, 4),
    ]);
}

#[test]
fn one_that_is_looked_at_again_by_the_sweep_alone() {
    keep_the_invariants(&[
        node(0, 2),
        node(1, 4),
        pod(4, Some(2), 1, 2),
        pod(0, Some(2), 1, 0),
        Others { group: 2, what: 0 },
        cycle(0),
        pod(8, None, 2, 12),
        cycle(300000),
    ]);
}

#[test]
fn one_whose_room_is_held_and_who_is_kept_from_it_no_more() {
    keep_the_invariants(&[
        pod(6, Some(2), 1, 3),
        Others { group: 2, what: 0 },
        pod(0, None, 1, 4),
        pod(1, None, 3, 1),
        node(2, 1),
        GroupGone(0),
        node(3, 1),
        cycle(297065),
        node(0, 3),
        Answer(3),
        NodeGone(3),
        cycle(2935),
        Answer(0),
        cycle(0),
        group(0, 1, false, false, 0, 0),
        cycle(0),
        Answer(0),
        NodeGone(2),
    ]);
}

#[test]
fn a_queue_that_goes_after_the_one_above_it() {
    let queue = |index, said: &[u8]| Step::Queue {
        index,
        said: said.to_vec(),
    };
    keep_the_invariants(&[
        queue(2, &[214]),
        queue(3, &[]),
        cycle(0),
        QueueGone(3),
        QueueGone(2),
    ]);
}

#[test]
fn who_may_have_to_go_is_asked() {
    keep_the_invariants(&[
        node(1, 3),
        node(0, 1),
        pod(4, None, 1, 3),
        pod(1, Some(0), 1, 9),
        group(2, 2, false, false, 2, 2),
        cycle(0),
        pod(2, Some(0), 1, 0),
        Answer(3),
        Others { group: 0, what: 0 },
        pod(3, Some(2), 2, 13),
        pod(0, Some(0), 1, 0),
        node(0, 1),
        cycle(0),
        Answer(3),
        Answer(3),
        node(2, 1),
        GroupEdit {
            index: 2,
            said: Vec::new(),
        },
        cycle(0),
        Answer(3),
        group(0, 3, false, false, 2, 1),
        cycle(0),
        pod(0, None, 1, 0),
        GroupAgain(1),
        Answer(0),
    ]);
}

#[test]
fn a_group_without_a_minimum_of_which_one_failed_and_one_is_told_again() {
    keep_the_invariants(&[
        node(0, 1),
        pod(2, Some(0), 1, 0),
        Others { group: 0, what: 0 },
        pod(6, Some(0), 2, 0),
        node(0, 2),
        cycle(0),
        Answer(3),
        PodEnds {
            index: 2,
            well: false,
        },
        cycle(0),
        pod(6, None, 1, 0),
    ]);
}

#[test]
fn one_whose_victims_leave_and_whose_node_went_is_charged_nothing() {
    keep_the_invariants(&[
        pod(2, Some(2), 2, 0),
        node(1, 2),
        pod(1, None, 1, 0),
        NodeGone(2),
        cycle(0),
        group(2, 1, false, false, 1, 2),
        Answer(3),
        cycle(0),
        NodeGone(1),
        PodRuns(0),
    ]);
}

#[test]
fn one_whose_victim_stays_is_charged_nothing() {
    keep_the_invariants(&[
        group(0, 2, false, false, 1, 2),
        pod(6, None, 3, 0),
        pod(0, Some(0), 1, 5),
        node(0, 3),
        cycle(0),
        Answer(3),
        pod(2, Some(0), 1, 2),
        cycle(0),
        Answer(0),
        cycle(0),
        cycle(0),
    ]);
}

#[test]
fn one_that_nobody_came_to_has_no_place_reserved_any_more() {
    keep_the_invariants(&[
        pod(0, Some(2), 1, 3),
        node(0, 1),
        pod(1, None, 1, 3),
        node(1, 3),
        Others { group: 2, what: 2 },
        cycle(0),
        cycle(200_000),
        pod(2, Some(2), 1, 0),
    ]);
}

#[test]
fn one_without_a_minimum_whose_queue_gives_nothing_before_what_it_remembers_decays() {
    keep_the_invariants(&[
        Others { group: 2, what: 1 },
        queue_that_says(1, &[0, 64, 0, 0, 0, 0]),
        pod(2, None, 3, 0),
        node(1, 3),
        Others { group: 1, what: 0 },
        Step::Node {
            index: 2,
            cpus: 1,
            gpus: 1,
            tainted: false,
        },
        pod(5, Some(1), 1, 4),
        cycle(0),
        PodGone(2),
        node(1, 1),
        queue_that_says(2, &[0, 64]),
        QueueGone(0),
        node(3, 4),
        QueueGone(1),
        node(2, 2),
        pod(0, Some(1), 1, 3),
        cycle(0),
        cycle(200_000),
    ]);
}

#[test]
fn one_that_gives_way_and_was_made_again_before_its_bind_was_answered() {
    keep_the_invariants(&[
        queue_that_says(0, &[0]),
        node(2, 1),
        node(2, 3),
        node(0, 1),
        group(1, 1, false, true, 0, 0),
        pod(3, Some(2), 3, 0),
        group(2, 1, false, false, 0, 1),
        cycle(0),
        GroupAgain(2),
        GroupAgain(0),
        node(0, 1),
        PodGone(0),
        pod(0, Some(1), 1, 0),
        NodeGone(0),
    ]);
}

#[test]
fn one_of_whom_a_new_node_suits_a_member_once_another_has_its_place() {
    keep_the_invariants(&[
        pod(6, None, 1, 3),
        node(0, 3),
        node(1, 1),
        node(3, 3),
        group(2, 1, false, false, 0, 0),
        cycle(0),
        Answer(3),
        pod(1, Some(1), 3, 0),
        pod(2, None, 2, 0),
        Step::Node {
            index: 0,
            cpus: 2,
            gpus: 1,
            tainted: false,
        },
        cycle(0),
        pod(4, Some(1), 1, 5),
        Answer(0),
        NodeGone(1),
        cycle(0),
        NodeGone(1),
        group(0, 1, false, false, 0, 0),
        PodGone(0),
        group(1, 2, false, false, 0, 0),
        cycle(0),
        node(2, 1),
    ]);
}

#[test]
fn one_that_a_sweep_looks_at_when_room_is_given_back() {
    keep_the_invariants(&[
        pod(2, Some(2), 2, 5),
        pod(3, None, 3, 2),
        node(0, 4),
        pod(4, Some(2), 1, 3),
        cycle(0),
        Answer(3),
        group(2, 3, false, false, 1, 0),
        pod(0, None, 1, 9),
        pod(5, Some(2), 1, 5),
        node(1, 1),
        cycle(0),
        GroupEdit {
            index: 2,
            said: Vec::new(),
        },
        cycle(300_000),
    ]);
}

#[test]
fn one_with_room_held_for_it_whose_company_comes() {
    keep_the_invariants(&[
        Others { group: 0, what: 0 },
        PodGone(0),
        PodGone(0),
        pod(4, None, 1, 3),
        node(1, 4),
        pod(9, None, 1, 0),
        pod(0, Some(0), 1, 2),
        NodeGone(2),
        PodRuns(0),
        Step::Node {
            index: 2,
            cpus: 1,
            gpus: 1,
            tainted: false,
        },
        group(1, 1, false, false, 0, 0),
        node(0, 2),
        cycle(0),
    ]);
}

#[test]
fn one_of_whom_a_larger_member_fits_where_the_next_does_not() {
    keep_the_invariants(&[
        Topology(true),
        pod(2, Some(1), 1, 0),
        pod(4, Some(1), 3, 0),
        pod(1, Some(1), 1, 0),
        pod(0, Some(1), 1, 0),
        Step::Group {
            index: 1,
            min: 1,
            split: true,
            queue: Some(1),
            priority: 0,
            lifetime: 0,
            said: vec![],
        },
        node(0, 4),
        queue_that_says(1, &[0, 0, 86, 192]),
        node(1, 1),
        Step::Restart,
        Answer(0),
    ]);
}
