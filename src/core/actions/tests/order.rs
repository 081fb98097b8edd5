//! Who is next, who is put aside, and who is woken by what.

use super::*;
use crate::actions::admit::admit;
use crate::actions::order::order_key;
use muster_model::DEFAULT_QUEUE;

#[test]
fn the_head_of_a_queue_is_the_most_important_then_the_first() {
    let mut world = World::new();
    let first = world.gang("first", 1, 1);
    let second = world.gang("second", 1, 1);
    let important = world.gang_like(
        GangSpec {
            min_available: 1,
            priority: Some(5),
            ..group("important")
        },
        1,
    );
    let (queue, _) = world.state.queues().find(DEFAULT_QUEUE).unwrap();
    assert_eq!(world.agenda.head_of(queue), Some(important));
    let line: Vec<GangId> = world.agenda.line(queue).collect();
    assert_eq!(line, [important, first, second]);
    let (keys, _) = world.act(|cx| (order_key(cx, important), order_key(cx, first)));
    assert!(keys.0 < keys.1);
}

#[test]
fn of_those_who_want_the_same_the_first_is_woken_and_the_next_once_it_is_seated() {
    let mut world = World::new();
    world.node("n", 1);
    let (one, two) = (world.gang("one", 2, 2), world.gang("two", 2, 2));
    assert_eq!(world.allocate().binds.len(), 0);
    assert!(is_parked(world.stage(one)) && is_parked(world.stage(two)));
    world.node("m", 3);
    let (changed, _) = world.take_in();
    world.act(|cx| wake_parked(cx, &changed, false));
    assert!(is_queued(world.stage(one)), "it is the first");
    assert!(is_parked(world.stage(two)), "its turn comes after");
    assert_eq!(
        world.allocate().binds.len(),
        4,
        "and then it is tried at once"
    );
}

#[test]
fn a_change_that_seats_nobody_wakes_nobody() {
    let mut world = World::new();
    let gang = world.gang_like(
        GangSpec {
            min_available: 1,
            ..group("large")
        },
        0,
    );
    let spec = PodSpec {
        ..pod("large-0", Some("large"), 8)
    };
    world.tell(Event::is(spec));
    world.take_in();
    world.allocate();
    world.node("small", 4);
    let (changed, _) = world.take_in();
    world.act(|cx| wake_parked(cx, &changed, false));
    assert!(is_parked(world.stage(gang)));
}

#[test]
fn who_asks_for_room_first_has_it() {
    let mut world = World::new();
    world.node("n", 4);
    let asking = |name: &str, cpus: i64| GangSpec {
        min_available: 1,
        min_resources: vec![("cpu".to_owned(), cpus * 1000)],
        ..group(name)
    };
    let first = world.gang_like(asking("first", 3), 0);
    let second = world.gang_like(asking("second", 2), 0);
    let third = world.gang_like(asking("third", 1), 0);
    assert_eq!(world.act(|cx| admit(cx, first)).0, Ok(()));
    let refused = world.act(|cx| admit(cx, second)).0.unwrap_err();
    assert_eq!(refused.reason, "NotEnoughResources");
    assert_eq!(
        &*refused.message,
        "minResources: 2 cpu wanted, 1 cpu free (3 cpu held for other gangs)"
    );
    assert_eq!(world.act(|cx| admit(cx, third)).0, Ok(()), "it is less");
}
