//! Gangs of a world that their pods define, and PodGroups that are not waited for for ever: some of the gangs
//! that were drawn are written so, without another draw.

use muster::model::units::Millis;
use muster::model::{GangKey, GangRef, GangSpace, GangSpec, Implied, Object};
use muster::sim::scenario::{Entry, Played};
use std::collections::BTreeMap;

/// How the gangs of a world are written, by turns; the others as they were drawn.
const EVERY: usize = 7;
/// For so long a PodGroup is waited for where it is not for ever.
const WAIT: Millis = Millis(1_500);

/// Writes some gangs in another way.
pub(crate) fn rewrite(entries: &mut Vec<Entry>) {
    let turn = entries.len();
    let mut implied = BTreeMap::new();
    for spec in entries.iter().filter_map(podgroup) {
        let way = (turn + implied.len()) % EVERY;
        implied.entry(spec.key.clone()).or_insert(match way {
            0 => Some(Implied {
                min_available: spec.min_available,
                queue: spec.queue.clone(),
                lifetime: spec.lifetime,
                ..Implied::default()
            }),
            1 => Some(Implied {
                after: Some(WAIT),
                ..Implied::default()
            }),
            _ => None,
        });
    }
    implied.retain(|_, implied| implied.is_some());
    let by_pods = |key: &GangKey| {
        let implied = implied.get(key).and_then(Option::as_ref);
        implied.is_some_and(|implied| implied.after.is_none())
    };
    entries.retain(|entry| !podgroup(entry).is_some_and(|spec| by_pods(&spec.key)));
    for entry in entries {
        let (Played::Pod(plan) | Played::PodEdit(plan)) = &mut entry.object else {
            continue;
        };
        let pod = &mut plan.spec;
        let key = pod.gang_key();
        let Some(implied) = implied.get(&key).filter(|_| pod.ours) else {
            continue;
        };
        if by_pods(&key) {
            pod.gang = GangRef::Named {
                space: GangSpace::Pods,
                name: key.name,
            };
        }
        pod.implied = implied.clone().map(Box::new);
    }
}

fn podgroup(entry: &Entry) -> Option<&GangSpec> {
    match &entry.object {
        Played::Plain(Object::Gang(spec)) => Some(spec),
        _ => None,
    }
}
