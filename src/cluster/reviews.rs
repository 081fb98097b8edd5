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

/// How long an answer is believed.
const BELIEVED_FOR: Duration = Duration::from_secs(5);
/// How many answers are kept.
const KEPT: usize = 256;
/// Reviews under way at once.
const AT_ONCE: usize = 4;
/// Reviews begun in a second.
const PER_SECOND: u32 = 20;
/// How long the API server may take for both.
const WITHIN: Duration = Duration::from_secs(5);
/// No token is longer.
const MAX_TOKEN: usize = 16 << 10;

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

/// What came of a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They may read it.
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
    object: Object,
    verdict: Verdict,
    until: Instant,
}

/// Whom the API server was asked about.
pub struct Reviews {
    client: Client,
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
        Self {
            client,
            slots: Semaphore::new(AT_ONCE),
            hasher: RandomState::new(),
            inner: Mutex::default(),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the owner of a token may `get` an object.
    pub async fn may_get(&self, token: &str, object: &Object) -> Verdict {
        if token.is_empty() || token.len() > MAX_TOKEN {
            return Verdict::Unknown;
        }
        let digest =
            self.hasher
                .hash_one((token, &object.resource, &object.namespace, &object.name));
        if let Some(verdict) = self.inner().known(digest, token, object) {
            return verdict;
        }
        let Ok(_slot) = self.slots.try_acquire() else {
            return Verdict::Busy;
        };
        if !self.inner().may_begin() {
            return Verdict::Busy;
        }
        let verdict = match timeout(WITHIN, self.review(token, object)).await {
            Ok(Ok(verdict)) => verdict,
            Ok(Err(error)) => Verdict::Failed(error_text::request(&error)),
            Err(_) => Verdict::Failed("the API server did not answer in time".to_owned()),
        };
        if !matches!(verdict, Verdict::Failed(_)) {
            self.inner().keep(digest, token, object, &verdict);
        }
        verdict
    }

    async fn review(&self, token: &str, object: &Object) -> kube::Result<Verdict> {
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: token.to_owned(),
                ..TokenReviewSpec::default()
            },
            ..TokenReview::default()
        };
        let reviews = Api::<TokenReview>::all(self.client.clone());
        let answer = reviews.create(&PostParams::default(), &review).await?;
        let status = answer.status.unwrap_or_default();
        let user = status.user.filter(|_| status.authenticated == Some(true));
        let Some(user) = user else {
            return Ok(Verdict::Unknown);
        };
        let name = user.username.clone().unwrap_or_default();
        let reviews = Api::<SubjectAccessReview>::all(self.client.clone());
        let review = access_review(user, object);
        let answer = reviews.create(&PostParams::default(), &review).await?;
        let allowed = answer.status.is_some_and(|status| status.allowed);
        Ok(if allowed {
            Verdict::Allowed
        } else {
            Verdict::Forbidden(name)
        })
    }
}

fn access_review(user: UserInfo, object: &Object) -> SubjectAccessReview {
    SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: user.username,
            uid: user.uid,
            groups: user.groups,
            extra: user.extra,
            resource_attributes: Some(ResourceAttributes {
                verb: Some("get".to_owned()),
                group: Some("muster.dev".to_owned()),
                resource: Some(object.resource.to_owned()),
                namespace: object.namespace.clone(),
                name: Some(object.name.clone()),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    }
}

impl Inner {
    fn known(&mut self, digest: u64, token: &str, object: &Object) -> Option<Verdict> {
        let now = Instant::now();
        self.kept.retain(|_, kept| kept.until > now);
        let kept = self.kept.get(&digest)?;
        let same = kept.token == token && kept.object == *object;
        same.then(|| kept.verdict.clone())
    }

    fn keep(&mut self, digest: u64, token: &str, object: &Object, verdict: &Verdict) {
        if self.kept.len() >= KEPT {
            self.kept.pop_first();
        }
        let kept = Kept {
            token: token.to_owned(),
            object: object.clone(),
            verdict: verdict.clone(),
            until: Instant::now() + BELIEVED_FOR,
        };
        self.kept.insert(digest, kept);
    }

    /// Whether one more may begin in this second.
    fn may_begin(&mut self) -> bool {
        let now = Instant::now();
        if self
            .second
            .is_none_or(|second| now >= second + Duration::from_secs(1))
        {
            (self.second, self.begun) = (Some(now), 0);
        }
        self.begun += 1;
        self.begun <= PER_SECOND
    }
}
