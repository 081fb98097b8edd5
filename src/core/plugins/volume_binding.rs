//! `VolumeBinding`: a pod's claims are bound to volumes that the node reaches, or can be.

use crate::framework::{
    Ask, Context, Filter, Mates, Plugin, PreBind, PreBindVerdict, PreFilter, PreFilterVerdict,
    Reason, Refusal, Scope, Spots, Verdict,
};
use crate::state::{ClusterState, NodeId, Shape, VolumeSource};
use muster_model::units::Millis;
use muster_model::{ClaimKey, ClaimRef, Point, Reach, VOLUME_BINDING, VolumeDeed, VolumeTask};
use std::collections::BTreeMap;

/// Refuses pods whose claims are missing, lost, being deleted or not bound though they should be, and
/// filters out nodes from which a bound volume is not reached, or on which there is no volume for a
/// claim that waits for a pod and none can be made. Before the bind it has the claims bound (source:
/// kube-scheduler's plugin of this name).
#[derive(Debug)]
pub(super) struct VolumeBinding {
    /// How long binding the claims of a decision may take.
    pub(super) at_most: Millis,
}

/// As long as kube-scheduler waits.
pub(super) const BIND_TIMEOUT: Millis = Millis(600_000);

impl Default for VolumeBinding {
    fn default() -> Self {
        Self {
            at_most: BIND_TIMEOUT,
        }
    }
}

impl Plugin for VolumeBinding {
    fn name(&self) -> &'static str {
        VOLUME_BINDING
    }
}

impl PreFilter for VolumeBinding {
    fn concerns(&self, shape: &Shape) -> bool {
        let needs = shape.volumes.as_ref();
        needs.is_some_and(|needs| needs.refusal.is_some())
    }

    fn pre_filter(&self, cx: &Context<'_>) -> PreFilterVerdict {
        let needs = cx.shape.volumes.as_ref();
        match needs.and_then(|needs| needs.refusal.as_ref()) {
            Some(words) => PreFilterVerdict::Refuse(Reason::Other(words.clone())),
            None => PreFilterVerdict::Continue,
        }
    }
}

impl Filter for VolumeBinding {
    fn scope(&self, shape: &Shape) -> Scope {
        let Some(needs) = &shape.volumes else {
            return Scope::Unconcerned;
        };
        match needs.reach {
            Reach::Cluster => Scope::Cluster,
            Reach::Node => Scope::NodeUsage,
            Reach::Facts => Scope::NodeFacts,
        }
    }

    fn mates(&self, shape: &Shape) -> Mates {
        match shape.volumes.as_ref().map(|needs| needs.reach) {
            None | Some(Reach::Facts) => Mates::Ignored,
            Some(Reach::Node | Reach::Cluster) => Mates::Otherwise,
        }
    }

    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict {
        let Some(needs) = &cx.shape.volumes else {
            return Verdict::Fit;
        };
        if let Some(words) = &needs.refusal {
            return Verdict::Unfit(vec![Reason::Other(words.clone())]);
        }
        let unmet = cx.state.volumes_unmet(needs, cx.pod.gang, node);
        let reasons = [
            (unmet.bound, Reason::VolumeNodeAffinity),
            (unmet.unbound, Reason::NoVolumeToBind),
            (unmet.space, Reason::NoStorage),
            (unmet.gone, Reason::VolumeGone),
        ];
        let reasons = reasons.into_iter().filter(|(holds, _)| *holds);
        let reasons: Vec<Reason> = reasons.map(|(_, reason)| reason).collect();
        if reasons.is_empty() {
            Verdict::Fit
        } else {
            Verdict::Unfit(reasons)
        }
    }

    fn room(&self, cx: &Context<'_>, node: NodeId) -> u32 {
        match self.check(cx, node) {
            Verdict::Fit => u32::MAX,
            Verdict::Unfit(_) => 0,
        }
    }
}

impl PreBind for VolumeBinding {
    /// What was chosen is written outside, and waited for until the claims are bound. It is not undone
    /// where the decision comes to nothing: what is being made for a claim is the claim's.
    fn pre_bind(&self, spots: &Spots<'_>) -> PreBindVerdict {
        let volumes = spots.state.volumes();
        if volumes.is_empty() {
            return PreBindVerdict::Agree;
        }
        let (mut tasks, mut users) = (BTreeMap::new(), Vec::new());
        for spot in spots.iter() {
            let Some(pod) = spot.pod_id() else {
                continue;
            };
            let unbound = volumes.unbound(pod);
            if unbound.is_empty() {
                continue;
            }
            let refused = || PreBindVerdict::Refuse(Refusal::of(&spot, Reason::NoVolumeToBind));
            if !volumes.has_chosen(pod) {
                return refused();
            }
            for claim in unbound {
                let Some(task) = task(spots.state, claim) else {
                    return refused();
                };
                // Several may use one.
                tasks.insert(claim.clone(), task);
            }
            users.push(spot);
        }
        if users.is_empty() {
            return PreBindVerdict::Agree;
        }
        let tasks: Vec<VolumeTask> = tasks.into_values().collect();
        let (payload, point) = (VolumeTask::write(&tasks), Point::PreBind);
        let ask = Ask::of_plugin(VOLUME_BINDING, point, payload, self.at_most);
        PreBindVerdict::Ask(ask.about(users))
    }
}

/// What is to be written for a claim, by what was chosen for it.
fn task(state: &ClusterState, claim: &ClaimKey) -> Option<VolumeTask> {
    let volumes = state.volumes();
    let (found, chosen) = (volumes.claim(claim)?, volumes.chosen(claim)?);
    let deed = match &chosen.source {
        VolumeSource::Volume(name) => VolumeDeed::Reserve(name.clone()),
        VolumeSource::Made(_) => VolumeDeed::Select(state.nodes().name(chosen.node).to_owned()),
        VolumeSource::Known => return None,
    };
    let (key, uid) = (claim.clone(), found.uid.clone());
    let claim = ClaimRef { key, uid };
    Some(VolumeTask { claim, deed })
}
