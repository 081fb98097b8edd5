//! Slots of testbeds in a picture: which number who has, and which are free.

use crate::server::Server;
use muster_api::crd::SlotState;
use std::collections::BTreeMap;

/// What the statuses of testbeds say of pods: the slot of each, by namespace and name.
pub(super) struct Seats(BTreeMap<(String, String), Seat>);

/// A slot with who has it: a pod, or its ghost.
pub(super) struct Seat {
    /// Its number, with the testbed where there are several.
    pub(super) label: String,
    /// Nobody has it but its ghost.
    pub(super) free: bool,
}

impl Seats {
    pub(super) fn of(server: &Server) -> Self {
        let testbeds: Vec<_> = server.testbeds().collect();
        let several = testbeds.len() > 1;
        let mut seats = BTreeMap::new();
        for testbed in testbeds {
            let name = testbed.metadata.name.unwrap_or_default();
            let slots = testbed.status.into_iter().flat_map(|status| status.slots);
            for slot in slots {
                let Some(pod) = slot.pod_namespace.zip(slot.pod_name) else {
                    continue;
                };
                let label = match several {
                    true => format!("{name}/{}", slot.position),
                    false => slot.position.to_string(),
                };
                let free = slot.state == SlotState::Free;
                seats.insert(pod, Seat { label, free });
            }
        }
        Self(seats)
    }

    pub(super) fn get(&self, namespace: &str, name: &str) -> Option<&Seat> {
        self.0.get(&(namespace.to_owned(), name.to_owned()))
    }
}

/// The slots that somebody has on a node, by their labels: ` (slots 0, 2)`.
pub(super) fn numbered<'a>(labels: impl Iterator<Item = &'a str>) -> String {
    let labels: Vec<&str> = labels.collect();
    match labels.as_slice() {
        [] => String::new(),
        [one] => format!(" (slot {one})"),
        some => format!(" (slots {})", some.join(", ")),
    }
}

/// A few labels, so that they have room: `0, 2`, `0, 2 …`.
pub(super) fn few<'a>(labels: impl Iterator<Item = &'a str>) -> String {
    let labels: Vec<&str> = labels.collect();
    match labels.as_slice() {
        [one, two, _, ..] => format!("{one}, {two} …"),
        few => few.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_slots_is_told_their_numbers() {
        assert_eq!(numbered(["0", "2"].into_iter()), " (slots 0, 2)");
        assert_eq!(numbered(["1"].into_iter()), " (slot 1)");
        assert_eq!(numbered(std::iter::empty()), "");
        assert_eq!(few(["0", "2"].into_iter()), "0, 2");
        assert_eq!(few(["0", "2", "4"].into_iter()), "0, 2 …");
    }
}
