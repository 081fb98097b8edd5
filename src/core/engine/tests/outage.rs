//! What nobody could do does not count against a gang.

use super::*;
use muster_model::Writes;

/// A gang of three of which two are bound; the third is on its way.
fn cut() -> (Story, Bind) {
    let mut story = Story::new();
    story.node("n", 9);
    story.group("g", 3);
    for name in ["p0", "p1", "p2"] {
        story.pod(name, Some("g"));
    }
    let binds = story.binds();
    story.bound(&binds[0]);
    story.bound(&binds[1]);
    story.step();
    (story, binds[2].clone())
}

impl Story {
    fn stalled(&mut self) {
        let since = self.now;
        self.tell(Event::Writes(Writes::Stalled { since }));
    }

    fn judged(&mut self) {
        let at = self.now;
        self.tell(Event::Writes(Writes::Judged { at }));
    }

    /// Steps ten times a second, and says who is bound and how many are evicted.
    fn wait(&mut self, ms: u64, stalled: bool) -> (Vec<Bind>, usize) {
        let (mut binds, mut evicted) = (Vec::new(), 0);
        for _ in 0..ms / 100 {
            self.pass(100);
            if stalled {
                self.stalled();
            }
            let (more, gone) = self.step();
            binds.extend(more);
            evicted += gone.len();
        }
        (binds, evicted)
    }

    fn repairing(&self, name: &str) -> String {
        let conditions = self.status(name).conditions;
        let found = conditions.iter().find(|one| one.kind == "Repairing");
        found.map_or_else(String::new, |one| one.message.to_string())
    }
}

#[test]
fn while_nothing_can_be_written_no_gang_is_out_of_patience() {
    let (mut story, third) = cut();
    story.pass(1_000);
    story.stalled();
    assert_eq!(story.wait(30_000, true).1, 0);
    assert_eq!(story.scheduler.stats().partial_since, None);
    story.unanswered(&third);
    story.judged();
    // The rest is bound at once, and not when a back-off is over.
    assert_eq!(names(&story.binds()), ["p2"]);
}

#[test]
fn its_patience_begins_anew_when_writes_are_possible_again_and_ends() {
    let (mut story, third) = cut();
    story.stalled();
    story.wait(10_000, true);
    story.refused(&third);
    // Whoever had room is gone.
    story.node("n", 2);
    story.judged();
    assert_eq!(story.wait(4_800, false).1, 0);
    let words = "2 of 3 members have a node; nothing could be written for 10s, and its time began \
                 anew; it is completed or released";
    assert_eq!(story.repairing("g"), words);
    let plan = story.later(200);
    let evictions: Vec<&Evict> = plan
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Evict(evict) => Some(evict),
            _ => None,
        })
        .collect();
    assert_eq!(evictions.len(), 2);
    let message = &evictions[0].message;
    let begin = "only 2 of 3 members could be bound; nothing could be written for 10s, and its time began \
                 anew; ";
    assert!(message.starts_with(begin), "{message}");
}

#[test]
fn a_short_stall_gains_as_much_as_it_lasted() {
    let (mut story, third) = cut();
    story.refused(&third);
    story.node("n", 2);
    assert_eq!(story.wait(3_000, false).1, 0);
    story.stalled();
    story.pass(2_400);
    assert_eq!(story.step().1.len(), 0, "nobody knows yet");
    story.judged();
    assert_eq!(story.wait(1_900, false).1, 0);
    assert_eq!(story.wait(100, false).1, 2);
}

#[test]
fn a_stall_that_began_when_its_time_was_up_gains_nothing() {
    let (mut story, third) = cut();
    story.refused(&third);
    story.node("n", 2);
    story.pass(5_000);
    story.stalled();
    assert_eq!(story.step().1.len(), 2);
}

#[test]
fn one_whose_own_binds_are_all_that_stalls_goes_in_the_end() {
    let (mut story, third) = cut();
    let mut bind = Some(third);
    let mut evicted = 0;
    for _ in 0..60 {
        story.stalled();
        let (_, gone) = story.wait(3_000, true);
        evicted += gone;
        if let Some(bind) = bind.take() {
            story.unanswered(&bind);
        }
        story.judged();
        let (mut binds, gone) = story.step();
        evicted += gone.len();
        bind = binds.pop();
        if evicted > 0 {
            break;
        }
    }
    assert_eq!(evicted, 2);
    assert!(story.now < Time(60_000), "{:?}", story.now);
}

#[test]
fn what_is_repaired_has_its_patience_after_an_outage_too() {
    let mut story = Story::new();
    story.node("n", 3);
    story.define(GangSpec {
        min_available: 3,
        repair_for: Some(Millis(20_000)),
        ..super::group("g")
    });
    let pods: Vec<PodKey> = (0..3)
        .map(|i| story.pod(&format!("p{i}"), Some("g")))
        .collect();
    story.run();
    story.step();
    story.tell(Event::Gone(ObjectKey::Pod(pods[1].clone())));
    story.step();
    story.stalled();
    assert_eq!(story.wait(25_000, true).1, 0);
    story.judged();
    assert_eq!(story.wait(4_800, false).1, 0);
    assert_eq!(story.wait(400, false).1, 2);
}
