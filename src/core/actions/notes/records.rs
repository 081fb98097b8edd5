//! The records of which the note on a gang is made: each is dropped as a whole, at its own time.

use super::taken::Taken;
use crate::fairness::Blocked;
use crate::placement::Shortage;
use crate::state::{Gang, NodeId, Outage, PodId, QueueId, Terms};
use muster_model::explanation::{Asked, Disruption, KeptFor};
use muster_model::resources::Tally;
use muster_model::units::Time;
use muster_model::{Lifetime, LostSums, RoomNote, Why};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A gang is bound in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partial {
    /// Since when some members are bound, but fewer than the minimum.
    pub since: Time,
    /// The outage since which it has not advanced.
    pub respite: Option<Respite>,
}

/// What its last try came to. Dropped as a whole when it is tried again, waits for news, or has a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// What its queue's books said to it.
    pub held_back: Option<Blocked>,
    /// What it was short of.
    pub short: Option<Short>,
    /// For whom room is kept that it did not get.
    pub kept_for: Option<KeptFor>,
    /// The mark of the nodes when it was put aside, and words were found for that ([`Nodes::mark`]).
    ///
    /// [`Nodes::mark`]: crate::state::Nodes::mark
    pub words_mark: u64,
    /// What its members hoped for of other pods then, where it is like no other gang.
    pub hope: u64,
}

/// What came of looking for room that is not free. It outlasts tries, and is dropped as a whole when the
/// gang has a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// The mark of the nodes when room was last looked for by thinking others away, and until when
    /// that holds if the nodes do not change. It does not hold if the gang itself changes.
    pub planned: Option<(u64, Time)>,
    /// What came of that, as long as nothing is given up that was held for it.
    pub room: Option<RoomNote>,
    /// Who was asked to make room for it then.
    pub asked: Option<Box<Asked>>,
    /// What its queue lets it have of the room that is held for it.
    pub given: Option<Box<Tally>>,
    /// What kube-scheduler would say of it, where room is made as it does.
    pub by_node: Option<Arc<str>>,
    /// No place could be found for it, whoever of those that are ours had gone.
    pub hopeless: bool,
    /// How often others were sent away for it.
    pub sent_away: u32,
    /// Nobody else is sent away for it before that.
    pub send_again: Time,
}

/// What is of this run. Dropped as a whole when the gang is taken off its nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// When its minimum was first placed.
    pub scheduled_at: Option<Time>,
    /// What that lost, and had to lose at least, where both are known.
    pub packed: Option<LostSums>,
    /// The minimum that was last bound in full. One that loses all its nodes by itself goes on with its
    /// run, but has not run in full any more.
    pub ran_with: Option<u32>,
}

/// What went wrong since it last ran in full. Dropped as a whole when it does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setbacks {
    /// Back-offs in a row after binds that came back, for their length.
    pub backoffs: u32,
    /// Releases in a row, for the length of the back-off after them.
    pub releases: u32,
    /// Nodes that refused members before it was released; somewhere else is tried first.
    pub shunned: BTreeSet<NodeId>,
    /// Why it was last released.
    pub disrupted: Option<Why>,
}

/// What is kept as long as it is the same PodGroup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// When it was last tried.
    pub tried_at: Option<Time>,
    /// How often it made room for others lately, and for whom.
    pub taken: Option<Box<Taken>>,
    /// How it last lost its place, until it runs again; or some of its members since it runs.
    pub disruption: Option<Disruption>,
    /// How often its reservation changed although no node did.
    pub restless: Restless,
    /// The mark of the nodes when it was last found out whether others can be moved for it, and the time.
    pub moves_looked: Option<(u64, Time)>,
    /// Until when it is not moved, and nobody is moved for it.
    pub still_until: Option<Time>,
    /// Room was held for it as kube-scheduler does, which is said in `status.nominatedNodeName`.
    pub nominates: bool,
}

/// What its last try came to, for lack of room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Short {
    /// The member that found no node.
    pub member: Option<PodId>,
    /// How many members found one, where that is known.
    pub placed: Option<u32>,
    /// How many had to.
    pub needed: u32,
    /// What the nodes said; shared by all who want the same.
    pub found: Arc<Shortage>,
}

/// An outage that gave a gang its patience anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Respite {
    /// The outage.
    pub outage: Outage,
    /// How many there were in a row, without a bind of the gang that succeeded.
    pub in_a_row: u32,
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

/// What a gang is charged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChargedBy {
    queue: Option<QueueId>,
    lifetime: Lifetime,
    min_available: u32,
}

impl ChargedBy {
    /// Those of a gang now.
    pub(in crate::actions) fn of(gang: &Gang) -> Self {
        Self {
            queue: gang.queue,
            lifetime: gang.lifetime,
            min_available: gang.min_available(),
        }
    }
}

/// Why a gang that runs does not have the terms that it asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which.
    pub(in crate::actions) asked: Terms,
    /// Why not, and what it has instead.
    pub why: Why,
    /// Until when that holds unless something is eased, where its queue's books say so.
    pub(in crate::actions) until: Option<Time>,
}

impl Refusal {
    /// Whether the books need not be asked again for these.
    pub(in crate::actions) fn stands(&self, asked: Terms, now: Time) -> bool {
        self.asked == asked && self.until.is_some_and(|until| until > now)
    }
}
