//! Tables: what kubectl prints, made by the server.

use crate::asked::Include;
use crate::resources::Resource;
use muster_model::units::Time;
use serde_json::{Value, json};

/// Whether a client wants tables, by what it accepts first of what is served.
pub(crate) fn wants_table(accept: &str) -> bool {
    let mut kinds = accept.split(',').map(|one| one.replace(' ', ""));
    let json = kinds.find(|one| {
        let mut parts = one.split(';');
        let is_json = matches!(parts.next(), Some("application/json" | "*/*"));
        // Other forms of JSON, such as discovery in one piece, are not served.
        is_json && parts.all(|part| !part.starts_with("as=") || part == "as=Table")
    });
    json.is_some_and(|one| one.split(';').any(|part| part == "as=Table"))
}

/// A table of objects.
pub(crate) fn table<'a>(
    resource: &Resource,
    objects: impl Iterator<Item = &'a Value>,
    include: Include,
    now: Time,
    version: u64,
) -> Value {
    let columns = &resource.columns;
    let row = |object: &Value| {
        let cells = columns.iter().map(|column| column.cell(object, now));
        let cells: Vec<Value> = cells.collect();
        json!({"cells": cells, "object": included(object, include)})
    };
    let rows: Vec<Value> = objects.map(row).collect();
    let definitions: Vec<Value> = columns.iter().map(|one| one.definition()).collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": version.to_string()},
        "columnDefinitions": definitions, "rows": rows,
    })
}

fn included(object: &Value, include: Include) -> Value {
    match include {
        Include::Object => object.clone(),
        Include::None => Value::Null,
        Include::Metadata => json!({
            "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"],
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::{ALL, of_plural};

    #[test]
    fn who_prefers_tables_gets_them() {
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        assert!(wants_table(kubectl));
        assert!(!wants_table("application/json, application/json;as=Table"));
        assert!(!wants_table(
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
        ));
        assert!(!wants_table(""));
    }

    #[test]
    fn a_row_has_the_cells_of_its_columns() {
        let resource = &ALL[of_plural("muster.dev", "podgroups").unwrap()];
        let group = json!({
            "metadata": {"name": "a", "creationTimestamp": "1970-01-01T00:00:10Z"},
            "spec": {"queue": "q"}, "status": {"phase": "Pending", "minAvailable": 3},
        });
        let table = table(
            resource,
            [&group].into_iter(),
            Include::Metadata,
            Time(15_000),
            7,
        );
        let columns = table["columnDefinitions"].as_array().unwrap();
        let at = |name: &str| columns.iter().position(|one| one["name"] == name).unwrap();
        let row = &table["rows"][0];
        for (name, wanted) in [
            ("Name", json!("a")),
            ("Queue", json!("q")),
            ("Min", json!(3)),
            ("Phase", json!("Pending")),
        ] {
            assert_eq!(row["cells"][at(name)], wanted, "{name}");
        }
        assert_eq!(row["object"]["metadata"]["name"], "a");
        assert_eq!(row["object"]["kind"], "PartialObjectMetadata");
    }
}
