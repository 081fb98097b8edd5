//! What `muster why` and `muster simulate --why` are asked about: `podgroup/NAME`, `queue/NAME`, `testbed/NAME`.

use clap_complete::engine::CompletionCandidate;
use std::ffi::OsStr;
use std::fmt;
use std::str::FromStr;

/// What is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// Of which kind.
    pub(super) kind: TargetKind,
    /// Its namespace, if it was given.
    pub(super) namespace: Option<String>,
    /// Its name.
    pub(super) name: String,
}

/// A kind that can be asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TargetKind {
    /// A gang by its PodGroup, of whatever convention.
    PodGroup,
    /// A pod without one.
    Pod,
    /// A queue.
    Queue,
    /// A testbed.
    Testbed,
}

/// The words for the kinds: with the short names that kubectl takes.
const KINDS: [(&str, TargetKind); 15] = [
    ("podgroup", TargetKind::PodGroup),
    ("podgroups", TargetKind::PodGroup),
    ("podgroup.muster.dev", TargetKind::PodGroup),
    ("podgroups.muster.dev", TargetKind::PodGroup),
    ("mpg", TargetKind::PodGroup),
    ("pod", TargetKind::Pod),
    ("pods", TargetKind::Pod),
    ("queue", TargetKind::Queue),
    ("queues", TargetKind::Queue),
    ("queues.muster.dev", TargetKind::Queue),
    ("mq", TargetKind::Queue),
    ("testbed", TargetKind::Testbed),
    ("testbeds", TargetKind::Testbed),
    ("testbeds.muster.dev", TargetKind::Testbed),
    ("mtb", TargetKind::Testbed),
];

/// Which of the kinds that a running scheduler answers for begin like this, with what they are.
pub(super) fn offered(begun: &OsStr) -> Vec<CompletionCandidate> {
    let begun = begun.to_string_lossy();
    let kinds = [
        ("podgroup/", "A gang"),
        ("queue/", "A queue"),
        ("testbed/", "A testbed"),
    ];
    let kinds = kinds.iter().filter(|(kind, _)| kind.starts_with(&*begun));
    kinds
        .map(|(kind, says)| CompletionCandidate::new(*kind).help(Some((*says).into())))
        .collect()
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shape =
            "wanted: podgroup/NAME, podgroup/NAMESPACE/NAME, pod/NAME, queue/NAME or testbed/NAME";
        let parts: Vec<&str> = text.split('/').collect();
        let (kind, namespace, name) = match parts.as_slice() {
            [kind, name] => (*kind, None, *name),
            [kind, namespace, name] => (*kind, Some(*namespace), *name),
            _ => return Err(shape.to_owned()),
        };
        let known = KINDS
            .iter()
            .find(|(word, _)| kind.eq_ignore_ascii_case(word));
        let Some((_, kind)) = known else {
            return Err(format!("unknown kind \"{kind}\"; {shape}"));
        };
        if name.is_empty() || namespace.is_some_and(str::is_empty) {
            return Err(shape.to_owned());
        }
        match (kind, namespace) {
            (TargetKind::Queue, Some(_)) => {
                return Err("queues have no namespace: queue/NAME".to_owned());
            }
            (TargetKind::Testbed, Some(_)) => {
                return Err("testbeds have no namespace: testbed/NAME".to_owned());
            }
            _ => {}
        }
        Ok(Self {
            kind: *kind,
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        })
    }
}

impl Target {
    /// The same with a namespace, if it has none and its kind needs one.
    pub(super) fn within(&self, namespace: &str) -> Self {
        let mut target = self.clone();
        if !matches!(target.kind, TargetKind::Queue | TargetKind::Testbed) {
            target.namespace.get_or_insert_with(|| namespace.to_owned());
        }
        target
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            TargetKind::PodGroup => "PodGroup",
            TargetKind::Pod => "pod without a PodGroup",
            TargetKind::Queue => "Queue",
            TargetKind::Testbed => "Testbed",
        };
        match &self.namespace {
            Some(namespace) => write!(f, "{kind} {namespace}/{}", self.name),
            None => write!(f, "{kind} {}", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        text.parse::<Target>().unwrap_err()
    }

    #[test]
    fn a_target_is_a_kind_and_a_name_as_kubectl_takes_them() {
        let target: Target = "podgroup/train".parse().unwrap();
        assert_eq!(target.within("team").to_string(), "PodGroup team/train");
        let target: Target = "MPG/ml/train".parse().unwrap();
        assert_eq!(target.within("team").to_string(), "PodGroup ml/train");
        let target: Target = "mtb/lab".parse().unwrap();
        assert_eq!(target.within("team").to_string(), "Testbed lab");
        let target: Target = "mq/research".parse().unwrap();
        assert_eq!(target.within("team").to_string(), "Queue research");
    }

    #[test]
    fn what_is_no_target_says_what_is_wanted() {
        assert!(refused("train").contains("podgroup/NAME"));
        assert!(refused("testbed/a/lab").starts_with("testbeds have no namespace"));
        assert!(refused("node/n").starts_with("unknown kind \"node\""));
        assert!(refused("podgroup/").contains("podgroup/NAME"));
        assert!(refused("queue/a/b").contains("no namespace"));
    }
}
