//! What pods use and this version cannot honour: such a pod waits rather than run in the wrong
//! place. Preferences are no reason to wait.

use crate::{conventions, slim};

/// Paths of fields that cannot be honoured, with what was found there where that says more.
#[derive(Debug, Default)]
pub(super) struct Unsupported {
    pub(super) paths: Vec<String>,
}

impl Unsupported {
    pub(super) fn add(&mut self, path: impl Into<String>) {
        self.paths.push(path.into());
    }

    pub(super) fn extend(&mut self, paths: Vec<String>) {
        self.paths.extend(paths);
    }
}

/// The fields of a pod whose rules nothing in the core knows yet.
pub(super) fn fields(pod: &slim::Pod) -> Unsupported {
    let spec = &pod.spec;
    let mut found = Unsupported::default();
    if let Some(why) = &pod.unreadable {
        found.add(format!("the pod cannot be read: {why}"));
    }
    if let Some(marker) = conventions::unhonoured(pod) {
        found.add(format!(
            "{marker}: this gang convention is not honoured yet"
        ));
    }
    if !spec.resource_claims.is_empty() {
        found.add("spec.resourceClaims (dynamic resource allocation)");
    }
    found
}
