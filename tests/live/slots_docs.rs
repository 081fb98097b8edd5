//! `docs/slots.md` is played: its files and commands from an empty cluster to a finished Scheduling, with what they print;
//! and every other manifest in it is one that an API server takes.
//!
//! Needs what `hack/build-control-plane` builds.

use crate::live::{Cluster, eventually};
use crate::process::Process;
use muster_devcluster::find_program;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// Under this heading is what is played.
const WALK: &str = "From an empty cluster to a finished Scheduling";

/// A block of code of the document: what it is, and its text.
type Block = (String, String);

/// The blocks of the part that is played, and those of the rest.
fn blocks() -> (Vec<Block>, Vec<Block>) {
    let text = fs::read_to_string(Path::new(ROOT).join("docs/slots.md")).unwrap();
    let parts = text.split("\n## ");
    let (walk, rest): (Vec<&str>, Vec<&str>) = parts.partition(|part| part.starts_with(WALK));
    assert_eq!(walk.len(), 1, "there is one part {WALK:?}");
    let blocks = |part: &str| -> Vec<Block> {
        let odd = part.split("\n```").skip(1).step_by(2);
        let block = odd.map(|block| block.split_once('\n').unwrap());
        block
            .map(|(kind, text)| (kind.to_owned(), text.to_owned() + "\n"))
            .collect()
    };
    let rest = rest.into_iter().flat_map(blocks).collect();
    (blocks(walk[0]), rest)
}

/// A folder as the root of this repository, and `kubectl` for the cluster.
struct Desk {
    folder: TempDir,
    path: String,
    kubeconfig: PathBuf,
}

impl Desk {
    fn of(cluster: &Cluster) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["crds", "deploy"] {
            symlink(Path::new(ROOT).join(name), folder.path().join(name)).unwrap();
        }
        let kubectl = find_program("kubectl").unwrap();
        let programs = kubectl.parent().unwrap().display().to_string();
        Self {
            folder,
            path: format!("{programs}:{}", std::env::var("PATH").unwrap_or_default()),
            kubeconfig: cluster.plane.kubeconfig(),
        }
    }

    /// What commands print, the first of which that fails ends them.
    fn play(&self, commands: &str) -> String {
        let done = Command::new("bash")
            .args(["-e", "-o", "pipefail", "-c", commands])
            .current_dir(self.folder.path())
            .env("PATH", &self.path)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HOME", self.folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{commands}{said}");
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    /// Keeps a file under the name that stands in its first line.
    fn keep(&self, text: &str) {
        let first = text.lines().next().unwrap_or_default();
        let name = first.strip_prefix("# ");
        let name = name.unwrap_or_else(|| panic!("{first:?} is no name of a file"));
        fs::write(self.folder.path().join(name), text).unwrap();
    }
}

/// Lines as words, without how old something is.
fn words(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines().map(|line| line.split_whitespace().collect());
    let mut lines: Vec<Vec<&str>> = lines.collect();
    let mut cut = None;
    for line in &mut lines {
        match line.as_slice() {
            ["NAME", between @ .., "AGE"] => cut = Some(between.len() + 1),
            ["NAME", ..] => cut = None,
            _ => {}
        }
        line.truncate(cut.unwrap_or(line.len()));
    }
    lines
}

#[test]
fn the_document_takes_an_empty_cluster_to_a_finished_scheduling() {
    let cluster = Cluster::of(|builder| builder.controller_manager(true));
    cluster.nodes(2, "4");
    let desk = Desk::of(&cluster);
    let (walk, _) = blocks();
    let mut muster = None;
    let (mut printed, mut played) = (String::new(), 0);
    for (kind, text) in &walk {
        match kind.as_str() {
            "yaml" => desk.keep(text),
            "sh" if text.starts_with("muster run ") => {
                let options: Vec<&str> = text.split_whitespace().skip(2).collect();
                muster = Some(Process::start(&cluster, &options));
            }
            "sh" => printed = desk.play(text),
            "text" => {
                let end = words(&printed)
                    .split_off(words(&printed).len().saturating_sub(text.lines().count()));
                assert_eq!(end, words(text), "(left) is what was printed:\n{printed}");
                played += 1;
            }
            other => panic!("nobody knows what to do with a block of {other:?}"),
        }
    }
    assert_eq!(played, 3, "so often the document says what is printed");
    for path in [
        "/apis/muster.dev/v1alpha1/podgroups",
        "/apis/batch/v1/jobs",
        "/api/v1/namespaces/default/pods",
    ] {
        eventually(&format!("nothing is left in {path}"), || {
            cluster.plane.get(path).unwrap()["items"] == Value::Array(Vec::new())
        });
    }
    let ghosts = "/api/v1/namespaces/muster-system/pods";
    eventually("no ghost is left", || {
        let pods = cluster.plane.get(ghosts).unwrap();
        let mut pods = pods["items"].as_array().unwrap().iter();
        pods.all(|pod| pod["metadata"]["ownerReferences"][0]["kind"] != "Testbed")
    });
    let mut muster = muster.unwrap();
    muster.signal("-TERM");
    assert!(muster.ended().success());
}

#[test]
fn every_manifest_of_the_document_is_taken() {
    let cluster = Cluster::start();
    let desk = Desk::of(&cluster);
    desk.play("kubectl create namespace research && kubectl create namespace team");
    let (_, rest) = blocks();
    let mut taken = 0;
    for (_, text) in rest.iter().filter(|(kind, _)| kind == "yaml") {
        // What begins with its spec or its labels is a part of an object of which the rest stands before it.
        let whole = match text.split(':').next().unwrap() {
            "spec" => format!(
                "apiVersion: muster.dev/v1alpha1\nkind: Scheduling\nmetadata: {{name: part}}\n{text}"
            ),
            "metadata" => format!(
                "apiVersion: v1\nkind: Pod\nspec: {{containers: [{{name: c, image: x}}]}}\n{text}  name: part\n"
            ),
            _ => text.clone(),
        };
        fs::write(desk.folder.path().join("part.yaml"), whole).unwrap();
        desk.play("kubectl apply --dry-run=server --validate=strict -f part.yaml");
        taken += 1;
    }
    assert!(taken >= 5, "the manifests were not found: {rest:?}");
}
