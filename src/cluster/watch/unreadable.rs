//! Which objects of a kind cannot be read, or only in part: for the log, `/readyz` and the metrics, each once.

use muster_api::kinds::Identity;
use std::collections::BTreeSet;

/// So many are named on a page.
const NAMED: usize = 10;

/// Those objects, by namespace and name.
#[derive(Debug, Default)]
pub(super) struct Unreadable {
    now: BTreeSet<(String, String)>,
    /// Those of the list before, while another is under way.
    before: BTreeSet<(String, String)>,
}

impl Unreadable {
    /// A new list begins, and names all there are.
    pub(super) fn begin_list(&mut self) {
        let before = std::mem::take(&mut self.now);
        self.before.extend(before);
    }

    /// The list is complete.
    pub(super) fn end_list(&mut self) {
        self.before.clear();
    }

    /// An object cannot be read. Whether that is news.
    pub(super) fn note(&mut self, object: &Identity) -> bool {
        let key = key(object);
        let is_new = !self.before.contains(&key);
        self.now.insert(key) && is_new
    }

    /// An object can be read, or is gone. Whether it could not be before.
    pub(super) fn forget(&mut self, object: &Identity) -> bool {
        if self.now.is_empty() && self.before.is_empty() {
            return false;
        }
        let key = key(object);
        self.before.remove(&key);
        self.now.remove(&key)
    }

    /// How many there are, and the first of them; nothing where there is none.
    pub(super) fn in_words(&self) -> Option<String> {
        let name = |(namespace, name): &(String, String)| match namespace.as_str() {
            "" => name.clone(),
            namespace => format!("{namespace}/{name}"),
        };
        let named: Vec<String> = self.now.iter().take(NAMED).map(name).collect();
        let more = match self.now.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let (count, named) = (self.now.len(), named.join(", "));
        (count > 0).then(|| format!("{count} unreadable, left out: {named}{more}"))
    }
}

fn key(object: &Identity) -> (String, String) {
    (object.namespace.clone(), object.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> Identity {
        Identity {
            namespace: "team".to_owned(),
            name: name.to_owned(),
            uid: "1".to_owned(),
        }
    }

    #[test]
    fn each_is_news_once_and_is_named_until_it_can_be_read_or_is_gone() {
        let mut unreadable = Unreadable::default();
        assert_eq!(unreadable.in_words(), None);
        assert!(unreadable.note(&id("a")) && !unreadable.note(&id("a")));
        assert!(unreadable.note(&id("b")));
        let words = "2 unreadable, left out: team/a, team/b";
        assert_eq!(unreadable.in_words().as_deref(), Some(words));
        // A new list has one of them still, and another.
        unreadable.begin_list();
        assert!(!unreadable.note(&id("b")) && unreadable.note(&id("c")));
        unreadable.end_list();
        let words = "2 unreadable, left out: team/b, team/c";
        assert_eq!(unreadable.in_words().as_deref(), Some(words));
        unreadable.forget(&id("b"));
        assert!(unreadable.note(&id("b")), "again after it could be read");
        for name in ["b", "c", "never"] {
            unreadable.forget(&id(name));
        }
        assert_eq!(unreadable.in_words(), None);
    }

    #[test]
    fn of_many_the_first_ten_are_named() {
        let mut unreadable = Unreadable::default();
        for index in 0..1_000 {
            unreadable.note(&id(&format!("p{index:03}")));
        }
        let words = unreadable.in_words().unwrap();
        assert!(words.starts_with("1000 unreadable, left out: team/p000, "));
        assert!(words.ends_with("team/p009 and 990 more"), "{words}");
    }
}
