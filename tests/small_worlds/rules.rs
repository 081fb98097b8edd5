//! What must hold in every state, judged by what the API server holds: never two pods in one room, nobody writes whose
//! term is over, no gang in part for longer than promised, and all comes to rest.

use crate::choices::{Choice, Plan};
use crate::small::key;
use crate::world::{EVERYBODY, GANG, RIVAL, World};
use muster::model::GangSpec;
use muster::model::units::{Millis, Time};
use muster::sim::driver::Driver;
use muster::sim::ledger::PodLine;

/// Within so long after the last bind that succeeded a gang is whole, or its release is under way.
const PROMISE: Millis = Millis(10_000);
/// A release that is under way is over after so long more.
const RELEASE: Millis = Millis(2_500);

/// What must hold now, when something of a plan was last chosen at `last`.
pub(crate) fn hold(
    driver: &Driver,
    world: World,
    plan: &Plan,
    last: Option<Time>,
) -> Result<(), String> {
    if let Some(violation) = driver.ledger().violations.first() {
        return Err(violation.clone());
    }
    for node in driver.server().nodes() {
        let there = |pod: &&muster::sim::server::Pod| {
            pod.takes_room() && pod.spec.node.as_ref() == Some(&node.name)
        };
        let count = driver.server().pods().filter(there).count();
        if count > 1 {
            return Err(format!(
                "at {}: {count} pods are on {}, which has room for one",
                driver.now().0,
                node.name
            ));
        }
    }
    if driver.writers() > 1 {
        return Err(format!(
            "at {}: two processes may write at once",
            driver.now().0
        ));
    }
    let faults = plan.0.len();
    for name in [GANG, RIVAL] {
        is_within_the_promise(driver, name, faults, last)?;
    }
    let evicted = driver.ledger().pods.iter().find(|line| line.evictions > 0);
    match evicted.filter(|_| harms_nobody(world, plan)) {
        Some(line) => Err(format!("at {}: {} was evicted", driver.now().0, line.name)),
        None => Ok(()),
    }
}

/// Where there is room for all nobody is evicted because of one thing that goes wrong, nor of two writes of which one may
/// never have arrived. When two binds of a member have not, its gang's patience is over.
fn harms_nobody(world: World, plan: &Plan) -> bool {
    let all = |suits: fn(Choice) -> bool| plan.0.iter().all(|(_, choice)| suits(*choice));
    let harmless = match plan.0.len() {
        0 | 1 => all(|choice| choice != Choice::Refused && !choice.is_somebodys()),
        2 => all(Choice::is_of_a_write) && !all(|choice| choice == Choice::Lost),
        _ => false,
    };
    world.nodes >= EVERYBODY && harmless
}

/// The promise is about any single thing that fails: its time begins anew with every further one.
fn is_within_the_promise(
    driver: &Driver,
    name: &str,
    faults: usize,
    last: Option<Time>,
) -> Result<(), String> {
    let key = key(name);
    let ledger = driver.ledger();
    let Some(since) = ledger.gangs.get(&key).and_then(|gang| gang.partly_since) else {
        return Ok(());
    };
    let of_it = |line: &&PodLine| line.gang.as_ref() == Some(&key);
    let bound = ledger.pods.iter().filter(of_it);
    let bound = bound.filter_map(|line| line.bound_at).max();
    let further = last.filter(|_| faults > 1);
    let clock = [Some(since), bound, further].into_iter().flatten().max();
    let lasts = driver.now().since(clock.unwrap_or(since));
    let leaves = driver
        .server()
        .pods()
        .any(|pod| pod.spec.gang_key() == key && pod.spec.terminating);
    let most = if leaves {
        Millis(PROMISE.0 + RELEASE.0)
    } else {
        PROMISE
    };
    if lasts > most {
        return Err(format!(
            "at {}: {name} has been bound in part since {}, last advanced {lasts} ago, leaves: {leaves}",
            driver.now().0,
            since.0
        ));
    }
    Ok(())
}

/// What keeps all from being at rest: somebody leads, nothing is on its way, gangs are whole or not bound at all, and
/// nobody waits who fits.
pub(crate) fn unrest(driver: &Driver, world: World) -> Option<String> {
    if driver.writers() == 0 {
        return Some("nobody leads".to_owned());
    }
    if !driver.is_settled() {
        return Some("something is on its way".to_owned());
    }
    if let Some(pod) = driver.server().pods().find(|pod| pod.spec.terminating) {
        return Some(format!("{} leaves", pod.spec.key));
    }
    let bound = driver.server().pods().filter(|pod| pod.is_bound()).count();
    let free = world.nodes.saturating_sub(bound);
    driver
        .server()
        .gangs()
        .find_map(|gang| unrest_of(driver, gang, free))
}

fn unrest_of(driver: &Driver, gang: &GangSpec, free: usize) -> Option<String> {
    let members = || {
        let pods = driver.server().pods();
        pods.filter(|pod| pod.spec.gang_key() == gang.key)
    };
    let bound = members().filter(|pod| pod.is_bound()).count();
    let min = usize::try_from(gang.min_available).unwrap_or(usize::MAX);
    let (key, there) = (&gang.key, members().count());
    if bound == 0 && min <= there && min <= free {
        return Some(format!("{key} waits, and fits"));
    }
    (0 < bound && bound < min).then(|| format!("{key} is bound in part"))
}
