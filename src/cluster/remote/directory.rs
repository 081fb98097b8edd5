//! All plugins in other processes that the configuration names, by name.

use super::together::Together;
use super::{Endpoint, Extender, Limits, Plugin, Tls, Verbs};
use crate::answerer::{Answerer, Outside};
use crate::lanes::Answerers;
use crate::{Clock, Error, Metrics};
use futures::future::BoxFuture;
use http::Uri;
use kube::Client;
use muster_config::{HttpUrl, SchedulerConfiguration};
use muster_model::{Answer, Body, Question, RemoteAnswer, RemotePoint, RemoteQuestion};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How many bytes of an extender's answer are read: with whole nodes in it, it is long.
const EXTENDER_BYTES: usize = 64 << 20;
/// How many questions an extender is asked at once.
const EXTENDER_AT_ONCE: usize = 8;

/// Who can be asked, by name.
#[derive(Default)]
pub struct Directory {
    entries: BTreeMap<String, Entry>,
    together: Together,
}

struct Entry {
    who: Who,
    /// Whether the decision goes on where it gives no answer: what it does not bind we do.
    ignorable: bool,
}

enum Who {
    Plugin(Box<Plugin>),
    Extender(Box<Extender>),
}

impl Directory {
    /// Those of a configuration.
    ///
    /// # Errors
    /// When a URL with its verb is none.
    pub fn new(
        config: &SchedulerConfiguration,
        clock: Clock,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, Error> {
        let mut entries = BTreeMap::new();
        for one in &config.remote_plugins {
            let endpoint = endpoint(one)?;
            let plugin = Plugin::new(endpoint, clock, Arc::clone(metrics));
            let name = plugin.name().to_owned();
            let entry = Entry {
                who: Who::Plugin(Box::new(plugin)),
                ignorable: one.ignorable,
            };
            entries.insert(name, entry);
        }
        for one in &config.extenders {
            let extender = extender(one, clock, metrics)?;
            let name = extender.name().to_owned();
            let entry = Entry {
                who: Who::Extender(Box::new(extender)),
                ignorable: one.ignorable,
            };
            entries.insert(name, entry);
        }
        Ok(Self {
            entries,
            together: Together::default(),
        })
    }

    /// Has it answer what is addressed to those that it has.
    pub fn join(self, answerers: &mut Answerers) {
        let directory = Arc::new(self);
        for name in directory.entries.keys() {
            answerers.add(name, Arc::clone(&directory) as Arc<dyn Answerer>);
        }
    }

    /// Asks about nodes. There is always an answer. `client` is for the pods and nodes that extenders are
    /// sent.
    async fn about_nodes(&self, id: u64, asked: &RemoteQuestion, client: &Client) -> Answer {
        let answer = match self.entries.get(&*asked.plugin).map(|entry| &entry.who) {
            Some(Who::Plugin(plugin)) => plugin.ask(id, asked).await,
            Some(Who::Extender(extender)) => extender.ask(asked, client).await,
            None => RemoteAnswer::Failed(NOBODY.to_owned()),
        };
        match answer {
            RemoteAnswer::Failed(message) => Answer::Failed { message },
            answer => Answer::OfNodes(answer),
        }
    }

    /// Asks about a decision, and again for as long as the plugin says that it is to be asked again.
    async fn about_decision(&self, id: u64, asked: &RemoteQuestion, client: &Client) -> Answer {
        let Some(entry) = self.entries.get(&*asked.plugin) else {
            let message = NOBODY.to_owned();
            return Answer::Failed { message };
        };
        let answer = match &entry.who {
            Who::Plugin(plugin) if asked.point == RemotePoint::Bind => {
                let ask = async |asked: RemoteQuestion| plugin.ask(id, &asked).await;
                self.together.ask(asked, ask).await
            }
            Who::Plugin(plugin) => plugin.ask_about(id, asked).await,
            Who::Extender(extender) => match extender.ask(asked, client).await {
                // kube-scheduler makes as little of an error that it says as of one that it makes.
                RemoteAnswer::Deny(words) if entry.ignorable => RemoteAnswer::Failed(words),
                answer => answer,
            },
        };
        let ignored = entry.ignorable && matches!(answer, RemoteAnswer::Failed(_));
        match answer {
            RemoteAnswer::Allow => Answer::Yes(String::new()),
            RemoteAnswer::Skip => Answer::Skip,
            RemoteAnswer::Deny(message) => Answer::No { message },
            RemoteAnswer::Failed(_) if ignored && asked.point == RemotePoint::Bind => Answer::Skip,
            RemoteAnswer::Failed(_) if ignored && asked.point != RemotePoint::Unreserve => {
                Answer::Yes(String::new())
            }
            RemoteAnswer::Failed(message) => Answer::Failed { message },
            RemoteAnswer::Nodes(_) | RemoteAnswer::Scores(_) | RemoteAnswer::Wait(_) => {
                let message = "its answer says nothing of the decision".to_owned();
                Answer::Failed { message }
            }
        }
    }
}

const NOBODY: &str = "nobody has this name";

impl Answerer for Directory {
    fn answer<'a>(&'a self, question: &'a Question, outside: &'a Outside) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let id = question.id.0;
            match &question.body {
                Body::Remote(asked) if asked.point.is_about_nodes() => {
                    self.about_nodes(id, asked, outside.client()).await
                }
                Body::Remote(asked) if question.undoes.is_some() => {
                    let undo = RemoteQuestion {
                        point: RemotePoint::Unreserve,
                        ..(**asked).clone()
                    };
                    self.about_decision(id, &undo, outside.client()).await
                }
                Body::Remote(asked) => self.about_decision(id, asked, outside.client()).await,
                Body::Plugin { .. } => Answer::Failed {
                    message: "this is not for a plugin in another process".to_owned(),
                },
            }
        })
    }
}

fn uri(url: &str) -> Result<Uri, Error> {
    let wrong = |_| Error::PluginUrl(url.to_owned());
    url.parse().map_err(wrong)
}

const fn within(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn endpoint(plugin: &muster_config::RemotePlugin) -> Result<Endpoint, Error> {
    let muster_config::RemoteTls {
        ca_file,
        cert_file,
        key_file,
    } = plugin.tls.clone();
    Ok(Endpoint {
        name: plugin.name.as_str().into(),
        url: uri(plugin.url.as_str())?,
        tls: Tls {
            ca_file,
            cert_file,
            key_file,
            ..Tls::default()
        },
        limits: Limits {
            within: within(plugin.timeout.millis().0),
            bytes: plugin.max_response_bytes.get() as usize,
            at_once: plugin.concurrency.get() as usize,
        },
    })
}

fn extender(
    extender: &muster_config::Extender,
    clock: Clock,
    metrics: &Arc<Metrics>,
) -> Result<Extender, Error> {
    let prefix = prefix(&extender.url_prefix, extender.enable_https);
    let verb = |verb: &Option<String>| match verb.as_deref() {
        None | Some("") => Ok(None),
        Some(verb) => uri(&format!("{prefix}/{verb}")).map(Some),
    };
    let verbs = Verbs {
        filter: verb(&extender.filter_verb)?,
        prioritize: verb(&extender.prioritize_verb)?,
        bind: verb(&extender.bind_verb)?,
    };
    let tls = extender.tls_config.clone();
    let has_authority = tls.ca_file.is_some() || tls.ca_data.is_some();
    let tls = Tls {
        ca_file: tls.ca_file,
        ca_data: tls.ca_data,
        cert_file: tls.cert_file,
        cert_data: tls.cert_data,
        key_file: tls.key_file,
        key_data: tls.key_data,
        server_name: tls.server_name,
        // As kube-scheduler has it.
        insecure: tls.insecure || (extender.enable_https && !has_authority),
    };
    let limits = Limits {
        within: within(extender.http_timeout.millis().0),
        bytes: EXTENDER_BYTES,
        at_once: EXTENDER_AT_ONCE,
    };
    let (name, url) = (extender.url_prefix.as_str().into(), uri(&prefix)?);
    Ok(Extender::new(
        (name, url),
        verbs,
        extender.node_cache_capable,
        (tls, limits),
        (clock, Arc::clone(metrics)),
    ))
}

/// The URL before a verb.
fn prefix(url: &HttpUrl, enable_https: bool) -> String {
    let url = url.as_str().trim_end_matches('/');
    match url.strip_prefix("http://") {
        Some(rest) if enable_https => format!("https://{rest}"),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extenders_verbs_come_after_one_slash_and_https_is_what_is_enabled() {
        let url = |text: &str| HttpUrl::try_from(text.to_owned()).unwrap();
        assert_eq!(prefix(&url("http://h:1/a/"), false), "http://h:1/a");
        assert_eq!(prefix(&url("http://h:1/a"), true), "https://h:1/a");
        assert_eq!(prefix(&url("https://h/"), false), "https://h");
    }
}
