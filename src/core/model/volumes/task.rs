//! What is to be written before a pod with claims can be bound, as one text for whoever does it.

use super::{ClaimKey, ClaimRef};
use std::fmt;

/// Who is asked to write it: the plugin's name.
pub const VOLUME_BINDING: &str = "VolumeBinding";

/// What is to be written for one claim, until it is bound.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct VolumeTask {
    /// The claim, with its uid.
    pub claim: ClaimRef,
    /// What is written.
    pub deed: VolumeDeed,
}

/// What is written for a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum VolumeDeed {
    /// On the volume of this name: that it is for the claim.
    Reserve(String),
    /// On the claim: that its volume is to be made for the node of this name.
    Select(String),
}

impl fmt::Display for VolumeTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, name) = match &self.deed {
            VolumeDeed::Reserve(volume) => ("reserve", volume),
            VolumeDeed::Select(node) => ("select", node),
        };
        let ClaimKey {
            namespace,
            name: claim,
        } = &self.claim.key;
        write!(f, "{word} {name} {namespace} {claim} {}", self.claim.uid)
    }
}

impl VolumeTask {
    /// All tasks as one text, a line each. Names have no blanks in them.
    #[must_use]
    pub fn write(tasks: &[Self]) -> String {
        let lines: Vec<String> = tasks.iter().map(Self::to_string).collect();
        lines.join("\n")
    }

    /// The tasks of such a text; `None` if it is none.
    #[must_use]
    pub fn read(text: &str) -> Option<Vec<Self>> {
        text.lines().map(Self::read_line).collect()
    }

    fn read_line(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let [word, name, namespace, claim, uid] = words[..] else {
            return None;
        };
        let deed = match word {
            "reserve" => VolumeDeed::Reserve(name.to_owned()),
            "select" => VolumeDeed::Select(name.to_owned()),
            _ => return None,
        };
        let key = ClaimKey {
            namespace: namespace.to_owned(),
            name: claim.to_owned(),
        };
        let uid = uid.to_owned();
        let claim = ClaimRef { key, uid };
        Some(Self { claim, deed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_written_is_read_as_it_was_meant() {
        let task = |deed| VolumeTask {
            claim: ClaimRef {
                key: ClaimKey {
                    namespace: "n".to_owned(),
                    name: "c".to_owned(),
                },
                uid: "u".to_owned(),
            },
            deed,
        };
        let tasks = [
            task(VolumeDeed::Reserve("v".to_owned())),
            task(VolumeDeed::Select("node".to_owned())),
        ];
        let text = VolumeTask::write(&tasks);
        assert_eq!(text, "reserve v n c u\nselect node n c u");
        assert_eq!(VolumeTask::read(&text).unwrap(), tasks);
        assert_eq!(VolumeTask::read("drop v n c u"), None);
    }
}
