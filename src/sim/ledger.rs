//! What happened to every pod and gang: the truth a report and an oracle are made from.
//!
//! It is told by the driver; it decides nothing and no scheduler sees it.

use super::scenario::PodPlan;
use super::server::{Pod, Server};
use super::story::{Joins, Seat, Story, Takes};
use super::usage::Usage;
use muster_model::units::Time;
use muster_model::{GangKey, GangRef, GangSpec, PodKey, PodPhase, PodSpec};
use muster_model::{GangStatus, Named, Neighbours, PodWaits, is_ours};
use std::collections::BTreeMap;

/// The story of all pods that followed each other under one name.
#[derive(Clone, Debug)]
pub struct PodLine {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Whether it is ours to schedule.
    pub ours: bool,
    /// Whether it stands for a slot: it counts in no figure.
    pub ghost: bool,
    /// The PodGroup it belongs to.
    pub gang: Option<GangKey>,
    /// The queue it asks for when it belongs to no PodGroup.
    pub queue: Option<String>,
    /// Where it is or was last.
    pub node: Option<String>,
    /// Its phase; `None` once it is deleted.
    pub phase: Option<PodPhase>,
    /// When the first of them was created.
    pub submitted_at: Time,
    /// When the first of them was bound.
    pub first_bound_at: Option<Time>,
    /// When the last of them was bound.
    pub bound_at: Option<Time>,
    /// When it ended or was deleted for good.
    pub finished_at: Option<Time>,
    /// How often it was evicted.
    pub evictions: u32,
    /// Why it waits, as last said: the uid it was said of, and the message.
    pub waits: Option<(String, String)>,
}

/// Members of a gang or subgroup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bound, neither ended nor leaving.
    pub bound: u32,
    /// Ended well, whether or not they still exist.
    pub succeeded: u32,
}

/// The story of one gang.
#[derive(Clone, Debug, Default)]
pub struct GangLine {
    /// Its members now, by subgroup label.
    pub members: BTreeMap<Option<String>, Counts>,
    /// Its PodGroup as it was created.
    pub spec: Option<GangSpec>,
    /// Whether that is ours without a pod.
    pub for_us: bool,
    /// When its PodGroup was created.
    pub submitted_at: Time,
    /// When its minimum was bound for the first time.
    pub scheduled_at: Option<Time>,
    /// Since when it is bound in part.
    pub partly_since: Option<Time>,
    /// The last status written.
    pub status: Option<GangStatus>,
    /// The largest number of hops between two of its pods, when last one more had a place: who ends
    /// before the others brings them no nearer.
    pub max_hops: Option<u32>,
    /// How many were bound then.
    hops_of: u32,
    /// What its placements left free on nodes that they opened, in worth.
    pub lost: Option<u64>,
    /// How far its pods were from the next by rank, over all its placements.
    pub ranks: Option<Neighbours>,
}

impl GangLine {
    /// Its members over all subgroups.
    #[must_use]
    pub fn total(&self) -> Counts {
        let mut total = Counts::default();
        for counts in self.members.values() {
            total.bound += counts.bound;
            total.succeeded += counts.succeeded;
        }
        total
    }

    /// Whether every minimum is met.
    #[must_use]
    pub fn is_whole(&self, spec: &GangSpec) -> bool {
        let enough = |counts: Counts, min| counts.bound + counts.succeeded >= min;
        let of = |name: &String| self.members.get(&Some(name.clone())).copied();
        enough(self.total(), spec.min_available)
            && spec
                .subgroups
                .iter()
                .all(|one| enough(of(&one.name).unwrap_or_default(), one.min))
            && spec.labelled.iter().all(|one| {
                let parts = self.members.iter().filter(|(name, counts)| {
                    name.as_deref().is_some_and(|name| one.has(name)) && enough(**counts, one.size)
                });
                parts.count() >= one.min_groups as usize
            })
    }

    /// Whether members hold room although a minimum is not met.
    #[must_use]
    pub fn is_partly_bound(&self, spec: &GangSpec) -> bool {
        self.total().bound > 0 && !self.is_whole(spec)
    }

    fn judge(&mut self, spec: &GangSpec, now: Time) {
        let total = self.total();
        if total.bound + total.succeeded > 0 && self.is_whole(spec) {
            self.scheduled_at.get_or_insert(now);
        }
        if self.is_partly_bound(spec) {
            self.partly_since.get_or_insert(now);
        } else {
            self.partly_since = None;
        }
    }
}

/// All that happened.
#[derive(Debug, Default)]
pub struct Ledger {
    /// The pods, in order of creation.
    pub pods: Vec<PodLine>,
    /// The gangs that have a PodGroup or members.
    pub gangs: BTreeMap<GangKey, GangLine>,
    /// Room in use.
    pub usage: Usage,
    /// What must never happen and did, the first of it.
    pub violations: Vec<String>,
    /// How much more of that there was.
    pub more_violations: u64,
    /// Whether a node may get more than it offers.
    pub allows_overcommit: bool,
    /// Pods that were bound at least once.
    pub started: usize,
    /// What a picture is made from, where somebody asked for one. Its times are counted from the beginning.
    pub story: Option<Box<Story>>,
    /// When that was.
    begin: Time,
}

/// So many violations are kept: one mistake may break a rule in every cycle.
const MAX_VIOLATIONS: usize = 100;

impl Ledger {
    /// Nothing has happened, and it begins now.
    #[must_use]
    pub fn new(begin: Time, allows_overcommit: bool) -> Self {
        Self {
            usage: Usage::from(begin),
            begin,
            allows_overcommit,
            ..Self::default()
        }
    }

    /// A time as the picture counts it.
    #[must_use]
    pub fn clock(&self, at: Time) -> Time {
        Time::ZERO + at.since(self.begin)
    }

    /// What must never happen did.
    pub fn violated(&mut self, what: String) {
        if self.violations.len() < MAX_VIOLATIONS {
            self.violations.push(what);
        } else {
            self.more_violations += 1;
        }
    }

    /// Opens the line of a pod that is created for the first time. One that ended before does
    /// nothing more.
    pub fn open(&mut self, plan: &PodPlan, now: Time) -> usize {
        let spec = &plan.spec;
        let ended = spec.phase.is_terminal();
        self.pods.push(PodLine {
            namespace: spec.key.namespace.clone(),
            name: spec.key.name.clone(),
            ours: spec.ours && spec.ghost_of.is_none(),
            ghost: spec.ghost_of.is_some(),
            gang: named_gang(spec),
            queue: spec.queue.clone(),
            node: None,
            phase: Some(if ended { spec.phase } else { PodPhase::Pending }),
            submitted_at: plan.before.map_or(now, |_| spec.created),
            first_bound_at: None,
            bound_at: None,
            finished_at: ended.then_some(now),
            evictions: 0,
            waits: None,
        });
        self.pods.len() - 1
    }

    /// A pod is made again under its name.
    pub fn reopen(&mut self, line: usize) {
        let line = &mut self.pods[line];
        line.phase = Some(PodPhase::Pending);
        line.node = None;
        line.bound_at = None;
    }

    /// A pod was bound.
    pub fn bound(&mut self, pod: &Pod, server: &Server, now: Time) {
        let Some(node) = &pod.spec.node else { return };
        let since = self.since(pod, now);
        self.note_node(pod.line, node, since);
        if pod.is_ghost() {
            return;
        }
        self.usage.take(node, &pod.spec.shape.requests, now);
        self.count(pod, server, since, |counts| counts.bound += 1);
        self.tell(pod.line, Seat::Bound, now);
        self.draw(pod, server, now);
    }

    /// A pod was created, the first of its line or one that follows.
    pub fn created(&mut self, pod: &Pod, now: Time) {
        if pod.spec.ours && !pod.is_ghost() {
            self.join(pod, now);
            self.tell(pod.line, Seat::Waiting, now);
        }
    }

    /// A pod was created that had ended already: it takes no room, and what it did counts.
    pub fn ended_before(&mut self, pod: &Pod, server: &Server, now: Time) {
        let since = self.since(pod, now);
        if let Some(node) = &pod.spec.node {
            self.note_node(pod.line, node, since);
        }
        if pod.spec.phase == PodPhase::Succeeded {
            self.count(pod, server, since, |counts| counts.succeeded += 1);
        }
        self.tell(pod.line, Seat::Ended, now);
    }

    /// Since when a pod has its node: it may have had it before the beginning.
    fn since(&self, pod: &Pod, now: Time) -> Time {
        let before = pod.spec.bound_at.filter(|at| *at < self.begin);
        before.unwrap_or(now)
    }

    fn note_node(&mut self, line: usize, node: &str, now: Time) {
        let line = &mut self.pods[line];
        line.node = Some(node.to_owned());
        line.bound_at = Some(now);
        self.started += usize::from(line.first_bound_at.is_none());
        line.first_bound_at.get_or_insert(now);
        line.waits = None;
    }

    /// A pod started.
    pub fn started(&mut self, pod: &Pod) {
        self.pods[pod.line].phase = Some(PodPhase::Running);
    }

    /// A bound pod ended, well or not.
    pub fn finished(&mut self, pod: &Pod, server: &Server, now: Time) {
        let line = &mut self.pods[pod.line];
        line.phase = Some(pod.spec.phase);
        line.finished_at = Some(now);
        if let Some(node) = &pod.spec.node {
            self.usage.give(node, &pod.spec.shape.requests, now);
            self.undraw(pod, now);
        }
        self.count(pod, server, now, |counts| {
            counts.bound = counts.bound.saturating_sub(1);
            counts.succeeded += u32::from(pod.spec.phase == PodPhase::Succeeded);
        });
        self.tell(pod.line, Seat::Ended, now);
    }

    /// A pod that is bound and has not ended begins to leave.
    pub fn leaving(&mut self, pod: &Pod, server: &Server, now: Time) {
        if pod.is_ghost() {
            return;
        }
        self.count(pod, server, now, |counts| {
            counts.bound = counts.bound.saturating_sub(1);
        });
        self.tell(pod.line, Seat::Leaving, now);
    }

    /// The eviction of a pod was accepted; `pod` is as it was before.
    pub fn evicted(&mut self, pod: &Pod, now: Time) {
        if !pod.spec.terminating {
            self.pods[pod.line].evictions += 1;
            let now = self.clock(now);
            if let Some(story) = self.story.as_mut().filter(|_| !pod.is_ghost()) {
                story.evicted(pod.line, now);
            }
        }
        self.must_be_ours(pod, now);
    }

    /// The scheduler bound a pod, and that was taken down. What others put on a node, and what is
    /// left of a node that shrank, is theirs to answer for: only what this pod asks for is looked at.
    pub fn bound_by_us(&mut self, key: &PodKey, server: &Server, now: Time) {
        let Some(pod) = server.pod(key) else { return };
        self.must_be_ours(pod, now);
        let node = pod.spec.node.as_deref().and_then(|name| server.node(name));
        let Some(node) = node.filter(|_| !self.allows_overcommit) else {
            return;
        };
        let requests = &pod.spec.shape.requests;
        if let Some((resource, used, offered)) = self.usage.excess(node, requests) {
            let node = &node.name;
            self.violated(format!(
                "at {}: node {node} has {used} of {offered} {resource} in use after {key} was bound",
                now.since(self.begin)
            ));
        }
    }

    fn must_be_ours(&mut self, pod: &Pod, now: Time) {
        if !pod.spec.ours {
            let key = &pod.spec.key;
            self.violated(format!(
                "at {}: {key} is another scheduler's and was touched",
                now.since(self.begin)
            ));
        }
    }

    /// A pod is gone; `pod` is as it was last.
    pub fn removed(&mut self, pod: &Pod, now: Time) {
        let line = &mut self.pods[pod.line];
        if !pod.comes_back && !pod.spec.phase.is_terminal() {
            line.phase = None;
            line.finished_at = Some(now);
        }
        if pod.is_ghost() {
            return;
        }
        if pod.takes_room()
            && let Some(node) = &pod.spec.node
        {
            self.usage.give(node, &pod.spec.shape.requests, now);
            self.undraw(pod, now);
        }
        // A member that ended well counts for its gang even when it is gone.
        let ended = !pod.comes_back;
        let seat = if ended { Seat::Ended } else { Seat::Waiting };
        self.tell(pod.line, seat, now);
    }

    /// A PodGroup was created, or edited. One that is made again begins anew, with the members
    /// that are there.
    pub fn gang_changed(&mut self, spec: &GangSpec, claimed: bool, is_new: bool, now: Time) {
        let line = self.gangs.entry(spec.key.clone()).or_default();
        if is_new {
            *line = GangLine {
                members: std::mem::take(&mut line.members),
                submitted_at: if spec.created < self.begin {
                    spec.created
                } else {
                    now
                },
                ..GangLine::default()
            };
        }
        line.spec = Some(spec.clone());
        line.for_us = is_ours(Named::default(), Some(spec), claimed);
        line.judge(spec, now);
        self.tell_group(&spec.key, is_new, now);
    }

    /// The picture shows a PodGroup, or what it became.
    fn tell_group(&mut self, key: &GangKey, is_new: bool, now: Time) {
        let now = self.clock(now);
        let Some(story) = &mut self.story else { return };
        let line = self.gangs.get(key);
        if let Some((line, spec)) = line.and_then(|line| Some((line, line.spec.as_ref()?)))
            && (line.for_us || story.knows(key))
        {
            story.group(key, spec.min_available, is_new, line.is_whole(spec), now);
        }
    }

    /// A pod was edited; a bound one may be another gang's from now on.
    pub fn edited(&mut self, before: &Pod, after: &Pod, server: &Server, now: Time) {
        let line = &mut self.pods[after.line];
        line.gang = named_gang(&after.spec);
        line.queue.clone_from(&after.spec.queue);
        let seat = |pod: &Pod| (pod.spec.gang_key(), pod.spec.subgroup.clone());
        if before.is_bound() && seat(before) != seat(after) {
            self.leaving(before, server, now);
            self.count(after, server, now, |counts| counts.bound += 1);
        }
        if after.spec.ours {
            let seat = match (after.spec.phase.is_terminal(), after.spec.terminating) {
                (true, _) => Seat::Ended,
                (_, true) => Seat::Leaving,
                _ if before.is_bound() => Seat::Bound,
                _ => Seat::Waiting,
            };
            self.join(after, now);
            self.tell(after.line, seat, now);
        }
        if before.takes_room() && seat(before) != seat(after) {
            self.draw(after, server, now);
        }
    }

    /// A PodGroup's status was written.
    pub fn gang_status(&mut self, status: &GangStatus) {
        let line = self.gangs.entry(status.gang.clone()).or_default();
        if status.bound == 0 || status.bound >= line.hops_of {
            line.max_hops = status.max_hops.or(line.max_hops);
            line.hops_of = status.bound;
        }
        line.status = Some(status.clone());
    }

    /// A gang was given places.
    pub fn placed(&mut self, gang: &GangKey, lost: u64, ranks: Option<Neighbours>) {
        if let Some(line) = self.gangs.get_mut(gang) {
            line.lost = Some(line.lost.unwrap_or(0).saturating_add(lost));
            line.ranks = match (line.ranks, ranks) {
                (Some(known), Some(more)) => Some(known.and(more)),
                (known, more) => known.or(more),
            };
        }
    }

    /// It was said why a pod waits.
    pub fn waits(&mut self, waits: &PodWaits, server: &Server) {
        if let Some(pod) = server.pod(&waits.pod) {
            self.pods[pod.line].waits = Some((waits.pod.uid.clone(), waits.message.to_string()));
        }
    }

    /// A pod has its place in the picture.
    fn join(&mut self, pod: &Pod, now: Time) {
        let submitted = self.clock(self.pods[pod.line].submitted_at);
        let clock = self.clock(now);
        let Some(story) = &mut self.story else { return };
        let joins = Joins {
            line: pod.line,
            key: &pod.spec.gang_key(),
            is_single: pod.spec.gang == GangRef::Own,
            submitted,
        };
        let gangs = &self.gangs;
        story.join(&joins, clock, |key| is_whole(gangs, key));
        self.tell_group(&pod.spec.gang_key(), false, now);
    }

    /// So has what becomes of it.
    fn tell(&mut self, line: usize, seat: Seat, now: Time) {
        let now = self.clock(now);
        let Some(story) = &mut self.story else { return };
        let gangs = &self.gangs;
        story.moved(line, seat, now, |key| is_whole(gangs, key));
    }

    /// A pod has its node in the picture.
    fn draw(&mut self, pod: &Pod, server: &Server, now: Time) {
        let now = self.clock(now);
        let (Some(story), Some(node)) = (&mut self.story, &pod.spec.node) else {
            return;
        };
        let takes = Takes {
            requests: pod.spec.shape.requests.clone(),
            exclusive: server.is_exclusive(pod),
            daemon: pod.spec.daemon,
        };
        story.takes(pod.line, node, &takes, now);
    }

    /// It has left it.
    fn undraw(&mut self, pod: &Pod, now: Time) {
        let now = self.clock(now);
        if let Some(story) = &mut self.story {
            story.places.leave(pod.line, now);
        }
    }

    fn count(&mut self, pod: &Pod, server: &Server, now: Time, change: impl Fn(&mut Counts)) {
        if pod.spec.gang == GangRef::Own {
            return;
        }
        let key = pod.spec.gang_key();
        let spec = server.gang(&key);
        let line = self.gangs.entry(key).or_default();
        let by_labels = spec.and_then(|spec| spec.labelled_subgroup_of(&pod.spec.labels));
        let by_labels = by_labels.map(|(_, name)| name);
        let subgroup = by_labels.or_else(|| pod.spec.subgroup.clone());
        change(line.members.entry(subgroup).or_default());
        let Some(spec) = spec else { return };
        line.judge(spec, now);
    }
}

/// The PodGroup that a pod names.
fn named_gang(spec: &PodSpec) -> Option<GangKey> {
    (spec.gang != GangRef::Own).then(|| spec.gang_key())
}

/// Whether every minimum of a PodGroup is met.
fn is_whole(gangs: &BTreeMap<GangKey, GangLine>, key: &GangKey) -> bool {
    let line = gangs.get(key);
    line.is_some_and(|line| line.spec.as_ref().is_some_and(|spec| line.is_whole(spec)))
}
