//! What was asked outside: no pod is bound before all that its decision asked was answered with yes, and
//! what was asked in vain is undone before it is asked again.

use super::Note;
use super::account::Account;
use muster_model::{About, Bind, Question};

/// A question has a number of its own; it is about a pod of ours that waits, or undoes an earlier one.
pub(super) fn ask(account: &mut Account, question: &Question) -> Option<Note> {
    let id = question.id;
    if !account.asked.number(id) {
        return Some(format!("question {id:?} was asked before"));
    }
    if let Some(undone) = question.undoes {
        let nothing = || format!("{id:?} undoes {undone:?}, which left nothing behind");
        return (!account.asked.undo(undone)).then(nothing);
    }
    let About::Pod { pod, node } = &question.about else {
        return None;
    };
    let found = account.pod(pod)?;
    if found.node.is_some() {
        // After the bind.
        return None;
    }
    let wrong = if !found.ours {
        "it is another scheduler's"
    } else if found.ordered.is_some() {
        "it is on its way already"
    } else if !account.has_node(node) {
        "it would go to a node that does not exist"
    } else {
        let gang = found.gang.clone();
        let before = account.asked.ask(question, (pod, node), gang)?;
        return Some(format!(
            "{id:?} is asked about {pod} before {before:?} was undone"
        ));
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
