//! The programs of `programs/`, which stand in for what a cluster has beside Muster: a kubelet that runs pods as processes
//! on loopback, what images run, and operators. And where what `hack/spark`, `hack/flink` and `hack/build-operators` fetch and build is.

use crate::live::Cluster;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, thread};

/// How long a program on a Java machine may take on a busy machine to submit, to start or to end.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// A file beside the programs.
pub(crate) fn file(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live/programs");
    folder.join(name)
}

/// A file of `examples`.
pub(crate) fn example(path: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    folder.join(path)
}

/// Where something is that a script has put into `target`, or that a variable names; `proof` is a file of it.
fn home(name: &str, script: &str, variable: &str, proof: &str) -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("target"),
        PathBuf::from,
    );
    let home = env::var_os(variable).map_or_else(|| target.join(name), PathBuf::from);
    let proof = home.join(proof);
    assert!(
        proof.is_file(),
        "{} is not there: run hack/{script}, or set {variable} to a folder with it",
        proof.display()
    );
    home.canonicalize().unwrap()
}

pub(crate) fn spark_home() -> PathBuf {
    home("spark", "spark", "SPARK_HOME", "bin/spark-submit")
}

pub(crate) fn flink_home() -> PathBuf {
    home("flink", "flink", "FLINK_HOME", "lib/flink-dist-2.3.0.jar")
}

/// Where `hack/build-operators` has put one, with the definitions of its kinds.
pub(crate) fn operator_home(name: &str) -> PathBuf {
    let variable = format!("{}_HOME", name.replace('-', "_").to_uppercase());
    home(name, "build-operators", &variable, name)
}

/// A program of `programs/`. It ends, with all that it has started, when its standard input does.
pub(crate) struct Program {
    child: Child,
    log: PathBuf,
}

impl Program {
    /// What is to be known of it is in the folder `work`.
    pub(crate) fn start(cluster: &Cluster, program: &str, work: &Path, more: &[&str]) -> Self {
        let log = work.join(format!("{program}.log"));
        let out = File::create(&log).unwrap();
        let child = Command::new("python3")
            .arg(file(program))
            .arg("--kubeconfig")
            .arg(cluster.plane.kubeconfig())
            .arg("--work")
            .arg(work)
            .args(more)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stderr(out.try_clone().unwrap())
            .stdout(out)
            .spawn()
            .unwrap();
        Self { child, log }
    }

    /// The kubelet of all nodes, with the image of this name, whose programs are in this folder.
    pub(crate) fn kubelet(cluster: &Cluster, work: &Path, image: &str, home: &Path) -> Self {
        let image = format!("{image}={}", home.display());
        Self::start(cluster, "kubelet.py", work, &["--image", &image])
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        _ = self.child.wait();
        if thread::panicking() {
            let said = fs::read_to_string(&self.log).unwrap_or_default();
            eprintln!("{}:\n{said}", self.log.display());
        }
    }
}
