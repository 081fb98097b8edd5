//! The sentences, one by one.

use super::*;
use muster_model::explanation::{
    Ahead, Asked, ClaimKind, Claimant, ClaimedSlot, Clock as Kind, Closest, Could, Disruption,
    GangExplanation, HangsOn, KeptFor, Lack, Lost, Members, Near, NearLimit, NodeCount, NotOurs,
    Outcome, Packed, Place, PlaceHolder, QueueExplanation, RoomClaim, RoomHeld, Runs, Short,
    SlotIs, SlotLine, SlotWaiter, Spared, Start, Taker, TestbedExplanation, Waits,
};
use muster_model::units::{Millis, Time};
use muster_model::{Code, Condition, Lifetime};

fn waiting() -> GangExplanation {
    GangExplanation {
        kind: Code::new("PodGroup"),
        namespace: "ml".to_owned(),
        name: "train".to_owned(),
        as_of: Time(90_000),
        phase: Code::new("Inqueue"),
        condition: Condition {
            kind: Code::new("Scheduled"),
            status: false,
            reason: Code::new("Unschedulable"),
            message: "1 of 4 members fit; pod train-1: 0/2 nodes are available.".to_owned(),
        },
        submitted_at: Some(Time(30_000)),
        lifetime: Lifetime::Limited(Millis(7_200_000)),
        members: Members {
            minimum: 4,
            all: 4,
            ..Members::default()
        },
        queue: Some(Books {
            name: "research".to_owned(),
            exists: true,
            fair_share: Thousandths(25_000),
            usage: Thousandths(30_250),
            over: Thousandths(5_250),
            flow: Thousandths(31_000),
            flow_limit: Some(Thousandths(30_000)),
            budget_left: Thousandths(600_000),
            cluster: Thousandths(100_000),
            waiting: 9,
            ..Books::default()
        }),
        waits: Some(Waits {
            position: Some(3),
            ahead: Ahead {
                count: Some(2),
                first: vec!["ml/a".to_owned(), "ml/b".to_owned()],
                held_back: None,
            },
            tried_at: Some(Time(89_500)),
            short: Some(Short {
                fit: Some(1),
                needed: 4,
                pod: Some("train-1".to_owned()),
                nodes: 2,
                reasons: vec![NodeCount {
                    name: "Insufficient cpu".to_owned(),
                    count: 2,
                }],
                closest: Some(Closest {
                    node: "n1".to_owned(),
                    lacks: vec![Lack {
                        resource: "cpu".to_owned(),
                        amount: "500m cpu".to_owned(),
                    }],
                }),
            }),
            asked: Some(Asked {
                outcome: Outcome::InVain,
                proven: true,
                at: Some(Time(89_500)),
                may_go: 2,
                example: Some("ml/elastic".to_owned()),
                spared: vec![SparedCount {
                    plugin: None,
                    reason: Code::new("NotEntitled"),
                    gangs: 3,
                    example: "web/shop".to_owned(),
                    until: None,
                }],
                foreign: 7,
                ..Asked::default()
            }),
            start: Start {
                at: None,
                hangs_on: HangsOn::Room,
            },
            ..Waits::default()
        }),
        ..GangExplanation::default()
    }
}

#[test]
fn a_waiting_gang_is_told_in_plain_words() {
    let expected = "\
1 of 4 members fit; pod train-1: 0/2 nodes are available.

PodGroup   ml/train: Inqueue, Unschedulable, as of 1 min 30 s
           submitted at 30 s (1 min ago), priority 0, lifetime 2 h
Members    4 must run; 4 there, 0 on nodes (0 running)
Queue      research: place 3 of the 9 that wait, behind ml/a and ml/b
           fair share 25 of 100 cores' worth; it holds 30.2, 5.2 more than its share; flow 31
           gangs with an unlimited lifetime may raise its flow to 30; 600 core-minutes are left of its excess budget
Waits for  room for 3 of 4 members; of 2 nodes, 2 say Insufficient cpu
           closest fit: node n1 lacks 500m cpu for train-1
Others go  not enough: 2 pods may be made to go (of ml/elastic) and 0 leave anyway; the others keep their place:
           - 3 gangs (web/shop): of another queue, and queue research would be over its fair share
           - 7 pods of other schedulers: never touched
           as found at 1 min 29 s (0.5 s ago)
May start  unknown: when there is room: pods end, or a node comes; nobody promised when
Last tried at 1 min 29 s (0.5 s ago)
";
    assert_eq!(gang_in_words(&waiting()), expected);
}

#[test]
fn a_preempted_gang_is_told_by_whom_why_it_and_when_it_may_come_back() {
    let mut gang = waiting();
    gang.waits = None;
    gang.disruption = Some(Disruption {
        at: Time(80_000),
        by: Some("ml/urgent".to_owned()),
        by_queue: Some("research".to_owned()),
        why: Lost::LowerPriority,
        pods: 4,
    });
    gang.back_at = Some(Time(100_000));
    let text = gang_in_words(&gang);
    let expected = "\
Preempted  at 1 min 20 s (10 s ago), for ml/urgent of queue research: 4 pods had to go
           why it: its priority was lower, in the same queue
           may come back: not before 1 min 40 s (in 10 s)
";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn what_it_has_a_claim_to_is_told_with_its_end() {
    let mut gang = waiting();
    let claim = |kind, nodes, until: Option<u64>| RoomClaim {
        kind,
        nodes,
        since: None,
        until: until.map(Time),
    };
    gang.claims = vec![
        claim(ClaimKind::Decided, 1, None),
        claim(ClaimKind::Held, 2, Some(100_000)),
        claim(ClaimKind::Returning, 3, Some(95_000)),
    ];
    let text = gang_in_words(&gang);
    let expected = "\
Room       taken on 1 node, and its binds are not ordered yet
Room       held on 2 nodes for members that are not there yet, until 1 min 40 s (in 10 s) if none comes
Room       held on 3 nodes, for it was moved, until 1 min 35 s (in 5 s) at the latest
";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn room_that_is_held_is_told_with_who_goes_for_it() {
    let mut gang = waiting();
    let waits = gang.waits.as_mut().unwrap();
    waits.room_held = Some(RoomHeld {
        nodes: 1,
        leaving: 2,
    });
    waits.asked = Some(Asked {
        outcome: Outcome::Found,
        go: 2,
        go_of: vec!["ml/low".to_owned()],
        ..Asked::default()
    });
    let text = gang_in_words(&gang);
    let expected = "\
Room       held for it on 1 node, until 2 pods have left
Others go  2 pods of ml/low
";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_place_that_is_reserved_is_told_with_who_is_there_and_until_when() {
    let mut gang = waiting();
    let waits = gang.waits.as_mut().unwrap();
    waits.place = Some(Place {
        nodes: 2,
        at: Some(Time(3_690_000)),
        holders: vec![
            PlaceHolder {
                name: "ml/first".to_owned(),
                ends_at: Some(Time(690_000)),
            },
            PlaceHolder {
                name: "ml/second".to_owned(),
                ends_at: None,
            },
        ],
        holder_count: 3,
    });
    waits.start = Start {
        at: Some(Time(3_690_000)),
        hangs_on: HangsOn::Lifetimes,
    };
    let text = gang_in_words(&gang);
    let expected = "\
Reserved   a place on 2 nodes, free by 1 h 1 min (in 1 h)
           there now: ml/first (lifetime until 11 min 30 s (in 10 min)), ml/second (nobody knows until when) and 1 more
";
    assert!(text.contains(expected), "{text}");
    let expected = "May start  by 1 h 1 min (in 1 h): when the lifetimes";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn room_that_is_kept_for_others_is_told_with_for_whom() {
    let mut gang = waiting();
    let waits = gang.waits.as_mut().unwrap();
    waits.kept_for = Some(KeptFor {
        first: "ml/large".to_owned(),
        nodes: 1,
        others: 2,
    });
    let text = gang_in_words(&gang);
    let expected =
        "Kept room  on 1 node for ml/large, and for 2 others, whose start it must not delay\n";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_running_gang_is_told_what_it_could_lose_to_whom() {
    let mut gang = waiting();
    gang.clock = Kind::Utc;
    gang.as_of = Time(1_767_225_690_000);
    gang.waits = None;
    let until = Time(1_767_229_200_000);
    gang.runs = Some(Runs {
        since: Some(Time(1_767_225_600_000)),
        nodes: vec![NodeCount {
            name: "n1".to_owned(),
            count: 6,
        }],
        node_count: 3,
        near: vec![Near {
            topology: "fabric".to_owned(),
            max_hops: Some(2),
            domain: Some("rack=r1".to_owned()),
            limit: Some(NearLimit {
                level: Some("block".to_owned()),
                max_hops: 4,
            }),
            ..Near::default()
        }],
        own_nodes: 1,
        lost_opportunity: Some(Thousandths(22_000)),
        packed: Some(Packed {
            lost: Thousandths(22_000),
            at_least: Thousandths(20_500),
        }),
        surplus: 2,
        worth: Thousandths(6_000),
        protection: Protection {
            kind: ProtectionKind::Until,
            at: Some(Time(1_767_229_200_000)),
        },
        queue_over: Thousandths(5_250),
        could_lose: vec![
            Could::some(Taker::EqualInQueue, 2, Spared::Priority),
            Could::all(Taker::HigherInQueue),
            Could::some(Taker::NeedyQueue, 2, Spared::Lifetime(Some(until))),
        ],
    });
    let text = gang_in_words(&gang);
    let expected = "\
Runs       since 2026-01-01 00:00:00 UTC (1 min 30 s ago) on 3 nodes, with 6 cores' worth
           nodes (members): n1 (6) and 2 more
Near       at most 2 hops by Topology fabric: all in rack=r1; they have to be in one block, 4 hops at most
Leaves     22 cores' worth free on 1 node that nobody else uses: lost to who needs whole nodes
Packed     its minimum opened nodes with 22 cores' worth left free; no placement left less than 20.5 cores' worth
Protected  lifetime until 2026-01-01 01:00:00 UTC (in 58 min 30 s)
Could lose 2 members beyond its minimum to gangs of its queue with the same priority
           everything to gangs of its queue with a higher priority
           2 members beyond its minimum to gangs of queues below their fair share (its lifetime is not over, until 2026-01-01 01:00:00 UTC (in 58 min 30 s))
";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn how_near_members_are_is_said_of_one_node_of_a_domain_and_of_none() {
    let said = |near: Near| {
        let mut gang = waiting();
        gang.runs = Some(Runs {
            near: vec![near],
            ..Runs::default()
        });
        let text = gang_in_words(&gang);
        let line = text.lines().find(|line| line.starts_with("Near"));
        line.unwrap_or_default().to_owned()
    };
    let topology = "fabric".to_owned();
    let on_one = Near {
        topology: topology.clone(),
        max_hops: Some(0),
        node: Some("n1".to_owned()),
        ..Near::default()
    };
    let words = "Near       0 hops by Topology fabric: all on node n1";
    assert_eq!(said(on_one), words);
    let apart = Near {
        subgroup: Some("left".to_owned()),
        topology,
        ..Near::default()
    };
    let words = "Near       subgroup left: Topology fabric has no path between some of its nodes";
    assert_eq!(said(apart), words);
}

#[test]
fn an_idle_queue_is_told_in_one_sentence() {
    let queue = QueueExplanation {
        books: Books {
            name: "research".to_owned(),
            ..Books::default()
        },
        condition: Condition {
            status: true,
            ..Condition::default()
        },
        ..QueueExplanation::default()
    };
    let text = queue_in_words(&queue);
    assert!(text.starts_with("Queue research holds nothing, and nobody waits in it.\n\n"));
}

#[test]
fn every_reason_has_words() {
    let reasons = [
        Spared::HoldsNothing,
        Spared::Undefined,
        Spared::Leaving,
        Spared::Incomplete,
        Spared::Refused(Time(1)),
        Spared::NotEntitled,
        Spared::WithinShare,
        Spared::Priority,
        Spared::Lifetime(Some(Time(1))),
        Spared::Lifetime(None),
        Spared::NoSurplus,
        Spared::MinRuntime(Time(1)),
        Spared::TooOften(Time(1)),
        Spared::Evictor(Time(1)),
        Spared::Critical,
        Spared::Plugin("Spy"),
    ];
    for code in reasons.map(Spared::code) {
        assert_ne!(kept(&code, None), &*code);
    }
    for hangs_on in HangsOn::ALL {
        let code = format!("{hangs_on:?}");
        let start = Start {
            at: None,
            hangs_on: hangs_on.clone(),
        };
        let clock = Clock::new(Kind::Scenario, Time::ZERO);
        let text = gang::may_start(&start, clock);
        assert!(!text.ends_with(&format!(" {code}")), "{text}");
    }
    for why in Lost::ALL {
        let code = format!("{why:?}");
        let mut gang = waiting();
        gang.disruption = Some(Disruption {
            why: why.clone(),
            ..Disruption::default()
        });
        let text = gang_in_words(&gang);
        assert!(!text.contains(&format!("why it: {code}")), "{text}");
    }
}

#[test]
fn a_word_of_a_newer_program_is_told_as_it_came() {
    let mut gang = waiting();
    gang.waits.as_mut().unwrap().start.hangs_on = HangsOn::Other("Tides".to_owned());
    gang.disruption = Some(Disruption {
        why: Lost::Other("Storm".to_owned()),
        ..Disruption::default()
    });
    let text = gang_in_words(&gang);
    assert!(text.contains("May start  unknown: Tides\n"), "{text}");
    assert!(text.contains("why it: Storm\n"), "{text}");
    assert_eq!(kept("Moon", None), "Moon");
}

#[test]
fn a_group_that_is_not_ours_is_told_in_one_line() {
    let mut gang = GangExplanation {
        kind: "PodGroup".into(),
        namespace: "ml".to_owned(),
        name: "train".to_owned(),
        not_ours: Some(NotOurs {
            scheduler: "volcano".to_owned(),
            by_pods: true,
        }),
        ..GangExplanation::default()
    };
    let words = "PodGroup ml/train is not ours: its pods name volcano\n";
    assert_eq!(gang_in_words(&gang), words);
    gang.not_ours.as_mut().unwrap().by_pods = false;
    let words = "PodGroup ml/train is not ours: it has no pods, and its kind is volcano's\n";
    assert_eq!(gang_in_words(&gang), words);
}

#[test]
fn spans_are_told_in_the_two_largest_units() {
    let spans =
        [250, 45_000, 200_000, 7_500_000, 273_600_000].map(|one| time::lasting(Millis(one)));
    assert_eq!(
        spans,
        ["0.25 s", "45 s", "3 min 20 s", "2 h 5 min", "3 d 4 h"]
    );
}

fn slot_line(position: u32, state: SlotIs, pod: Option<&str>) -> SlotLine {
    SlotLine {
        position,
        node: format!("n{position}"),
        state,
        ghost: format!("lab-{position}"),
        pod: pod.map(str::to_owned),
        ..SlotLine::default()
    }
}

#[test]
fn a_testbed_is_a_table_of_its_slots() {
    let mut lines = vec![
        slot_line(0, SlotIs::Occupied, Some("ml/first")),
        slot_line(1, SlotIs::Free, None),
        slot_line(2, SlotIs::Reserved, Some("ml/second")),
        slot_line(3, SlotIs::NoRoom, None),
        slot_line(4, SlotIs::NoNode, None),
        slot_line(5, SlotIs::Free, None),
    ];
    lines[0].waiting = vec!["ml/third".to_owned()];
    lines[0].waiting_count = 3;
    lines[1].ghost_on_node = true;
    lines[3].lacks = vec![Lack {
        resource: "cpu".to_owned(),
        amount: "500m cpu".to_owned(),
    }];
    let waiter = SlotWaiter {
        name: "ml/third".to_owned(),
        queue: Some("research".to_owned()),
        position: Some(2),
        pods: 4,
        slots: vec![0, 1],
        slot_count: 3,
        refused: None,
    };
    let told = TestbedExplanation {
        name: "lab".to_owned(),
        as_of: Time(90_000),
        slots: lines,
        slot_count: 7,
        free: 2,
        taken: 2,
        waiting: vec![waiter],
        waiting_count: 3,
        ..TestbedExplanation::default()
    };
    let expected = "\
Testbed lab has 7 slots: 2 free, 2 taken and 3 without room, and 3 gangs wait for one.

Testbed    lab, as of 1 min 30 s
Slots      slot  node  state                             held by               waiting
           0     n0    occupied                          ml/first              ml/third and 2 more
           1     n1    free                              ghost lab-1
           2     n2    reserved                          ml/second
           3     n3    no room yet, node lacks 500m cpu
           4     n4    its node is not there
           5     n5    free                              its ghost is to come
           and 1 more
Waiting    ml/third (queue research, place 2): 4 pods for one of slots 0, 1 and 1 more
           and 2 other gangs
";
    assert_eq!(testbed_in_words(&told), expected);
    let none = TestbedExplanation {
        name: "lab".to_owned(),
        ..TestbedExplanation::default()
    };
    assert_eq!(
        testbed_in_words(&none),
        "Testbed lab has no slots, and nobody waits for one.\n\nTestbed    lab, as of 0 s\n"
    );
}

#[test]
fn what_pods_of_a_gang_claim_is_said_of_each() {
    let slot = |position, state, pod: Option<&str>| ClaimedSlot {
        position,
        node: Some(format!("n{position}")),
        state,
        pod: pod.map(str::to_owned),
    };
    let claims = |pod: &str, slots: Vec<ClaimedSlot>| Claimant {
        pod: pod.to_owned(),
        testbed: "lab".to_owned(),
        slot_count: slots.len(),
        slots,
        ..Claimant::default()
    };
    let mut one = waiting();
    let none = ClaimedSlot {
        position: 9,
        ..ClaimedSlot::default()
    };
    let slots = vec![
        slot(0, SlotIs::Occupied, Some("ml/a")),
        slot(1, SlotIs::NoRoom, None),
        none,
    ];
    let refused = Claimant {
        refused: Some("testbed lab does not exist".to_owned()),
        ..claims("train-1", vec![slot(0, SlotIs::Free, None)])
    };
    let seated = Claimant {
        has: Some(2),
        ..claims(
            "train-2",
            vec![slot(2, SlotIs::Occupied, Some("ml/train-2"))],
        )
    };
    let comes = Claimant {
        has: Some(3),
        slot_count: 30,
        ..claims(
            "train-3",
            vec![slot(3, SlotIs::Reserved, Some("ml/train-3"))],
        )
    };
    one.claimants = vec![claims("train-0", slots), refused, seated, comes];
    one.claimant_count = 6;
    let said = gang_in_words(&one);
    let (_, said) = said.split_once("Slots ").unwrap();
    let (said, _) = said.split_once("Waits for").unwrap();
    let expected = "     train-0 waits for one of slots 0, 1, 9 of testbed lab
           - slot 0 on node n0: occupied by ml/a
           - slot 1 on node n1: waits for room on its node
           - slot 9: there is none
           train-1: testbed lab does not exist
           train-2 has slot 2 of testbed lab on node n2
           train-3 is to have slot 3 of testbed lab on node n3 (one of slots 3 and 29 more)
           and 2 other pods of it claim slots
";
    assert_eq!(said, expected);
}
