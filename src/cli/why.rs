//! `muster why`: asks the instance that schedules why something is where it is.
//!
//! It is found by the Lease and reached through the API server, which passes the request on to the
//! pod, or by `--server`. It believes nobody: the token that the kubeconfig's user shows goes with the
//! request, and the API server says whose it is and what they may read (docs/why.md).

use super::reach::Reach;
use super::why_target::{self, Target, TargetKind};
use super::{BAD_INPUT, ended};
use anyhow::{Context, bail, ensure};
use clap_complete::engine::ArgValueCompleter;
use http::header::{AUTHORIZATION, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use k8s_openapi::api::coordination::v1::Lease;
use kube::client::{Body, ConfigExt};
use kube::{Api, Client, Config};
use muster_api::why::{gang_in_words, queue_in_words, testbed_in_words};
use muster_cluster::client::{self, Transport};
use muster_model::explanation::{GangExplanation, QueueExplanation, TestbedExplanation};
use muster_serve::FORWARDED;
use serde::Deserialize;
use std::fs;
use std::future::ready;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tower::{BoxError, ServiceBuilder, ServiceExt, service_fn};

/// How long an answer may take.
const WITHIN: Duration = Duration::from_secs(15);
/// No answer is longer.
const MAX_ANSWER: usize = 4 << 20;
/// Where Muster listens.
const PORT: u16 = 10_270;

/// Arguments of `muster why`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// What to explain: podgroup/NAME, queue/NAME or testbed/NAME
    #[arg(value_name = "WHAT", add = ArgValueCompleter::new(why_target::offered))]
    target: Target,
    /// Namespace of the PodGroup; else that of the kubeconfig's context
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    #[command(flatten)]
    reach: Reach,
    /// Where the instance that schedules listens, such as `http://10.0.0.7:10270`; without it, it is
    /// found by its Lease and reached through the API server
    #[arg(long, value_name = "URL")]
    server: Option<http::Uri>,
    /// File with the token to show; else the token of the kubeconfig's user
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Namespace of the Lease
    #[arg(long, value_name = "NAME", default_value = "muster-system")]
    lease_namespace: String,
    /// Name of the Lease
    #[arg(long, value_name = "NAME", default_value = "muster")]
    lease_name: String,
    /// The port on which the pods of Muster listen
    #[arg(long, value_name = "PORT", default_value_t = PORT)]
    port: u16,
    /// How to print the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Output {
    /// Plain words
    #[default]
    Text,
    /// One JSON object
    Json,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> ExitCode {
    if arguments.target.kind == TargetKind::Pod {
        eprintln!(
            "a running scheduler answers for podgroup/NAME, queue/NAME and testbed/NAME; why a pod \
                   waits is in its condition PodScheduled"
        );
        return ExitCode::from(BAD_INPUT);
    }
    ended(arguments.ask(), |text| super::print(&text))
}

impl Arguments {
    async fn ask(&self) -> anyhow::Result<String> {
        let config = self.reach.config().await?;
        let namespace = self.namespace.as_deref();
        let target = self
            .target
            .within(namespace.unwrap_or(&config.default_namespace));
        let mut token = self.token(&config).await?;
        token.set_sensitive(true);
        let home = namespace.unwrap_or(&config.default_namespace);
        let page = page(&target, home);
        let (client, request) = match &self.server {
            Some(server) => {
                let client = client::client(&direct(&config, server), Transport::Http1, WITHIN)?;
                let request = Request::get(page).header(AUTHORIZATION, token);
                (client, request)
            }
            None => {
                let client = client::client(&config, Transport::Http1, WITHIN)?;
                let pod = self.leader(&client).await?;
                let (namespace, port) = (&self.lease_namespace, self.port);
                let proxy =
                    format!("/api/v1/namespaces/{namespace}/pods/https:{pod}:{port}/proxy{page}");
                (client, Request::get(proxy).header(FORWARDED, token))
            }
        };
        let request = request.body(Body::empty())?;
        let text = self.answer(&client, request).await?;
        self.render(&target, &text)
    }

    /// What the kubeconfig's user shows, as the value of `Authorization`.
    async fn token(&self, config: &Config) -> anyhow::Result<HeaderValue> {
        if let Some(file) = &self.token_file {
            let token = fs::read_to_string(file)
                .with_context(|| format!("--token-file {}", file.display()))?;
            let value = format!("Bearer {}", token.trim());
            return HeaderValue::try_from(value)
                .with_context(|| format!("--token-file {}: not a token", file.display()));
        }
        // Whatever way the user has to get a token, the client's own layer knows it.
        let shown = service_fn(|request: Request<Body>| {
            let shown = request.headers().get(AUTHORIZATION).cloned();
            ready(Ok::<_, BoxError>(Response::new(shown)))
        });
        let service = ServiceBuilder::new()
            .option_layer(config.auth_layer()?)
            .service(shown);
        let shown = service.oneshot(Request::new(Body::empty())).await;
        let shown = shown.map_err(|error| anyhow::anyhow!("no token: {error}"))?;
        let bearer = |value: &HeaderValue| {
            let text = value.to_str().unwrap_or_default();
            text.get(..7)
                .is_some_and(|head| head.eq_ignore_ascii_case("bearer "))
        };
        shown.into_body().filter(bearer).context(
            "the user of the kubeconfig shows no token (a certificate, say), and the scheduler \
             believes nobody without one; give a file with --token-file, for example of \
             `kubectl create token NAME`",
        )
    }

    /// The pod that holds the Lease.
    async fn leader(&self, client: &Client) -> anyhow::Result<String> {
        let (namespace, name) = (&self.lease_namespace, &self.lease_name);
        let leases = Api::<Lease>::namespaced(client.clone(), namespace);
        let whose = format!("Lease {namespace}/{name}");
        let help = "--lease-namespace and --lease-name say where it is, and --server asks an instance \
                    without it";
        let lease = leases.get_opt(name).await;
        let lease = lease.with_context(|| format!("{whose} cannot be read"))?;
        let lease =
            lease.with_context(|| format!("there is no {whose}: nobody schedules; {help}"))?;
        let holder = lease.spec.and_then(|spec| spec.holder_identity);
        let holder = holder.filter(|holder| !holder.is_empty());
        let holder =
            holder.with_context(|| format!("{whose} has no holder: nobody schedules now"))?;
        pod_of(&holder).map(str::to_owned).with_context(|| {
            format!("{holder} schedules, which is no pod; say where with --server")
        })
    }

    async fn answer(&self, client: &Client, request: Request<Body>) -> anyhow::Result<String> {
        let response = client
            .send(request)
            .await
            .with_context(|| match &self.server {
                Some(server) => format!("--server {server}"),
                None => "the instance that schedules cannot be reached".to_owned(),
            })?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MAX_ANSWER)
            .collect()
            .await;
        let body = body.map_err(|error| anyhow::anyhow!("the answer broke off: {error}"))?;
        let text = String::from_utf8_lossy(&body.to_bytes()).into_owned();
        if status == StatusCode::OK {
            return Ok(text);
        }
        /// How the API server says no.
        #[derive(Deserialize)]
        struct Refusal {
            message: String,
        }
        let words = match serde_json::from_str::<Refusal>(&text) {
            Ok(refusal) => refusal.message,
            Err(_) => text.trim().to_owned(),
        };
        match (status, self.server.is_some()) {
            (StatusCode::NOT_FOUND, _) => bail!("not found: {words}"),
            (StatusCode::UNAUTHORIZED, _) => bail!("not let in: {words}"),
            (StatusCode::FORBIDDEN, _) => bail!("forbidden: {words}"),
            _ => bail!("{status}: {words}"),
        }
    }

    fn render(&self, target: &Target, text: &str) -> anyhow::Result<String> {
        let strange = "the answer is not one of Muster";
        if self.output == Output::Json {
            let value: serde_json::Value = serde_json::from_str(text).context(strange)?;
            return Ok(serde_json::to_string_pretty(&value)? + "\n");
        }
        if target.kind == TargetKind::Queue {
            let queue: QueueExplanation = serde_json::from_str(text).context(strange)?;
            ensure!(!queue.kind.is_empty(), strange);
            return Ok(queue_in_words(&queue));
        }
        if target.kind == TargetKind::Testbed {
            let testbed: TestbedExplanation = serde_json::from_str(text).context(strange)?;
            ensure!(!testbed.kind.is_empty(), strange);
            return Ok(testbed_in_words(&testbed));
        }
        let gang: GangExplanation = serde_json::from_str(text).context(strange)?;
        ensure!(!gang.kind.is_empty(), strange);
        Ok(gang_in_words(&gang))
    }
}

/// Of something that has no namespace, who asks also says in which they are at home.
fn page(target: &Target, home: &str) -> String {
    let name = &target.name;
    match &target.namespace {
        Some(namespace) => format!("/debug/why/podgroups/{namespace}/{name}"),
        None if target.kind == TargetKind::Testbed => {
            format!("/debug/why/testbeds/{name}?namespace={home}")
        }
        None => format!("/debug/why/queues/{name}?namespace={home}"),
    }
}

/// How to reach an instance without the API server: of the kubeconfig nothing is shown to it.
fn direct(config: &Config, server: &http::Uri) -> Config {
    let mut direct = Config::new(server.clone());
    direct.headers.clone_from(&config.headers);
    direct
}

/// The pod of a holder of the Lease: `POD_UID_PROCESS`, where a process has two parts.
fn pod_of(holder: &str) -> Option<&str> {
    let parts: Vec<&str> = holder.split('_').collect();
    match parts.as_slice() {
        [pod, _, _, _] => Some(pod),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_cluster::lease::Identity;

    #[test]
    fn the_pod_that_schedules_is_known_by_the_holder_of_the_lease() {
        let holder = Identity::in_pod("muster-5d6c-x", "a-b-c", "7_1767225600000");
        assert_eq!(pod_of(holder.name()), Some("muster-5d6c-x"));
        let holder = Identity::of_process("laptop_7_1767225600000");
        assert_eq!(pod_of(holder.name()), None);
    }
}
