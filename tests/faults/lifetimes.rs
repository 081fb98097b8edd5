//! A failover gives nobody a new life: a lifetime counts from the binding, which the API server
//! knows, and not from when a process of the scheduler first saw the gang.

use crate::told;
use muster::core::engine::Policy;
use muster::model::units::Time;
use muster::sim::driver::Driver;
use muster::sim::network::Network;

/// When the gang whose queue is owed the room gets it, if the scheduler dies at a time.
fn reclaimed_at(killed_at: Option<u64>, standby: bool) -> u64 {
    let mut driver = Driver::new(told::lent(), Policy::default(), Network::calm(1));
    if standby {
        driver = driver.with_standby();
    }
    if let Some(at) = killed_at {
        driver.kill_at(Time::from_secs(at));
    }
    driver.run(Time::from_secs(120), |_| {});
    assert_eq!(driver.ledger().violations, Vec::<String>::new());
    let killed = driver.met().kills > 0;
    assert_eq!(killed, killed_at.is_some());
    let mut lines = driver.ledger().pods.iter();
    let owed = lines.find(|line| line.name == "owed-0").unwrap();
    owed.bound_at.unwrap().0
}

#[test]
fn a_lifetime_ends_when_it_would_have_ended_without_a_failover() {
    for standby in [false, true] {
        let undisturbed = reclaimed_at(None, standby);
        assert!(
            (told::LENT_FOR.0..told::LENT_FOR.0 + 8_000).contains(&undisturbed),
            "{undisturbed}"
        );
        // Its life is over long after the successor has found its feet.
        for at in [12, 20, 30, 40] {
            assert_eq!(
                reclaimed_at(Some(at), standby),
                undisturbed,
                "killed at {at} s"
            );
        }
    }
}
