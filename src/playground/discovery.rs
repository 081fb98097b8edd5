//! What clients ask before they ask for anything: which groups, resources and schemas there are.

use crate::resources::{ALL, Resource, groups};
use serde_json::{Map, Value, json};

/// `/version`.
pub(crate) fn version() -> Value {
    json!({
        "major": "1", "minor": "37", "gitVersion": "v1.37.0-muster-playground", "gitCommit": "", "gitTreeState": "",
        "buildDate": "", "goVersion": "", "compiler": "", "platform": "",
    })
}

/// `/api`.
pub(crate) fn core() -> Value {
    json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
}

/// `/apis`.
pub(crate) fn all_groups() -> Value {
    let groups: Vec<Value> = groups().iter().map(entry).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/GROUP`.
pub(crate) fn group(name: &str) -> Option<Value> {
    let mut found = entry(groups().iter().find(|(group, _)| *group == name)?);
    found["kind"] = json!("APIGroup");
    found["apiVersion"] = json!("v1");
    Some(found)
}

fn entry((group, versions): &(&str, Vec<&str>)) -> Value {
    let versions = versions
        .iter()
        .map(|version| json!({"groupVersion": format!("{group}/{version}"), "version": version}));
    let versions: Vec<Value> = versions.collect();
    json!({"name": group, "preferredVersion": versions.first(), "versions": versions})
}

fn of<'a>(group: &'a str, version: &'a str) -> impl Iterator<Item = &'static Resource> + 'a {
    ALL.iter()
        .filter(move |one| one.group == group && one.version == version)
}

/// `/api/v1` and `/apis/GROUP/VERSION`.
pub(crate) fn resources(group: &str, version: &str) -> Option<Value> {
    let found: Vec<Value> = of(group, version).map(Resource::discovered).collect();
    let name = of(group, version).next()?.api_version();
    Some(json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": found,
    }))
}

/// `/openapi/v3`.
pub(crate) fn documents() -> Value {
    let mut paths = Map::new();
    for one in ALL.iter() {
        let path = path(one);
        let at = json!({"serverRelativeURL": format!("/openapi/v3/{path}?hash={}", env!("CARGO_PKG_VERSION"))});
        paths.insert(path, at);
    }
    json!({"paths": paths})
}

fn path(resource: &Resource) -> String {
    let root = if resource.group.is_empty() {
        "api"
    } else {
        "apis"
    };
    format!("{root}/{}", resource.api_version())
}

/// `/openapi/v3/...`: the schemas of our kinds, and of all kinds what may be asked when they are written.
pub(crate) fn document(group: &str, version: &str) -> Option<Value> {
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    for one in of(group, version) {
        let named = json!({"group": one.group, "version": one.version, "kind": one.kind});
        let name = format!(
            "{}.{}.{}",
            one.group.replace('/', "."),
            one.version,
            one.kind
        );
        let name = name.trim_start_matches('.').to_owned();
        let mut schema = one
            .schema
            .clone()
            .unwrap_or_else(|| json!({"type": "object"}));
        schema["x-kubernetes-group-version-kind"] = json!([named]);
        schemas.insert(name.clone(), schema);
        let validation =
            json!([{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}]);
        let body = json!({"content": {"application/json": {"schema": {"$ref": format!("#/components/schemas/{name}")}}}});
        let deed = |verb: &str| {
            json!({
                "x-kubernetes-action": verb, "x-kubernetes-group-version-kind": named, "parameters": validation,
                "responses": {"200": body},
            })
        };
        let space = if one.is_namespaced {
            "/namespaces/{namespace}"
        } else {
            ""
        };
        let all = format!("/{}{space}/{}", path(one), one.plural);
        let single = json!({"get": deed("get"), "put": deed("put"), "patch": deed("patch")});
        paths.insert(format!("{all}/{{name}}"), single);
        paths.insert(all, json!({"get": deed("list"), "post": deed("post")}));
    }
    let info = json!({"title": "Muster's playground", "version": env!("CARGO_PKG_VERSION")});
    (!paths.is_empty()).then(|| {
        json!({"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": schemas}})
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_and_version_that_is_listed_is_served() {
        let listed = all_groups();
        let listed = listed["groups"].as_array().unwrap();
        assert!(listed.len() > 5);
        for one in listed {
            let name = one["name"].as_str().unwrap();
            assert_eq!(group(name).unwrap()["name"], name);
            for version in one["versions"].as_array().unwrap() {
                let version = version["version"].as_str().unwrap();
                assert!(resources(name, version).is_some() && document(name, version).is_some());
            }
        }
        assert!(resources("", "v1").is_some());
        assert!(
            resources("x", "v1").is_none() && group("x").is_none() && document("", "v2").is_none()
        );
    }

    #[test]
    fn what_kubectl_looks_for_before_it_applies_is_there() {
        let document = document("muster.dev", "v1alpha1").unwrap();
        let path = "/apis/muster.dev/v1alpha1/namespaces/{namespace}/podgroups/{name}";
        let patch = &document["paths"][path]["patch"];
        assert_eq!(patch["x-kubernetes-group-version-kind"]["kind"], "PodGroup");
        assert_eq!(patch["parameters"][0]["name"], "fieldValidation");
    }
}
