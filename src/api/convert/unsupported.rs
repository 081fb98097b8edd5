//! What pods use and this version cannot honour: such a pod waits rather than run in the wrong
//! place. Preferences are no reason to wait.

use crate::api::{conventions, slim};

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
    if let Some(marker) = conventions::unhonoured(pod) {
        found.add(format!(
            "{marker}: this gang convention is not honoured yet"
        ));
    }
    for volume in &spec.volumes {
        for kind in node_bound_kinds(volume) {
            found.add(format!("spec.volumes[{}].{kind}", volume.name));
        }
    }
    if !spec.resource_claims.is_empty() {
        found.add("spec.resourceClaims");
    }
    found
}

/// The kinds of a volume that bind a pod to some nodes, or count against a node's limit.
fn node_bound_kinds(volume: &slim::Volume) -> impl Iterator<Item = &'static str> {
    let source = &volume.source;
    let kinds = [
        ("persistentVolumeClaim", source.persistent_volume_claim),
        ("ephemeral", source.ephemeral),
        ("gcePersistentDisk", source.gce_persistent_disk),
        ("awsElasticBlockStore", source.aws_elastic_block_store),
        ("iscsi", source.iscsi),
        ("rbd", source.rbd),
    ];
    kinds
        .into_iter()
        .filter_map(|(kind, there)| there.map(|_| kind))
}
