//! How much is kept of what comes and goes: of each table, so that one that only grows is seen.

use std::fmt;

/// A table of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// Nodes that are there, and names of nodes that pods speak of.
    Nodes,
    /// Names of resources that have a number.
    Resources,
    /// Names of resources for which there is no number.
    ResourcesLeftOut,
    /// Pods.
    Pods,
    /// Gangs.
    Gangs,
    /// PodGroups that are not ours, or of nobody yet.
    Others,
    /// Queues.
    Queues,
    /// Different shapes of pods.
    Shapes,
    /// Different constraints on nodes.
    Constraints,
    /// Sets of the nodes that constraints allow.
    Masks,
    /// What nodes score, for each shape.
    Rankings,
    /// Why nodes do not suit, for each shape.
    Refusals,
    /// For how many pods nodes have room, for each shape and topology.
    Capacities,
    /// What plugins in other processes said of nodes, for each gang, shape and plugin.
    Advice,
    /// What was given out about gangs.
    Spoken,
    /// Gangs, groups, Queues and Testbeds that are explained to whoever asks.
    Explained,
}

impl Table {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::Nodes,
        Self::Resources,
        Self::ResourcesLeftOut,
        Self::Pods,
        Self::Gangs,
        Self::Others,
        Self::Queues,
        Self::Shapes,
        Self::Constraints,
        Self::Masks,
        Self::Rankings,
        Self::Refusals,
        Self::Capacities,
        Self::Advice,
        Self::Spoken,
        Self::Explained,
    ];

    /// As metrics and docs call it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Resources => "resources",
            Self::ResourcesLeftOut => "resources_left_out",
            Self::Pods => "pods",
            Self::Gangs => "gangs",
            Self::Others => "others",
            Self::Queues => "queues",
            Self::Shapes => "shapes",
            Self::Constraints => "constraints",
            Self::Masks => "masks",
            Self::Rankings => "rankings",
            Self::Refusals => "refusals",
            Self::Capacities => "capacities",
            Self::Advice => "advice",
            Self::Spoken => "spoken",
            Self::Explained => "explained",
        }
    }
}

/// How many entries each table has.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Tables([usize; Table::ALL.len()]);

impl Tables {
    /// Notes how many a table has.
    pub const fn set(&mut self, table: Table, entries: usize) {
        self.0[table as usize] = entries;
    }

    /// How many a table has.
    #[must_use]
    pub const fn get(&self, table: Table) -> usize {
        self.0[table as usize]
    }

    /// All tables, and how many each has.
    pub fn iter(&self) -> impl Iterator<Item = (Table, usize)> {
        Table::ALL.into_iter().zip(self.0)
    }
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self
            .iter()
            .map(|(table, entries)| (table.as_str(), entries));
        f.debug_map().entries(entries).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_table_has_its_own_place_and_name() {
        let mut tables = Tables::default();
        for (index, table) in Table::ALL.into_iter().enumerate() {
            tables.set(table, index + 1);
        }
        let names: std::collections::BTreeSet<_> = Table::ALL.map(Table::as_str).into();
        assert_eq!(names.len(), Table::ALL.len());
        for (index, (table, entries)) in tables.iter().enumerate() {
            assert_eq!((table, entries), (Table::ALL[index], index + 1));
            assert_eq!(tables.get(table), index + 1);
        }
    }
}
