//! Real Flink clusters, in application mode and in session mode: PyPI's Flink submits them, JobManagers and TaskManagers are processes.
//!
//! They are submitted as `examples/workloads/flink` shows. Deployments are those of Kubernetes' own controllers, and
//! whatever Flink makes of them is its own. Needs what `hack/build-control-plane` builds, a JDK, Python, and
//! what `hack/flink` fetches.

use crate::live::{Cluster, PODS, condition, eventually, text, within};
use crate::programs::{self, PATIENCE, Program, flink_home};
use serde_json::Value;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

/// What the client has Flink print.
const LOGGING: &str = "
rootLogger.level = INFO
rootLogger.appenderRef.console.ref = Console
appender.console.name = Console
appender.console.type = CONSOLE
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss,SSS} %-5p %-60c %x - %m%n
";

/// A cluster with kubelets that run Flink, and a job for it.
struct Lab {
    _kubelet: Program,
    work: PathBuf,
    home: PathBuf,
    cluster: Cluster,
}

impl Lab {
    /// Without nodes; the rest may have Kubernetes' own scheduler.
    fn start(kube_scheduler: bool) -> Self {
        let home = flink_home();
        let cluster = Cluster::of(|builder| {
            let builder = builder.kwok(false).controller_manager(true);
            builder.kube_scheduler(kube_scheduler)
        });
        cluster.apply_folder("crds");
        let work = cluster.plane.dir().join("flink");
        fs::create_dir_all(work.join("conf")).unwrap();
        fs::write(work.join("conf/config.yaml"), "{}\n").unwrap();
        fs::write(work.join("conf/log4j-console.properties"), LOGGING).unwrap();
        let lab = Self {
            _kubelet: Program::kubelet(&cluster, &work, "flink", &home),
            work,
            home,
            cluster,
        };
        lab.install();
        lab.compile();
        lab
    }

    fn libraries(&self) -> String {
        format!("{}/lib/*", self.home.display())
    }

    fn job(&self) -> PathBuf {
        self.work.join("sum.jar")
    }

    fn compile(&self) {
        let classes = self.work.join("classes");
        let mut compile = Command::new("javac");
        compile.arg("-d").arg(&classes);
        compile.args(["-cp", &self.libraries()]);
        compile.arg(programs::file("FlinkSum.java"));
        let mut pack = Command::new("jar");
        pack.arg("cf").arg(self.job()).arg("-C").arg(&classes);
        pack.arg(".");
        self.succeeds(compile);
        self.succeeds(pack);
    }

    /// Makes the programs of `bin`, which PyPI's Flink has not.
    fn install(&self) {
        let opened = ["lang", "net", "util", "time"]
            .map(|one| format!("--add-opens=java.base/java.{one}=ALL-UNNAMED"));
        fs::create_dir(self.bin()).unwrap();
        for (name, class) in [
            ("flink", "org.apache.flink.client.cli.CliFrontend"),
            (
                "kubernetes-session.sh",
                "org.apache.flink.kubernetes.cli.KubernetesSessionCli",
            ),
        ] {
            let text = format!(
                "#!/bin/sh\nexec java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC {} -cp '{}' {class} \"$@\"\n",
                opened.join(" "),
                self.libraries()
            );
            let script = self.bin().join(name);
            fs::write(&script, text).unwrap();
            fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    fn bin(&self) -> PathBuf {
        self.work.join("bin")
    }

    /// A command of a user who has Flink.
    fn command(&self, program: &Path) -> Command {
        let path = env::var("PATH").unwrap();
        let mut command = Command::new(program);
        command
            .env("PATH", format!("{}:{path}", self.bin().display()))
            .env("FLINK_CONF_DIR", self.work.join("conf"))
            .env("FLINK_LIB_DIR", self.home.join("lib"))
            .env("FLINK_PLUGINS_DIR", self.home.join("plugins"))
            .stdin(Stdio::null());
        command
    }

    /// Starts a cluster of this name with the script that a user is shown.
    fn run(&self, name: &str, options: &[&str]) {
        let kubeconfig = self.cluster.plane.kubeconfig();
        // The first says which mode it is, if it is no option.
        let first = options.iter().take_while(|one| !one.starts_with('-'));
        let mode = first.count();
        let mut run = self.command(&programs::example("workloads/flink/run.sh"));
        run.args(&options[..mode])
            .arg(format!("-Dkubernetes.config.file={}", kubeconfig.display()))
            .args(&options[mode..])
            .env("CLUSTER", name)
            .env("IMAGE", "flink");
        self.succeeds(run);
    }

    fn succeeds(&self, mut command: Command) {
        let done = command.output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout) + String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{said}");
    }

    /// Makes the gang, as a user does: its room is that of a JobManager and two TaskManagers.
    fn gang(&self, name: &str) {
        let group =
            fs::read_to_string(programs::example("workloads/flink/pod-group.yaml")).unwrap();
        let group = group.replace("{name: wordcount}", &format!("{{name: {name}}}"));
        eventually("the PodGroup is taken", || {
            self.cluster.plane.kubectl_apply_stdin(&group).is_ok()
        });
    }

    /// Submits the job as a cluster of this name, with more options.
    fn submit(&self, name: &str, more: &[&str]) {
        let (go, result) = (self.go(name), self.result(name));
        let job = format!("local://{}", self.job().display());
        let arguments = [
            "-c",
            "FlinkSum",
            &job,
            go.to_str().unwrap(),
            result.to_str().unwrap(),
        ];
        self.run(name, &[more, &arguments].concat());
    }

    fn go(&self, name: &str) -> PathBuf {
        self.work.join(format!("{name}.go"))
    }

    fn result(&self, name: &str) -> PathBuf {
        self.work.join(format!("{name}.result"))
    }

    /// The pods of a cluster: whether each is a TaskManager, and the whole of it.
    fn pods(&self, name: &str) -> Vec<(bool, Value)> {
        let path = format!("{PODS}?labelSelector=app={name}");
        let list = self.cluster.plane.get(&path).unwrap();
        let pods = list["items"].as_array().cloned().unwrap();
        pods.into_iter()
            .map(|pod| {
                (
                    text(&pod, "/metadata/labels/component") == "taskmanager",
                    pod,
                )
            })
            .collect()
    }

    /// How many of its JobManagers and of its TaskManagers run.
    fn running(&self, name: &str) -> (usize, usize) {
        let pods = self.pods(name);
        let count = |wanted: bool| {
            let of = pods.iter().filter(|(worker, _)| *worker == wanted);
            of.filter(|(_, pod)| text(pod, "/status/phase") == "Running")
                .count()
        };
        (count(false), count(true))
    }

    /// What the JobManagers of a cluster have printed.
    fn log(&self, name: &str) -> String {
        let folders = fs::read_dir(&self.work).unwrap();
        let mut all = String::new();
        for folder in folders {
            let folder = folder.unwrap();
            let called = folder.file_name().into_string().unwrap();
            if called.starts_with(&format!("default_{name}-")) && !called.contains("taskmanager") {
                all += &fs::read_to_string(folder.path().join("log")).unwrap_or_default();
            }
        }
        all
    }

    /// Waits for the end of its job, and for that of everything that Flink has made.
    fn has_finished(&self, name: &str) {
        self.has_summed(name);
        within(PATIENCE, "nothing is left of it", || self.is_gone(name));
    }

    fn is_gone(&self, name: &str) -> bool {
        let deployment = self.cluster.plane.get(&format!("{DEPLOYMENTS}/{name}"));
        deployment.is_err() && self.pods(name).is_empty()
    }

    /// Waits for the end of its job.
    fn has_summed(&self, name: &str) {
        within(PATIENCE, "the job ends", || {
            self.log(name).contains("reached terminal state FINISHED")
        });
        // The program goes on a little longer than its job.
        within(PATIENCE, "it says so", || self.result(name).exists());
        let result = fs::read_to_string(self.result(name)).unwrap();
        let words: Vec<&str> = result.split(' ').collect();
        assert_eq!(words[0], "500500");
        assert_eq!(words.len(), 3, "both TaskManagers took part: {result}");
    }
}

#[test]
fn a_cluster_is_one_gang_and_its_job_finishes() {
    let lab = Lab::start(false);
    lab.cluster.nodes(2, "2");
    let muster = lab.cluster.muster();
    lab.gang("sum");
    lab.submit("sum", &[]);
    let took = within(PATIENCE, "all of it runs", || lab.running("sum") == (1, 2));
    println!("running after {took:?}");
    for (is_worker, pod) in lab.pods("sum") {
        assert_eq!(pod["spec"]["schedulerName"], "muster");
        let annotations = &pod["metadata"]["annotations"];
        assert_eq!(annotations["scheduling.k8s.io/group-name"], "sum");
        let owner = text(&pod, "/metadata/ownerReferences/0/kind");
        let expected = if is_worker {
            "Deployment"
        } else {
            "ReplicaSet"
        };
        assert_eq!(owner, expected);
    }
    eventually("its PodGroup has all of them", || {
        let status = lab.cluster.status_of("sum");
        status["bound"] == 3 && status["phase"] == "Running"
    });
    fs::write(lab.go("sum"), "").unwrap();
    lab.has_finished("sum");
    muster.stop();
}

#[test]
fn the_room_of_a_session_is_its_own_before_there_is_a_job_and_the_job_finishes() {
    let lab = Lab::start(false);
    lab.cluster.nodes(1, ROOM);
    let muster = lab.cluster.muster();
    lab.gang("session");
    lab.run("session", &["session"]);
    within(PATIENCE, "its JobManager runs", || {
        lab.running("session") == (1, 0)
    });
    // Another gang of as much would have room if nothing were kept for TaskManagers.
    lab.gang("other");
    lab.cluster.pods("other", 1, "500m");
    eventually("the other gang waits", || {
        let status = lab.cluster.status_of("other");
        let scheduled = condition(&status, "Scheduled");
        scheduled.is_some_and(|one| text(one, "/message").contains("2 cpu held for other gangs"))
    });
    let manager = lab.pods("session");
    let address = text(&manager[0].1, "/status/podIP");
    let mut client = lab.command(&lab.bin().join("flink"));
    client.args([
        "run",
        "-m",
        &format!("{address}:8081"),
        "-p",
        "2",
        "-c",
        "FlinkSum",
    ]);
    client.arg(lab.job());
    client.args([lab.go("session"), lab.result("session")]);
    let mut client = client.spawn().unwrap();
    within(PATIENCE, "its TaskManagers run", || {
        lab.running("session") == (1, 2)
    });
    assert_eq!(lab.cluster.bound("other"), 0);
    fs::write(lab.go("session"), "").unwrap();
    lab.has_summed("session");
    assert!(client.wait().unwrap().success());
    // As its user ends a session.
    let end = ["delete", "deployment", "session", "--wait=false"];
    lab.cluster.plane.kubectl(&end).unwrap();
    within(PATIENCE, "nothing is left of it", || lab.is_gone("session"));
    muster.stop();
}

/// Room for a JobManager and two TaskManagers; beside two JobManagers only for one.
const ROOM: &str = "2750m";

impl Lab {
    /// Submits two clusters, which wait for a node.
    fn submit_two(&self, more: &[&str]) {
        for name in ["one", "two"] {
            self.gang(name);
            self.submit(name, more);
        }
        eventually("both JobManagers wait", || {
            ["one", "two"].iter().all(|name| self.pods(name).len() == 1)
        });
        self.cluster.nodes(1, ROOM);
    }
}

#[test]
fn of_two_clusters_with_room_for_one_each_runs_in_its_turn() {
    let lab = Lab::start(false);
    lab.submit_two(&[]);
    let muster = lab.cluster.muster();
    let all = || ["one", "two"].map(|name| (lab.running(name), name));
    within(PATIENCE, "one of them runs as a whole", || {
        all().iter().any(|(running, _)| *running == (1, 2))
    });
    let by_state: BTreeMap<(usize, usize), &str> = all().into();
    let first = by_state[&(1, 2)];
    let second = by_state[&(0, 0)];
    let waits = lab.cluster.status_of(second);
    assert_eq!(waits["bound"], 0, "{waits}");
    fs::write(lab.go(first), "").unwrap();
    fs::write(lab.go(second), "").unwrap();
    lab.has_finished(first);
    lab.has_finished(second);
    muster.stop();
}

#[test]
fn kube_scheduler_starts_half_of_each_where_muster_starts_one() {
    let lab = Lab::start(true);
    let template = lab.work.join("template.yaml");
    let ours = fs::read_to_string(programs::example("workloads/flink/pod-template.yaml")).unwrap();
    let theirs = ours.replace("schedulerName: muster", "schedulerName: default-scheduler");
    assert_ne!(theirs, ours);
    fs::write(&template, theirs).unwrap();
    let option = "-Dkubernetes.pod-template-file.default";
    lab.submit_two(&[&format!("{option}={}", template.display())]);
    // Two TaskManagers of each are wanted, and there is room for one of all four: nobody goes on.
    within(
        PATIENCE,
        "all pods are there, and one TaskManager runs",
        || {
            let [one, two] = ["one", "two"].map(|name| (lab.running(name), lab.pods(name).len()));
            let managers = (one.0.0, two.0.0) == (1, 1);
            managers && (one.1, two.1) == (3, 3) && one.0.1 + two.0.1 == 1
        },
    );
}
