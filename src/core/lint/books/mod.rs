//! The linter's books that need no other: each hears of one thing, and says what was told of it. The
//! account has them all, and the checks look into it.

mod asked;
mod claims;
mod gangs;
mod queues;
mod slots;
mod volumes;

pub(super) use asked::AskedBook;
pub(super) use claims::ClaimsHeld;
pub(super) use gangs::{Count, Gang, Gangs, Labels};
pub(super) use queues::Queues;
pub(super) use slots::{SlotBook, SlotKey};
pub(super) use volumes::VolumeBook;
