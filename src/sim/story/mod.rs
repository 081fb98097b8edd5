//! What a picture of the day is made from: what every gang did when, and the books of every queue
//! as they changed.
//!
//! It is told by the ledger and the driver while a scenario is played, only where somebody asked
//! for a picture; it decides nothing. What it keeps is bounded for each gang and each queue.

mod books;
mod gangs;
mod places;
mod series;

pub use books::Books;
pub use gangs::{GangStory, MAX_MARKS, MAX_SPANS, Mark, MarkKind, Seat, Span, State};
pub use places::{Places, Presence, Stay, Takes};
pub use series::{Point, Series};

use muster_core::state::ClusterState;
use muster_model::Evict;
use muster_model::units::Time;
use muster_model::{EvictCause, GangKey};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What happened, as far as it is drawn.
#[derive(Debug, Default)]
pub struct Story {
    /// The gangs, in the order of their submission; pods without a PodGroup are gangs of one.
    pub gangs: Vec<GangStory>,
    /// The books of the queues.
    pub books: Books,
    /// Who was on which node.
    pub places: Places,
    /// The gangs that go by a key now.
    by_key: BTreeMap<GangKey, usize>,
    /// By line of the ledger: the gang and the seat of a pod. Pods of others have none.
    pods: Vec<Option<(usize, Seat)>>,
    /// Evictions that were ordered and not carried out, by line.
    ordered: BTreeMap<usize, Mark>,
}

/// A pod that becomes a member of a gang.
#[derive(Clone, Copy, Debug)]
pub struct Joins<'a> {
    /// Its line in the ledger.
    pub line: usize,
    /// The gang.
    pub key: &'a GangKey,
    /// It names no PodGroup.
    pub is_single: bool,
    /// When the first pod of its line was submitted.
    pub submitted: Time,
}

impl Story {
    /// A PodGroup was created or edited.
    pub fn group(&mut self, key: &GangKey, min: u32, is_new: bool, whole: bool, now: Time) {
        let known = self.by_key.get(key).copied();
        let known = known.filter(|id| !is_new || !self.gangs[*id].is_over());
        let id = known.unwrap_or_else(|| self.open(key, now));
        let gang = &mut self.gangs[id];
        gang.min = min;
        gang.exists = true;
        gang.judge(whole, now);
    }

    /// Whether a gang goes by this key.
    #[must_use]
    pub fn knows(&self, key: &GangKey) -> bool {
        self.by_key.contains_key(key)
    }

    /// A PodGroup was deleted.
    pub fn group_deleted(&mut self, key: &GangKey, now: Time) {
        if let Some(id) = self.by_key.get(key) {
            let gang = &mut self.gangs[*id];
            gang.exists = false;
            gang.judge(gang.state() == State::Running, now);
        }
    }

    /// A pod of ours was created: the first of its line, or its successor, or it became another
    /// gang's. `whole` says whether every minimum of a PodGroup is met.
    pub fn join(&mut self, joins: &Joins<'_>, now: Time, whole: impl Fn(&GangKey) -> bool) {
        let (line, key) = (joins.line, joins.key);
        if self.pods.len() <= line {
            self.pods.resize(line + 1, None);
        }
        let was = self.pods[line];
        let known = self.by_key.get(key).copied();
        // A pod that is made again is another one to Kubernetes, but the same job.
        let same_job = |id: &usize| joins.is_single && self.gangs[*id].single == Some(line);
        let known = known.or_else(|| was.map(|(id, _)| id).filter(same_job));
        let id = known.unwrap_or_else(|| self.open(key, joins.submitted));
        self.by_key.insert(key.clone(), id);
        if joins.is_single {
            self.gangs[id].single = Some(line);
            self.gangs[id].min = 1;
        }
        match was {
            Some((same, _)) if same == id => return,
            Some((old, seat)) => {
                self.gangs[old].count(Some(seat), None);
                self.judge(old, now, &whole);
            }
            None => {}
        }
        self.gangs[id].count(None, Some(Seat::Waiting));
        self.gangs[id].lines.push(line);
        self.pods[line] = Some((id, Seat::Waiting));
        self.judge(id, now, &whole);
    }

    fn judge(&mut self, id: usize, now: Time, whole: impl Fn(&GangKey) -> bool) {
        let gang = &mut self.gangs[id];
        let whole = gang.single.is_some() || whole(&gang.key);
        gang.judge(whole, now);
    }

    /// A pod has another seat; `whole` says whether every minimum of a PodGroup is met.
    pub fn moved(&mut self, line: usize, seat: Seat, now: Time, whole: impl Fn(&GangKey) -> bool) {
        let Some(Some((id, old))) = self.pods.get_mut(line) else {
            return;
        };
        let id = *id;
        self.gangs[id].count(Some(*old), Some(seat));
        *old = seat;
        self.judge(id, now, whole);
    }

    /// The gang that the pod of a line counts for; others' pods count for none.
    #[must_use]
    pub fn gang_of(&self, line: usize) -> Option<usize> {
        let (gang, _) = self.pods.get(line).copied().flatten()?;
        Some(gang)
    }

    /// The pod of a line takes room on a node.
    pub fn takes(&mut self, line: usize, node: &str, takes: &Takes, now: Time) {
        let gang = self.gang_of(line);
        self.places.take(line, node, gang, takes, now);
    }

    /// An eviction was ordered.
    pub fn ordered(&mut self, line: usize, evict: &Evict, now: Time) {
        let kind = match evict.cause {
            EvictCause::Preemption => MarkKind::Preempted,
            EvictCause::Release => MarkKind::Released,
        };
        let by = evict.beneficiary.as_ref();
        let mark = Mark {
            at: now,
            kind,
            pods: 1,
            by: by.and_then(|key| self.by_key.get(key).copied()),
            text: Arc::clone(&evict.message),
        };
        self.ordered.insert(line, mark);
    }

    /// The eviction of a pod was accepted.
    pub fn evicted(&mut self, line: usize, now: Time) {
        if let Some(mark) = self.ordered.remove(&line) {
            self.mark(line, Mark { at: now, ..mark });
        }
    }

    /// A pod is lost with its node.
    pub fn lost(&mut self, line: usize, node: &str, now: Time) {
        let mark = Mark {
            at: now,
            kind: MarkKind::Lost,
            pods: 1,
            by: None,
            text: format!("lost with node {node}").into(),
        };
        self.mark(line, mark);
    }

    fn mark(&mut self, line: usize, mark: Mark) {
        if let Some(Some((id, _))) = self.pods.get(line) {
            self.gangs[*id].mark(mark);
        }
    }

    /// The scheduler decided on a pod: its gang's queue and priority are known by now.
    pub fn decided(&mut self, line: usize, key: &GangKey, state: &ClusterState) {
        if let Some(Some((id, _))) = self.pods.get(line) {
            self.gangs[*id].learn(key, state);
        }
    }

    /// What the scheduler knows at the end of the gangs on which it never decided.
    pub fn finish(&mut self, state: &ClusterState) {
        for (key, id) in &self.by_key {
            self.gangs[*id].learn(key, state);
        }
    }

    fn open(&mut self, key: &GangKey, now: Time) -> usize {
        let id = self.gangs.len();
        self.gangs.push(GangStory::new(key.clone(), now));
        self.by_key.insert(key.clone(), id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::{GangSpace, PodKey};

    fn key(name: &str) -> GangKey {
        GangKey {
            namespace: "ns".to_owned(),
            space: GangSpace::Named,
            name: name.to_owned(),
        }
    }

    /// A gang of two whose pods are lines 0 and 1.
    fn pair() -> Story {
        let mut story = Story::default();
        story.group(&key("g"), 2, true, false, Time(0));
        for line in 0..2 {
            join(&mut story, line, "g", false);
        }
        story
    }

    fn join(story: &mut Story, line: usize, name: &str, is_single: bool) {
        let joins = Joins {
            line,
            key: &key(name),
            is_single,
            submitted: Time(0),
        };
        story.join(&joins, Time(0), |_| false);
    }

    fn bind(story: &mut Story, at: u64) {
        story.moved(0, Seat::Bound, Time(at), |_| false);
        story.moved(1, Seat::Bound, Time(at), |_| true);
    }

    fn states(gang: &GangStory) -> Vec<(u64, State, u32)> {
        let spans = gang.spans.iter();
        spans.map(|one| (one.from.0, one.state, one.pods)).collect()
    }

    #[test]
    fn a_gang_waits_runs_and_is_over() {
        let mut story = pair();
        bind(&mut story, 5);
        story.moved(0, Seat::Ended, Time(9), |_| true);
        story.moved(1, Seat::Ended, Time(9), |_| true);
        let gang = &story.gangs[0];
        let told = [
            (0, State::Waiting, 0),
            (5, State::Running, 2),
            (9, State::Over, 0),
        ];
        assert_eq!(states(gang), told);
        assert_eq!(gang.first_ran_at(), Some(Time(5)));
        assert!(gang.is_over());
    }

    #[test]
    fn a_preempted_gang_waits_as_such_and_it_is_said_for_whom() {
        let mut story = pair();
        bind(&mut story, 5);
        story.group(&key("high"), 1, true, false, Time(7));
        for line in 0..2 {
            let evict = Evict {
                pod: PodKey::default(),
                cause: EvictCause::Preemption,
                beneficiary: Some(key("high")),
                message: "preempted for ns/high of queue q".into(),
                again: false,
            };
            story.ordered(line, &evict, Time(7));
            story.evicted(line, Time(8));
            story.moved(line, Seat::Leaving, Time(8), |_| false);
            story.moved(line, Seat::Waiting, Time(108), |_| false);
        }
        let gang = &story.gangs[0];
        let told = [
            (0, State::Waiting, 0),
            (5, State::Running, 2),
            (8, State::Preempted, 0),
        ];
        assert_eq!(states(gang), told);
        assert_eq!(
            gang.marks.len(),
            1,
            "one mark for all that happened at once"
        );
        let mark = &gang.marks[0];
        assert_eq!((mark.at, mark.pods, mark.by), (Time(8), 2, Some(1)));
        bind(&mut story, 200);
        assert_eq!(states(&story.gangs[0])[3], (200, State::Running, 2));
    }

    #[test]
    fn a_gang_that_lost_surplus_runs_on_with_fewer() {
        let mut story = pair();
        bind(&mut story, 5);
        story.moved(1, Seat::Leaving, Time(6), |_| true);
        let gang = &story.gangs[0];
        assert_eq!(states(gang)[2], (6, State::Running, 1));
    }

    #[test]
    fn a_deleted_podgroup_without_pods_is_over() {
        let mut story = Story::default();
        story.group(&key("g"), 2, true, false, Time(0));
        story.group_deleted(&key("g"), Time(3));
        assert_eq!(states(&story.gangs[0])[1], (3, State::Over, 0));
        story.group(&key("g"), 2, true, false, Time(4));
        assert_eq!(
            story.gangs.len(),
            2,
            "the next of its name has a bar of its own"
        );
    }

    #[test]
    fn a_pod_that_is_made_again_keeps_its_bar() {
        let mut story = Story::default();
        for uid in ["1", "2"] {
            join(&mut story, 0, uid, true);
        }
        assert_eq!(story.gangs.len(), 1);
        assert_eq!(story.gangs[0].min, 1);
    }

    #[test]
    fn what_is_kept_of_a_gang_is_bounded() {
        let mut story = pair();
        for at in 0..10_000 {
            story.moved(0, Seat::Bound, Time(2 * at + 1), |_| true);
            story.lost(0, "n", Time(2 * at + 2));
            story.moved(0, Seat::Waiting, Time(2 * at + 2), |_| false);
        }
        let gang = &story.gangs[0];
        assert!(gang.spans.len() <= MAX_SPANS && gang.marks.len() <= MAX_MARKS);
        assert!(gang.is_thinned());
        assert_eq!(gang.state(), State::Released, "how it ends is shown");
    }
}
