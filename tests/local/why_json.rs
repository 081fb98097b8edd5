//! What `muster why --output json` and `/debug/why` print, field by field and word by word: whoever reads
//! it relies on that.
//!
//! To write the example anew: `MUSTER_UPDATE=1 cargo test --test local why_json`. Fields and words may be
//! added; none may change or go.

use muster::model::explanation::{
    Ahead, Asked, Books, Bound, Child, ClaimKind, Claimant, ClaimedSlot, Clock, Closest, Could,
    Disruption, GangExplanation, HangsOn, Held, Holder, KeptFor, Lack, Lender, Lost, Members, Near,
    NearLimit, NodeCount, NotOurs, Outcome, Packed, Place, PlaceHolder, Protection, ProtectionKind,
    QueueExplanation, Reason, RoomClaim, RoomHeld, Runs, Short, SlotIs, SlotLine, SlotWaiter,
    Spared, SparedCount, Start, Taker, TestbedExplanation, Thousandths, Waits,
};
use muster::model::units::{Millis, Time};
use muster::model::{Code, Condition, GangPhase, Lifetime};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::fs;
use std::path::Path;

/// Some time of 2026.
const NOW: Time = Time(1_767_225_600_250);
const THEN: Option<Time> = Some(Time(1_767_229_200_000));

/// A few names: no two fields have the same.
fn names(of: &str) -> Vec<String> {
    vec![format!("{of}-1"), format!("{of}-2")]
}

fn condition(kind: &'static str) -> Condition {
    Condition {
        kind: kind.into(),
        status: false,
        reason: "Unschedulable".into(),
        message: "1 of 4 members fit".to_owned(),
    }
}

fn spared() -> Vec<SparedCount> {
    vec![
        SparedCount::new(Spared::Lifetime(THEN), 3, "ml/lent"),
        SparedCount::new(Spared::Plugin("Keeper"), 1, "ml/kept"),
    ]
}

fn protection() -> Protection {
    Protection {
        kind: ProtectionKind::Until,
        at: THEN,
    }
}

fn books() -> Books {
    let bound = |resource: &str| Bound {
        resource: resource.to_owned(),
        held: format!("2 {resource}"),
        bound: format!("4 {resource}"),
    };
    Books {
        name: "research".to_owned(),
        parent: Some("lab".to_owned()),
        exists: true,
        fair_share: Thousandths(25_000),
        usage: Thousandths(30_250),
        over: Thousandths(5_250),
        flow: Thousandths(31_001),
        flow_limit: Some(Thousandths(30_000)),
        budget_left: Thousandths(600_000),
        cluster: Thousandths(100_000),
        limits: vec![bound("cpu")],
        guaranteed: vec![bound("memory")],
        waiting: 9,
    }
}

fn waits() -> Waits {
    Waits {
        position: Some(3),
        ahead: Ahead {
            count: Some(2),
            first: names("ml/ahead"),
            held_back: Some(Reason {
                name: "ml/head".to_owned(),
                message: "its queue is at its limit".to_owned(),
            }),
        },
        tried_at: Some(NOW),
        short: Some(Short {
            fit: Some(1),
            needed: 4,
            pod: Some("train-1".to_owned()),
            nodes: 5,
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
        held: Some(Held {
            by: Some("lab".to_owned()),
            until: THEN,
            for_good: true,
        }),
        asked: Some(Asked {
            outcome: Outcome::InVain,
            proven: true,
            heads: Some(16),
            at: Some(NOW),
            go: 6,
            go_of: names("ml/goes"),
            may_go: 7,
            example: Some("ml/elastic".to_owned()),
            leaving: 8,
            spared: spared(),
            foreign: 10,
        }),
        place: Some(Place {
            nodes: 2,
            at: THEN,
            holders: vec![PlaceHolder {
                name: "ml/first".to_owned(),
                ends_at: THEN,
            }],
            holder_count: 3,
        }),
        kept_for: Some(KeptFor {
            first: "ml/large".to_owned(),
            nodes: 1,
            others: 2,
        }),
        room_held: Some(RoomHeld {
            nodes: 1,
            leaving: 2,
        }),
        start: Start {
            at: THEN,
            hangs_on: HangsOn::Lifetimes,
        },
    }
}

fn runs() -> Runs {
    Runs {
        since: Some(NOW),
        nodes: vec![NodeCount {
            name: "n2".to_owned(),
            count: 6,
        }],
        node_count: 3,
        near: vec![Near {
            subgroup: Some("left".to_owned()),
            topology: "fabric".to_owned(),
            max_hops: Some(2),
            domain: Some("rack=r1".to_owned()),
            node: Some("n2".to_owned()),
            limit: Some(NearLimit {
                level: Some("block".to_owned()),
                max_hops: 4,
            }),
        }],
        own_nodes: 1,
        lost_opportunity: Some(Thousandths(22_000)),
        packed: Some(Packed {
            lost: Thousandths(22_000),
            at_least: Thousandths(20_500),
        }),
        surplus: 2,
        worth: Thousandths(6_000),
        protection: protection(),
        queue_over: Thousandths(5_250),
        could_lose: vec![
            Could::all(Taker::HigherInQueue),
            Could::some(Taker::EqualInQueue, 2, Spared::Plugin("Keeper")),
            Could::some(Taker::NeedyQueue, 0, Spared::Lifetime(THEN)),
        ],
    }
}

fn gang() -> GangExplanation {
    GangExplanation {
        kind: Code::new("PodGroup"),
        namespace: "ml".to_owned(),
        name: "train".to_owned(),
        clock: Clock::Utc,
        as_of: NOW,
        not_ours: Some(NotOurs {
            scheduler: "volcano".to_owned(),
            by_pods: true,
        }),
        phase: Code::new(GangPhase::Inqueue.as_str()),
        condition: condition("Scheduled"),
        priority: -5,
        lifetime: Lifetime::Limited(Millis(7_200_500)),
        not_granted: Some("it asks for an unlimited lifetime".to_owned()),
        read_otherwise: vec!["minMember 3 counts the launcher".to_owned()],
        submitted_at: Some(NOW),
        members: Members {
            minimum: 1,
            all: 8,
            bound: 2,
            running: 3,
            assumed: 4,
            leaving: 5,
            succeeded: 6,
            failed: 7,
        },
        queue: Some(books()),
        claims: vec![RoomClaim {
            kind: ClaimKind::Held,
            nodes: 2,
            since: Some(NOW),
            until: THEN,
        }],
        claimants: vec![Claimant {
            pod: "train-0".to_owned(),
            testbed: "lab".to_owned(),
            has: Some(3),
            slots: vec![ClaimedSlot {
                position: 3,
                node: Some("n1".to_owned()),
                state: SlotIs::Reserved,
                pod: Some("ml/train-0".to_owned()),
            }],
            slot_count: 4,
            refused: Some("testbed lab does not exist".to_owned()),
        }],
        claimant_count: 5,
        waits: Some(waits()),
        runs: Some(runs()),
        disruption: Some(Disruption {
            at: NOW,
            by: Some("ml/urgent".to_owned()),
            by_queue: Some("web".to_owned()),
            why: Lost::LowerPriority,
            pods: 4,
        }),
        refused: Some(Reason {
            name: "train-3".to_owned(),
            message: "denied".to_owned(),
        }),
        back_at: THEN,
    }
}

fn queue() -> QueueExplanation {
    QueueExplanation {
        kind: Code::new("Queue"),
        clock: Clock::Scenario,
        as_of: Time(90_500),
        books: books(),
        condition: condition("Ready"),
        holders: vec![Holder {
            name: "ml/holder".to_owned(),
            worth: Thousandths(4_000),
            pods: 4,
            surplus: 1,
            protection: protection(),
        }],
        holder_count: 2,
        borrows: vec![Lender {
            name: "web".to_owned(),
            unused: Thousandths(1_500),
            waiting: 3,
            to: "research".to_owned(),
        }],
        lender_count: 4,
        surplus: 5,
        expired: 6,
        spared: spared(),
        first: names("ml/waits"),
        head: Some(condition("Admitted")),
        children: vec![Child {
            name: "vision".to_owned(),
            fair_share: Thousandths(2_000),
            usage: Thousandths(1_000),
            waiting: 7,
        }],
        child_count: 8,
    }
}

fn testbed() -> TestbedExplanation {
    TestbedExplanation {
        kind: Code::new("Testbed"),
        name: "lab".to_owned(),
        clock: Clock::Utc,
        as_of: NOW,
        slots: vec![SlotLine {
            position: 3,
            node: "n1".to_owned(),
            state: SlotIs::Occupied,
            held: true,
            lacks: vec![Lack {
                resource: "cpu".to_owned(),
                amount: "500m cpu".to_owned(),
            }],
            ghost: "lab-1-ae54718b3c".to_owned(),
            ghost_on_node: true,
            pod: Some("ml/train-0".to_owned()),
            waiting: names("ml/waits"),
            waiting_count: 4,
        }],
        slot_count: 8,
        free: 2,
        taken: 5,
        claims: vec![RoomClaim {
            kind: ClaimKind::Slot,
            nodes: 2,
            since: None,
            until: None,
        }],
        waiting: vec![SlotWaiter {
            name: "ml/waits-1".to_owned(),
            queue: Some("research".to_owned()),
            position: Some(1),
            pods: 6,
            slots: vec![3],
            slot_count: 7,
            refused: Some("testbed lab is not for pods of namespace ml".to_owned()),
        }],
        waiting_count: 9,
    }
}

/// What there is to say with one word of a list.
fn words() -> Value {
    let spared = [
        Spared::HoldsNothing,
        Spared::Undefined,
        Spared::Leaving,
        Spared::Incomplete,
        Spared::Refused(NOW),
        Spared::NotEntitled,
        Spared::WithinShare,
        Spared::Priority,
        Spared::Lifetime(THEN),
        Spared::Lifetime(None),
        Spared::NoSurplus,
        Spared::MinRuntime(NOW),
        Spared::TooOften(NOW),
        Spared::Evictor(NOW),
        Spared::Critical,
        Spared::Plugin("Keeper"),
    ];
    json!({
        "clock": [Clock::Scenario, Clock::Utc],
        "claim": ClaimKind::ALL,
        "phase": GangPhase::ALL.map(GangPhase::as_str),
        "hangsOn": HangsOn::ALL,
        "outcome": Outcome::ALL,
        "slot": SlotIs::ALL,
        "spared": spared.map(Spared::code),
        "why": Lost::ALL,
        "to": Taker::ALL,
        "protection": ProtectionKind::ALL,
    })
}

/// What is written, which has to be read as what it was.
fn reads_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(one: &T) {
    let text = serde_json::to_string(one).unwrap();
    assert_eq!(serde_json::from_str::<T>(&text).unwrap(), *one);
}

/// What is published.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Example {
    pod_group: GangExplanation,
    queue: QueueExplanation,
    testbed: TestbedExplanation,
    words: Value,
}

#[test]
fn what_leaves_the_program_is_the_published_example() {
    let example = Example {
        pod_group: gang(),
        queue: queue(),
        testbed: testbed(),
        words: words(),
    };
    reads_back(&example.pod_group);
    reads_back(&example.queue);
    reads_back(&example.testbed);
    let text = serde_json::to_string_pretty(&example).unwrap() + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/why.json");
    if std::env::var_os("MUSTER_UPDATE").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == text,
        "schemas/why.json is out of date; write it anew: MUSTER_UPDATE=1 cargo test --test local why_json"
    );
}

#[test]
fn what_there_is_not_is_null_and_what_is_missing_is_as_if_nothing_was_said() {
    let nothing = serde_json::to_value(GangExplanation::default()).unwrap();
    for field in ["lifetimeSeconds", "submittedAt", "queue", "waits", "backAt"] {
        assert!(nothing[field].is_null(), "{field}");
    }
    let empty: GangExplanation = serde_json::from_value(json!({})).unwrap();
    assert_eq!(empty, GangExplanation::default());
}

#[test]
fn what_a_newer_program_says_is_read_and_kept_as_it_came() {
    let said = json!({"at": 1.5, "hangsOn": "Tides", "moon": {"phase": "full"}});
    let start: Start = serde_json::from_value(said).unwrap();
    assert_eq!(start.at, Some(Time(1_500)));
    assert_eq!(start.hangs_on, HangsOn::Other("Tides".to_owned()));
    assert_eq!(serde_json::to_value(&start.hangs_on).unwrap(), "Tides");
}
