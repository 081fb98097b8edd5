//! The oldest way: pods and a SchedulingSpec with one controller are one gang. The SchedulingSpec has the name of
//! that controller, so pods of which it is known that they have one wait for it by that name.

use super::{Convention, Defined};
use crate::names;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use muster_model::{GangRef, GangSpace};
use std::borrow::Cow;

pub(super) const CONVENTION: Convention = Convention {
    mark: "annotation `muster.dev/scheduling-spec`, or a QueueJob that controls the pod",
    space: GangSpace::SchedulingSpec,
    defined: Defined::ByPodGroup,
    name: |pod| name(&pod.metadata).map(Cow::from),
};

/// What its annotation says, or the QueueJob that controls it.
fn name(meta: &ObjectMeta) -> Option<&str> {
    let said = names::filled_annotation(meta, names::SCHEDULING_SPEC);
    said.or_else(|| {
        let controller = names::controller(meta)?;
        let is_one = controller.kind == "QueueJob"
            && controller
                .api_version
                .split_once('/')
                .is_some_and(|(group, _)| group == names::GROUP);
        is_one.then_some(controller.name.as_str())
    })
}

/// The gang of a pod without a mark, where each has to have a SchedulingSpec: that of its controller, else of
/// its own name.
#[must_use]
pub fn required(meta: &ObjectMeta) -> GangRef {
    let name = names::controller(meta).map(|one| one.name.clone());
    GangRef::Named {
        space: GangSpace::SchedulingSpec,
        name: name.or_else(|| meta.name.clone()).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conventions::gang_of;
    use serde_json::{Value, json};

    fn gang(metadata: &Value) -> (GangRef, GangRef) {
        let pod: crate::slim::Pod = serde_json::from_value(json!({"metadata": metadata})).unwrap();
        (gang_of(&pod), required(&pod.metadata))
    }

    fn spec(name: &str) -> GangRef {
        GangRef::Named {
            space: GangSpace::SchedulingSpec,
            name: name.to_owned(),
        }
    }

    fn owned(api_version: &str, kind: &str) -> Value {
        let owner = json!({
            "apiVersion": api_version, "kind": kind, "name": "job", "uid": "u", "controller": true,
        });
        json!({"name": "job-0", "ownerReferences": [owner]})
    }

    #[test]
    fn pods_of_a_queue_job_have_one_and_others_say_so() {
        let queue_job = gang(&owned("muster.dev/v1alpha1", "QueueJob"));
        assert_eq!(queue_job, (spec("job"), spec("job")));
        for (api_version, kind) in [
            ("example.com/v1", "QueueJob"),
            ("v1", "QueueJob"),
            ("muster.dev/v1alpha1", "BatchJob"),
        ] {
            let other = gang(&owned(api_version, kind));
            assert_eq!(other, (GangRef::Own, spec("job")), "{api_version} {kind}");
        }
        let mut said = owned("batch/v1", "Job");
        said["annotations"] = json!({"muster.dev/scheduling-spec": "mine"});
        assert_eq!(gang(&said).0, spec("mine"));
        said["annotations"]["muster.dev/scheduling-spec"] = json!("");
        assert_eq!(gang(&said).0, GangRef::Own);
    }

    #[test]
    fn who_has_no_controller_needs_one_of_its_own_name() {
        assert_eq!(gang(&json!({"name": "bare"})), (GangRef::Own, spec("bare")));
    }
}
