//! The names under which processes hold a Lease.
//!
//! A name belongs to one process, never to two: what was written under it was written by that
//! process. It begins with the pod the process runs in, so that the next process of the same pod
//! knows that the holder is dead: a container starts when the one before it has ended. (Who starts
//! a second one by hand inside a running container deposes the first without waiting for it.)

/// Who asks for a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(PartialOrd, Ord))]
pub struct Identity {
    /// What all processes of our pod begin with; `None` outside of a pod.
    place: Option<String>,
    name: String,
}

impl Identity {
    /// A process that knows of no place where it would be started anew. No other may have its name.
    #[must_use]
    pub fn of_process(name: impl Into<String>) -> Self {
        Self {
            place: None,
            name: name.into(),
        }
    }

    /// A process in the pod with this name and uid. `process` names it among those that the pod
    /// ever had.
    #[must_use]
    pub fn in_pod(pod: &str, uid: &str, process: &str) -> Self {
        // Neither a pod's name nor a uid has an underscore.
        let place = format!("{pod}_{uid}_");
        Self {
            name: format!("{place}{process}"),
            place: Some(place),
        }
    }

    /// The name in the Lease.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether this holder was a process before us in our pod.
    #[must_use]
    pub fn succeeds(&self, holder: &str) -> bool {
        let here = |place: &String| holder.starts_with(place);
        holder != self.name && self.place.as_ref().is_some_and(here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_process_of_the_same_pod_is_a_predecessor() {
        let me = Identity::in_pod("muster-0", "5d6c", "7_100");
        let others = ["muster-0_5d6c_7_99", "muster-0_5d6c_1_1"];
        assert!(others.iter().all(|holder| me.succeeds(holder)));
        let strangers = [
            me.name(),
            "muster-0_5d6d_7_99",
            "muster-01_5d6c_7_99",
            "muster-0_5d6",
            "",
        ];
        assert!(strangers.iter().all(|holder| !me.succeeds(holder)));
        let alone = Identity::of_process("host_7_100");
        assert!(!alone.succeeds("host_7_99") && !alone.succeeds("host_7_100"));
    }
}
