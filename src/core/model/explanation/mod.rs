//! Why a gang is where it is and who holds what of a queue, as data: the one form of it. The engine
//! makes it, `muster why --output json` and `/debug/why` print it as serde writes it (docs/why.md has
//! the fields), and `muster why` makes its sentences of it.
//!
//! Fields are added and never change their meaning; a reader passes over what it does not know. A field
//! that is missing has its default, and a word of a newer program is kept as it came (`Other`). Times
//! are written in seconds, worth in cores; both to the thousandth.

mod claims;
mod gang;
mod hide;
mod news;
mod numbers;
mod queue;
mod runs;
#[cfg(feature = "serde")]
mod seconds;
mod slots;
mod spared;
mod waits;

pub use claims::{ClaimKind, RoomClaim};
pub use gang::{Disruption, GangExplanation, Lost, Members, NotOurs, Reason};
pub use news::Explained;
pub use numbers::Thousandths;
pub use queue::{Books, Bound, Child, Holder, Lender, QueueExplanation};
pub use runs::{
    Could, Near, NearLimit, NodeCount, Packed, Protection, ProtectionKind, Runs, Taker,
};
pub use slots::{Claimant, ClaimedSlot, SlotIs, SlotLine, SlotWaiter, TestbedExplanation};
pub use spared::{Spared, SparedCount};
pub use waits::{
    Ahead, Asked, Closest, HangsOn, Held, KeptFor, Lack, Outcome, Place, PlaceHolder, RoomHeld,
    Short, Start, Waits,
};

/// What times are counted from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "camelCase")
)]
pub enum Clock {
    /// The beginning of the scenario.
    #[default]
    Scenario,
    /// 1970, UTC.
    Utc,
}

/// A list of words, each written as it stands here.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $word:ident,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub enum $name {
            $($(#[$of])* $word,)+
            /// What a newer program says.
            #[cfg_attr(feature = "serde", serde(untagged))]
            Other(String),
        }

        impl $name {
            /// The words that this program says.
            pub const ALL: &[Self] = &[$(Self::$word),+];
        }

        impl Default for $name {
            fn default() -> Self {
                Self::Other(String::new())
            }
        }
    };
}
use words;
