//! Putting aside a gang that found no place.

use super::Cycle;
use super::refresh::order_key;
use crate::core::state::{GangId, Stage, Why};

/// Puts a gang aside until something changes that could help it.
pub(super) fn park(cx: &mut Cycle<'_>, gang_id: GangId, mut why: Why) {
    if let Some(gang) = cx.state.gang(gang_id) {
        for plugin in &cx.profile.post_filter {
            if let Some(more) = plugin.post_filter(cx.state, gang) {
                why = Why::new(why.reason, &format!("{} {more}", why.message));
            }
        }
    }
    let key = order_key(cx, gang_id);
    let mark = cx.state.nodes().mark();
    let progress = cx.state.progress_mut(gang_id);
    progress.why = Some(why);
    progress.words_mark = mark;
    cx.agenda.set_stage(cx.state, gang_id, Stage::Parked(key));
}
