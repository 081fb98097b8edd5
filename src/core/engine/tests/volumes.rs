//! Pods with volumes.

use super::*;
use muster_model::{
    AccessModes, Answer, BindingMode, ClaimKey, ClaimRef, ClaimSpec, CsiDriverSpec, CsiNodeSpec,
    Disk, HOSTNAME, Handle, NodeSpec, Operator, PodVolume, Question, Requirement,
    StorageCapacitySpec, StorageClassSpec, Term, VolumeSpec,
};

const ZONE: &str = "topology.kubernetes.io/zone";

impl Story {
    fn store(&mut self, object: impl Into<Object>) {
        self.tell(Event::is(object));
    }

    /// A node with labels, the hostname among them.
    fn host(&mut self, name: &str, labels: &[(&str, &str)]) {
        let all = labels.iter().copied().chain([(HOSTNAME, name)]);
        let labels = all.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let labels = labels.collect();
        self.tell(Event::is(NodeSpec {
            labels,
            ..node(name, 8)
        }));
    }

    fn class(&mut self, name: &str, mode: BindingMode, provisioner: &str) {
        self.store(StorageClassSpec {
            name: name.to_owned(),
            provisioner: provisioner.to_owned(),
            mode,
            topologies: Vec::new(),
        });
    }

    fn claim(&mut self, claim: &ClaimSpec) {
        self.store(claim.clone());
    }

    fn volume(&mut self, volume: &VolumeSpec) {
        self.store(volume.clone());
    }

    /// A pod with volumes.
    fn user(&mut self, name: &str, group: Option<&str>, volumes: &[PodVolume]) -> PodKey {
        self.submit(PodSpec {
            volumes: volumes.to_vec(),
            ..pod(name, group, 1)
        })
    }

    /// One cycle; what it asks outside.
    fn asks(&mut self) -> Vec<Question> {
        let plan = self.scheduler.cycle(self.now);
        self.scheduler.audit().unwrap();
        let asked = plan.effects.into_iter().filter_map(|effect| match effect {
            Effect::Ask(question) => Some(question),
            _ => None,
        });
        asked.collect()
    }

    /// What is said of a pod after a while.
    fn says(&mut self) -> String {
        self.later(0);
        told(&self.later(2_000)).join("; ")
    }
}

fn payload(question: &Question) -> &str {
    question.body.payload()
}

fn claim_key(name: &str) -> ClaimKey {
    ClaimKey {
        namespace: "a".to_owned(),
        name: name.to_owned(),
    }
}

fn claim(name: &str, class: &str) -> ClaimSpec {
    ClaimSpec {
        key: claim_key(name),
        uid: format!("uid-of-{name}"),
        class: class.to_owned(),
        size: Some(10),
        modes: AccessModes::READ_WRITE_ONCE,
        ..ClaimSpec::default()
    }
}

fn bound(name: &str, volume: &str) -> ClaimSpec {
    ClaimSpec {
        volume: volume.to_owned(),
        bind_completed: true,
        ..claim(name, "class")
    }
}

fn on(key: &str, value: &str) -> Option<Vec<Term>> {
    Some(vec![Term {
        labels: vec![Requirement {
            key: key.to_owned(),
            operator: Operator::In,
            values: vec![value.to_owned()],
        }],
        fields: Vec::new(),
    }])
}

fn volume(name: &str, class: &str) -> VolumeSpec {
    VolumeSpec {
        name: name.to_owned(),
        size: 10,
        modes: AccessModes::READ_WRITE_ONCE,
        class: class.to_owned(),
        available: true,
        ..VolumeSpec::default()
    }
}

fn local(name: &str, host: &str) -> VolumeSpec {
    VolumeSpec {
        affinity: on(HOSTNAME, host),
        ..volume(name, "local")
    }
}

fn by_claim(name: &str) -> PodVolume {
    PodVolume::Claim(name.to_owned())
}

fn nodes_of(binds: &[Bind]) -> Vec<&str> {
    binds.iter().map(|bind| bind.node.as_str()).collect()
}

#[test]
fn a_pod_waits_for_its_claim_in_kube_schedulers_words() {
    let mut story = Story::new();
    story.host("n1", &[]);
    story.user("p", None, &[by_claim("c")]);
    let missing = "0/1 nodes are available: persistentvolumeclaim \"c\" not found.";
    assert!(story.says().contains(missing));
    let one = claim("c", "class");
    story.claim(&ClaimSpec {
        deleting: true,
        ..one.clone()
    });
    assert!(
        story
            .says()
            .contains(" persistentvolumeclaim \"c\" is being deleted.")
    );
    story.claim(&ClaimSpec {
        lost: true,
        volume: "v".to_owned(),
        ..one.clone()
    });
    let lost = "persistentvolumeclaim \"c\" bound to non-existent persistentvolume \"v\".";
    assert!(story.says().contains(lost));
    story.claim(&one);
    let unbound = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.";
    assert!(story.says().contains(unbound));
    story.claim(&bound("c", "v"));
    assert!(story.says().contains(" persistentvolume \"v\" not found."));
    story.volume(&volume("v", "class"));
    assert_eq!(nodes_of(&story.binds()), ["n1"]);
}

#[test]
fn a_claim_made_for_a_pod_has_to_be_its_own() {
    let mut story = Story::new();
    story.host("n1", &[]);
    story.user("p", None, &[PodVolume::Ephemeral("p-v".to_owned())]);
    let words =
        "waiting for ephemeral volume controller to create the persistentvolumeclaim \"p-v\".";
    assert!(story.says().contains(words));
    story.volume(&volume("v", "class"));
    story.claim(&bound("p-v", "v"));
    let words = "PVC a/p-v was not created for pod a/p (pod is not owner).";
    assert!(story.says().contains(words));
    story.claim(&ClaimSpec {
        owner: Some("uid-p".to_owned()),
        ..bound("p-v", "v")
    });
    assert_eq!(nodes_of(&story.binds()), ["n1"]);
}

#[test]
fn a_pod_goes_where_its_bound_volume_is() {
    let mut story = Story::new();
    for name in ["n1", "n2", "n3"] {
        story.host(name, &[]);
    }
    story.claim(&bound("c", "v"));
    story.volume(&local("v", "n2"));
    story.user("p", None, &[by_claim("c")]);
    assert_eq!(nodes_of(&story.run()), ["n2"]);
    story.claim(&bound("d", "w"));
    story.volume(&local("w", "elsewhere"));
    story.user("q", None, &[by_claim("d")]);
    let words = "0/3 nodes are available: 3 node(s) didn't match PersistentVolume's node affinity.";
    assert!(story.says().contains(words));
}

#[test]
fn a_volume_is_used_in_its_zones() {
    let mut story = Story::new();
    story.host("n1", &[(ZONE, "a")]);
    story.host("n2", &[("failure-domain.beta.kubernetes.io/zone", "b")]);
    story.host("n3", &[(ZONE, "c")]);
    story.claim(&bound("c", "v"));
    let zones = |value: &str| VolumeSpec {
        labels: [(ZONE.to_owned(), value.to_owned())].into(),
        ..volume("v", "class")
    };
    story.volume(&zones("c__d"));
    story.user("p", None, &[by_claim("c")]);
    assert_eq!(nodes_of(&story.run()), ["n3"]);
    story.volume(&zones("e"));
    story.user("q", None, &[by_claim("c")]);
    let words = "0/3 nodes are available: 3 node(s) had no available volume zone.";
    assert!(story.says().contains(words));
    story.host("n4", &[]);
    assert_eq!(nodes_of(&story.run()), ["n4"]);
}

#[test]
fn a_claim_for_one_pod_is_used_by_one_at_a_time() {
    let mut story = Story::new();
    story.host("n1", &[]);
    story.claim(&ClaimSpec {
        modes: AccessModes::READ_WRITE_ONCE_POD,
        ..bound("c", "v")
    });
    story.volume(&volume("v", "class"));
    story.group("g", 2);
    story.user("g0", Some("g"), &[by_claim("c")]);
    story.user("g1", Some("g"), &[by_claim("c")]);
    assert!(story.run().is_empty(), "members of a gang see each other");
    story.tell(Event::Gone(ObjectKey::Gang(
        key("g"),
        muster_model::Source::Muster,
    )));
    story.group("g", 1);
    assert_eq!(names(&story.run()), ["g0"]);
    story.tell(Event::Gone(ObjectKey::Pod(pod("g0", None, 1).key)));
    assert_eq!(names(&story.run()), ["g1"]);
}

#[test]
fn a_node_attaches_as_many_volumes_of_a_driver_as_it_says() {
    let mut story = Story::new();
    for name in ["n1", "n2"] {
        story.host(name, &[]);
        story.store(CsiNodeSpec {
            name: name.to_owned(),
            drivers: [("driver".to_owned(), Some(2))].into(),
            migrated: [].into(),
        });
    }
    story.group("g", 4);
    for index in 0..5 {
        let (claim, name) = (format!("c{index}"), format!("v{index}"));
        story.claim(&bound(&claim, &name));
        story.volume(&VolumeSpec {
            handle: Some(Handle {
                driver: "driver".to_owned(),
                handle: name.clone(),
                in_tree: None,
            }),
            ..volume(&name, "class")
        });
        story.user(&format!("g{index}"), Some("g"), &[by_claim(&claim)]);
    }
    let binds = story.run();
    let on = |name: &str| binds.iter().filter(|bind| bind.node == name).count();
    assert_eq!((on("n1"), on("n2")), (2, 2));
    story.user("same", None, &[by_claim("c0"), by_claim("c1")]);
    assert_eq!(names(&story.run()), ["same"], "they are attached already");
    let words = "0/2 nodes are available: 2 node(s) exceed max volume count";
    story.user("more", None, &[by_claim("c4")]);
    assert!(story.says().contains(words));
    story.store(CsiNodeSpec {
        name: "n2".to_owned(),
        drivers: [("driver".to_owned(), Some(4))].into(),
        migrated: [].into(),
    });
    assert_eq!(story.run().len(), 2);
}

#[test]
fn a_driver_that_has_to_be_there_is_waited_for() {
    let mut story = Story::new();
    story.host("n1", &[]);
    story.store(CsiDriverSpec {
        name: "driver".to_owned(),
        tracks_capacity: false,
        must_be_installed: true,
    });
    story.claim(&bound("c", "v"));
    story.volume(&VolumeSpec {
        handle: Some(Handle {
            driver: "driver".to_owned(),
            handle: "v".to_owned(),
            in_tree: None,
        }),
        ..volume("v", "class")
    });
    story.user("p", None, &[by_claim("c")]);
    let words = "1 driver CSI driver is not installed on the node.";
    assert!(story.says().contains(words));
    story.store(CsiNodeSpec {
        name: "n1".to_owned(),
        drivers: [("driver".to_owned(), None)].into(),
        migrated: [].into(),
    });
    assert_eq!(nodes_of(&story.run()), ["n1"]);
}

#[test]
fn a_disk_is_mounted_by_one_pod_of_a_node() {
    let mut story = Story::new();
    story.host("n1", &[]);
    story.host("n2", &[]);
    let disk = || {
        PodVolume::Disk(Disk::Gce {
            name: "d".to_owned(),
            read_only: false,
        })
    };
    story.group("g", 2);
    story.user("g0", Some("g"), &[disk()]);
    story.user("g1", Some("g"), &[disk()]);
    let mut nodes = nodes_of(&story.run()).join(" ");
    assert!(["n1 n2", "n2 n1"].contains(&nodes.as_str()), "{nodes}");
    story.user("p", None, &[disk()]);
    nodes = story.says();
    let words = "0/2 nodes are available: 2 node(s) had no available disk";
    assert!(nodes.contains(words), "{nodes}");
}

#[test]
fn pods_with_claims_that_are_alike_are_of_one_shape() {
    let mut story = Story::new();
    story.host("n1", &[]);
    story.class("late", BindingMode::WaitForFirstConsumer, "driver");
    for index in 0..3 {
        let name = format!("c{index}");
        story.claim(&claim(&name, "late"));
        story.user(&format!("p{index}"), Some("g"), &[by_claim(&name)]);
    }
    assert_eq!(story.scheduler.state().shapes().len(), 1);
    story.user("p3", Some("g"), &[by_claim("c0")]);
    assert_eq!(story.scheduler.state().shapes().len(), 2, "one is shared");
}

#[test]
fn there_is_a_volume_for_a_claim_where_one_is_free_or_can_be_made() {
    let mut story = Story::new();
    story.host("n1", &[]);
    story.host("n2", &[(ZONE, "b")]);
    story.class(
        "local",
        BindingMode::WaitForFirstConsumer,
        "kubernetes.io/no-provisioner",
    );
    story.claim(&claim("c", "local"));
    story.user("p", None, &[by_claim("c")]);
    let words = "2 node(s) didn't find available persistent volumes to bind.";
    assert!(story.says().contains(words));
    let needs = |story: &Story| {
        let state = story.scheduler.state();
        let pod = state.find_pod(&pod("p", None, 1).key).unwrap();
        let needs = state.volumes().needs(pod).unwrap().clone();
        let fits = |name: &str| {
            let node = state.nodes().find(name).unwrap();
            state.volumes_unmet(&needs, None, node).is_nothing()
        };
        (fits("n1"), fits("n2"))
    };
    story.volume(&VolumeSpec {
        size: 9,
        ..local("small", "n1")
    });
    assert_eq!(needs(&story), (false, false));
    story.volume(&local("v", "n2"));
    assert_eq!(needs(&story), (false, true));
    story.volume(&VolumeSpec {
        claim: Some(ClaimRef {
            key: claim_key("another"),
            uid: String::new(),
        }),
        ..local("v", "n2")
    });
    assert_eq!(needs(&story), (false, false));
    story.store(StorageClassSpec {
        name: "local".to_owned(),
        provisioner: "driver".to_owned(),
        mode: BindingMode::WaitForFirstConsumer,
        topologies: on(ZONE, "b").unwrap(),
    });
    assert_eq!(needs(&story), (false, true));
    story.store(CsiDriverSpec {
        name: "driver".to_owned(),
        tracks_capacity: true,
        must_be_installed: false,
    });
    assert_eq!(needs(&story), (false, false));
    let capacity = |size| {
        Object::from(StorageCapacitySpec {
            key: claim_key("capacity"),
            class: "local".to_owned(),
            nodes: Some(Vec::new()),
            capacity: Some(size),
            largest: None,
        })
    };
    story.store(capacity(9));
    assert!(story.says().contains("did not have enough free storage"));
    story.store(capacity(10));
    assert_eq!(needs(&story), (false, true));
}

#[test]
fn members_of_a_gang_do_not_take_the_same_volume() {
    let mut story = Story::new();
    story.host("n1", &[]);
    story.host("n2", &[]);
    story.class("local", BindingMode::WaitForFirstConsumer, "");
    for name in ["c0", "c1"] {
        story.claim(&claim(name, "local"));
    }
    story.group("g", 2);
    story.user("g0", Some("g"), &[by_claim("c0")]);
    story.user("g1", Some("g"), &[by_claim("c1")]);
    story.volume(&local("v1", "n1"));
    let says = |story: &mut Story| {
        story.later(2_000);
        story.why("g")
    };
    let words = "didn't find available persistent volumes to bind";
    assert!(says(&mut story).contains(words));
    story.volume(&local("v2", "n1"));
    let asked = story.asks();
    let tasks: Vec<&str> = asked.iter().map(payload).collect();
    let of = |volume: &str, index: u8| format!("reserve {volume} a c{index} uid-of-c{index}");
    assert_eq!(tasks, [format!("{}\n{}", of("v1", 0), of("v2", 1))]);
    assert!(story.binds().is_empty(), "not before all are bound");
    story.claim(&claim("c2", "local"));
    story.user("other", None, &[by_claim("c2")]);
    assert!(story.asks().is_empty(), "what was chosen is taken");
    story.answer(&asked[0], Answer::Yes(String::new()));
    assert_eq!(nodes_of(&story.run())[..2], ["n1", "n1"]);
}

#[test]
fn where_a_claim_is_not_bound_no_member_is_and_the_gang_looks_again() {
    let mut story = Story::new();
    story.host("n1", &[]);
    story.class("late", BindingMode::WaitForFirstConsumer, "driver");
    story.claim(&claim("c", "late"));
    story.group("g", 2);
    story.user("g0", Some("g"), &[by_claim("c")]);
    story.pod("g1", Some("g"));
    let asked = story.asks();
    assert_eq!(payload(&asked[0]), "select n1 a c uid-of-c");
    let message = "provisioning failed for PVC \"c\"".to_owned();
    story.answer(&asked[0], Answer::No { message });
    assert!(story.binds().is_empty());
    let why = story.why("g");
    for word in [
        "g0",
        "n1",
        "VolumeBinding",
        "provisioning failed for PVC \"c\"",
    ] {
        assert!(why.contains(word), "{why}");
    }
    story.pass(600_000);
    let again = story.asks();
    story.claim(&ClaimSpec {
        selected_node: Some("n1".to_owned()),
        ..claim("c", "late")
    });
    story.volume(&VolumeSpec {
        affinity: on(HOSTNAME, "n1"),
        ..volume("made", "late")
    });
    story.claim(&ClaimSpec {
        volume: "made".to_owned(),
        bind_completed: true,
        ..claim("c", "late")
    });
    story.answer(&again[0], Answer::Yes(String::new()));
    assert_eq!(story.run().len(), 2);
}

#[test]
fn claims_that_are_not_bound_in_time_are_named() {
    let mut story = Story::new();
    story.host("n1", &[]);
    story.class("late", BindingMode::WaitForFirstConsumer, "driver");
    let claims = ["c0", "c1", "c2", "c3", "c4"];
    for name in claims {
        story.claim(&claim(name, "late"));
    }
    story.group("g", 1);
    story.user("p", Some("g"), &claims.map(by_claim));
    assert_eq!(story.asks().len(), 1);
    let named = "(claims a/c0, a/c1, a/c2 and 2 others)";
    let held = format!(
        "Held: places are found; they wait for what PreBind plugin VolumeBinding asked about pod p on node n1 {named}"
    );
    story.says();
    assert_eq!(story.why("g"), held);
    story.later(598_000);
    let late = "NoAnswer: pod p on node n1: VolumeBinding did not answer at PreBind within 600s";
    assert_eq!(story.why("g"), format!("{late} {named}"));
}

#[test]
fn members_that_share_a_claim_are_where_its_volume_is_reached() {
    let mut story = Story::new();
    story.host("n1", &[]);
    story.host("n2", &[]);
    story.class("late", BindingMode::WaitForFirstConsumer, "driver");
    story.claim(&claim("c", "late"));
    story.group("g", 2);
    for name in ["g0", "g1"] {
        story.submit(PodSpec {
            volumes: vec![by_claim("c")],
            ..pod(name, Some("g"), 5)
        });
    }
    let asked = story.asks();
    let [question] = &asked[..] else {
        panic!("{asked:?}");
    };
    let [one, other] = question.about.places() else {
        panic!("{question:?}");
    };
    assert_ne!(one.node, other.node, "they do not fit on one node");
    let tasks = payload(question).lines().count();
    assert_eq!(tasks, 1, "its volume is made once, for one node");
    story.volume(&volume("made", "late"));
    story.claim(&ClaimSpec {
        volume: "made".to_owned(),
        bind_completed: true,
        ..claim("c", "late")
    });
    story.answer(question, Answer::Yes(String::new()));
    assert_eq!(story.run().len(), 2);
}

#[test]
fn room_for_new_volumes_is_promised_once() {
    let mut story = Story::new();
    story.host("n1", &[]);
    story.class("late", BindingMode::WaitForFirstConsumer, "driver");
    story.store(CsiDriverSpec {
        name: "driver".to_owned(),
        tracks_capacity: true,
        must_be_installed: false,
    });
    story.store(StorageCapacitySpec {
        key: claim_key("capacity"),
        class: "late".to_owned(),
        nodes: Some(Vec::new()),
        capacity: Some(15),
        largest: None,
    });
    for name in ["c0", "c1"] {
        story.claim(&claim(name, "late"));
    }
    story.group("g", 2);
    story.user("g0", Some("g"), &[by_claim("c0")]);
    story.user("g1", Some("g"), &[by_claim("c1")]);
    story.later(0);
    assert!(story.why("g").contains("did not have enough free storage"));
}

#[test]
fn a_pod_with_volumes_may_be_told_of_before_its_node() {
    let mut story = Story::new();
    story.claim(&bound("c", "v"));
    story.volume(&volume("v", "class"));
    story.submit(PodSpec {
        node: Some("n1".to_owned()),
        volumes: vec![by_claim("c")],
        ..pod("p", None, 1)
    });
    story.host("n1", &[]);
    story.tell(Event::Gone(ObjectKey::Pod(pod("p", None, 1).key)));
    let node = story.scheduler.state().nodes().find("n1").unwrap();
    assert!(story.scheduler.state().nodes().pods(node).is_empty());
}
