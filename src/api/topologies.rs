//! What other projects say of how far nodes are from each other: Volcano's HyperNodes, and the
//! Topologies of Kueue and of KAI. They are read where they are installed, and never written.

use super::slim::{LabelSelector, nullable, trimmed};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::ClusterResourceScope;
use serde::Deserialize;
use std::borrow::Cow;

/// `topology.volcano.sh/v1alpha1` HyperNode: nodes that are near each other.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct HyperNode {
    /// Identity.
    #[serde(deserialize_with = "trimmed")]
    pub metadata: ObjectMeta,
    /// What is in it.
    #[serde(default, deserialize_with = "nullable")]
    pub spec: HyperNodeSpec,
}

/// `spec` of a HyperNode.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HyperNodeSpec {
    /// How wide it is: 0 and absent are the same.
    #[serde(deserialize_with = "nullable")]
    pub tier: Tier,
    /// What the tier is called.
    #[serde(deserialize_with = "nullable")]
    pub tier_name: String,
    /// What is in it.
    #[serde(deserialize_with = "nullable")]
    pub members: Vec<Member>,
}

/// `spec.tier`: a number; a text of one in the first versions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Tier {
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
}

impl Default for Tier {
    fn default() -> Self {
        Self::Number(0)
    }
}

/// One of `spec.members`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Member {
    /// `Node` or `HyperNode`.
    #[serde(rename = "type", deserialize_with = "nullable")]
    pub kind: String,
    /// Which ones.
    #[serde(deserialize_with = "nullable")]
    pub selector: Selector,
}

/// `selector` of a member: one of the three.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Selector {
    /// The one of a name.
    pub exact_match: Option<ExactMatch>,
    /// Those whose names fit.
    pub regex_match: Option<RegexMatch>,
    /// Those with such labels.
    pub label_match: Option<LabelSelector>,
}

/// `exactMatch`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ExactMatch {
    /// The name.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
}

/// `regexMatch`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RegexMatch {
    /// The expression, in Go's syntax. It has to be found somewhere in the name.
    #[serde(deserialize_with = "nullable")]
    pub pattern: String,
}

/// `kueue.x-k8s.io/v1beta2` Topology.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct KueueTopology {
    /// Identity.
    #[serde(deserialize_with = "trimmed")]
    pub metadata: ObjectMeta,
    /// Its levels.
    #[serde(default, deserialize_with = "nullable")]
    pub spec: Levels,
}

/// `kai.scheduler/v1alpha1` Topology.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct KaiTopology {
    /// Identity.
    #[serde(deserialize_with = "trimmed")]
    pub metadata: ObjectMeta,
    /// Its levels.
    #[serde(default, deserialize_with = "nullable")]
    pub spec: Levels,
}

/// `spec` of Kueue's and of KAI's Topology.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Levels {
    /// From the widest to the narrowest.
    #[serde(deserialize_with = "nullable")]
    pub levels: Vec<Level>,
}

/// One of `spec.levels`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Level {
    /// The label.
    #[serde(deserialize_with = "nullable")]
    pub node_label: String,
    /// What else it may be called; KAI only.
    #[serde(deserialize_with = "nullable")]
    pub alias: String,
}

/// What `kube` has to know of a kind that it does not know.
macro_rules! resource {
    ($object:ty, $kind:literal, $group:literal, $version:literal, $plural:literal) => {
        impl kube::Resource for $object {
            type DynamicType = ();
            type Scope = ClusterResourceScope;

            fn kind(_: &()) -> Cow<'_, str> {
                $kind.into()
            }

            fn group(_: &()) -> Cow<'_, str> {
                $group.into()
            }

            fn version(_: &()) -> Cow<'_, str> {
                $version.into()
            }

            fn plural(_: &()) -> Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

resource!(
    HyperNode,
    "HyperNode",
    "topology.volcano.sh",
    "v1alpha1",
    "hypernodes"
);
resource!(
    KueueTopology,
    "Topology",
    "kueue.x-k8s.io",
    "v1beta2",
    "topologies"
);
resource!(
    KaiTopology,
    "Topology",
    "kai.scheduler",
    "v1alpha1",
    "topologies"
);
