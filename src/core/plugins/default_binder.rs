//! `DefaultBinder`: binds through the API.

use crate::core::framework::{Binder, Context, Plugin};
use crate::core::model::Bind;
use crate::core::state::NodeId;

/// Binds every pod by `POST pods/binding`.
#[derive(Debug)]
pub(super) struct DefaultBinder;

impl Plugin for DefaultBinder {
    fn name(&self) -> &'static str {
        "DefaultBinder"
    }
}

impl Binder for DefaultBinder {
    fn bind(&self, cx: &Context<'_>, node: NodeId) -> Option<Bind> {
        let node = cx.state.nodes().name(node).to_owned();
        Some(Bind {
            pod: cx.pod.key.clone(),
            node,
        })
    }
}
