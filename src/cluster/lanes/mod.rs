//! The lanes: how a plan's effects reach the API server.
//!
//! Binds go first, many at once; evictions and questions to the outside beside them; statuses, conditions and events when
//! nobody else wants to write. Results of binds and evictions return as news. The lanes choose
//! nothing: what is to be done was decided in the plan, and what an answer means stands in the
//! protocols [`binding`](super::binding) and [`evicting`](super::evicting).

mod about;
mod ask;
mod bind;
mod bucket;
mod drive;
mod events;
mod evict;
mod pace;
mod pending;
mod requests;
mod send;
mod slow;

pub use ask::Answerers;
pub use evict::eviction;
pub use pace::{Slot, Slots};
pub use requests::{Made, bind as binding};
pub use send::send;

use super::encoding::Encodings;
use super::words::Word;
use super::{Alarm, Clock, Fence, Metrics, NewsSender};
use ask::AskLane;
use bind::BindLane;
use evict::EvictLane;
use kube::Client;
use muster_api::kinds::Subject;
use muster_api::said::Said;
use muster_model::Effect;
use pending::Pending;
use slow::SlowLane;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Binds that somebody outside is asked to make, at once.
const BY_OTHERS_IN_FLIGHT: usize = 64;

/// What all lanes write with.
#[derive(Clone)]
pub struct Context {
    /// Repeats nothing by itself.
    pub client: Client,
    /// Whether anything may be sent.
    pub fence: Fence,
    /// Where results go.
    pub news: NewsSender,
    /// The engine's clock.
    pub clock: Clock,
    /// Counters.
    pub metrics: Arc<Metrics>,
    /// The name of this process in events.
    pub instance: Arc<str>,
    /// In which encodings the API server takes writes.
    pub encodings: Encodings,
    /// Told of a lane or a write that panics.
    pub alarm: Alarm,
}

/// Running lanes. Dropping them stops everything where it is, as a crash would.
pub struct Lanes {
    binds: BindLane,
    /// Those that somebody outside makes.
    binds_by_others: BindLane,
    asks: AskLane,
    evicts: EvictLane,
    pending: Arc<Pending>,
    slow: SlowLane,
    _tasks: JoinSet<()>,
}

impl Lanes {
    /// Starts the lanes, with at most `binds_in_flight` binds at once.
    #[must_use]
    pub fn start(context: &Context, binds_in_flight: usize, answerers: Answerers) -> Self {
        let pending = Arc::new(Pending::new(context.metrics.binds_pending.clone()));
        let evictions = Pending::new(context.metrics.evictions_pending.clone());
        let evictions = Arc::new(evictions);
        let ahead = [Arc::clone(&pending), Arc::clone(&evictions)];
        let slow = SlowLane::new(context.clone(), ahead);
        let answerers = Arc::new(answerers);
        let mut tasks = JoinSet::new();
        let alarm = &context.alarm;
        let bind_lane = |slots| {
            let (context, pending) = (context.clone(), Arc::clone(&pending));
            BindLane::new(context, pending, slow.clone(), &answerers, slots)
        };
        let gauge = context.metrics.bind_slots.clone();
        let binds = bind_lane(Slots::new(binds_in_flight, Some(gauge)));
        tasks.spawn(alarm.guard("the lane of binds", binds.clone().run()));
        let binds_by_others = bind_lane(Slots::new(BY_OTHERS_IN_FLIGHT, None));
        tasks.spawn(alarm.guard("the lane of binds by others", binds_by_others.clone().run()));
        let asks = AskLane::new(context.clone(), answerers);
        tasks.spawn(alarm.guard("the lane of questions", asks.clone().run()));
        let evicts = EvictLane::new(context.clone(), evictions, slow.clone());
        tasks.spawn(alarm.guard("the lane of evictions", evicts.clone().run()));
        tasks.spawn(alarm.guard("the lane of statuses and events", slow.clone().run()));
        Self {
            binds,
            binds_by_others,
            asks,
            evicts,
            pending,
            slow,
            _tasks: tasks,
        }
    }

    /// Takes one effect of a plan. Never waits.
    pub fn submit(&self, effect: Effect) {
        match effect {
            Effect::Bind(order) if order.asks.is_some() => self.binds_by_others.put(order),
            Effect::Bind(order) => self.binds.put(order),
            Effect::Recall(pod) => {
                self.binds.recall(&pod);
                self.binds_by_others.recall(&pod);
            }
            Effect::Evict(order) => self.evicts.put(order),
            Effect::Ask(question) => self.asks.put(question),
            Effect::GiveUp(id) => self.asks.give_up(id),
            Effect::PodWaits(order) => self.slow.want(Word::Pod(order)),
            Effect::GangStatus(status) => self.slow.want(Word::Gang(Box::new(status))),
            Effect::GangSilent(source, uid) => self.slow.silence(&Subject::Gang(source, uid)),
            Effect::QueueStatus(status) => self.slow.want(Word::Queue(status)),
            Effect::TopologyStatus(status) => self.slow.want(Word::Topology(status)),
            Effect::TopologyDoubt(doubt) => {
                let (topology, doubt) = (doubt.topology, doubt.message);
                tracing::warn!(
                    topology,
                    doubt,
                    "a topology of others may not be what was meant"
                );
            }
        }
    }

    /// An object says this, as a watch saw it; `None`: it is gone.
    pub fn hear(&self, subject: &Subject, said: Option<Said>) {
        self.slow.seen(subject, said);
    }

    /// Nothing is to be written on an object any more.
    pub fn silence(&self, subject: &Subject) {
        self.slow.forget(subject);
    }

    /// Gives back the binds that are not sent, waits for those that are, then posts the events
    /// that wait; each for at most so long.
    pub async fn drain(&self, binds_within: Duration, events_within: Duration) {
        self.binds.give_up();
        self.binds_by_others.give_up();
        // What is still unknown is found out by the next start, which reads the pods.
        let _ = timeout(binds_within, self.pending.idle()).await;
        self.slow.close(events_within).await;
    }
}
