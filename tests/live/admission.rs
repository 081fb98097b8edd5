//! The policies in `deploy/admission`, on a real API server: who may name which queue, priority and lifetime.
//!
//! Needs what `hack/build-control-plane` builds.

use crate::live::{Cluster, eventually};
use std::io::Write;
use tempfile::NamedTempFile;

const ACCOUNT: &str = "system:serviceaccount:muster-system:muster";

/// alice may write everything that names a queue, a priority or a lifetime, in two namespaces.
const RIGHTS: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: other}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: writes}
rules:
- {apiGroups: [muster.dev], resources: ['*'], verbs: [get, create, patch, update]}
- {apiGroups: ['', batch], resources: [pods, jobs], verbs: [get, create, patch, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: writes}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: writes}
subjects: [{kind: User, name: alice}]
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: usual}
value: 10
";

/// Rights in `default` for some subjects.
fn grant(name: &str, rule: &str, subjects: &str) -> String {
    format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {{name: {name}, namespace: default}}\n\
         rules: [{rule}]\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\n\
         metadata: {{name: {name}, namespace: default}}\n\
         roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: {name}}}\nsubjects: [{subjects}]\n"
    )
}

const ALICE: &str = "{kind: User, name: alice, apiGroup: rbac.authorization.k8s.io}";

fn guarded() -> Cluster {
    let cluster = Cluster::of(|builder| {
        builder.user(ACCOUNT, &["system:serviceaccounts", "system:authenticated"])
    });
    for folder in ["crds", "deploy", "deploy/admission"] {
        cluster.apply_folder(folder);
    }
    cluster.apply(RIGHTS);
    cluster
}

/// What alice is told who applies this.
fn alice(cluster: &Cluster, namespace: &str, yaml: &str) -> Result<String, String> {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(yaml.as_bytes()).unwrap();
    let path = file.path().to_str().unwrap();
    let as_alice = ["apply", "--as=alice", "--as-group=system:authenticated"];
    let what = ["-n", namespace, "-f", path];
    let told = cluster.plane.kubectl(&[&as_alice[..], &what].concat());
    told.map_err(|error| error.to_string())
}

fn refused(cluster: &Cluster, yaml: &str, words: &str) {
    match alice(cluster, "default", yaml) {
        Ok(_) => panic!("{yaml} is taken"),
        Err(told) => assert!(told.contains(words), "{yaml}: {told}"),
    }
}

fn taken(cluster: &Cluster, yaml: &str) {
    alice(cluster, "default", yaml).unwrap();
}

fn group(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: muster.dev/v1alpha1\nkind: PodGroup\nmetadata: {{name: {name}}}\nspec: {{minAvailable: 1, {spec}}}\n"
    )
}

fn pod(name: &str, metadata: &str, spec: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, {metadata}}}\n\
         spec: {{{spec}, containers: [{{name: main, image: work}}]}}\n"
    )
}

/// Until the policies are in force, all is taken.
fn in_force(cluster: &Cluster, yaml: &str) {
    eventually("the policy is in force", || {
        let told = alice(cluster, "default", yaml);
        if told.is_ok() {
            let all = ["delete", "podgroups.muster.dev", "--all"];
            cluster.plane.kubectl(&all).unwrap();
        }
        told.is_err_and(|told| told.contains("may not"))
    });
}

#[test]
fn a_queue_may_be_named_by_who_may_use_it() {
    let cluster = guarded();
    in_force(&cluster, &group("probe", "queue: gold"));
    let told = "alice may not use Queue gold: it takes the verb use on queues.muster.dev of that name, in namespace default or everywhere";
    refused(&cluster, &group("train", "queue: gold"), told);
    taken(&cluster, &group("plain", "priority: 0"));
    taken(&cluster, &group("usual", "queue: default"));
    let use_silver =
        "{apiGroups: [muster.dev], resources: [queues], resourceNames: [silver], verbs: [use]}";
    cluster.apply(&grant("silver", use_silver, ALICE));
    eventually("the right is known", || {
        alice(&cluster, "default", &group("train", "queue: silver")).is_ok()
    });
    let elsewhere = alice(&cluster, "other", &group("train", "queue: silver"));
    assert!(elsewhere.unwrap_err().contains("in namespace other"));
    // An edit of something else passes, one of the queue does not.
    taken(&cluster, &group("train", "queue: silver, lifetime: 1h"));
    refused(&cluster, &group("train", "queue: gold"), "Queue gold");
    cluster.apply(&group("admins", "queue: gold"));
    taken(&cluster, &group("admins", "queue: gold, lifetime: 1h"));
    // In whatever way it is named.
    let gold = "labels: {muster.dev/queue: gold}";
    refused(
        &cluster,
        &pod("lone", gold, "schedulerName: muster"),
        "Queue gold",
    );
    let yunikorn =
        "labels: {queue: root.gold}, annotations: {yunikorn.apache.org/task-group-name: workers}";
    refused(
        &cluster,
        &pod("lone", yunikorn, "schedulerName: muster"),
        "Queue gold",
    );
    taken(
        &cluster,
        &pod(
            "others",
            "labels: {queue: root.gold}",
            "schedulerName: other",
        ),
    );
    let kai = "labels: {kai.scheduler/queue: gold}";
    refused(
        &cluster,
        &pod("kais", kai, "schedulerName: muster"),
        "Queue gold",
    );
    taken(&cluster, &pod("kais", kai, "schedulerName: other"));
    // What another word named that counts for nothing there was not named.
    let labelled = |spec: &str| {
        group("labelled", spec).replace(
            "metadata: {",
            "metadata: {labels: {queue: gold, kai.scheduler/queue: gold}, ",
        )
    };
    assert_ne!(
        labelled("queue: silver"),
        group("labelled", "queue: silver")
    );
    cluster.apply(&labelled("queue: silver"));
    refused(&cluster, &labelled("queue: gold"), "Queue gold");
    let batch = "apiVersion: muster.dev/v1alpha1\nkind: BatchJob\nmetadata: {name: crawl}\nspec:\n  \
                 podGroupTemplate: {spec: {queue: gold}}\n  job: {spec: {template: {spec: {containers: [{name: main, image: work}]}}}}\n";
    refused(&cluster, batch, "Queue gold");
    taken(&cluster, &batch.replace("gold", "silver"));
}

#[test]
fn a_pod_of_a_job_may_be_in_a_queue_that_its_service_account_may_use() {
    let cluster = guarded();
    in_force(&cluster, &group("probe", "queue: gold"));
    let pod = pod(
        "job-0",
        "labels: {muster.dev/queue: gold}",
        "schedulerName: muster",
    );
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(pod.as_bytes()).unwrap();
    // Who makes it for whoever made the Job.
    let as_controller = [
        "create",
        "--as=system:serviceaccount:kube-system:job-controller",
        "--as-group=system:authenticated",
        "-f",
        file.path().to_str().unwrap(),
    ];
    let told = cluster.plane.kubectl(&as_controller).unwrap_err();
    let told = told.to_string();
    assert!(
        told.contains("job-controller may not use Queue gold"),
        "{told}"
    );
    // As docs/operations.md gives a right, to a service account.
    let document = include_str!("../../docs/operations.md");
    let section = document
        .split("\n## ")
        .find(|one| one.starts_with("Who may name what"));
    let example = section.unwrap().split("```yaml\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let example = example
        .replace("research", "gold")
        .replace("namespace: ml", "namespace: default");
    cluster.apply(&example);
    eventually("the controller may make it", || {
        cluster.plane.kubectl(&as_controller).is_ok()
    });
}

#[test]
fn a_priority_may_be_named_by_who_may_use_it() {
    let cluster = guarded();
    in_force(&cluster, &group("probe", "priorityClassName: urgent"));
    refused(
        &cluster,
        &group("train", "priorityClassName: urgent"),
        "alice may not use PriorityClass urgent",
    );
    refused(
        &cluster,
        &group("train", "priority: 5"),
        "may not give a priority above 0 as a number",
    );
    taken(&cluster, &group("low", "priority: -5"));
    let urgent = "schedulerName: muster, priorityClassName: urgent";
    refused(
        &cluster,
        &pod("lone", "labels: {}", urgent),
        "PriorityClass urgent",
    );
    taken(
        &cluster,
        &pod(
            "others",
            "labels: {}",
            "schedulerName: other, priorityClassName: urgent",
        ),
    );
    let queue_job = "apiVersion: muster.dev/v1alpha1\nkind: QueueJob\nmetadata: {name: q}\nspec:\n  schedSpec: {minAvailable: 1, priorityClassName: urgent}\n  \
                     taskSpecs: [{replicas: 1, template: {spec: {containers: [{name: main, image: work}]}}}]\n";
    refused(&cluster, queue_job, "PriorityClass urgent");
    let rule = "{apiGroups: [scheduling.k8s.io], resources: [priorityclasses], resourceNames: [usual], verbs: [use]}";
    cluster.apply(&grant("usual", rule, ALICE));
    eventually("the right is known", || {
        alice(
            &cluster,
            "default",
            &group("train", "priorityClassName: usual"),
        )
        .is_ok()
    });
    refused(
        &cluster,
        &group("train", "priorityClassName: urgent"),
        "PriorityClass urgent",
    );
    taken(&cluster, &queue_job.replace("urgent", "usual"));
    refused(&cluster, &group("number", "priority: 5"), "as a number");
}

#[test]
fn a_lifetime_beyond_the_longest_is_for_who_may_exceed_it() {
    let cluster = guarded();
    in_force(&cluster, &group("probe", "lifetime: 48h"));
    let told = "alice may not ask for a lifetime of 24h1ms, at most 24h";
    refused(&cluster, &group("train", "lifetime: 24h1ms"), told);
    for lifetime in ["24h", "1h30m", "0s", "+5m", "0"] {
        taken(
            &cluster,
            &group("train", &format!("lifetime: '{lifetime}'")),
        );
    }
    taken(&cluster, &group("usual", "priority: 0"));
    let long = "annotations: {muster.dev/lifetime: 48h}";
    refused(&cluster, &pod("lone", long, "schedulerName: muster"), "48h");
    let deadline = "schedulerName: muster, activeDeadlineSeconds: 90000";
    refused(&cluster, &pod("lone", "labels: {}", deadline), "90000s");
    taken(&cluster, &pod("others", long, "schedulerName: other"));
    taken(
        &cluster,
        &pod(
            "short",
            "annotations: {muster.dev/lifetime: 1h}",
            "schedulerName: muster",
        ),
    );
    let rule = "{apiGroups: [muster.dev], resources: [lifetimes], verbs: [exceed]}";
    cluster.apply(&grant("long", rule, ALICE));
    eventually("the right is known", || {
        alice(&cluster, "default", &group("train", "lifetime: 48h")).is_ok()
    });
    taken(&cluster, &pod("lone", "labels: {}", deadline));
    // Who may not, may change something else of it.
    let asked = ["delete", "rolebinding", "long"];
    cluster.plane.kubectl(&asked).unwrap();
    eventually("the right is gone", || {
        alice(&cluster, "default", &group("again", "lifetime: 48h")).is_err()
    });
    let labelled = pod("lone", "labels: {a: b}", deadline);
    taken(&cluster, &labelled);
}

#[test]
fn muster_itself_schedules_with_all_policies_in_force() {
    let cluster = guarded();
    in_force(&cluster, &group("probe", "queue: gold"));
    cluster.nodes(2, "4");
    cluster
        .apply("apiVersion: muster.dev/v1alpha1\nkind: Queue\nmetadata: {name: gold}\nspec: {}\n");
    cluster.apply(&group(
        "train",
        "queue: gold, lifetime: 48h, priorityClassName: urgent",
    ));
    let kubeconfig = cluster.plane.kubeconfig_of(ACCOUNT).unwrap();
    let muster = cluster.muster_as(&kubeconfig, None);
    cluster.pods("train", 1, "1");
    eventually("the gang is bound", || cluster.bound("train") == 1);
    eventually("it says so", || {
        cluster.status_of("train")["phase"] == "Running"
    });
    let can = |verb: &str, what: &str| {
        let controllers = "system:serviceaccount:muster-system:muster-controllers";
        let asked = ["auth", "can-i", verb, what, "--as", controllers];
        cluster.plane.kubectl(&asked).is_ok()
    };
    assert!(can("use", "queues.muster.dev/gold"));
    assert!(can("use", "priorityclasses.scheduling.k8s.io/urgent"));
    muster.stop();
}
