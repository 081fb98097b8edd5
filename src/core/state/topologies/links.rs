//! What links say by themselves, whatever nodes there are: how far everything is from everything.
//!
//! Few of the names count for a shortest path. Who has one link only is on no path but its own: it is
//! as far as what it hangs on, and a link more. And those that have the same links are as far from all
//! else. So what is searched by petgraph is a graph of the switches that differ, which has a few
//! hundred vertices where there are thousands of nodes.

use muster_model::{Link, counted};
use petgraph::algo::{dijkstra, spfa};
use petgraph::graph::{NodeIndex, UnGraph};
use petgraph::unionfind::UnionFind;
use std::collections::BTreeMap;

/// The hops between nodes without a path.
pub const NO_PATH: u32 = u32::MAX;

/// The most hops of a path: what is more counts as so many, for a status has no room for more.
pub(super) const MOST_HOPS: u32 = i32::MAX.cast_unsigned();

/// Links, and the names that they have in them.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    vertices: BTreeMap<String, usize>,
    /// What each vertex is like.
    kind_of: Vec<usize>,
    kinds: Vec<Kind>,
    /// A vertex for each kind that paths lead over.
    junctions: UnGraph<(), u64>,
    /// Whether all ways between these cost the same.
    even: bool,
    /// The vertices with one link.
    ends: Vec<(String, usize)>,
    parts: usize,
    doubts: Vec<String>,
}

/// Vertices with the same links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    junction: NodeIndex,
    /// How far it is from the junction.
    away: u64,
    /// How far two of the kind are from each other.
    inner: u32,
}

/// The other end and the cost of each link of a vertex, by vertex.
type Neighbours = Vec<(usize, u32)>;

impl Links {
    pub(super) fn new(links: &[Link]) -> Self {
        let mut this = Self::default();
        let mut costs: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        let mut to_themselves = Names::default();
        let mut differing = Names::default();
        for link in links {
            let (a, b) = (this.vertex(&link.a), this.vertex(&link.b));
            if a == b {
                to_themselves.add(|| link.a.clone());
                continue;
            }
            let cost = link.cost.max(1);
            let known = costs.entry((a.min(b), a.max(b))).or_insert(cost);
            if *known != cost {
                differing.add(|| format!("{} - {}", link.a, link.b));
                *known = cost.min(*known);
            }
        }
        let mut neighbours = vec![Neighbours::new(); this.vertices.len()];
        let mut joined = UnionFind::new(this.vertices.len());
        for ((a, b), cost) in costs {
            neighbours[a].push((b, cost));
            neighbours[b].push((a, cost));
            joined.union(a, b);
        }
        neighbours.iter_mut().for_each(|one| one.sort_unstable());
        let roots = (0..neighbours.len()).filter(|one| joined.find(*one) == *one);
        this.parts = roots.filter(|one| !neighbours[*one].is_empty()).count();
        let ends = this.vertices.iter();
        let ends = ends.filter(|(_, vertex)| neighbours[**vertex].len() == 1);
        this.ends = ends.map(|(name, vertex)| (name.clone(), *vertex)).collect();
        this.sort_into_kinds(&neighbours);
        this.doubts.extend(to_themselves.told(|count, names| {
            let links = counted(count, "link");
            format!("{links} from a name to itself ({names}): of no account")
        }));
        this.doubts.extend(differing.told(|count, names| {
            let links = counted(count, "link");
            format!("{links} given again with another cost ({names}): the lowest counts")
        }));
        this
    }

    fn vertex(&mut self, name: &str) -> usize {
        let next = self.vertices.len();
        if let Some(known) = self.vertices.get(name) {
            return *known;
        }
        self.vertices.insert(name.to_owned(), next);
        next
    }

    /// Finds who has the same links, and makes a graph of those that paths lead over.
    fn sort_into_kinds(&mut self, neighbours: &[Neighbours]) {
        let mut alike: BTreeMap<&Neighbours, usize> = BTreeMap::new();
        let mut first_of: Vec<usize> = Vec::new();
        for (vertex, own) in neighbours.iter().enumerate() {
            let kind = *alike.entry(own).or_insert_with(|| {
                first_of.push(vertex);
                first_of.len() - 1
            });
            self.kind_of.push(kind);
        }
        // Two that are linked to each other alone would else both hang on nothing.
        let hangs_on = |vertex: usize| match neighbours[vertex][..] {
            [(on, cost)] if neighbours[on].len() > 1 => Some((on, u64::from(cost))),
            _ => None,
        };
        let mut junction_of = vec![NodeIndex::end(); first_of.len()];
        for (kind, vertex) in first_of.iter().enumerate() {
            if hangs_on(*vertex).is_none() {
                junction_of[kind] = self.junctions.add_node(());
            }
        }
        let mut ways: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        for (kind, vertex) in first_of.iter().enumerate() {
            let own = &neighbours[*vertex];
            let nearest = own.iter().map(|(_, cost)| *cost).min();
            let (junction, away) = match hangs_on(*vertex) {
                Some((on, away)) => (junction_of[self.kind_of[on]], away),
                None => (junction_of[kind], 0),
            };
            self.kinds.push(Kind {
                junction,
                away,
                inner: nearest.map_or(NO_PATH, |cost| 2 * cost),
            });
            if away == 0 {
                let others = own
                    .iter()
                    .map(|(other, cost)| (self.kind_of[*other], *cost));
                ways.extend(
                    others
                        .filter(|(other, _)| junction_of[*other] != NodeIndex::end())
                        .map(|(other, cost)| ((kind.min(other), kind.max(other)), cost)),
                );
            }
        }
        let mut costs = ways.values();
        let first = costs.next();
        self.even = first.is_none_or(|first| costs.all(|cost| cost == first));
        for ((one, other), cost) in ways {
            let cost = u64::from(cost);
            self.junctions
                .add_edge(junction_of[one], junction_of[other], cost);
        }
    }

    /// The vertex of a name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.vertices.get(name).copied()
    }

    /// Which kind a vertex is of.
    pub(super) fn kind(&self, vertex: usize) -> usize {
        self.kind_of[vertex]
    }

    pub(super) const fn kinds(&self) -> usize {
        self.kinds.len()
    }

    pub(super) const fn vertices(&self) -> usize {
        self.kind_of.len()
    }

    /// How many vertices are searched.
    #[cfg(test)]
    pub(super) fn junctions(&self) -> usize {
        self.junctions.node_count()
    }

    /// How many parts there are without a path between them.
    pub(super) const fn parts(&self) -> usize {
        self.parts
    }

    /// What an admin may not have meant, as far as it is about links alone.
    pub(super) fn doubts(&self) -> &[String] {
        &self.doubts
    }

    /// Those with one link: most likely nodes.
    pub(super) fn ends(&self) -> &[(String, usize)] {
        &self.ends
    }

    /// How far each junction is from one; `u64::MAX` where there is no path.
    fn distances(&self, start: NodeIndex) -> Vec<u64> {
        // Where all ways cost the same, this is a search in breadth, several times as fast: a first
        // path is a shortest one, and nothing is looked at twice.
        if self.even
            && let Ok(paths) = spfa(&self.junctions, start, |way| *way.weight())
        {
            return paths.distances;
        }
        let far = dijkstra(&self.junctions, start, None, |way| *way.weight());
        let junctions = self.junctions.node_indices();
        junctions
            .map(|one| far.get(&one).copied().unwrap_or(u64::MAX))
            .collect()
    }

    /// The hops from one of a kind to another one of each of these kinds.
    pub(super) fn hops(&self, from: usize, to: impl Iterator<Item = usize>) -> Vec<u32> {
        let start = self.kinds[from];
        let far = self.distances(start.junction);
        let to = to.map(|kind| {
            let end = self.kinds[kind];
            if kind == from {
                return end.inner;
            }
            let between = far.get(end.junction.index()).copied();
            let between = between.filter(|between| *between != u64::MAX);
            let hops = between.map(|between| start.away + between + end.away);
            let hops = hops.map(|hops| u32::try_from(hops).unwrap_or(MOST_HOPS));
            hops.map_or(NO_PATH, |hops| hops.min(MOST_HOPS))
        });
        to.collect()
    }
}

/// How many of something there are, and the first of them.
#[derive(Default)]
struct Names {
    count: usize,
    first: Vec<String>,
}

impl Names {
    fn add(&mut self, name: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.len() < NAMED {
            self.first.push(name());
        }
    }

    fn told(self, words: impl FnOnce(usize, &str) -> String) -> Option<String> {
        (self.count > 0).then(|| words(self.count, &self.first.join(", ")))
    }
}

/// How many names are given as examples.
pub(super) const NAMED: usize = 3;
