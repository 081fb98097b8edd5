//! Spark applications without an operator, submitted as `examples/workloads/spark` shows: with PodGroups that Spark makes
//! itself, or does not.

use crate::live::{Cluster, PODS, condition, text, within};
use crate::programs::{self, PATIENCE, Program, spark_home};
use muster::model::units::Millis;
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const GROUPS: &str = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups";
const STEP: &str = "org.apache.spark.deploy.k8s.features.VolcanoFeatureStep";
/// What all of them are told besides.
const COMMON: &[&str] = &[
    "spark.kubernetes.namespace=default",
    "spark.ui.enabled=false",
    // It does nothing before all of its executors are there.
    "spark.scheduler.minRegisteredResourcesRatio=1",
    "spark.scheduler.maxRegisteredResourcesWaitingTime=1h",
];
/// How Spark writes the name of the group on pods.
const MARK: &str = "/metadata/annotations/scheduling.k8s.io~1group-name";

/// A cluster with kubelets that run Spark, and Volcano's kind of PodGroups.
struct Lab {
    _kubelet: Program,
    work: PathBuf,
    home: PathBuf,
    cluster: Cluster,
}

impl Lab {
    /// With nodes of so many CPUs each.
    fn start(nodes: usize, cpu: &str) -> Self {
        let home = spark_home();
        let cluster = Cluster::of(|builder| builder.kwok(false).controller_manager(true));
        cluster.apply_folder("crds");
        cluster.apply_folder("deploy/compat");
        cluster.nodes(nodes, cpu);
        let work = cluster.plane.dir().join("spark");
        fs::create_dir(&work).unwrap();
        Self {
            _kubelet: Program::kubelet(&cluster, &work, "spark", &home),
            work,
            home,
            cluster,
        }
    }

    /// A file by which an application is told something.
    fn file(&self, name: &str) -> PathBuf {
        self.work.join(name)
    }

    /// One that comes with Spark.
    fn pi(&self) -> PathBuf {
        self.home.join("examples/src/main/python/pi.py")
    }

    /// Submits an application in cluster mode, by the line that a user is shown.
    fn run(&self, name: &str, more: &[&str], app: &Path, args: &[&Path]) {
        let server = self.cluster.plane.url();
        let mut submit = Command::new("bash");
        submit
            .arg(programs::example("workloads/spark/submit.sh"))
            .args(["--name", name]);
        let driver = format!("spark.kubernetes.driver.pod.name={name}-driver");
        let master = format!("spark.kubernetes.driver.master={server}");
        let without_waiting = "spark.kubernetes.submission.waitAppCompletion=false";
        let settings = [COMMON, &[&driver, &master, without_waiting], more].concat();
        for setting in settings {
            submit.args(["--conf", setting]);
        }
        submit.arg(format!("local://{}", app.display()));
        submit
            .args(args)
            .env("SERVER", server)
            .env("IMAGE", "spark");
        let submitted = self.start_client(name, submit).wait();
        let said = fs::read_to_string(self.file(&format!("{name}.log"))).unwrap();
        assert!(submitted.unwrap().success(), "{said}");
    }

    /// Runs an application in client mode.
    fn run_here(&self, name: &str, more: &[&str], app: &Path, args: &[&Path]) -> Child {
        let mut submit = Command::new(self.home.join("bin/spark-submit"));
        let server = format!("k8s://{}", self.cluster.plane.url());
        submit.args(["--master", &server, "--deploy-mode", "client"]);
        let executors = format!("spark.kubernetes.executor.pod.featureSteps={STEP}");
        let own = [
            "spark.kubernetes.scheduler.name=muster",
            "spark.kubernetes.container.image=spark",
            "spark.executor.memory=512m",
            &executors,
        ];
        for setting in [COMMON, &own, more].concat() {
            submit.args(["--conf", setting]);
        }
        submit.arg(app).args(args);
        self.start_client(name, submit)
    }

    /// Starts Spark's client. What it prints is in the file `NAME.log`.
    fn start_client(&self, name: &str, mut client: Command) -> Child {
        let log = File::create(self.file(&format!("{name}.log"))).unwrap();
        client
            .env("SPARK_HOME", &self.home)
            .env("KUBECONFIG", self.cluster.plane.kubeconfig())
            .env("SPARK_LOCAL_IP", "127.0.0.1")
            .env(
                "JAVA_TOOL_OPTIONS",
                "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            )
            .stdin(Stdio::null())
            .stderr(log.try_clone().unwrap())
            .stdout(log)
            .spawn()
            .unwrap()
    }

    fn driver(&self, name: &str) -> Value {
        self.cluster.pod(&format!("{name}-driver"))
    }

    fn phase(&self, name: &str) -> String {
        text(&self.driver(name), "/status/phase")
    }

    /// What a driver has printed.
    fn said(&self, name: &str) -> String {
        let log = self.work.join(format!("default_{name}-driver/log"));
        fs::read_to_string(log).unwrap_or_default()
    }

    /// The executors of the application with this group.
    fn executors(&self, group: &str) -> Vec<Value> {
        let path = format!("{PODS}?labelSelector=spark-role=executor");
        let list = self.cluster.plane.get(&path).unwrap();
        let all = list["items"].as_array().cloned().unwrap();
        let mut of = all;
        of.retain(|pod| text(pod, MARK) == group);
        of
    }

    fn running(&self, group: &str) -> usize {
        let executors = self.executors(group);
        let run = |pod: &&Value| text(pod, "/status/phase") == "Running";
        executors.iter().filter(run).count()
    }

    fn groups(&self) -> Vec<Value> {
        let list = self.cluster.plane.get(GROUPS).unwrap();
        list["items"].as_array().cloned().unwrap()
    }

    fn has_succeeded(&self, name: &str) {
        within(PATIENCE, "it ends", || {
            let phase = self.phase(name);
            assert_ne!(phase, "Failed", "{}", self.said(name));
            phase == "Succeeded"
        });
    }
}

#[test]
fn an_application_runs_with_the_pod_group_that_spark_makes() {
    let lab = Lab::start(2, "2");
    let muster = lab.cluster.muster();
    lab.run("pi", &[], &lab.pi(), &[Path::new("4")]);
    let driver = lab.driver("pi");
    let group = text(&driver, MARK);
    let groups = lab.groups();
    assert_eq!(groups.len(), 1);
    assert_eq!(text(&groups[0], "/metadata/name"), group);
    let owner = text(&groups[0], "/metadata/ownerReferences/0/name");
    assert_eq!(owner, "pi-driver", "the end of the driver is its end");
    let mut most = 0;
    within(PATIENCE, "it ends", || {
        most = most.max(lab.running(&group));
        let phase = lab.phase("pi");
        assert_ne!(phase, "Failed", "{}", lab.said("pi"));
        phase == "Succeeded"
    });
    assert_eq!(most, 2, "both executors ran at the same time");
    let said = lab.said("pi");
    assert!(said.contains("Pi is roughly 3.1"), "{said}");
    assert_eq!(text(&lab.driver("pi"), "/spec/schedulerName"), "muster");
    muster.stop();
}

#[test]
fn of_two_applications_with_room_for_one_each_runs_in_its_turn() {
    // Room for a driver and two executors: another driver would take that of an executor, and both would wait for ever.
    let lab = Lab::start(2, "1500m");
    let (go, app) = (lab.file("go"), programs::file("spark_sum.py"));
    for name in ["one", "two"] {
        let result = lab.file(&format!("{name}.result"));
        lab.run(name, &[], &app, &[&go, &result]);
    }
    let muster = lab.cluster.muster();
    let group = |name: &str| text(&lab.driver(name), MARK);
    let mut first = "";
    within(PATIENCE, "one of them runs as a whole", || {
        let of = |name: &&str| lab.running(&group(name)) == 2;
        first = ["one", "two"].into_iter().find(of).unwrap_or_default();
        !first.is_empty()
    });
    let second = if first == "one" { "two" } else { "one" };
    assert_eq!(lab.driver(second)["spec"]["nodeName"], Value::Null);
    let groups = lab.groups();
    let waits = group(second);
    let waits = groups
        .iter()
        .find(|group| text(group, "/metadata/name") == waits)
        .unwrap();
    assert_eq!(text(waits, "/status/phase"), "Pending", "{waits}");
    fs::write(&go, "").unwrap();
    lab.has_succeeded(first);
    lab.has_succeeded(second);
    for name in ["one", "two"] {
        let result = fs::read_to_string(lab.file(&format!("{name}.result"))).unwrap();
        assert!(result.contains("500500"), "{result}");
    }
    muster.stop();
}

#[test]
fn an_application_grows_and_shrinks_as_it_needs_within_the_limit_of_its_queue() {
    let lab = Lab::start(2, "4");
    let queue = |limit: &str| {
        lab.cluster.apply(&format!(
            "{{apiVersion: muster.dev/v1alpha1, kind: Queue, metadata: {{name: small}}, \
             spec: {{limit: {{cpu: {limit}}}}}}}"
        ));
    };
    // Of four executors of one CPU it has room for two beside the driver of half a one.
    queue("2500m");
    let template = lab.file("pod-group.yaml");
    let group = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\n\
                 spec: {minMember: 1, minResources: {cpu: 1500m, memory: 1792Mi}, queue: small}\n";
    fs::write(&template, group).unwrap();
    let template = template.display();
    let template = format!("spark.kubernetes.scheduler.volcano.podGroupTemplateFile={template}");
    let muster = lab.cluster.muster();
    let [start, go, end] = ["start", "go", "end"].map(|name| lab.file(name));
    let app = programs::file("spark_waves.py");
    let dynamic = [
        template.as_str(),
        "spark.executor.instances=1",
        "spark.dynamicAllocation.enabled=true",
        "spark.dynamicAllocation.shuffleTracking.enabled=true",
        "spark.dynamicAllocation.minExecutors=1",
        "spark.dynamicAllocation.maxExecutors=4",
        "spark.dynamicAllocation.executorIdleTimeout=3s",
        "spark.dynamicAllocation.schedulerBacklogTimeout=1s",
    ];
    lab.run("waves", &dynamic, &app, &[&start, &go, &end]);
    let group = text(&lab.driver("waves"), MARK);
    let counts = |wanted: usize| {
        let what = format!("it has {wanted} executors");
        let took = within(PATIENCE, &what, || {
            lab.running(&group) == wanted && lab.executors(&group).len() == wanted
        });
        println!("{what} after {took:?}");
    };
    counts(1);
    fs::write(start, "").unwrap();
    let said = |pod: &Value| {
        let waits = condition(&pod["status"], "PodScheduled");
        waits.map_or_else(String::new, |waits| text(waits, "/message"))
    };
    let limit = "queue small would hold 3500m cpu, and its limit is 2500m cpu";
    within(
        PATIENCE,
        "two of four run, and the others are told why",
        || {
            let executors = lab.executors(&group);
            let waiting = executors
                .iter()
                .filter(|pod| pod["spec"]["nodeName"].is_null());
            let told: Vec<_> = waiting.map(said).collect();
            executors.len() == 4
                && lab.running(&group) == 2
                && told.len() == 2
                && told.iter().all(|words| words.contains(limit))
        },
    );
    queue("4500m");
    counts(4);
    fs::write(go, "").unwrap();
    counts(1);
    fs::write(end, "").unwrap();
    lab.has_succeeded("waves");
    assert!(lab.said("waves").contains("sum 6"), "{}", lab.said("waves"));
    muster.stop();
}

#[test]
fn executors_of_client_mode_do_not_wait_for_ever_for_a_pod_group_that_nobody_makes() {
    let lab = Lab::start(2, "2");
    let muster = lab
        .cluster
        .muster_with(&lab.cluster.plane.kubeconfig(), None, |options| {
            options.reading.missing_pod_group_timeout = Some(Millis(5_000));
        });
    let two = ["spark.executor.instances=2"];
    let mut client = lab.run_here("pi", &two, &lab.pi(), &[Path::new("4")]);
    let executors = || {
        let path = format!("{PODS}?labelSelector=spark-role=executor");
        let list = lab.cluster.plane.get(&path).unwrap();
        list["items"].as_array().cloned().unwrap()
    };
    let bound = |pod: &Value| pod["spec"]["nodeName"].is_string();
    within(PATIENCE, "its executors are there", || {
        executors().len() == 2
    });
    let there = executors();
    assert!(there.iter().all(|pod| !bound(pod)), "they wait for it");
    assert!(there.iter().all(|pod| !text(pod, MARK).is_empty()));
    let took = within(PATIENCE, "they are bound", || {
        let there = executors();
        there.len() == 2 && there.iter().all(bound)
    });
    println!("bound after {took:?}");
    assert!(client.wait().unwrap().success());
    assert!(lab.groups().is_empty(), "Spark has made none");
    let said = fs::read_to_string(lab.file("pi.log")).unwrap();
    assert!(said.contains("Pi is roughly 3.1"), "{said}");
    muster.stop();
}
