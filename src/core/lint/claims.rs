//! Room that others leave for somebody, or that is held for members that are not there yet, is nobody else's.

use super::Note;
use super::account::Account;
use muster_model::{ClaimNews, GangKey, PodKey};
use std::collections::{BTreeMap, BTreeSet};

/// Takes down which claims there are.
pub(super) fn take_down(account: &mut Account, news: &ClaimNews) {
    for (pod, node) in &news.nominated {
        account.change(pod, |pod| pod.nominated.clone_from(node));
    }
    for (gang, on) in &news.held {
        account.claims_held.hold(gang, on);
    }
}

/// What is held for gangs, by node.
#[derive(Clone, Debug, Default)]
pub(super) struct ClaimsHeld {
    on: BTreeMap<String, BTreeMap<GangKey, BTreeMap<String, i64>>>,
    nodes_of: BTreeMap<GangKey, BTreeSet<String>>,
}

impl ClaimsHeld {
    fn hold(&mut self, gang: &GangKey, on: &[(String, Vec<(String, i64)>)]) {
        self.forget(gang);
        for (node, amounts) in on {
            let here = self.on.entry(node.clone()).or_default();
            here.insert(gang.clone(), amounts.iter().cloned().collect());
            let nodes = self.nodes_of.entry(gang.clone()).or_default();
            nodes.insert(node.clone());
        }
    }

    /// A gang has none any more.
    pub(super) fn forget(&mut self, gang: &GangKey) {
        for node in self.nodes_of.remove(gang).unwrap_or_default() {
            if let Some(here) = self.on.get_mut(&node) {
                here.remove(gang);
                if here.is_empty() {
                    self.on.remove(&node);
                }
            }
        }
    }

    fn on(&self, node: &str) -> impl Iterator<Item = (&GangKey, &BTreeMap<String, i64>)> {
        self.on.get(node).into_iter().flatten()
    }
}

/// Nobody is placed on what is claimed by another: those who stay on a node and what is claimed there are no
/// more than it offers, of what those who are placed request.
pub(super) fn respected(account: &Account, taken: &[(&PodKey, &str)]) -> Vec<Note> {
    let mut notes = Vec::new();
    for (key, node) in taken {
        let Some(pod) = account.pod(key) else {
            continue;
        };
        let nominated = || account.nominated_on(node);
        let claim = |resource: &str| {
            let held = account.claims_held.on(node);
            let held = held.map(|(gang, on)| (gang, on.get(resource).copied().unwrap_or(0)));
            let all = nominated().map(|one| (&one.gang, one.requests(resource)));
            let all = all.chain(held).filter(|(_, amount)| *amount > 0);
            all.map(|(gang, amount)| (gang.clone(), amount)).collect()
        };
        let over = pod.amounts().find_map(|(resource, _)| {
            let claims: Vec<(GangKey, i64)> = claim(resource);
            let (whose, _) = claims.iter().find(|(gang, _)| *gang != pod.gang)?;
            let staying = account.staying_on(node, resource);
            let claimed: i128 = claims.iter().map(|(_, amount)| i128::from(*amount)).sum();
            let offered = account.offers(node, resource);
            (staying + claimed > offered).then(|| {
                format!(
                    "{key} is placed on {node}, where {claimed} of {offered} {resource} are claimed, by \
                     gang {whose} among others, and {staying} stay in use"
                )
            })
        });
        notes.extend(over);
    }
    notes
}
