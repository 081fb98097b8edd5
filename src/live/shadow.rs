//! A dry run: the core on a cluster's shadow. What it decides reaches nobody but who reads the reports.
//!
//! There is no lane here, no lease, and no client but the one that watches.

use super::hands::Hands;
use super::{Deciding, Error, Recording, Seat};
use kube::Client;
use muster_api::Reading;
use muster_api::kinds::Subject;
use muster_api::said::Said;
use muster_cluster::health::{Health, Role};
use muster_cluster::{Alarm, Explanations, Fence, Metrics};
use muster_core::engine::{Policy, Scheduler};
use muster_model::units::{Millis, Time};
use muster_model::{Effect, Event, GangKey};
use muster_shadow::{Report, State, World};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::mpsc;

/// What a dry run needs.
pub struct Options {
    /// For the watches: all that a dry run asks the API server.
    pub reader: Client,
    /// How the core decides.
    pub policy: Policy,
    /// How objects are read: whose pods are considered.
    pub reading: Reading,
    /// What `/readyz` shows.
    pub health: Arc<Health>,
    /// What `/metrics` shows.
    pub metrics: Arc<Metrics>,
    /// Where all is taken down that reaches the core, if it is.
    pub recording: Option<Recording>,
    /// How often it is reported.
    pub every: Millis,
    /// To whom. A report that finds no room is dropped: nobody is waited for.
    pub reports: mpsc::Sender<Report>,
}

/// Follows a cluster and decides on its shadow until `stop` is there, and then reports once more.
///
/// # Errors
/// When the engine cannot start or ends by itself.
pub async fn run(options: Options, stop: impl Future<Output = ()>) -> Result<(), Error> {
    let stop = pin!(stop);
    let (fence, alarm) = (Fence::open(), Alarm::default());
    let clock = fence.clock();
    options.health.set_role(Role::Leading);
    let (seat, _) = Seat::new(&options.metrics, &options.health, &fence, &alarm);
    let hands = Shadow {
        world: World::new(clock.now()),
        every: options.every,
        next: None,
        reports: options.reports,
    };
    let deciding = Deciding {
        policy: options.policy,
        reading: options.reading,
        explanations: Arc::new(Explanations::default()),
        recording: options.recording,
    };
    let (mut engine, watches) = seat.start(&options.reader, deciding, hands)?;
    let pulse = options.health.pulse().clone();
    let result = tokio::select! {
        () = stop => Ok(()),
        () = engine.ended() => Err(Error::EngineEnded),
        () = pulse.stopped() => Err(Error::EngineHangs),
        who = alarm.rung() => Err(Error::TaskPanicked(who)),
    };
    options.health.set_role(Role::Stopping);
    result?;
    engine.stop().await;
    drop(watches);
    Ok(())
}

/// The shadow in place of the lanes.
struct Shadow {
    world: World,
    every: Millis,
    /// When it is reported next; `None`: not all is known yet.
    next: Option<Time>,
    reports: mpsc::Sender<Report>,
}

impl Shadow {
    fn settle(&mut self, core: &Scheduler, now: Time) -> Vec<Event> {
        let state = core.state();
        let minimum = |gang: &GangKey| Some(state.gang(state.find_gang(gang)?)?.min_available());
        self.world.settle(now, minimum)
    }

    fn report(&mut self, core: &Scheduler, now: Time) -> Vec<Event> {
        self.world.look_at_all();
        let told = self.settle(core, now);
        let mut report = self.world.report(now);
        for one in &mut report.differences {
            if matches!(one.state.shadow, State::Waits | State::InPart) {
                one.reason = core.why(&one.key).map(|(_, message)| message);
            }
        }
        if self.reports.try_send(report).is_err() {
            tracing::warn!("a report was dropped: nobody has read those before it");
        }
        told
    }
}

impl Hands for Shadow {
    type Told = Vec<Event>;

    fn told(&mut self, event: Event, now: Time) -> Vec<Event> {
        self.world.hear(event, now)
    }

    // What objects say is what others wrote on them: nothing is compared with it.
    fn says(&self, _: &Subject, _: Option<Said>) {}

    fn silence(&self, _: &Subject) {}

    fn carry_out(&mut self, effect: Effect, now: Time) -> Vec<Event> {
        self.world.carry_out(effect, now)
    }

    fn begin(&mut self, now: Time) {
        self.world.begin(now);
        self.next = Some(now + self.every);
    }

    fn follow(&mut self, core: &Scheduler, now: Time) -> Vec<Event> {
        let mut told = self.world.come_to(now);
        told.extend(self.settle(core, now));
        if self.next.is_some_and(|next| next <= now) {
            self.next = Some(now + self.every);
            told.extend(self.report(core, now));
        }
        told
    }

    fn due(&self) -> Option<Time> {
        self.world.due().into_iter().chain(self.next).min()
    }

    fn end(&mut self, core: &Scheduler, now: Time) {
        if self.next.take().is_some() {
            self.report(core, now);
        }
    }
}
