//! Who may have to go for a gang, in which order, and how little of it is asked for.

use super::*;
use crate::actions::given::Given;
use crate::actions::preempt::make_room;
use muster_model::EvictCause;

/// One queue: `large` has two pods more than it needs, `low` and `lower` are less important than who
/// comes, and `peer` is not.
fn world() -> World {
    let mut world = World::new();
    world.node("n", 8);
    for (name, priority, min, pods) in [
        ("large", 0, 1, 3),
        ("lower", -2, 2, 2),
        ("low", -1, 2, 2),
        ("peer", 5, 1, 1),
    ] {
        let spec = GangSpec {
            min_available: min,
            priority: Some(priority),
            ..group(name)
        };
        world.gang_like(spec, pods);
    }
    assert_eq!(world.run(), 8);
    world
}

/// Whom a gang of so many pods, more important than most, has evicted.
fn evicted_for(world: &mut World, pods: u32) -> Vec<String> {
    let spec = GangSpec {
        min_available: pods,
        priority: Some(5),
        ..group("new")
    };
    let gang = world.gang_like(spec, pods);
    let orders = world.allocate();
    assert!(orders.binds.is_empty());
    assert!(is_parked(world.stage(gang)));
    let evictions = orders.evictions.iter();
    let mut names: Vec<String> = evictions
        .inspect(|evict| {
            assert_eq!(evict.cause, EvictCause::Preemption);
            assert_eq!(evict.beneficiary, Some(key("new")));
        })
        .map(|evict| evict.pod.name.clone())
        .collect();
    names.sort();
    names
}

#[test]
fn surplus_goes_first_and_the_latest_of_it() {
    assert_eq!(evicted_for(&mut world(), 1), ["large-2"]);
    assert_eq!(evicted_for(&mut world(), 2), ["large-1", "large-2"]);
}

#[test]
fn whole_gangs_go_next_the_least_important_first_and_no_part_of_one() {
    let gone = evicted_for(&mut world(), 4);
    assert_eq!(gone, ["large-1", "large-2", "lower-0", "lower-1"]);
}

/// Three are needed: a gang of two and one of the two that are beyond their minimum.
#[test]
fn who_is_not_in_the_way_after_all_stays() {
    let gone = evicted_for(&mut world(), 3);
    assert_eq!(gone.len(), 3, "{gone:?}");
    assert!(gone.contains(&"lower-0".to_owned()) && gone.contains(&"lower-1".to_owned()));
}

#[test]
fn nobody_goes_where_all_who_may_are_too_few() {
    assert!(evicted_for(&mut world(), 8).is_empty(), "the peer stays");
}

#[test]
fn what_was_asked_once_is_not_asked_again_while_it_leaves() {
    let mut world = world();
    assert_eq!(evicted_for(&mut world, 2).len(), 2);
    let gang = world.id("new");
    let (why, orders) = world.act(|cx| make_room(cx, gang, &mut Given::default()));
    assert!(orders.evictions.is_empty());
    assert_eq!(why.unwrap().unwrap().reason, "Preempting");
    assert!(world.claims.nominated.contains(&gang));
}
