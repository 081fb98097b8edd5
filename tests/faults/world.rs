//! The small worlds in which faults happen: some work ends, some runs for ever, some never fits,
//! and some is edited on the way.

use muster::model::units::{Millis, Time};
use muster::model::{
    AccessModes, BindingMode, ClaimKey, ClaimSpec, CsiNodeSpec, HOSTNAME, Object, Operator,
    PodVolume, Requirement, StorageClassSpec, Term, VolumeSpec,
};
use muster::model::{
    Counted, GangKey, GangRef, GangSpace, GangSpec, HostPort, HyperNodeSpec, LabelCondition,
    LabelRequirement, LabelSelector, Level, Link, NamespaceChoice, NodeChoice, NodeSpec, PodLabels,
    PodQuery, PodRules, PodSpec, PodTerm, PriorityClassSpec, ProfileId, QueueSpec, Rank,
    Reservation, Source, SpreadRule, SubgroupSpec, Taint, Toleration, TolerationOperator,
    TopologySpec, TopologyWish, WeightedPodTerm,
};
use muster::sim::random::Random;
use muster::sim::scenario::{
    Amount, BudgetPlan, Entry, Needed, OnEviction, Played, PodPlan, Run, Scenario,
};

/// The taint that some nodes have and some pods tolerate.
const TAINT: &str = "taint";
/// Who makes volumes.
const DRIVER: &str = "driver";
/// What pods of which only some may go say in their label `app`.
const APP: &str = "db";

fn key(name: &str) -> GangKey {
    GangKey {
        namespace: "ns".to_owned(),
        space: GangSpace::Named,
        name: name.to_owned(),
    }
}

/// An object that is played as it is.
fn plain(spec: impl Into<Object>) -> Played {
    Played::Plain(spec.into())
}

fn entry(at: u64, object: Played) -> Entry {
    Entry {
        at: Time(at),
        delete_at: None,
        object,
    }
}

fn node(name: String, cpu: u64, tainted: bool) -> Entry {
    let amount = |amount: u64| i64::try_from(amount).unwrap();
    let taint = Taint {
        key: TAINT.to_owned(),
        ..Taint::default()
    };
    let node = NodeSpec {
        labels: [("host".to_owned(), name.clone())].into(),
        name,
        allocatable: vec![("cpu".into(), amount(cpu)), ("pods".into(), 110)],
        taints: tainted.then_some(taint).into_iter().collect(),
        ..NodeSpec::default()
    };
    entry(0, plain(node))
}

fn pod(name: String, gang: Option<&GangKey>, cpu: u64, duration: Option<Millis>) -> PodPlan {
    let mut spec = PodSpec {
        ours: true,
        ..PodSpec::default()
    };
    spec.key.namespace = "ns".to_owned();
    spec.key.name = name;
    spec.shape.requests = vec![("cpu".into(), i64::try_from(cpu).unwrap())];
    if let Some(key) = gang {
        spec.gang = GangRef::Named {
            space: key.space,
            name: key.name.clone(),
        };
    }
    let run = Run {
        duration,
        on_eviction: OnEviction::Requeue,
    };
    PodPlan {
        spec,
        run,
        ..PodPlan::default()
    }
}

/// What all pods of a gang have in common besides their size.
fn habits(random: &mut Random) -> impl Fn(&mut PodPlan) + use<> {
    let (tolerates, takes_port) = (random.per_mille(400), random.per_mille(150));
    let profile = ProfileId(u8::from(random.per_mille(300)));
    let unsaid = if random.per_mille(300) { 100 } else { 0 };
    let app = random
        .per_mille(400)
        .then(|| ("app".to_owned(), APP.to_owned()));
    // A label that no other gang has.
    let set = ("set".to_owned(), random.below(1 << 32).to_string());
    let company = company(random, &set.1);
    let spread = spread(random, app.is_some());
    let prefers = unsaid > 0;
    move |plan| {
        let labels = app.clone().into_iter().chain([set.clone()]);
        plan.spec.labels = PodLabels::new(&labels.collect());
        plan.spec.shape.pods = company.clone();
        if prefers {
            plan.spec.shape.preferences.spread.clone_from(&spread);
        } else {
            plan.spec.shape.spread.clone_from(&spread);
        }
        plan.spec.shape.constraints.profile = profile;
        plan.spec.shape.preferences.unsaid = [unsaid, 0];
        if tolerates {
            plan.spec.shape.constraints.tolerations = vec![Toleration {
                key: TAINT.to_owned(),
                operator: TolerationOperator::Exists,
                ..Toleration::default()
            }];
        }
        if takes_port {
            plan.spec.shape.host_ports = vec![HostPort {
                port: 80,
                ..HostPort::default()
            }];
        }
    }
}

/// Beside whom the pods of a gang have to be, or may not be: for some.
fn company(random: &mut Random, set: &str) -> PodRules {
    let about = |label: &str, value: &str, key: &str| PodTerm {
        namespaces: NamespaceChoice::only("ns"),
        selector: LabelSelector {
            requirements: vec![LabelRequirement {
                key: label.to_owned(),
                holds: LabelCondition::In(vec![value.to_owned()]),
            }],
        },
        topology_key: key.to_owned(),
    };
    let weighted = |weight, label: &str, value: &str, key: &str| WeightedPodTerm {
        weight,
        term: about(label, value, key),
    };
    let (mut affinity, mut anti_affinity) = (Vec::new(), Vec::new());
    let mut preferred = Vec::new();
    match random.below(12) {
        0 => anti_affinity.push(about("set", set, "host")),
        1 => affinity.push(about("set", set, "rack")),
        2 => anti_affinity.push(about("app", APP, "rack")),
        3 => affinity.push(about("app", APP, "rack")),
        4 => {
            affinity.push(about("set", set, "rack"));
            anti_affinity.push(about("set", set, "host"));
        }
        5 => preferred.push(weighted(-20, "set", set, "host")),
        6 => preferred.push(weighted(1, "app", APP, "rack")),
        7 => {
            preferred.push(weighted(-3, "app", APP, "host"));
            preferred.push(weighted(50, "set", set, "rack"));
        }
        _ => {}
    }
    PodRules {
        affinity,
        anti_affinity,
        preferred,
        draws: true,
    }
}

/// Over the racks, of which there are three at most, for some: pods of app `db` are counted.
fn spread(random: &mut Random, counts_itself: bool) -> Vec<SpreadRule> {
    if !random.per_mille(250) {
        return Vec::new();
    }
    let count = |count: u64| u32::try_from(count).unwrap();
    vec![SpreadRule {
        key: "rack".to_owned(),
        max_skew: count(1 + random.below(2)),
        min_domains: count(1 + random.below(2)),
        pods: Some(PodQuery {
            namespaces: vec![NamespaceChoice::only("ns")],
            selector: db(),
            counted: Counted::Staying,
        }),
        counts_itself,
        honors_affinity: true,
        honors_taints: random.per_mille(500),
    }]
}

/// Chooses pods of app `db`.
fn db() -> LabelSelector {
    LabelSelector {
        requirements: vec![LabelRequirement {
            key: "app".to_owned(),
            holds: LabelCondition::In(vec![APP.to_owned()]),
        }],
    }
}

/// A few nodes, queues, gangs and single pods.
pub(crate) fn scenario(random: &mut Random) -> Scenario {
    let mut entries = Vec::new();
    for index in 0..2 + random.below(5) {
        let cpu = 4_000 + 1_000 * random.below(8);
        entries.push(node(format!("n{index}"), cpu, random.per_mille(250)));
    }
    let topology = topology(random, &mut entries);
    let has_topology = !topology.is_empty();
    entries.extend(topology);
    queues(random, &mut entries);
    budget(random, &mut entries);
    for index in 0..random.below(3) {
        let mut plan = pod(format!("foreign-{index}"), None, 500, None);
        plan.spec.ours = false;
        plan.spec.node = Some("n0".to_owned());
        entries.push(entry(0, Played::Pod(Box::new(plan))));
    }
    for index in 0..1 + random.below(6) {
        gang(random, index, has_topology, &mut entries);
    }
    for index in 0..random.below(8) {
        let (cpu, duration) = (250 * (1 + random.below(8)), duration(random));
        let mut plan = pod(format!("single-{index}"), None, cpu, duration);
        habits(random)(&mut plan);
        plan.spec.priority = random.per_mille(200).then_some(1);
        plan.spec.lifetime = lifetime(random);
        entries.push(entry(random.below(20_000), Played::Pod(Box::new(plan))));
    }
    if random.per_mille(400) {
        volumes(random, &mut entries);
    }
    Scenario {
        entries,
        warnings: Vec::new(),
    }
}

/// Some pods have a claim, of a class whose volumes are made at once, or when a pod has a node, or which
/// are there already; some share one.
fn volumes(random: &mut Random, entries: &mut Vec<Entry>) {
    let classes = [
        ("now", DRIVER, BindingMode::Immediate),
        ("late", DRIVER, BindingMode::WaitForFirstConsumer),
        ("local", "", BindingMode::WaitForFirstConsumer),
    ];
    let mut more: Vec<Object> = Vec::new();
    for (name, provisioner, mode) in classes {
        more.push(Object::from(StorageClassSpec {
            name: name.to_owned(),
            provisioner: provisioner.to_owned(),
            mode,
            topologies: Vec::new(),
        }));
    }
    for entry in entries.iter_mut() {
        let Played::Plain(Object::Node(node)) = &mut entry.object else {
            continue;
        };
        node.labels.insert(HOSTNAME.to_owned(), node.name.clone());
        for index in 0..random.below(4) {
            let on_node = Requirement {
                key: HOSTNAME.to_owned(),
                operator: Operator::In,
                values: vec![node.name.clone()],
            };
            let term = Term {
                labels: vec![on_node],
                fields: Vec::new(),
            };
            more.push(Object::from(VolumeSpec {
                name: format!("{}-{index}", node.name),
                size: 5 + i64::try_from(random.below(10)).unwrap(),
                class: "local".to_owned(),
                affinity: (!random.per_mille(200)).then(|| vec![term]),
                ..VolumeSpec::default()
            }));
        }
        if random.per_mille(500) {
            let limit = 1 + u32::try_from(random.below(4)).unwrap();
            more.push(Object::from(CsiNodeSpec {
                name: node.name.clone(),
                drivers: [(DRIVER.to_owned(), Some(limit))].into(),
                migrated: [].into(),
            }));
        }
    }
    for entry in entries.iter_mut() {
        let Played::Pod(plan) = &mut entry.object else {
            continue;
        };
        if !plan.spec.ours || !random.per_mille(400) {
            continue;
        }
        let class = classes[usize::try_from(random.below(3)).unwrap()].0;
        let claim = ClaimSpec {
            key: ClaimKey {
                namespace: "ns".to_owned(),
                name: format!("{}-data", plan.spec.key.name),
            },
            class: class.to_owned(),
            size: Some(1 + i64::try_from(random.below(12)).unwrap()),
            ..ClaimSpec::default()
        };
        let name = claim.key.name.clone();
        match random.below(10) {
            0..6 => {
                more.push(Object::from(claim));
                plan.spec.volumes.push(PodVolume::Claim(name));
            }
            6..8 => {
                plan.claims.push(claim);
                plan.spec.volumes.push(PodVolume::Ephemeral(name));
            }
            _ => plan
                .spec
                .volumes
                .push(PodVolume::Claim("shared".to_owned())),
        }
    }
    more.push(Object::from(ClaimSpec {
        key: ClaimKey {
            namespace: "ns".to_owned(),
            name: "shared".to_owned(),
        },
        class: "late".to_owned(),
        size: Some(1),
        modes: if random.per_mille(300) {
            AccessModes::READ_WRITE_ONCE_POD
        } else {
            AccessModes::default()
        },
        ..ClaimSpec::default()
    }));
    for event in more {
        let at = if random.per_mille(300) {
            random.below(10_000)
        } else {
            0
        };
        entries.push(entry(at, Played::Plain(event)));
    }
}

/// Racks, and in some worlds a topology of them, which may come late or go: one of ours, or Volcano's
/// HyperNodes.
fn topology(random: &mut Random, entries: &mut [Entry]) -> Vec<Entry> {
    let mut links = Vec::new();
    for entry in entries.iter_mut() {
        if let Played::Plain(Object::Node(node)) = &mut entry.object {
            let rack = random.below(3).to_string();
            links.push(Link {
                a: format!("switch-{rack}"),
                b: node.name.clone(),
                cost: 1,
            });
            node.labels.insert("rack".to_owned(), rack);
        }
    }
    if !random.per_mille(500) {
        return Vec::new();
    }
    let objects = if random.per_mille(400) {
        hyper_nodes()
    } else {
        let mut topology = TopologySpec {
            name: "racks".to_owned(),
            ..TopologySpec::default()
        };
        // The same racks by links in every other world: one switch each, and nothing between them.
        if random.per_mille(500) {
            topology.links = links;
        } else {
            topology.levels.push(Level {
                label: "rack".to_owned(),
                hops: 2,
                ..Level::default()
            });
        }
        vec![plain(topology)]
    };
    let at = |random: &mut Random| match random.per_mille(200) {
        true => random.below(10_000),
        false => 0,
    };
    let goes = random.per_mille(200);
    let came = objects.into_iter().map(|object| {
        let mut came = entry(at(random), object);
        came.delete_at = goes.then(|| Time(came.at.0 + 1 + random.below(20_000)));
        came
    });
    came.collect()
}

/// A HyperNode for each rack, and two wider ones that say more than is so.
fn hyper_nodes() -> Vec<Played> {
    let of = |name: String, tier, nodes, members| {
        plain(HyperNodeSpec {
            name,
            tier,
            nodes,
            members,
            ..HyperNodeSpec::default()
        })
    };
    let names = |to: u64| (0..to).map(|rack| format!("rack-{rack}")).collect();
    let racks = (0..3).map(|rack: u64| {
        let requirements = vec![LabelRequirement {
            key: "rack".to_owned(),
            holds: LabelCondition::In(vec![rack.to_string()]),
        }];
        let chosen = NodeChoice::Labelled(LabelSelector { requirements });
        of(format!("rack-{rack}"), 1, vec![chosen], Vec::new())
    });
    let nobody = vec![NodeChoice::Named("n99".to_owned())];
    let wider = [
        of("room".to_owned(), 2, nobody, names(2)),
        of("hall".to_owned(), 3, Vec::new(), names(4)),
    ];
    racks.chain(wider).collect()
}

/// Two queues, of which one may come late, go and come again; and a class that may be late.
fn queues(random: &mut Random, entries: &mut Vec<Entry>) {
    let reservation = if random.per_mille(500) {
        Reservation::Easy
    } else {
        Reservation::None
    };
    let movable = random.per_mille(500).then_some(true);
    let queue = |name: &str, tier| {
        plain(QueueSpec {
            reservation,
            reserve_after: Millis(30_000),
            movable,
            name: name.to_owned(),
            tier,
            // What a queue may hold stands in nobody's way here: who fits is to start.
            over_share: 1_000_000,
            min_runtime: (name == "steady").then_some(Millis(3_000)),
            ..QueueSpec::default()
        })
    };
    entries.push(entry(0, queue("default", 0)));
    entries.push(entry(0, queue("steady", 1)));
    let at = random.below(5_000);
    let mut first = entry(at, queue("moody", -1));
    if random.per_mille(400) {
        let gone = at + 1 + random.below(10_000);
        first.delete_at = Some(Time(gone));
        let again = gone + 1 + random.below(10_000);
        entries.push(entry(again, queue("moody", 0)));
    }
    entries.push(first);
    let class = PriorityClassSpec {
        name: "class".to_owned(),
        value: 7,
        ..PriorityClassSpec::default()
    };
    entries.push(entry(random.below(10_000), plain(class)));
}

/// A PodDisruptionBudget, which may come and go.
fn budget(random: &mut Random, entries: &mut Vec<Entry>) {
    if random.per_mille(500) {
        return;
    }
    let amount = Amount::Count(u32::try_from(random.below(3)).unwrap());
    let mut plan = BudgetPlan {
        needed: Some(if random.per_mille(500) {
            Needed::Available(amount)
        } else {
            Needed::Unavailable(amount)
        }),
        ..BudgetPlan::default()
    };
    plan.spec.namespace = "ns".to_owned();
    plan.spec.name = "budget".to_owned();
    plan.spec.selector = db();
    let at = random.below(10_000);
    let mut budget = entry(at, Played::Budget(Box::new(plan)));
    budget.delete_at = random
        .per_mille(300)
        .then(|| Time(at + 1 + random.below(15_000)));
    entries.push(budget);
}

/// A lifetime after which others may have it go, for some.
fn lifetime(random: &mut Random) -> Option<Millis> {
    random
        .per_mille(350)
        .then(|| Millis(1_000 * random.below(12)))
}

fn duration(random: &mut Random) -> Option<Millis> {
    random
        .per_mille(600)
        .then(|| Millis(500 + random.below(15_000)))
}

fn gang(random: &mut Random, index: u64, has_topology: bool, entries: &mut Vec<Entry>) {
    let key = key(&format!("gang-{index}"));
    let members = 1 + random.below(6);
    let min = 1 + random.below(members);
    let (at, cpu) = (random.below(20_000), 500 * (1 + random.below(6)));
    let duration = duration(random);
    let split = members > 2 && random.per_mille(300);
    let count = |count: u64| u32::try_from(count).unwrap();
    let mut spec = GangSpec {
        key: key.clone(),
        source: if random.per_mille(300) {
            Source::Volcano
        } else {
            Source::Muster
        },
        min_available: count(min),
        priority: random
            .per_mille(300)
            .then(|| i32::try_from(random.below(3)).unwrap()),
        priority_class: None,
        queue: match random.below(4) {
            0 => Some("steady".to_owned()),
            1 => Some("moody".to_owned()),
            _ => None,
        },
        ..GangSpec::default()
    };
    if spec.priority.is_none() && random.per_mille(200) {
        spec.priority_class = Some("class".to_owned());
    }
    spec.lifetime = lifetime(random);
    if random.per_mille(200) {
        spec.min_resources = vec![("cpu".into(), i64::try_from(min * cpu).unwrap())];
    }
    if split {
        spec.source = Source::Muster;
        spec.subgroups = ["head", "rest"]
            .map(|name| SubgroupSpec {
                name: name.to_owned(),
                min: 1,
                max: None,
                ..SubgroupSpec::default()
            })
            .into();
        spec.min_available = 2;
    }
    if spec.source == Source::Muster {
        spec.exclusive = random.per_mille(100);
        spec.topology = (has_topology && random.per_mille(300)).then(|| TopologyWish {
            max_hops: Some(u32::try_from(2 * random.below(2)).unwrap()),
            ..TopologyWish::default()
        });
    }
    spec.repair_for = random
        .per_mille(250)
        .then(|| Millis(1_000 + random.below(30_000)));
    spec.replicas = random
        .per_mille(200)
        .then(|| spec.min_available + count(random.below(3)));
    // The PodGroup comes before, with or after its pods, and may be edited or made again.
    let group_at = (at + random.below(3_000)).saturating_sub(1_500);
    let mut group = entry(group_at, plain(spec.clone()));
    if random.per_mille(300) && !split {
        let mut edited = spec;
        edited.min_available = count(1 + random.below(members));
        let edited_at = group_at + 1 + random.below(15_000);
        if random.per_mille(300) {
            group.delete_at = Some(Time(edited_at));
        }
        let again = edited_at + 1 + random.below(2_000);
        entries.push(entry(again, plain(edited)));
    }
    entries.push(group);
    let habits = habits(random);
    for member in 0..members {
        let mut plan = pod(format!("gang-{index}-{member}"), Some(&key), cpu, duration);
        habits(&mut plan);
        if split {
            plan.spec.subgroup = Some(if member == 0 { "head" } else { "rest" }.to_owned());
        }
        // Numbered in another order than they come in.
        if index.is_multiple_of(2) {
            plan.spec.rank = Rank::new("", 0, count(member * 3 % 5));
        }
        let at = at + random.below(500);
        entries.push(entry(at, Played::Pod(Box::new(plan))));
    }
}

/// Two gangs and a single pod that fit together, and one gang that never does.
pub(crate) fn wave() -> Scenario {
    let mut entries: Vec<Entry> = (0..3)
        .map(|n| node(format!("n{n}"), 4_000, false))
        .collect();
    for (name, members, cpu) in [
        ("first", 4, 1_000),
        ("second", 3, 2_000),
        ("large", 5, 3_000),
    ] {
        let key = key(name);
        let spec = GangSpec {
            key: key.clone(),
            min_available: members,
            ..GangSpec::default()
        };
        entries.push(entry(0, plain(spec)));
        for member in 0..members {
            let plan = pod(format!("{name}-{member}"), Some(&key), cpu, None);
            entries.push(entry(0, Played::Pod(Box::new(plan))));
        }
    }
    let single = pod("single".to_owned(), None, 1_000, None);
    entries.push(entry(0, Played::Pod(Box::new(single))));
    Scenario {
        entries,
        warnings: Vec::new(),
    }
}

/// The lifetime of what is lent in [`lent`].
pub(crate) const LENT_FOR: Millis = Millis(60_000);

/// A queue holds the whole cluster for a time; another, which is owed half of it, waits.
pub(crate) fn lent() -> Scenario {
    let mut entries = vec![node("n0".to_owned(), 4_000, false)];
    for name in ["lender", "owner"] {
        let queue = QueueSpec {
            name: name.to_owned(),
            ..QueueSpec::default()
        };
        entries.push(entry(0, plain(queue)));
    }
    let gangs = [
        ("lent", "lender", 4, 0, Some(LENT_FOR)),
        ("owed", "owner", 2, 15_000, None),
    ];
    for (name, queue, members, at, lifetime) in gangs {
        let key = key(name);
        let spec = GangSpec {
            key: key.clone(),
            min_available: members,
            queue: Some(queue.to_owned()),
            lifetime,
            ..GangSpec::default()
        };
        entries.push(entry(at, plain(spec)));
        for member in 0..members {
            let plan = pod(format!("{name}-{member}"), Some(&key), 1_000, None);
            entries.push(entry(at, Played::Pod(Box::new(plan))));
        }
    }
    Scenario {
        entries,
        warnings: Vec::new(),
    }
}
