//! Names that may have a domain before them: keys of labels, and resources.

use muster_api::requests;
use muster_api::yaml::short;
use serde::{Deserialize, Serialize};

/// The key of a label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LabelKey(String);

/// A resource that only some nodes have: its name has a domain, which is none of Kubernetes' own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ExtendedResource(String);

/// Whether it is a name of Kubernetes that may have a domain before it (source: apimachinery,
/// `IsQualifiedName`).
fn is_qualified(text: &str) -> bool {
    let (domain, name) = match text.split_once('/') {
        Some((domain, name)) => (Some(domain), name),
        None => (None, text),
    };
    let outer = |c: char| c.is_ascii_alphanumeric();
    let inner = |c: char| outer(c) || matches!(c, '-' | '_' | '.');
    let small = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let part = |part: &str| {
        part.starts_with(small)
            && part.ends_with(small)
            && part.chars().all(|c| small(c) || c == '-')
    };
    (1..=63).contains(&name.len())
        && name.starts_with(outer)
        && name.ends_with(outer)
        && name.chars().all(inner)
        && domain.is_none_or(|domain| domain.len() <= 253 && domain.split('.').all(part))
}

impl LabelKey {
    /// The key.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for LabelKey {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if is_qualified(&text) {
            return Ok(Self(text));
        }
        let text = short(&text);
        Err(format!(
            "found {text:?}: expected the key of a label, such as topology.kubernetes.io/zone"
        ))
    }
}

impl From<LabelKey> for String {
    fn from(key: LabelKey) -> Self {
        key.0
    }
}

impl ExtendedResource {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ExtendedResource {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if is_qualified(&text) && requests::is_extended(&text) {
            return Ok(Self(text));
        }
        let text = short(&text);
        Err(format!(
            "found {text:?}: expected an extended resource, such as example.com/card"
        ))
    }
}

impl From<ExtendedResource> for String {
    fn from(resource: ExtendedResource) -> Self {
        resource.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_labels_are_those_that_kubernetes_takes() {
        for fine in [
            "a",
            "A_b.c-1",
            "example.com/rack",
            "topology.kubernetes.io/zone",
        ] {
            assert!(LabelKey::try_from(fine.to_owned()).is_ok(), "{fine}");
        }
        let long = "a".repeat(64);
        for wrong in ["", "-a", "a-", "a b", "/a", "A.b/c", "a/b/c", long.as_str()] {
            let error = LabelKey::try_from(wrong.to_owned()).unwrap_err();
            assert!(error.contains("expected the key of a label"), "{error}");
        }
    }

    #[test]
    fn resources_that_every_node_has_are_not_extended() {
        assert!(ExtendedResource::try_from("example.com/card".to_owned()).is_ok());
        for wrong in ["cpu", "kubernetes.io/x", "requests.example.com/card", ""] {
            let error = ExtendedResource::try_from(wrong.to_owned()).unwrap_err();
            assert!(error.contains("expected an extended resource"), "{error}");
        }
    }
}
