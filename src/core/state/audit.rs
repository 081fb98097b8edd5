//! Derives from scratch what the state derives event by event, and compares.

use super::{ClusterState, Counts, Gang, Id, NodeId, Pending, Pod, PodId, Standing};
use muster_model::resources::Tally;
use std::collections::{BTreeMap, BTreeSet};

impl ClusterState {
    /// Checks that everything derived is what a recount gives.
    ///
    /// # Errors
    /// The first difference, in words.
    pub fn audit(&self) -> Result<(), String> {
        for index in 0..self.nodes.len() {
            self.audit_node(NodeId::from_index(index))?;
        }
        for (id, gang) in self.gangs.iter() {
            let found = self.pods.iter().filter(|(_, pod)| pod.gang == Some(id));
            let members: BTreeSet<_> = found.map(|(pod, _)| pod).collect();
            if members != gang.members {
                return Err(format!(
                    "gang {}: members {:?}, not {members:?}",
                    gang.key, gang.members
                ));
            }
            self.audit_counts(gang)?;
            self.audit_nodes_of(gang)?;
            self.audit_usage(gang)?;
        }
        let foreign = |pod: &Pod| pod.gang.is_none() && pod.room().is_some();
        let foreign = self.pods.iter().filter(|(_, pod)| foreign(pod)).count();
        let noted = self.foreign_pods();
        if foreign != noted as usize {
            return Err(format!("{noted} pods of others, not {foreign}"));
        }
        let departs = self.pods.iter().filter(|(_, pod)| pod.departs());
        if !departs.map(|(id, _)| id).eq(self.departing()) {
            return Err("other pods are on their way off than is noted".to_owned());
        }
        let held = |(_, pod): (_, &Pod)| Some((pod.room()?, pod.edition));
        let rooms = self.all_held().map(|(gang, held)| (gang, &held.on));
        let pods = self.pods.iter().filter_map(held);
        self.nodes.audit(pods, rooms, self.fillers())?;
        self.nodes.appeal().audit()?;
        self.topologies.audit(&self.nodes)?;
        self.audit_rules()?;
        self.audit_spreads()?;
        self.audit_default_spreads()?;
        self.advice.audit()?;
        self.audit_held()?;
        self.audit_slots()?;
        self.audit_others()?;
        self.audit_volumes()?;
        self.audit_books()
    }

    fn audit_usage(&self, gang: &Gang) -> Result<(), String> {
        let (mut sum, mut holding) = (Tally::default(), 0);
        for id in &gang.members {
            let uses_room = self.pods.get(*id).is_some_and(|pod| pod.room().is_some());
            if let Some(shape) = self.shape_of(*id).filter(|_| uses_room) {
                sum.add(&shape.request);
                holding += 1;
            }
        }
        if sum == gang.in_use && holding == gang.holding {
            return Ok(());
        }
        let (key, noted) = (&gang.key, &gang.in_use);
        Err(format!("gang {key}: uses {noted:?}, not {sum:?}"))
    }

    fn audit_node(&self, node: NodeId) -> Result<(), String> {
        let here = |pod: &Pod| pod.room() == Some(node);
        let found: BTreeSet<_> = self
            .pods
            .iter()
            .filter(|(_, pod)| here(pod))
            .map(|(id, _)| id)
            .collect();
        let noted: BTreeSet<_> = self.nodes.pods(node).iter().copied().collect();
        if found != noted {
            return Err(format!(
                "node {}: pods {noted:?}, not {found:?}",
                self.nodes.name(node)
            ));
        }
        self.audit_use(node, &found)?;
        let pods: Vec<_> = found.into_iter().collect();
        self.audit_unsaid(node, &pods)?;
        for dimension in self.dimensions.iter() {
            let (used, sum) = (
                self.nodes.used(node, dimension),
                self.sum_over(&pods, dimension)
                    + self.held_on(node, dimension)
                    + self.filler_on(node, dimension),
            );
            if used != sum {
                let (node, name) = (self.nodes.name(node), self.dimensions.name(dimension));
                return Err(format!("node {node}: used {name} is {used}, not {sum}"));
            }
        }
        Ok(())
    }

    fn audit_unsaid(&self, node: NodeId, pods: &[PodId]) -> Result<(), String> {
        let mut sum = [0, 0];
        for shape in pods.iter().filter_map(|id| self.shape_of(*id)) {
            let amounts = shape.preferences.unsaid;
            sum = [sum[0] + amounts[0], sum[1] + amounts[1]];
        }
        let noted = self.nodes.appeal().unsaid(node);
        if noted == sum {
            return Ok(());
        }
        let name = self.nodes.name(node);
        Err(format!("node {name}: {noted:?} is not said, not {sum:?}"))
    }

    /// By how many pods a node is in use, and by how many that want it for their gang; while nothing
    /// that is kept is shown, none looks kept.
    fn audit_use(&self, node: NodeId, pods: &BTreeSet<PodId>) -> Result<(), String> {
        if self.nodes.is_kept_whole(node) {
            let name = self.nodes.name(node);
            return Err(format!("node {name} looks kept as a whole"));
        }
        let pods = || pods.iter().filter_map(|id| self.pods.get(*id));
        let used = pods().filter(|pod| !pod.facts.daemon).count();
        let exclusive = |pod: &&Pod| {
            let shape = self.shapes.get(pod.shape);
            shape.is_some_and(|shape| self.shapes.is_exclusive(shape))
        };
        let exclusive = pods().filter(exclusive).count() > 0;
        let noted = (
            self.nodes.in_use_by(node) as usize,
            self.nodes.is_exclusive(node),
        );
        if noted == (used, exclusive) {
            return Ok(());
        }
        let name = self.nodes.name(node);
        Err(format!(
            "node {name}: in use by {noted:?}, not {:?}",
            (used, exclusive)
        ))
    }

    /// On which nodes the members of each subgroup are.
    fn audit_nodes_of(&self, gang: &Gang) -> Result<(), String> {
        let mut on = vec![(BTreeMap::new(), BTreeMap::new()); gang.subgroups.len()];
        for id in &gang.members {
            let Some(pod) = self.pods.get(*id) else {
                continue;
            };
            let node = pod.place.node().filter(|_| pod.room().is_some());
            let of_group = pod.subgroup.and_then(|index| on.get_mut(index));
            if let Some(((on, line), node)) = of_group.zip(node) {
                *on.entry(node).or_insert(0) += 1;
                line.extend(pod.facts.rank.map(|rank| ((rank, *id), node)));
            }
        }
        let noted = gang.subgroups.iter().map(|one| (&one.on, &one.line));
        if gang.is_single() || noted.eq(on.iter().map(|(on, line)| (on, line))) {
            return Ok(());
        }
        Err(format!("gang {}: members are on {on:?}", gang.key))
    }

    fn audit_counts(&self, gang: &Gang) -> Result<(), String> {
        let mut subgroups = vec![Counts::default(); gang.subgroups.len()];
        let (mut strays, mut pending) = (Counts::default(), Pending::default());
        for id in &gang.members {
            let Some(pod) = self.pods.get(*id) else {
                return Err(format!("gang {}: member {id:?} does not exist", gang.key));
            };
            let standing = self.standing(pod);
            match pod.subgroup.and_then(|index| subgroups.get_mut(index)) {
                Some(counts) => counts.add(standing),
                None => strays.add(standing),
            }
            if standing == Standing::Pending {
                pending.insert(*id, pod);
            }
        }
        let noted: Vec<_> = gang.subgroups.iter().map(|one| one.counts).collect();
        if noted != subgroups || strays != gang.strays || pending != gang.pending {
            return Err(format!(
                "gang {}: counts {noted:?}, not {subgroups:?}",
                gang.key
            ));
        }
        Ok(())
    }
}
