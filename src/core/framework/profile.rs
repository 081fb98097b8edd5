//! Which plugins run at which point.

use super::{
    Binder, Context, DomainOrder, EventHandler, Filter, GangDomains, Mates, Permit, PostBind,
    PostFilter, PreBind, PreEnqueue, PreFilter, PreScore, QueueSort, Remote, Reserve, Scope, Score,
    VictimFilter,
};
use crate::state::{ClusterState, Gang, Shape};
use muster_model::{DefaultSpread, ProfileId, Reads};
use std::fmt;
use std::sync::Arc;

/// The best normalised score.
pub const MAX_SCORE: i64 = 100;

/// A score plugin and how much it counts.
#[derive(Clone)]
pub struct Weighted {
    /// The plugin.
    pub plugin: Arc<dyn Score>,
    /// Its weight, at least 1.
    pub weight: i64,
}

/// The plugins of every point, in the order in which they run.
#[derive(Clone, Default)]
pub struct Profile {
    /// Order of gangs.
    pub queue_sort: Vec<Arc<dyn QueueSort>>,
    /// Who may be queued.
    pub pre_enqueue: Vec<Arc<dyn PreEnqueue>>,
    /// Where a gang may go as a whole.
    pub gang_domains: Vec<Arc<dyn GangDomains>>,
    /// Which of the domains of one height comes first; `None` is the built-in choice.
    pub domain_order: Option<Arc<dyn DomainOrder>>,
    /// A pod before any node.
    pub pre_filter: Vec<Arc<dyn PreFilter>>,
    /// Nodes that do not suit.
    pub filter: Vec<Arc<dyn Filter>>,
    /// Of which gangs nothing is asked when somebody needs room.
    pub victims: Vec<Arc<dyn VictimFilter>>,
    /// After a gang found no place.
    pub post_filter: Vec<Arc<dyn PostFilter>>,
    /// Before scores.
    pub pre_score: Vec<Arc<dyn PreScore>>,
    /// The best node.
    pub score: Vec<Weighted>,
    /// What else a decision takes.
    pub reserve: Vec<Arc<dyn Reserve>>,
    /// Holding decisions back.
    pub permit: Vec<Arc<dyn Permit>>,
    /// The last word before a bind.
    pub pre_bind: Vec<Arc<dyn PreBind>>,
    /// How a bind is carried out.
    pub bind: Vec<Arc<dyn Binder>>,
    /// After a bind.
    pub post_bind: Vec<Arc<dyn PostBind>>,
    /// Every event.
    pub events: Vec<Arc<dyn EventHandler>>,
    /// Plugins in other processes.
    pub remotes: Vec<Arc<Remote>>,
    /// How others are chosen that go for a pod without a gang.
    pub preemption: Preemption,
    /// By which rules pods are spread that have none of their own, of those that a filter or a score looks at.
    pub default_spread: Arc<DefaultSpread>,
}

/// How others are chosen that go for a pod without a gang. For gangs it is always by harm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preemption {
    /// Those go whose going does least harm, wherever they are (docs/queues.md).
    #[default]
    ByHarm,
    /// The node is chosen, as kube-scheduler chooses it, and then who goes of those there.
    ByNode,
}

/// The profiles of a policy. A pod is of one, and so is a gang.
#[derive(Clone, Copy, Debug)]
pub struct Profiles<'a> {
    first: &'a Profile,
    others: &'a [Profile],
}

impl<'a> Profiles<'a> {
    /// The one that is there in any case, and those of [`ProfileId`] 1 and up.
    #[must_use]
    pub const fn new(first: &'a Profile, others: &'a [Profile]) -> Self {
        Self { first, others }
    }

    /// The one that is there in any case. How gangs are ordered is its to say, for all.
    #[must_use]
    pub const fn first(self) -> &'a Profile {
        self.first
    }

    /// The profile of a number; the first, if there is none.
    #[must_use]
    pub fn get(self, id: ProfileId) -> &'a Profile {
        let other = usize::from(id.0).checked_sub(1);
        let other = other.and_then(|index| self.others.get(index));
        other.unwrap_or(self.first)
    }

    /// The profile of a gang.
    #[must_use]
    pub fn of(self, state: &ClusterState, gang: &Gang) -> &'a Profile {
        if self.others.is_empty() {
            return self.first;
        }
        self.get(state.profile_of(gang))
    }

    /// All of them.
    pub fn iter(self) -> impl Iterator<Item = &'a Profile> {
        std::iter::once(self.first).chain(self.others)
    }

    /// The resources of which others look after whether nodes have them.
    pub fn unchecked(self) -> impl Iterator<Item = &'a String> {
        let remotes = self.iter().flat_map(|profile| &profile.remotes);
        remotes.flat_map(|remote| &remote.unchecked)
    }
}

impl Profile {
    /// Whether what a node says to pods of a shape depends on the shape and the node alone, for all
    /// that the filters say.
    #[must_use]
    pub fn is_local(&self, shape: &Shape) -> bool {
        let mut filters = self.filter.iter();
        filters.all(|one| one.scope(shape) < Scope::Cluster)
    }

    /// Whether a node may come to suit pods of a shape because somebody got a place.
    #[must_use]
    pub fn is_helped(&self, shape: &Shape) -> bool {
        self.filter.iter().any(|one| one.is_helped(shape))
    }

    /// Another number whenever what untouched nodes say to pods of a shape may be other than before.
    #[must_use]
    pub fn basis(&self, cx: &Context<'_>) -> u64 {
        let filters = self.filter.iter();
        filters.fold(0, |sum: u64, one| sum.rotate_left(9) ^ one.basis(cx))
    }

    /// Whether that holds but for filters that say at once which of all nodes suit. Whether these may say
    /// something else, a shape's hope says (`actions/company.rs`).
    #[must_use]
    pub fn is_confined(&self, shape: &Shape) -> bool {
        let mut filters = self.filter.iter();
        filters.all(|one| one.scope(shape) < Scope::Cluster || one.confines(shape))
    }

    /// Whether amounts alone decide which members of a gang may be on a node together.
    #[must_use]
    pub fn decides_by_amounts(&self, shape: &Shape) -> bool {
        let mates = || self.filter.iter().map(|one| one.mates(shape));
        mates().all(|one| one != Mates::Otherwise) && mates().any(|one| one == Mates::ByAmounts)
    }

    /// Who has to be asked about pods of a shape before any node.
    pub fn asked_first(&self, shape: &Shape) -> impl Iterator<Item = &Arc<dyn PreFilter>> {
        self.pre_filter.iter().filter(|one| one.concerns(shape))
    }

    /// What its scores look at that filters do not, and its filters beyond what all do.
    #[must_use]
    pub fn reads(&self) -> Reads {
        let reads = self.score.iter().map(|one| one.plugin.reads());
        let own = Reads {
            selectors: !self.default_spread.is_empty(),
            ..Reads::default()
        };
        reads.fold(own, Reads::or)
    }

    /// The filters that have to be asked at each placement of pods of a shape.
    pub fn asked_each_time(&self, shape: &Shape) -> impl Iterator<Item = &Arc<dyn Filter>> {
        let filters = self.filter.iter();
        filters.filter(|one| one.scope(shape) > Scope::NodeFacts)
    }

    /// Those of them whose answer depends on the node alone.
    pub fn asked_of_the_node(&self, shape: &Shape) -> impl Iterator<Item = &Arc<dyn Filter>> {
        let filters = self.asked_each_time(shape);
        filters.filter(|one| one.scope(shape) < Scope::Cluster)
    }

    /// Those of them whose answer depends on other nodes, too.
    pub fn asked_of_the_cluster(&self, shape: &Shape) -> impl Iterator<Item = &Arc<dyn Filter>> {
        let filters = self.filter.iter();
        filters.filter(|one| one.scope(shape) == Scope::Cluster)
    }
}

/// Lists the plugins by point.
impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |list: Vec<&'static str>| list.join(",");
        f.debug_struct("Profile")
            .field(
                "queueSort",
                &names(self.queue_sort.iter().map(|one| one.name()).collect()),
            )
            .field(
                "filter",
                &names(self.filter.iter().map(|one| one.name()).collect()),
            )
            .field(
                "score",
                &names(self.score.iter().map(|one| one.plugin.name()).collect()),
            )
            .finish_non_exhaustive()
    }
}
