//! A term of a node selector: of pods' affinity, required or preferred, and of volumes.

use super::unsupported::Unsupported;
use crate::slim;
use muster_model::{Operator, Requirement, Term};

/// A term; what of it cannot be read is noted and left out.
pub(super) fn term(path: &str, term: &slim::Term, notes: &mut Unsupported) -> Term {
    let mut read = |list: &str, requirements: &[slim::Requirement]| {
        let one = |found: &slim::Requirement| requirement(&format!("{path}.{list}"), found, notes);
        requirements.iter().filter_map(one).collect()
    };
    let labels: Vec<Requirement> = read("matchExpressions", &term.match_expressions);
    let mut values = labels.iter().flat_map(|one| &one.values);
    // An expression with what cannot be a label's value holds nowhere in kube-scheduler, whatever its
    // operator. Such a pod was made before the API server refused it.
    let labels = if values.all(|value| may_be_a_label(value)) {
        labels
    } else {
        vec![Requirement::default()]
    };
    Term {
        labels,
        fields: read("matchFields", &term.match_fields),
    }
}

/// Whether a text may be a label's value.
fn may_be_a_label(text: &str) -> bool {
    let outer = |c: char| c.is_ascii_alphanumeric();
    let inner = |c: char| outer(c) || matches!(c, '-' | '_' | '.');
    text.len() <= 63
        && text.chars().all(inner)
        && (text.is_empty() || (text.starts_with(outer) && text.ends_with(outer)))
}

fn requirement(
    path: &str,
    found: &slim::Requirement,
    notes: &mut Unsupported,
) -> Option<Requirement> {
    let operator = match found.operator.as_str() {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        "Gt" => Operator::Gt,
        "Lt" => Operator::Lt,
        other => {
            notes.add(format!("{path}.operator: {other:?}"));
            return None;
        }
    };
    Some(Requirement {
        key: found.key.clone(),
        operator,
        values: found.values.clone(),
    })
}
