//! The scheduler among faults, on virtual time: binds refused, answers lost and late, news late
//! and out of step, pods and nodes deleted in between, the scheduler killed in the middle of a
//! plan. Every run follows from its seed.
//!
//! First come faults (safety: no node over its room, ever), then calm (liveness: whole gangs or
//! none, nothing forgotten, a scheduler that rests). To play one seed with all that happens:
//! `MUSTER_SEED=n cargo test --test faults one -- --nocapture`.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use muster::core::engine::Policy;
use muster::core::model::{
    GangKey, GangRef, GangSpace, GangSpec, NodeSpec, PodPhase, PodSpec, Source, SubgroupSpec,
};
use muster::core::units::{Millis, Time};
use muster::sim::driver::Driver;
use muster::sim::ledger::GangLine;
use muster::sim::network::{Met, Network, Rates};
use muster::sim::random::Random;
use muster::sim::scenario::{Entry, Object, OnEviction, PodPlan, Run, Scenario};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Seeds played by default; `MUSTER_SEEDS` plays more.
const SEEDS: u64 = 5_000;

/// How long there are faults.
const FAULTS: Time = Time(30_000);

/// After this much calm no gang may be bound in part.
const SETTLE: Millis = Millis(10_000);

/// How much calm there is.
const CALM: Millis = Millis(600_000);

/// A run is cut off here: it cannot come to rest.
const MAX_STEPS: u32 = 500_000;

fn key(namespace: &str, name: &str) -> GangKey {
    GangKey {
        namespace: namespace.to_owned(),
        space: GangSpace::Named,
        name: name.to_owned(),
    }
}

fn entry(at: u64, object: Object) -> Entry {
    Entry {
        at: Time(at),
        delete_at: None,
        object,
    }
}

fn node(name: String, cpu: u64) -> Entry {
    let amount = |amount: u64| i64::try_from(amount).unwrap();
    let node = NodeSpec {
        name,
        allocatable: vec![("cpu".into(), amount(cpu)), ("pods".into(), 110)],
        ..NodeSpec::default()
    };
    entry(0, Object::Node(node))
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
    PodPlan { spec, run }
}

/// A few nodes, gangs and single pods; some work ends, some runs for ever, some never fits.
fn scenario(random: &mut Random) -> Scenario {
    let mut entries = Vec::new();
    for index in 0..2 + random.below(5) {
        entries.push(node(format!("n{index}"), 4_000 + 1_000 * random.below(8)));
    }
    for index in 0..random.below(3) {
        let mut plan = pod(format!("foreign-{index}"), None, 500, None);
        plan.spec.ours = false;
        plan.spec.node = Some("n0".to_owned());
        entries.push(entry(0, Object::Pod(Box::new(plan))));
    }
    for index in 0..1 + random.below(6) {
        gang(random, index, &mut entries);
    }
    for index in 0..random.below(8) {
        let duration = duration(random);
        let plan = pod(
            format!("single-{index}"),
            None,
            250 * (1 + random.below(8)),
            duration,
        );
        entries.push(entry(random.below(20_000), Object::Pod(Box::new(plan))));
    }
    Scenario {
        entries,
        warnings: Vec::new(),
    }
}

fn duration(random: &mut Random) -> Option<Millis> {
    random
        .per_mille(600)
        .then(|| Millis(500 + random.below(15_000)))
}

fn gang(random: &mut Random, index: u64, entries: &mut Vec<Entry>) {
    let key = key("ns", &format!("gang-{index}"));
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
        ..GangSpec::default()
    };
    if split {
        spec.source = Source::Muster;
        spec.subgroups = ["head", "rest"]
            .map(|name| SubgroupSpec {
                name: name.to_owned(),
                min: 1,
                max: None,
            })
            .into();
        spec.min_available = 2;
    }
    // The PodGroup comes before, with or after its pods.
    let group_at = (at + random.below(3_000)).saturating_sub(1_500);
    entries.push(entry(group_at, Object::Gang(Box::new(spec))));
    for member in 0..members {
        let mut plan = pod(format!("gang-{index}-{member}"), Some(&key), cpu, duration);
        if split {
            plan.spec.subgroup = Some(if member == 0 { "head" } else { "rest" }.to_owned());
        }
        let at = at + random.below(500);
        entries.push(entry(at, Object::Pod(Box::new(plan))));
    }
}

/// What a seed stands for.
fn driver(seed: u64, trace: bool) -> Driver {
    let mut random = Random::new(seed);
    let scenario = scenario(&mut random.split());
    let rates = Rates::draw(&mut random.split());
    if trace {
        eprintln!("{rates:?}");
    }
    let network = Network::faulty(rates, random.split(), FAULTS);
    let mut driver = Driver::new(scenario, Policy::default(), network);
    driver.set_trace(trace);
    driver
}

/// Plays one seed; says what is wrong, or what went wrong by lot.
fn play(seed: u64, trace: bool) -> Result<Met, String> {
    let mut driver = driver(seed, trace);
    let until = FAULTS + CALM;
    for step in 0.. {
        if !driver.step(until) {
            break;
        }
        if let Some(violation) = driver.ledger().violations.first() {
            return Err(violation.clone());
        }
        whole_or_nothing(&driver, FAULTS)?;
        if step > MAX_STEPS {
            return Err(format!("no rest after {step} steps, at {:?}", driver.now()));
        }
    }
    at_rest(&driver, until)?;
    Ok(*driver.met())
}

/// From the time at which there are no faults, no gang is bound in part for long.
fn whole_or_nothing(driver: &Driver, calm_from: Time) -> Result<(), String> {
    for (key, line) in &driver.ledger().gangs {
        if let Some(since) = line.partly_since
            && driver.now().since(since.max(calm_from)) > SETTLE
        {
            let total = line.total();
            return Err(format!(
                "{:?}: gang {key} has been bound in part ({total:?}) since {since:?}",
                driver.now()
            ));
        }
    }
    Ok(())
}

fn at_rest(driver: &Driver, until: Time) -> Result<(), String> {
    let brain = driver.brain().ok_or("the scheduler is dead")?;
    if brain.wants_cycle() {
        return Err("the scheduler wants a cycle although nothing happens".to_owned());
    }
    if until.since(driver.last_change()) < Millis(60_000) {
        return Err(format!("no rest: changes up to {:?}", driver.last_change()));
    }
    nothing_is_lost(driver)?;
    what_fits_is_placed(driver)
}

/// Every pod exists, and is bound or says why it waits.
fn nothing_is_lost(driver: &Driver) -> Result<(), String> {
    let (server, ledger) = (driver.server(), driver.ledger());
    let done = Some(PodPhase::Succeeded);
    for line in ledger
        .pods
        .iter()
        .filter(|line| line.ours && line.phase != done)
    {
        let Some(pod) = server.pod_named(&line.namespace, &line.name) else {
            return Err(format!("pod {} does not exist", line.name));
        };
        let explains = |gang: &GangLine| {
            let status = gang.status.as_ref();
            status.is_some_and(|status| status.conditions.iter().any(|one| !one.status))
        };
        let said_on_pod = line
            .waits
            .as_ref()
            .is_some_and(|(uid, _)| *uid == pod.spec.key.uid);
        let said_on_gang = line.gang.as_ref().and_then(|key| ledger.gangs.get(key));
        if pod.spec.node.is_none() && !said_on_pod && !said_on_gang.is_some_and(explains) {
            return Err(format!("pod {} waits and nobody says why", line.name));
        }
        if pod.spec.terminating {
            return Err(format!("pod {} does not go", line.name));
        }
    }
    Ok(())
}

/// Nothing waits that has room: all pods of a gang are equal here, so counting is enough. Where
/// members ended well and are gone nothing is said: a scheduler that started later cannot know
/// them, and waits for them.
fn what_fits_is_placed(driver: &Driver) -> Result<(), String> {
    #[derive(Default)]
    struct Members {
        waiting: u32,
        placed: u32,
        succeeded: u32,
        cpu: i64,
    }
    let (server, ledger) = (driver.server(), driver.ledger());
    let free: Vec<i64> = server
        .nodes()
        .map(|node| node.allocatable[0].1 - ledger.usage.used_on(&node.name, "cpu"))
        .collect();
    let mut gangs: BTreeMap<GangKey, Members> = BTreeMap::new();
    for pod in server.pods().filter(|pod| pod.spec.ours) {
        let members = gangs.entry(pod.spec.gang_key()).or_default();
        members.cpu = pod.spec.shape.requests[0].1;
        if pod.spec.node.is_none() {
            members.waiting += 1;
        } else {
            members.placed += 1;
            members.succeeded += u32::from(pod.spec.phase == PodPhase::Succeeded);
        }
    }
    for (key, members) in gangs {
        let total = ledger.gangs.get(&key).map(GangLine::total);
        if total.unwrap_or_default().succeeded > members.succeeded {
            continue;
        }
        let min = server.gang(&key).map_or(1, |spec| spec.min_available);
        let missing = min.saturating_sub(members.placed).max(1);
        let places: i64 = free.iter().map(|free| free / members.cpu).sum();
        if missing <= members.waiting && i64::from(missing) <= places {
            let waiting = members.waiting;
            return Err(format!(
                "{key}: {missing} of {waiting} pods that wait would fit"
            ));
        }
    }
    Ok(())
}

/// Two gangs and a single pod that fit together, and one gang that never does.
fn wave() -> Scenario {
    let mut entries: Vec<Entry> = (0..3).map(|n| node(format!("n{n}"), 4_000)).collect();
    for (name, members, cpu) in [
        ("first", 4, 1_000),
        ("second", 3, 2_000),
        ("large", 5, 3_000),
    ] {
        let key = key("ns", name);
        let spec = GangSpec {
            key: key.clone(),
            min_available: members,
            ..GangSpec::default()
        };
        entries.push(entry(0, Object::Gang(Box::new(spec))));
        for member in 0..members {
            let plan = pod(format!("{name}-{member}"), Some(&key), cpu, None);
            entries.push(entry(0, Object::Pod(Box::new(plan))));
        }
    }
    let single = pod("single".to_owned(), None, 1_000, None);
    entries.push(entry(0, Object::Pod(Box::new(single))));
    Scenario {
        entries,
        warnings: Vec::new(),
    }
}

/// The pods that are bound at the end, and whether the scheduler died on the way; nothing may be
/// in part for long, and what was bound stays where it is.
fn killed_after(binds: u32) -> (Vec<String>, bool) {
    let mut driver = Driver::new(wave(), Policy::default(), Network::calm(u64::from(binds)));
    driver.kill_after_binds(binds);
    let mut places: BTreeMap<String, String> = BTreeMap::new();
    while driver.step(Time(CALM.0)) {
        assert_eq!(driver.ledger().violations, Vec::<String>::new());
        whole_or_nothing(&driver, Time::ZERO).unwrap();
        for pod in driver.server().pods() {
            if let Some(node) = &pod.spec.node {
                let before = places.insert(pod.spec.key.name.clone(), node.clone());
                assert!(
                    before.is_none_or(|before| before == *node),
                    "{binds}: moved"
                );
            }
        }
    }
    nothing_is_lost(&driver).unwrap();
    (places.into_keys().collect(), driver.met().kills > 0)
}

#[test]
fn killed_after_any_bind_of_a_wave_the_next_start_completes_it() {
    let (whole, killed) = killed_after(u32::MAX);
    assert!(!killed && whole.len() == 8, "{whole:?}");
    for binds in 1..=8 {
        assert_eq!(killed_after(binds), (whole.clone(), true), "after {binds}");
    }
}

fn judge(seed: u64, trace: bool) -> Result<Met, String> {
    catch_unwind(AssertUnwindSafe(|| play(seed, trace))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        Err(text.unwrap_or_else(|| "panicked".to_owned()))
    })
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn every_seed_ends_whole_and_quiet() {
    let seeds = number("MUSTER_SEEDS").unwrap_or(SEEDS);
    let next = AtomicU64::new(1);
    let (failed, met) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed > seeds {
                        return;
                    }
                    match judge(seed, false) {
                        Ok(of_seed) => met.lock().unwrap().push(of_seed),
                        Err(error) => failed.lock().unwrap().push((seed, error)),
                    }
                }
            });
        }
    });
    let mut failed = failed.into_inner().unwrap();
    failed.sort();
    let lines = failed.iter().take(20).map(|(seed, error)| {
        format!("seed {seed}: {error}\n  MUSTER_SEED={seed} cargo test --test faults one -- --nocapture\n")
    });
    let lines: String = lines.collect();
    assert!(
        failed.is_empty(),
        "{} of {seeds} seeds failed\n{lines}",
        failed.len()
    );
    assert_met(&met.into_inner().unwrap());
}

/// A suite without faults would prove nothing: each kind must have been met often.
fn assert_met(met: &[Met]) {
    type Count = fn(&Met) -> u64;
    let kinds: [(&str, Count); 8] = [
        ("refused", |met| met.refused),
        ("busy", |met| met.busy),
        ("broken", |met| met.broken),
        ("lost", |met| met.lost),
        ("carried out all the same", |met| met.carried_out),
        ("pods deleted", |met| met.pods_deleted),
        ("nodes deleted", |met| met.nodes_deleted),
        ("killed", |met| met.kills),
    ];
    for (kind, count) in kinds {
        let sum: u64 = met.iter().map(count).sum();
        println!("{kind}: {sum}");
        assert!(sum >= met.len() as u64 / 4, "{kind}: only {sum}");
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 1..=50 {
        let run = || {
            let mut driver = driver(seed, false);
            driver.run(FAULTS + CALM, |_| {});
            format!("{:?}", driver.ledger())
        };
        assert_eq!(run(), run(), "seed {seed}");
    }
}

#[test]
fn one() {
    let seed = number("MUSTER_SEED");
    if let Err(error) = judge(seed.unwrap_or(1), seed.is_some()) {
        panic!("seed {seed:?}: {error}");
    }
}
