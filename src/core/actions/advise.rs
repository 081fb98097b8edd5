//! Before a gang is tried: what plugins in other processes say of nodes.
//!
//! They are asked once for a gang and a shape of its pods, all of them and at all their points at once, with
//! all nodes that the pods' constraints allow. Until the answers are there the gang waits, and others
//! go on. A plugin that does not answer and may not be left out keeps it waiting, and is asked again ever
//! more rarely.

use super::Cycle;
use super::claims::{nominated, reserved};
use super::notes::Stage;
use super::order::order_key;
use crate::framework::{Ask, Remote, asked_gang, asked_pod};
use crate::plugins::SLACK;
use crate::state::{Asking, ConstraintsId, GangId, NodeSet, PodId, ShapeId};
use muster_model::units::Millis;
use muster_model::{
    About, AskedNode, AskedPod, Body, Inquiry, MAX_ASKED_PODS, RemotePoint, RemoteQuestion, Why,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// If whoever carries questions does not keep the time, so much longer is waited here.
const GRACE: Millis = Millis(5_000);
/// A plugin is not asked about changed nodes more often than this.
const AGAIN: Millis = Millis(1_000);

/// So long nothing is said of it that plugins are asked: most answer before anybody could read it, and
/// some are asked again and again.
const QUIET: Millis = Millis(2_000);

/// What is known of what plugins have to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Advised {
    /// All that they have to say is known.
    Fully,
    /// They are being asked.
    Waits(Why),
    /// One does not answer and may not be left out.
    Fails(Why),
}

/// Finds out whether what plugins in other processes say of nodes is known, and asks them if not.
pub(super) fn advise(cx: &mut Cycle<'_>, gang_id: GangId) -> Advised {
    if cx.profile_of(gang_id).remotes.is_empty() {
        return Advised::Fully;
    }
    let shapes = shapes(cx, gang_id);
    let serials: Vec<u64> = shapes.keys().copied().collect();
    cx.state
        .keep_advice(gang_id, |serial| serials.contains(&serial));
    let (mut waits, mut fails) = (Vec::new(), None);
    for (serial, pod) in shapes {
        for index in 0..cx.profile_of(gang_id).remotes.len() {
            let remote = Arc::clone(&cx.profile_of(gang_id).remotes[index]);
            if !concerns(cx, &remote, pod) {
                continue;
            }
            match standing(cx, gang_id, serial, (index, &remote)) {
                Standing::Known => {}
                Standing::Failed(_) if remote.ignorable => {}
                Standing::Failed(words) => fails = fails.or(Some((remote, words))),
                Standing::Open => waits.push(remote),
                Standing::ToBeAsked if !cx.state.may_ask(gang_id) => {
                    // If all who are before it have nothing to ask.
                    cx.agenda.at(cx.now + GRACE, gang_id);
                    waits.push(remote);
                }
                Standing::ToBeAsked => {
                    if ask(cx, gang_id, (serial, pod), (index, &remote)) {
                        waits.push(remote);
                    }
                }
            }
        }
    }
    if !waits.is_empty() {
        let names: Vec<&str> = waits.iter().map(|remote| &*remote.name).collect();
        let message = format!("waits for what plugins say: {}", names.join(", "));
        return Advised::Waits(Why::new("AskingPlugins", &message));
    }
    match fails {
        Some((remote, words)) => {
            let message = format!("plugin {}: {words}; it is asked again", remote.name);
            Advised::Fails(Why::new("PluginFailed", &message))
        }
        None => Advised::Fully,
    }
}

/// Has a gang wait for what plugins say.
pub(super) fn wait_for_answers(cx: &mut Cycle<'_>, gang_id: GangId, why: Why) {
    nominated::give_up(cx, gang_id);
    reserved::cancel(cx, gang_id);
    let note = cx.agenda.note_mut(gang_id);
    let spoken_of = *note.asking_since.get_or_insert(cx.now) + QUIET;
    if spoken_of <= cx.now {
        note.why = Some(why);
    } else {
        cx.agenda.at(spoken_of, gang_id);
    }
    let key = order_key(cx, gang_id);
    cx.agenda.set_stage(cx.state, gang_id, Stage::Asking(key));
}

/// How far it is with one plugin, one gang and one shape.
enum Standing {
    Known,
    Open,
    ToBeAsked,
    Failed(Arc<str>),
}

fn standing(
    cx: &mut Cycle<'_>,
    gang: GangId,
    serial: u64,
    (index, remote): (usize, &Remote),
) -> Standing {
    let now = cx.now;
    let Some(advice) = cx.state.advice(gang, serial, index) else {
        return Standing::ToBeAsked;
    };
    if !advice.is_complete() {
        if now < advice.until() {
            return Standing::Open;
        }
        cx.state.give_up_asking(gang, serial, index);
    }
    let Some(advice) = cx.state.advice(gang, serial, index) else {
        return Standing::ToBeAsked;
    };
    let until = advice.until();
    if let Some(words) = advice.failure() {
        let words = Arc::clone(words);
        if now < until {
            cx.agenda.at(until, gang);
            return Standing::Failed(words);
        }
        return Standing::ToBeAsked;
    }
    // Whose place is held was found with what was said then.
    let held = cx.claims.nominated.contains(&gang) || cx.claims.reserved.contains_key(&gang);
    if held {
        return Standing::Known;
    }
    let nodes = cx.state.nodes();
    let other_nodes = advice.is_of_other_nodes(nodes);
    let other_pods = remote.depends_on_pods && advice.is_of_other_pods(nodes);
    let soon = until.min(advice.asked_at() + AGAIN);
    let holds_until = if other_nodes || other_pods {
        soon
    } else {
        until
    };
    if holds_until <= now {
        return Standing::ToBeAsked;
    }
    if other_nodes {
        cx.agenda.at(soon, gang);
    } else if advice.refuses_some() {
        cx.agenda.at(until, gang);
    }
    Standing::Known
}

fn concerns(cx: &Cycle<'_>, remote: &Remote, pod: PodId) -> bool {
    let shape = cx.state.shape_of(pod);
    remote.node_points().next().is_some()
        && shape.is_some_and(|shape| remote.concerns(cx.state, shape))
}

/// The shapes of a gang's pods that could be placed, by serial number, and one pod of each.
fn shapes(cx: &Cycle<'_>, gang_id: GangId) -> BTreeMap<u64, PodId> {
    let pods = cx.state[gang_id].pending.different();
    let serial = |id: PodId| cx.state.shapes().serial(cx.state.pod(id)?.shape);
    let mut shapes = BTreeMap::new();
    for id in pods {
        if let Some(serial) = serial(id) {
            shapes.entry(serial).or_insert(id);
        }
    }
    shapes
}

/// Asks one plugin at all its points. Says whether there was anything to ask.
fn ask(
    cx: &mut Cycle<'_>,
    gang_id: GangId,
    (serial, pod): (u64, PodId),
    (index, remote): (usize, &Arc<Remote>),
) -> bool {
    let Some(shape) = cx.state.pod(pod).map(|pod| pod.shape) else {
        return false;
    };
    let profile = cx.profile_of(gang_id);
    let allowed = cx.placer.allowed(cx.state, profile, pod);
    let nodes = asked_nodes(cx, &allowed, shape, remote);
    let (pods, pod_count) = asked_pods(cx, gang_id, shape);
    let gang = asked_gang(cx.state, gang_id);
    let key = gang.key.clone();
    let at_most = Millis(remote.at_most.0 + SLACK.0);
    let mut questions = Vec::new();
    // About no nodes there is nothing to ask: none will do.
    let points: Vec<RemotePoint> = remote.node_points().filter(|_| !nodes.is_empty()).collect();
    for point in points {
        let question = RemoteQuestion {
            plugin: Arc::clone(&remote.name),
            point,
            gang: gang.clone(),
            pods: pods.clone(),
            pod_count,
            nodes: Arc::clone(&nodes),
        };
        let ask = Ask::new(Body::Remote(Box::new(question)), at_most);
        let question = cx.claims.questions.word(About::Gang(key.clone()), ask);
        questions.push((question.id, point));
        cx.orders.asks.push(Inquiry::Ask(question));
    }
    let asks = !questions.is_empty();
    // One that waits for its turn may do so for as long as its answer may take.
    let until = cx.now + at_most + at_most + GRACE;
    let asking = Asking {
        gang: gang_id,
        shape: serial,
        plugin: index,
        nodes: allowed,
        until: if asks { until } else { cx.now + remote.holds },
        holds: remote.holds,
    };
    cx.state.ask_about_nodes(asking, questions);
    if asks {
        cx.agenda.at(until, gang_id);
    }
    asks
}

/// The nodes as a plugin is told of them. Within a cycle they are the same for all pods with the same
/// constraints.
fn asked_nodes(
    cx: &mut Cycle<'_>,
    allowed: &NodeSet,
    shape: ShapeId,
    remote: &Remote,
) -> Arc<[AskedNode]> {
    let constraints = cx.state.shapes().get(shape).map(|shape| shape.constraints);
    let key = constraints.map(|constraints| (constraints, remote.node_labels.clone()));
    if let Some(known) = key.as_ref().and_then(|key| cx.orders.asked_nodes.get(key)) {
        return Arc::clone(known);
    }
    let nodes = cx.state.nodes();
    let node = |id| {
        let labels = &nodes.facts(id).labels;
        let wanted = remote.node_labels.iter();
        AskedNode {
            name: nodes.name(id).to_owned(),
            labels: wanted
                .filter_map(|key| Some((key.clone(), labels.get(key)?.clone())))
                .collect(),
        }
    };
    let mut asked: Vec<AskedNode> = allowed.iter().map(node).collect();
    asked.sort_unstable();
    let asked: Arc<[AskedNode]> = asked.into();
    if let Some(key) = key {
        cx.orders.asked_nodes.insert(key, Arc::clone(&asked));
    }
    asked
}

/// What was already put together in a cycle: nodes by constraints, and the labels that go with them.
pub(super) type AskedNodes = BTreeMap<(ConstraintsId, Vec<String>), Arc<[AskedNode]>>;

/// The pods of a shape that could be placed, and how many they are.
fn asked_pods(cx: &Cycle<'_>, gang_id: GangId, shape: ShapeId) -> (Vec<AskedPod>, u32) {
    let classes = cx.state[gang_id].pending.classes();
    let members = classes.filter(|(class, _)| class.shape == shape);
    let members: Vec<PodId> = members
        .flat_map(|(_, turns)| turns.map(|(_, _, id)| id))
        .collect();
    let count = u32::try_from(members.len()).unwrap_or(u32::MAX);
    let shown = members.into_iter().take(MAX_ASKED_PODS);
    let asked = shown.filter_map(|id| asked_pod(cx.state, id, None));
    (asked.collect(), count)
}
