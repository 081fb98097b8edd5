//! What the engine hears from the watches and the lanes.

use muster_api::kinds::{Kind, Subject};
use muster_api::said::Said;
use muster_model::Event;
use tokio::sync::mpsc;

/// One piece of news.
#[derive(Debug)]
pub enum News {
    /// Something happened.
    Event(Event),
    /// An object says this; `None`: it is gone.
    Says(Subject, Option<Said>),
    /// Nothing is to be written on an object any more: a pod that is bound, by whomever.
    Silent(Subject),
    /// All objects of this kind that exist have been told, or the cluster does not serve it.
    Synced(Kind),
}

/// How many pieces may wait before those who bring them have to.
pub const NEWS_BOUND: usize = 4096;

/// Where news goes.
pub type NewsSender = mpsc::Sender<News>;
