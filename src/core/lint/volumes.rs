//! No pod is bound before its claims are, nor where a node would attach more than it can.

use super::books::VolumeBook;
use muster_model::{AccessModes, Bind, ClaimKey, PodVolume, Term};
use std::collections::{BTreeMap, BTreeSet};

use super::Note;
use super::account::{Account, Pod};

/// The volumes of a driver that a pod has its node attach.
fn handles<'a>(book: &'a VolumeBook, pod: &'a Pod) -> impl Iterator<Item = (&'a str, &'a str)> {
    let claims = pod.claims();
    let volumes = claims.filter_map(|key| book.volume_of(&key));
    volumes.filter_map(|volume| {
        let handle = volume.handle.as_ref()?;
        Some((handle.driver.as_str(), handle.handle.as_str()))
    })
}

impl Pod {
    /// The claims it names.
    fn claims(&self) -> impl Iterator<Item = ClaimKey> {
        let names = self.volumes.iter().filter_map(PodVolume::claim);
        names.map(|(name, _)| ClaimKey {
            namespace: self.key.namespace.clone(),
            name: name.to_owned(),
        })
    }
}

/// A pod that is bound has its claims bound, alone where they are for one pod, and its node attaches no
/// more volumes of a driver than it says.
pub(super) fn bind(account: &Account, order: &Bind) -> Option<Note> {
    let pod = account.pod(&order.pod)?;
    if pod.volumes.is_empty() {
        return None;
    }
    let book = &account.volumes;
    let what = |words: String| Some(format!("bind of {} to {}: {words}", order.pod, order.node));
    for key in pod.claims() {
        if !book.is_bound(&key) {
            return what(format!("claim {key} is not bound"));
        }
        let alone = book.claims.get(&key).is_some_and(|claim| {
            let modes = claim.modes;
            modes.has(AccessModes::READ_WRITE_ONCE_POD)
        });
        let is_named = pod.volumes.contains(&PodVolume::Claim(key.name.clone()));
        let uses = |other: &&Pod| {
            let has_place = other.node.is_some() || other.ordered.is_some();
            has_place
                && !other.phase.is_terminal()
                && other.key.uid != pod.key.uid
                && other.key.namespace == key.namespace
                && other.volumes.contains(&PodVolume::Claim(key.name.clone()))
        };
        if alone && is_named && account.pods().any(|other| uses(&other)) {
            return what(format!("another pod uses claim {key}, which is for one"));
        }
    }
    for volume in pod.claims().filter_map(|key| book.volume_of(&key)) {
        let labels = account.labels(&order.node)?;
        let holds = |term: &Term| term.matches(&order.node, labels);
        let choices = volume.affinity.as_ref();
        if choices.is_some_and(|terms| !terms.iter().any(holds)) {
            return what(format!("volume {} is not for that node", volume.name));
        }
    }
    let csi = book.csi_nodes.get(&order.node)?;
    let here = |other: &&Pod| {
        let node = other.node.as_ref().or(other.ordered.as_ref());
        node == Some(&order.node) && !other.phase.is_terminal()
    };
    let mut all: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for other in account.pods_on(&order.node).filter(here) {
        for (driver, handle) in handles(book, other) {
            all.entry(driver).or_default().insert(handle);
        }
    }
    for (driver, handle) in handles(book, pod) {
        let used = all.entry(driver).or_default();
        let limit = csi.drivers.get(driver).copied().flatten();
        if used.insert(handle) && limit.is_some_and(|limit| used.len() > limit as usize) {
            return what(format!("more volumes of {driver} than the node attaches"));
        }
    }
    None
}
