//! Backfill never delays the head of a queue: random days on small clusters.

use super::*;
use muster_model::{QueueOrder, Reservation, Source};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A gang of equal pods that is submitted at some time, and ends so long after it started.
#[derive(Clone, Debug)]
struct Order {
    at_s: u64,
    pods: u32,
    cpus: i64,
    lifetime_s: u64,
    /// It ends so long before its lifetime does.
    early_s: u64,
}

#[derive(Clone, Debug)]
struct Day {
    nodes: Vec<i64>,
    orders: Vec<Order>,
}

fn day(early: bool) -> impl Strategy<Value = Day> {
    let early = if early { 0..40_u64 } else { 0..1_u64 };
    let order = (0..60_u64, 1..4_u32, 1..5_i64, 1..60_u64, early);
    let order = order.prop_map(|(at_s, pods, cpus, lifetime_s, early_s)| Order {
        at_s,
        pods,
        cpus,
        lifetime_s,
        early_s: early_s.min(lifetime_s - 1),
    });
    let nodes = prop::collection::vec(2..7_i64, 1..4);
    let all = (nodes, prop::collection::vec(order, 2..14));
    all.prop_map(|(nodes, mut orders)| {
        orders.sort_by_key(|order| order.at_s);
        Day { nodes, orders }
    })
}

/// What became of the gangs.
#[derive(Debug, Default)]
struct Outcome {
    /// When each started.
    starts: BTreeMap<usize, Time>,
    /// When each was first promised a place, and the times it was promised for.
    promises: BTreeMap<usize, (Time, Vec<Time>)>,
}

fn name(index: usize) -> String {
    format!("g{index:02}")
}

fn rule(story: &mut Story, reservation: Reservation) {
    story.tell(Event::is(QueueSpec {
        uid: "default".into(),
        over_share: 1_000_000,
        excess_budget: Some(u64::MAX),
        order: QueueOrder::Fifo,
        reservation,
        ..QueueSpec::default()
    }));
}

/// Plays a day; from a time on nobody passes the head any more.
fn play(day: &Day, strict_from: Option<Time>) -> Outcome {
    let mut story = Story::new();
    for (index, cpus) in day.nodes.iter().enumerate() {
        story.node(&format!("n{index}"), *cpus);
    }
    rule(&mut story, Reservation::Easy);
    let mut outcome = Outcome::default();
    let mut ends: BTreeMap<(Time, usize), Vec<PodKey>> = BTreeMap::new();
    let mut waiting: Vec<usize> = Vec::new();
    for _ in 0..10_000 {
        while let Some(((at, index), _)) = ends.first_key_value()
            && *at <= story.now
        {
            let index = *index;
            for pod in ends.pop_first().unwrap().1 {
                story.tell(Event::Gone(ObjectKey::Pod(pod)));
            }
            let group = key(&name(index));
            story.tell(Event::Gone(ObjectKey::Gang(group, Source::default())));
        }
        for (index, order) in day.orders.iter().enumerate() {
            if Time(order.at_s * 1_000) == story.now {
                submit(&mut story, index, order);
                waiting.push(index);
            }
        }
        let wake_at = settle(&mut story, day, &mut outcome, &mut ends);
        waiting.retain(|index| !outcome.starts.contains_key(index));
        for index in &waiting {
            if let Some(at) = story.scheduler.estimated_start(&key(&name(*index))) {
                let first = || (story.now, Vec::new());
                let promise = outcome.promises.entry(*index).or_insert_with(first);
                promise.1.push(at);
            }
        }
        if strict_from == Some(story.now) {
            rule(&mut story, Reservation::Strict);
            settle(&mut story, day, &mut outcome, &mut ends);
        }
        let arrivals = day.orders.iter().map(|order| Time(order.at_s * 1_000));
        let ends = ends.keys().map(|(at, _)| *at);
        let next = arrivals
            .chain(ends)
            .chain(wake_at)
            .filter(|at| *at > story.now);
        match next.min().filter(|at| *at < Time(3_600_000)) {
            Some(at) => story.now = at,
            None => break,
        }
    }
    outcome
}

fn submit(story: &mut Story, index: usize, order: &Order) {
    let group_name = name(index);
    story.define(GangSpec {
        min_available: order.pods,
        lifetime: Some(Millis(order.lifetime_s * 1_000)),
        created: story.now,
        ..group(&group_name)
    });
    for pod_index in 0..order.pods {
        let pod_name = format!("{group_name}-{pod_index}");
        story.submit(PodSpec {
            created: story.now,
            ..pod(&pod_name, Some(&group_name), order.cpus)
        });
    }
}

/// Cycles until nothing is left to decide; when the next one is due.
fn settle(
    story: &mut Story,
    day: &Day,
    outcome: &mut Outcome,
    ends: &mut BTreeMap<(Time, usize), Vec<PodKey>>,
) -> Option<Time> {
    loop {
        let plan = story.scheduler.cycle(story.now);
        story.scheduler.audit().unwrap();
        let mut placed = false;
        for effect in plan.effects {
            match effect {
                Effect::Bind(bind) => {
                    placed = true;
                    story.bound(&bind);
                    let index: usize = bind.pod.name[1..3].parse().unwrap();
                    let order = &day.orders[index];
                    let lasts = Millis((order.lifetime_s - order.early_s) * 1_000);
                    outcome.starts.insert(index, story.now);
                    let end = (story.now + lasts, index);
                    ends.entry(end).or_default().push(bind.pod);
                }
                Effect::Evict(evict) => panic!("{evict:?}"),
                _ => {}
            }
        }
        if !placed && !story.scheduler.wants_cycle() {
            return plan.wake_at;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Whoever heads the queue starts no later than if nobody had passed it from then on.
    #[test]
    fn with_backfill_no_head_starts_later_than_with_strict_order(day in day(false)) {
        let easy = play(&day, None);
        for (index, (since, _)) in &easy.promises {
            let strict = play(&day, Some(*since));
            let (with, without) = (easy.starts.get(index), strict.starts.get(index));
            prop_assert!(with.is_some() && with <= without, "gang {index}: {with:?}, and {without:?} without");
        }
    }

    /// However early others end: what was promised once is kept.
    #[test]
    fn a_gang_starts_no_later_than_it_was_ever_promised(day in day(true)) {
        let outcome = play(&day, None);
        for (index, (_, promises)) in &outcome.promises {
            let started = outcome.starts.get(index);
            let best = promises.iter().min();
            prop_assert!(started.is_some() && started <= best, "gang {index}: {started:?}, promised {promises:?}");
        }
    }
}

/// The random days are such that something can go wrong in them.
#[test]
fn many_random_days_have_promises_and_gangs_that_run_ahead() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let (mut promises, mut ahead) = (0, 0);
    for _ in 0..100 {
        let day = day(false).new_tree(&mut runner).unwrap().current();
        let outcome = play(&day, None);
        promises += outcome.promises.len();
        for (index, (since, _)) in &outcome.promises {
            let until = outcome.starts[index];
            let later = outcome.starts.range(index + 1..);
            ahead += later.filter(|(_, at)| *at > since && **at < until).count();
        }
    }
    assert!(
        promises > 100 && ahead > 50,
        "{promises} promises, {ahead} ran ahead"
    );
}
