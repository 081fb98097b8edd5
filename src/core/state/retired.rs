//! Members that ended well and are gone: they count for their gang as long as its PodGroup is the same.
//!
//! Who sees them go counts them. A process that starts later has the number from the status, which the one before
//! wrote; of which subgroup they were is not written there.

use super::ClusterState;
use super::gangs::Gang;
use super::ids::GangId;
use super::pods::Standing;

impl Gang {
    /// Members that ended well and were deleted since, of all subgroups.
    #[must_use]
    pub fn all_retired(&self) -> u32 {
        self.retired.values().sum()
    }

    /// Whether all members that it had have ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        let counts = self.counts();
        let ended = counts.of(Standing::Succeeded) + counts.of(Standing::Failed);
        counts.all() == ended && ended + self.all_retired() > 0
    }

    /// So many members of a subgroup that ended well are gone: they stay available.
    pub(super) fn retire(&mut self, subgroup: Option<usize>, label: Option<String>, count: u32) {
        *self.retired.entry(label).or_default() += count;
        if let Some(subgroup) = subgroup.and_then(|index| self.subgroups.get_mut(index)) {
            subgroup.retired += count;
        }
    }

    /// Counts those of whom the status tells and who are not there. They are taken for members of the subgroups
    /// that lack some, as far as they do.
    fn recall_the_retired(&mut self) -> bool {
        let known = self.counts().of(Standing::Succeeded) + self.all_retired();
        // What is beyond the minimum makes no difference, whatever number stands there.
        let said = self.recalled.succeeded.min(self.min_available());
        let Some(mut left) = said.checked_sub(known).filter(|left| *left > 0) else {
            return false;
        };
        for index in 0..self.subgroups.len() {
            let subgroup = &self.subgroups[index];
            let lacking = subgroup.missing(subgroup.min).min(left);
            let name = Some(subgroup.name.clone()).filter(|name| !name.is_empty());
            if lacking > 0 {
                self.retire(Some(index), name, lacking);
                left -= lacking;
            }
        }
        if left > 0 {
            let first = self.subgroups.first().map(|one| one.name.clone());
            let index = first.is_some().then_some(0);
            self.retire(index, first.filter(|name| !name.is_empty()), left);
        }
        true
    }
}

impl ClusterState {
    /// Counts the members that ended well before this process began, and are gone. Once, when all objects were
    /// told.
    pub fn recall_the_retired(&mut self) {
        if self.has_begun {
            return;
        }
        let said = self
            .gangs
            .iter_mut()
            .filter(|(_, gang)| gang.recalled.succeeded > 0);
        let recalled: Vec<GangId> = said
            .filter_map(|(id, gang)| gang.recall_the_retired().then_some(id))
            .collect();
        recalled.into_iter().for_each(|id| self.touch(id));
    }
}
