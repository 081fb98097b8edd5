//! What gangs say of plugins that hold or refuse them.

use super::{Sentence, read_all};
use crate::live::Cluster;
use muster::core::framework::{
    Ask, BindVerdict, Binder, Permit, PermitVerdict, Plugin, PreBind, PreBindVerdict, Reason,
    Refusal, Spot, Spots, WaitingGangs,
};
use muster::model::Point;
use muster::model::units::{Millis, Time};
use std::sync::Arc;

/// What they wait for.
pub(crate) const WAITING: &[Sentence] = &[
    Sentence {
        kind: "Scheduled",
        reason: "Rejected",
        gang: "rejected",
        message: "pod rejected-0 on node node-0: Doorman: not in these shoes",
    },
    Sentence {
        kind: "Scheduled",
        reason: "PermitTimedOut",
        gang: "late",
        message: "the time to permit the placement ran out: Doorman held pod late-0 on node node-0",
    },
    Sentence {
        kind: "Scheduled",
        reason: "NoBinder",
        gang: "unbound",
        message: "no bind plugin took the pod",
    },
    Sentence {
        kind: "Scheduled",
        reason: "Held",
        gang: "held",
        message: "places are found, and Permit plugin Doorman holds them: pod held-0",
    },
    Sentence {
        kind: "Scheduled",
        reason: "NoAnswer",
        gang: "unanswered",
        message: "pod unanswered-0 on node node-0: Doorman gave no answer: nobody answers for Doorman",
    },
];

/// What else they say.
pub(crate) const CONDITIONS: &[Sentence] = &[Sentence {
    kind: "Scheduled",
    reason: "Held",
    gang: "held",
    message: "places are found, and Permit plugin Doorman holds them: pod held-0 on node node-0",
}];

/// Does with a pod what its name says.
struct Doorman {
    binder: Arc<dyn Binder>,
}

impl Plugin for Doorman {
    fn name(&self) -> &'static str {
        "Doorman"
    }
}

impl Permit for Doorman {
    fn permit(&self, spots: &Spots<'_>, _: Time, _: &mut WaitingGangs) -> PermitVerdict {
        let Some(spot) = spots.iter().next() else {
            return PermitVerdict::Allow;
        };
        match spot.pod.name.as_str() {
            "rejected-0" => {
                let reason = Reason::Other("not in these shoes".to_owned());
                PermitVerdict::Deny(Refusal::of(&spot, reason))
            }
            "late-0" => PermitVerdict::Wait(Millis(500)),
            "held-0" => PermitVerdict::Wait(Millis(600_000)),
            _ => PermitVerdict::Allow,
        }
    }
}

impl PreBind for Doorman {
    fn pre_bind(&self, spots: &Spots<'_>) -> PreBindVerdict {
        let asks = spots.iter().any(|spot| spot.pod.name == "unanswered-0");
        let ask = || Ask::of_plugin("Doorman", Point::PreBind, String::new(), Millis(5_000));
        if asks {
            PreBindVerdict::Ask(ask())
        } else {
            PreBindVerdict::Agree
        }
    }
}

impl Binder for Doorman {
    fn bind(&self, spot: &Spot<'_>) -> BindVerdict {
        if spot.pod.name == "unbound-0" {
            BindVerdict::Skip
        } else {
            self.binder.bind(spot)
        }
    }
}

#[test]
fn gangs_say_which_plugin_does_not_let_them_through() {
    let cluster = Cluster::start();
    cluster.nodes(1, "8");
    let muster = cluster.muster_with(&cluster.plane.kubeconfig(), None, |options| {
        let profile = &mut options.policy.profile;
        let binder = Arc::clone(&profile.bind[0]);
        let doorman = Arc::new(Doorman { binder });
        profile.permit.push(doorman.clone());
        profile.pre_bind.push(doorman.clone());
        profile.bind = vec![doorman];
    });
    for gang in [
        "rejected",
        "late",
        "unbound",
        "unanswered",
        "held",
        "welcome",
    ] {
        cluster.gang(gang, 1);
        cluster.pods(gang, 1, "1");
    }
    read_all(&cluster, WAITING);
    read_all(&cluster, CONDITIONS);
    assert_eq!(cluster.bound("welcome"), 1, "the others are let through");
    muster.stop();
}
