//! The worked numbers of the specification.

use super::*;
use crate::state::{ClusterState, GangId, QueueId};
use muster_model::ObjectKey;
use muster_model::resources::{CORE, Dimension, Request, Tally};
use muster_model::units::{Millis, Time};
use muster_model::{Event, Lifetime, NodeSpec, PodKey, PodSpec, QueueSpec, ShapeSpec};

const HOUR: u64 = 3_600_000;

/// A cluster of 100 CPUs, and its queues.
struct Books {
    state: ClusterState,
    pods: usize,
}

impl Books {
    fn new(queues: &[QueueSpec]) -> Self {
        let mut state = ClusterState::default();
        state.apply(
            Time::ZERO,
            Event::is(NodeSpec {
                name: "n".to_owned(),
                allocatable: vec![("cpu".to_owned(), 100_000), ("pods".to_owned(), 1_000)],
                ..NodeSpec::default()
            }),
        );
        for spec in queues {
            state.apply(Time::ZERO, Event::is(spec.clone()));
        }
        state.settle();
        Self { state, pods: 0 }
    }

    /// A job of so many CPUs that waits in a queue.
    fn job(&mut self, queue: &str, cpus: i64, lifetime: Option<u64>) -> GangId {
        self.job_of(queue, vec![("cpu".to_owned(), cpus * 1_000)], lifetime)
    }

    fn job_of(
        &mut self,
        queue: &str,
        requests: Vec<(String, i64)>,
        lifetime: Option<u64>,
    ) -> GangId {
        self.pods += 1;
        let key = PodKey {
            namespace: "n".to_owned(),
            name: format!("p{}", self.pods),
            uid: format!("u{}", self.pods),
        };
        let spec = PodSpec {
            key,
            ours: true,
            queue: Some(queue.to_owned()),
            lifetime: lifetime.map(Millis),
            shape: ShapeSpec {
                requests,
                ..ShapeSpec::default()
            },
            ..PodSpec::default()
        };
        let gang = spec.gang_key();
        self.state.apply(self.state.now(), Event::is(spec));
        let id = self.state.find_gang(&gang).unwrap();
        self.state.resolve(id);
        self.state.settle();
        id
    }

    fn check(&self, gang: GangId, cpus: i64) -> Result<u128, Hold> {
        check(&self.state, gang, &cpu(cpus)).map_err(|blocked| blocked.hold)
    }

    /// Starts it, if its queue lets it.
    fn start(&mut self, gang: GangId, cpus: i64) -> Result<(), Hold> {
        let charge = self.check(gang, cpus)?;
        let pod = self.state[gang].pending.first().unwrap();
        let node = self.state.nodes().find("n").unwrap();
        self.state.assume(pod, node);
        self.state.charge_budget(gang, charge);
        self.state.settle();
        self.state.audit().unwrap();
        Ok(())
    }

    fn end(&mut self, gang: GangId) {
        let pod = *self.state[gang].members.first().unwrap();
        let key = self.state.pod(pod).unwrap().key.clone();
        self.state
            .apply(self.state.now(), Event::Gone(ObjectKey::Pod(key)));
        self.state.settle();
        self.state.take_changes();
        self.state.audit().unwrap();
    }

    fn queue(&self, name: &str) -> QueueId {
        self.state.queues().find(name).unwrap().0
    }

    fn share(&self, name: &str) -> u64 {
        self.state.queues().find(name).unwrap().1.account.share / CORE
    }
}

fn cpu(cpus: i64) -> Tally {
    let mut tally = Tally::default();
    tally.add(&Request::new([(Dimension::CPU, cpus * 1_000)]));
    tally
}

fn queue(name: &str, weight: u32) -> QueueSpec {
    QueueSpec {
        name: name.to_owned(),
        uid: name.to_owned(),
        weight,
        ..QueueSpec::default()
    }
}

fn three() -> [QueueSpec; 3] {
    [queue("a", 1), queue("b", 1), queue("c", 2)]
}

#[test]
fn three_queues_of_weights_1_1_2_have_shares_of_25_25_50() {
    let books = Books::new(&three());
    assert_eq!(["a", "b", "c"].map(|name| books.share(name)), [25, 25, 50]);
    assert_eq!(
        books.share("default"),
        0,
        "nobody declared it, and it has no work"
    );
}

#[test]
fn the_default_queue_takes_part_while_it_has_work() {
    let mut books = Books::new(&three());
    let job = books.job("default", 1, None);
    assert_eq!(
        ["a", "c", "default"].map(|name| books.share(name)),
        [20, 40, 20]
    );
    books.end(job);
    assert_eq!(
        ["a", "c", "default"].map(|name| books.share(name)),
        [25, 50, 0]
    );
}

#[test]
fn a_share_is_a_part_of_the_parents() {
    let below = |name: &str, weight, parent: &str| QueueSpec {
        parent: Some(parent.to_owned()),
        ..queue(name, weight)
    };
    let books = Books::new(&[
        queue("a", 3),
        queue("b", 1),
        below("a1", 2, "a"),
        below("a2", 1, "a"),
        below("a11", 1, "a1"),
    ]);
    let shares = ["a", "b", "a1", "a2", "a11"].map(|name| books.share(name));
    assert_eq!(shares, [75, 25, 50, 25, 50]);
}

#[test]
fn a_lone_queue_may_hold_30_cpus_for_ever_and_100_that_it_gives_back() {
    let mut books = Books::new(&three());
    for _ in 0..30 {
        let job = books.job("a", 1, None);
        books.start(job, 1).unwrap();
    }
    let job = books.job("a", 1, None);
    assert_eq!(
        books.check(job, 1),
        Err(Hold::Share {
            would: 31 * CORE,
            most: 30 * CORE
        })
    );
    for _ in 0..70 {
        let job = books.job("a", 1, Some(0));
        books.start(job, 1).unwrap();
    }
    // What can be taken back at any time stands in nobody's way.
    assert!(books.check(job, 1).is_err());
}

#[test]
fn a_budget_of_600_core_minutes_pays_for_ten_jobs_of_an_hour_beyond_the_share() {
    let [a, b, c] = three();
    let a = QueueSpec {
        excess_budget: Some(600 * 60_000),
        ..a
    };
    let mut books = Books::new(&[a, b, c]);
    for _ in 0..25 {
        let job = books.job("a", 1, Some(HOUR));
        books.start(job, 1).unwrap();
    }
    let mut beyond = Vec::new();
    for _ in 0..10 {
        let job = books.job("a", 1, Some(HOUR));
        books.start(job, 1).unwrap();
        beyond.push(job);
    }
    let eleventh = books.job("a", 1, Some(HOUR));
    assert_eq!(
        books.check(eleventh, 1),
        Err(Hold::Budget {
            needs: u128::from(HOUR),
            left: 0
        })
    );
    let free = books.job("a", 1, Some(0));
    assert_eq!(books.check(free, 1), Ok(0));
    books.end(beyond[3]);
    books.start(eleventh, 1).unwrap();
}

#[test]
fn the_budget_is_an_hour_of_the_share_where_none_is_given() {
    let mut books = Books::new(&three());
    let job = books.job("a", 50, Some(HOUR));
    assert_eq!(
        books.check(job, 50),
        Ok(25 * u128::from(CORE) * u128::from(HOUR))
    );
    let job = books.job("a", 51, Some(HOUR));
    assert!(matches!(books.check(job, 51), Err(Hold::Budget { .. })));
}

#[test]
fn a_limit_is_a_ceiling_for_all_below_it() {
    let parent = QueueSpec {
        limit: vec![("cpu".to_owned(), 10_000)],
        ..queue("p", 1)
    };
    let child = QueueSpec {
        parent: Some("p".to_owned()),
        ..queue("q", 1)
    };
    let mut books = Books::new(&[parent, child]);
    let job = books.job("q", 8, Some(0));
    books.start(job, 8).unwrap();
    let job = books.job("q", 3, Some(0));
    let hold = Hold::Limit {
        dimension: Dimension::CPU,
        would: 11_000,
        most: 10_000,
    };
    assert_eq!(books.check(job, 3), Err(hold));
    assert_eq!(books.check(job, 2), Ok(0));
}

#[test]
fn what_is_guaranteed_is_lent_only_to_who_gives_it_back() {
    let a = QueueSpec {
        guaranteed: vec![("cpu".to_owned(), 40_000)],
        ..queue("a", 1)
    };
    let b = QueueSpec {
        over_share: 10_000,
        ..queue("b", 1)
    };
    let mut books = Books::new(&[a, b]);
    let job = books.job("b", 70, None);
    let hold = Hold::Guarantee {
        dimension: Dimension::CPU,
        short: 10_000,
    };
    assert_eq!(books.check(job, 70), Err(hold));
    assert_eq!(books.check(job, 60), Ok(0));
    let job = books.job("b", 70, Some(HOUR));
    assert!(books.check(job, 70).is_ok());
    // What a holds for ever itself is part of what is guaranteed to it.
    let own = books.job("a", 30, None);
    books.start(own, 30).unwrap();
    let job = books.job("b", 60, None);
    assert_eq!(books.check(job, 60), Ok(0));
    let own = books.job("a", 30, None);
    assert!(books.check(own, 10).is_ok(), "to itself it is no obstacle");
}

#[test]
fn flow_forgets_and_the_time_of_that_is_known() {
    let mut books = Books::new(&three());
    let jobs: Vec<GangId> = (0..30)
        .map(|_| {
            let job = books.job("a", 1, None);
            books.start(job, 1).unwrap();
            job
        })
        .collect();
    for job in jobs {
        books.end(job);
    }
    let job = books.job("a", 16, None);
    // 30 are still remembered: 15 of them after an hour.
    let blocked = check(&books.state, job, &cpu(31)).unwrap_err();
    assert_eq!(blocked.until, None, "31 will never do");
    assert!(check(&books.state, job, &cpu(30)).is_ok());
    let spec = QueueSpec {
        over_share: 1_000,
        ..queue("a", 1)
    };
    books.state.apply(Time::ZERO, Event::is(spec));
    books.state.settle();
    let blocked = check(&books.state, job, &cpu(16)).unwrap_err();
    let until = blocked.until.unwrap();
    assert_eq!(until.0, 946_924, "30 decay to 25 in 0.263 hours");
    books.state.set_now(until);
    assert_eq!(books.check(job, 16), Ok(0));
}

#[test]
fn the_queue_goes_first_that_would_be_least_above_its_part() {
    let mut books = Books::new(&three());
    let mut contest = Contest::default();
    let mut given = [0_i64; 3];
    let names = ["a", "b", "c"];
    for name in names {
        contest.update(&books.state, books.queue(name), Some(cpu(1)));
    }
    for _ in 0..80 {
        let first = contest.first().unwrap();
        let index = names
            .iter()
            .position(|name| books.queue(name) == first)
            .unwrap();
        let job = books.job(names[index], 1, Some(0));
        books.start(job, 1).unwrap();
        given[index] += 1;
        contest.update(&books.state, first, Some(cpu(1)));
    }
    assert_eq!(given, [20, 20, 40]);
    contest.update(&books.state, books.queue("c"), None);
    assert_eq!(contest.first(), Some(books.queue("a")), "ties go by name");
}

#[test]
fn a_higher_tier_goes_first_whatever_it_holds() {
    let [a, b, c] = three();
    let mut books = Books::new(&[a, QueueSpec { tier: 1, ..b }, c]);
    let job = books.job("b", 50, Some(0));
    books.start(job, 50).unwrap();
    let mut contest = Contest::default();
    for name in ["a", "b", "c"] {
        contest.update(&books.state, books.queue(name), Some(cpu(1)));
    }
    assert_eq!(contest.first(), Some(books.queue("b")));
}

#[test]
fn a_queue_without_a_place_in_the_tree_says_why_and_the_rest_goes_on() {
    let with = |name: &str, parent: &str| QueueSpec {
        parent: Some(parent.to_owned()),
        ..queue(name, 1)
    };
    let books = Books::new(&[
        queue("a", 1),
        with("orphan", "nobody"),
        with("child", "orphan"),
        with("x", "y"),
        with("y", "x"),
        with("z", "y"),
    ]);
    let problem = |name: &str| {
        let (_, queue) = books.state.queues().find(name).unwrap();
        queue
            .misplaced
            .as_ref()
            .map_or(String::new(), ToString::to_string)
    };
    assert_eq!(problem("a"), "");
    assert_eq!(problem("orphan"), "its parent \"nobody\" does not exist");
    assert_eq!(problem("child"), "its ancestor \"orphan\" is misplaced");
    assert_eq!(problem("x"), "it is its own ancestor");
    assert!(problem("z").contains("misplaced"));
    assert_eq!(books.share("a"), 100);
    let lifetime = Lifetime::of(Some(Millis(0)));
    assert!(lifetime.is_zero());
}

#[test]
fn what_gives_way_at_any_time_makes_no_flow_and_is_not_beyond_the_share() {
    let mut books = Books::new(&[queue("a", 1), queue("b", 3)]);
    books.job("b", 1, None);
    let free = books.job("a", 100, Some(0));
    books.start(free, 100).unwrap();
    assert_eq!(books.share("a"), 25);
    books.state.set_now(Time(10 * 60_000));
    books.end(free);
    // Nothing is remembered of it.
    let endless = books.job("a", 25, None);
    assert_eq!(books.check(endless, 25), Ok(0));
    // And beside it a gang within the share costs nothing.
    let free = books.job("a", 75, Some(0));
    books.start(free, 75).unwrap();
    let limited = books.job("a", 20, Some(HOUR));
    assert_eq!(books.check(limited, 20), Ok(0));
}

#[test]
fn what_resources_come_to_be_worth_is_no_use_in_the_past() {
    let node = |index: usize, gpus: i64| NodeSpec {
        name: format!("g{index}"),
        allocatable: vec![
            ("cpu".to_owned(), 10_000),
            ("gpu".to_owned(), gpus),
            ("pods".to_owned(), 100),
        ],
        ..NodeSpec::default()
    };
    let mut books = Books::new(&[queue("a", 1), queue("b", 3)]);
    for index in 0..10 {
        books.state.apply(Time::ZERO, Event::is(node(index, 8)));
    }
    books.state.settle();
    // Of 200 CPUs, and 80 GPUs that are worth as much: ten of these are worth 25 cores.
    assert_eq!(books.share("a"), 100);
    let requests = vec![("cpu".to_owned(), 10_000), ("gpu".to_owned(), 10)];
    let holds = books.job_of("a", requests, None);
    books.start(holds, 10).unwrap();
    let past = books.job("a", 20, None);
    books.start(past, 20).unwrap();
    books.state.set_now(Time(HOUR));
    books.end(past);
    let flow = |books: &Books| {
        let half_life = books.state.queues().half_life();
        let flow = &books.state.queues().find("a").unwrap().1.account.flow;
        (
            flow.value(books.state.now(), half_life) / CORE,
            flow.excess(books.state.now(), half_life) / CORE,
        )
    };
    assert_eq!(flow(&books), (55, 20));
    // Nine nodes with GPUs are gone: those that are left are worth more, and the CPUs of which a queue's past
    // is made are not.
    for index in 1..10 {
        let gone = Event::Gone(ObjectKey::Node(format!("g{index}")));
        books.state.apply(Time(HOUR), gone);
    }
    books.state.settle();
    assert_eq!(flow(&books), (167, 20));
    books.state.set_now(Time(HOUR + 300_000));
    for index in 1..10 {
        let back = Event::is(node(index, 8));
        books.state.apply(Time(HOUR + 300_000), back);
    }
    books.state.settle();
    assert_eq!(flow(&books), (53, 18), "five minutes have gone by");
}
