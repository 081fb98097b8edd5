//! What must hold in calm, judged by what the API server holds and not by what the scheduler
//! thinks.

use muster::api::kinds::Subject;
use muster::api::status::Status;
use muster::core::state::Queue;
use muster::model::PodWaits;
use muster::model::units::{Millis, Time};
use muster::model::{
    GangKey, GangSpec, HostPort, Lifetime, NodeSpec, PodPhase, PodSpec, PodTerm, Reservation,
    SpreadRule, label_in,
};
use muster::sim::driver::Driver;
use muster::sim::ledger::{GangLine, PodLine};
use muster::sim::server::Server;
use std::collections::{BTreeMap, BTreeSet};

/// After this much calm no gang may be bound in part.
const SETTLE: Millis = Millis(10_000);

/// Before the end, so long nothing may happen.
const REST: Millis = Millis(60_000);

/// From the time at which there are no faults, no gang is bound in part for long.
pub(crate) fn whole_or_nothing(driver: &Driver, calm_from: Time) -> Result<(), String> {
    for (key, line) in &driver.ledger().gangs {
        if let Some(since) = line.partly_since
            && let Some(spec) = driver.server().gang(key)
            && driver.now().since(since.max(calm_from)) > patience_with(spec)
        {
            let total = line.total();
            return Err(format!(
                "{:?}: gang {key} has been bound in part ({total:?}) since {since:?}",
                driver.now()
            ));
        }
    }
    Ok(())
}

/// How long a gang may be bound in part: one that is to be repaired, until its deadline. Whether it
/// has run is not asked: who takes over cannot know, and a PodGroup made again may find members bound.
fn patience_with(spec: &GangSpec) -> Millis {
    Millis(SETTLE.0 + spec.repair_for.map_or(0, |span| span.0))
}

/// Whether gangs may have each other go for ever, a lifetime after the other: heads of queues have
/// their places cleared, and who went comes back.
pub(crate) fn may_take_turns(driver: &Driver) -> bool {
    let Some(brain) = driver.brain() else {
        return false;
    };
    let state = brain.scheduler().state();
    let lasts = |lifetime| matches!(lifetime, Lifetime::Limited(span) if span.0 > 0);
    let mut queues = state.queues().iter();
    let reserves = |queue: &Queue| {
        let spec = queue.spec.as_ref();
        spec.is_some_and(|spec| spec.reservation != Reservation::None && !spec.uid.is_empty())
    };
    state.gangs().any(|(_, gang)| lasts(gang.lifetime)) && queues.any(|(_, queue)| reserves(queue))
}

pub(crate) fn at_rest(driver: &Driver, until: Time) -> Result<(), String> {
    let brain = driver.brain().ok_or("the scheduler is dead")?;
    if may_take_turns(driver) {
        brain.scheduler().audit()?;
        return Ok(());
    }
    if brain.wants_cycle() {
        return Err("the scheduler wants a cycle although nothing happens".to_owned());
    }
    if until.since(driver.last_change()) < REST {
        return Err(format!("no rest: changes up to {:?}", driver.last_change()));
    }
    if until.since(driver.last_word()) < REST {
        return Err(format!("no rest: words up to {:?}", driver.last_word()));
    }
    brain.scheduler().audit()?;
    nothing_is_lost(driver)?;
    every_word_is_true(driver)?;
    // Room may be kept for the head of a queue.
    if brain.scheduler().reserved().next().is_some() {
        return Ok(());
    }
    what_fits_is_placed(driver)
}

/// Every pod exists, and is bound or says why it waits.
pub(crate) fn nothing_is_lost(driver: &Driver) -> Result<(), String> {
    let (server, ledger) = (driver.server(), driver.ledger());
    let done = Some(PodPhase::Succeeded);
    for line in ledger
        .pods
        .iter()
        .filter(|line| line.ours && line.phase != done)
    {
        let Some(pod) = server.pod_named(&line.namespace, &line.name) else {
            return Err(format!("pod {} does not exist", line.name));
        };
        let explains = |gang: &GangLine| {
            let status = gang.status.as_ref();
            status.is_some_and(|status| status.conditions.iter().any(|one| !one.status))
        };
        let said_on_pod = said_on(line, &pod.spec.key.uid).is_some();
        let said_on_gang = line.gang.as_ref().and_then(|key| ledger.gangs.get(key));
        if pod.spec.node.is_none() && !said_on_pod && !said_on_gang.is_some_and(explains) {
            return Err(format!("pod {} waits and nobody says why", line.name));
        }
        if pod.spec.terminating {
            return Err(format!("pod {} does not go", line.name));
        }
    }
    Ok(())
}

/// What was last said on a pod that still has this uid.
fn said_on<'a>(line: &'a PodLine, uid: &str) -> Option<&'a str> {
    let (of, message) = line.waits.as_ref()?;
    (of == uid).then_some(message.as_str())
}

/// What the objects say is what there is to say: nothing was lost, nothing is out of date.
fn every_word_is_true(driver: &Driver) -> Result<(), String> {
    let (server, ledger) = (driver.server(), driver.ledger());
    let brain = driver.brain().ok_or("the scheduler is dead")?;
    for gang in server.gangs() {
        let Some(counts) = server.gang(&gang.key).filter(|one| one.uid == gang.uid) else {
            continue;
        };
        let status = brain.scheduler().gang_status(&gang.key);
        let wanted = status.as_ref().and_then(Status::of_gang);
        let subject = Subject::Gang(counts.source, counts.uid.clone());
        if wanted.is_some_and(|wanted| wanted.said().text != server.said_of(&subject).text) {
            return Err(format!("{} does not say {status:?}", gang.key));
        }
    }
    for line in ledger.pods.iter().filter(|line| line.ours) {
        let Some(pod) = server.pod_named(&line.namespace, &line.name) else {
            continue;
        };
        let uid = &pod.spec.key.uid;
        let Some(message) = said_on(line, uid).filter(|_| pod.spec.node.is_none()) else {
            continue;
        };
        let found = server.said_of(&Subject::Pod(uid.clone())).text;
        let says = |reason: &'static str| {
            let wanted = Status::from(&PodWaits {
                pod: pod.spec.key.clone(),
                reason: reason.into(),
                message: message.into(),
                nominated: None,
            });
            wanted.said().text == found
        };
        if !says("Unschedulable") && !says("AtMaximum") {
            return Err(format!("pod {} does not say {message:?}", line.name));
        }
    }
    Ok(())
}

/// Pods of one gang: all alike here, but for their subgroup.
#[derive(Default)]
struct Members {
    waiting: u32,
    placed: u32,
    succeeded: u32,
    one: Option<PodSpec>,
    /// One of those that wait has volumes.
    has_volumes: bool,
}

/// Nothing waits that has room: all pods of a gang are equal here, so counting is enough. Where
/// members ended well and are gone nothing is said: a scheduler that started later cannot know
/// them, and waits for them.
fn what_fits_is_placed(driver: &Driver) -> Result<(), String> {
    let (server, ledger) = (driver.server(), driver.ledger());
    let mut gangs: BTreeMap<GangKey, Members> = BTreeMap::new();
    for pod in server.pods().filter(|pod| pod.spec.ours) {
        let members = gangs.entry(pod.spec.gang_key()).or_default();
        if pod.spec.node.is_none() {
            members.waiting += 1;
            members.has_volumes |= !pod.spec.volumes.is_empty();
            members.one = Some(pod.spec.clone());
        } else {
            members.placed += 1;
            members.succeeded += u32::from(pod.spec.phase == PodPhase::Succeeded);
        }
    }
    for (key, members) in gangs {
        let Some(one) = &members.one else { continue };
        if members.has_volumes {
            // Whether there is room for these is not counted here.
            continue;
        }
        let total = ledger.gangs.get(&key).map(GangLine::total);
        if total.unwrap_or_default().succeeded > members.succeeded {
            continue;
        }
        let spec = server.gang(&key);
        if spec.is_none() && !matches!(one.gang, muster::model::GangRef::Own) {
            continue;
        }
        let min = spec.map_or(1, |spec| spec.min_available);
        if spec.is_some_and(|spec| !spec.min_resources.is_empty()) && members.placed == 0 {
            // What is set aside for others may keep it out.
            continue;
        }
        let most = spec.and_then(|spec| spec.replicas);
        if members.placed >= min && most.is_some_and(|most| total.unwrap_or_default().bound >= most)
        {
            // It has all that it may have.
            continue;
        }
        let missing = min.saturating_sub(members.placed).max(1);
        if !one.shape.spread.is_empty() {
            let near = spec.is_some_and(|spec| spec.topology.is_some());
            // Of several, the order decides; and whom one has to be near is counted elsewhere.
            let alone = one.shape.pods.affinity.is_empty() && !near;
            if missing == 1 && alone && fits_evenly(server, driver, one) {
                return Err(format!("{key}: a pod that waits would fit evenly"));
            }
            continue;
        }
        let Some(places) = places_near_enough(server, driver, &key, one) else {
            continue;
        };
        if missing <= members.waiting && i64::from(missing) <= places {
            let waiting = members.waiting;
            let scheduler = driver.brain().map(|brain| brain.scheduler());
            let why = scheduler.and_then(|one| one.explain_gang(&key, driver.now(), 10));
            return Err(format!(
                "{key}: {missing} of {waiting} pods that wait would fit, and it says: {why:#?}"
            ));
        }
    }
    Ok(())
}

/// How many pods like this one there is room for, all as near to each other and to those who run as
/// its gang wants them; `None` where nothing says how near they are.
fn places_near_enough(
    server: &Server,
    driver: &Driver,
    gang: &GangKey,
    pod: &PodSpec,
) -> Option<i64> {
    let wish = server.gang(gang).and_then(|spec| spec.topology.as_ref());
    let most = wish.and_then(|wish| wish.max_hops);
    let is_said = server.topologies().next().is_some() || server.hyper_nodes().next().is_some();
    if most.is_some() && !is_said {
        return None;
    }
    // The hops of a rack are two.
    let domain = |node: &NodeSpec| match most {
        None => String::new(),
        Some(0 | 1) => node.name.clone(),
        Some(_) => node.labels["rack"].clone(),
    };
    let members = server
        .pods()
        .filter(|one| one.takes_room() && one.spec.gang_key() == *gang);
    let on = members.filter_map(|one| server.node(one.spec.node.as_deref()?));
    let on: BTreeSet<String> = on.map(domain).collect();
    let rules = &pod.shape.pods;
    if !rules.affinity.is_empty() {
        // Where it may be hangs on where its like are going to be.
        return None;
    }
    // Within the values of this label there may be one of them.
    let mut alone = rules
        .anti_affinity
        .iter()
        .filter(|term| is_about(term, pod));
    let alone = alone.next().map(|term| &term.topology_key);
    let mut taken = BTreeSet::new();
    let mut places: BTreeMap<String, i64> = BTreeMap::new();
    for node in server.nodes() {
        let mut here = places_on(server, driver, &node.name, pod);
        if let Some(key) = alone.filter(|_| here > 0) {
            let first = taken.insert((domain(node), node.labels.get(key)));
            here = i64::from(first);
        }
        *places.entry(domain(node)).or_default() += here;
    }
    places.retain(|domain, _| on.is_empty() || on.len() == 1 && on.contains(domain));
    Some(places.into_values().max().unwrap_or(0))
}

/// Whether a term is about a pod; all are in one namespace.
fn is_about(term: &PodTerm, pod: &PodSpec) -> bool {
    let label = |key: &str| label_in(pod.labels.text(), key);
    term.selector.matches_with(label)
}

/// Whether a pod keeps others away from a node, or is kept away from it.
fn is_kept_away(server: &Server, node: &NodeSpec, pod: &PodSpec) -> bool {
    let together = |other: &NodeSpec, key: &str| {
        let value = node.labels.get(key);
        value.is_some() && value == other.labels.get(key)
    };
    let keeps = |holder: &PodSpec, other: &PodSpec, there: &NodeSpec| {
        let mut terms = holder.shape.pods.anti_affinity.iter();
        terms.any(|term| is_about(term, other) && together(there, &term.topology_key))
    };
    let mut others = server.pods().filter(|one| one.takes_room());
    others.any(|one| {
        let there = one.spec.node.as_deref().and_then(|name| server.node(name));
        there.is_some_and(|there| keeps(pod, &one.spec, there) || keeps(&one.spec, pod, there))
    })
}

/// Whether there is a node for a pod that has to be spread.
fn fits_evenly(server: &Server, driver: &Driver, pod: &PodSpec) -> bool {
    let mut nodes = server.nodes();
    nodes.any(|node| {
        places_on(server, driver, &node.name, pod) > 0
            && pod
                .shape
                .spread
                .iter()
                .all(|rule| is_even(server, pod, rule, node))
    })
}

/// Whether one more pod in a node's domain is not too many, counted anew.
fn is_even(server: &Server, pod: &PodSpec, rule: &SpreadRule, node: &NodeSpec) -> bool {
    let mut domains: BTreeMap<&String, u32> = BTreeMap::new();
    for node in server.nodes() {
        let counts = !rule.honors_taints || pod.shape.constraints.tolerate(&node.taints);
        let Some(domain) = node.labels.get(&rule.key).filter(|_| counts) else {
            continue;
        };
        let here = server.pods().filter(|one| {
            let chosen = rule.pods.as_ref().is_some_and(|query| {
                let key = &one.spec.key;
                query.matches(&key.namespace, one.spec.labels.text(), |_| None)
            });
            chosen && one.takes_room() && one.spec.node.as_ref() == Some(&node.name)
        });
        *domains.entry(domain).or_default() += u32::try_from(here.count()).unwrap();
    }
    let enough = domains.len() >= rule.min_domains as usize;
    let fewest = domains.values().min().filter(|_| enough);
    let there = domains.get(&node.labels[&rule.key]).copied().unwrap_or(0);
    there + u32::from(rule.counts_itself) <= fewest.copied().unwrap_or(0) + rule.max_skew
}

/// Whether a gang wants nodes for itself.
fn is_exclusive(server: &Server, pod: &PodSpec) -> bool {
    server
        .gang(&pod.gang_key())
        .is_some_and(|spec| spec.exclusive)
}

/// How many pods like this one a node has room for.
fn places_on(server: &Server, driver: &Driver, node: &str, pod: &PodSpec) -> i64 {
    let Some(found) = server.node(node) else {
        return 0;
    };
    let tolerated = found.taints.iter().all(|taint| {
        let tolerations = &pod.shape.constraints.tolerations;
        tolerations.iter().any(|one| one.tolerates(taint))
    });
    if !tolerated {
        return 0;
    }
    let here = || {
        server
            .pods()
            .filter(|one| one.takes_room() && one.spec.node.as_deref() == Some(node))
    };
    let mut others = here().filter(|one| !one.spec.ours || one.spec.gang_key() != pod.gang_key());
    let kept_apart = others
        .any(|one| is_exclusive(server, pod) || one.spec.ours && is_exclusive(server, &one.spec));
    if kept_apart || is_kept_away(server, found, pod) {
        return 0;
    }
    let cpu = pod.shape.requests[0].1;
    let free = found.allocatable[0].1 - driver.ledger().usage.used_on(node, "cpu");
    let by_room = (free / cpu).max(0);
    if pod.shape.host_ports.is_empty() {
        return by_room;
    }
    let taken = |port: &HostPort| {
        here().any(|one| {
            let ports = &one.spec.shape.host_ports;
            ports.iter().any(|two| two.conflicts(port))
        })
    };
    by_room.min(i64::from(!pod.shape.host_ports.iter().any(taken)))
}
