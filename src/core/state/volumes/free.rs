//! Volumes that nobody has, and room for new ones: found by class and by what a node is labelled with.

use muster_model::{
    ClaimKey, HOSTNAME, Labels, Operator, Requirement, StorageCapacitySpec, VolumeSpec,
};
use std::collections::{BTreeMap, BTreeSet};

/// By size, then by name.
type Sizes = BTreeSet<(i64, String)>;

/// Volumes that are available and for no claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FreeVolumes {
    /// Those that nodes of any name may reach, by class.
    loose: BTreeMap<String, Sizes>,
    /// Those that one node reaches, by class and its label `kubernetes.io/hostname`.
    pinned: BTreeMap<String, BTreeMap<String, Sizes>>,
}

/// The host that a volume is on, if it is on one.
pub(super) fn pin_of(volume: &VolumeSpec) -> Option<&str> {
    let [term] = &volume.affinity.as_ref()?[..] else {
        return None;
    };
    let on_host = |one: &&Requirement| one.key == HOSTNAME && one.operator == Operator::In;
    let mut hosts = term.labels.iter().filter(on_host);
    hosts.find_map(|one| match &one.values[..] {
        [host] => Some(host.as_str()),
        _ => None,
    })
}

impl FreeVolumes {
    /// Whether a volume belongs here (source: component-helpers' `FindMatchingVolume`).
    pub(super) const fn is_free(volume: &VolumeSpec) -> bool {
        volume.available && volume.claim.is_none() && !volume.deleting
    }

    /// Whether there are any of a class.
    pub(super) fn has_any(&self, class: &str) -> bool {
        self.loose.contains_key(class) || self.pinned.contains_key(class)
    }

    pub(super) fn add(&mut self, volume: &VolumeSpec) {
        let entry = (volume.size, volume.name.clone());
        match pin_of(volume) {
            Some(host) => {
                let of_class = self.pinned.entry(volume.class.clone()).or_default();
                of_class.entry(host.to_owned()).or_default().insert(entry);
            }
            None => {
                let of_class = self.loose.entry(volume.class.clone()).or_default();
                of_class.insert(entry);
            }
        }
    }

    pub(super) fn remove(&mut self, volume: &VolumeSpec) {
        let entry = (volume.size, volume.name.clone());
        match pin_of(volume) {
            Some(host) => {
                let Some(of_class) = self.pinned.get_mut(&volume.class) else {
                    return;
                };
                if let Some(of_host) = of_class.get_mut(host) {
                    of_host.remove(&entry);
                    if of_host.is_empty() {
                        of_class.remove(host);
                    }
                }
                if of_class.is_empty() {
                    self.pinned.remove(&volume.class);
                }
            }
            None => {
                if let Some(of_class) = self.loose.get_mut(&volume.class) {
                    of_class.remove(&entry);
                    if of_class.is_empty() {
                        self.loose.remove(&volume.class);
                    }
                }
            }
        }
    }

    /// Whether a class has some that nodes of any name may reach.
    pub(super) fn has_loose(&self, class: &str) -> bool {
        self.loose.contains_key(class)
    }

    /// Whether a class has some that one node reaches.
    pub(super) fn has_pinned(&self, class: &str) -> bool {
        self.pinned.contains_key(class)
    }

    /// Those of a class that come into question on a node of these labels and have at least so many
    /// bytes, the smallest first.
    pub(super) fn smallest_first<'a>(
        &'a self,
        class: &str,
        labels: &Labels,
        at_least: i64,
    ) -> impl Iterator<Item = &'a str> {
        let from = (at_least, String::new());
        let loose = self.loose.get(class);
        let host = labels.get(HOSTNAME);
        let pinned = self
            .pinned
            .get(class)
            .zip(host)
            .and_then(|(of_class, host)| of_class.get(host));
        let large_enough = |sizes: &'a Sizes| sizes.range(from.clone()..);
        let mut loose = loose.map(large_enough).into_iter().flatten().peekable();
        let mut pinned = pinned.map(large_enough).into_iter().flatten().peekable();
        std::iter::from_fn(move || {
            let next = match (loose.peek(), pinned.peek()) {
                (Some(one), Some(other)) if one <= other => loose.next(),
                (Some(_), None) => loose.next(),
                _ => pinned.next(),
            };
            next.map(|(_, name)| name.as_str())
        })
    }
}

/// Where there is room for new volumes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CapacityIndex {
    classes: BTreeMap<String, OfClass>,
}

/// Capacities of one class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OfClass {
    /// Those for nodes with one label, by that.
    by_label: BTreeMap<String, BTreeMap<String, BTreeSet<ClaimKey>>>,
    /// The others.
    others: BTreeSet<ClaimKey>,
}

/// The label by which the nodes of a capacity are found.
fn label_of(capacity: &StorageCapacitySpec) -> Option<(&str, &str)> {
    let mut wanted = capacity.nodes.as_ref()?.iter();
    wanted.find_map(|one| match (one.operator, &one.values[..]) {
        (Operator::In, [value]) => Some((one.key.as_str(), value.as_str())),
        _ => None,
    })
}

impl CapacityIndex {
    pub(super) fn add(&mut self, capacity: &StorageCapacitySpec) {
        let of_class = self.classes.entry(capacity.class.clone()).or_default();
        let set = match label_of(capacity) {
            Some((key, value)) => {
                let of_key = of_class.by_label.entry(key.to_owned()).or_default();
                of_key.entry(value.to_owned()).or_default()
            }
            None => &mut of_class.others,
        };
        set.insert(capacity.key.clone());
    }

    pub(super) fn remove(&mut self, capacity: &StorageCapacitySpec) {
        let Some(of_class) = self.classes.get_mut(&capacity.class) else {
            return;
        };
        match label_of(capacity) {
            Some((key, value)) => {
                if let Some(of_key) = of_class.by_label.get_mut(key) {
                    if let Some(set) = of_key.get_mut(value) {
                        set.remove(&capacity.key);
                    }
                    of_key.retain(|_, set| !set.is_empty());
                }
                of_class.by_label.retain(|_, of_key| !of_key.is_empty());
            }
            None => {
                of_class.others.remove(&capacity.key);
            }
        }
        if *of_class == OfClass::default() {
            self.classes.remove(&capacity.class);
        }
    }

    /// Those of a class that nodes of these labels may reach.
    pub(super) fn near<'a>(
        &'a self,
        class: &str,
        labels: &'a Labels,
    ) -> impl Iterator<Item = &'a ClaimKey> {
        let of_class = self.classes.get(class);
        let by_label = of_class.into_iter().flat_map(|one| one.by_label.iter());
        let labelled = by_label.filter_map(|(key, of_key)| of_key.get(labels.get(key)?));
        let others = of_class.into_iter().map(|one| &one.others);
        labelled.chain(others).flatten()
    }
}
