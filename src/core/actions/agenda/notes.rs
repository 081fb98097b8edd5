//! What the actions note about each gang: how far they are with it, and why.

use super::queued::Lane;
use super::taken::Taken;
use crate::actions::record::Short;
use crate::fairness::Blocked;
use crate::state::{GangId, Id, NodeId, QueueId, Setback};
use muster_model::LostSums;
use muster_model::RoomNote;
use muster_model::explanation::{Asked, Disruption, KeptFor};
use muster_model::units::Time;
use muster_model::{EvictCause, GangKey, Why};
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

/// How many ranks decide the order of gangs: no profile may have more queue-sort plugins.
pub const MAX_RANKS: usize = 6;

/// A gang's place in the order: smaller goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OrderKey {
    /// What the queue-sort plugins say, the most important first.
    pub ranks: [i64; MAX_RANKS],
    /// Where all else is equal, who was heard of first goes first.
    pub arrival: u64,
    /// Whose place it is.
    pub gang: GangId,
    /// In which queue, and where in it. Neither decides: a gang is in one place.
    pub queue: QueueId,
    /// Where in it.
    pub lane: Lane,
}

/// What is next for the members without a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Nothing: all that can be placed is.
    #[default]
    Settled,
    /// Something that only outside news can change is missing.
    Waiting,
    /// To be tried in this cycle or the next.
    Queued(OrderKey),
    /// Tried in vain; looked at again when something changed that could help.
    Parked(OrderKey),
    /// Plugins in other processes are asked about nodes; it keeps its place in the line.
    Asking(OrderKey),
    /// Placed, and held on the way out until this time at most.
    Held(Time),
    /// Being taken off its nodes as a whole, until no member holds one.
    Releasing,
    /// To be tried again at `retry_at`.
    BackingOff,
}

/// A release under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// What it goes for.
    pub cause: EvictCause,
    /// For whom it makes room.
    pub beneficiary: Option<GangKey>,
    /// Why the gang has to go.
    pub message: Arc<str>,
    /// What keeps it from going on, if something does.
    pub stuck: Option<StuckRelease>,
    /// Evictions that came back are not tried again before this.
    pub not_before: Time,
}

/// A release of which evictions come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckRelease {
    /// Since when.
    pub since: Time,
    /// A pod that could not be deleted.
    pub pod: String,
    /// Why not; the API server's answer says by whom.
    pub setback: Setback,
}

/// Changes of a reservation that nothing but other reservations can have caused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restless {
    /// The mark of the nodes meanwhile ([`Nodes::mark`]).
    ///
    /// [`Nodes::mark`]: crate::state::Nodes::mark
    pub mark: u64,
    /// How many.
    pub changes: u32,
    /// When it last did.
    pub last: Time,
    /// Nothing is reserved before that, unless the nodes change.
    pub not_before: Time,
}

/// What is noted of one gang.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// What is next. Only the agenda moves a gang to another one.
    stage: Stage,
    /// Why members wait.
    pub why: Option<Why>,
    /// The mark of the nodes when that was found out ([`Nodes::mark`]).
    ///
    /// [`Nodes::mark`]: crate::state::Nodes::mark
    pub words_mark: u64,
    /// What its members hoped for of other pods then, where it is like no other gang.
    pub hope: u64,
    /// Room for it is set aside, or it asks for none.
    pub admitted: bool,
    /// Why it is not admitted.
    pub not_admitted: Option<Why>,
    /// Since when some members are bound, but fewer than the minimum.
    pub partial_since: Option<Time>,
    /// When that is looked at again.
    pub partial_timer: Option<Time>,
    /// The minimum that was last bound in full, until a release.
    pub ran_with: Option<u32>,
    /// The mark of the nodes when room was last looked for by thinking others away, and until when
    /// that holds if the nodes do not change.
    pub planned: Option<(u64, Time)>,
    /// What came of that.
    pub room: Option<RoomNote>,
    /// How often others were sent away for it since it last got a place.
    pub sent_away: u32,
    /// Nobody else is sent away for it before that.
    pub send_again: Time,
    /// What kube-scheduler would say of it, where room is made as it does.
    pub by_node: Option<Arc<str>>,
    /// Room was held for it so, which is said in `status.nominatedNodeName`.
    pub nominates: bool,
    /// No place could be found for it, whoever of those that are ours had gone.
    pub hopeless: bool,
    /// It was asked what it is to be charged for what it holds.
    pub charged: bool,
    /// How often its reservation changed although no node did.
    pub restless: Restless,
    /// When its minimum was first placed.
    pub scheduled_at: Option<Time>,
    /// What that lost, and had to lose at least, where both are known.
    pub packed: Option<LostSums>,
    /// When it is tried again, while it backs off or a member was refused.
    pub retry_at: Option<Time>,
    /// Back-offs in a row after binds that came back, for their length.
    pub backoffs: u32,
    /// Releases in a row, for the length of the back-off after them.
    pub releases: u32,
    /// Nodes that refused members before it was released; somewhere else is tried first, until it runs.
    pub shunned: BTreeSet<NodeId>,
    /// The release under way.
    pub release: Option<Release>,
    /// How often it made room for others lately, and for whom.
    pub taken: Option<Box<Taken>>,
    /// Why it was last released, until it runs again.
    pub disrupted: Option<Why>,
    /// When it was last tried.
    pub tried_at: Option<Time>,
    /// Since when plugins in other processes are asked about nodes for it.
    pub asking_since: Option<Time>,
    /// What its queue's books said to it then.
    pub held_back: Option<Blocked>,
    /// What it was short of then.
    pub short: Option<Short>,
    /// Who was asked to make room for it when that was last looked for.
    pub asked: Option<Box<Asked>>,
    /// For whom room is kept that it did not get.
    pub kept_for: Option<KeptFor>,
    /// The mark of the nodes when it was last found out whether others can be moved for it, and the time.
    pub moves_looked: Option<(u64, Time)>,
    /// Until when it is not moved, and nobody is moved for it.
    pub still_until: Option<Time>,
    /// How it last lost its place, until it runs again; or some of its members since it runs.
    pub disruption: Option<Disruption>,
}

impl Progress {
    /// What is next.
    #[must_use]
    pub const fn stage(&self) -> Stage {
        self.stage
    }

    /// What an earlier try came to does not hold any more.
    pub(in crate::actions) fn forget_try(&mut self) {
        (self.held_back, self.short, self.kept_for) = (None, None, None);
    }
}

/// The notes on all gangs.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes(Vec<Progress>);

impl Notes {
    /// The notes on a gang.
    pub(super) fn of(&self, gang: GangId) -> &Progress {
        /// Of a gang that nobody has looked at yet.
        static BLANK: LazyLock<Progress> = LazyLock::new(Progress::default);
        self.0.get(gang.index()).unwrap_or(&BLANK)
    }

    /// The notes on a gang, to change.
    pub(super) fn of_mut(&mut self, gang: GangId) -> &mut Progress {
        if self.0.len() <= gang.index() {
            self.0.resize_with(gang.index() + 1, Progress::default);
        }
        &mut self.0[gang.index()]
    }

    /// Moves a gang to another stage; says where it was.
    pub(super) fn set_stage(&mut self, gang: GangId, stage: Stage) -> Stage {
        std::mem::replace(&mut self.of_mut(gang).stage, stage)
    }

    /// Forgets a gang that is gone; says where it was.
    pub(super) fn forget(&mut self, gang: GangId) -> Stage {
        std::mem::take(self.of_mut(gang)).stage
    }
}
