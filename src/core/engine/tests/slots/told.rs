//! What is told of slots: who has which, who waits for it, what its node lacks.

use super::*;
use muster_model::explanation::{ClaimKind, Explained, SlotIs, TestbedExplanation};

fn told(story: &Story) -> TestbedExplanation {
    story.scheduler.explain_testbed("lab", story.now).unwrap()
}

/// What the metric `muster_claims` shows of slots.
fn vacant(story: &Story) -> usize {
    let stats = story.scheduler.stats();
    let mut all = ClaimKind::ALL.iter().zip(stats.claims);
    all.find(|(kind, _)| **kind == ClaimKind::Slot).unwrap().1
}

fn states(told: &TestbedExplanation) -> Vec<SlotIs> {
    told.slots.iter().map(|slot| slot.state.clone()).collect()
}

#[test]
fn a_testbed_says_who_has_its_slots_who_waits_and_what_nodes_lack() {
    let mut story = Story::with_lab(&["n0", "n1"], 1, &["n0", "n1"]);
    story.pod_of_others_on("n1");
    let mut larger = lab(&["n0", "n1", "n1", "gone"]);
    larger.slots[2].ghost = "ghost-9".to_owned();
    story.tell(Event::is(larger));
    let _ = story.step();
    story.submit(claimant("sits", None, &[0]));
    assert_eq!(names(&story.seat()), ["sits"]);
    story.submit(claimant("first", None, &[0]));
    story.group("g", 2);
    story.submit(claimant("g-0", Some("g"), &[0, 2]));
    story.submit(claimant("g-1", Some("g"), &[2]));
    let _ = story.step();
    let told = told(&story);
    use SlotIs::{Free, NoNode, NoRoom, Occupied};
    assert_eq!(states(&told), [Occupied, Free, NoRoom, NoNode]);
    assert_eq!((told.slot_count, told.free, told.taken), (4, 1, 1));
    let claims = told.claims.iter();
    let claims: Vec<_> = claims.map(|one| (one.kind.as_str(), one.nodes)).collect();
    assert_eq!(claims, [("Slot", 1)]);
    assert_eq!(vacant(&story), 1);
    let slot = &told.slots[0];
    assert_eq!(slot.pod.as_deref(), Some("a/sits"));
    assert_eq!(slot.waiting, ["a/first", "a/g"]);
    assert!(slot.held && !slot.ghost_on_node);
    assert!(told.slots[1].ghost_on_node);
    let slot = &told.slots[2];
    let lacks: Vec<&str> = slot.lacks.iter().map(|one| &*one.amount).collect();
    assert_eq!((lacks, slot.waiting_count), (vec!["2 cpu"], 1));
    let waiting = told.waiting.iter();
    let waiting: Vec<_> = waiting
        .map(|one| (&*one.name, one.position, one.pods, one.slots.clone()))
        .collect();
    assert_eq!(
        waiting,
        [
            ("a/first", Some(1), 1, vec![0]),
            ("a/g", Some(2), 2, vec![0, 2])
        ]
    );
}

#[test]
fn a_slot_is_reserved_while_its_ghost_leaves() {
    let mut story = Story::with_lab(&["n0"], 1, &["n0"]);
    story.submit(claimant("comes", None, &[0]));
    let _ = story.step();
    let told = told(&story);
    assert_eq!(states(&told), [SlotIs::Reserved]);
    assert_eq!(told.slots[0].pod.as_deref(), Some("a/comes"));
    assert_eq!((told.taken, told.waiting_count), (1, 0));
    assert_eq!((vacant(&story), told.claims), (0, vec![]));
}

#[test]
fn a_gang_says_what_its_pods_claim_and_who_has_it() {
    let mut story = Story::with_lab(&["n0", "n1"], 1, &["n0", "n1"]);
    story.submit(claimant("sits", None, &[1]));
    let _ = story.seat();
    story.group("g", 2);
    story.submit(claimant("g-0", Some("g"), &[0, 1, 7]));
    story.submit(claimant("g-1", Some("g"), &[0, 1]));
    story.pod("g-2", Some("g"));
    let _ = story.step();
    let key = story.scheduler.gang_named("a", "g").unwrap();
    let told = story.scheduler.explain_gang(&key, story.now, 5).unwrap();
    assert_eq!(told.claimant_count, 2);
    let first = &told.claimants[0];
    let slots = first.slots.iter();
    let slots: Vec<_> = slots
        .map(|one| (one.position, one.node.as_deref(), one.state.clone()))
        .collect();
    assert_eq!((&*first.pod, first.has), ("g-0", None));
    assert_eq!(
        slots,
        [
            (0, Some("n0"), SlotIs::Free),
            (1, Some("n1"), SlotIs::Occupied),
            (7, None, SlotIs::NoNode)
        ]
    );
    assert_eq!(first.slots[1].pod.as_deref(), Some("a/sits"));
    assert_eq!(first.refused, None);
}

#[test]
fn lists_of_claims_are_bounded_and_say_how_many_there_are() {
    let nodes: Vec<String> = (0..30).map(|number| format!("n{number}")).collect();
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let mut story = Story::with_lab(&nodes, 1, &nodes);
    let all: Vec<u32> = (0..30).collect();
    story.group("g", 31);
    for number in 0..31 {
        story.submit(claimant(&format!("g-{number}"), Some("g"), &all));
        story.submit(claimant(&format!("on-its-own-{number}"), None, &[50]));
    }
    let _ = story.step();
    let key = story.scheduler.gang_named("a", "g").unwrap();
    let gang = story.scheduler.explain_gang(&key, story.now, 5).unwrap();
    assert_eq!((gang.claimants.len(), gang.claimant_count), (20, 31));
    let first = &gang.claimants[0];
    assert_eq!((first.slots.len(), first.slot_count), (20, 30));
    let told = told(&story);
    assert_eq!((told.waiting.len(), told.waiting_count), (20, 32));
    let of_gang = told.waiting.iter().find(|one| one.name == "a/g");
    assert_eq!(
        of_gang.map(|one| (one.slots.len(), one.slot_count)),
        Some((20, 30))
    );
}

#[test]
fn who_keeps_explanations_hears_of_testbeds_at_most_once_a_second() {
    let mut story = Story::new();
    story.scheduler.keep_explaining();
    story.node("n0", 2);
    let heard = |story: &mut Story| -> Vec<String> {
        let (news, _) = story.scheduler.take_explained(story.now);
        let said = |one| match one {
            Explained::Testbed(one) => Some(format!("{} {}", one.name, one.slot_count)),
            Explained::TestbedGone(name) => Some(format!("{name} is gone")),
            _ => None,
        };
        news.into_iter().filter_map(said).collect()
    };
    assert!(heard(&mut story).is_empty());
    story.tell(Event::is(lab(&["n0"])));
    let _ = story.step();
    assert_eq!(heard(&mut story), ["lab 1"]);
    story.tell(Event::is(lab(&["n0", "n0"])));
    assert!(heard(&mut story).is_empty());
    let (_, due) = story.scheduler.take_explained(story.now);
    assert_eq!(due, Some(story.now + Millis(1_000)));
    story.now = due.unwrap();
    assert_eq!(heard(&mut story), ["lab 2"]);
    story.tell(Event::Gone(ObjectKey::Testbed("lab".to_owned())));
    story.now = story.now + Millis(1_000);
    assert_eq!(heard(&mut story), ["lab is gone"]);
    assert_eq!(story.scheduler.explain_testbed("lab", story.now), None);
}
