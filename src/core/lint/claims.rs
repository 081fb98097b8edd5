//! Room that others leave for somebody, or that is held for members that are not there yet, is nobody else's.

use super::Note;
use super::account::Account;
use muster_model::{ClaimNews, GangKey, PodKey};

/// Takes down which claims there are.
pub(super) fn take_down(account: &mut Account, news: &ClaimNews) {
    for (pod, node) in &news.nominated {
        account.change(pod, |pod| pod.nominated.clone_from(node));
    }
    for (gang, on) in &news.held {
        account.claims_held.hold(gang, on);
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
        // The room of a pod that claims a slot is its slot's.
        let nominated = || {
            let on = account.nominated_on(node);
            on.filter(|one| one.claim.is_none())
        };
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
