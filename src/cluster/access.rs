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
const EVERY: Duration = Duration::from_secs(20);
/// How often while something is missing or nobody answers.
const EVERY_WHILE_MISSING: Duration = Duration::from_secs(5);

/// A right, and what does not work without it.
struct Right {
    /// Without it Muster is not ready.
    needed: bool,
    verb: &'static str,
    group: &'static str,
    resource: &'static str,
    subresource: &'static str,
    without: &'static str,
}

/// Makes the table of rights: whether Muster is ready without it, what it is, and what does not work without it.
macro_rules! rights {
    ($(#[$doc:meta])* $name:ident: $($needed:literal $verb:literal $group:literal $resource:literal $subresource:literal => $without:literal;)+) => {
        $(#[$doc])*
        const $name: &[Right] = &[$(Right {
            needed: $needed,
            verb: $verb,
            group: $group,
            resource: $resource,
            subresource: $subresource,
            without: $without,
        }),+];
    };
}

rights! {
    /// All that `deploy/02-rbac.yaml` gives but what the watches and the Lease find out by themselves.
    RIGHTS:
    true "create" "" "pods" "binding" => "no pod is bound";
    true "delete" "" "pods" "" => "nobody is preempted or released";
    true "get" "" "pods" "" => "a bind whose answer was lost is not looked up, and its room stays taken";
    true "patch" "" "pods" "status" => "pods are not told why they wait";
    true "create" "events.k8s.io" "events" "" => "there are no events";
    true "patch" "muster.dev" "podgroups" "status" => "PodGroups say nothing";
    true "patch" "muster.dev" "schedulingspecs" "status" => "SchedulingSpecs say nothing";
    true "patch" "muster.dev" "queues" "status" => "Queues say nothing";
    false "patch" "muster.dev" "topologies" "status" => "Topologies say nothing";
    false "patch" "scheduling.k8s.io" "podgroups" "status" => "upstream's PodGroups say nothing";
    false "patch" "scheduling.x-k8s.io" "podgroups" "status" => "coscheduling's PodGroups say nothing";
    false "patch" "scheduling.volcano.sh" "podgroups" "" => "Volcano's PodGroups say nothing";
    false "get" "" "persistentvolumeclaims" "" => "pods whose claims have to be bound wait";
    false "patch" "" "persistentvolumeclaims" "" => "pods whose volumes have to be made wait";
    false "get" "" "persistentvolumes" "" => "pods whose claims have to be bound wait";
    false "patch" "" "persistentvolumes" "" => "pods whose claims have to be bound wait";
    false "create" "authentication.k8s.io" "tokenreviews" "" => "muster why answers nobody";
    false "create" "authorization.k8s.io" "subjectaccessreviews" "" => "muster why answers nobody";
}

rights! {
    /// The same of `deploy/05-controllers.yaml`.
    OF_CONTROLLERS:
    true "create" "" "pods" "" => "no slot is held";
    true "delete" "" "pods" "" => "slots that are not wanted any more stay held";
    true "patch" "muster.dev" "testbeds" "status" => "there are no slots";
    true "create" "muster.dev" "testbedslices" "" => "Testbeds have at most 1,000 slots";
    true "patch" "muster.dev" "testbedslices" "" => "Testbeds have at most 1,000 slots";
    true "delete" "muster.dev" "testbedslices" "" => "slots that are none any more stay";
    true "patch" "muster.dev" "batchjobs" "" => "no Scheduling starts anything";
    true "patch" "muster.dev" "batchjobs" "status" => "BatchJobs do nothing";
    true "patch" "muster.dev" "schedulings" "" => "Schedulings do nothing";
    true "patch" "muster.dev" "schedulings" "status" => "Schedulings do nothing";
    true "create" "muster.dev" "podgroups" "" => "BatchJobs do not start";
    true "delete" "muster.dev" "podgroups" "" => "BatchJobs are not let go";
    true "create" "batch" "jobs" "" => "BatchJobs do not start";
    true "delete" "batch" "jobs" "" => "BatchJobs are not let go";
    true "patch" "muster.dev" "queuejobs" "status" => "QueueJobs do nothing";
    true "delete" "muster.dev" "queuejobs" "" => "QueueJobs stay after ttlSecondsAfterFinished";
    true "create" "muster.dev" "schedulingspecs" "" => "QueueJobs do not start";
    true "patch" "muster.dev" "schedulingspecs" "" => "an edit of schedSpec changes nothing";
    true "delete" "muster.dev" "schedulingspecs" "" => "SchedulingSpecs of QueueJobs that are gone stay for a while";
    false "create" "sparkoperator.k8s.io" "sparkapplications" "" => "BatchJobs with a SparkApplication do not start";
    false "delete" "sparkoperator.k8s.io" "sparkapplications" "" => "BatchJobs with a SparkApplication are not let go";
    false "create" "flink.apache.org" "flinkdeployments" "" => "BatchJobs with a FlinkDeployment do not start";
    false "delete" "flink.apache.org" "flinkdeployments" "" => "BatchJobs with a FlinkDeployment are not let go";
}

/// The rights that are asked for, each as its verb, group and resource, with the subresource behind a slash: what
/// is written down elsewhere is compared with them.
pub fn rights() -> impl Iterator<Item = (&'static str, &'static str, String)> {
    RIGHTS.iter().map(|right| {
        let slash = if right.subresource.is_empty() {
            ""
        } else {
            "/"
        };
        let resource = format!("{}{slash}{}", right.resource, right.subresource);
        (right.verb, right.group, resource)
    })
}

/// Asks again and again, for ever, for what the scheduler needs.
pub async fn keep_checking(client: Client, health: Arc<Health>) {
    keep_checking_of(client, health, RIGHTS, None).await;
}

/// The same for what the controllers need: of pods in the namespace of the ghosts; elsewhere QueueJobs alone need them.
pub async fn keep_checking_controllers(client: Client, health: Arc<Health>, namespace: String) {
    keep_checking_of(client, health, OF_CONTROLLERS, Some(namespace)).await;
}

async fn keep_checking_of(
    client: Client,
    health: Arc<Health>,
    rights: &'static [Right],
    namespace: Option<String>,
) {
    let reviews = Api::<SelfSubjectAccessReview>::all(client);
    let mut said = BTreeSet::new();
    loop {
        let denied = match denied(&reviews, rights, namespace.as_deref()).await {
            Ok(denied) => denied,
            Err(error) => {
                tracing::debug!(error = error_text::request(&error), "rights are not known");
                sleep(EVERY_WHILE_MISSING).await;
                continue;
            }
        };
        let [needed, others] = denied;
        let all: BTreeSet<String> = needed.union(&others).cloned().collect();
        let complete = all.is_empty();
        log(&said, &all);
        said = all;
        health.set_denied(needed, others);
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

/// The rights that we do not have: the needed ones, and the others.
async fn denied(
    reviews: &Api<SelfSubjectAccessReview>,
    rights: &[Right],
    namespace: Option<&str>,
) -> kube::Result<[BTreeSet<String>; 2]> {
    let mut denied = [BTreeSet::new(), BTreeSet::new()];
    for right in rights {
        let filled = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let review = SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                resource_attributes: Some(ResourceAttributes {
                    namespace: namespace
                        .filter(|_| right.resource == "pods" && right.needed)
                        .map(str::to_owned),
                    verb: filled(right.verb),
                    group: filled(right.group),
                    resource: filled(right.resource),
                    subresource: filled(right.subresource),
                    ..ResourceAttributes::default()
                }),
                ..SelfSubjectAccessReviewSpec::default()
            },
            ..SelfSubjectAccessReview::default()
        };
        let answer = reviews.create(&PostParams::default(), &review).await?;
        if !answer.status.is_some_and(|status| status.allowed) {
            denied[usize::from(!right.needed)].insert(format!(
                "{} ({})",
                right.name(),
                right.without
            ));
        }
    }
    Ok(denied)
}

impl Right {
    /// As an administrator would write it: `create pods/binding`, `patch podgroups.muster.dev/status`.
    fn name(&self) -> String {
        let dot = if self.group.is_empty() { "" } else { "." };
        let slash = if self.subresource.is_empty() { "" } else { "/" };
        let (verb, resource) = (self.verb, self.resource);
        format!(
            "{verb} {resource}{dot}{}{slash}{}",
            self.group, self.subresource
        )
    }
}

#[cfg(test)]
mod tests {
    use super::RIGHTS;
    use std::collections::BTreeSet;

    #[test]
    fn rights_read_as_administrators_write_them() {
        let names: BTreeSet<String> = RIGHTS.iter().map(|right| right.name()).collect();
        assert_eq!(names.len(), RIGHTS.len());
        assert!(names.contains("create pods/binding"));
        assert!(names.contains("patch podgroups.muster.dev/status"));
    }
}
