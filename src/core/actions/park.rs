//! Putting aside a gang that found no place.

use super::refresh::order_key;
use super::{Cycle, Outcome};
use crate::core::state::{GangId, Stage, Why};

/// Puts a gang aside until something changes that could help it.
pub(super) fn park(cx: &mut Cycle<'_>, gang_id: GangId, mut why: Why) {
    if let Some(gang) = cx.state.gang(gang_id) {
        for plugin in &cx.profile.post_filter {
            if let Some(more) = plugin.post_filter(cx.state, gang) {
                why.message = format!("{} {more}", why.message);
            }
        }
    }
    let key = order_key(cx, gang_id);
    let news = cx.state.progress(gang_id).why.as_ref() != Some(&why);
    cx.state.progress_mut(gang_id).why = Some(why.clone());
    cx.agenda.set_stage(cx.state, gang_id, Stage::Parked(key));
    if news {
        cx.decide(
            gang_id,
            Outcome::Waits {
                reason: why.reason,
                message: why.message,
            },
        );
    }
}
