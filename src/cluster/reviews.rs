//! Asks the API server who somebody is, by their token, and what they may do: a TokenReview, then a
//! SubjectAccessReview. Nobody is believed without one.
//!
//! Answers are kept for some seconds, bounded in number. How many reviews are asked for is bounded,
//! too: with tokens that are worth nothing nobody makes the API server work for them. Of that everybody has a
//! share: those whose tokens were never found to be somebody's half of it together, and everybody else a quarter.

use super::error_text;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// How long the API server may take for both.
const WITHIN: Duration = Duration::from_secs(5);
/// For so long somebody is no stranger whose token was found to be somebody's.
const KNOWN_FOR: Duration = Duration::from_secs(600);
/// So many are known at most.
const MAX_KNOWN: usize = 1_024;
/// No token is longer.
const MAX_TOKEN: usize = 16 << 10;

/// The audience of tokens that are good for nothing but to ask why.
pub const WHY: &str = "muster.dev/why";

/// For whom a token has to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MadeFor {
    /// For this audience.
    Only(&'static str),
    /// For this audience, or for the API server, as what a kubeconfig has is.
    OrTheServer(&'static str),
}

/// How tokens are read, and how much is asked and kept.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which tokens count.
    pub made_for: MadeFor,
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
            made_for: MadeFor::OrTheServer(WHY),
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
    hasher: RandomState,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// By a digest that nobody outside can foresee.
    kept: BTreeMap<u64, Kept>,
    second: Option<Instant>,
    /// In this second.
    begun: Asking,
    /// Under way.
    in_flight: Asking,
    /// Whose tokens were found to be somebody's, by digest, and when last.
    known: BTreeMap<u64, Instant>,
}

/// How many reviews there are, and whose.
#[derive(Default)]
struct Asking {
    all: usize,
    /// By the digest of a token; those of strangers together.
    by_caller: BTreeMap<Option<u64>, usize>,
}

impl Asking {
    /// Whether one more may be, of so many in all.
    fn has_room(&self, caller: Option<u64>, most: usize) -> bool {
        let own = self.by_caller.get(&caller).copied().unwrap_or(0);
        let part = if caller.is_some() { 4 } else { 2 };
        self.all < most && own < (most / part).max(1)
    }

    fn add(&mut self, caller: Option<u64>) {
        self.all += 1;
        *self.by_caller.entry(caller).or_default() += 1;
    }

    fn remove(&mut self, caller: Option<u64>) {
        self.all = self.all.saturating_sub(1);
        if let Some(own) = self.by_caller.get_mut(&caller) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                self.by_caller.remove(&caller);
            }
        }
    }
}

/// A review under way: it ends also where nobody waits for it any more.
struct UnderWay<'a> {
    reviews: &'a Reviews,
    caller: Option<u64>,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.reviews.inner().in_flight.remove(self.caller);
    }
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
        let of_token = self.hasher.hash_one(token);
        let Some(caller) = self.inner().begin(of_token, &self.settings) else {
            return Verdict::Busy;
        };
        let _under_way = UnderWay {
            reviews: self,
            caller,
        };
        let verdict = match timeout(WITHIN, self.review(token, asked)).await {
            Ok(Ok(verdict)) => verdict,
            Ok(Err(error)) => Verdict::Failed(error_text::request(&error)),
            Err(_) => Verdict::Failed("the API server did not answer in time".to_owned()),
        };
        if matches!(verdict, Verdict::Allowed | Verdict::Forbidden(_)) {
            self.inner().is_somebody(of_token);
        }
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
        let audience = match self.settings.made_for {
            MadeFor::Only(ours) => Some(ours),
            MadeFor::OrTheServer(ours) => says_it_is_made_for(token, ours).then_some(ours),
        };
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: token.to_owned(),
                audiences: audience.map(|audience| vec![audience.to_owned()]),
            },
            ..TokenReview::default()
        };
        let reviews = Api::<TokenReview>::all(self.client.clone());
        let answer = reviews.create(&PostParams::default(), &review).await?;
        let status = answer.status.unwrap_or_default();
        // An API server that knows nothing of audiences says nothing of them: then the token is not for us.
        let is_for_us = audience.is_none_or(|ours| {
            let for_whom = status.audiences.as_ref();
            for_whom.is_some_and(|all| all.iter().any(|one| one == ours))
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

/// Whether a token says that it is made for this audience. Nothing is believed for that: by it the API server is asked whether
/// the token is good for that audience, and not whether for itself.
fn says_it_is_made_for(token: &str, audience: &str) -> bool {
    #[derive(Deserialize)]
    struct Claims {
        aud: Audiences,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Audiences {
        One(String),
        Many(Vec<String>),
    }
    let claims = token.split('.').nth(1);
    let claims = claims.and_then(|claims| BASE64_URL_SAFE_NO_PAD.decode(claims).ok());
    let claims = claims.and_then(|claims| serde_json::from_slice::<Claims>(&claims).ok());
    claims.is_some_and(|claims| match claims.aud {
        Audiences::One(one) => one == audience,
        Audiences::Many(many) => many.iter().any(|one| one == audience),
    })
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

    /// Begins a review, if there may be one more: of whom, strangers being nobody.
    #[expect(clippy::option_option, reason = "a review of nobody known is one, too")]
    fn begin(&mut self, token: u64, settings: &Settings) -> Option<Option<u64>> {
        let now = Instant::now();
        if self
            .second
            .is_none_or(|second| now >= second + Duration::from_secs(1))
        {
            (self.second, self.begun) = (Some(now), Asking::default());
        }
        let since = self.known.get(&token);
        let caller = since.filter(|since| now.duration_since(**since) < KNOWN_FOR);
        let caller = caller.map(|_| token);
        let per_second = settings.per_second as usize;
        let may = self.in_flight.has_room(caller, settings.at_once)
            && self.begun.has_room(caller, per_second);
        may.then(|| {
            self.in_flight.add(caller);
            self.begun.add(caller);
            caller
        })
    }

    /// A token was found to be somebody's.
    fn is_somebody(&mut self, token: u64) {
        let now = Instant::now();
        if self.known.len() >= MAX_KNOWN && !self.known.contains_key(&token) {
            let oldest = self.known.iter().min_by_key(|(_, since)| **since);
            if let Some(oldest) = oldest.map(|(digest, _)| *digest) {
                self.known.remove(&oldest);
            }
        }
        self.known.insert(token, now);
    }
}
