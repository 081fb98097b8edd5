//! `NodeVolumeLimits`: a node attaches so many volumes of a driver and no more.

use crate::framework::{Context, Filter, Plugin, Reason, Scope, Verdict};
use crate::state::{NodeId, Shape};

/// Filters out nodes whose CSINode says that a driver can attach fewer volumes than there would be,
/// and nodes without a driver that has to be there (source: kube-scheduler's plugin of this name).
#[derive(Debug)]
pub(super) struct NodeVolumeLimits;

impl Plugin for NodeVolumeLimits {
    fn name(&self) -> &'static str {
        "NodeVolumeLimits"
    }
}

impl Filter for NodeVolumeLimits {
    fn scope(&self, shape: &Shape) -> Scope {
        match &shape.volumes {
            Some(needs) if !needs.attaches.is_empty() => Scope::NodeUsage,
            _ => Scope::Unconcerned,
        }
    }

    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict {
        let Some(needs) = &cx.shape.volumes else {
            return Verdict::Fit;
        };
        match cx.state.volumes_attachable(needs, node) {
            Err(driver) => Verdict::Unfit(vec![Reason::DriverMissing(driver)]),
            Ok(pods) => Verdict::fit_unless(pods == 0, Reason::TooManyVolumes),
        }
    }

    fn room(&self, cx: &Context<'_>, node: NodeId) -> u32 {
        let Some(needs) = &cx.shape.volumes else {
            return u32::MAX;
        };
        let pods = cx.state.volumes_attachable(needs, node).unwrap_or(0);
        let shared = needs.attaches.iter().any(|one| one.handle.is_some());
        // Those who share a volume need it attached once.
        if shared && pods > 0 { u32::MAX } else { pods }
    }
}
