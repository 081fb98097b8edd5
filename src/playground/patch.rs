//! Patches: what becomes of an object by one.

use crate::failure::Failure;
use serde_json::{Map, Value};

/// In which form a patch is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A JSON merge patch.
    Merge,
    /// A list of operations.
    Json,
    /// A merge patch that knows lists of named things.
    Strategic,
}

impl Form {
    /// That of a content type.
    ///
    /// # Errors
    /// It is none, or one that is not served.
    pub(crate) fn of(content_type: &str) -> Result<Self, Failure> {
        match content_type {
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/json-patch+json" => Ok(Self::Json),
            "application/strategic-merge-patch+json" => Ok(Self::Strategic),
            "application/apply-patch+yaml" | "application/apply-patch+cbor" => {
                Err(Failure::unsupported(
                    "the playground does not serve server-side apply: `kubectl apply` without --server-side does it",
                ))
            }
            other => Err(Failure::unsupported(format!(
                "a patch of content type {other:?} is not read; what is: application/merge-patch+json, \
                 application/json-patch+json, application/strategic-merge-patch+json"
            ))),
        }
    }

    /// The object as it is with a patch.
    ///
    /// # Errors
    /// The patch does not apply.
    pub(crate) fn apply(self, object: &Value, patch: &Value) -> Result<Value, Failure> {
        let mut object = object.clone();
        match self {
            Self::Json => {
                let patch: json_patch::Patch = serde_json::from_value(patch.clone())
                    .map_err(|error| Failure::bad_request(format!("no JSON patch: {error}")))?;
                json_patch::patch(&mut object, &patch).map_err(|error| {
                    Failure::bad_request(format!("the patch does not apply: {error}"))
                })?;
            }
            _ if !patch.is_object() => {
                return Err(Failure::bad_request("a merge patch is an object"));
            }
            Self::Merge => json_patch::merge(&mut object, patch),
            Self::Strategic => merge(&mut object, patch),
        }
        Ok(object)
    }
}

/// By which field the items of a list are told apart; other lists are replaced as a whole.
fn key_of(field: &str) -> Option<&'static str> {
    Some(match field {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "volumes"
        | "env"
        | "imagePullSecrets"
        | "schedulingGates"
        | "resourceClaims"
        | "secrets" => "name",
        "ports" => "containerPort",
        "volumeMounts" => "mountPath",
        "volumeDevices" => "devicePath",
        "conditions" | "addresses" => "type",
        "taints" => "key",
        "hostAliases" => "ip",
        "ownerReferences" => "uid",
        "topologySpreadConstraints" => "topologyKey",
        _ => return None,
    })
}

/// Lists of plain values that are sets.
const SETS: [&str; 2] = ["finalizers", "podCIDRs"];

/// What an item or an object is told to become, beside being merged.
const DIRECTIVE: &str = "$patch";

fn merge(object: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        *object = patch.clone();
        return;
    };
    if patch[DIRECTIVE] == "replace" {
        *object = without_directives(fields);
        return;
    }
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let Some(target) = object.as_object_mut() else {
        return;
    };
    for (field, value) in fields {
        if let Some(list) = field.strip_prefix("$deleteFromPrimitiveList/") {
            if let (Some(Value::Array(there)), Value::Array(gone)) = (target.get_mut(list), value) {
                there.retain(|one| !gone.contains(one));
            }
        } else if field == "$retainKeys" {
            let kept = value.as_array().map_or(&[][..], Vec::as_slice);
            target.retain(|key, _| kept.iter().any(|one| one == key));
        } else if field.starts_with('$') {
            // The order of a list is no matter here.
        } else if value.is_null() || value[DIRECTIVE] == "delete" {
            target.remove(field);
        } else {
            let there = target.entry(field.clone()).or_insert(Value::Null);
            merge_field(field, there, value);
        }
    }
}

fn merge_field(field: &str, there: &mut Value, patch: &Value) {
    let Value::Array(items) = patch else {
        return merge(there, patch);
    };
    let Value::Array(list) = there else {
        *there = Value::Array(
            items
                .iter()
                .filter(|one| one[DIRECTIVE] != "delete")
                .map(plain)
                .collect(),
        );
        return;
    };
    let replaces = items.iter().any(|one| one[DIRECTIVE] == "replace");
    match key_of(field) {
        Some(key) if !replaces => {
            for item in items {
                let same = |one: &Value| one[key] == item[key];
                if item[DIRECTIVE] == "delete" {
                    list.retain(|one| !same(one));
                } else if let Some(one) = list.iter_mut().find(|one| same(one)) {
                    merge(one, item);
                } else {
                    list.push(plain(item));
                }
            }
        }
        None if SETS.contains(&field) => {
            let new = items.iter().filter(|one| !list.contains(one)).cloned();
            let new: Vec<Value> = new.collect();
            list.extend(new);
        }
        _ => {
            let is_directive = |one: &Value| {
                one.as_object().is_some_and(|one| one.len() == 1) && !one[DIRECTIVE].is_null()
            };
            *list = items
                .iter()
                .filter(|one| !is_directive(one))
                .map(plain)
                .collect();
        }
    }
}

fn plain(value: &Value) -> Value {
    value
        .as_object()
        .map_or_else(|| value.clone(), without_directives)
}

fn without_directives(fields: &Map<String, Value>) -> Value {
    let fields = fields.iter().filter(|(key, _)| !key.starts_with('$'));
    let fields = fields.map(|(key, value)| (key.clone(), value.clone()));
    Value::Object(fields.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn strategic(object: &Value, patch: &Value) -> Value {
        Form::Strategic.apply(object, patch).unwrap()
    }

    #[test]
    fn named_items_of_a_list_are_merged_one_by_one() {
        let pod = json!({"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b"}], "tolerations": [1]}});
        let patch = json!({"spec": {
            "$setElementOrder/containers": [{"name": "a"}, {"name": "c"}],
            "containers": [{"name": "a", "image": "2"}, {"name": "b", "$patch": "delete"}, {"name": "c"}],
            "tolerations": [2],
        }});
        let wanted = json!({"spec": {"containers": [{"name": "a", "image": "2"}, {"name": "c"}], "tolerations": [2]}});
        assert_eq!(strategic(&pod, &patch), wanted);
    }

    #[test]
    fn nothing_removes_and_lists_can_be_replaced() {
        let node = json!({"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"taints": [{"key": "x"}]}});
        let patch = json!({"metadata": {"labels": {"a": null}}, "spec": {"taints": [{"$patch": "replace"}, {"key": "y"}]}});
        let wanted =
            json!({"metadata": {"labels": {"b": "2"}}, "spec": {"taints": [{"key": "y"}]}});
        assert_eq!(strategic(&node, &patch), wanted);
        let held = json!({"metadata": {"finalizers": ["a", "b"]}});
        let patch = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"]}});
        assert_eq!(
            strategic(&held, &patch),
            json!({"metadata": {"finalizers": ["b", "c"]}})
        );
        let kept = strategic(
            &json!({"a": 1, "b": 2}),
            &json!({"$retainKeys": ["b"], "b": 3}),
        );
        assert_eq!(kept, json!({"b": 3}));
    }

    #[test]
    fn each_form_has_its_content_type_and_others_are_refused_with_a_way_out() {
        let object = json!({"a": 1});
        let merged = Form::of("application/merge-patch+json").unwrap();
        assert_eq!(
            merged.apply(&object, &json!({"a": null, "b": 2})).unwrap(),
            json!({"b": 2})
        );
        let json = Form::of("application/json-patch+json").unwrap();
        let patch = json!([{"op": "test", "path": "/a", "value": 2}]);
        assert_eq!(json.apply(&object, &patch).unwrap_err().code, 400);
        assert_eq!(json.apply(&object, &json!({})).unwrap_err().code, 400);
        assert_eq!(merged.apply(&object, &json!([])).unwrap_err().code, 400);
        let refused = Form::of("application/apply-patch+yaml").unwrap_err();
        assert_eq!(refused.code, 415);
        assert!(
            refused.message.contains("without --server-side"),
            "{refused:?}"
        );
    }
}
