//! How orders reach a cluster, and how its news comes back.
//!
//! [`watch`] tells the engine what happens; [`lanes`] carry out what it decides; [`lease`] says
//! who decides, and [`fence`] keeps who does not from writing. The protocols of the writes are
//! pure state machines ([`binding`], [`evicting`], [`asking`], [`words`]): they do no I/O and read no clock, so
//! the simulator and the live lanes run the same ones. [`remote`] asks plugins in other processes.
//! Nothing here decides anything about pods.

pub mod access;
mod alarm;
pub mod answerer;
pub mod asking;
pub mod attempt;
pub mod binding;
pub mod client;
pub mod clock;
pub mod encoding;
pub mod ending;
mod error;
pub mod error_text;
pub mod evicting;
mod explanations;
pub mod fence;
mod fenced_io;
pub mod health;
pub mod lanes;
pub mod lease;
pub mod metrics;
mod news;
pub mod orders;
mod process;
pub mod pulse;
pub mod remote;
pub mod reviews;
pub mod shares;
pub mod stalls;
pub mod this_build;
pub mod volumes;
pub mod watch;
pub mod words;

pub use alarm::Alarm;
pub use clock::Clock;
pub use error::Error;
pub use explanations::Explanations;
pub use fence::Fence;
pub use health::Health;
pub use metrics::Metrics;
pub use metrics::external as external_metrics;
pub use news::{NEWS_BOUND, News, NewsSender};
