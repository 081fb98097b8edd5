//! The scheduler among faults, on virtual time: binds, deletions and words refused, hung and
//! throttled, answers lost and late, news late, out of step or lost with its watch, pods and nodes
//! deleted in between, outages, the scheduler killed in the middle of a plan, standing still, and deposed by
//! another one. Every run follows from its seed.
//!
//! First come faults (safety: every plan passes the linter, no node over its room, nobody writes
//! who was deposed), then calm (liveness: whole gangs or none, nothing forgotten, every word true,
//! a scheduler that rests). To play one seed with all that happens:
//! `MUSTER_SEED=n cargo test --test faults one -- --nocapture`.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod asker;
mod by_pods;
mod fits;
mod job_rules;
mod jobs;
mod lifetimes;
mod lives;
mod oracle;
mod outages;
mod plans;
mod pods;
mod recorded;
#[path = "../support/replayed.rs"]
mod replayed;
mod slots;
mod slow;
#[path = "../support/small/mod.rs"]
mod small;
mod told;
mod volumes;
mod world;

use job_rules::{Eyes, Lacking};
use muster::core::engine::{MoveLimits, Policy, Priorities};
use muster::core::framework::Remote;
use muster::core::plugins::{join, registry};
use muster::model::RemotePoint;
use muster::model::units::{Millis, Time};
use muster::sim::driver::Driver;
use muster::sim::network::{Met, Network, Rates, ToControllers};
use muster::sim::random::Random;
use oracle::{at_rest, may_take_turns, nothing_is_lost, whole_or_nothing};
use std::collections::BTreeMap;
use std::io::{Write as _, stderr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use world::World;

/// Seeds played by default; `hack/test` has `MUSTER_SEEDS` play 20,000. `MUSTER_FIRST_SEED` begins later than at 1,
/// and after `MUSTER_MINUTES` none is begun.
const SEEDS: u64 = 1_000;

/// How long there are faults.
const FAULTS: Time = Time(30_000);

/// How much calm there is. It does not end right after a sweep, which may change words.
const CALM: Millis = Millis(830_000);

/// How much of it where gangs may take turns for ever: nothing would come to rest.
const CALM_IN_TURNS: Millis = Millis(300_000);

/// A run is cut off here: it cannot come to rest.
const MAX_STEPS: u32 = 500_000;

/// In every other run gangs are moved, sooner and more often than anybody would have it.
fn moves(random: &mut Random) -> Option<MoveLimits> {
    random.per_mille(500).then(|| MoveLimits {
        max_pods: 1 + u32::try_from(random.below(8)).unwrap_or(0),
        interval: Millis(1_000 + random.below(20_000)),
        rest: Millis(1_000 + random.below(120_000)),
        after: Millis(random.below(5_000)),
        hold: Millis(1_000 + random.below(30_000)),
    })
}

/// In some runs a plugin in another process has a say about nodes, and about decisions: while there are faults
/// it says no, late, twice or nothing.
fn with_a_plugin(policy: &mut Policy, random: &mut Random) {
    if !random.per_mille(200) {
        return;
    }
    let points = [
        RemotePoint::PreFilter,
        RemotePoint::Filter,
        RemotePoint::Reserve,
        RemotePoint::Permit,
        RemotePoint::PreBind,
        RemotePoint::Bind,
        RemotePoint::PostBind,
    ];
    let remote = Remote {
        name: "licences".into(),
        points: points
            .into_iter()
            .filter(|_| random.per_mille(500))
            .collect(),
        weight: 1,
        ignorable: random.per_mille(300),
        at_most: Millis(100 + random.below(3_000)),
        permit_at_most: Millis(1_000 + random.below(10_000)),
        holds: Millis(1_000 + random.below(20_000)),
        depends_on_pods: random.per_mille(500),
        node_labels: Vec::new(),
        resources: Vec::new(),
        unchecked: Vec::new(),
    };
    join(&mut policy.profile, remote);
}

/// How many gangs were moved, by those who scheduled last.
static MOVED: AtomicU64 = AtomicU64::new(0);

/// How often BatchJobs ran to an end, and Schedulings are over, in all worlds.
static RUNS: AtomicU64 = AtomicU64::new(0);
static PLANS_OVER: AtomicU64 = AtomicU64::new(0);

/// What a seed stands for.
struct Play {
    driver: Driver,
    /// By what it decides.
    policy: Policy,
    /// Somebody outside has to agree to some pods.
    with_askers: bool,
    /// The books of queues keep some from starting that fit.
    has_limits: bool,
    /// There are QueueJobs.
    has_jobs: bool,
    /// Look on while controllers write.
    eyes: Eyes,
}

fn start(seed: u64, trace: bool) -> Play {
    let mut random = Random::new(seed);
    let mut lots = jobs::lots(seed);
    let World {
        scenario,
        has_limits,
    } = world::world(&mut random.split(), lots.as_mut());
    let mut rates = Rates::draw(&mut random.split());
    if let Some(lots) = &mut lots {
        rates.controllers = ToControllers::draw(lots);
    }
    if trace {
        eprintln!("{rates:?}");
        for entry in &scenario.entries {
            eprintln!("{entry:?}");
        }
    }
    let network = Network::faulty(rates, random.split(), FAULTS);
    let mut policy = Policy {
        moves: moves(&mut random.split()),
        more_profiles: vec![registry::kubernetes_profile()],
        priorities: Priorities::AsGiven,
        ..Policy::default()
    };
    // What is never answered is over before the calm is.
    for profile in std::iter::once(&mut policy.profile).chain(&mut policy.more_profiles) {
        profile.pre_bind = vec![registry::volume_binding(Millis(20_000))];
    }
    let standby = random.per_mille(600);
    // In every other run some pods are not bound before somebody outside has agreed.
    let with_askers = random.per_mille(500);
    if with_askers {
        policy.additions.push(asker::addition());
    }
    with_a_plugin(&mut policy, &mut random.split());
    let eyes = Eyes::of(&scenario);
    let mut driver = Driver::new(scenario, policy.clone(), network);
    if standby {
        driver = driver.with_standby();
    }
    driver.set_trace(trace);
    if lots.is_some() {
        driver.set_witness(Box::new(eyes.clone()));
    }
    Play {
        driver,
        policy,
        with_askers,
        has_limits,
        has_jobs: lots.is_some(),
        eyes,
    }
}

/// Plays one seed; says what is wrong, or what went wrong by lot.
fn play(seed: u64, trace: bool) -> Result<Met, String> {
    let Play {
        mut driver,
        with_askers,
        has_limits,
        eyes,
        has_jobs,
        policy: _,
    } = start(seed, trace);
    let until = FAULTS + CALM;
    let mut lacking = Lacking::default();
    for step in 0.. {
        if !driver.step(until) {
            break;
        }
        if let Some(violation) = driver.ledger().violations.first() {
            return Err(violation.clone());
        }
        if has_jobs {
            lacking.look(&driver);
        }
        whole_or_nothing(&driver, FAULTS, &lacking)?;
        let is_late = driver.now() > FAULTS + CALM_IN_TURNS && step % 64 == 0;
        if is_late && (has_limits || may_take_turns(&driver)) {
            break;
        }
        if step > MAX_STEPS {
            return Err(format!("no rest after {step} steps, at {:?}", driver.now()));
        }
    }
    at_rest(&driver, has_limits, until, &eyes)?;
    asker::nothing_is_left_behind(&driver, with_askers)?;
    let brain = driver.brain();
    let moves = brain.map_or(0, |brain| brain.scheduler().stats().moves.gangs);
    MOVED.fetch_add(moves, Ordering::Relaxed);
    let (runs, over) = plans::came_to_an_end(&driver);
    RUNS.fetch_add(runs, Ordering::Relaxed);
    PLANS_OVER.fetch_add(over, Ordering::Relaxed);
    job_rules::count_ends(&driver);
    Ok(*driver.met())
}

/// The pods that are bound at the end, and whether the scheduler died on the way; nothing may be
/// in part for long, and what was bound stays where it is.
fn killed_after(binds: u32) -> (Vec<String>, bool) {
    let mut driver = Driver::new(
        told::wave(),
        Policy::default(),
        Network::calm(u64::from(binds)),
    );
    driver.kill_after_binds(binds);
    let mut places: BTreeMap<String, String> = BTreeMap::new();
    while driver.step(Time(CALM.0)) {
        assert_eq!(driver.ledger().violations, Vec::<String>::new());
        whole_or_nothing(&driver, Time::ZERO, &Lacking::default()).unwrap();
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
    let first = number("MUSTER_FIRST_SEED").unwrap_or(1);
    let most = number("MUSTER_MINUTES").map(|minutes| Duration::from_secs(60 * minutes));
    #[expect(
        clippy::disallowed_methods,
        reason = "how much is played depends on the machine"
    )]
    let begun = Instant::now();
    let next = AtomicU64::new(first);
    let is_late = || most.is_some_and(|most| begun.elapsed() >= most);
    let (failed, met) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + seeds || is_late() {
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
    let met = met.into_inner().unwrap();
    let played = (met.len() + failed.len()) as u64;
    // Also where the test passes and what it prints is kept back.
    let took = begun.elapsed().as_secs();
    writeln!(stderr(), "{played} of {seeds} seeds played in {took} s").unwrap();
    let lines = failed.iter().take(20).map(|(seed, error)| {
        format!("seed {seed}: {error}\n  MUSTER_SEED={seed} cargo test --test faults one -- --nocapture\n")
    });
    let lines: String = lines.collect();
    assert!(
        failed.is_empty(),
        "{} of {played} seeds failed\n{lines}",
        failed.len()
    );
    assert_met(&met);
    let moved = MOVED.load(Ordering::Relaxed);
    println!("gangs moved: {moved}");
    assert!(moved >= played / 500, "gangs moved: only {moved}");
    let runs = RUNS.load(Ordering::Relaxed);
    let over = PLANS_OVER.load(Ordering::Relaxed);
    println!("BatchJobs run: {runs}, Schedulings over: {over}");
    assert!(runs >= played / 40, "BatchJobs run: only {runs}");
    assert!(over >= played / 100, "Schedulings over: only {over}");
    for (what, count) in [
        ("complete", &job_rules::COMPLETE),
        ("failed", &job_rules::FAILED),
        ("made anew", &job_rules::RESTARTS),
    ] {
        let count = count.load(Ordering::Relaxed);
        println!("QueueJobs {what}: {count}");
        assert!(count >= played / 40, "QueueJobs {what}: only {count}");
    }
}

/// A suite without faults would prove nothing: each kind must have been met often.
fn assert_met(met: &[Met]) {
    type Count = fn(&Met) -> u64;
    let kinds: [(&str, Count); 33] = [
        ("refused", |met| met.refused),
        ("busy", |met| met.busy),
        ("broken", |met| met.broken),
        ("lost", |met| met.lost),
        ("carried out all the same", |met| met.carried_out),
        ("carried out after the loss", |met| met.late),
        ("in an outage", |met| met.in_outage),
        ("pods deleted", |met| met.pods_deleted),
        ("nodes deleted", |met| met.nodes_deleted),
        ("killed", |met| met.kills),
        ("stood still", |met| met.paused),
        ("deposed", |met| met.deposed),
        ("writes held back", |met| met.fenced),
        ("binds given back", |met| met.given_back),
        ("deletions refused or hung", |met| met.kept),
        ("words refused", |met| met.words_refused),
        ("words overwritten", |met| met.overwritten),
        ("watches broken", |met| met.relists),
        ("edits", |met| met.edits),
        ("questions", |met| met.asked),
        ("answered with no", |met| met.said_no),
        ("left to us", |met| met.skipped),
        ("said to be bound, and not", |met| met.lied),
        ("unanswered", |met| met.unanswered),
        ("answered twice", |met| met.said_twice),
        ("undone", |met| met.undos),
        ("volumes not made", |met| met.not_provisioned),
        ("writes refused", |met| met.writes_refused),
        ("conflicts", |met| met.conflicts),
        ("over quota", |met| met.over_quota),
        ("died between writes", |met| met.died_between_writes),
        ("watches of controllers broken", |met| {
            met.controllers_relists
        }),
        ("pods failed", |met| met.pods_failed),
    ];
    for (kind, count) in kinds {
        let sum: u64 = met.iter().map(count).sum();
        println!("{kind}: {sum}");
        assert!(sum >= met.len() as u64 / 20, "{kind}: only {sum}");
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 1..=50 {
        let run = || {
            let mut driver = start(seed, false).driver;
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
