//! `VolumeZone`: a volume that is labelled with zones is used there.

use crate::framework::{Context, Filter, Plugin, Reason, Scope, Verdict};
use crate::state::{NodeId, Shape};

/// The labels in question, those of old first.
const ZONE: [(&str, &str); 2] = [
    (
        "failure-domain.beta.kubernetes.io/zone",
        "topology.kubernetes.io/zone",
    ),
    (
        "failure-domain.beta.kubernetes.io/region",
        "topology.kubernetes.io/region",
    ),
];

/// Filters out nodes of other zones or regions than those of a bound volume's labels. A node without
/// any such label is in all of them (source: kube-scheduler's plugin of this name).
#[derive(Debug)]
pub(super) struct VolumeZone;

impl Plugin for VolumeZone {
    fn name(&self) -> &'static str {
        "VolumeZone"
    }
}

impl Filter for VolumeZone {
    fn scope(&self, shape: &Shape) -> Scope {
        let places = shape.volumes.iter().flat_map(|needs| &needs.places);
        if places.clone().any(|place| !place.zones.is_empty()) {
            Scope::NodeFacts
        } else {
            Scope::Unconcerned
        }
    }

    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict {
        let Some(needs) = &cx.shape.volumes else {
            return Verdict::Fit;
        };
        let labels = &cx.state.nodes().facts(node).labels;
        let mut known = ZONE.iter().flat_map(|(old, new)| [old, new]);
        if !known.any(|key| labels.contains_key(*key)) {
            return Verdict::Fit;
        }
        let elsewhere = |(key, values): &(String, Vec<String>)| {
            let new = ZONE.iter().find(|(old, _)| old == key);
            let value = labels
                .get(key)
                .or_else(|| labels.get(new.map_or(key.as_str(), |(_, new)| new)));
            value.is_none_or(|value| !values.contains(value))
        };
        let mut zones = needs.places.iter().flat_map(|place| &place.zones);
        Verdict::fit_unless(zones.any(elsewhere), Reason::VolumeZone)
    }
}
