//! `DefaultBinder`: binds through the API.

use crate::framework::{BindVerdict, Binder, Plugin, Spot};

/// Binds every pod by `POST pods/binding`.
#[derive(Debug)]
pub(super) struct DefaultBinder;

impl Plugin for DefaultBinder {
    fn name(&self) -> &'static str {
        "DefaultBinder"
    }
}

impl Binder for DefaultBinder {
    fn bind(&self, _: &Spot<'_>) -> BindVerdict {
        BindVerdict::Bind
    }
}
