//! `muster snapshot`: writes what Muster reads of a cluster into one file, which `muster simulate` plays.

use super::{BAD_INPUT, ended, whole_file};
use anyhow::{Context, bail, ensure};
use http::header::DATE;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::jiff::{Timestamp, fmt::rfc2822};
use kube::api::ListParams;
use kube::client::Body;
use kube::{Client, Resource};
use muster_api::crd;
use muster_api::kinds::{self, Row, Visitor};
use muster_api::snapshot::{Names, Reducer, Unread, Writer};
use muster_cluster::client::{self, Transport};
use muster_model::counted;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// How long a page of a list may take to begin.
const WITHIN: Duration = Duration::from_secs(30);
/// How many objects are asked for at once.
const PAGE: u32 = 500;
/// No page is longer.
const MAX_PAGE: usize = 256 << 20;

/// Writes what Muster reads of a cluster into one compressed file, which `muster simulate` plays.
///
/// Of each object only what Muster reads is in it: no Secrets, no environment, commands and arguments of containers,
/// and no annotations but those that are read. docs/simulate.md says more.
///
/// Exit code 0: it was written. 1: the cluster could not be read, or the file not be written. 2: something in an argument is
/// wrong.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "muster-snapshot.gz")]
    output: PathBuf,
    /// Replace all names, the same by the same
    #[arg(long)]
    anonymise: bool,
    /// Kubeconfig file; else $KUBECONFIG, the pod's service account, ~/.kube/config
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let to_file = arguments.output.as_os_str() != "-";
    if to_file && let Err(error) = whole_file::check(&arguments.output, &[]) {
        eprintln!("--output: {error}");
        return ExitCode::from(BAD_INPUT);
    }
    ended(arguments.take(), |()| ExitCode::SUCCESS)
}

impl Arguments {
    async fn take(&self) -> anyhow::Result<()> {
        let config = client::kube_config(self.kubeconfig.as_deref()).await?;
        let client = client::client(&config, Transport::Http2, WITHIN)?;
        let mut snapshot = Snapshot {
            client,
            writer: Writer::new(Vec::new(), self.anonymise)?,
            reducer: Reducer::default(),
            names: self.anonymise.then(Names::default),
            taken_at: None,
            unread: BTreeMap::new(),
        };
        let mut lists = Lists(Vec::new());
        kinds::visit(&mut lists);
        lists.add::<Job>(false);
        lists.add::<crd::BatchJob>(true);
        lists.add::<crd::Scheduling>(true);
        lists.add::<crd::QueueJob>(true);
        for list in &lists.0 {
            snapshot.add(list).await?;
        }
        let taken_at = snapshot.taken_at.context("the API server says no date")?;
        let (bytes, objects) = snapshot.writer.end(&taken_at.to_string())?;
        if self.output.as_os_str() == "-" {
            let written = std::io::stdout().lock().write_all(&bytes);
            written.context("cannot write to standard output")?;
        } else {
            whole_file::write_bytes(&self.output, &bytes)?;
        }
        for (kind, (count, why)) in &snapshot.unread {
            eprintln!("left out: {}, as Muster does: {why}", counted(*count, kind));
        }
        eprintln!(
            "{}, {} bytes, as of {taken_at}",
            counted(objects, "object"),
            bytes.len()
        );
        Ok(())
    }
}

/// A kind to list.
struct List {
    path: String,
    api_version: String,
    kind: String,
    /// A cluster may do without it.
    is_optional: bool,
}

struct Lists(Vec<List>);

impl Lists {
    fn add<K: Resource<DynamicType = ()>>(&mut self, is_optional: bool) {
        self.0.push(List {
            path: K::url_path(&(), None),
            api_version: K::api_version(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
            is_optional,
        });
    }
}

impl Visitor for Lists {
    fn visit<R: Row>(&mut self) {
        // Without our own definitions a cluster has none of our objects.
        self.add::<R>(R::KIND.is_optional() || R::KIND.is_ours());
    }
}

/// A page of a list.
#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    metadata: PageMetadata,
    items: Vec<Value>,
}

/// Where to go on.
#[derive(Deserialize)]
struct Rest {
    metadata: PageMetadata,
}

#[derive(Default, Deserialize)]
struct PageMetadata {
    #[serde(rename = "continue")]
    next: Option<String>,
}

/// What is written, and what it takes.
struct Snapshot {
    client: Client,
    writer: Writer<Vec<u8>>,
    reducer: Reducer,
    names: Option<Names>,
    taken_at: Option<Timestamp>,
    /// By kind: how many objects cannot be read, and why the first cannot.
    unread: BTreeMap<String, (usize, String)>,
}

impl Snapshot {
    /// All objects of a kind.
    async fn add(&mut self, list: &List) -> anyhow::Result<()> {
        let mut params = ListParams::default().limit(PAGE);
        loop {
            let request = kube::core::Request::new(&list.path).list(&params)?;
            let (status, body) = self.ask(request).await.with_context(|| list.path.clone())?;
            match status {
                StatusCode::OK => {}
                StatusCode::NOT_FOUND if list.is_optional => return Ok(()),
                // After some minutes the rest is not known any more as it was: it is told as it is now.
                StatusCode::GONE if params.continue_token.is_some() => {
                    let rest: Option<Rest> = serde_json::from_slice(&body).ok();
                    let rest = rest.and_then(|rest| rest.metadata.next);
                    if rest.is_none() || rest == params.continue_token {
                        bail!("{}: {status}: {}", list.path, refusal(&body));
                    }
                    params.continue_token = rest;
                    continue;
                }
                _ => bail!("{}: {status}: {}", list.path, refusal(&body)),
            }
            let page: Page =
                serde_json::from_slice(&body).with_context(|| format!("{}: no list", list.path))?;
            for object in page.items {
                if let Some(object) = self.reduced(list, object) {
                    self.writer.object(&object)?;
                }
            }
            params.continue_token = page.metadata.next.filter(|next| !next.is_empty());
            if params.continue_token.is_none() {
                return Ok(());
            }
        }
    }

    /// What is read of an object, if it can be read.
    fn reduced(&mut self, list: &List, mut object: Value) -> Option<Value> {
        object["apiVersion"] = list.api_version.as_str().into();
        object["kind"] = list.kind.as_str().into();
        match self.reducer.reduce(&mut object) {
            Ok(()) => {}
            Err(Unread::Kind(kind) | Unread::Object(kind)) => {
                let (count, _) = self
                    .unread
                    .entry(list.kind.clone())
                    .or_insert_with(|| (0, kind));
                *count += 1;
                return None;
            }
        }
        if let Some(names) = &mut self.names {
            names.replace(&mut object);
        }
        Some(object)
    }

    async fn ask(&mut self, request: Request<Vec<u8>>) -> anyhow::Result<(StatusCode, Vec<u8>)> {
        let response = self.client.send(request.map(Body::from)).await?;
        let date = response.headers().get(DATE);
        let date = date.and_then(|date| rfc2822::parse(date.to_str().ok()?).ok());
        let date = date.map(|date| date.timestamp());
        self.taken_at = date.max(self.taken_at);
        let status = response.status();
        let body = Limited::new(response.into_body(), MAX_PAGE).collect().await;
        let body = body.map_err(|error| anyhow::anyhow!("{error}"))?;
        ensure!(
            status != StatusCode::UNAUTHORIZED,
            "the API server knows nobody by this token"
        );
        Ok((status, body.to_bytes().to_vec()))
    }
}

/// What the API server says of why it refuses.
fn refusal(body: &[u8]) -> String {
    let status: Option<Value> = serde_json::from_slice(body).ok();
    let message = status
        .as_ref()
        .and_then(|status| status["message"].as_str());
    message.unwrap_or("no message").to_owned()
}
