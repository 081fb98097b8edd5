//! Members that ended well count on when they are gone.

use super::*;
use muster_model::Recalled;

#[test]
fn succeeded_members_count_even_when_they_are_deleted() {
    let mut story = Story::new();
    story.node("n", 2);
    story.group("g", 2);
    let first = story.pod("p0", Some("g"));
    story.pod("p1", Some("g"));
    story.run();
    let ended = PodSpec {
        phase: PodPhase::Succeeded,
        node: Some("n".into()),
        ..pod("p0", Some("g"), 1)
    };
    story.submit(ended);
    story.tell(Event::Gone(ObjectKey::Pod(first)));
    story.step();
    story.pass(60_000);
    assert_eq!(story.step().1, []);
    assert_eq!(story.status("g").succeeded, 1);
}

#[test]
fn a_podgroup_made_again_under_its_name_has_nothing_of_the_former_one() {
    let mut story = Story::new();
    story.node("n", 4);
    let of_uid = |uid: &str| GangSpec {
        uid: uid.into(),
        min_available: 4,
        ..group("g")
    };
    story.define(of_uid("former"));
    for name in ["p0", "p1", "p2", "p3"] {
        story.pod(name, Some("g"));
    }
    assert_eq!(story.run().len(), 4);
    for name in ["p0", "p1", "p2"] {
        let ended = PodSpec {
            phase: PodPhase::Succeeded,
            node: Some("n".into()),
            ..pod(name, Some("g"), 1)
        };
        let key = story.submit(ended);
        story.tell(Event::Gone(ObjectKey::Pod(key)));
    }
    // The last one takes its time to leave; meanwhile the PodGroup goes and comes, seen as one change.
    story.submit(PodSpec {
        terminating: true,
        node: Some("n".into()),
        ..pod("p3", Some("g"), 1)
    });
    story.step();
    story.define(of_uid("later"));
    story.pod("q0", Some("g"));
    story.pod("q1", Some("g"));
    assert_eq!(story.binds(), []);
    let status = story.status("g");
    assert_eq!((status.succeeded, status.phase), (0, GangPhase::Scheduling));
}

/// A gang whose status, as the process before wrote it, says that so many have succeeded.
fn after_a_restart(succeeded: u32, mins: &[(&str, u32)]) -> Story {
    let mut story = Story::new();
    story.node("n", 8);
    let subgroups = mins.iter().filter(|(name, _)| !name.is_empty());
    let subgroups = subgroups.map(|(name, min)| SubgroupSpec {
        name: (*name).into(),
        min: *min,
        ..SubgroupSpec::default()
    });
    story.define(GangSpec {
        min_available: mins.iter().map(|(_, min)| min).sum(),
        subgroups: subgroups.collect(),
        recalled: who_succeeded(succeeded),
        ..group("g")
    });
    story
}

fn who_succeeded(succeeded: u32) -> Recalled {
    Recalled {
        succeeded,
        ..Recalled::default()
    }
}

fn found(story: &mut Story, name: &str, subgroup: &str, phase: PodPhase) {
    let subgroup = Some(subgroup.to_owned()).filter(|name| !name.is_empty());
    story.submit(PodSpec {
        node: Some("n".into()),
        bound_at: Some(Time::ZERO),
        subgroup,
        phase,
        ..pod(name, Some("g"), 1)
    });
}

/// Its numbers of those that hold nodes and that succeeded, and whether anybody had to go in an hour.
fn an_hour_later(story: &mut Story) -> (u32, u32, bool) {
    let mut went = false;
    for _ in 0..60 {
        went |= !story.step().1.is_empty();
        story.pass(60_000);
    }
    let status = story.status("g");
    (status.bound, status.succeeded, went)
}

#[test]
fn a_process_that_begins_counts_who_ended_well_and_is_gone() {
    let mut story = after_a_restart(2, &[("", 4)]);
    found(&mut story, "p2", "", PodPhase::Running);
    found(&mut story, "p3", "", PodPhase::Running);
    assert_eq!(an_hour_later(&mut story), (2, 2, false));
}

/// A PodGroup of Volcano's that is ours by its pods alone, told before them.
fn a_volcano_group_before_its_pods(succeeded: u32) -> Story {
    let mut story = Story::new();
    story.node("n", 8);
    story.define(GangSpec {
        source: Source::Volcano,
        min_available: 4,
        recalled: who_succeeded(succeeded),
        ..group("g")
    });
    story
}

#[test]
fn a_group_that_is_ours_by_its_pods_alone_is_read_before_them_and_counts_them_too() {
    let mut story = a_volcano_group_before_its_pods(2);
    found(&mut story, "p2", "", PodPhase::Running);
    found(&mut story, "p3", "", PodPhase::Running);
    assert_eq!(an_hour_later(&mut story), (2, 2, false));
}

#[test]
fn a_group_that_becomes_ours_later_is_new() {
    let mut story = a_volcano_group_before_its_pods(2);
    story.step();
    found(&mut story, "p2", "", PodPhase::Running);
    found(&mut story, "p3", "", PodPhase::Running);
    assert_eq!(an_hour_later(&mut story), (2, 0, true));
}

#[test]
fn who_ended_well_and_is_still_there_is_not_counted_twice() {
    let mut story = after_a_restart(2, &[("", 4)]);
    found(&mut story, "p0", "", PodPhase::Succeeded);
    found(&mut story, "p1", "", PodPhase::Succeeded);
    found(&mut story, "p3", "", PodPhase::Running);
    assert_eq!(an_hour_later(&mut story), (1, 2, true));
}

#[test]
fn who_is_gone_was_of_the_subgroup_that_lacks_members() {
    let mut story = after_a_restart(3, &[("head", 1), ("workers", 4)]);
    found(&mut story, "head", "head", PodPhase::Running);
    found(&mut story, "w3", "workers", PodPhase::Running);
    assert_eq!(an_hour_later(&mut story), (2, 3, false));
    // One that is lost now is lacking.
    story.tell(Event::Gone(ObjectKey::Pod(pod("w3", Some("g"), 1).key)));
    assert_eq!(an_hour_later(&mut story), (1, 3, true));
}

#[test]
fn a_gang_that_ended_and_of_which_nobody_is_left_claims_nothing() {
    for (succeeded, free) in [(1, true), (0, false)] {
        let mut story = Story::new();
        story.node("n", 8);
        story.define(GangSpec {
            min_available: 1,
            min_resources: [("cpu".to_owned(), 8_000)].into(),
            recalled: who_succeeded(succeeded),
            ..group("g")
        });
        story.step();
        story.pod("other", None);
        assert_eq!(!story.binds().is_empty(), free);
    }
}

#[test]
fn what_a_status_says_that_cannot_be_does_no_harm() {
    let mut story = after_a_restart(u32::MAX, &[("head", 1), ("workers", 2)]);
    found(&mut story, "w0", "workers", PodPhase::Running);
    assert_eq!(an_hour_later(&mut story), (1, 3, false));
}
