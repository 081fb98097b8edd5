//! `muster top`: the queues and the gangs that wait, from the API server, once or for as long as one looks.
//!
//! What is shown is in the objects' statuses, so who may list them may look, and Muster is not asked. `--once` lists; else
//! they are watched, and what changed is drawn anew.

mod screen;
mod view;

use super::reach::Reach;
use super::{BAD_INPUT, ended};
use anyhow::{Context, bail};
use futures::StreamExt;
use kube::api::ListParams;
use kube::runtime::reflector::{self, Store};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Error, Resource};
use muster_api::crd::{PodGroup, Queue};
use muster_api::duration;
use muster_cluster::Clock;
use muster_cluster::client::{self, Transport};
use screen::Screen;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use view::View;

/// How long an answer may take to begin.
const WITHIN: Duration = Duration::from_secs(30);
/// How often it is looked whether something keeps a list from coming.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// How many objects a list asks for at once.
const PAGE: u32 = 500;
/// How wide lines are where nobody looks.
const WIDTH: usize = 200;

/// Arguments of `muster top`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Whose PodGroups; else those of the kubeconfig's context
    #[arg(short, long, value_name = "NAME", conflicts_with = "all_namespaces")]
    namespace: Option<String>,
    /// Those of all namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    #[command(flatten)]
    reach: Reach,
    /// How often it is drawn anew, such as 2s or 500ms
    #[arg(long, value_name = "DURATION", value_parser = pause, default_value = "2s")]
    interval: Duration,
    /// Prints once, with all gangs that wait, and ends
    #[arg(long)]
    once: bool,
    /// How to print; json implies --once
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Output {
    /// Columns
    #[default]
    Text,
    /// One JSON object
    Json,
}

fn pause(text: &str) -> Result<Duration, String> {
    let pause = duration::parse(text).map_err(|error| error.to_string())?;
    match pause.0 {
        100..=3_600_000 => Ok(Duration::from_millis(pause.0)),
        _ => Err("expected a duration from 100ms to 1h".to_owned()),
    }
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let once = arguments.once || arguments.output == Output::Json;
    let screen = Screen::of_standard_output();
    if !once && !screen.is_looked_at() {
        eprintln!("standard output is no terminal; give --once");
        return ExitCode::from(BAD_INPUT);
    }
    if once {
        ended(arguments.once(), |text| super::print(&text))
    } else {
        ended(arguments.live(&screen), |()| ExitCode::SUCCESS)
    }
}

/// Where the objects are.
struct Source {
    queues: Api<Queue>,
    pod_groups: Api<PodGroup>,
    /// Of the PodGroups, in words.
    place: String,
}

impl Arguments {
    async fn source(&self) -> anyhow::Result<Source> {
        let config = self.reach.config().await?;
        let client: Client = client::client(&config, Transport::Http1, WITHIN)?;
        let namespace = self.namespace.as_deref();
        let namespace = namespace.unwrap_or(&config.default_namespace);
        let (pod_groups, place) = if self.all_namespaces {
            (Api::all(client.clone()), "all namespaces".to_owned())
        } else {
            let place = format!("namespace {namespace}");
            (Api::namespaced(client.clone(), namespace), place)
        };
        Ok(Source {
            queues: Api::all(client),
            pod_groups,
            place,
        })
    }

    /// What there is now.
    async fn once(&self) -> anyhow::Result<String> {
        let source = self.source().await?;
        let mut notes = Vec::new();
        let queues = match all(&source.queues).await {
            Ok(queues) => queues,
            // Queues are the cluster's: who sees the gangs of a namespace need not see them.
            Err(Error::Api(refusal)) if refusal.code == 403 => {
                notes.push(format!("queues cannot be read: {}", refusal.message));
                Vec::new()
            }
            Err(error) => return Err(error).context("queues cannot be read"),
        };
        let gangs = all(&source.pod_groups).await;
        let gangs =
            gangs.with_context(|| format!("PodGroups of {} cannot be read", source.place))?;
        let view = View::of(&queues, &gangs, Clock::start().now(), source.place, notes);
        match self.output {
            Output::Json => Ok(serde_json::to_string_pretty(&view)? + "\n"),
            Output::Text => Ok(view.text(WIDTH, usize::MAX)),
        }
    }

    /// Draws what there is until told to stop.
    async fn live(&self, screen: &Screen) -> anyhow::Result<()> {
        let source = self.source().await?;
        let stop = super::told_to_stop()?;
        let mut tasks = JoinSet::new();
        let queues = Watched::start(source.queues, "queues", &mut tasks);
        let gangs = Watched::start(source.pod_groups, "PodGroups", &mut tasks);
        let clock = Clock::start();
        let mut ticks = interval(self.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let draw = async {
            let _page = screen.open()?;
            // Half of a list looks like all of it.
            let read = async { tokio::join!(queues.read(), gangs.read()) };
            let _ = timeout(WITHIN, read).await;
            loop {
                ticks.tick().await;
                let notes = [queues.note(), gangs.note()]
                    .into_iter()
                    .flatten()
                    .collect();
                let place = source.place.clone();
                let (queues, gangs) = (queues.objects(), gangs.objects());
                let view = View::of(&queues, &gangs, clock.now(), place, notes);
                let (width, height) = screen.size();
                screen.draw(&view.text(width, height))?;
            }
        };
        let drawn: std::io::Result<()> = tokio::select! {
            drawn = draw => drawn,
            () = stop => Ok(()),
        };
        if let Err(error) = drawn {
            bail!("cannot write to standard output: {error}");
        }
        Ok(())
    }
}

/// All objects there are, page by page.
async fn all<K>(api: &Api<K>) -> Result<Vec<K>, Error>
where
    K: Clone + DeserializeOwned + Debug,
{
    let mut parameters = ListParams::default().limit(PAGE);
    let mut found = Vec::new();
    loop {
        let page = api.list(&parameters).await?;
        found.extend(page.items);
        match page.metadata.continue_.filter(|next| !next.is_empty()) {
            Some(next) => parameters = parameters.continue_token(&next),
            None => return Ok(found),
        }
    }
}

/// Objects of a kind, as the API server tells of them.
struct Watched<K>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    store: Store<K>,
    name: &'static str,
    trouble: Arc<Mutex<Option<String>>>,
}

impl<K> Watched<K>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    fn start(api: Api<K>, name: &'static str, tasks: &mut JoinSet<()>) -> Self {
        let (store, writer) = reflector::store();
        let trouble = Arc::new(Mutex::new(None));
        let said = Arc::clone(&trouble);
        tasks.spawn(async move {
            let events = watcher(api, watcher::Config::default()).default_backoff();
            let mut events = std::pin::pin!(events.reflect(writer));
            while let Some(event) = events.next().await {
                let words = event.err().map(|error| error.to_string());
                *said.lock().unwrap_or_else(PoisonError::into_inner) = words;
            }
        });
        Self {
            store,
            name,
            trouble,
        }
    }

    /// Ends when all is known, or why it is not.
    async fn read(&self) {
        let known = async {
            let _ = self.store.wait_until_ready().await;
        };
        let troubled = async {
            while self.note().is_none() {
                sleep(LOOK_AGAIN).await;
            }
        };
        tokio::select! {
            () = known => {}
            () = troubled => {}
        }
    }

    fn objects(&self) -> Vec<Arc<K>> {
        self.store.state()
    }

    /// What keeps it from being up to date.
    fn note(&self) -> Option<String> {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        let words = trouble.as_ref()?;
        Some(format!("{} cannot be read: {words}", self.name))
    }
}
