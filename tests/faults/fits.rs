//! Nothing waits that has room. Whether there is room says the linter, by the checks that it looks at plans
//! with, and by what the API server holds: it is told all of that, and tries the members of a gang on the
//! nodes in every way.

use muster::lint::{Linter, Trial};
use muster::model::{Event, GangKey, GangRef, GangSpec, Object, PodPhase, PodSpec};
use muster::sim::driver::Driver;
use muster::sim::ledger::GangLine;
use muster::sim::server::{Server, Stream};
use std::collections::BTreeMap;

/// So many places are tried for a gang; then nothing is said of it.
const TRIES: u32 = 4_000;

/// The pods of one gang.
#[derive(Default)]
struct Members<'a> {
    waiting: Vec<&'a PodSpec>,
    placed: BTreeMap<Option<&'a str>, u32>,
    succeeded: u32,
    /// Those who succeeded and are gone.
    retired: u32,
}

impl<'a> Members<'a> {
    fn all_placed(&self) -> u32 {
        self.placed.values().sum()
    }

    /// The pods that would have to be placed together for the gang to have its minimum, or one more if it
    /// has it; `None` if there are not enough. All of a subgroup are equal here.
    fn needed(&self, spec: Option<&GangSpec>) -> Option<Vec<&'a PodSpec>> {
        let mut left = self.waiting.clone();
        let mut needed = Vec::new();
        for one in spec.into_iter().flat_map(|spec| &spec.subgroups) {
            let name = Some(one.name.as_str());
            let placed = self.placed.get(&name).copied().unwrap_or(0);
            for _ in placed..one.min {
                let found = left
                    .iter()
                    .position(|pod| pod.subgroup.as_deref() == name)?;
                needed.push(left.remove(found));
            }
        }
        let min = spec.map_or(1, |spec| spec.min_available);
        let placed = self.all_placed() + self.retired + u32::try_from(needed.len()).unwrap();
        let more = min.saturating_sub(placed);
        let more = if needed.is_empty() { more.max(1) } else { more };
        for _ in 0..more {
            needed.push(left.pop()?);
        }
        Some(needed)
    }
}

/// Nothing waits that has room. Where members ended well and are gone, and the status does not say so yet, nothing
/// is said: a scheduler that started later cannot know them, and waits for them.
pub(crate) fn what_fits_is_placed(driver: &Driver) -> Result<(), String> {
    let (server, ledger) = (driver.server(), driver.ledger());
    let mut gangs: BTreeMap<GangKey, Members<'_>> = BTreeMap::new();
    for pod in server.pods().filter(|pod| pod.spec.ours) {
        let members = gangs.entry(pod.spec.gang_key()).or_default();
        if pod.spec.node.is_none() {
            members.waiting.push(&pod.spec);
        } else {
            let subgroup = pod.spec.subgroup.as_deref();
            *members.placed.entry(subgroup).or_default() += 1;
            members.succeeded += u32::from(pod.spec.phase == PodPhase::Succeeded);
        }
    }
    gangs.retain(|_, members| !members.waiting.is_empty());
    if gangs.is_empty() {
        return Ok(());
    }
    let everywhere = all_told(server, &[]);
    for (key, mut members) in gangs {
        let held = held_for_others(driver, &key);
        let without = (!held.is_empty()).then(|| all_told(server, &held));
        let linter = without.as_ref().unwrap_or(&everywhere);
        let total = ledger.gangs.get(&key).map(GangLine::total);
        let spec = server.gang(&key);
        members.retired = total
            .unwrap_or_default()
            .succeeded
            .saturating_sub(members.succeeded);
        let said = spec.map_or(0, |spec| spec.recalled.succeeded);
        let is_said = members.succeeded + members.retired <= said;
        let in_subgroups = spec.is_some_and(|spec| !spec.subgroups.is_empty());
        if members.retired > 0 && (!is_said || in_subgroups) {
            continue;
        }
        if spec.is_none() && !matches!(members.waiting[0].gang, GangRef::Own) {
            continue;
        }
        if spec.is_some_and(|spec| !spec.min_resources.is_empty())
            && members.all_placed() + members.retired == 0
        {
            // What is set aside for others may keep it out.
            continue;
        }
        let min = spec.map_or(1, |spec| spec.min_available);
        let most = spec.and_then(|spec| spec.replicas);
        let bound = total.unwrap_or_default().bound;
        if members.all_placed() >= min && most.is_some_and(|most| bound >= most) {
            // It has all that it may have.
            continue;
        }
        let Some(needed) = members.needed(spec) else {
            continue;
        };
        if needed.iter().any(|pod| !pod.volumes.is_empty()) {
            // Which nodes a claim that is not bound yet may be made for the linter does not judge.
            continue;
        }
        let mut near = needed.iter();
        if needed.len() > 1 && near.any(|pod| !pod.shape.pods.affinity.is_empty()) {
            // Where they may be hangs on where the first of them goes, which is not tried in every way.
            continue;
        }
        let mut search = Search {
            trial: linter.trial(),
            nodes: server.nodes().map(|node| node.name.as_str()).collect(),
            tries: TRIES,
            places: Vec::new(),
        };
        if search.fit(&needed, 0) {
            let scheduler = driver.brain().map(|brain| brain.scheduler());
            let why = scheduler.and_then(|one| one.explain_gang(&key, driver.now(), 10));
            let says = why.map(|why| why.condition.message);
            let waiting = members.waiting.len();
            let places = &search.places;
            return Err(format!(
                "{key}: of {waiting} pods that wait these would fit: {places:?}, and it says: {says:?}"
            ));
        }
    }
    Ok(())
}

/// Some of a resource on a node.
type Held = (String, String, i64);

/// What the scheduler holds for members of other gangs that are not there yet, and of slots what those who have
/// them leave of it.
fn held_for_others(driver: &Driver, key: &GangKey) -> Vec<Held> {
    let Some(brain) = driver.brain() else {
        return Vec::new();
    };
    let state = brain.scheduler().state();
    let own = state.find_gang(key);
    let held = state.all_held().filter(|(gang, _)| Some(*gang) != own);
    let on = held.flat_map(|(_, held)| &held.on);
    let taken = state.all_slots().filter(|(.., slot)| slot.seat().is_some());
    let beside = taken.filter_map(|(.., slot)| Some((slot.node()?, slot.filler())));
    let on = on.map(|(node, room)| (*node, room)).chain(beside);
    let amounts = on.flat_map(|(node, room)| room.iter().map(move |one| (node, one)));
    let named = amounts.map(|(node, (dimension, amount))| {
        let (node, name) = (state.nodes().name(node), state.dimensions().name(dimension));
        (node.to_owned(), name.to_owned(), amount)
    });
    named.collect()
}

/// A linter that has heard all that the API server holds, of nodes that offer so much less.
fn all_told(server: &Server, held: &[Held]) -> Linter {
    let mut linter = Linter::default();
    for told in Stream::ALL.iter().flat_map(|stream| server.list(*stream)) {
        let mut event = told.event.clone();
        if let Event::Is(Object::Node(node)) = &mut event {
            for (name, amount) in &mut node.allocatable {
                let here = held
                    .iter()
                    .filter(|(on, of, _)| (on, of) == (&node.name, name));
                *amount -= here.map(|(_, _, held)| held).sum::<i64>();
            }
        }
        linter.hear(&event);
    }
    linter
}

/// Looks for places on which the linter has nothing to say.
struct Search<'a> {
    trial: Trial,
    nodes: Vec<&'a str>,
    tries: u32,
    /// Who went where.
    places: Vec<(String, String)>,
}

impl Search<'_> {
    /// Whether there are places for all of some pods; equal ones go in the order of nodes, where the order
    /// in which they are placed does not matter.
    fn fit(&mut self, pods: &[&PodSpec], from: usize) -> bool {
        let Some((first, rest)) = pods.split_first() else {
            return self.trial.whole().is_empty();
        };
        for index in from..self.nodes.len() {
            if self.tries == 0 {
                return false;
            }
            self.tries -= 1;
            if self.trial.take(&first.key, self.nodes[index]).is_some() {
                continue;
            }
            let next = rest.first().filter(|next| {
                first.shape == next.shape
                    && first.subgroup == next.subgroup
                    && first.shape.spread.is_empty()
                    && first.shape.pods.affinity.is_empty()
            });
            let (name, node) = (&first.key.name, self.nodes[index]);
            self.places.push((name.clone(), node.to_owned()));
            if self.fit(rest, next.map_or(0, |_| index)) {
                return true;
            }
            self.places.pop();
            self.trial.give_back();
        }
        false
    }
}
