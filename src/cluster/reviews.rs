//! Asks the API server who somebody is, by their token, and what they may do: a TokenReview, then a
//! SubjectAccessReview. Nobody is believed without one.
//!
//! Answers are kept for some seconds, bounded in number. How many reviews are asked for is bounded,
//! too: with tokens that are worth nothing nobody makes the API server work for them.

use super::error_text;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

/// How long the API server may take for both.
const WITHIN: Duration = Duration::from_secs(5);
/// No token is longer.
const MAX_TOKEN: usize = 16 << 10;

/// How tokens are read, and how much is asked and kept.
#[derive(Clone, Debug)]
pub struct Settings {
    /// For whom a token has to be made; `None`: for the API server.
    pub audience: Option<String>,
    /// How long an answer is believed.
    pub believed_for: Duration,
    /// How many answers are kept.
    pub kept: usize,
    /// Reviews under way at once.
    pub at_once: usize,
    /// Reviews begun in a second.
    pub per_second: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            audience: None,
            believed_for: Duration::from_secs(5),
            kept: 256,
            at_once: 4,
            per_second: 20,
        }
    }
}

/// What somebody wants to read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Object {
    /// `podgroups`, `queues` or `testbeds`, of our group.
    pub resource: &'static str,
    /// Its namespace, if it has one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

/// What somebody wants to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Asked {
    /// `get`, `list`, `watch`, `create` ...
    pub verb: &'static str,
    /// The plural of a kind of our group.
    pub resource: &'static str,
    /// In which namespace; `None`: in all, or it has none.
    pub namespace: Option<String>,
    /// To which object; `None`: to any.
    pub name: Option<String>,
}

/// What came of a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They may.
    Allowed,
    /// The token is nobody's.
    Unknown,
    /// This user may not.
    Forbidden(String),
    /// Too many reviews: later.
    Busy,
    /// The API server did not say.
    Failed(String),
}

/// An answer that is believed for a while.
#[derive(Debug)]
struct Kept {
    token: String,
    asked: Asked,
    verdict: Verdict,
    until: Instant,
}

/// Whom the API server was asked about.
pub struct Reviews {
    client: Client,
    settings: Settings,
    slots: Semaphore,
    hasher: RandomState,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// By a digest that nobody outside can foresee.
    kept: BTreeMap<u64, Kept>,
    second: Option<Instant>,
    begun: u32,
}

impl Reviews {
    /// Asks with this client.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self::of(client, Settings::default())
    }

    /// Asks with this client, in this way.
    #[must_use]
    pub fn of(client: Client, settings: Settings) -> Self {
        Self {
            client,
            slots: Semaphore::new(settings.at_once),
            settings,
            hasher: RandomState::new(),
            inner: Mutex::default(),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the owner of a token may `get` an object.
    pub async fn may_get(&self, token: &str, object: &Object) -> Verdict {
        let asked = Asked {
            verb: "get",
            resource: object.resource,
            namespace: object.namespace.clone(),
            name: Some(object.name.clone()),
        };
        self.may(token, &asked).await
    }

    /// Whether the owner of a token may do something.
    pub async fn may(&self, token: &str, asked: &Asked) -> Verdict {
        if token.is_empty() || token.len() > MAX_TOKEN {
            return Verdict::Unknown;
        }
        let digest = self.hasher.hash_one((token, asked));
        if let Some(verdict) = self.inner().known(digest, token, asked) {
            return verdict;
        }
        let Ok(_slot) = self.slots.try_acquire() else {
            return Verdict::Busy;
        };
        if !self.inner().may_begin(self.settings.per_second) {
            return Verdict::Busy;
        }
        let verdict = match timeout(WITHIN, self.review(token, asked)).await {
            Ok(Ok(verdict)) => verdict,
            Ok(Err(error)) => Verdict::Failed(error_text::request(&error)),
            Err(_) => Verdict::Failed("the API server did not answer in time".to_owned()),
        };
        if !matches!(verdict, Verdict::Failed(_)) {
            let kept = Kept {
                token: token.to_owned(),
                asked: asked.clone(),
                verdict: verdict.clone(),
                until: Instant::now() + self.settings.believed_for,
            };
            self.inner().keep(digest, kept, self.settings.kept);
        }
        verdict
    }

    async fn review(&self, token: &str, asked: &Asked) -> kube::Result<Verdict> {
        let audience = self.settings.audience.clone();
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: token.to_owned(),
                audiences: audience.clone().map(|audience| vec![audience]),
            },
            ..TokenReview::default()
        };
        let reviews = Api::<TokenReview>::all(self.client.clone());
        let answer = reviews.create(&PostParams::default(), &review).await?;
        let status = answer.status.unwrap_or_default();
        // An API server that knows nothing of audiences says nothing of them: then the token is not for us.
        let is_for_us = audience.is_none_or(|ours| {
            let for_whom = status.audiences.as_ref();
            for_whom.is_some_and(|all| all.contains(&ours))
        });
        let is_known = status.authenticated == Some(true) && is_for_us;
        let user = status.user.filter(|_| is_known);
        let Some(user) = user else {
            return Ok(Verdict::Unknown);
        };
        let name = user.username.clone().unwrap_or_default();
        let reviews = Api::<SubjectAccessReview>::all(self.client.clone());
        let review = access_review(user, asked);
        let answer = reviews.create(&PostParams::default(), &review).await?;
        let allowed = answer.status.is_some_and(|status| status.allowed);
        Ok(if allowed {
            Verdict::Allowed
        } else {
            Verdict::Forbidden(name)
        })
    }
}

fn access_review(user: UserInfo, asked: &Asked) -> SubjectAccessReview {
    SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: user.username,
            uid: user.uid,
            groups: user.groups,
            extra: user.extra,
            resource_attributes: Some(ResourceAttributes {
                verb: Some(asked.verb.to_owned()),
                group: Some("muster.dev".to_owned()),
                resource: Some(asked.resource.to_owned()),
                namespace: asked.namespace.clone(),
                name: asked.name.clone(),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    }
}

impl Inner {
    fn known(&mut self, digest: u64, token: &str, asked: &Asked) -> Option<Verdict> {
        let now = Instant::now();
        self.kept.retain(|_, kept| kept.until > now);
        let kept = self.kept.get(&digest)?;
        let same = kept.token == token && kept.asked == *asked;
        same.then(|| kept.verdict.clone())
    }

    fn keep(&mut self, digest: u64, kept: Kept, most: usize) {
        if self.kept.len() >= most {
            self.kept.pop_first();
        }
        self.kept.insert(digest, kept);
    }

    /// Whether one more may begin in this second.
    fn may_begin(&mut self, per_second: u32) -> bool {
        let now = Instant::now();
        if self
            .second
            .is_none_or(|second| now >= second + Duration::from_secs(1))
        {
            (self.second, self.begun) = (Some(now), 0);
        }
        self.begun += 1;
        self.begun <= per_second
    }
}
