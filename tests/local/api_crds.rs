//! The manifests in `crds/` are those that the source defines.
//!
//! To regenerate them: `MUSTER_UPDATE=1 cargo test --test local api_crds`.

use kube::CustomResourceExt;
use muster::api::crd;
use std::fs;
use std::path::Path;

#[test]
fn the_manifests_are_those_of_the_source() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
    let manifests = crd::manifests().unwrap();
    let update = std::env::var_os("MUSTER_UPDATE").is_some();
    for (name, yaml) in &manifests {
        let path = folder.join(name);
        if update {
            fs::write(&path, yaml).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == *yaml,
            "crds/{name} is out of date; regenerate it: MUSTER_UPDATE=1 cargo test --test local api_crds"
        );
    }
    let files = fs::read_dir(&folder).unwrap().count();
    assert_eq!(
        files,
        manifests.len(),
        "crds/ has files that no definition makes"
    );
}

#[test]
fn the_manifests_read_back_as_they_were_written() {
    let manifests = crd::manifests().unwrap();
    for crd in [crd::PodGroup::crd(), crd::Queue::crd()] {
        let name = format!("muster.dev_{}.yaml", crd.spec.names.plural);
        let (_, yaml) = manifests.iter().find(|(one, _)| *one == name).unwrap();
        let read: serde_json::Value = serde_saphyr::from_str(yaml).unwrap();
        assert_eq!(read, serde_json::to_value(crd).unwrap(), "{name}");
    }
}
