//! The scheduler: events in, plans out.
//!
//! ```text
//!  Event ──► apply ──► state ──► changes
//!                                   │
//!  now ────► cycle: refresh ► wake ► allocate ► speak ──► Plan
//! ```
//!
//! A cycle looks only at what changed since the last one: gangs on which something happened, and
//! gangs that a changed node could help. A slow sweep looks at all of them, as a safety net.

mod census;
mod explain;
#[cfg(test)]
mod tests;
mod topology_words;
mod untold;
mod voice;
mod words;

pub use crate::actions::MoveLimits;
use muster_model::Plan;
use muster_model::{Decision, Effect, GangStatus, Outcome};
use muster_model::{Stats, Table, Tables};

use crate::actions::{
    Agenda, Claims, Cycle, MAX_RANKS, Note, OrderKey, Orders, Rounds, Stage, allocate, ask_again,
    asks_about_others, charge_who_runs, company_changed, end_charges, fire_timers, forget_claims,
    ghosts_come_back, give_back, go_on, partial_since, refresh, restate, resume, settle_slots,
    wake_heads, wake_parked, wake_who_moved_up,
};
use crate::framework::{Addition, Profile, Profiles};
use crate::placement::Placer;
use crate::plugins::registry;
pub use crate::state::Priorities;
use crate::state::{Changes, ClusterState, DEFAULT_HALF_LIFE, GangId};
use muster_model::resources::Worth;
use muster_model::units::{Millis, Time};
use muster_model::{BindOutcome, Code, Event, GangKey, Inquiry, PodKey, Source};
use std::collections::BTreeSet;
use std::sync::Arc;
use voice::{Outlet, Voice};

/// How the scheduler decides; the configuration file becomes one of these.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The plugins, for all pods that have no other profile.
    pub profile: Profile,
    /// Other profiles: those of [`ProfileId`](muster_model::ProfileId) 1 and up. The order of gangs
    /// is that of `profile` for all.
    pub more_profiles: Vec<Profile>,
    /// How often every waiting gang is looked at again, whether anything changed or not.
    pub sweep_interval: Millis,
    /// What amounts of resources are worth together.
    pub worth: Worth,
    /// The half-life of flows.
    pub half_life: Millis,
    /// Whether the default queue is there without anybody declaring it.
    pub default_queue: bool,
    /// How far what PodGroups say of their priority counts.
    pub priorities: Priorities,
    /// Whether gangs are moved to other nodes so that another has room, and how much.
    pub moves: Option<MoveLimits>,
    /// Plugins beside the built-in ones, in this order.
    pub additions: Vec<Addition>,
}

impl Policy {
    /// All profiles.
    #[must_use]
    pub const fn profiles(&self) -> Profiles<'_> {
        Profiles::new(&self.profile, self.more_profiles.as_slice())
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            profile: registry::default_profile(),
            more_profiles: Vec::new(),
            sweep_interval: Millis::from_secs(300),
            worth: Worth::default(),
            half_life: DEFAULT_HALF_LIFE,
            default_queue: true,
            priorities: Priorities::UpToPods,
            moves: None,
            additions: Vec::new(),
        }
    }
}

/// The whole decision core.
///
/// `apply` takes what happened; `cycle` says what to do. Same events, policy and times: the same
/// plans, byte for byte.
#[derive(Debug)]
pub struct Scheduler {
    policy: Policy,
    state: ClusterState,
    placer: Placer,
    agenda: Agenda,
    claims: Claims,
    voice: Voice,
    /// What keeps words true.
    rounds: Rounds,
    next_sweep: Option<Time>,
    /// The last cycle stopped at its bound.
    unfinished: bool,
    stats: Stats,
    /// Which explanations are not what they were, if anybody keeps them.
    explained: Option<explain::News>,
}

impl Default for Scheduler {
    fn default() -> Self {
        Self::new(Policy::default())
    }
}

impl Scheduler {
    /// An empty scheduler.
    ///
    /// # Panics
    /// If the profile has more than [`MAX_RANKS`] queue-sort plugins: none is left out silently.
    #[must_use]
    pub fn new(mut policy: Policy) -> Self {
        for addition in &policy.additions {
            let made = addition.make();
            for other in &mut policy.more_profiles {
                // Who hears of events hears of each once.
                other.add(Profile {
                    events: Vec::new(),
                    ..made.clone()
                });
            }
            policy.profile.add(made);
        }
        let sorts = policy.profile.queue_sort.len();
        assert!(
            sorts <= MAX_RANKS,
            "{sorts} queue-sort plugins, and {MAX_RANKS} at most have a rank"
        );
        let mut state = ClusterState::default();
        state.set_worth(policy.worth.clone(), policy.half_life);
        state.leave_unchecked(policy.profiles().unchecked());
        state.set_priorities(policy.priorities);
        let spread = policy.profiles().iter();
        let spread = spread.map(|profile| Arc::clone(&profile.default_spread));
        state.set_default_spread(spread.collect());
        if !policy.default_queue {
            state.do_without_default_queue();
        }
        let mut claims = Claims::default();
        claims.moves.limits = policy.moves;
        Self {
            policy,
            state,
            placer: Placer::default(),
            agenda: Agenda::default(),
            claims,
            voice: Voice::default(),
            rounds: Rounds::default(),
            next_sweep: None,
            unfinished: false,
            stats: Stats::default(),
            explained: None,
        }
    }

    /// Takes one piece of news that came at `now`.
    pub fn apply(&mut self, now: Time, event: Event) {
        self.stats.events += 1;
        let answered = match &event {
            Event::BindResult(pod, outcome) => Some((pod.clone(), outcome.clone())),
            Event::Answer(id, answer) => {
                self.claims.answered(*id, answer.clone());
                None
            }
            _ => None,
        };
        let outage = self.state.writes().outage(now);
        let profiles = self.policy.profiles();
        if profiles.iter().all(|one| one.events.is_empty()) {
            self.state.apply(now, event);
        } else {
            self.state.apply(now, event.clone());
            for plugin in profiles.iter().flat_map(|one| &one.events) {
                plugin.on_event(&self.state, &event, &mut self.claims.waiting);
                for gang in plugin.wakes() {
                    self.state.touch(gang);
                }
            }
        }
        // Nobody decides by these: only who explains has to know.
        let changed = self.state.take_changes_of_others();
        if let Some(explained) = &mut self.explained {
            explained.note_others(changed);
            explained.note_slots(self.state.has_testbeds());
        }
        if self.state.writes().outage(now) != outage {
            resume(&mut self.state, &mut self.agenda, now);
        }
        if let Some((pod, outcome)) = answered {
            let node = match &outcome {
                BindOutcome::Bound { node } => Some(node.as_str()),
                _ => None,
            };
            let questions = &mut self.claims.questions;
            questions.bind_answered(&self.state, self.policy.profiles(), &pod, node);
        }
    }

    /// Whether an object defines a gang.
    #[must_use]
    pub fn has_podgroup(&self, gang: &GangKey) -> bool {
        let id = self.state.find_gang(gang);
        let definition = id.and_then(|id| self.state.gang(id)?.definition());
        definition.is_some_and(|spec| spec.source != Source::Implied)
    }

    /// Whether something since the last cycle could make a difference. Time may too: see
    /// [`Plan::wake_at`].
    #[must_use]
    pub fn wants_cycle(&self) -> bool {
        let changes = self.state.changes();
        self.unfinished
            || self.agenda.has_work()
            || !changes.gangs.is_empty()
            || !changes.removed.is_empty()
            || !changes.queues.is_empty()
            || changes.topologies
            || ((!changes.nodes.is_empty()
                || changes.room_set_free
                || changes.rules
                || changes.pods)
                && self.agenda.parked().next().is_some())
            || self.state.has_slot_news()
            || self.claims.questions.has_news()
            || self.claims.waiting.has_news()
    }

    /// Decides on all that is due at `now`.
    pub fn cycle(&mut self, now: Time) -> Plan {
        self.stats.cycles += 1;
        self.state.set_now(now);
        self.placer.begin_cycle(&self.state);
        let mut cycle = Cycle {
            now,
            state: &mut self.state,
            profiles: self.policy.profiles(),
            placer: &mut self.placer,
            agenda: &mut self.agenda,
            claims: &mut self.claims,
            orders: Orders::default(),
        };
        cycle.state.recall_the_retired();
        let outbox = cycle.claims.questions.take_outbox();
        cycle.orders.asks = outbox.into_iter().map(Inquiry::Ask).collect();
        fire_timers(&mut cycle);
        let changes = take_in(&mut cycle, &mut self.voice, self.explained.as_mut());
        let slots = settle_slots(&mut cycle, &changes.nodes);
        go_on(&mut cycle);
        wake_parked(&mut cycle, &changes.nodes, changes.room_set_free);
        if changes.pods {
            company_changed(&mut cycle);
        }
        if changes.rules {
            wake_heads(&mut cycle);
        }
        wake_who_moved_up(&mut cycle);
        let mut swept = restate(&mut cycle, &mut self.rounds);
        if let Some(sweep) = sweep_if_due(&mut cycle, self.next_sweep) {
            swept.extend(sweep);
            self.stats.sweeps += 1;
            self.next_sweep = None;
        }
        if changes.topologies {
            self.voice.note_topologies();
        }
        let more = allocate(&mut cycle);
        ghosts_come_back(&mut cycle, &slots);
        // Who got a place may have let others go on.
        go_on(&mut cycle);
        cycle.state.begin();
        // The actions have dealt with the gangs they changed; room they gave back is for next time.
        cycle.state.settle();
        let own = cycle.state.take_changes();
        end_charges(&mut cycle, &own.gangs);
        for id in own.queues {
            self.voice.census.note_queue(id);
            if let Some(explained) = &mut self.explained {
                explained.note_queue(id);
            }
        }
        let gave_back = !own.nodes.is_empty();
        cycle.state.note_room(own.nodes);
        if let Some(explained) = &mut self.explained {
            explained.note_slots(cycle.state.has_testbeds());
        }
        if own.pods && more {
            cycle.state.note_pods_changed();
        }
        let orders = cycle.orders;
        self.stats.placements += orders.placed;
        self.stats.attempts += orders.attempts;
        self.stats.unreserved += orders.unreserved;
        self.stats.choices_cut += self.placer.take_choices_cut();
        self.stats.room.add(&orders.room);
        self.stats.lost.add(&orders.lost);
        // Who got room that was given back in this very cycle would have been woken in the next.
        if gave_back {
            swept.clear();
        }
        self.account_for_sweep(&swept, &orders.decisions, now);
        self.unfinished = more;
        self.plan(orders, now, more)
    }

    /// Counts whom a sweep helped to a place in a cycle in which this was decided, and sets the time of the
    /// next sweep while anybody waits.
    fn account_for_sweep(&mut self, swept: &BTreeSet<GangId>, decided: &[Decision], now: Time) {
        let placed = |one: &&Decision| matches!(one.outcome, Outcome::Placed { .. });
        let alone = |gang: GangId| {
            let title = self.state.gang_title(gang);
            let mut placed = decided.iter().filter(placed);
            placed.all(|one| one.gang == title)
        };
        let rescued = |gang: &&GangId| match self.state.gang(**gang) {
            Some(_) => {
                let stage = self.agenda.note(**gang).stage();
                // Another who got his place in this very cycle would have woken him.
                matches!(stage, Stage::Settled | Stage::Held(_))
                    && (!asks_about_others(&self.state, **gang) || alone(**gang))
            }
            None => false,
        };
        self.stats.sweep_rescues += swept.iter().filter(rescued).count() as u64;
        let anybody_waits = self.agenda.parked().next().is_some();
        let next = self.next_sweep.unwrap_or(now + self.policy.sweep_interval);
        self.next_sweep = anybody_waits.then_some(next);
    }

    /// Turns orders into a plan, with what has to be said.
    fn plan(&mut self, orders: Orders, now: Time, more: bool) -> Plan {
        let mut effects: Vec<Effect> = orders.binds.into_iter().map(Effect::Bind).collect();
        effects.extend(orders.recalls.into_iter().map(Effect::Recall));
        effects.extend(orders.evictions.into_iter().map(Effect::Evict));
        effects.extend(orders.asks.into_iter().map(|one| match one {
            Inquiry::Ask(question) => Effect::Ask(question),
            Inquiry::GiveUp(id) => Effect::GiveUp(id),
        }));
        let silent = orders.silent.into_iter();
        effects.extend(silent.map(|(source, uid)| Effect::GangSilent(source, uid)));
        let (mut seen, mut decisions) = (orders.seen, orders.decisions);
        let mut outlet = Outlet {
            effects: &mut effects,
            decisions: &mut decisions,
        };
        let (voice, agenda) = (&mut self.voice, &mut self.agenda);
        voice.speak(
            &self.state,
            agenda,
            &self.claims,
            &mut seen,
            now,
            &mut outlet,
        );
        if let Some(explained) = &mut self.explained {
            for id in seen {
                if let Some(gang) = self.state.gang(id) {
                    explained.note_gang(id, gang.queue);
                }
            }
        }
        let due = [
            self.agenda.next_timer(),
            self.voice.next_due(),
            self.rounds.due(),
            self.next_sweep,
            self.claims.ghosts.due(),
        ];
        Plan {
            effects,
            decisions,
            spans: orders.spans,
            held: orders.held,
            claims: self.state.take_claim_news(),
            onto_kept: orders.onto_kept,
            wake_at: due.into_iter().flatten().min(),
            more,
        }
    }

    /// The cluster as it is known.
    #[must_use]
    pub const fn state(&self) -> &ClusterState {
        &self.state
    }

    /// The status of any gang, a pod without one included, as of now, with its exact position.
    #[must_use]
    pub fn gang_status(&self, key: &GangKey) -> Option<GangStatus> {
        let id = self.state.find_gang(key)?;
        let position = self.agenda.position(id, u32::MAX);
        Some(words::status(
            &self.state,
            &self.agenda,
            &self.claims,
            id,
            position,
        ))
    }

    /// The status of every gang, each as [`Self::gang_status`] gives it, for the cost of all once.
    pub fn gang_statuses(&self) -> impl Iterator<Item = GangStatus> {
        let positions = self.agenda.positions();
        let gangs = self.state.gangs();
        gangs.map(move |(id, _)| {
            let position = positions.get(&id).copied();
            words::status(&self.state, &self.agenda, &self.claims, id, position)
        })
    }

    /// The pods without a place, and why each has none as of now.
    pub fn waiting_pods(&self) -> impl Iterator<Item = (&PodKey, Arc<str>)> {
        self.state.gangs().flat_map(move |(id, gang)| {
            let why = words::why(&self.state, &self.agenda, id);
            let members = gang.members.iter().filter_map(|pod| self.state.pod(*pod));
            members.filter_map(move |pod| {
                let message = words::on_pod(&self.state, pod, why.as_deref())?;
                Some((&pod.key, message))
            })
        })
    }

    /// Checks that everything derived is what a recount gives.
    ///
    /// # Errors
    /// The first difference, in words.
    pub fn audit(&self) -> Result<(), String> {
        self.state.audit()?;
        self.agenda.audit(&self.state)?;
        self.claims
            .audit(&self.state, |id| self.agenda.note(id).stage())
    }

    /// Why a gang waits, if it does.
    #[must_use]
    pub fn why(&self, key: &GangKey) -> Option<(Code, Arc<str>)> {
        let id = self.state.find_gang(key)?;
        let not_admitted = self.agenda.note(id).not_admitted.as_ref();
        let why = match not_admitted {
            Some(why) => why.clone(),
            None => words::why(&self.state, &self.agenda, id)?.into_owned(),
        };
        Some((why.reason, why.message))
    }

    /// When the gang's minimum first got its place.
    #[must_use]
    pub fn scheduled_at(&self, key: &GangKey) -> Option<Time> {
        self.note(key)?.run.scheduled_at
    }

    /// When a waiting gang will start at the latest, if those who are in its way end by the end of
    /// their lifetimes; `None` where nobody knows.
    #[must_use]
    pub fn estimated_start(&self, key: &GangKey) -> Option<Time> {
        let id = self.state.find_gang(key)?;
        self.claims.reserved.get(&id)?.at
    }

    /// The queues for whose heads a place is reserved, and what of the room that is free now is kept for
    /// them, in worth.
    pub fn reserved(&self) -> impl Iterator<Item = (&str, u64)> {
        self.claims.reserved.iter().map(|(gang, reserved)| {
            let kept = reserved.worth(&self.state);
            (self.state.queue_name(*gang), kept)
        })
    }

    fn note(&self, key: &GangKey) -> Option<&Note> {
        let id = self.state.find_gang(key)?;
        Some(self.agenda.note(id))
    }

    /// Counters since the start.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let mut tables = Tables::default();
        self.state.count_tables(&mut tables);
        self.placer.count_tables(&mut tables);
        tables.set(Table::Spoken, self.voice.spoken());
        let explained = self.explained.as_ref().map_or(0, explain::News::told);
        tables.set(Table::Explained, explained);
        Stats {
            tables,
            gangs: self.voice.census.phases(),
            claims: self.claims.counts(&self.state),
            waiting: self.agenda.waiting_len() as u64,
            packing: self.placer.packing_counts(),
            moves: self.claims.moves.counts,
            partial_since: partial_since(&self.state, &self.agenda),
            ..self.stats
        }
    }
}

/// Takes in what changed: forgets gangs that are gone, finds out what is next for the others.
fn take_in(
    cycle: &mut Cycle<'_>,
    voice: &mut Voice,
    mut explained: Option<&mut explain::News>,
) -> Changes {
    let mut changes = cycle.state.take_changes();
    for id in std::mem::take(&mut changes.remade) {
        cycle.agenda.forget_history(id);
    }
    for id in std::mem::take(&mut changes.removed) {
        forget_claims(cycle, id);
        cycle.agenda.forget(id);
        if let Some(held) = cycle.claims.forget(id) {
            give_back(cycle, id, held);
        }
        voice.forget(id);
        if let Some(explained) = &mut explained {
            explained.forget(id);
        }
        cycle.orders.seen.remove(&id);
    }
    cycle.orders.silent = std::mem::take(&mut changes.silent);
    charge_who_runs(cycle, &changes.gangs);
    for id in std::mem::take(&mut changes.gangs) {
        refresh(cycle, id);
    }
    // What refreshing gave back or set free counts in this cycle.
    cycle.state.settle();
    for what in cycle.state.take_eased() {
        cycle.agenda.ease(what);
    }
    for id in cycle.agenda.take_eased() {
        ask_again(cycle, id);
        refresh(cycle, id);
    }
    let more = cycle.state.take_changes();
    changes.queues.extend(more.queues);
    for id in std::mem::take(&mut changes.queues) {
        voice.census.note_queue(id);
        if let Some(explained) = &mut explained {
            explained.note_queue(id);
        }
    }
    changes.nodes.extend(more.nodes);
    changes.room_set_free |= more.room_set_free;
    changes.rules |= more.rules;
    changes.pods |= more.pods;
    changes.topologies |= more.topologies;
    changes
}

/// Queues everything that waits, if it is time. Says who was waiting out of turn.
fn sweep_if_due(cycle: &mut Cycle<'_>, due: Option<Time>) -> Option<BTreeSet<GangId>> {
    due.filter(|due| *due <= cycle.now)?;
    let parked: Vec<OrderKey> = cycle.agenda.parked().copied().collect();
    let out_of_turn = cycle
        .agenda
        .out_of_turn(cycle.claims, cycle.now, parked.iter().copied());
    for key in parked {
        let stage = Stage::Queued(key);
        cycle.agenda.set_stage(cycle.state, key.gang, stage);
    }
    Some(out_of_turn)
}
