//! A place in the future for the head of a queue, and who may pass it.

use super::*;
use crate::actions::claims::{Claimant, Stay, Views};
use crate::actions::order::order_key;
use crate::actions::reservation;
use crate::state::{Id, View};
use muster_model::resources::Dimension;

/// `runs` holds six of ten CPUs for a minute, and `head` waits for eight.
fn world() -> (World, GangId) {
    let mut world = World::new();
    world.node("n", 10);
    let spec = |name: &str, min, seconds| GangSpec {
        min_available: min,
        lifetime: Some(Millis::from_secs(seconds)),
        ..group(name)
    };
    world.gang_like(spec("runs", 6, 60), 6);
    assert_eq!(world.run(), 6);
    world.pass(10_000);
    let head = world.gang_like(spec("head", 8, 600), 8);
    assert_eq!(world.allocate().binds.len(), 0);
    (world, head)
}

#[test]
fn the_head_of_a_queue_has_a_place_when_those_before_it_end() {
    let (world, head) = world();
    let reserved = &world.claims.reserved[&head];
    assert_eq!(reserved.at, Some(Time::ZERO + Millis::from_secs(60)));
    let kept = reserved.kept();
    assert_eq!(
        kept.get(Dimension::CPU),
        2_000,
        "of the eight, six become free by then"
    );
}

/// What somebody may take who is behind the head.
fn view(world: &mut World, head: GangId, tier: i32, stay: Stay) -> View {
    let (mut key, _) = world.act(|cx| order_key(cx, head));
    (key.arrival, key.gang) = (key.arrival + 1, GangId::from_index(1_000));
    let views = Views {
        reserved: &world.claims.reserved,
        moves: &world.claims.moves,
        now: world.now,
    };
    views.of(Claimant { key, tier, stay })
}

#[test]
fn who_ends_in_time_gives_way_or_stands_higher_may_take_all_and_nobody_else() {
    let (mut world, head) = world();
    let starts = |seconds| Stay::Starts(Some(Millis::from_secs(seconds)));
    assert_eq!(
        view(&mut world, head, 0, starts(50)),
        View::OPEN,
        "it ends at 60 s"
    );
    assert_ne!(view(&mut world, head, 0, starts(51)), View::OPEN);
    assert_ne!(view(&mut world, head, 0, Stay::Starts(None)), View::OPEN);
    assert_eq!(view(&mut world, head, 0, Stay::GivesWay), View::OPEN);
    assert_eq!(view(&mut world, head, 1, Stay::Starts(None)), View::OPEN);
    let grows = |seconds| Stay::Grows(Some(Time::ZERO + Millis::from_secs(seconds)));
    assert_eq!(view(&mut world, head, 0, grows(60)), View::OPEN);
    assert_ne!(view(&mut world, head, 0, grows(61)), View::OPEN);
    assert_ne!(view(&mut world, head, 0, Stay::Grows(None)), View::OPEN);
}

#[test]
fn a_cycle_ends_when_many_were_thought_away_for_places_in_the_future() {
    let (mut world, _) = world();
    let late = world.gang_like(group("late"), 1);
    let (more, orders) = world.act(|cx| {
        cx.orders.thought_away = 100_000;
        allocate(cx)
    });
    assert!(more && orders.attempts == 0, "the next cycle goes on");
    assert!(is_queued(world.stage(late)));
    let (more, orders) = world.act(allocate);
    assert!(!more && orders.attempts == 1);
    // Each search for a place counts.
    let (_, orders) = world.act(|cx| {
        reservation::wake_all(cx);
        allocate(cx)
    });
    assert_eq!(orders.thought_away, 6);
}

#[test]
fn a_reservation_that_is_cancelled_keeps_nothing() {
    let (mut world, head) = world();
    let views = |world: &World| {
        let views = Views {
            reserved: &world.claims.reserved,
            moves: &world.claims.moves,
            now: world.now,
        };
        views.head_of(world.state.queue_of(head))
    };
    assert_eq!(views(&world).map(|key| key.gang), Some(head));
    world.act(|cx| crate::actions::claims::reserved::cancel(cx, head));
    assert_eq!(views(&world), None);
    let (changed, _) = world.take_in();
    assert_eq!(changed.len(), 1, "its node is room again");
}
