//! What is known of all objects, and their last changes: bounded in number and in bytes.
//!
//! Who fills it brings whole objects; who reads it asks for one, for all of a kind, or for what has changed since a
//! position. A reader that comes too late for that begins anew with all there is. Nothing is kept for a reader.

use super::views::{Key, Kind, View};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Objects of a kind.
    pub objects: usize,
    /// Changes.
    pub changes: usize,
    /// Their bytes, together.
    pub bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            objects: 20_000,
            changes: 4_096,
            bytes: 8 << 20,
        }
    }
}

/// An object that is known.
#[derive(Debug)]
pub struct Held {
    /// Which.
    pub key: Key,
    /// What is shown of it.
    pub view: View,
    /// The same as JSON.
    pub text: String,
}

/// What became of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It was not known before.
    Added,
    /// It is not as it was.
    Modified,
    /// It is gone.
    Deleted,
}

impl Action {
    /// Its name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// A change.
#[derive(Clone, Debug)]
pub struct Change {
    /// Its number.
    pub position: u64,
    /// What happened.
    pub action: Action,
    /// To which object, as it is or was.
    pub held: Arc<Held>,
}

/// What has changed since a position.
#[derive(Debug)]
pub enum Since {
    /// This, in order.
    Changes(Vec<Change>),
    /// It is not known any more.
    Lost,
}

#[derive(Default)]
struct Inner {
    objects: BTreeMap<Key, Arc<Held>>,
    /// How many there are of each kind.
    counts: BTreeMap<Kind, usize>,
    changes: VecDeque<Change>,
    bytes: usize,
    /// The number of the last change.
    last: u64,
    synced: BTreeSet<Kind>,
    left_out: u64,
}

/// The book.
pub struct Book {
    bounds: Bounds,
    inner: Mutex<Inner>,
    last: watch::Sender<u64>,
}

impl Book {
    /// An empty one.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            inner: Mutex::default(),
            last: watch::Sender::new(0),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An object is so. One too many of its kind is left out, and counted.
    pub fn put(&self, view: View) {
        let Ok(text) = serde_json::to_string(&view) else {
            return;
        };
        let key = view.key();
        let mut inner = self.inner();
        let action = match inner.objects.get(&key) {
            Some(before) if before.text == text => return,
            Some(_) => Action::Modified,
            None => {
                let count = inner.counts.entry(key.kind).or_default();
                if *count >= self.bounds.objects {
                    inner.left_out += 1;
                    return;
                }
                *count += 1;
                Action::Added
            }
        };
        let held = Arc::new(Held {
            key: key.clone(),
            view,
            text,
        });
        inner.objects.insert(key, Arc::clone(&held));
        self.note(&mut inner, action, held);
    }

    /// An object is gone.
    pub fn gone(&self, key: &Key) {
        let mut inner = self.inner();
        if let Some(held) = inner.objects.remove(key) {
            if let Some(count) = inner.counts.get_mut(&key.kind) {
                *count -= 1;
            }
            self.note(&mut inner, Action::Deleted, held);
        }
    }

    /// All objects of a kind have been told: these; others are gone.
    pub fn synced(&self, kind: Kind, seen: &BTreeSet<Key>) {
        let known = self.list(kind, None);
        for held in known.iter().filter(|held| !seen.contains(&held.key)) {
            self.gone(&held.key);
        }
        self.inner().synced.insert(kind);
    }

    /// Whether all kinds have been told.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.inner().synced.len() == Kind::ALL.len()
    }

    /// How often an object was left out because there were too many.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.inner().left_out
    }

    fn note(&self, inner: &mut Inner, action: Action, held: Arc<Held>) {
        inner.last += 1;
        inner.bytes += held.text.len();
        let position = inner.last;
        inner.changes.push_back(Change {
            position,
            action,
            held,
        });
        while inner.changes.len() > self.bounds.changes || inner.bytes > self.bounds.bytes {
            let Some(oldest) = inner.changes.pop_front() else {
                break;
            };
            inner.bytes -= oldest.held.text.len();
        }
        self.last.send_replace(position);
    }

    /// An object.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<Arc<Held>> {
        self.inner().objects.get(key).cloned()
    }

    /// All of a kind, of one namespace or of all.
    #[must_use]
    pub fn list(&self, kind: Kind, namespace: Option<&str>) -> Vec<Arc<Held>> {
        let inner = self.inner();
        let from = Key::new(kind, namespace.unwrap_or_default(), "");
        let fits = |key: &Key| key.kind == kind && namespace.is_none_or(|it| it == key.namespace);
        let all = inner.objects.range(from..).take_while(|(key, _)| fits(key));
        all.map(|(_, held)| Arc::clone(held)).collect()
    }

    /// The number of the last change, and all objects as of then.
    #[must_use]
    pub fn snapshot(&self) -> (u64, Vec<Arc<Held>>) {
        let inner = self.inner();
        (inner.last, inner.objects.values().cloned().collect())
    }

    /// What has changed since a position: at most so much at once.
    #[must_use]
    pub fn since(&self, position: u64, most: usize) -> Since {
        let inner = self.inner();
        let oldest = inner.last - inner.changes.len() as u64;
        let Some(skip) = position.checked_sub(oldest) else {
            return Since::Lost;
        };
        if position > inner.last {
            return Since::Lost;
        }
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let found = inner.changes.iter().skip(skip).take(most);
        Since::Changes(found.cloned().collect())
    }

    /// Tells of each change that there is one.
    #[must_use]
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_api::crd::{Scheduling, SchedulingSpec};

    fn view(name: &str, testbed: &str) -> View {
        let mut one = Scheduling::new(name, SchedulingSpec::default());
        one.metadata.namespace = Some("team".to_owned());
        one.spec.testbed = testbed.to_owned();
        View::from(&one)
    }

    fn book(changes: usize, bytes: usize) -> Book {
        Book::new(Bounds {
            objects: 3,
            changes,
            bytes,
        })
    }

    fn told(book: &Book, position: u64) -> Option<Vec<(u64, &'static str, String)>> {
        match book.since(position, 100) {
            Since::Lost => None,
            Since::Changes(all) => Some(
                all.into_iter()
                    .map(|one| (one.position, one.action.name(), one.held.key.name.clone()))
                    .collect(),
            ),
        }
    }

    #[test]
    fn a_change_is_told_once_and_what_is_the_same_is_none() {
        let book = book(10, 1 << 20);
        book.put(view("a", "x"));
        book.put(view("a", "x"));
        book.put(view("a", "y"));
        book.gone(&Key::new(Kind::Scheduling, "team", "a"));
        book.gone(&Key::new(Kind::Scheduling, "team", "a"));
        let name = || "a".to_owned();
        let expected = vec![
            (1, "ADDED", name()),
            (2, "MODIFIED", name()),
            (3, "DELETED", name()),
        ];
        assert_eq!(told(&book, 0), Some(expected));
        assert_eq!(told(&book, 3), Some(Vec::new()));
        assert_eq!(told(&book, 4), None, "a position that does not exist");
    }

    #[test]
    fn what_is_too_old_is_lost_by_number_and_by_bytes() {
        let by_number = book(2, 1 << 20);
        for testbed in ["x", "y", "z"] {
            by_number.put(view("a", testbed));
        }
        assert_eq!(told(&by_number, 0), None);
        assert_eq!(told(&by_number, 1).map(|all| all.len()), Some(2));
        let by_bytes = book(100, 10);
        by_bytes.put(view("a", "x"));
        assert_eq!(told(&by_bytes, 0), None);
        assert_eq!(told(&by_bytes, 1), Some(Vec::new()));
    }

    #[test]
    fn one_too_many_is_left_out_and_a_list_is_of_its_namespace() {
        let book = book(10, 1 << 20);
        for name in ["a", "b", "c", "d"] {
            book.put(view(name, "x"));
        }
        assert_eq!(book.left_out(), 1);
        assert_eq!(book.list(Kind::Scheduling, Some("team")).len(), 3);
        assert_eq!(book.list(Kind::Scheduling, Some("tea")).len(), 0);
        assert_eq!(book.list(Kind::Testbed, None).len(), 0);
    }

    #[test]
    fn what_a_whole_list_lacks_is_gone() {
        let book = book(10, 1 << 20);
        book.put(view("a", "x"));
        book.put(view("b", "x"));
        book.synced(
            Kind::Scheduling,
            &BTreeSet::from([Key::new(Kind::Scheduling, "team", "b")]),
        );
        assert_eq!(book.list(Kind::Scheduling, None).len(), 1);
        assert!(!book.is_complete());
    }
}
