//! What a gang that holds something is granted, and what it only asks for.

use super::*;
use muster_model::{GrantedTerms, LetIn, Lifetime, QueueSpec, Recalled};

/// Eight CPUs, of which each of two queues has a share of four and no more for ever.
fn halves(story: &mut Story) {
    story.node("n", 8);
    for name in ["a", "b"] {
        story.tell(Event::is(QueueSpec {
            name: name.into(),
            uid: name.into(),
            over_share: 1_000,
            ..QueueSpec::default()
        }));
    }
}

fn of_queue(name: &str, queue: &str, lifetime: Option<u64>) -> GangSpec {
    GangSpec {
        min_available: 1,
        queue: Some(queue.into()),
        lifetime: lifetime.map(Millis),
        ..group(name)
    }
}

/// A pod of a gang that is on a node already.
fn on_the_node(name: &str, cpus: i64) -> PodSpec {
    PodSpec {
        node: Some("n".into()),
        phase: PodPhase::Running,
        bound_at: Some(Time::ZERO),
        ..pod(name, Some(name), cpus)
    }
}

/// What a status keeps that says this.
fn kept(granted: Option<GrantedTerms>) -> Recalled {
    Recalled {
        granted,
        ..Recalled::default()
    }
}

fn granted(story: &Story, name: &str) -> (String, Lifetime) {
    let terms = story.status(name).granted.unwrap();
    (terms.queue, terms.lifetime)
}

/// What its condition `Granted` says, if it has one.
fn refusal(story: &Story, name: &str) -> Option<String> {
    let mut conditions = story.status(name).conditions.into_iter();
    let found = conditions.find(|one| one.kind == "Granted")?;
    assert!(!found.status);
    Some(format!("{}: {}", found.reason, found.message))
}

#[test]
fn a_pod_that_brings_its_node_is_protected_as_far_as_its_queue_would_have_let_it_start() {
    let mut story = Story::new();
    halves(&mut story);
    story.step();
    for (name, cpus) in [("within", 4), ("beyond", 2)] {
        story.define(of_queue(name, "a", None));
        story.submit(on_the_node(name, cpus));
        story.step();
    }
    let zero = Lifetime::Limited(Millis(0));
    assert_eq!(granted(&story, "within"), ("a".into(), Lifetime::Unlimited));
    assert_eq!(granted(&story, "beyond"), ("a".into(), zero));
    assert_eq!(
        refusal(&story, "beyond").unwrap(),
        "QueueShare: it asks for an unlimited lifetime, and runs on with a lifetime of 0s: the flow of queue a \
         would be 6 cores' worth, and gangs with an unlimited lifetime may raise it to 4"
    );
    // Once there is more to share it has it, at once.
    story.node("m", 8);
    story.step();
    assert_eq!(granted(&story, "beyond"), ("a".into(), Lifetime::Unlimited));
    assert_eq!(refusal(&story, "beyond"), None);
}

#[test]
fn a_process_that_begins_finds_who_runs_on_the_terms_that_the_status_says() {
    let lent = Some(GrantedTerms {
        queue: "b".into(),
        lifetime: Lifetime::Limited(Millis(0)),
    });
    let mut story = Story::new();
    halves(&mut story);
    for (name, granted) in [("edited", lent.clone()), ("silent", None)] {
        story.define(GangSpec {
            recalled: kept(granted),
            ..of_queue(name, "a", None)
        });
        story.submit(on_the_node(name, 4));
    }
    story.step();
    assert_eq!(granted(&story, "silent"), ("a".into(), Lifetime::Unlimited));
    let zero = Lifetime::Limited(Millis(0));
    assert_eq!(granted(&story, "edited"), ("b".into(), zero));
    let words = refusal(&story, "edited").unwrap();
    let says = "it asks for queue a and an unlimited lifetime, and runs on in queue b with a lifetime of 0s";
    assert!(words.contains(says), "{words}");
    // What a status says later is what this process said, or nobody.
    story.define(GangSpec {
        recalled: kept(lent),
        ..of_queue("silent", "a", None)
    });
    story.step();
    assert_eq!(granted(&story, "silent"), ("a".into(), Lifetime::Unlimited));
    // When it has ended it waits for what it asks for.
    story.tell(Event::Gone(ObjectKey::Pod(pod("edited", None, 4).key)));
    story.step();
    assert_eq!(story.status("edited").granted, None);
    assert_eq!(refusal(&story, "edited"), None);
}

#[test]
fn a_lifetime_is_made_longer_if_the_budget_has_that_and_shorter_at_once() {
    let mut story = Story::new();
    halves(&mut story);
    // Six CPUs for half an hour: an hour is charged of the four that there are.
    story.define(of_queue("runs", "a", Some(1_800_000)));
    story.submit(pod("runs", Some("runs"), 6));
    assert_eq!(story.run().len(), 1);
    let hours = |count: u64| Lifetime::Limited(Millis(count * 3_600_000));
    for (asked, has) in [(2, 2), (100, 2), (1, 1)] {
        story.define(of_queue("runs", "a", Some(asked * 3_600_000)));
        story.step();
        assert_eq!(granted(&story, "runs").1, hours(has), "{asked} hours");
        let words = refusal(&story, "runs");
        let refused = words.is_some_and(|words| words.starts_with("QueueBudget: "));
        assert_eq!(refused, asked != has, "{asked} hours");
    }
}

/// Three of a gang that run on a node of eight, in a queue with this limit, with what its status says.
fn found_running(limit: i64, let_in: Option<LetIn>, spec: GangSpec) -> Story {
    let mut story = Story::new();
    story.limited(limit);
    story.define(GangSpec {
        queue: Some("q".into()),
        recalled: Recalled {
            granted: let_in.is_some().then(|| GrantedTerms {
                queue: "q".into(),
                lifetime: Lifetime::Unlimited,
            }),
            let_in,
            succeeded: 0,
            ..Recalled::default()
        },
        ..spec
    });
    for index in 0..3 {
        story.submit(PodSpec {
            gang: pod("x", Some("runs"), 1).gang,
            ..on_the_node(&format!("runs{index}"), 1)
        });
    }
    story
}

fn with_minimum(min_available: u32) -> LetIn {
    LetIn {
        min_available,
        ..LetIn::default()
    }
}

#[test]
fn a_minimum_that_was_raised_is_given_by_the_queue_also_after_a_change_of_leader() {
    for (let_in, starts) in [
        (None, 1),
        (Some(with_minimum(4)), 1),
        (Some(with_minimum(2)), 0),
    ] {
        let raised = GangSpec {
            min_available: 4,
            ..group("runs")
        };
        let mut story = found_running(3, let_in.clone(), raised);
        story.pod("runs3", Some("runs"));
        assert_eq!(story.step().0.len(), starts, "{let_in:?}");
    }
}

#[test]
fn resources_that_were_raised_keep_no_more_also_after_a_change_of_leader() {
    let cpus = |count: i64| vec![("cpu".to_owned(), count * 1_000)];
    let was_let_in_on = |count: i64| LetIn {
        min_available: 1,
        min_resources: cpus(count),
    };
    let all = [
        (None, 0),
        (Some(was_let_in_on(3)), 0),
        (Some(was_let_in_on(2)), 1),
        (Some(with_minimum(1)), 2),
    ];
    for (let_in, may_go) in all {
        let raised = GangSpec {
            min_available: 1,
            min_resources: cpus(3),
            ..group("runs")
        };
        let mut story = found_running(100, let_in.clone(), raised);
        story.step();
        let said = story.status("runs").let_in.unwrap();
        let known = let_in.clone().unwrap_or_else(|| was_let_in_on(3));
        assert_eq!(said, known, "{let_in:?}");
        // The node has five more.
        story.define(GangSpec {
            queue: Some("q".into()),
            min_available: 7,
            ..group("comes")
        });
        for index in 0..7 {
            story.pod(&format!("comes{index}"), Some("comes"));
        }
        let evicted = story.step().1.len();
        let enough = usize::from(may_go >= 2) * 2;
        assert_eq!(evicted, enough, "{let_in:?}");
    }
}
