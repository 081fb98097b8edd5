//! How important gangs are: what their PodGroups say, as far as it counts, and what their pods do.

use super::ids::{GangId, PodId};
use super::{ClusterState, Gang, Pod};

/// How far what a PodGroup says of its priority counts. Kubernetes checks who may have which class, and how
/// much with it, for pods alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priorities {
    /// As it is given.
    AsGiven,
    /// Up to the highest that its pods have.
    #[default]
    UpToPods,
}

impl ClusterState {
    /// Sets how far what PodGroups say of their priority counts. Before any news.
    pub const fn set_priorities(&mut self, priorities: Priorities) {
        self.priorities = priorities;
    }

    /// What its PodGroup says, by number or by class, as far as that counts; else the highest of its pods,
    /// else the cluster's default class, else zero.
    pub(super) fn resolve_priority(&mut self, id: GangId) {
        let Some(gang) = self.gangs.get(id) else {
            return;
        };
        let (priority, unknown) = self.priority_of(gang);
        if let Some(gang) = self.gangs.get_mut(id) {
            gang.priority = priority;
            gang.unknown_priority_class = unknown;
        }
    }

    /// The priority of a gang, and the class that it names and that does not exist.
    fn priority_of(&self, gang: &Gang) -> (i32, Option<String>) {
        let spec = gang.definition();
        let number = spec.and_then(|spec| spec.priority);
        let class = spec.and_then(|spec| spec.priority_class.as_ref());
        let said = match (number, class) {
            (Some(number), _) => number,
            (None, Some(class)) => match self.priority_class(class) {
                Some(known) => known.value,
                None => return (0, Some(class.clone())),
            },
            (None, None) => return self.highest_priority(&gang.members),
        };
        let most = match self.priorities {
            Priorities::AsGiven => i32::MAX,
            Priorities::UpToPods => self.highest_priority(&gang.members).0,
        };
        (said.min(most), None)
    }

    /// Whether a gang makes nobody go: so says the class its PodGroup names, else one of its pods.
    #[must_use]
    pub fn never_preempts(&self, id: GangId) -> bool {
        let Some(gang) = self.gangs.get(id) else {
            return false;
        };
        let spec = gang.definition();
        if let Some(class) = spec.and_then(|spec| spec.priority_class.as_deref()) {
            return self
                .priority_class(class)
                .is_some_and(|class| class.never_preempts);
        }
        let mut classes = self.priority_classes.values();
        let default = classes.find(|class| class.global_default);
        let never = |pod: &Pod| {
            pod.facts.never_preempts.unwrap_or_else(|| {
                let class = pod.facts.priority_class.as_deref();
                let class = class.map_or(default, |name| self.priority_class(name));
                class.is_some_and(|class| class.never_preempts)
            })
        };
        let mut members = gang.members.iter().filter_map(|id| self.pods.get(*id));
        members.any(never)
    }

    fn highest_priority<'a>(
        &self,
        pods: impl IntoIterator<Item = &'a PodId>,
    ) -> (i32, Option<String>) {
        let default = self
            .priority_classes
            .values()
            .find(|class| class.global_default);
        let default = default.map_or(0, |class| class.value);
        let (mut highest, mut unknown) = (None, None);
        for pod in pods.into_iter().filter_map(|id| self.pods.get(*id)) {
            let class = pod.facts.priority_class.as_deref();
            let priority = match (pod.facts.priority, class) {
                (Some(number), _) => number,
                (None, None) => default,
                (None, Some(class)) => match self.priority_class(class) {
                    Some(known) => known.value,
                    None => {
                        unknown = Some(class.to_owned());
                        continue;
                    }
                },
            };
            highest = highest.max(Some(priority));
        }
        (highest.unwrap_or(default), unknown)
    }
}
