//! What is explained anew.

use super::{GangExplanation, QueueExplanation, TestbedExplanation};
use crate::GangKey;
use std::sync::Arc;

/// Something is explained anew, or gone.
#[derive(Clone, Debug)]
pub enum Explained {
    /// A gang.
    Gang(GangKey, Box<GangExplanation>),
    /// A gang is gone.
    GangGone(GangKey),
    /// A queue.
    Queue(Box<QueueExplanation>),
    /// A queue is gone.
    QueueGone(Arc<str>),
    /// A testbed.
    Testbed(Box<TestbedExplanation>),
    /// A testbed is gone.
    TestbedGone(String),
}
