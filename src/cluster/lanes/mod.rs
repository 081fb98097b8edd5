//! The lanes: how a plan's effects reach the API server.
//!
//! Binds go first, many at once; evictions beside them; statuses, conditions and events when
//! nobody else wants to write. Results of binds and evictions return as news. The lanes choose
//! nothing: what is to be done was decided in the plan, and what an answer means stands in the
//! protocols [`binding`](super::binding) and [`evicting`](super::evicting).

mod bind;
mod bucket;
mod evict;
mod pending;
mod queue;
mod requests;
mod said;
mod send;
mod slow;

use super::{Clock, Fence, Metrics, NewsSender};
use crate::core::engine::{Bind, Effect, Evict, MAX_MESSAGE};
use bind::BindLane;
use evict::EvictLane;
use kube::Client;
use pending::Pending;
use slow::SlowLane;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

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
}

/// Running lanes. Dropping them stops everything where it is, as a crash would.
pub struct Lanes {
    binds: mpsc::UnboundedSender<(Bind, Instant)>,
    evicts: mpsc::UnboundedSender<Evict>,
    pending: Arc<Pending>,
    slow: SlowLane,
    _tasks: JoinSet<()>,
}

impl Lanes {
    /// Starts the lanes, with at most `binds_in_flight` binds at once.
    #[must_use]
    pub fn start(context: &Context, binds_in_flight: usize) -> Self {
        let pending = Arc::new(Pending::new(context.metrics.binds_pending.clone()));
        let slow = SlowLane::new(context.clone(), Arc::clone(&pending));
        let (binds, bind_orders) = mpsc::unbounded_channel();
        let (evicts, evict_orders) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        let bind_lane = BindLane {
            context: context.clone(),
            pending: Arc::clone(&pending),
            slow: slow.clone(),
            slots: Arc::new(Semaphore::new(binds_in_flight.max(1))),
        };
        tasks.spawn(bind_lane.run(bind_orders));
        let evict_lane = EvictLane {
            context: context.clone(),
            slow: slow.clone(),
        };
        tasks.spawn(evict_lane.run(evict_orders));
        tasks.spawn(slow.clone().run());
        Self {
            binds,
            evicts,
            pending,
            slow,
            _tasks: tasks,
        }
    }

    /// Takes one effect of a plan. Never waits.
    pub fn submit(&self, effect: Effect) {
        // The lanes end with this value, so somebody is always there to receive.
        match effect {
            Effect::Bind(order) => {
                self.pending.add();
                let _ = self.binds.send((order, Instant::now()));
            }
            Effect::Evict(order) => {
                let _ = self.evicts.send(order);
            }
            Effect::PodWaits(order) => self.slow.waits(order),
            Effect::GangStatus(status) => self.slow.gang(status),
            Effect::QueueStatus(status) => self.slow.queue(status),
        }
    }

    /// Waits for the binds under way, then writes what is left to say; each for at most so long.
    pub async fn drain(&self, binds_within: Duration, notes_within: Duration) {
        // What is still unknown is found out by the next start, which reads the pods.
        let _ = timeout(binds_within, self.pending.idle()).await;
        self.slow.flush(notes_within).await;
    }
}
