//! Who may have to go for a gang, and why another may not: one judgement, for the plan and for the
//! words (source: mission, "Preemption").

use super::surplus::has_surplus;
use crate::actions::asks::amounts;
use crate::actions::heads::may_clear_its_place;
use crate::actions::leaving::leaving;
use crate::actions::partial::repairs_until;
use crate::actions::terms::{GRACE, ends_at, started_at};
use crate::actions::{Agenda, Claims, Sight};
use crate::framework::Profiles;
use crate::state::{ClusterState, Eviction, Gang, GangId, Pod, Queue, QueueId, Standing};
use muster_model::explanation::{Lost, Spared};
use muster_model::resources::Tally;
use muster_model::units::{Millis, Time};
use muster_model::{CRITICAL_PRIORITY, is_critical_class};
use std::collections::BTreeMap;

/// For so long after the API server refused to delete one of its members, a gang is not asked again.
const REFUSED_FOR: Millis = Millis(60_000);

/// Why the whole of a gang may have to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// It is past its lifetime, and its queue is over its share.
    Expired,
    /// It is past its lifetime, and the time of a reservation has come.
    Due,
    /// It is of lower priority, in the same queue.
    Lower,
}

impl From<Claim> for Lost {
    fn from(claim: Claim) -> Self {
        match claim {
            Claim::Expired => Self::PastItsLifetime,
            Claim::Due => Self::Due,
            Claim::Lower => Self::LowerPriority,
        }
    }
}

/// What may be asked of a gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Its members beyond the minimum; by how much its queue is over its share, in worth.
    pub surplus: Result<u64, Spared>,
    /// All of it.
    pub whole: Result<Claim, Spared>,
}

impl Verdict {
    const fn spared(why: Spared) -> Self {
        Self {
            surplus: Err(why),
            whole: Err(why),
        }
    }
}

/// How one queue stands to that of the gang that needs room.
#[derive(Clone, Copy, Debug)]
pub(super) enum Between {
    /// It is the same.
    Same(u64),
    /// It is over its share, by so much, and the other is entitled to that.
    Over(u64),
    Spared(Spared),
}

/// Who needs room.
#[derive(Clone, Debug)]
pub struct Asker {
    /// Which gang; `None`: one that there might be.
    gang_id: Option<GangId>,
    queue: QueueId,
    priority: i32,
    /// Whether it heads its queue, so that gangs past their lifetime have to go for it.
    clears_its_place: bool,
    /// What the gang asks for beyond what is held for it.
    asks: Asks,
}

/// What somebody asks for.
#[derive(Clone, Debug)]
enum Asks {
    Amounts(Tally),
    /// No more than its queue is entitled to.
    WithinShare,
}

impl Asker {
    fn new(sight: Sight<'_>, gang_id: GangId) -> Option<Self> {
        let Sight {
            state,
            agenda,
            claims,
            ..
        } = sight;
        let own = state.gang(gang_id)?;
        let asks = if claims.nominated.contains(&gang_id) {
            Tally::default()
        } else {
            amounts(state, agenda, gang_id)
        };
        Some(Self {
            gang_id: Some(gang_id),
            queue: own.queue?,
            priority: own.priority,
            clears_its_place: may_clear_its_place(state, agenda, gang_id),
            asks: Asks::Amounts(asks),
        })
    }

    /// A gang that there might be, whose queue is within its fair share with it.
    #[must_use]
    pub const fn anybody(queue: QueueId, priority: i32) -> Self {
        Self {
            gang_id: None,
            queue,
            priority,
            clears_its_place: false,
            asks: Asks::WithinShare,
        }
    }

    /// The same, if its place is reserved and the time for that has come.
    #[must_use]
    pub const fn whose_place_is_due(mut self) -> Self {
        self.clears_its_place = true;
        self
    }
}

/// Judges whom a gang may have make room for it.
#[derive(Debug)]
pub struct Judge<'a> {
    state: &'a ClusterState,
    agenda: &'a Agenda,
    claims: &'a Claims,
    profiles: Profiles<'a>,
    now: Time,
    asker: Asker,
    /// What each queue holds, without what leaves it already.
    holds: BTreeMap<QueueId, Tally>,
    between: BTreeMap<QueueId, Between>,
}

impl<'a> Judge<'a> {
    /// Judges for a gang; `None` for one that has no queue yet.
    #[must_use]
    pub fn new(sight: Sight<'a>, gang_id: GangId) -> Option<Self> {
        let asker = Asker::new(sight, gang_id)?;
        Some(Self::on_behalf_of(sight, asker))
    }

    /// Judges for whoever might ask.
    #[must_use]
    pub fn on_behalf_of(sight: Sight<'a>, asker: Asker) -> Self {
        let Sight {
            now,
            state,
            agenda,
            claims,
            profiles,
        } = sight;
        let mut judge = Self {
            state,
            agenda,
            claims,
            profiles,
            now,
            asker,
            holds: BTreeMap::new(),
            between: BTreeMap::new(),
        };
        judge.take_off_who_leaves();
        judge
    }

    /// From now on judges for somebody else.
    pub fn turn_to(&mut self, asker: Asker) {
        self.asker = asker;
        self.between.clear();
    }

    /// Who leaves already does not count for their queues any more.
    fn take_off_who_leaves(&mut self) {
        for pod in leaving(self.state, self.agenda) {
            let gang = self
                .state
                .pod(pod)
                .and_then(|pod| self.state.gang(pod.gang?));
            let queue = gang.and_then(|gang| gang.queue);
            let Some((queue, shape)) = queue.zip(self.state.shape_of(pod)) else {
                continue;
            };
            for (id, queue) in self.state.queues().path(queue) {
                let holds = self.holds.entry(id);
                let holds = holds.or_insert_with(|| queue.account.held.all.clone());
                holds.subtract(&shape.request);
            }
        }
    }

    /// What may be asked of a gang.
    #[must_use]
    pub fn judge(&mut self, id: GangId, gang: &Gang) -> Verdict {
        match self.may_be_asked(id, gang) {
            Ok(between) => self.weigh(id, gang, between),
            Err(why) => Verdict::spared(why),
        }
    }

    /// Whether anything may be asked of it, before it is known who is more important.
    fn may_be_asked(&mut self, id: GangId, gang: &Gang) -> Result<Between, Spared> {
        let Some(queue) = gang.queue.filter(|_| self.asker.gang_id != Some(id)) else {
            return Err(Spared::HoldsNothing);
        };
        // What most are spared for is asked first.
        let between = match self.between(queue) {
            between if self.is_due(id, gang) => between,
            Between::Spared(why) => return Err(why),
            Between::Same(_) if gang.is_single() && gang.priority >= self.asker.priority => {
                return Err(Spared::Priority);
            }
            between => between,
        };
        if gang.counts().bound() == 0 && self.state.has_room_held(id) {
            // Nobody is in the way of who only has room.
            return Ok(between);
        }
        if gang.counts().bound() == 0 {
            let comes = gang.counts().of(Standing::Assumed) > 0;
            let comes = comes || self.claims.nominated.contains(&id);
            return Err(if comes {
                Spared::Incomplete
            } else {
                Spared::HoldsNothing
            });
        }
        if gang.definition().is_none() && !gang.is_single() {
            return Err(Spared::Undefined);
        }
        if self.agenda.note(id).release().is_some() {
            return Err(Spared::Leaving);
        }
        // One that has long to be repaired still gives way.
        if gang.unsecured() > 0 && repairs_until(self.state, self.agenda, id).is_none() {
            return Err(Spared::Incomplete);
        }
        Ok(between)
    }

    fn weigh(&self, id: GangId, gang: &Gang, between: Between) -> Verdict {
        let whole = match between {
            // What is on its way, perhaps since this very cycle, is not sent away again.
            _ if gang.counts().of(Standing::Assumed) > 0 => Err(Spared::Incomplete),
            _ if self.is_due(id, gang) => self.is_expired(id, gang).map(|_| Claim::Due),
            Between::Same(_) if gang.priority < self.asker.priority => Ok(Claim::Lower),
            Between::Same(_) => Err(Spared::Priority),
            _ => self.is_expired(id, gang),
        };
        let surplus = match between {
            // What is lost of one that is repaired is not made up for by others.
            _ if gang.unsecured() > 0 => Err(Spared::Incomplete),
            _ if !has_surplus(self.state, self.agenda.note(id), gang) => Err(Spared::NoSurplus),
            Between::Same(_) if gang.priority > self.asker.priority => Err(Spared::Priority),
            // Other queues may have what its own was not charged for.
            Between::Same(_) if gang.goes_whole() => Err(Spared::NoSurplus),
            Between::Same(over) | Between::Over(over) => Ok(over),
            Between::Spared(why) => Err(why),
        };
        // What costs more to find out is asked last.
        if let Some(why) = self
            .is_protected(id, gang)
            .filter(|_| whole.is_ok() || surplus.is_ok())
        {
            return Verdict::spared(why);
        }
        let taken = self.agenda.note(id).history.taken.as_deref();
        let too_often = |whole| {
            let at = taken.and_then(|taken| taken.too_often(whole, self.now));
            at.map(Spared::TooOften)
        };
        Verdict {
            surplus: surplus.and_then(|over| too_often(false).map_or(Ok(over), Err)),
            whole: whole.and_then(|claim| too_often(true).map_or(Ok(claim), Err)),
        }
    }

    /// Gangs whose lifetime ended by then have to go, of whatever queue, but for those more important
    /// in the same; `None`: the gang has no place that is to be cleared for it.
    pub(super) fn due_by(&self) -> Option<Time> {
        let by = self.now.0.checked_sub(GRACE.0).map(Time);
        by.filter(|_| self.asker.clears_its_place)
    }

    /// Whether what it holds is promised to the gang that heads its queue: its lifetime is over, and it
    /// had a moment to end by itself. Who is more important in the same queue goes when it likes.
    fn is_due(&self, id: GangId, gang: &Gang) -> bool {
        let ends = ends_at(self.agenda, id, gang);
        let own = gang.queue == Some(self.asker.queue);
        let more = own && gang.priority > self.asker.priority;
        !more && ends.zip(self.due_by()).is_some_and(|(end, by)| end <= by)
    }

    /// Whether it is past its lifetime, and did not have this gang go for it.
    fn is_expired(&self, id: GangId, gang: &Gang) -> Result<Claim, Spared> {
        let ends = ends_at(self.agenda, id, gang);
        if ends.is_none_or(|at| at > self.now) && !gang.lifetime.is_zero() {
            return Err(Spared::Lifetime(ends));
        }
        let asker = self.asker.gang_id;
        let taken = asker.and_then(|id| self.agenda.note(id).history.taken.as_deref());
        match taken.and_then(|taken| taken.lately_for(gang.arrival, self.now)) {
            Some(until) => Err(Spared::Evictor(until)),
            None => Ok(Claim::Expired),
        }
    }

    /// Why nothing is asked of it, whoever asks: it has just started, is critical for the system, may not be
    /// deleted, or a plugin spares it.
    pub(in crate::actions) fn protects(&self, id: GangId, gang: &Gang) -> Option<Spared> {
        self.is_protected(id, gang)
    }

    fn is_protected(&self, id: GangId, gang: &Gang) -> Option<Spared> {
        if let Some(at) = self.protected_until(id, gang).filter(|at| *at > self.now) {
            return Some(Spared::MinRuntime(at));
        }
        let mut refused = None;
        for pod in gang.members.iter().filter_map(|pod| self.state.pod(*pod)) {
            if gang.priority >= CRITICAL_PRIORITY || is_critical(pod) {
                return Some(Spared::Critical);
            }
            if let Eviction::CameBack(at) = pod.eviction {
                refused = refused.max(Some(at + REFUSED_FOR));
            }
        }
        let refused = refused.filter(|at| *at > self.now).map(Spared::Refused);
        refused.or_else(|| self.spared_by_plugin(gang))
    }

    fn spared_by_plugin(&self, gang: &Gang) -> Option<Spared> {
        let mut plugins = self.profiles.of(self.state, gang).victims.iter();
        let found = plugins.find(|plugin| plugin.spares(self.state, gang));
        found.map(|plugin| Spared::Plugin(plugin.name()))
    }

    /// Until when the `minRuntime` of its queue protects it; a queue without one has that of the
    /// nearest queue above it.
    fn protected_until(&self, id: GangId, gang: &Gang) -> Option<Time> {
        let mut path = self.state.queues().path(gang.queue?);
        let span = path.find_map(|(_, queue)| queue.spec.as_ref()?.min_runtime)?;
        Some(started_at(self.agenda, id, gang)? + span)
    }

    /// How a queue stands to that of the gang that needs room.
    pub(super) fn between(&mut self, queue: QueueId) -> Between {
        if let Some(known) = self.between.get(&queue) {
            return *known;
        }
        let found = self.compare(queue);
        self.between.insert(queue, found);
        found
    }

    /// Compares two queues where their paths part: all of the one side have to be over their share,
    /// and all of the other within theirs with the gang.
    fn compare(&self, queue: QueueId) -> Between {
        let over = self.excess(queue);
        if queue == self.asker.queue {
            return Between::Same(over);
        }
        let (theirs, own) = self.where_paths_part(queue);
        let within = |id: &QueueId| {
            let Asks::Amounts(asks) = &self.asker.asks else {
                return true;
            };
            let queue = self.state.queues().get(*id);
            queue.is_some_and(|queue| {
                let mut with = self.holds(*id, queue).clone();
                with.add_all(asks);
                self.state.weights().of(&with) <= queue.account.share
            })
        };
        if own.is_empty() || !own.iter().all(within) {
            return Between::Spared(Spared::NotEntitled);
        }
        if theirs.is_empty() || theirs.iter().any(|id| self.excess(*id) == 0) {
            return Between::Spared(Spared::WithinShare);
        }
        Between::Over(over)
    }

    /// The queues of another path, and those of its own, below the first that both have.
    pub(super) fn where_paths_part(&self, queue: QueueId) -> (Vec<QueueId>, Vec<QueueId>) {
        let path = |from| -> Vec<QueueId> {
            let path = self.state.queues().path(from);
            path.map(|(id, _)| id).collect()
        };
        let (mut theirs, mut own) = (path(queue), path(self.asker.queue));
        while theirs.last().is_some() && theirs.last() == own.last() {
            theirs.pop();
            own.pop();
        }
        (theirs, own)
    }

    /// What a queue holds that does not leave it.
    fn holds<'q>(&'q self, id: QueueId, queue: &'q Queue) -> &'q Tally {
        self.holds.get(&id).unwrap_or(&queue.account.held.all)
    }

    /// What a queue holds that does not leave it, and its fair share.
    pub(super) fn book(&self, id: QueueId) -> Option<(Tally, u64)> {
        let queue = self.state.queues().get(id)?;
        Some((self.holds(id, queue).clone(), queue.account.share))
    }

    /// By how much a queue is over its fair share, in worth.
    #[must_use]
    pub fn excess(&self, id: QueueId) -> u64 {
        self.state.queues().get(id).map_or(0, |queue| {
            let holds = self.state.weights().of(self.holds(id, queue));
            holds.saturating_sub(queue.account.share)
        })
    }
}

fn is_critical(pod: &Pod) -> bool {
    let number = pod
        .facts
        .priority
        .is_some_and(|one| one >= CRITICAL_PRIORITY);
    number
        || pod
            .facts
            .priority_class
            .as_deref()
            .is_some_and(is_critical_class)
}
