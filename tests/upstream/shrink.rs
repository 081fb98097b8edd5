//! A smaller case that differs as well.

use super::case::Case;
use serde_json::Value;

/// So many smaller ones are tried.
const TRIES: usize = 3_000;

/// Takes away whatever can be taken away while something still differs.
pub(crate) fn shrink(case: Case, mut differs: impl FnMut(&Case) -> bool) -> Case {
    let mut tries = TRIES;
    let mut best = case;
    loop {
        let before = best.clone();
        let mut at = 0;
        while let Some(smaller) = without(&best, at) {
            if tries == 0 {
                return best;
            }
            tries -= 1;
            if differs(&smaller) {
                best = smaller;
            } else {
                at += 1;
            }
        }
        if best == before {
            return best;
        }
    }
}

/// The case without its part of this number, in a fixed order: large parts first.
fn without(case: &Case, mut at: usize) -> Option<Case> {
    let mut smaller = case.clone();
    if at < case.nodes.len() {
        let gone = smaller.nodes.remove(at);
        let name = &gone["metadata"]["name"];
        smaller.pods.retain(|pod| pod["spec"]["nodeName"] != *name);
        return Some(smaller);
    }
    at -= case.nodes.len();
    if at < case.pods.len() {
        smaller.pods.remove(at);
        return Some(smaller);
    }
    at -= case.pods.len();
    for list in smaller.others.values_mut() {
        let list = list.as_array_mut().unwrap();
        if at < list.len() {
            list.remove(at);
            return Some(smaller);
        }
        at -= list.len();
    }
    let mut found = false;
    {
        let objects = smaller.nodes.iter_mut().chain(&mut smaller.pods);
        let objects = objects.chain([&mut smaller.pod]);
        let others = smaller.others.values_mut();
        let others = others.flat_map(|list| list.as_array_mut().unwrap());
        for object in objects.chain(others) {
            match prune(object, at) {
                Ok(()) => {
                    found = true;
                    break;
                }
                Err(parts) => at -= parts,
            }
        }
    }
    found.then_some(smaller)
}

/// What an object must keep to be one.
const KEPT: [&str; 11] = [
    "claimName",
    "apiVersion",
    "kind",
    "metadata",
    "name",
    "namespace",
    "spec",
    "containers",
    "nodeName",
    "schedulerName",
    "image",
];

/// Takes away the part of a tree with this number; else says how many parts there are.
fn prune(tree: &mut Value, at: usize) -> Result<(), usize> {
    let mut seen = 0;
    match tree {
        Value::Object(fields) => {
            let keys: Vec<String> = fields.keys().cloned().collect();
            for key in keys {
                if !KEPT.contains(&key.as_str()) {
                    if seen == at {
                        fields.remove(&key);
                        return Ok(());
                    }
                    seen += 1;
                }
                match prune(&mut fields[&key], at - seen) {
                    Ok(()) => return Ok(()),
                    Err(parts) => seen += parts,
                }
            }
        }
        Value::Array(items) => {
            for index in 0..items.len() {
                if items.len() > 1 {
                    if seen == at {
                        items.remove(index);
                        return Ok(());
                    }
                    seen += 1;
                }
                match prune(&mut items[index], at - seen) {
                    Ok(()) => return Ok(()),
                    Err(parts) => seen += parts,
                }
            }
        }
        _ => {}
    }
    Err(seen)
}
