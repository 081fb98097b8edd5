//! What a record costs: of a day on which so many pods come in gangs, run and end, and each is told of six times.
//!
//!     cargo bench -p muster-record [-- PODS]
//!
//! The time of the thread that decides, with a record and without; that of the thread that writes; bytes; and how long it
//! takes to play it again.

#![expect(
    clippy::unwrap_used,
    reason = "a measurement may end where it cannot go on"
)]

use muster_core::engine::Policy;
use muster_model::plain::{amounts, group, key, member_of, node, pod};
use muster_model::units::{Millis, Time};
use muster_model::{BindOutcome, Effect, Event, Labels, ObjectKey, PodLabels, PodPhase, PodSpec};
use muster_record::{
    About, Counts, Entry, EntryRef, Folder, Played, Player, Read, Reader, Recorder, Storage, Tape,
    Taped, Writer,
};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Pods, where nothing else is said.
const PODS: usize = 100_000;
const NODES: usize = 1_000;
/// Members of a gang.
const GANG: usize = 8;
/// Gangs that come at once: so many pods a second are bound.
const GANGS_A_SECOND: usize = 125;
/// For so many seconds a pod runs.
const SECONDS: usize = 20;

#[expect(clippy::disallowed_methods, reason = "this measures")]
fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let begun = Instant::now();
    let done = work();
    (begun.elapsed(), done)
}

/// The processor time of this thread, in seconds.
fn thread_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanos: u64 = text.split(' ').next().unwrap().parse().unwrap();
    Duration::from_nanos(nanos).as_secs_f64()
}

/// A pod as a controller makes one.
fn submitted(gang: &str, index: usize, now: Time) -> PodSpec {
    let name = format!("{gang}-worker-{index}");
    let labels = [
        ("app.kubernetes.io/name", "training"),
        ("batch.kubernetes.io/job-name", gang),
        ("muster.dev/pod-group", gang),
        ("team", "research"),
    ];
    let labels: Labels = labels
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into_iter()
        .collect();
    let mut spec = pod(
        "research",
        name,
        amounts([("cpu", 2_000), ("memory", 4 << 30)]),
    );
    spec.key.uid = format!("{:08x}-0000-4000-8000-{:012x}", index, fnv(&spec.key.name));
    spec.created = now;
    spec.gang = member_of(gang);
    spec.labels = PodLabels::new(&labels);
    spec
}

fn fnv(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step) >> 16
}

/// Plays the day; how many pods were bound.
fn day(core: &mut Taped, pods: usize) -> usize {
    let quiet = |_: &Event| ();
    for index in 0..NODES {
        let room = amounts([("cpu", 64_000), ("memory", 256 << 30), ("pods", 110)]);
        core.hear(
            Event::is(node(format!("node-{index}"), room)),
            Time(0),
            quiet,
        );
    }
    let mut running: Vec<Vec<PodSpec>> = Vec::new();
    let (mut made, mut bound) = (0, 0);
    for second in 1.. {
        let now = Time::from_secs(second);
        let mut waiting = std::collections::BTreeMap::new();
        for _ in 0..GANGS_A_SECOND {
            if made >= pods {
                break;
            }
            let gang = format!("job-{made}");
            let definition = group(key("research", gang.clone()), GANG as u32);
            core.hear(Event::is(definition), now, quiet);
            for index in 0..GANG {
                let spec = submitted(&gang, index, now);
                core.hear(Event::is(spec.clone()), now, quiet);
                waiting.insert(spec.key.clone(), spec);
            }
            made += GANG;
        }
        let mut started = Vec::new();
        loop {
            let plan = core.decide(now, quiet);
            let more = plan.more;
            for effect in plan.effects {
                let Effect::Bind(bind) = effect else { continue };
                let outcome = BindOutcome::Bound {
                    node: bind.node.clone(),
                };
                core.hear(Event::BindResult(bind.pod.clone(), outcome), now, quiet);
                let mut spec = waiting.remove(&bind.pod).unwrap();
                (spec.node, spec.bound_at) = (Some(bind.node), Some(now));
                core.hear(Event::is(spec.clone()), now, quiet);
                spec.phase = PodPhase::Running;
                core.hear(Event::is(spec.clone()), now + Millis(500), quiet);
                started.push(spec);
                bound += 1;
            }
            if !more && !core.scheduler().wants_cycle() {
                break;
            }
        }
        assert!(waiting.is_empty(), "all have room");
        running.push(started);
        if running.len() > SECONDS {
            for mut spec in running.remove(0) {
                let gang = spec.gang_key();
                spec.phase = PodPhase::Succeeded;
                core.hear(Event::is(spec.clone()), now, quiet);
                core.hear(Event::Gone(ObjectKey::Pod(spec.key)), now, quiet);
                let source = muster_model::Source::Muster;
                core.hear(Event::Gone(ObjectKey::Gang(gang, source)), now, quiet);
            }
        }
        if running.iter().all(Vec::is_empty) {
            break;
        }
    }
    bound
}

fn about() -> About {
    About {
        instance: "bench".to_owned(),
        ..About::default()
    }
}

fn storage(folder: &Path) -> Storage {
    Storage {
        folder: folder.to_owned(),
        limit: u64::MAX,
    }
}

/// Keeps entries.
#[derive(Clone, Debug, Default)]
struct Kept(Arc<Mutex<Vec<Entry>>>);

impl Tape for Kept {
    fn take(&mut self, entry: EntryRef<'_>) {
        self.0.lock().unwrap().push(entry.to_entry());
    }
}

fn bytes_in(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).unwrap();
    files
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum()
}

fn main() {
    let said = std::env::args().find_map(|one| one.parse().ok());
    let pods = said.unwrap_or(PODS);
    let core = |tape| Taped::new(Policy::default(), tape);
    // The first is not measured: it has the memory to get.
    let bound = day(&mut core(None), pods);
    let alone = {
        let before = thread_seconds();
        day(&mut core(None), pods);
        thread_seconds() - before
    };
    let folder = tempfile::tempdir().unwrap();
    let counts = Arc::new(Counts::default());
    let place = folder.path().join("recorder");
    let recorder = Recorder::start(storage(&place), about(), Arc::clone(&counts)).unwrap();
    let before = thread_seconds();
    let mut taped = core(Some(Box::new(recorder)));
    day(&mut taped, pods);
    let with_record = thread_seconds() - before;
    drop(taped);
    println!("{bound} pods bound in gangs of {GANG} on {NODES} nodes");
    println!(
        "the thread that decides: {alone:.2} s without a record, {with_record:.2} s with one; {} entries missing",
        counts.lost()
    );

    let kept = Kept::default();
    day(&mut core(Some(Box::new(kept.clone()))), pods);
    let entries = std::mem::take(&mut *kept.0.lock().unwrap());
    let place = folder.path().join("writer");
    let before = thread_seconds();
    let mut writer = Writer::start(storage(&place), about()).unwrap();
    for entry in &entries {
        writer.write(entry.view()).unwrap();
    }
    writer.end().unwrap();
    let written = thread_seconds() - before;
    let bytes = bytes_in(&place);
    let each = |seconds: f64, count: usize| 1e6 * seconds / count as f64;
    println!(
        "the thread that writes: {written:.2} s for {} entries, {:.2} us each, {:.1} us a bind",
        entries.len(),
        each(written, entries.len()),
        each(written, bound),
    );
    println!(
        "{bytes} bytes, {:.1} an entry, {:.0} a bind",
        bytes as f64 / entries.len() as f64,
        bytes as f64 / bound as f64
    );
    let term = &Folder::open(&place).unwrap().terms[0];
    let (took, plans) = timed(|| {
        let mut reader = Reader::open(term).unwrap();
        let mut player = Player::new(Policy::default());
        let mut plans = 0;
        while let Some(read) = reader.read().unwrap() {
            let Read::Line(line) = read else {
                panic!("{read:?}")
            };
            match player.play(&line).unwrap() {
                Played::Same(_) => plans += 1,
                Played::Heard => {}
                Played::Differs(difference) => panic!("{difference:?}"),
            }
        }
        plans
    });
    println!(
        "played again in {:.1} s: {plans} plans, all the same",
        took.as_secs_f64()
    );
}
