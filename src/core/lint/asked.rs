//! What was asked outside: no pod is bound before all that its decision asked was answered with yes, and
//! what was asked in vain is undone before it is asked again.

use super::Note;
use super::account::Account;
use muster_model::{AskedPlace, Bind, Question, QuestionId};

/// A question has a number of its own; it is about pods of one gang of ours that wait, or undoes an earlier
/// one.
pub(super) fn ask(account: &mut Account, question: &Question) -> Option<Note> {
    let id = question.id;
    if !account.asked.number(id) {
        return Some(format!("question {id:?} was asked before"));
    }
    if let Some(undone) = question.undoes {
        let nothing = || format!("{id:?} undoes {undone:?}, which left nothing behind");
        let places = question.about.places();
        return (!account.asked.undo(undone, places)).then(nothing);
    }
    let places = question.about.places();
    let first = account.pod(&places.first()?.pod)?;
    if first.node.is_some() {
        // After the bind.
        return None;
    }
    let gang = first.gang.clone();
    if let Some(note) = places.iter().find_map(|place| at(account, id, place)) {
        return Some(note);
    }
    let strange = |place: &&AskedPlace| account.pod(&place.pod).is_some_and(|pod| pod.gang != gang);
    if let Some(AskedPlace { pod, .. }) = places.iter().find(strange) {
        return Some(format!("{id:?} is asked about {gang} and {pod}"));
    }
    let (pod, before) = account.asked.ask(question, gang)?;
    Some(format!(
        "{id:?} is asked about {pod} before {before:?} was undone"
    ))
}

/// What is wrong with a question about a place.
fn at(account: &Account, id: QuestionId, place: &AskedPlace) -> Option<Note> {
    let AskedPlace { pod, node } = place;
    let found = account.pod(pod)?;
    let wrong = if !found.ours {
        "it is another scheduler's"
    } else if found.ordered.is_some() {
        "it is on its way already"
    } else if !account.has_node(node) {
        "it would go to a node that does not exist"
    } else {
        return None;
    };
    Some(format!("{id:?} is asked about {pod}: {wrong}"))
}

/// No member of a gang is bound while an answer about its decision is open, or was not yes.
pub(super) fn nothing_open(account: &Account, order: &Bind) -> Option<Note> {
    let gang = &account.pod(&order.pod)?.gang;
    let (id, refused) = account.asked.open_about(gang)?;
    let (pod, what) = (&order.pod, if refused { "refused" } else { "open" });
    Some(format!("bind of {pod}: {id:?} about {gang} is {what}"))
}
