//! `muster playground`: a simulated cluster on loopback, for kubectl, until told to stop.

use super::{BAD_INPUT, Extensions, ended, input, told_to_stop, whole_file};
use anyhow::{Context, bail};
use muster_playground::{Playground, Settings};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tokio::net::TcpListener;

/// So many nodes there are where nothing says how many.
const NODES: u32 = 4;

/// Starts a simulated cluster that kubectl can be used on, and Muster in it.
///
/// It listens on a loopback address, begins with some nodes and with what the files ask for, and writes a kubeconfig.
/// Pods run on simulated kubelets: nothing runs in them. The page of what has happened is at the same address. It
/// ends, and forgets all, when it is told to stop. docs/playground.md says what is served.
///
/// Exit code 0: it was told to stop. 1: the address or the kubeconfig cannot be had. 2: something in a file or an
/// argument is wrong.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// YAML files with what is there from the beginning, as for `muster simulate`; `-` is standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// How many nodes there are beside those of files, of 16 CPUs and 64 GiB each; without it 4, or none where a file
    /// has nodes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=5_000))]
    nodes: Option<u32>,

    /// Where it is served, a loopback address; with port 0 a port that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8901")]
    listen: SocketAddr,

    /// Where the kubeconfig is written
    #[arg(long, value_name = "FILE", default_value = "playground.kubeconfig")]
    kubeconfig: PathBuf,

    /// So many seconds pass in it in one
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    speed: u32,

    /// SchedulerConfiguration file; without it, the defaults hold
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments, extensions: &Extensions) -> ExitCode {
    let playground = match prepared(arguments, extensions) {
        Ok(playground) => playground,
        Err(error) => {
            eprintln!("{error:#}");
            return ExitCode::from(BAD_INPUT);
        }
    };
    ended(serve(playground, arguments), |()| ExitCode::SUCCESS)
}

fn prepared(arguments: &Arguments, extensions: &Extensions) -> anyhow::Result<Playground> {
    let listen = arguments.listen;
    if !listen.ip().is_loopback() {
        bail!(
            "--listen {listen}: others can reach it, and whoever does may do everything; give a loopback address such \
             as 127.0.0.1:{}",
            listen.port()
        );
    }
    let configuration = muster_config::load_or_default(arguments.config.as_deref())?;
    let policy = extensions.policy(&configuration)?;
    let sources = input::sources(&arguments.files)?;
    let playground = Playground::new(Settings {
        reading: configuration.reading(&policy),
        policy,
        speed: arguments.speed,
        title: "muster playground".to_owned(),
    });
    for warning in playground.add(&sources)? {
        eprintln!("warning: {warning}");
    }
    let given = arguments
        .nodes
        .unwrap_or_else(|| if playground.has_nodes() { 0 } else { NODES });
    let nodes: Vec<Value> = (0..given).map(node).collect();
    playground.add_objects(&nodes).map_err(anyhow::Error::msg)?;
    Ok(playground)
}

/// One of the nodes that nothing else is said of. Eight are a rack.
fn node(number: u32) -> Value {
    let name = format!("node-{number}");
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": name, "labels": {"kubernetes.io/hostname": name, "rack": format!("rack-{}", number / 8)},
        },
        "status": {"allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"}},
    })
}

async fn serve(playground: Playground, arguments: &Arguments) -> anyhow::Result<()> {
    let stop = told_to_stop()?;
    let listener = TcpListener::bind(arguments.listen)
        .await
        .with_context(|| format!("--listen {}", arguments.listen))?;
    let address = listener.local_addr()?;
    write_kubeconfig(&arguments.kubeconfig, address)?;
    let kubeconfig = std::path::absolute(&arguments.kubeconfig);
    let kubeconfig = kubeconfig.unwrap_or_else(|_| arguments.kubeconfig.clone());
    eprintln!(
        "a simulated cluster with Muster, until Ctrl-C; the page of what happens: http://{address}/\n\n  \
         export KUBECONFIG={}\n  kubectl get muster,nodes",
        quoted(&kubeconfig)
    );
    tokio::select! {
        () = playground.serve(listener) => {}
        () = stop => {}
    }
    Ok(())
}

/// By what a kubeconfig is known to be of a playground.
const NAME: &str = "muster-playground";

fn write_kubeconfig(file: &Path, address: SocketAddr) -> anyhow::Result<()> {
    whole_file::check(file, &[]).context("--kubeconfig")?;
    let before = std::fs::read_to_string(file).unwrap_or_default();
    if !before.is_empty() && !before.contains(NAME) {
        bail!(
            "--kubeconfig {}: it is there, and of another cluster; give another file",
            file.display()
        );
    }
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: {NAME}\nclusters:\n- name: {NAME}\n  cluster:\n    \
         server: http://{address}\ncontexts:\n- name: {NAME}\n  context:\n    cluster: {NAME}\n    user: {NAME}\n\
         users:\n- name: {NAME}\n  user: {{token: playground}}\n"
    );
    whole_file::write(file, &text).context("--kubeconfig")
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |one: char| one.is_alphanumeric() || "/._-".contains(one);
    if text.chars().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_of_another_cluster_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        let address = "127.0.0.1:1".parse().unwrap();
        write_kubeconfig(&file, address).unwrap();
        write_kubeconfig(&file, "127.0.0.1:2".parse().unwrap()).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("server: http://127.0.0.1:2\n"), "{text}");
        std::fs::write(&file, "apiVersion: v1\nkind: Config\n").unwrap();
        let error = write_kubeconfig(&file, address).unwrap_err().to_string();
        assert!(error.contains("give another file"), "{error}");
    }

    #[test]
    fn a_path_with_spaces_is_quoted() {
        assert_eq!(quoted(Path::new("/a/b-c.d")), "/a/b-c.d");
        assert_eq!(quoted(Path::new("/a b/it's")), "'/a b/it'\\''s'");
    }
}
