//! What a Testbed asks for, and what a pod claims of it: read once, for whoever holds slots and whoever
//! places pods on them.

use super::slices::MOST;
use super::written::{amounts, offered, selector_of};
use super::{crd, names, requests, slim};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use muster_model::{Amounts, LabelSelector, Labels};
use std::collections::BTreeSet;

/// What a Testbed asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The label of the nodes that have slots.
    pub node_label: String,
    /// How many slots each of them has.
    pub per_node: u32,
    /// What a pod on a slot may ask for, in the core's units, sorted, without zeros.
    pub request: Amounts,
    /// The namespaces whose pods may claim; `None`: all.
    pub namespaces: Option<LabelSelector>,
    /// What can never be valid, which the API server refuses if it can; then there are no slots.
    pub problems: Vec<String>,
}

/// Reads a Testbed.
#[must_use]
pub fn asked(testbed: &crd::Testbed) -> Asked {
    let spec = &testbed.spec;
    let mut problems = Vec::new();
    let field = "spec.resourcesPerSlot";
    let mut request = amounts(field, &spec.resources_per_slot, &mut problems);
    request.retain(|(_, amount)| *amount > 0);
    request.sort_unstable();
    if request.is_empty() && problems.is_empty() {
        problems.push(format!("{field}: a slot of nothing holds nothing"));
    }
    if spec.node_label.is_empty() {
        problems.push("spec.nodeLabel: is empty".to_owned());
    }
    let selector = spec.namespace_selector.as_ref();
    Asked {
        node_label: spec.node_label.clone(),
        per_node: u32::try_from(spec.slots_per_node).unwrap_or(0).min(100),
        request,
        namespaces: selector.map(|one| selector_of(one, &mut problems)),
        problems,
    }
}

impl Asked {
    /// Whether pods of a namespace with these labels may claim.
    #[must_use]
    pub fn may_claim(&self, namespace: &Labels) -> bool {
        let selector = self.namespaces.as_ref();
        selector.is_none_or(|selector| selector.matches(namespace))
    }

    /// The first resource of which a pod that asks for this has more than a slot; `None`: it fits.
    #[must_use]
    pub fn lacks<'a>(&self, requests: &'a Amounts) -> Option<&'a str> {
        let beyond = |(name, amount): &&(String, i64)| {
            let has = self.request.iter().find(|(one, _)| one == name);
            *amount > has.map_or(0, |(_, has)| *has)
        };
        requests.iter().find(beyond).map(|(name, _)| name.as_str())
    }
}

/// What a pod claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The Testbed's name.
    pub testbed: String,
    /// The numbers of the slots that it may have, ascending.
    ///
    /// # Errors
    /// Why they cannot be read.
    pub slots: Result<Vec<u32>, String>,
    /// The slot that its binding named; a word, for anybody may write it.
    pub told: Option<u32>,
}

/// What an object with this metadata claims; `None` without the Testbed's label.
#[must_use]
pub fn claim(meta: &ObjectMeta) -> Option<Claim> {
    let testbed = names::label(meta, names::TESTBED)?;
    let slots = match names::label(meta, names::SLOTS) {
        Some(list) => numbers(list),
        None => Err(format!("it has no label {}", names::SLOTS)),
    };
    Some(Claim {
        testbed: testbed.to_owned(),
        slots,
        told: told(meta),
    })
}

/// The slot that the binding of an object with this metadata named, or whoever wrote it since.
#[must_use]
pub fn told(meta: &ObjectMeta) -> Option<u32> {
    number(names::annotation(meta, names::SLOT)?).ok()
}

/// Reads `0_3_4`, or `0-9_12`, which names all from 0 to 9, and 12: as many as a Testbed has, at most.
///
/// # Errors
/// When that is no list of different numbers.
pub fn numbers(list: &str) -> Result<Vec<u32>, String> {
    let mut ranges = Vec::new();
    let number = |text| number(text).map_err(|why| format!("{}: {why}", names::SLOTS));
    for text in list.split('_') {
        let ends = text.split_once('-').filter(|(first, _)| !first.is_empty());
        let (first, last) = ends.unwrap_or((text, text));
        let (first, last) = (number(first)?, number(last)?);
        if last < first || last - first >= MOST {
            let words = format!("{text} is no range of at most {MOST} slots, such as 0-9");
            return Err(format!("{}: {words}", names::SLOTS));
        }
        ranges.push(first..=last);
    }
    ranges.sort_unstable_by_key(|range| *range.start());
    let mut pairs = ranges.iter().zip(ranges.iter().skip(1));
    if let Some((_, twice)) = pairs.find(|(one, next)| one.end() >= next.start()) {
        let one = twice.start();
        return Err(format!("{}: {one} is there twice", names::SLOTS));
    }
    let count: usize = ranges.iter().map(|range| range.clone().count()).sum();
    if count > MOST as usize {
        return Err(format!("{}: names more than {MOST} slots", names::SLOTS));
    }
    Ok(ranges.into_iter().flatten().collect())
}

/// Writes numbers as [`numbers`] reads them: one by one, where the value of a label has room for that, else with
/// ranges; `None`: it has no room for that either.
#[must_use]
pub fn list(numbers: &BTreeSet<u32>) -> Option<String> {
    const LABEL: usize = 63;
    let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
    let plain = words.join("_");
    if plain.len() <= LABEL {
        return Some(plain);
    }
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    let words = ranges.iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        _ => format!("{first}-{last}"),
    });
    let short = words.collect::<Vec<_>>().join("_");
    (short.len() <= LABEL).then_some(short)
}

fn number(text: &str) -> Result<u32, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.then(|| text.parse().ok()).flatten();
    number.ok_or_else(|| format!("{text:?} is not the number of a slot"))
}

/// What a pod asks for, in the core's units: without zeros.
#[must_use]
pub fn asks_for(pod: &slim::Pod) -> Amounts {
    requests::effective(pod).amounts
}

/// What a node has to give, in the core's units.
#[must_use]
pub fn allocatable(node: &slim::Node) -> Amounts {
    offered(node)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "json! reads best as it is")]

    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_claim_is_a_list_of_different_numbers() {
        assert_eq!(numbers("0_3_4"), Ok(vec![0, 3, 4]));
        assert_eq!(numbers("4_0"), Ok(vec![0, 4]));
        assert_eq!(numbers("7_0-3"), Ok(vec![0, 1, 2, 3, 7]));
        assert_eq!(numbers("0-9999").map(|all| all.len()), Ok(10_000));
        for list in [
            "3-1",
            "0-10000",
            "0-99999",
            "0-3_2",
            "0-9999_10000",
            "1-",
            "1-2-3",
            "--",
        ] {
            assert!(numbers(list).is_err(), "{list}");
        }
        assert_eq!(list(&[0, 1, 2, 9].into()).as_deref(), Some("0_1_2_9"));
        let many: BTreeSet<u32> = (0..40).chain([50, 51]).collect();
        assert_eq!(list(&many).as_deref(), Some("0-39_50-51"));
        assert_eq!(numbers("0-39_50-51"), Ok(many.into_iter().collect()));
        assert_eq!(list(&(0..100).map(|one| one * 2).collect()), None);
        for list in ["", "_", "0_", "-1", "a", "1.0", "+1", "99999999999", "٣"] {
            let why = numbers(list).unwrap_err();
            assert!(why.contains("is not the number of a slot"), "{list}: {why}");
        }
        assert_eq!(
            numbers("0_0").unwrap_err(),
            "muster.dev/slots: 0 is there twice"
        );
    }

    fn of(spec: Value) -> Asked {
        let value = json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": "Testbed",
            "metadata": {"name": "t"}, "spec": spec,
        });
        asked(&serde_json::from_value(value).unwrap())
    }

    #[test]
    fn a_slot_is_as_large_however_it_is_written() {
        let written = |cpu: Value| {
            of(json!({"nodeLabel": "l", "slotsPerNode": 1, "resourcesPerSlot": {"cpu": cpu}}))
        };
        assert_eq!(written(json!("2")), written(json!("2000m")));
        assert_eq!(written(json!(2)).request, [("cpu".to_owned(), 2_000)]);
        assert!(!written(json!("-1")).problems.is_empty());
        assert!(!written(json!("0")).problems.is_empty());
    }

    #[test]
    fn a_pod_fits_that_asks_for_no_more_of_anything() {
        let spec = json!({"nodeLabel": "l", "slotsPerNode": 1, "resourcesPerSlot": {"cpu": 1}});
        let asked = of(spec);
        let wants = |name: &str, amount| vec![(name.to_owned(), amount)];
        assert_eq!(asked.lacks(&wants("cpu", 1_000)), None);
        assert_eq!(asked.lacks(&Amounts::new()), None);
        assert_eq!(asked.lacks(&wants("cpu", 1_001)), Some("cpu"));
        assert_eq!(asked.lacks(&wants("memory", 1)), Some("memory"));
    }
}
