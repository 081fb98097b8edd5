//! Whether somebody may be on nodes that are kept whole for another: by what PodGroups, pods and queues
//! say of lifetimes.

use super::Note;
use super::account::Account;
use muster_model::OntoKept;
use muster_model::units::{Millis, Time};

/// Onto nodes that are kept whole for a gang goes who comes before it, who gives way at any time, or
/// whose lifetime ends before that gang is to have them.
pub(super) fn may_be_there(account: &Account, one: &OntoKept, now: Time) -> Option<Note> {
    // Who has bound members is completed, or grows until its own end: when that began is not kept here.
    let gang = account.gangs.get(&one.gang);
    let begins = gang.is_none_or(|gang| gang.everybody().secured() == 0);
    if one.goes_before || !begins {
        return None;
    }
    let until = match account.lifetime(&one.gang) {
        Some(Millis(0)) => return None,
        Some(span) => now + span,
        // Its queue may give it one.
        None if !account.with_lifetimes.is_empty() => return None,
        None => Time(u64::MAX),
    };
    let late = one.at.is_none_or(|at| until > at);
    late.then(|| {
        format!(
            "gang {} is placed on nodes that are kept whole for gang {}, and stays for longer",
            one.gang, one.kept_for
        )
    })
}
