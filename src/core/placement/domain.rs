//! Where a gang, and where a pod may go at all.

use crate::framework::{Context, PreFilterVerdict, Profile};
use crate::state::{ClusterState, GangId, NodeSet};
use std::borrow::Cow;

/// Where the members of a gang may go.
#[derive(Clone, Debug)]
pub(super) enum Domain {
    Everywhere,
    Only(NodeSet),
}

impl Domain {
    /// The nodes it is restricted to.
    pub(super) const fn nodes(&self) -> Option<&NodeSet> {
        match self {
            Self::Everywhere => None,
            Self::Only(nodes) => Some(nodes),
        }
    }

    /// What of it is among these nodes, too.
    pub(super) fn inside(self, among: Option<&NodeSet>) -> Self {
        match (self, among) {
            (Self::Everywhere, None) => Self::Everywhere,
            (Self::Everywhere, Some(among)) => Self::Only(among.clone()),
            (Self::Only(nodes), None) => Self::Only(nodes),
            (Self::Only(mut nodes), Some(among)) => {
                nodes.intersect(among);
                Self::Only(nodes)
            }
        }
    }
}

/// The nodes that come into question for a pod: `Some(None)` where all do, `None` where none does.
pub(super) fn narrow<'a>(
    profile: &Profile,
    cx: &Context<'_>,
    domain: &'a Domain,
) -> Option<Option<Cow<'a, NodeSet>>> {
    let mut among = match domain {
        Domain::Everywhere => None,
        Domain::Only(nodes) => Some(Cow::Borrowed(nodes)),
    };
    for plugin in profile.asked_first(cx.shape) {
        match plugin.pre_filter(cx) {
            PreFilterVerdict::Continue => {}
            PreFilterVerdict::Refuse(_) => return None,
            PreFilterVerdict::Narrow(nodes, _) => match &mut among {
                Some(among) => among.to_mut().intersect(&nodes),
                None => among = Some(Cow::Owned(nodes)),
            },
        }
    }
    if !cx.pod.avoid.is_empty() {
        let all = || Cow::Borrowed(cx.state.nodes().present());
        let mut left = among.unwrap_or_else(all).into_owned();
        cx.pod.avoid.iter().for_each(|node| left.remove(*node));
        among = Some(Cow::Owned(left));
    }
    Some(among)
}

/// The domains that the first plugin with an opinion offers, if one has.
pub(super) fn domains(
    state: &ClusterState,
    profile: &Profile,
    gang: GangId,
) -> Option<Vec<Domain>> {
    let gang = &state[gang];
    let plugins = profile.gang_domains.iter();
    let mut offers = plugins.map(|plugin| plugin.domains(state, gang));
    let offer = offers.find(|domains| !domains.is_empty())?;
    Some(offer.into_iter().map(Domain::Only).collect())
}
