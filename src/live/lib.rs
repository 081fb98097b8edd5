//! Muster on a cluster: watches, the core on a thread of its own, and the lanes.
//!
//! Nothing is watched or decided before the lease is ours: what is listed after that has all that
//! the holder before us wrote. The order of an end is: stop deciding, let binds finish, say what
//! is left to say, send nothing more, give the lease back. Losing the lease ends all at once.

pub mod controllers;
mod engine;
mod hands;
pub mod shadow;
mod turn;

use engine::{Engine, Running};
use hands::Hands;
use kube::Client;
use muster_api::Reading;
use muster_cluster::encoding::Encodings;
use muster_cluster::health::{Health, Role};
use muster_cluster::lanes::{Answerers, Context, Lanes};
use muster_cluster::lease::LeaseOptions;
use muster_cluster::watch::{self, Outlet};
use muster_cluster::{Alarm, Explanations, Fence, Metrics, NEWS_BOUND, News, NewsSender, access};
use muster_core::engine::Policy;
use muster_core::plugins::registry::exemptions;
use muster_lint::Linter;
use muster_model::explanation::Clock;
use muster_model::units::Time;
use muster_record::{About, Counts, Recorder, Storage, Tape, Taped};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use turn::Turn;

/// How long binds may take to finish at the end: longer than one is tried. What is in doubt then the next
/// instance reads.
const BINDS_WITHIN: Duration = Duration::from_millis(2_500);
/// How long events that wait may take to be posted at the end. Another instance waits for the
/// lease.
const EVENTS_WITHIN: Duration = Duration::from_millis(200);

/// Why Muster stopped without being asked to.
#[derive(Debug, Error)]
pub enum Error {
    /// The lease was lost.
    #[error(transparent)]
    Cluster(#[from] muster_cluster::Error),
    /// The engine could not be started.
    #[error("the engine could not be started: {0}")]
    EngineStart(std::io::Error),
    /// Who writes the record could not be started.
    #[error("what writes the record could not be started: {0}")]
    RecorderStart(std::io::Error),
    /// The engine ended by itself: a bug.
    #[error("the engine stopped by itself; the log says why")]
    EngineEnded,
    /// The engine does not move any more: a bug.
    #[error("the engine has not moved for a minute")]
    EngineHangs,
    /// A task of this process panicked: a bug.
    #[error("{0} stopped by itself; the log says why")]
    TaskPanicked(&'static str),
}

/// What a running Muster needs.
pub struct Options {
    /// For the watches.
    pub reader: Client,
    /// For all writes; repeats nothing by itself, and sends nothing while the fence is closed.
    pub writer: Client,
    /// Whether we may write: shut if there is a lease, which then opens it.
    pub fence: Fence,
    /// How the core decides.
    pub policy: Policy,
    /// How objects are read: whose pods are ours, and of which profile.
    pub reading: Reading,
    /// Who answers what plugins ask outside.
    pub answerers: Answerers,
    /// Who decides; `None`: we do, whoever else there is.
    pub lease: Option<(Client, LeaseOptions)>,
    /// Binds in flight at once.
    pub binds_in_flight: usize,
    /// The name of this process in events.
    pub instance: String,
    /// What `/readyz` shows.
    pub health: Arc<Health>,
    /// What `/metrics` shows.
    pub metrics: Arc<Metrics>,
    /// Where the core's explanations are kept at hand.
    pub explanations: Arc<Explanations>,
    /// Where all is taken down that reaches the core, if it is.
    pub recording: Option<Recording>,
}

/// A record to write.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Where.
    pub storage: Storage,
    /// The name of this process in it.
    pub instance: String,
    /// By what the core decides, as it is written in a file.
    pub configuration: Option<serde_json::Value>,
    /// What was written so far.
    pub counts: Arc<Counts>,
}

impl Recording {
    /// Begins to record.
    fn start(self, started: Time) -> Result<Box<dyn Tape>, Error> {
        let about = About {
            instance: self.instance,
            started,
            clock: Clock::Utc,
            configuration: self.configuration,
        };
        let recorder = Recorder::start(self.storage, about, self.counts);
        Ok(Box::new(recorder.map_err(Error::RecorderStart)?))
    }
}

/// Schedules until `stop` is there.
///
/// # Errors
/// When the lease is lost, or the engine cannot start or ends by itself.
pub async fn run(options: Options, stop: impl Future<Output = ()>) -> Result<(), Error> {
    let mut stop = pin!(stop);
    let health = Arc::clone(&options.health);
    let mut checks = JoinSet::new();
    let alarm = Alarm::default();
    let checking = access::keep_checking(options.reader.clone(), Arc::clone(&health));
    checks.spawn(alarm.guard("the check of permissions", checking));
    let (fence, lease) = (options.fence.clone(), options.lease.clone());
    let turn = Turn::wait(lease, &fence, &health, &alarm, stop.as_mut()).await?;
    let Some(mut turn) = turn else {
        return Ok(());
    };
    let result = lead(options, &mut turn, &alarm, stop).await;
    turn.end(&result).await;
    result
}

/// Schedules while the lease is ours, or until told to stop.
async fn lead(
    options: Options,
    turn: &mut Turn,
    alarm: &Alarm,
    mut stop: Pin<&mut impl Future<Output = ()>>,
) -> Result<(), Error> {
    tracing::info!("leading");
    let (health, fence) = (Arc::clone(&options.health), options.fence);
    health.set_role(Role::Leading);
    options.metrics.leader.set(1);
    let (seat, sender) = Seat::new(&options.metrics, &health, &fence, alarm);
    let context = Context {
        client: options.writer,
        fence: fence.clone(),
        news: sender,
        clock: fence.clock(),
        metrics: Arc::clone(&options.metrics),
        instance: options.instance.into(),
        encodings: seat.encodings.clone(),
        alarm: alarm.clone(),
    };
    let lanes = Arc::new(Lanes::start(
        &context,
        options.binds_in_flight,
        options.answerers,
    ));
    let deciding = Deciding {
        policy: options.policy,
        reading: options.reading,
        explanations: options.explanations,
        recording: options.recording,
    };
    let (mut engine, watches) = seat.start(&options.reader, deciding, Arc::clone(&lanes))?;
    let pulse = health.pulse().clone();
    let mut hold = pin!(turn.lost());
    let result = tokio::select! {
        () = &mut stop => Ok(()),
        lost = &mut hold => Err(lost.into()),
        () = engine.ended() => Err(Error::EngineEnded),
        () = pulse.stopped() => Err(Error::EngineHangs),
        who = alarm.rung() => Err(Error::TaskPanicked(who)),
    };
    options.metrics.leader.set(0);
    health.set_role(Role::Stopping);
    result?;
    engine.stop().await;
    drop(watches);
    tracing::info!("stopping: letting binds finish");
    tokio::select! {
        () = wind_down(&lanes, &fence) => Ok(()),
        lost = &mut hold => Err(lost.into()),
    }
}

/// Where a core is to be: what it hears by, and what is shown of it.
struct Seat {
    metrics: Arc<Metrics>,
    health: Arc<Health>,
    fence: Fence,
    encodings: Encodings,
    alarm: Alarm,
    sender: NewsSender,
    news: mpsc::Receiver<News>,
}

impl Seat {
    /// One, and by what it is told of news.
    fn new(
        metrics: &Arc<Metrics>,
        health: &Arc<Health>,
        fence: &Fence,
        alarm: &Alarm,
    ) -> (Self, NewsSender) {
        let (sender, news) = mpsc::channel(NEWS_BOUND);
        let seat = Self {
            metrics: Arc::clone(metrics),
            health: Arc::clone(health),
            fence: fence.clone(),
            encodings: Encodings::default(),
            alarm: alarm.clone(),
            sender: sender.clone(),
            news,
        };
        (seat, sender)
    }

    /// Starts the watches, and a core in it; the watches end with the set.
    fn start<H: Hands>(
        self,
        reader: &Client,
        deciding: Deciding,
        hands: H,
    ) -> Result<(Running, JoinSet<()>), Error> {
        let Deciding {
            policy,
            reading,
            explanations,
            recording,
        } = deciding;
        let outlet = Outlet {
            news: self.sender,
            health: Arc::clone(&self.health),
            metrics: Arc::clone(&self.metrics),
            encodings: self.encodings,
            alarm: self.alarm,
        };
        let watches = watch::start(reader, &Arc::new(reading), &outlet);
        let linter = cfg!(debug_assertions).then(|| Linter::of(exemptions(policy.profiles())));
        let clock = self.fence.clock();
        let recorded = recording.as_ref();
        let recorded = recorded.map(|record| Arc::clone(&record.counts));
        let tape = recording.map(|record| record.start(clock.now()));
        let mut core = Taped::new(policy, tape.transpose()?);
        core.keep_explaining();
        let engine = Engine {
            core,
            recorded,
            explanations,
            news: self.news,
            hands,
            fence: self.fence,
            clock,
            metrics: self.metrics,
            pulse: self.health.pulse().clone(),
            linter,
            queue_gone: false,
        };
        let engine = engine.start().map_err(Error::EngineStart)?;
        Ok((engine, watches))
    }
}

/// How it is decided, and what is kept of that.
struct Deciding {
    policy: Policy,
    reading: Reading,
    explanations: Arc<Explanations>,
    recording: Option<Recording>,
}

/// Lets binds finish, and says what is left to say. Then sends nothing more, and waits until
/// nothing that was sent can still happen.
async fn wind_down(lanes: &Lanes, fence: &Fence) {
    lanes.drain(BINDS_WITHIN, EVENTS_WITHIN).await;
    fence.close();
    fence.quiet().await;
}
