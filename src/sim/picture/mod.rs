//! What `--svg` writes, and what the page of `--html` draws its cluster by: the cluster as its tree,
//! what runs where, and what is left.
//!
//! `tree` puts the nodes into their domains, `layout` gives them places on a sheet, `scene` says
//! what is there at a moment, `svg` writes it down. Only `svg` knows how it looks.

pub mod layout;
pub mod palette;
mod scene;
mod slots;
mod svg;
mod text;
pub mod tree;

pub use scene::{Scene, Subject, numbers};

use super::driver::Driver;
use muster_model::units::Time;

/// The picture of the cluster as it is in the driver now, as an SVG file; `at` is what it is said to
/// be as of.
#[must_use]
pub fn picture(driver: &Driver, subject: &Subject, at: Time) -> String {
    svg::write(&Scene::of(driver, subject, at))
}
