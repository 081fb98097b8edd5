//! Random clusters and gangs.

use muster_exact::{Members, Nodes, Problem, Quota};

/// A sequence of numbers by lot, the same for the same seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) const fn new(seed: u64) -> Self {
        Self((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// One of the numbers from `low` to `high`.
    pub(crate) const fn roll(&mut self, low: i64, high: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let number = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11;
        low + (number % (high - low + 1).unsigned_abs()).cast_signed()
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        let last = i64::try_from(all.len()).unwrap() - 1;
        all[usize::try_from(self.roll(0, last)).unwrap()]
    }
}

/// How large an instance is at most.
pub(crate) struct Size {
    pub(crate) classes: (i64, i64),
    pub(crate) nodes: (i64, i64),
    pub(crate) of_class: (i64, i64),
    /// Which part of what is free the gang asks for, in percent.
    pub(crate) share: (i64, i64),
}

impl Size {
    /// For brute force.
    pub(crate) const SMALL: Self = Self {
        classes: (1, 3),
        nodes: (1, 4),
        of_class: (1, 2),
        share: (30, 110),
    };
    /// For a solver that works in floating point.
    pub(crate) const MIDDLE: Self = Self {
        classes: (2, 4),
        nodes: (2, 5),
        of_class: (1, 4),
        share: (20, 90),
    };
    /// Gangs of equal members.
    pub(crate) const EQUAL: Self = Self {
        classes: (1, 1),
        nodes: (2, 30),
        of_class: (1, 60),
        share: (10, 90),
    };
    /// What is measured.
    pub(crate) const LARGE: Self = Self {
        classes: (3, 12),
        nodes: (4, 60),
        of_class: (1, 12),
        share: (15, 85),
    };
}

/// Cores in thousandths, memory in MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Amounts {
    pub(crate) cpu: i64,
    pub(crate) mib: i64,
}

/// A node, and what is used of it: nothing if no pod is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) size: Amounts,
    pub(crate) used: Amounts,
}

/// A cluster and a gang, all of which has to be placed.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    pub(crate) nodes: Vec<Node>,
    /// What a member of each class requests, and how many there are.
    pub(crate) members: Vec<(Amounts, u32)>,
}

const PODS: i64 = 110;

impl Instance {
    pub(crate) fn random(dice: &mut Dice, size: &Size) -> Self {
        for _ in 0..8 {
            dice.roll(0, 1);
        }
        let kinds = dice.roll(1, 4);
        let kinds: Vec<Amounts> = (0..kinds)
            .map(|_| {
                let cores = dice.one_of(&[8, 16, 32, 48, 64, 96]);
                Amounts {
                    cpu: cores * 1_000,
                    mib: cores * 1_024 * dice.one_of(&[2, 4, 8]),
                }
            })
            .collect();
        let count = dice.roll(size.nodes.0, size.nodes.1);
        let nodes: Vec<Node> = (0..count).map(|_| node(dice, &kinds)).collect();
        let classes = dice.roll(size.classes.0, size.classes.1);
        let largest = kinds.iter().map(|one| one.cpu).max().unwrap();
        let class = |_| (request(dice, largest), 0);
        let mut members: Vec<(Amounts, u32)> = (0..classes).map(class).collect();
        for one in &mut members {
            one.1 = u32::try_from(dice.roll(size.of_class.0, size.of_class.1)).unwrap();
        }
        let share = dice.roll(size.share.0, size.share.1);
        shrink(dice, &mut members, &nodes, share);
        // The order in which the search wants its classes.
        let worth = |one: &Amounts| one.cpu * 1_024 + one.mib * 250;
        members.sort_by_key(|(one, _)| -worth(one));
        Self { nodes, members }
    }

    /// A gang made by cutting up nodes: it fits, and leaves next to nothing of their cores.
    pub(crate) fn cut(dice: &mut Dice) -> Self {
        let count = dice.roll(6, 200);
        let sizes: Vec<i64> = (0..dice.roll(2, 5)).map(|_| dice.roll(1, 9)).collect();
        let mut members: Vec<(Amounts, u32)> = Vec::new();
        let mut nodes = Vec::new();
        let mut left = 200;
        for _ in 0..count {
            let parts = dice.roll(1, 4).min(left);
            if parts == 0 {
                break;
            }
            left -= parts;
            let mut cores = 0;
            for _ in 0..parts {
                let one = dice.one_of(&sizes);
                cores += one;
                let request = Amounts {
                    cpu: one * 1_000,
                    mib: one * 512,
                };
                match members.iter_mut().find(|(known, _)| *known == request) {
                    Some((_, count)) => *count += 1,
                    None => members.push((request, 1)),
                }
            }
            let used = Amounts {
                cpu: 1_000 * dice.roll(0, 1),
                mib: 1_024,
            };
            let size = Amounts {
                cpu: cores * 1_000 + used.cpu,
                mib: 64 * 1_024,
            };
            let used = if used.cpu == 0 {
                Amounts { cpu: 0, mib: 0 }
            } else {
                used
            };
            nodes.push(Node { size, used });
        }
        members.sort_by_key(|(one, _)| -one.cpu);
        Self { nodes, members }
    }

    /// What a core and a MiB are worth: all memory as much as all cores, in 2^-40ths of a millionth.
    pub(crate) fn prices(&self) -> Vec<i128> {
        let sum = |amount: fn(&Amounts) -> i64| -> i128 {
            self.nodes
                .iter()
                .map(|one| i128::from(amount(&one.size)))
                .sum()
        };
        let cpus = sum(|one| one.cpu) * 1_000;
        let memory = sum(|one| one.mib) << 20;
        vec![0, 1_000 << 40, (cpus << 40) / memory]
    }

    pub(crate) fn problem(&self) -> Problem {
        let amounts = |one: &Amounts| vec![1, one.cpu, one.mib << 20];
        let mut nodes: Vec<Nodes> = Vec::new();
        for node in &self.nodes {
            let in_use = node.used.cpu > 0;
            let free = vec![
                PODS - i64::from(in_use),
                node.size.cpu - node.used.cpu,
                (node.size.mib - node.used.mib) << 20,
            ];
            let same = nodes
                .iter_mut()
                .find(|one| one.free == free && one.opens != in_use);
            match same {
                Some(one) => one.count += 1,
                None => nodes.push(Nodes {
                    opens: !in_use,
                    free,
                    beside: 0,
                    allows: vec![true; self.members.len()],
                    count: 1,
                }),
            }
        }
        let members = self.members.iter().map(|(request, count)| Members {
            request: amounts(request),
            count: *count,
            subgroup: 0,
        });
        let needed = self.members.iter().map(|(_, count)| count).sum();
        Problem {
            members: members.collect(),
            nodes,
            subgroups: vec![Quota {
                minimum: 0,
                room: needed,
            }],
            needed,
            prices: self.prices(),
        }
    }
}

/// A node of one of the kinds; two of five are in use.
fn node(dice: &mut Dice, kinds: &[Amounts]) -> Node {
    let size = dice.one_of(kinds);
    let mut used = Amounts { cpu: 0, mib: 0 };
    if dice.roll(0, 99) < 40 {
        let cores = dice.roll(1, size.cpu / 1_000);
        let gib = (size.mib / 1_024 * cores * 1_000 / size.cpu).max(1);
        used = Amounts {
            cpu: cores * 1_000,
            mib: dice.roll(1, gib) * 1_024,
        };
    }
    Node { size, used }
}

/// Small ones, and such as are up to two thirds of a node.
fn request(dice: &mut Dice, largest: i64) -> Amounts {
    let cpu = match dice.roll(0, 2) {
        0 => dice.roll(1, 4) * 500,
        1 => dice.roll(1, (largest / 1_500).max(2)) * 1_000,
        _ => dice.roll(1, (largest / 1_500).max(2)) * 500,
    };
    let mib = (cpu * dice.one_of(&[1, 2, 4, 8]) / 1_000 * 1_024).max(512);
    Amounts { cpu, mib }
}

/// Makes the gang smaller until it asks for no more than a share of what is free.
fn shrink(dice: &mut Dice, members: &mut [(Amounts, u32)], nodes: &[Node], share: i64) {
    let free = |amount: fn(&Amounts) -> i64| -> i64 {
        nodes
            .iter()
            .map(|one| amount(&one.size) - amount(&one.used))
            .sum()
    };
    for round in 0..2_000 {
        let asked = |amount: fn(&Amounts) -> i64| -> i64 {
            members
                .iter()
                .map(|(one, count)| amount(one) * i64::from(*count))
                .sum()
        };
        let pods: u32 = members.iter().map(|(_, count)| count).sum();
        let enough = |amount| asked(amount) * 100 <= free(amount) * share;
        if enough(|one| one.cpu) && enough(|one| one.mib) && pods <= 200 {
            return;
        }
        let last = i64::try_from(members.len()).unwrap() - 1;
        let (request, count) = &mut members[usize::try_from(dice.roll(0, last)).unwrap()];
        if *count > 1 {
            *count -= 1;
        } else if round > 300 {
            request.cpu = (request.cpu / 2).max(250);
            request.mib = (request.mib / 2).max(256);
        }
    }
}
