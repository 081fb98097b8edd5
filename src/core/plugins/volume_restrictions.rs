//! `VolumeRestrictions`: disks and claims that one pod at a time may use.

use crate::framework::{Context, Filter, Plugin, Reason, Scope, Verdict};
use crate::state::{NodeId, Shape};

/// Filters out nodes on which a disk that the pod names is mounted, where both cannot be, and all
/// nodes while another pod uses a claim of access mode ReadWriteOncePod (source: kube-scheduler's
/// plugin of this name).
#[derive(Debug)]
pub(super) struct VolumeRestrictions;

impl Plugin for VolumeRestrictions {
    fn name(&self) -> &'static str {
        "VolumeRestrictions"
    }
}

impl Filter for VolumeRestrictions {
    fn scope(&self, shape: &Shape) -> Scope {
        match &shape.volumes {
            Some(needs) if !needs.alone.is_empty() => Scope::Cluster,
            Some(needs) if !needs.disks.is_empty() => Scope::NodeUsage,
            _ => Scope::Unconcerned,
        }
    }

    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict {
        let Some(needs) = &cx.shape.volumes else {
            return Verdict::Fit;
        };
        if cx.state.disks_conflict(needs, node) {
            return Verdict::Unfit(vec![Reason::DiskConflict]);
        }
        let mut claims = needs.alone.iter();
        let in_use = claims.any(|claim| cx.state.volumes().is_in_use(claim));
        Verdict::fit_unless(in_use, Reason::ClaimInUse)
    }

    fn room(&self, cx: &Context<'_>, node: NodeId) -> u32 {
        match (self.check(cx, node), &cx.shape.volumes) {
            (Verdict::Unfit(_), _) => 0,
            (Verdict::Fit, Some(needs)) if !needs.alone.is_empty() => 1,
            (Verdict::Fit, _) => u32::MAX,
        }
    }
}
