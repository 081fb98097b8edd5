//! Beside whom pods have to be or may not be, and over what they are spread.

use super::{HOST, NS, RACK};
use muster::model::plain::{beside, evenly, who_says};
use muster::model::{
    LabelCondition, LabelRequirement, LabelSelector, PodRules, PodTerm, SpreadRule, WeightedPodTerm,
};

/// What pods say of themselves that others ask about.
pub(crate) const APP: &str = "app";

/// How many sorts of company there are; some of them are none.
pub(crate) const SORTS: u64 = 18;

/// One of the sorts of company: a pod's own like, by a label and its value, and three other applications.
pub(crate) fn company(sort: u64, own: (&str, &str), others: [&str; 3]) -> PodRules {
    let own = |key: &str| beside(NS, who_says(own.0, own.1), key);
    let other = |index: usize, key: &str| beside(NS, who_says(APP, others[index]), key);
    let (mut near, mut apart, mut preferred) = (Vec::new(), Vec::new(), Vec::new());
    let mut prefer = |weight, term: PodTerm| preferred.push(WeightedPodTerm { weight, term });
    match sort {
        0 => apart.push(own(HOST)),
        1 => apart.push(other(0, RACK)),
        2 => near.push(other(1, RACK)),
        3 => near.push(own(HOST)),
        4 => {
            near.push(own(RACK));
            apart.push(other(2, HOST));
        }
        9 => prefer(5, other(1, RACK)),
        10 => {
            prefer(-9, own(HOST));
            prefer(2, own(HOST));
            prefer(2, other(0, RACK));
        }
        13 => near.push(own(RACK)),
        14 => {
            near.push(own(RACK));
            apart.push(own(HOST));
        }
        16 => prefer(-20, own(HOST)),
        17 => {
            prefer(-3, other(0, HOST));
            prefer(50, own(RACK));
        }
        _ => {}
    }
    PodRules {
        affinity: near,
        anti_affinity: apart,
        preferred,
        draws: true,
    }
}

/// Over racks: all pods that are of some application.
pub(crate) fn all_over_racks() -> SpreadRule {
    let some = LabelRequirement {
        key: APP.to_owned(),
        holds: LabelCondition::Exists,
    };
    let requirements = vec![some];
    evenly(NS, LabelSelector { requirements }, RACK)
}
