//! The pods of the worlds in which faults happen: what those of one gang have in common, and how they
//! behave.

use crate::small::company::{APP, SORTS, company};
use crate::small::lot::Lot;
use crate::small::{self, GPU, NS, RACK, TAINT};
use muster::model::plain::{evenly, who_says};
use muster::model::units::Millis;
use muster::model::{
    HostPort, LabelSelector, PodLabels, ProfileId, SpreadRule, Toleration, TolerationOperator,
};
use muster::sim::random::Random;
use muster::sim::scenario::{OnEviction, PodPlan, Run};

/// What pods of which only some may go say in their label `app`.
const DB: &str = "db";

/// Chooses pods of app `db`.
pub(crate) fn db() -> LabelSelector {
    who_says(APP, DB)
}

/// A pod that is made again when it is told to go.
pub(crate) fn pod(
    name: String,
    group: Option<&str>,
    cpu: u64,
    duration: Option<Millis>,
) -> PodPlan {
    let mut spec = small::pod(name, group, i64::try_from(cpu).unwrap());
    // The API server gives it one.
    spec.key.uid.clear();
    PodPlan {
        spec,
        run: Run {
            duration,
            on_eviction: OnEviction::Requeue,
            ..Run::default()
        },
        ..PodPlan::default()
    }
}

/// How long a pod runs; some run for ever.
pub(crate) fn duration(random: &mut Random) -> Option<Millis> {
    random
        .per_mille(600)
        .then(|| Millis(500 + random.below(15_000)))
}

/// What all pods of a gang have in common besides their size.
pub(crate) fn habits(random: &mut Random) -> impl Fn(&mut PodPlan) + use<> {
    let (tolerates, takes_port) = (random.per_mille(400), random.per_mille(150));
    let profile = ProfileId(u8::from(random.per_mille(300)));
    let unsaid = if random.per_mille(300) { 100 } else { 0 };
    let app = random
        .per_mille(400)
        .then(|| (APP.to_owned(), DB.to_owned()));
    // A label that no other gang has.
    let set = ("set".to_owned(), random.below(1 << 32).to_string());
    let company = company(random.below(SORTS), ("set", &set.1), [DB; 3]);
    let spread = spread(random, app.is_some());
    let prefers = unsaid > 0;
    // Some take long to leave a node.
    let slowly = random.per_mille(200);
    let stops_in = if slowly {
        Millis(random.below(20_000))
    } else {
        Millis(0)
    };
    let gpus = random.per_mille(120).then(|| (GPU.to_owned(), 1));
    move |plan| {
        plan.run.stops_in = stops_in;
        let labels = app.clone().into_iter().chain([set.clone()]);
        plan.spec.labels = PodLabels::new(&labels.collect());
        let shape = &mut plan.spec.shape;
        shape.requests.extend(gpus.clone());
        shape.pods = company.clone();
        if prefers {
            shape.preferences.spread.clone_from(&spread);
        } else {
            shape.spread.clone_from(&spread);
        }
        shape.constraints.profile = profile;
        shape.preferences.unsaid = [unsaid, 0];
        if tolerates {
            shape.constraints.tolerations = vec![Toleration {
                key: TAINT.to_owned(),
                operator: TolerationOperator::Exists,
                ..Toleration::default()
            }];
        }
        if takes_port {
            shape.host_ports = vec![HostPort {
                port: 80,
                ..HostPort::default()
            }];
        }
    }
}

/// Over the racks, of which there are three at most, for some: pods of app `db` are counted.
fn spread(random: &mut Random, counts_itself: bool) -> Vec<SpreadRule> {
    if !random.per_mille(250) {
        return Vec::new();
    }
    vec![SpreadRule {
        max_skew: 1 + random.count(2),
        min_domains: 1 + random.count(2),
        counts_itself,
        honors_taints: random.per_mille(500),
        ..evenly(NS, db(), RACK)
    }]
}
