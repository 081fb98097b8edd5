//! How long `muster simulate` takes for large days, and how much memory.
//!
//! Each row plays a scenario of a few lines and many copies, in a process of its own: from reading
//! the file to writing the report. `cargo bench --bench simulate` plays all, with `-- NAME...`
//! those whose names contain one of the words; `MUSTER=PATH` plays them with another program, to
//! compare two versions side by side.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "it measures, and a benchmark that cannot go on has failed"
)]

use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

/// A scenario: its name and its YAML.
type Row = (&'static str, String);

fn main() {
    let words: Vec<String> = env::args().skip(1).filter(|one| one != "--bench").collect();
    let chosen = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    let folder = tempfile::tempdir().expect("a folder for the scenarios");
    println!("{:<44} {:>8} {:>9}", "", "seconds", "peak MiB");
    for (name, yaml) in rows().into_iter().filter(|(name, _)| chosen(name)) {
        let file = folder.path().join(format!("{name}.yaml"));
        fs::write(&file, yaml).expect("a scenario");
        let (seconds, mib) = play(&file);
        println!("{name:<44} {seconds:>8.2} {mib:>9}");
    }
}

/// Plays a scenario; says how long it took and how much memory.
fn play(file: &Path) -> (f64, u64) {
    let start = Instant::now();
    let program = env::var_os("MUSTER").unwrap_or_else(|| env!("CARGO_BIN_EXE_muster").into());
    let mut child = Command::new(program)
        .args(["simulate", "--output", "json"])
        .arg(file)
        .stdout(Stdio::null())
        .spawn()
        .expect("muster simulate");
    let (status, peak) = watch(&mut child);
    assert!(status.success(), "{status} on {}", file.display());
    (start.elapsed().as_secs_f64(), peak / 1024)
}

/// Waits for the end; says how much memory it had at most, in KiB (0 where the system does not say).
fn watch(child: &mut Child) -> (ExitStatus, u64) {
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        let text = fs::read_to_string(&status_file).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(kib.unwrap_or(0));
        if let Some(status) = child.try_wait().expect("its status") {
            return (status, peak);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn rows() -> Vec<Row> {
    vec![
        ("singles-20000-on-1000-nodes", singles(20_000, 1_000)),
        ("singles-20000-on-5000-nodes", singles(20_000, 5_000)),
        ("singles-20000-on-20000-nodes", singles(20_000, 20_000)),
        ("waiting-10000-groups-on-1000-full-nodes", waiting(10_000)),
        ("waiting-100000-groups-on-1000-full-nodes", waiting(100_000)),
        ("surplus-10000-of-one-group", surplus(10_000)),
        ("surplus-20000-of-one-group", surplus(20_000)),
        ("selectors-200-refused-on-1000-nodes", selectors(200, 1_000)),
        (
            "selectors-2000-refused-on-5000-nodes",
            selectors(2_000, 5_000),
        ),
        (
            "one-group-of-10000-on-20000-nodes",
            one_group(10_000, 20_000),
        ),
        ("gangs-200000-of-5-on-5000-nodes", gangs(200_000, 5_000)),
    ]
}

/// Nodes of 64 cores and 256 GiB.
fn nodes(count: usize) -> String {
    format!(
        "apiVersion: v1\nkind: Node\nmetadata: {{name: node, annotations: \
         {{simulate.muster.dev/replicas: \"{count}\"}}}}\n\
         status: {{allocatable: {{cpu: \"64\", memory: 256Gi, pods: \"110\"}}}}\n"
    )
}

/// Copies of a pod.
#[derive(Clone, Copy)]
struct Pods<'a> {
    name: &'a str,
    count: usize,
    cpu: &'a str,
    memory: &'a str,
    /// The PodGroup, for all or with `$(INDEX)` for each.
    group: &'a str,
    /// When they come and for how long they run, as annotations.
    life: &'a str,
}

/// Small pods without a group that are there from the beginning and run for ever.
const PLAIN: Pods<'static> = Pods {
    name: "pod",
    count: 1,
    cpu: "1",
    memory: "1Gi",
    group: "",
    life: "",
};

impl Pods<'_> {
    fn yaml(self) -> String {
        let labels = match self.group {
            "" => String::new(),
            group => format!("labels: {{muster.dev/pod-group: {group}}}, "),
        };
        let Self {
            name,
            count,
            cpu,
            memory,
            life,
            ..
        } = self;
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, {labels}annotations: \
             {{{life}simulate.muster.dev/replicas: \"{count}\"}}}}\n\
             spec: {{schedulerName: muster, containers: [{{name: a, image: a, resources: \
             {{requests: {{cpu: {cpu}, memory: {memory}}}}}}}]}}\n"
        )
    }
}

fn group(name: &str, count: usize, min: usize, more: &str) -> String {
    format!(
        "---\napiVersion: muster.dev/v1alpha1\nkind: PodGroup\nmetadata: {{name: {name}, \
         annotations: {{simulate.muster.dev/replicas: \"{count}\"}}}}\n\
         spec: {{minAvailable: {min}{more}}}\n"
    )
}

/// Single pods of eight sizes.
fn singles(count: usize, on: usize) -> String {
    let sizes = [
        ("100m", "1Gi"),
        ("250m", "1Gi"),
        ("500m", "2Gi"),
        ("500m", "4Gi"),
        ("1", "2Gi"),
        ("1", "8Gi"),
        ("2", "4Gi"),
        ("4", "16Gi"),
    ];
    let pods = sizes.iter().enumerate().map(|(index, (cpu, memory))| {
        let name = &format!("single-{index}");
        let count = count / sizes.len();
        Pods {
            name,
            count,
            cpu,
            memory,
            ..PLAIN
        }
        .yaml()
    });
    nodes(on) + &pods.collect::<String>()
}

/// 1,000 nodes that others have filled, and PodGroups of one pod that wait.
fn waiting(count: usize) -> String {
    let fillers = Pods {
        name: "filler",
        count: 1_000,
        cpu: "63500m",
        ..PLAIN
    };
    let waits = Pods {
        name: "waits",
        count,
        group: "waits-$(INDEX)",
        life: "simulate.muster.dev/at: 1s, ",
        ..PLAIN
    };
    nodes(1_000) + &fillers.yaml() + &group("waits", count, 1, "") + &waits.yaml()
}

/// One PodGroup whose minimum is one pod, and that has many more.
fn surplus(count: usize) -> String {
    let pods = Pods {
        count,
        group: "grows-0",
        cpu: "100m",
        memory: "100Mi",
        ..PLAIN
    };
    nodes(1_000) + &group("grows", 1, 1, "") + &pods.yaml()
}

/// PodGroups that no node suits, each with a selector of its own.
fn selectors(count: usize, on: usize) -> String {
    let selector = ", nodeSelector: {only: \"$(INDEX)\"}";
    let pods = Pods {
        count,
        group: "picky-$(INDEX)",
        ..PLAIN
    };
    nodes(on) + &group("picky", count, 1, selector) + &pods.yaml()
}

/// One large PodGroup, and 100,000 pods that fit nowhere.
fn one_group(size: usize, on: usize) -> String {
    let large = Pods {
        count: size,
        group: "large-0",
        ..PLAIN
    };
    let waits = Pods {
        name: "waits",
        count: 100_000,
        cpu: "65",
        ..PLAIN
    };
    nodes(on) + &group("large", 1, size, "") + &large.yaml() + &waits.yaml()
}

/// Gangs of five that come in twenty waves, a minute apart, and run for 50 s.
fn gangs(count: usize, on: usize) -> String {
    const WAVES: usize = 20;
    let wave = |wave: usize| {
        let (name, count) = (format!("gang-{wave}"), count / WAVES);
        let at = wave * 60;
        let life = &format!("simulate.muster.dev/at: {at}s, simulate.muster.dev/duration: 50s, ");
        let member = |member: usize| {
            Pods {
                name: &format!("pod-{wave}-{member}"),
                count,
                cpu: "500m",
                group: &format!("{name}-$(INDEX)"),
                life,
                ..PLAIN
            }
            .yaml()
        };
        group(&name, count, 5, "") + &(0..5).map(member).collect::<String>()
    };
    nodes(on) + &(0..WAVES).map(wave).collect::<String>()
}
