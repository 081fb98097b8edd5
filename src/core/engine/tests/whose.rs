//! What is not ours is left alone: no word, no claim, no place in a queue.

use super::*;
use muster_model::explanation::NotOurs;
use muster_model::{NamespaceSpec, Source};

/// A PodGroup of Volcano's for two, which asks for three CPUs.
fn volcanos(name: &str) -> GangSpec {
    GangSpec {
        source: Source::Volcano,
        min_available: 2,
        min_resources: vec![("cpu".to_owned(), 3000)],
        ..group(name)
    }
}

/// A pod of Volcano's scheduler in a group.
fn theirs(name: &str, group: &str) -> PodSpec {
    PodSpec {
        ours: false,
        other_scheduler: "volcano".into(),
        ..pod(name, Some(group), 1)
    }
}

/// What a plan says on PodGroups, by name; and of which it falls silent, by uid.
fn said(plan: &Plan) -> Vec<String> {
    let words = plan.effects.iter().filter_map(|effect| match effect {
        Effect::GangStatus(status) => {
            Some(format!("{} {}", status.gang.name, status.phase.as_str()))
        }
        Effect::GangSilent(_, uid) => Some(format!("silent {uid}")),
        _ => None,
    });
    words.collect()
}

impl Story {
    fn say(&mut self) -> Vec<String> {
        let plan = self.later(0);
        self.scheduler.audit().unwrap();
        said(&plan)
    }

    fn delete(&mut self, spec: &PodSpec) {
        self.tell(Event::Gone(ObjectKey::Pod(spec.key.clone())));
    }

    fn claim_all(&mut self, claims: bool) {
        self.tell(Event::is(NamespaceSpec {
            name: "a".into(),
            claims,
            ..NamespaceSpec::default()
        }));
    }
}

#[test]
fn another_schedulers_group_claims_nothing_and_nothing_is_said_of_it() {
    let mut story = Story::new();
    story.node("n", 4);
    story.define(volcanos("v"));
    assert_eq!(story.say(), [""; 0]);
    story.submit(theirs("v-0", "v"));
    story.group("g", 4);
    for index in 0..4 {
        story.pod(&format!("g-{index}"), Some("g"));
    }
    assert_eq!(story.run().len(), 4);
    assert!(story.scheduler.gang_status(&key("v")).is_none());
    assert_eq!(story.scheduler.stats().gangs.iter().sum::<u32>(), 1);
}

#[test]
fn news_of_others_costs_no_cycle() {
    let mut story = Story::new();
    story.node("n", 4);
    story.later(0);
    story.define(volcanos("v"));
    story.submit(theirs("v-0", "v"));
    story.define(GangSpec {
        min_available: 5,
        ..volcanos("v")
    });
    assert!(!story.scheduler.wants_cycle());
}

#[test]
fn a_group_without_pods_is_ours_where_we_stand_in_for_its_scheduler() {
    let mut story = Story::new();
    story.node("n", 4);
    story.define(GangSpec {
        stands_in: true,
        ..volcanos("v")
    });
    assert_eq!(story.say(), ["v Inqueue"]);
    let pod = theirs("v-0", "v");
    story.submit(pod.clone());
    assert_eq!(story.say(), ["silent group-v"]);
    assert!(story.scheduler.gang_status(&key("v")).is_none());
    story.delete(&pod);
    assert_eq!(story.say(), ["v Inqueue"]);
    story.define(volcanos("v"));
    assert_eq!(story.say(), ["silent group-v"]);
}

#[test]
fn a_namespace_claims_its_groups_before_they_have_pods() {
    let mut story = Story::new();
    story.node("n", 4);
    story.define(volcanos("v"));
    story.define(volcanos("w"));
    story.submit(theirs("w-0", "w"));
    story.claim_all(true);
    assert_eq!(story.say(), ["v Inqueue"]);
    story.claim_all(false);
    assert_eq!(story.say(), ["silent group-v"]);
}

#[test]
fn the_first_pod_of_ours_makes_a_group_ours_and_the_last_gives_it_up() {
    let mut story = Story::new();
    story.node("n", 1);
    story.define(volcanos("v"));
    story.say();
    let spec = pod("v-0", Some("v"), 1);
    story.submit(spec.clone());
    assert_eq!(story.say(), ["v Pending"]);
    story.delete(&spec);
    assert_eq!(story.say(), ["silent group-v"]);
    // Nothing follows, whatever time passes.
    assert_eq!(said(&story.later(600_000)), [""; 0]);
    story.submit(spec);
    assert_eq!(story.say(), ["v Pending"]);
}

#[test]
fn room_that_was_set_aside_is_free_once_a_group_is_not_ours() {
    let mut story = Story::new();
    story.node("n", 4);
    story.define(GangSpec {
        stands_in: true,
        ..volcanos("v")
    });
    story.step();
    story.define(GangSpec {
        min_resources: vec![("cpu".to_owned(), 3000)],
        ..group("g")
    });
    story.step();
    assert_eq!(story.status("g").phase, GangPhase::Pending);
    story.submit(theirs("v-0", "v"));
    story.step();
    assert_eq!(story.status("g").phase, GangPhase::Inqueue);
}

#[test]
fn who_is_counted_out_says_so_on_the_pods_of_ours() {
    let mut story = Story::new();
    story.node("n", 4);
    story.group("g", 2);
    story.pod("g-0", Some("g"));
    story.submit(theirs("g-1", "g"));
    story.step();
    let words =
        "1 of 2 pods exist; pod g-1 of this group names scheduler volcano and is left to it";
    let plan = story.later(2_000);
    assert_eq!(told(&plan), [words]);
    story.delete(&theirs("g-1", "g"));
    story.step();
    let plan = story.later(60_000);
    assert_eq!(told(&plan), ["1 of 2 pods exist"]);
}

#[test]
fn another_podgroup_of_the_same_name_that_counts_silences_the_first() {
    let mut story = Story::new();
    story.node("n", 4);
    story.pod("v-0", Some("v"));
    story.define(volcanos("v"));
    story.say();
    story.define(GangSpec {
        min_available: 1,
        uid: "ours".into(),
        ..group("v")
    });
    assert_eq!(story.say(), ["silent group-v", "v Scheduling"]);
    // The other way round nothing was said of the second.
    story.define(GangSpec {
        min_available: 3,
        ..volcanos("v")
    });
    assert_eq!(story.say(), [""; 0]);
}

#[test]
fn a_group_that_is_not_ours_is_explained_in_one_line() {
    let mut story = Story::new();
    story.define(volcanos("v"));
    let explained = |story: &Story| {
        let key = story.scheduler.gang_named("a", "v").unwrap();
        let found = story.scheduler.explain_gang(&key, story.now, 1);
        found.and_then(|one| one.not_ours)
    };
    let not_ours = |scheduler: &str, by_pods| {
        let scheduler = scheduler.to_owned();
        Some(NotOurs { scheduler, by_pods })
    };
    assert_eq!(explained(&story), not_ours("volcano", false));
    story.submit(PodSpec {
        other_scheduler: "other".into(),
        ..theirs("v-0", "v")
    });
    assert_eq!(explained(&story), not_ours("other", true));
    story.pod("v-1", Some("v"));
    assert_eq!(explained(&story), None);
}

#[test]
fn a_group_that_asks_for_another_lifetime_in_a_queue_that_is_gone_can_be_given_up() {
    let mut story = Story::new();
    story.node("n", 1);
    story.tell(Event::is(QueueSpec {
        name: "team".into(),
        default_lifetime: Some(Millis(2_000)),
        ..QueueSpec::default()
    }));
    story.define(GangSpec {
        min_available: 1,
        min_resources: Vec::new(),
        queue: Some("team".to_owned()),
        ..volcanos("v")
    });
    let spec = pod("v-0", Some("v"), 1);
    story.submit(spec.clone());
    assert_eq!(story.run().len(), 1);
    // The lifetime was that of its queue; it would like to have none now.
    story.tell(Event::Gone(ObjectKey::Queue("team".into())));
    story.say();
    story.delete(&spec);
    assert_eq!(story.say(), ["silent group-v"]);
}
