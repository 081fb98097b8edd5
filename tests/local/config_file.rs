//! The configuration file: what is read from it, and what is refused in which words.

use muster::config::{ConfigError, SchedulerConfiguration, load, parse};
use muster::model::units::Millis;
use std::fs;

const HEAD: &str = "apiVersion: config.muster.dev/v1alpha1\nkind: SchedulerConfiguration\n";

fn read(rest: &str) -> Result<SchedulerConfiguration, ConfigError> {
    parse("muster.yaml", &format!("{HEAD}{rest}"))
}

/// The error, on one line.
fn refused(rest: &str) -> String {
    read(rest).unwrap_err().to_string()
}

#[test]
fn a_file_that_says_nothing_is_the_default() {
    assert_eq!(read("").unwrap(), SchedulerConfiguration::default());
}

#[test]
fn the_default_written_out_reads_back() {
    let default = SchedulerConfiguration::default();
    let text = serde_saphyr::to_string(&default).unwrap();
    assert_eq!(parse("muster.yaml", &text).unwrap(), default, "{text}");
}

#[test]
fn the_default_policy_is_the_cores_default() {
    let policy = SchedulerConfiguration::default().policy().unwrap();
    let wanted = muster::core::engine::Policy::default();
    assert_eq!(format!("{policy:?}"), format!("{wanted:?}"));
}

#[test]
fn every_field_is_taken() {
    let config = read(
        "schedulerNames: [muster, batch]
bindConcurrency: 8
sweepInterval: 1m30s
listen: 0.0.0.0:8080
leaderElection: {enabled: false, leaseName: a, leaseNamespace: b}
profile:
  queueSort: [Submission, Priority]
  filter: [NodeResourcesFit]
  score:
  - {name: Packing, weight: 7}
",
    )
    .unwrap();
    let names: Vec<String> = config
        .scheduler_names
        .iter()
        .cloned()
        .map(String::from)
        .collect();
    assert_eq!(names, ["muster", "batch"]);
    assert_eq!(config.bind_concurrency.get(), 8);
    assert_eq!(config.listen.get().port(), 8080);
    assert!(!config.leader_election.enabled);
    assert_eq!(config.leader_election.lease_name.as_str(), "a");
    assert_eq!(
        config
            .leader_election
            .lease_namespace
            .as_ref()
            .unwrap()
            .as_str(),
        "b"
    );
    let policy = config.policy().unwrap();
    assert_eq!(policy.sweep_interval, Millis(90_000));
    let sorts: Vec<_> = policy
        .profile
        .queue_sort
        .iter()
        .map(|one| one.name())
        .collect();
    assert_eq!(sorts, ["Submission", "Priority"]);
    let filters = policy.profile.filter.iter().map(|one| one.name());
    assert_eq!(
        filters.collect::<Vec<_>>(),
        ["GangSelector", "Exclusive", "Slots", "NodeResourcesFit"],
        "the gang's own is not for a configuration to leave out"
    );
    assert_eq!(policy.profile.score[0].weight, 7);
    assert!(
        !policy.profile.pre_enqueue.is_empty(),
        "what the file cannot set stays"
    );
}

#[test]
fn what_is_wrong_is_refused_with_place_and_what_is_allowed() {
    let cases: [(&str, &str, &[&str]); 22] = [
        (
            "bindConcurency: 8\n",
            "3:1",
            &["bindConcurency", "bindConcurrency"],
        ),
        ("profile:\n  filters: []\n", "4:3", &["filters", "filter"]),
        (
            "bindConcurrency: 0\n",
            "3:18",
            &["found 0", "from 1 to 512"],
        ),
        (
            "bindConcurrency: lots\n",
            "3:18",
            &["\"lots\"", "from 1 to 512"],
        ),
        ("sweepInterval: 5\n", "3:16", &["\"5\"", "1h30m"]),
        ("sweepInterval: 2d\n", "3:16", &["\"2d\"", "1h30m"]),
        ("sweepInterval: 0s\n", "3:16", &["found 0s", "from 1s"]),
        ("listen: 8080\n", "3:9", &["\"8080\"", "127.0.0.1:10270"]),
        ("schedulerNames: []\n", "3:17", &["empty"]),
        ("schedulerNames: [a, b, a]\n", "3:17", &["\"a\"", "twice"]),
        (
            "profile:\n  filter:\n  - NodePorts\n  - Nope\n",
            "6:5",
            &["\"Nope\"", "filter", "NodeUnschedulable, TaintToleration"],
        ),
        (
            "profile:\n  score: [{name: Packing, weight: 101}]\n",
            "4:35",
            &["found 101", "from 1 to 100"],
        ),
        (
            "bindConcurrency: 8\nbindConcurrency: 9\n",
            "4:1",
            &["bindConcurrency", "twice"],
        ),
        (
            "bindConcurrency: -3\n",
            "3:18",
            &["found -3", "from 1 to 512"],
        ),
        (
            "bindConcurrency: 1.5\n",
            "3:1",
            &["found 1.5: expected a number from 1 to 512"],
        ),
        (
            "bindConcurrency:\n",
            "3:1",
            &["found nothing", "from 1 to 512"],
        ),
        (
            "bindConcurrency: 99999999999999999999999\n",
            "3:1",
            &["from 1 to 512"],
        ),
        (
            "schedulerNames: muster\n",
            "3:17",
            &["found \"muster\": expected a list"],
        ),
        (
            "schedulerNames:\n",
            "3:15",
            &["found nothing: expected a list"],
        ),
        (
            "leaderElection: yes\n",
            "3:17",
            &["found \"yes\": expected a map of fields"],
        ),
        (
            "leaderElection: {enabled: yes}\n",
            "3:27",
            &["found \"yes\": expected true or false"],
        ),
        ("listen: *x\n", "3:9", &["\"*x\" is an alias of nothing"]),
    ];
    for (text, place, words) in cases {
        let message = refused(text);
        let start = format!("muster.yaml:{place}: ");
        assert!(message.starts_with(&start), "{text:?}: {message}");
        for word in words {
            assert!(message[start.len()..].contains(word), "{text:?}: {message}");
        }
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

pub(crate) const PROFILES: &str = "profiles:
- schedulerName: spreading
  base: kubernetes
  plugins:
    score:
      disabled: [{name: ImageLocality}]
      enabled: [{name: NodeResourcesFit, weight: 7}, {name: Packing}]
  pluginConfig:
  - name: NodeResourcesFit
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: NodeResourcesFitArgs
      scoringStrategy:
        type: RequestedToCapacityRatio
        resources: [{name: nvidia.com/gpu, weight: 3}]
        requestedToCapacityRatio:
          shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: In, values: [a]}]}]
  - name: InterPodAffinity
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: InterPodAffinityArgs
      hardPodAffinityWeight: 0
      ignorePreferredTermsOfExistingPods: true
- schedulerName: muster
";

#[test]
fn a_scheduler_name_chooses_a_profile() {
    let config = read(PROFILES).unwrap();
    let text = serde_saphyr::to_string(&config).unwrap();
    assert_eq!(parse("muster.yaml", &text).unwrap(), config, "{text}");
    assert_eq!(config.names(), ["muster", "spreading"]);
    assert_eq!(config.profile_names(), ["", "spreading", "muster"]);
    let policy = config.policy().unwrap();
    let profiles: Vec<_> = policy.profiles().iter().collect();
    let scores = |index: usize| {
        let scores = profiles[index].score.iter();
        let scores = scores.map(|one| format!("{} {}", one.plugin.name(), one.weight));
        scores.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(scores(0), "Packing 1");
    assert_eq!(
        scores(1),
        "TaintToleration 3, NodeAffinity 2, NodeResourcesFit 7, PodTopologySpread 2, InterPodAffinity 2, \
         VolumeBinding 1, NodeResourcesBalancedAllocation 1, Packing 1"
    );
    assert_eq!(scores(2), "Packing 1");
    let reading = config.reading(&policy);
    let number = |name| reading.profile(name).0;
    assert_eq!(
        [number("spreading"), number("muster"), number("?")],
        [1, 2, 0]
    );
    assert!(!reading.reads[0].unsaid && !reading.reads[0].node_terms);
    assert!(!reading.reads[0].pod_terms && !reading.reads[0].spread);
    assert!(reading.reads[1].pod_terms && reading.reads[1].spread);
    assert!(reading.reads[1].unsaid && reading.reads[1].node_terms && !reading.reads[1].images);
}

#[test]
fn a_profile_that_cannot_be_meant_is_refused() {
    let cases: [(&str, &str, &[&str]); 7] = [
        ("- {base: kubernetes}", "4:", &["schedulerName"]),
        (
            "- {schedulerName: a, base: kube}",
            "4:",
            &["kube", "kubernetes"],
        ),
        (
            "- {schedulerName: a}\n- {schedulerName: a}",
            "",
            &["\"a\"", "twice"],
        ),
        (
            "- {schedulerName: a, plugins: {score: {enabled: [{name: NodePorts}]}}}",
            "4:",
            &["\"NodePorts\"", "ImageLocality"],
        ),
        (
            "- {schedulerName: a, percentageOfNodesToScore: 5}",
            "4:",
            &["percentageOfNodesToScore"],
        ),
        (
            "- {schedulerName: a, pluginConfig: [{name: DefaultPreemption, args: {}}]}",
            "",
            &["DefaultPreemption"],
        ),
        (
            "- {schedulerName: a, pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: \
             {type: RequestedToCapacityRatio}}}]}",
            "",
            &["shape"],
        ),
    ];
    for (text, place, words) in cases {
        let message = refused(&format!("profiles:\n{text}\n"));
        assert!(
            message.starts_with(&format!("muster.yaml:{place}")),
            "{message}"
        );
        for word in words {
            assert!(message.contains(word), "{text:?}: {message}");
        }
    }
}

#[test]
fn another_version_or_kind_is_refused() {
    let cases = [
        (
            "apiVersion: v1\nkind: SchedulerConfiguration\n",
            "1:13",
            "config.muster.dev/v1alpha1",
        ),
        (
            "apiVersion: config.muster.dev/v1alpha1\nkind: Pod\n",
            "2:7",
            "SchedulerConfiguration",
        ),
        ("kind: SchedulerConfiguration\n", "1:1", "apiVersion"),
    ];
    for (text, place, word) in cases {
        let message = parse("muster.yaml", text).unwrap_err().to_string();
        assert!(
            message.starts_with(&format!("muster.yaml:{place}: ")),
            "{message}"
        );
        assert!(message.contains(word), "{message}");
    }
}

#[test]
fn what_is_no_configuration_at_all_is_refused_not_panicked_on() {
    let cases = [
        "",
        "[]",
        "null",
        "a: [",
        "\t",
        "&a [*a]",
        "\u{0}",
        "- - - -",
        "%",
        "{",
        "---\n---\n",
        "kind: SchedulerConfiguration\n---\nkind: SchedulerConfiguration\n",
    ];
    for text in cases {
        let message = parse("f", text).unwrap_err().to_string();
        assert!(message.starts_with("f:"), "{text:?}: {message}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.yaml");
    let message = load(&missing).unwrap_err().to_string();
    assert!(message.contains("missing.yaml"), "{message}");
    let present = folder.path().join("muster.yaml");
    fs::write(&present, HEAD).unwrap();
    assert_eq!(load(&present).unwrap(), SchedulerConfiguration::default());
}

pub(crate) const OUTSIDE: &str = "remotePlugins:
- name: licences
  url: https://licences.scheduling.svc/
  points: [PreFilter, Filter, Score, Reserve, Permit, PreBind, Bind, PostBind]
  timeout: 250ms
  ignorable: true
  weight: 3
  nodeLabels: [topology.kubernetes.io/zone]
  tls: {caFile: ca.crt, certFile: tls.crt, keyFile: tls.key}
extenders:
- urlPrefix: http://127.0.0.1:8000/scheduler
  filterVerb: filter
  prioritizeVerb: prioritize
  weight: 2
  enableHTTPS: true
  tlsConfig: {insecure: true}
  httpTimeout: 30s
  nodeCacheCapable: true
  managedResources: [{name: example.com/card}, {name: example.com/key, ignoredByScheduler: true}]
";

#[test]
fn plugins_in_other_processes_are_read_and_run() {
    let config = read(OUTSIDE).unwrap();
    let profile = config.policy().unwrap().profile;
    let [plugin, extender] = &profile.remotes[..] else {
        panic!("{:?}", profile.remotes);
    };
    assert_eq!((&*plugin.name, plugin.at_most), ("licences", Millis(250)));
    assert_eq!(extender.resources, ["example.com/card", "example.com/key"]);
    assert_eq!(extender.unchecked, ["example.com/key"]);
    assert_eq!(extender.at_most, Millis(30_000));
    let weights: Vec<i64> = profile.score.iter().map(|one| one.weight).collect();
    assert_eq!(weights, [1, 3, 2]);
    assert_eq!((profile.reserve.len(), profile.permit.len()), (1, 1));
    let binders = profile.bind.iter().map(|one| one.name());
    assert_eq!(binders.collect::<Vec<_>>(), ["licences", "DefaultBinder"]);
}

#[test]
fn what_plugins_in_other_processes_cannot_be_asked_is_refused() {
    let words = |rest: &str| match read(rest).and_then(|config| config.policy()) {
        Ok(_) => panic!("{rest} is taken"),
        Err(error) => error.to_string(),
    };
    let plugin = |more: &str| format!("remotePlugins: [{{name: a, url: 'http://h/', {more}}}]\n");
    let extender = |more: &str| format!("extenders: [{{urlPrefix: 'http://h/', {more}}}]\n");
    let twice = "{name: a, url: 'http://h/', points: [Filter]}";
    for (rest, wanted) in [
        (plugin("points: []"), "the list is empty"),
        (
            plugin("points: [Filter, Filter]"),
            "\"Filter\" stands there twice",
        ),
        (plugin("points: [QueueSort]"), "QueueSort"),
        (
            plugin("points: [Bind]") + &extender("bindVerb: b"),
            "extenders[0].bindVerb: another one binds already",
        ),
        (
            plugin("points: [Unreserve]"),
            "without Reserve there is nothing",
        ),
        (
            plugin("points: [Filter], timeout: 5m"),
            "expected a duration from 10ms to 60s",
        ),
        (
            plugin("points: [Filter], weight: 0"),
            "expected a number from 1 to 100",
        ),
        (
            format!("remotePlugins: [{twice}, {twice}]\n"),
            "\"a\" stands there twice",
        ),
        (
            "remotePlugins: [{name: a b, url: 'http://h/', points: [Filter]}]\n".to_owned(),
            "expected a name",
        ),
        (
            "remotePlugins: [{name: a, url: h, points: [Filter]}]\n".to_owned(),
            "http://",
        ),
        (extender("weight: 1"), "there is nothing to ask"),
        (
            extender("filterVerb: f, preemptVerb: p"),
            "extenders[0].preemptVerb: Muster has whole gangs",
        ),
        (
            extender("filterVerb: f, managedResources: [{name: cpu, ignoredByScheduler: true}]"),
            "extenders[0].managedResources[0].ignoredByScheduler: only of extended resources",
        ),
    ] {
        let said = words(&rest);
        assert!(said.contains(wanted), "{rest}: {said}");
    }
}
