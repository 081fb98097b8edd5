//! Random clusters and random orders of news keep the invariants of the core.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on has failed"
)]

mod checks;
mod known;
#[path = "../support/small/mod.rs"]
mod small;
mod steps;
mod world;

use muster::model::{Event, plain};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use steps::{Step, step};
use world::World;

/// What was found is kept here, to be written down in `known.rs`. `PROPTEST_CASES` plays more of them.
fn found() -> Option<Box<FileFailurePersistence>> {
    let file = "tests/invariants/proptest-regressions";
    Some(Box::new(FileFailurePersistence::Direct(file)))
}

/// Plays what happens, then answers everything well until nothing is left to decide.
fn keep_the_invariants(steps: &[Step]) {
    let mut world = World::default();
    world.keep_explaining();
    for (index, step) in steps.iter().enumerate() {
        if let Some(plan) = world.take(step) {
            world.check_capacity(&plan);
            world.check_all_or_nothing(&plan);
            world.check_explanations();
            if index % 3 == 0 {
                world.hear_explained();
            }
        }
    }
    world.settle();
    world.check_explanations();
    world.hear_explained();
    world.check_explained();
    world.check_nobody_is_partly_bound();
    world.check_rest();
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.max(400),
        failure_persistence: found().map(|one| one as _),
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_order_of_news_keeps_the_invariants(steps in prop::collection::vec(step(), 1..120)) {
        keep_the_invariants(&steps);
    }

    #[test]
    fn the_same_news_gives_the_same_plans(steps in prop::collection::vec(step(), 1..80)) {
        let run = || {
            let mut world = World::default();
            steps.iter().filter_map(|step| world.take(step)).collect::<Vec<_>>()
        };
        prop_assert_eq!(format!("{:?}", run()), format!("{:?}", run()));
    }

    #[test]
    fn an_empty_node_never_hurts(steps in prop::collection::vec(step(), 1..60)) {
        let placed = |extra: bool| {
            let mut world = World::default();
            if extra {
                let offers = plain::amounts([("cpu", 1), ("pods", 1)]);
                world.tell(Event::is(plain::node("zz", offers)));
            }
            let pods = steps.iter().filter(|step| {
                matches!(step, Step::Node { .. } | Step::Pod { group: None, .. })
            });
            for step in pods {
                // Who goes onto it is not near those any more who want to be with him.
                let mut step = step.clone();
                match &mut step {
                    Step::Pod { company, .. } => *company = 15,
                    // What devices are worth hangs on how many CPUs there are beside them.
                    Step::Node { gpus, .. } => *gpus = 0,
                    _ => {}
                }
                world.take(&step);
            }
            world.cycle();
            world.scheduler.state().pods().filter(|(_, pod)| pod.place.node().is_some()).count()
        };
        prop_assert!(placed(true) >= placed(false));
    }
}
