//! Asks the API server whether it would let us do what we have to do.
//!
//! A scheduler without the right to bind would look well until the first gang came: so rights
//! are asked for before they are needed, by SelfSubjectAccessReview, which anybody may create.

use super::{Health, error_text};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// How often is asked.
const EVERY: Duration = Duration::from_secs(60);
/// How often while something is missing or nobody answers.
const EVERY_WHILE_MISSING: Duration = Duration::from_secs(5);

/// What Muster writes: verb, group, resource, subresource. What it reads, the watches find out.
const RIGHTS: [(&str, &str, &str, &str); 7] = [
    ("create", "", "pods", "binding"),
    ("delete", "", "pods", ""),
    ("get", "", "pods", ""),
    ("patch", "", "pods", "status"),
    ("create", "events.k8s.io", "events", ""),
    ("patch", "muster.dev", "podgroups", "status"),
    ("patch", "muster.dev", "queues", "status"),
];

/// Asks again and again, for ever.
pub async fn keep_checking(client: Client, health: Arc<Health>) {
    let reviews = Api::<SelfSubjectAccessReview>::all(client);
    let mut said = BTreeSet::new();
    loop {
        let denied = match denied(&reviews).await {
            Ok(denied) => denied,
            Err(error) => {
                tracing::debug!(error = error_text::request(&error), "rights are not known");
                sleep(EVERY_WHILE_MISSING).await;
                continue;
            }
        };
        let complete = denied.is_empty();
        log(&said, &denied);
        said.clone_from(&denied);
        health.set_denied(denied);
        sleep(if complete { EVERY } else { EVERY_WHILE_MISSING }).await;
    }
}

/// Says what is missing once, and when it is there.
fn log(before: &BTreeSet<String>, now: &BTreeSet<String>) {
    for right in now.difference(before) {
        tracing::warn!(right, "missing permission");
    }
    for right in before.difference(now) {
        tracing::info!(right, "permission is there now");
    }
}

async fn denied(reviews: &Api<SelfSubjectAccessReview>) -> kube::Result<BTreeSet<String>> {
    let mut denied = BTreeSet::new();
    for (verb, group, resource, subresource) in RIGHTS {
        let filled = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let review = SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                resource_attributes: Some(ResourceAttributes {
                    verb: filled(verb),
                    group: filled(group),
                    resource: filled(resource),
                    subresource: filled(subresource),
                    ..ResourceAttributes::default()
                }),
                ..SelfSubjectAccessReviewSpec::default()
            },
            ..SelfSubjectAccessReview::default()
        };
        let answer = reviews.create(&PostParams::default(), &review).await?;
        if !answer.status.is_some_and(|status| status.allowed) {
            denied.insert(right(verb, group, resource, subresource));
        }
    }
    Ok(denied)
}

/// As an administrator would write it: `create pods/binding`, `patch podgroups.muster.dev/status`.
fn right(verb: &str, group: &str, resource: &str, subresource: &str) -> String {
    let dot = if group.is_empty() { "" } else { "." };
    let slash = if subresource.is_empty() { "" } else { "/" };
    format!("{verb} {resource}{dot}{group}{slash}{subresource}")
}

#[cfg(test)]
mod tests {
    use super::right;

    #[test]
    fn rights_read_as_administrators_write_them() {
        assert_eq!(
            right("create", "", "pods", "binding"),
            "create pods/binding"
        );
        assert_eq!(
            right("patch", "muster.dev", "podgroups", "status"),
            "patch podgroups.muster.dev/status"
        );
    }
}
