//! What is served: the kinds that a scenario may contain, as an API server tells of them.

use crate::columns::{Column, columns_of};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use muster_api::crd;
use muster_api::kinds::{self, Row, Visitor};
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The number of a resource in [`ALL`].
pub(crate) type ResourceId = usize;

/// A kind of objects, as paths and discovery have it.
#[derive(Debug)]
pub(crate) struct Resource {
    /// Empty for the core's.
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) kind: String,
    pub(crate) is_namespaced: bool,
    /// Whether only the playground makes and changes its objects.
    pub(crate) is_read_only: bool,
    short_names: Vec<String>,
    categories: Vec<String>,
    pub(crate) columns: Vec<Column>,
    /// The schema of its objects, where it is ours.
    pub(crate) schema: Option<Value>,
}

/// All of them; our group comes first after the core's, so that kubectl takes `podgroups` for ours.
pub(crate) static ALL: LazyLock<Vec<Resource>> = LazyLock::new(|| {
    let mut watched = Watched {
        definitions: crd::definitions().into(),
        found: Vec::new(),
    };
    kinds::visit(&mut watched);
    let Watched { definitions, found } = watched;
    let rest = definitions.iter().filter(|one| {
        let plural = &one.spec.names.plural;
        let same = |found: &Resource| found.is_ours() && found.plural == *plural;
        !found.iter().any(same)
    });
    let rest: Vec<Resource> = rest.map(Resource::defined).collect();
    let others = OTHERS.iter().map(|(group, version, plural, kind, short)| {
        let short = (!short.is_empty()).then(|| (*short).to_owned());
        Resource {
            group: (*group).to_owned(),
            version: (*version).to_owned(),
            plural: (*plural).to_owned(),
            kind: (*kind).to_owned(),
            is_namespaced: true,
            is_read_only: *plural == "events",
            short_names: Vec::from_iter(short),
            categories: all_if(*plural == "jobs"),
            columns: columns_of(plural, None),
            schema: None,
        }
    });
    let mut all: Vec<Resource> = found.into_iter().chain(others).chain(rest).collect();
    all.sort_by_key(|one| match one.group.as_str() {
        "" => 0,
        "muster.dev" => 1,
        _ => 2,
    });
    all
});

/// What is served beside what Muster watches: group, version, plural, kind and short name.
const OTHERS: [(&str, &str, &str, &str, &str); 4] = [
    ("batch", "v1", "jobs", "Job", ""),
    ("", "v1", "configmaps", "ConfigMap", "cm"),
    ("", "v1", "serviceaccounts", "ServiceAccount", "sa"),
    ("", "v1", "events", "Event", "ev"),
];

/// Short names of Kubernetes' kinds.
const SHORT: [(&str, &str); 11] = [
    ("services", "svc"),
    ("replicationcontrollers", "rc"),
    ("replicasets", "rs"),
    ("statefulsets", "sts"),
    ("pods", "po"),
    ("nodes", "no"),
    ("namespaces", "ns"),
    ("priorityclasses", "pc"),
    ("poddisruptionbudgets", "pdb"),
    ("persistentvolumeclaims", "pvc"),
    ("persistentvolumes", "pv"),
];

fn all_if(is_so: bool) -> Vec<String> {
    Vec::from_iter(is_so.then(|| "all".to_owned()))
}

/// Collects what is watched.
struct Watched {
    definitions: Vec<CustomResourceDefinition>,
    found: Vec<Resource>,
}

impl Visitor for Watched {
    fn visit<R: Row>(&mut self) {
        let (group, plural) = (R::group(&()), R::plural(&()));
        let defined = self.definitions.iter().find(|one| {
            let spec = &one.spec;
            spec.group == group && spec.names.plural == plural
        });
        if let Some(definition) = defined {
            return self.found.push(Resource::defined(definition));
        }
        let short = SHORT
            .iter()
            .find(|(of, _)| group != "scheduling.volcano.sh" && *of == plural);
        self.found.push(Resource {
            is_namespaced: R::is_namespaced(),
            is_read_only: false,
            short_names: short.iter().map(|(_, short)| (*short).to_owned()).collect(),
            categories: all_if(plural == "pods"),
            columns: columns_of(&plural, None),
            schema: None,
            group: group.into_owned(),
            version: R::version(&()).into_owned(),
            kind: R::kind(&()).into_owned(),
            plural: plural.into_owned(),
        });
    }
}

impl Resource {
    fn defined(definition: &CustomResourceDefinition) -> Self {
        let (spec, names) = (&definition.spec, &definition.spec.names);
        let version = spec.versions.first();
        let schema =
            version.and_then(|version| version.schema.as_ref()?.open_api_v3_schema.as_ref());
        Self {
            group: spec.group.clone(),
            version: version.map(|one| one.name.clone()).unwrap_or_default(),
            plural: names.plural.clone(),
            kind: names.kind.clone(),
            is_namespaced: spec.scope == "Namespaced",
            is_read_only: names.plural == "testbedslices",
            short_names: names.short_names.clone().unwrap_or_default(),
            categories: names.categories.clone().unwrap_or_default(),
            columns: columns_of(&names.plural, version),
            schema: schema.and_then(|schema| serde_json::to_value(schema).ok()),
        }
    }

    /// Whether its kind is one of Muster's.
    pub(crate) fn is_ours(&self) -> bool {
        self.group == "muster.dev"
    }

    /// `v1`, or the group and the version.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            return self.version.clone();
        }
        format!("{}/{}", self.group, self.version)
    }

    /// As kubectl has it in messages: the plural, and the group where it has one.
    pub(crate) fn full_name(&self) -> String {
        let name = format!("{}.{}", self.plural, self.group);
        name.trim_end_matches('.').to_owned()
    }

    /// Its entry in the list of its group.
    pub(crate) fn discovered(&self) -> Value {
        let mut verbs = vec!["get", "list", "watch"];
        if !self.is_read_only {
            verbs.extend(["create", "delete", "patch", "update"]);
        }
        let mut entry = json!({
            "name": self.plural, "singularName": self.kind.to_lowercase(), "namespaced": self.is_namespaced,
            "kind": self.kind, "verbs": verbs,
        });
        if !self.short_names.is_empty() {
            entry["shortNames"] = json!(self.short_names);
        }
        if !self.categories.is_empty() {
            entry["categories"] = json!(self.categories);
        }
        entry
    }
}

/// What names an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id {
    pub(crate) resource: ResourceId,
    /// Empty where its kind is in no namespace.
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Id {
    /// That of an object of a resource.
    pub(crate) fn of(resource: ResourceId, object: &Value) -> Self {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let namespace = if ALL[resource].is_namespaced {
            text("namespace")
        } else {
            ""
        };
        Self {
            resource,
            namespace: namespace.to_owned(),
            name: text("name").to_owned(),
        }
    }

    pub(crate) fn kind(&self) -> &'static Resource {
        &ALL[self.resource]
    }
}

/// The resource of this group, version and plural.
pub(crate) fn find(group: &str, version: &str, plural: &str) -> Option<ResourceId> {
    ALL.iter()
        .position(|one| one.group == group && one.version == version && one.plural == plural)
}

/// The resource of this plural in a group, whatever its version.
pub(crate) fn of_plural(group: &str, plural: &str) -> Option<ResourceId> {
    ALL.iter()
        .position(|one| one.group == group && one.plural == plural)
}

/// The resource of an object's `apiVersion` and `kind`.
pub(crate) fn of_object(object: &Value) -> Option<ResourceId> {
    ALL.iter().position(|one| {
        object["kind"] == one.kind.as_str() && object["apiVersion"] == one.api_version().as_str()
    })
}

/// The groups but the core's, each with its versions, in their order.
pub(crate) fn groups() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for one in ALL.iter().filter(|one| !one.group.is_empty()) {
        let known = groups.iter_mut().find(|(group, _)| *group == one.group);
        match known {
            Some((_, versions)) if versions.contains(&one.version.as_str()) => {}
            Some((_, versions)) => versions.push(&one.version),
            None => groups.push((&one.group, vec![&one.version])),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_resource_is_found_by_its_path_and_by_its_objects() {
        for (id, one) in ALL.iter().enumerate() {
            assert_eq!(
                find(&one.group, &one.version, &one.plural),
                Some(id),
                "{one:?}"
            );
            let object = json!({"apiVersion": one.api_version(), "kind": one.kind});
            assert_eq!(of_object(&object), Some(id), "{one:?}");
        }
    }

    #[test]
    fn kubectl_meets_our_pod_groups_and_queues_before_all_others() {
        for plural in ["podgroups", "queues", "topologies"] {
            let first = ALL.iter().find(|one| one.plural == plural).unwrap();
            assert!(first.is_ours(), "{first:?}");
        }
        assert_eq!(groups()[0].0, "muster.dev");
    }

    #[test]
    fn all_kinds_of_ours_are_in_the_category_and_have_a_schema() {
        let ours: Vec<&Resource> = ALL.iter().filter(|one| one.is_ours()).collect();
        assert_eq!(ours.len(), crd::definitions().len());
        for one in ours {
            assert!(one.categories.contains(&"muster".to_owned()), "{one:?}");
            assert!(one.schema.is_some(), "{one:?}");
        }
    }
}
