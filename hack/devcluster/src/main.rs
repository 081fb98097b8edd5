//! Holds a local control plane for `hack/cluster`: starts it, adds nodes and
//! manifests, says so, and stays until it is killed.

use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs, thread};

use anyhow::{Context, Result, bail};
use muster_devcluster::{ControlPlane, fake_node};

const USAGE: &str = "\
usage: muster-devcluster up --dir DIR [--nodes N] [--apply PATH]... [--kube-scheduler]
           [--upstream-pod-groups] [--node-lifecycle] [--end-to-end]

Starts a control plane with kwok and the controller manager, and holds it until
this process ends. DIR gets the kubeconfig and the logs, and a file named `ready`
when everything is up. hack/cluster does this in the background.";

/// What one fake node has.
const CAPACITY: [(&str, &str); 2] = [("cpu", "16"), ("memory", "64Gi")];

#[derive(Default)]
struct Options {
    dir: PathBuf,
    nodes: usize,
    apply: Vec<String>,
    kube_scheduler: bool,
    upstream_pod_groups: bool,
    node_lifecycle: bool,
    end_to_end: bool,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("muster-devcluster: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let Some(options) = parse(env::args().skip(1))? else {
        println!("{USAGE}");
        return Ok(());
    };
    let ready = options.dir.join("ready");
    if ready.exists() {
        fs::remove_file(&ready).with_context(|| format!("cannot remove {}", ready.display()))?;
    }

    let plane = ControlPlane::builder()
        .kwok(true)
        .controller_manager(true)
        .kube_scheduler(options.kube_scheduler)
        .upstream_pod_groups(options.upstream_pod_groups)
        .node_lifecycle(options.node_lifecycle)
        .end_to_end(options.end_to_end)
        .dir(&options.dir)
        .start()?;
    plane.create_nodes(options.nodes, |i| {
        fake_node(&format!("node-{i}"), &CAPACITY)
    })?;
    for path in &options.apply {
        plane.kubectl(&["apply", "--server-side", "-f", path])?;
    }
    fs::write(&ready, plane.url()).with_context(|| format!("cannot write {}", ready.display()))?;
    loop {
        thread::park();
    }
}

/// The options, or none where help was asked for.
fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Options>> {
    match words.next().as_deref() {
        Some("up") => {}
        None | Some("-h" | "--help" | "help") => return Ok(None),
        Some(word) => bail!("{word:?}: not a command\n{USAGE}"),
    }
    let mut options = Options::default();
    while let Some(word) = words.next() {
        let mut value = || {
            words
                .next()
                .with_context(|| format!("{word} needs a value"))
        };
        match word.as_str() {
            "--dir" => options.dir = value()?.into(),
            "--nodes" => {
                let count = value()?;
                options.nodes = count
                    .parse()
                    .with_context(|| format!("--nodes {count}: not a number"))?;
            }
            "--apply" => options.apply.push(value()?),
            "--kube-scheduler" => options.kube_scheduler = true,
            "--upstream-pod-groups" => options.upstream_pod_groups = true,
            "--node-lifecycle" => options.node_lifecycle = true,
            "--end-to-end" => options.end_to_end = true,
            "-h" | "--help" => return Ok(None),
            _ => bail!("{word:?}: not an option\n{USAGE}"),
        }
    }
    if options.dir.as_os_str().is_empty() {
        bail!("--dir is needed\n{USAGE}");
    }
    Ok(Some(options))
}
