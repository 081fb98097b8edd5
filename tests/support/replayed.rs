//! A record that was written, played by the core again.

use muster::core::engine::Policy;
use muster::record::{Folder, Played, Player, Read, Reader};
use std::path::Path;

/// Plays all terms of a folder, each from its beginning; how many plans there are.
///
/// # Errors
/// The first plan that is another, and everything that is missing.
pub(crate) fn replayed(folder: &Path, policy: &Policy) -> Result<u64, String> {
    let mut plans = 0;
    for term in Folder::open(folder)
        .map_err(|error| error.to_string())?
        .terms
    {
        let mut reader = Reader::open(&term).map_err(|error| error.to_string())?;
        if !reader.has_beginning() {
            return Err(format!("{}: no beginning", term.name));
        }
        let mut player = Player::new(policy.clone());
        while let Some(read) = reader.read().map_err(|error| error.to_string())? {
            let Read::Line(line) = read else {
                return Err(format!("{}: {read:?}", term.name));
            };
            match player.play(&line).map_err(|error| error.to_string())? {
                Played::Heard => {}
                Played::Same(_) => plans += 1,
                Played::Differs(difference) => {
                    let entry = line.entry;
                    return Err(format!("{}, entry {entry}: {difference:#?}", term.name));
                }
            }
        }
    }
    Ok(plans)
}
