//! The fields of `muster why --output json`. docs/why.md tells what each means.

use serde::{Deserialize, Serialize};

/// What times are counted from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ClockKind {
    /// The beginning of the scenario.
    #[default]
    Scenario,
    /// 1970, UTC.
    Utc,
}

/// Why a gang is where it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Gang {
    /// `PodGroup`, or `Pod` for a pod on its own.
    pub kind: String,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// What times are counted from, in seconds.
    pub clock: ClockKind,
    /// As of when.
    pub as_of: f64,
    /// How far it is.
    pub phase: String,
    /// The condition that says why it is not further.
    pub condition: ConditionSaid,
    /// Its priority.
    pub priority: i32,
    /// How long it is protected from its start; `null` is for ever.
    pub lifetime_seconds: Option<f64>,
    /// When it was submitted.
    pub submitted_at: Option<f64>,
    /// Its members.
    pub members: Members,
    /// The books of its queue.
    pub queue: Option<QueueBooks>,
    /// What its members without a place wait for.
    pub waits: Option<Waits>,
    /// What the others hold.
    pub runs: Option<Runs>,
    /// How it last lost its place, or some members.
    pub disruption: Option<Disruption>,
    /// Who refuses that it leaves.
    pub refused: Option<Reason>,
    /// When it is tried again.
    pub back_at: Option<f64>,
}

/// A condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConditionSaid {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it is true.
    pub status: bool,
    /// Its reason.
    pub reason: String,
    /// Its message.
    pub message: String,
}

/// How many members stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Members {
    /// How many must run.
    pub minimum: u32,
    /// How many there are.
    pub all: u32,
    /// On a node.
    pub bound: u32,
    /// Running, of these.
    pub running: u32,
    /// On the way to a node.
    pub assumed: u32,
    /// About to leave their node.
    pub leaving: u32,
    /// Ended well.
    pub succeeded: u32,
    /// Ended badly.
    pub failed: u32,
}

/// The books of a queue, in cores' worth.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QueueBooks {
    /// Its name.
    pub name: String,
    /// The queue above it.
    pub parent: Option<String>,
    /// Whether it exists.
    pub exists: bool,
    /// What it is entitled to.
    pub fair_share: f64,
    /// What it holds.
    pub usage: f64,
    /// By how much that is more than its share.
    pub over: f64,
    /// What it held lately.
    pub flow: f64,
    /// What gangs with an unlimited lifetime may raise its flow to; `null`: the whole cluster.
    pub flow_limit: Option<f64>,
    /// What is left of its excess budget, in core-minutes.
    pub budget_left: f64,
    /// What the cluster is worth.
    pub cluster: f64,
    /// What it may hold at most.
    pub limits: Vec<Bound>,
    /// What is guaranteed to it.
    pub guaranteed: Vec<Bound>,
    /// How many gangs wait in it.
    pub waiting: usize,
}

/// An amount of a resource that bounds what a queue holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Bound {
    /// The resource.
    pub resource: String,
    /// So much is held.
    pub held: String,
    /// So much is the bound.
    pub bound: String,
}

/// What members without a place wait for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Waits {
    /// Place in the queue, from 1.
    pub position: Option<u32>,
    /// Who is ahead.
    pub ahead: Ahead,
    /// When it was last tried.
    pub tried_at: Option<f64>,
    /// What it was short of.
    pub short: Option<Short>,
    /// What the books of its queue said.
    pub held: Option<Held>,
    /// Who makes room.
    pub asked: Option<Asked>,
    /// The place that is reserved for it.
    pub place: Option<Place>,
    /// For whom room is kept that it may not take.
    pub kept_for: Option<KeptFor>,
    /// The room that is held for it.
    pub room_held: Option<RoomHeld>,
    /// When it may start.
    pub start: Start,
}

/// Who is ahead.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ahead {
    /// How many.
    pub count: Option<u32>,
    /// The first of them.
    pub first: Vec<String>,
    /// The one that the queue's books hold back.
    pub held_back: Option<Reason>,
}

/// A name and what is said of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Reason {
    /// Of whom.
    pub name: String,
    /// What.
    pub message: String,
}

/// What a gang was short of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Short {
    /// So many members found a node.
    pub fit: Option<u32>,
    /// So many had to.
    pub needed: u32,
    /// The first that did not.
    pub pod: Option<String>,
    /// How many nodes there were.
    pub nodes: usize,
    /// What they said, and how many.
    pub reasons: Vec<NodeCount>,
    /// The node that lacked least.
    pub closest: Option<Closest>,
}

/// A reason or a node, and how many nodes or pods.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeCount {
    /// Which.
    pub name: String,
    /// How many.
    pub count: usize,
}

/// A node that lacks nothing but resources.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Closest {
    /// Its name.
    pub node: String,
    /// What it lacks.
    pub lacks: Vec<Lack>,
}

/// What it lacks of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Lack {
    /// The resource.
    pub resource: String,
    /// How much, with the resource's name.
    pub amount: String,
}

/// What a queue's books say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Held {
    /// Whose; `null`: the cluster's.
    pub by: Option<String>,
    /// When they are asked again although nothing happens.
    pub until: Option<f64>,
    /// Whether they would say so if the queue held nothing.
    pub for_good: bool,
}

/// Who was asked to make room.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Asked {
    /// What came of it: `Found`, `InVain`, or why nobody was asked.
    pub outcome: String,
    /// Of `InVain`: that there is no place whoever goes is proven, and not just the end of a bounded search.
    pub proven: bool,
    /// Only so many of a queue have others asked.
    pub heads: Option<u32>,
    /// When.
    pub at: Option<f64>,
    /// Pods that were chosen to go.
    pub go: u32,
    /// The gangs of some of them.
    pub go_of: Vec<String>,
    /// Pods that could be made to go.
    pub may_go: u32,
    /// A gang of which they are.
    pub example: Option<String>,
    /// Pods that were leaving anyway.
    pub leaving: u32,
    /// The gangs that keep what they have.
    pub spared: Vec<SparedCount>,
    /// Pods of other schedulers.
    pub foreign: u32,
}

/// How many gangs keep what they have for a reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SparedCount {
    /// The reason.
    pub reason: String,
    /// With the reason `Plugin`: which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// How many gangs.
    pub gangs: u32,
    /// One of them.
    pub example: String,
    /// When that is over for the first of them, where it ends by itself.
    pub until: Option<f64>,
}

/// A place that is reserved for a gang.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Place {
    /// On so many nodes.
    pub nodes: u32,
    /// When it will be free; `null`: nobody knows.
    pub at: Option<f64>,
    /// Some of the gangs on these nodes.
    pub holders: Vec<PlaceHolder>,
    /// How many there are.
    pub holder_count: usize,
}

/// A gang on the nodes of a place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PlaceHolder {
    /// Its name.
    pub name: String,
    /// When its lifetime ends; `null`: nobody knows when it leaves.
    pub ends_at: Option<f64>,
}

/// For whom room is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KeptFor {
    /// The first of them.
    pub first: String,
    /// On so many nodes something is kept for it.
    pub nodes: usize,
    /// For so many others something is kept, too.
    pub others: usize,
}

/// Room that is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RoomHeld {
    /// On so many nodes.
    pub nodes: usize,
    /// Until so many pods have left.
    pub leaving: usize,
}

/// When a gang may start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Start {
    /// Not before this; `null`: unknown.
    pub at: Option<f64>,
    /// What that hangs on.
    pub hangs_on: String,
}

/// What members with a place hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Runs {
    /// Since when.
    pub since: Option<f64>,
    /// Some of the nodes, and how many members each has.
    pub nodes: Vec<NodeCount>,
    /// How many nodes.
    pub node_count: usize,
    /// How near to each other its members are; empty where no Topology says it.
    pub near: Vec<Near>,
    /// On how many of its nodes nobody else is.
    pub own_nodes: usize,
    /// What is free on those, in cores' worth; `null`: whoever was asked does not say it.
    pub lost_opportunity: Option<f64>,
    /// What the placement of its minimum lost; `null`: it is not known.
    pub packed: Option<Packed>,
    /// Members beyond the minimum.
    pub surplus: u32,
    /// What it holds, in cores' worth.
    pub worth: f64,
    /// How long it is protected.
    pub protection: Protection,
    /// By how much its queue is over its share, in cores' worth.
    pub queue_over: f64,
    /// To whom it could lose what.
    pub could_lose: Vec<Could>,
}

/// What a placement lost, in cores' worth.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Packed {
    /// What stayed free on the nodes that it opened.
    pub lost: f64,
    /// What any placement of these members on these nodes had to lose.
    pub at_least: f64,
}

/// How near to each other some members are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Near {
    /// Of a subgroup; `null`: all.
    pub subgroup: Option<String>,
    /// By which Topology.
    pub topology: String,
    /// How far two of them are from each other at most; `null`: no domain has all.
    pub max_hops: Option<u32>,
    /// The narrowest domain that has all of them.
    pub domain: Option<String>,
    /// The node, where all are on one.
    pub node: Option<String>,
    /// The widest that may have them.
    pub limit: Option<NearLimit>,
}

/// How far from each other members may be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NearLimit {
    /// In one domain of this level; `node`: on one node. Absent where the Topology has no levels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// No further than this.
    pub max_hops: u32,
}

/// How long a gang is protected from those who take for the sake of fairness.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Protection {
    /// `Unlimited`, `Until`, `Over` or `Unknown`.
    pub kind: String,
    /// Until when, or since when not any more.
    pub at: Option<f64>,
}

/// What a gang could lose to somebody.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Could {
    /// To whom: `EqualInQueue`, `HigherInQueue`, `NeedyQueue` or `Head`.
    pub to: String,
    /// Everything.
    pub all: bool,
    /// So many members beyond its minimum.
    pub surplus: u32,
    /// Why not more.
    pub kept: Option<String>,
    /// With `Plugin`: which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// When that is over, where it ends by itself.
    pub until: Option<f64>,
}

/// How a gang lost its place, or some members.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Disruption {
    /// When that was decided.
    pub at: f64,
    /// For which gang.
    pub by: Option<String>,
    /// Of which queue.
    pub by_queue: Option<String>,
    /// Why it: `Surplus`, `PastItsLifetime`, `Due`, `LowerPriority`, `Moved` or `NotCompleted`.
    pub why: String,
    /// How many of its pods were told to go.
    pub pods: u32,
}

/// Who holds what of a queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Queue {
    /// `Queue`.
    pub kind: String,
    /// What times are counted from, in seconds.
    pub clock: ClockKind,
    /// As of when.
    pub as_of: f64,
    /// Its books.
    pub books: QueueBooks,
    /// Its condition `Ready`.
    pub condition: ConditionSaid,
    /// The gangs that hold most.
    pub holders: Vec<Holder>,
    /// How many hold something.
    pub holder_count: usize,
    /// From whom it borrows.
    pub borrows: Vec<Lender>,
    /// How many there are.
    pub lender_count: usize,
    /// Members beyond minima that may be taken back now.
    pub surplus: u32,
    /// Gangs past their lifetime that may be taken back now.
    pub expired: u32,
    /// Why the others keep what they have.
    pub spared: Vec<SparedCount>,
    /// The first that wait.
    pub first: Vec<String>,
    /// Why the first waits.
    pub head: Option<ConditionSaid>,
    /// The queues below it.
    pub children: Vec<Child>,
    /// How many there are.
    pub child_count: usize,
}

/// A gang that holds something.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Holder {
    /// Its name.
    pub name: String,
    /// What it holds, in cores' worth.
    pub worth: f64,
    /// Its pods.
    pub pods: u32,
    /// Those beyond its minimum.
    pub surplus: u32,
    /// How long it is protected.
    pub protection: Protection,
}

/// A queue that does not use its share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Lender {
    /// Its name.
    pub name: String,
    /// What it does not use, in cores' worth.
    pub unused: f64,
    /// How many gangs wait in it.
    pub waiting: usize,
    /// The queue that borrows.
    pub to: String,
}

/// A queue below another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Child {
    /// Its name.
    pub name: String,
    /// What it is entitled to, in cores' worth.
    pub fair_share: f64,
    /// What it holds.
    pub usage: f64,
    /// How many gangs wait in it.
    pub waiting: usize,
}
