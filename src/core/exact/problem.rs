//! What is to be placed where, in amounts alone: classes of equal members and of equal nodes.

/// Members to place, and nodes with room. Whatever is not an amount is in [`Nodes::allows`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// Classes of members.
    pub members: Vec<Members>,
    /// Classes of nodes.
    pub nodes: Vec<Nodes>,
    /// How many of each subgroup have to be placed, and may be.
    pub subgroups: Vec<Quota>,
    /// How many members have to be placed.
    pub needed: u32,
    /// What a unit of each resource is worth.
    pub prices: Vec<i128>,
}

/// Equal members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// What each requests of each resource.
    pub request: Vec<i64>,
    /// How many there are.
    pub count: u32,
    /// The index of their subgroup.
    pub subgroup: usize,
}

/// Equal nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nodes {
    /// Whether to use one opens it, so that what stays free there is lost.
    pub opens: bool,
    /// What each has free of each resource that members request, at least nothing.
    pub free: Vec<i64>,
    /// What all else that each has free is worth.
    pub beside: i128,
    /// Which classes of members may go there.
    pub allows: Vec<bool>,
    /// How many there are.
    pub count: u32,
}

/// How many members of a subgroup are placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// At least.
    pub minimum: u32,
    /// At most.
    pub room: u32,
}

/// What a layout costs: the less, the better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost {
    /// What stays free on the nodes that it opens, in worth.
    pub lost: i128,
    /// How many nodes it uses.
    pub nodes: usize,
}

/// What goes to one node.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Load {
    /// The class of the node.
    pub class: usize,
    /// How many members of each class.
    pub members: Vec<u32>,
}

/// Where all members go: one load for each node that is used.
pub type Layout = Vec<Load>;

impl Problem {
    /// How many members of a class one node of a class has room for, at most as many as there are.
    #[must_use]
    pub fn room(&self, class: usize, members: usize) -> u32 {
        let (node, wanted) = (&self.nodes[class], &self.members[members]);
        if !node.allows[members] {
            return 0;
        }
        let most = i64::from(wanted.count);
        let times = node.free.iter().zip(&wanted.request);
        let times = times.filter_map(|(free, request)| free.checked_div(*request));
        u32::try_from(times.fold(most, i64::min)).unwrap_or(0)
    }

    /// What a member of a class is worth.
    #[must_use]
    pub fn worth(&self, members: usize) -> i128 {
        self.price(&self.members[members].request)
    }

    /// What is free on an empty node of a class is worth.
    #[must_use]
    pub fn worth_free(&self, class: usize) -> i128 {
        let node = &self.nodes[class];
        self.price(&node.free).saturating_add(node.beside)
    }

    fn price(&self, amounts: &[i64]) -> i128 {
        let priced = amounts.iter().zip(&self.prices);
        let priced = priced.map(|(amount, price)| i128::from(*amount).saturating_mul(*price));
        priced.fold(0, i128::saturating_add)
    }

    /// What a load leaves free of its node, if it opens it.
    #[must_use]
    pub fn lost_on(&self, load: &Load) -> i128 {
        if !self.nodes[load.class].opens {
            return 0;
        }
        let used = load.members.iter().enumerate();
        let used = used.map(|(members, count)| self.worth(members) * i128::from(*count));
        used.fold(self.worth_free(load.class), |left, used| left - used)
    }

    /// What a layout costs.
    #[must_use]
    pub fn cost(&self, layout: &[Load]) -> Cost {
        Cost {
            lost: layout.iter().map(|load| self.lost_on(load)).sum(),
            nodes: layout.len(),
        }
    }

    /// Whether a load fits its node.
    #[must_use]
    pub fn fits(&self, load: &Load) -> bool {
        let node = &self.nodes[load.class];
        let allowed = load.members.iter().zip(&node.allows);
        let mut resources = node.free.iter().enumerate();
        allowed.fold(true, |all, (count, allowed)| {
            all && (*count == 0 || *allowed)
        }) && resources.all(|(resource, free)| {
            let used = load.members.iter().zip(&self.members).map(|(count, one)| {
                i128::from(one.request[resource]).saturating_mul(i128::from(*count))
            });
            used.fold(0, i128::saturating_add) <= i128::from(*free)
        })
    }

    /// Whether a layout places what has to be placed, on nodes that there are and that have room.
    #[must_use]
    pub fn holds(&self, layout: &[Load]) -> bool {
        let mut used = vec![0_u32; self.nodes.len()];
        let mut placed = vec![0_u32; self.members.len()];
        for load in layout {
            used[load.class] += 1;
            for (sum, count) in placed.iter_mut().zip(&load.members) {
                *sum += count;
            }
        }
        let nodes = used
            .iter()
            .zip(&self.nodes)
            .all(|(used, one)| *used <= one.count);
        let there = placed
            .iter()
            .zip(&self.members)
            .all(|(placed, one)| *placed <= one.count);
        nodes && there && self.is_enough(&placed) && layout.iter().all(|load| self.fits(load))
    }

    /// Whether these many members of each class are what has to be placed.
    #[must_use]
    pub fn is_enough(&self, placed: &[u32]) -> bool {
        let mut of_subgroup = vec![0_u32; self.subgroups.len()];
        for (count, members) in placed.iter().zip(&self.members) {
            of_subgroup[members.subgroup] += count;
        }
        let mut quotas = self.subgroups.iter().zip(of_subgroup);
        placed.iter().sum::<u32>() == self.needed
            && quotas.all(|(quota, placed)| (quota.minimum..=quota.room).contains(&placed))
    }
}
