//! Which objects are meant: `labelSelector` and `fieldSelector`.

use serde_json::Value;

/// What an object must be like; nothing is asked of it where there are no terms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    labels: Vec<Term>,
    fields: Vec<Term>,
}

/// One thing that is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    key: String,
    asks: Asks,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Asks {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
}

impl Asks {
    fn holds(&self, found: Option<&str>) -> bool {
        let is_one = |of: &[String]| found.is_some_and(|found| of.iter().any(|one| one == found));
        match self {
            Self::In(of) => is_one(of),
            Self::NotIn(of) => !is_one(of),
            Self::Exists => found.is_some(),
            Self::Absent => found.is_none(),
        }
    }
}

impl Selection {
    /// Reads both selectors.
    ///
    /// # Errors
    /// What of them cannot be read.
    pub(crate) fn read(labels: &str, fields: &str) -> Result<Self, String> {
        let labels: Result<Vec<Term>, String> = parts(labels).map(label_term).collect();
        let fields: Result<Vec<Term>, String> = parts(fields).map(field_term).collect();
        Ok(Self {
            labels: labels.map_err(|error| format!("labelSelector: {error}"))?,
            fields: fields.map_err(|error| format!("fieldSelector: {error}"))?,
        })
    }

    /// Whether an object is meant.
    pub(crate) fn has(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        let of_labels = |term: &Term| term.asks.holds(labels[&term.key].as_str());
        let of_fields = |term: &Term| {
            let path = format!("/{}", term.key.replace('.', "/"));
            // A field that is not there is empty.
            let found = object.pointer(&path).map_or(String::new(), text);
            term.asks.holds(Some(&found))
        };
        self.labels.iter().all(of_labels) && self.fields.iter().all(of_fields)
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The parts between commas that are in no parentheses.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    let parts = text.split(move |one: char| {
        match one {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        one == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty())
}

fn label_term(text: &str) -> Result<Term, String> {
    if let Some(key) = text.strip_prefix('!') {
        return term(key, Asks::Absent);
    }
    if let Some(term) = compared(text) {
        return term;
    }
    let mut words = text.splitn(2, char::is_whitespace);
    let (key, rest) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let rest = rest.trim();
    if rest.is_empty() {
        return term(key, Asks::Exists);
    }
    let set = |rest: &str| {
        let inside = rest.trim().strip_prefix('(')?.strip_suffix(')')?;
        let values = inside.split(',').map(|one| one.trim().to_owned());
        Some(values.collect::<Vec<String>>())
    };
    let asks = match rest.strip_prefix("notin") {
        Some(rest) => set(rest).map(Asks::NotIn),
        None => rest.strip_prefix("in").and_then(set).map(Asks::In),
    };
    term(key, asks.ok_or_else(|| wrong(text))?)
}

fn field_term(text: &str) -> Result<Term, String> {
    compared(text).unwrap_or_else(|| Err(wrong(text)))
}

/// `key=value`, `key==value` or `key!=value`.
fn compared(text: &str) -> Option<Result<Term, String>> {
    let (key, value) = text.split_once('=')?;
    let value = value.strip_prefix('=').unwrap_or(value).trim().to_owned();
    Some(match key.strip_suffix('!') {
        Some(key) => term(key, Asks::NotIn(vec![value])),
        None => term(key, Asks::In(vec![value])),
    })
}

fn term(key: &str, asks: Asks) -> Result<Term, String> {
    let key = key.trim();
    if key.is_empty() || key.contains(|one: char| one.is_whitespace() || "()!".contains(one)) {
        return Err(wrong(key));
    }
    Ok(Term {
        key: key.to_owned(),
        asks,
    })
}

fn wrong(text: &str) -> String {
    let cut: String = text.chars().take(80).collect();
    format!("{cut:?} is neither key=value, key!=value, key, !key, key in (a,b) nor key notin (a,b)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn labels_are_selected_by_all_that_kubectl_knows() {
        let pod = json!({"metadata": {"labels": {"app": "a", "muster.dev/pod-group": "g"}}});
        let has = |labels: &str| Selection::read(labels, "").unwrap().has(&pod);
        for labels in [
            "",
            "app",
            "app=a",
            "app==a",
            "app!=b",
            "!other",
            "app in (a, b)",
            "app notin (b,c)",
            "other notin (x)",
            "muster.dev/pod-group=g,app in (a),!x",
        ] {
            assert!(has(labels), "{labels}");
        }
        for labels in [
            "other",
            "app=b",
            "app!=a",
            "!app",
            "app in (b)",
            "app notin (a)",
            "other in (a)",
        ] {
            assert!(!has(labels), "{labels}");
        }
    }

    #[test]
    fn fields_are_selected_by_their_paths() {
        let pod = json!({"metadata": {"name": "a"}, "spec": {"nodeName": "n"}});
        let has = |fields: &str| Selection::read("", fields).unwrap().has(&pod);
        assert!(has("metadata.name=a,spec.nodeName=n,status.phase!=Failed"));
        assert!(has("status.phase="));
        assert!(!has("metadata.name=b"));
    }

    #[test]
    fn what_is_no_selector_is_said() {
        for labels in ["a in b", "a near (b)", "=b", "a b c", "(,)", "a in (b"] {
            let error = Selection::read(labels, "").unwrap_err();
            assert!(error.starts_with("labelSelector: "), "{labels}: {error}");
        }
        assert!(Selection::read("", "metadata.name").is_err());
    }
}
