//! A cluster to try things on: the simulated API server with its kubelets and Muster's scheduler, on the clock, behind an
//! endpoint good enough for kubectl, and the page of what has happened until now.
//!
//! Nothing of it outlives the process, and whoever reaches the address may do everything: it is for loopback.

mod asked;
mod columns;
mod discovery;
mod failure;
mod log;
mod patch;
mod protobuf;
mod resources;
mod roles;
mod selection;
mod served;
mod shown;
mod tables;
mod watching;
mod why;
mod world;
mod writes;

use axum::Router;
use muster_api::convert::Reading;
use muster_cluster::Clock;
use muster_core::engine::Policy;
use muster_model::units::{Millis, Time};
use muster_serve::{Bounds, host};
use muster_sim::scenario::{ScenarioError, Source, load, written};
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::sleep;
use world::World;

/// How often the cluster is looked at where nobody asks.
const TICK: Duration = Duration::from_millis(20);
/// Connections open at once: kubectl has one for each watch.
const BOUNDS: Bounds = Bounds {
    connections: 256,
    connection_for: Duration::from_hours(24),
};

/// What a playground begins with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What the scheduler decides by.
    pub policy: Policy,
    /// How objects are read for that.
    pub reading: Reading,
    /// So many seconds pass in it in one.
    pub speed: u32,
    /// What the page calls it.
    pub title: String,
}

/// A playground that runs.
#[derive(Clone, Debug)]
pub struct Playground {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    world: Mutex<World>,
    clock: Clock,
    begin: Time,
    speed: u32,
    /// The version of the last change.
    changed: watch::Sender<u64>,
    reading: Reading,
}

impl Playground {
    /// An empty one, whose time begins now.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let Settings {
            policy,
            reading,
            speed,
            title,
        } = settings;
        let clock = Clock::start();
        let begin = clock.now();
        let world = World::new(policy, reading.clone(), begin, title);
        let shared = Shared {
            world: Mutex::new(world),
            clock,
            begin,
            speed,
            changed: watch::Sender::new(0),
            reading,
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Adds what files ask for, as of a scenario: copies, and what comes later. Objects of a cluster begin anew. Returns
    /// what was odd.
    ///
    /// # Errors
    /// Something in them is wrong, or is refused.
    pub fn add(&self, sources: &[Source]) -> Result<Vec<String>, ScenarioError> {
        let warnings = load(sources, &self.shared.reading)?.warnings;
        let objects = written(sources);
        let refused = self.with(|world| {
            let kept = objects.iter().filter(|object| is_of_playground(object));
            let added = kept.map(|object| world.add(object));
            let refused = added.filter_map(|added| Some(added.err()?.message));
            refused.collect::<Vec<String>>()
        });
        if refused.is_empty() {
            return Ok(warnings);
        }
        Err(ScenarioError::Wrong(refused))
    }

    /// Adds objects.
    ///
    /// # Errors
    /// Why one is refused.
    pub fn add_objects(&self, objects: &[Value]) -> Result<(), String> {
        self.with(|world| {
            objects
                .iter()
                .try_for_each(|object| world.add(object).map(|_| ()))
        })
        .map_err(|failure| failure.message)
    }

    /// Whether there are nodes.
    #[must_use]
    pub fn has_nodes(&self) -> bool {
        self.with(|world| world.driver.server().nodes().next().is_some())
    }

    /// Serves it, for ever.
    pub async fn serve(self, listener: TcpListener) {
        let router = self.router();
        let ticks = async {
            loop {
                self.with(|_| ());
                sleep(TICK).await;
            }
        };
        tokio::join!(ticks, host(listener, router, BOUNDS));
    }

    /// What answers.
    pub fn router(&self) -> Router {
        served::router(self.clone())
    }

    /// Does something with the cluster as it is now.
    fn with<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        let mut world = self
            .shared
            .world
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        world.advance(self.shared.now());
        let came_of_it = act(&mut world);
        let version = world.log.version();
        drop(world);
        self.shared.changed.send_if_modified(|seen| {
            let is_new = *seen != version;
            *seen = version;
            is_new
        });
        came_of_it
    }
}

/// Whether an object of a file is one that whoever writes files adds: of a cluster there may be others.
fn is_of_playground(object: &Value) -> bool {
    let is_written = |resource: resources::ResourceId| !resources::ALL[resource].is_read_only;
    resources::of_object(object).map_or(object["kind"] == "PluginAnswers", is_written)
}

impl Shared {
    /// The present of the cluster.
    fn now(&self) -> Time {
        let passed = self.clock.now().since(self.begin);
        self.begin + Millis(passed.0.saturating_mul(u64::from(self.speed)))
    }
}

#[cfg(test)]
mod tests;
