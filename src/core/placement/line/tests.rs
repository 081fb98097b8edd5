//! Members with ranks on nodes of any choice, lined up; and the shortest line by trying all.

use super::*;
use crate::state::Place;
use muster_model::testing::{group, node, pod};
use muster_model::units::Time;
use muster_model::{
    BindOutcome, Event, HOSTNAME, Labels, Level, NodeSpec, PodSpec, Rank, TopologySpec,
};
use proptest::prelude::*;

/// A host in a rack of a block; without labels it is in neither.
#[derive(Clone, Debug)]
struct Host {
    block: u8,
    rack: u8,
    labelled: bool,
}

/// A member of the gang.
#[derive(Clone, Debug)]
struct Member {
    on: usize,
    cpus: i64,
    rank: Option<u32>,
    runs: bool,
    avoids: bool,
}

impl Member {
    fn moves(&self) -> bool {
        self.rank.is_some() && !self.runs && !self.avoids
    }
}

fn host() -> impl Strategy<Value = Host> {
    let host = (0..2_u8, 0..3_u8, prop::bool::weighted(0.9));
    host.prop_map(|(block, rack, labelled)| Host {
        block,
        rack,
        labelled,
    })
}

fn any_member() -> impl Strategy<Value = Member> {
    let rank = prop::option::weighted(0.9, 0..8_u32);
    let runs = prop::bool::weighted(0.3);
    let member = (0..6_usize, 1..3_i64, rank, runs, prop::bool::weighted(0.1));
    member.prop_map(|(on, cpus, rank, runs, avoids)| Member {
        on,
        cpus,
        rank,
        runs,
        avoids,
    })
}

fn new_member() -> impl Strategy<Value = Member> {
    (0..6_usize, 0..8_u32).prop_map(|(on, rank)| Member {
        on,
        cpus: 1,
        rank: Some(rank),
        runs: false,
        avoids: false,
    })
}

/// A cluster, and the pods of one gang.
struct World {
    hosts: Vec<Host>,
    members: Vec<Member>,
    state: ClusterState,
    nodes: Vec<NodeId>,
    pods: Vec<PodId>,
    gang: GangId,
}

impl World {
    fn new(hosts: Vec<Host>, mut members: Vec<Member>) -> Self {
        let mut state = ClusterState::default();
        let mut tell = |event| state.apply(Time::ZERO, event);
        let level = |label: &str, hops| Level {
            aliases: Vec::new(),
            label: label.into(),
            hops,
        };
        tell(Event::is(TopologySpec {
            name: "fabric".into(),
            levels: vec![level("block", 4), level("rack", 2), level(HOSTNAME, 0)],
            ..TopologySpec::default()
        }));
        tell(Event::is(group("g")));
        for (index, host) in hosts.iter().enumerate() {
            let label = |key: &str, value: u8| (key.to_owned(), value.to_string());
            let labels = [label("block", host.block), label("rack", host.rack)];
            let labels = labels.into_iter().filter(|_| host.labelled);
            tell(Event::is(NodeSpec {
                labels: Labels::from_iter(labels),
                ..node(&format!("n{index}"), 100)
            }));
        }
        let mut keys = Vec::new();
        for (index, member) in members.iter_mut().enumerate() {
            member.on %= hosts.len();
            let spec = PodSpec {
                rank: member.rank.and_then(|rank| Rank::new("", 0, rank)),
                node: member.runs.then(|| format!("n{}", member.on)),
                ..pod(&format!("p{index}"), Some("g"), member.cpus)
            };
            keys.push(spec.key.clone());
            tell(Event::is(spec));
        }
        let pods: Vec<PodId> = keys
            .iter()
            .map(|key| state.find_pod(key).unwrap())
            .collect();
        let node = |index| state.nodes().find(&format!("n{index}")).unwrap();
        let nodes: Vec<NodeId> = (0..hosts.len()).map(node).collect();
        for (index, member) in members.iter().enumerate() {
            if member.avoids && !member.runs {
                state.assume(pods[index], nodes[0]);
                let message = "denied".to_owned();
                let refused = BindOutcome::Refused { message };
                state.apply(Time::ZERO, Event::BindResult(keys[index].clone(), refused));
            }
        }
        let gang = state.pod(pods[0]).unwrap().gang.unwrap();
        Self {
            hosts,
            members,
            state,
            nodes,
            pods,
            gang,
        }
    }

    /// The hosts that members have their places on before and after they are lined up.
    fn line_up(&mut self) -> (Vec<usize>, Vec<usize>) {
        let mut statement = Statement::new(&mut self.state);
        for (member, pod) in self.members.iter().zip(&self.pods) {
            if !member.runs {
                statement.assume(*pod, self.nodes[member.on]);
            }
        }
        line_up(&mut statement, &Profile::default(), self.gang);
        statement.state().audit().unwrap();
        let state = statement.state();
        let host = |pod: &PodId| {
            let node = state.pod(*pod).unwrap().place.node().unwrap();
            self.nodes.iter().position(|one| *one == node).unwrap()
        };
        let after = self.pods.iter().map(host).collect();
        for step in statement.assumed() {
            assert_eq!(state.pod(step.pod).unwrap().place.node(), Some(step.node));
        }
        drop(statement);
        self.state.audit().unwrap();
        for (member, pod) in self.members.iter().zip(&self.pods) {
            let place = self.state.pod(*pod).unwrap().place;
            assert_eq!(place == Place::None, !member.runs);
        }
        (self.members.iter().map(|one| one.on).collect(), after)
    }

    /// The hops along the line, by the labels alone: how many have no path, and the others' sum.
    fn length(&self, on: &[usize]) -> (u32, u32) {
        let mut line: Vec<usize> = (0..on.len()).collect();
        line.retain(|index| self.members[*index].rank.is_some());
        line.sort_by_key(|index| (self.members[*index].rank, self.pods[*index]));
        let mut length = (0, 0);
        for pair in line.windows(2) {
            let (one, other) = (on[pair[0]], on[pair[1]]);
            let (a, b) = (&self.hosts[one], &self.hosts[other]);
            if one == other {
                continue;
            }
            if !a.labelled || !b.labelled || a.block != b.block {
                length.0 += 1;
            } else {
                length.1 += if a.rack == b.rack { 2 } else { 4 };
            }
        }
        length
    }
}

/// All orders of some hosts.
fn orders(hosts: &mut Vec<usize>, from: usize, see: &mut impl FnMut(&[usize])) {
    if from == hosts.len() {
        return see(hosts);
    }
    for index in from..hosts.len() {
        hosts.swap(from, index);
        orders(hosts, from + 1, see);
        hosts.swap(from, index);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn lining_up_keeps_the_nodes_and_makes_no_line_longer(
        hosts in prop::collection::vec(host(), 1..6),
        members in prop::collection::vec(any_member(), 1..9),
    ) {
        let mut world = World::new(hosts, members);
        let (before, after) = world.line_up();
        let used = |on: &[usize]| {
            let members = world.members.iter().zip(on);
            let mut used: Vec<_> = members.map(|(one, on)| (*on, one.cpus)).collect();
            used.sort_unstable();
            used
        };
        prop_assert_eq!(used(&before), used(&after));
        for (index, member) in world.members.iter().enumerate() {
            prop_assert!(member.moves() || before[index] == after[index]);
        }
        prop_assert!(world.length(&after) <= world.length(&before));
    }

    #[test]
    fn a_line_of_equal_pods_is_the_shortest_there_is(
        hosts in prop::collection::vec(host(), 1..6),
        members in prop::collection::vec(new_member(), 1..7),
    ) {
        let mut world = World::new(hosts, members);
        let (mut before, after) = world.line_up();
        let mut shortest = (u32::MAX, u32::MAX);
        orders(&mut before, 0, &mut |on| shortest = shortest.min(world.length(on)));
        prop_assert_eq!(world.length(&after), shortest);
    }
}

/// Members of one CPU with the ranks from 0 on, on these hosts; those who run are marked.
fn lined(racks: &[u8], on: &[(usize, bool)]) -> Vec<usize> {
    let host = |rack: &u8| Host {
        block: 0,
        rack: *rack,
        labelled: true,
    };
    let member = |(index, (on, runs)): (usize, &(usize, bool))| Member {
        on: *on,
        cpus: 1,
        rank: u32::try_from(index).ok(),
        runs: *runs,
        avoids: false,
    };
    let members = on.iter().enumerate().map(member).collect();
    World::new(racks.iter().map(host).collect(), members)
        .line_up()
        .1
}

#[test]
fn consecutive_ranks_fill_a_node_then_its_rack() {
    let new = |on| (on, false);
    let on = [3, 0, 2, 1, 0, 3, 1, 2].map(new);
    assert_eq!(lined(&[0, 0, 1, 1], &on), [0, 0, 1, 1, 2, 2, 3, 3]);
    // Nodes in order are next to each other by their racks, not by their names.
    assert_eq!(lined(&[0, 1, 0, 1], &on), [0, 0, 2, 2, 1, 1, 3, 3]);
}

#[test]
fn who_comes_later_takes_the_node_that_is_nearest_to_its_neighbours() {
    // Ranks 0 and 3 were lost in racks 1 and 0, where the line runs from rack 1 to rack 0.
    let on = [(0, false), (2, true), (1, true), (3, false)];
    assert_eq!(lined(&[0, 0, 1, 1], &on), [3, 2, 1, 0]);
    // Those before the first who runs are laid out from there downward.
    let on = [(3, false), (0, false), (1, false), (2, true)];
    assert_eq!(lined(&[0, 0, 1, 1], &on), [0, 1, 3, 2]);
}

#[test]
fn who_is_leaving_is_nobodys_neighbour() {
    let host = |rack| Host {
        block: 0,
        rack,
        labelled: true,
    };
    let member = |on, rank, runs| Member {
        on,
        cpus: 1,
        rank: Some(rank),
        runs,
        avoids: false,
    };
    let members = vec![
        member(0, 0, true),
        member(1, 1, true),
        member(2, 1, false),
        member(3, 2, false),
        member(1, 3, true),
    ];
    let hosts = vec![host(0), host(1), host(1), host(0)];
    let mut world = World::new(hosts, members);
    let leaving = world.pods[1];
    let mut spec = PodSpec {
        rank: Rank::new("", 0, 1),
        node: Some("n1".into()),
        terminating: true,
        ..pod("p1", Some("g"), 1)
    };
    spec.key = world.state.pod(leaving).unwrap().key.clone();
    world.state.apply(Time::ZERO, Event::is(spec));
    // Rank 0 runs in rack 0, rank 3 and who leaves in rack 1.
    let (_, after) = world.line_up();
    assert_eq!(after[2..4], [3, 2]);
}
