//! The Lease as an object: what the election reads in it, and what it has written.
//!
//! The rest of the object (labels, annotations, what others keep in it) is written back as it was.

use super::election::{DURATION, Record};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use muster_model::units::Millis;

/// What the election is told of it.
pub(super) fn record(lease: &Lease) -> Record {
    let spec = lease.spec.as_ref();
    let holder = spec.and_then(|spec| spec.holder_identity.clone());
    let seconds = spec.and_then(|spec| spec.lease_duration_seconds);
    let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
    Record {
        uid: lease.metadata.uid.clone().unwrap_or_default(),
        version: lease.metadata.resource_version.clone().unwrap_or_default(),
        // Who gives it back may leave the name away, or leave it empty.
        holder: holder.filter(|holder| !holder.is_empty()),
        duration: seconds.map_or(Millis(0), Millis::from_secs),
    }
}

/// The Lease that follows `before` (if there is one), written for `holder` at this time.
pub(super) fn next(before: Option<&Lease>, holder: Option<&str>, now: Timestamp) -> Lease {
    let mut lease = before.cloned().unwrap_or_default();
    lease.metadata.managed_fields = None;
    let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
    if let Some(holder) = holder
        && spec.holder_identity.as_deref() != Some(holder)
    {
        spec.acquire_time = Some(MicroTime(now));
        let transitions = spec.lease_transitions.unwrap_or_default();
        spec.lease_transitions = Some(transitions.saturating_add(1));
    }
    spec.holder_identity = holder.map(str::to_owned);
    spec.renew_time = Some(MicroTime(now));
    spec.lease_duration_seconds = i32::try_from(DURATION.0 / 1_000).ok();
    lease
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn lease(spec: &Value) -> Lease {
        let object = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": "muster", "namespace": "n", "uid": "u1", "resourceVersion": "7",
                "labels": {"kept": "yes"},
                "managedFields": [{"manager": "kubectl", "operation": "Update"}],
            },
            "spec": spec,
        });
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn a_record_is_read_whatever_is_missing_or_odd() {
        let held = record(&lease(
            &json!({"holderIdentity": "a", "leaseDurationSeconds": 15}),
        ));
        assert_eq!((held.uid.as_str(), held.version.as_str()), ("u1", "7"));
        assert_eq!(held.holder.as_deref(), Some("a"));
        assert_eq!(held.duration, Millis(15_000));
        let free = record(&lease(
            &json!({"holderIdentity": "", "leaseDurationSeconds": -4}),
        ));
        assert_eq!((free.holder, free.duration), (None, Millis(0)));
        assert_eq!(record(&Lease::default()).holder, None);
    }

    #[test]
    fn a_renewal_keeps_what_others_put_there_and_counts_no_change_of_hands() {
        let now: Timestamp = "2026-01-01T00:00:05Z".parse().unwrap();
        let then = "2026-01-01T00:00:00.000000Z";
        let held = json!({
            "holderIdentity": "a", "leaseDurationSeconds": 6, "leaseTransitions": 3,
            "acquireTime": then, "renewTime": then,
        });
        let renewed = serde_json::to_value(next(Some(&lease(&held)), Some("a"), now)).unwrap();
        assert_eq!(renewed["metadata"]["labels"]["kept"], "yes");
        assert_eq!(renewed["metadata"]["resourceVersion"], "7");
        assert_eq!(renewed["metadata"]["uid"], "u1");
        assert_eq!(renewed["metadata"]["managedFields"], Value::Null);
        assert_eq!(renewed["spec"]["leaseTransitions"], 3);
        assert_eq!(renewed["spec"]["acquireTime"], then);
        let at = "2026-01-01T00:00:05.000000Z";
        assert_eq!(renewed["spec"]["renewTime"], at);
        let taken = serde_json::to_value(next(Some(&lease(&held)), Some("b"), now)).unwrap();
        assert_eq!(taken["spec"]["holderIdentity"], "b");
        assert_eq!(taken["spec"]["leaseTransitions"], 4);
        assert_eq!(taken["spec"]["acquireTime"], at);
        let free = serde_json::to_value(next(Some(&lease(&held)), None, now)).unwrap();
        assert_eq!(free["spec"]["holderIdentity"], Value::Null);
        assert_eq!(free["spec"]["leaseTransitions"], 3);
    }
}
