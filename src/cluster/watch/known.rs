//! Which objects of a kind have been told, so that a new list can tell which are gone.

use muster_api::kinds::Identity;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
struct Entry {
    uid: Box<str>,
    listed_in: u64,
}

/// The objects of one kind that exist, as far as they have been told.
#[derive(Clone, Debug, Default)]
pub struct Known {
    objects: BTreeMap<(Box<str>, Box<str>), Entry>,
    list: u64,
}

impl Known {
    /// A new list begins.
    pub fn begin_list(&mut self) {
        self.list += 1;
    }

    /// An object exists. Returns the one of another uid whose name it took: its deletion was
    /// never told.
    pub fn exists(&mut self, object: &Identity) -> Option<Identity> {
        let key = (
            object.namespace.as_str().into(),
            object.name.as_str().into(),
        );
        let entry = Entry {
            uid: object.uid.as_str().into(),
            listed_in: self.list,
        };
        let before = self.objects.insert(key, entry)?;
        (*before.uid != *object.uid).then(|| Identity {
            uid: before.uid.into(),
            ..object.clone()
        })
    }

    /// An object is gone. Whether that is news: another object may have its name by now.
    pub fn gone(&mut self, object: &Identity) -> bool {
        let key = (
            object.namespace.as_str().into(),
            object.name.as_str().into(),
        );
        match self.objects.get(&key) {
            Some(entry) if *entry.uid == *object.uid => self.objects.remove(&key).is_some(),
            _ => false,
        }
    }

    /// The list is complete: forgets and returns what was not in it.
    pub fn sweep(&mut self) -> Vec<Identity> {
        let list = self.list;
        self.objects
            .extract_if(.., |_, entry| entry.listed_in < list)
            .map(|((namespace, name), entry)| Identity {
                namespace: namespace.into(),
                name: name.into(),
                uid: entry.uid.into(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str, uid: &str) -> Identity {
        Identity {
            namespace: "ns".to_owned(),
            name: name.to_owned(),
            uid: uid.to_owned(),
        }
    }

    #[test]
    fn a_sweep_forgets_what_the_new_list_lacks() {
        let mut known = Known::default();
        known.begin_list();
        for name in ["a", "b", "c"] {
            assert_eq!(known.exists(&id(name, "1")), None);
        }
        assert!(known.sweep().is_empty());
        known.begin_list();
        known.exists(&id("b", "1"));
        assert_eq!(known.sweep(), [id("a", "1"), id("c", "1")]);
        assert!(known.sweep().is_empty());
    }

    #[test]
    fn what_appears_between_two_lists_is_not_swept_by_the_first() {
        let mut known = Known::default();
        known.begin_list();
        known.sweep();
        known.exists(&id("late", "1"));
        assert!(known.sweep().is_empty());
    }

    #[test]
    fn a_list_that_breaks_off_and_begins_again_sweeps_once_complete() {
        let mut known = Known::default();
        known.begin_list();
        known.exists(&id("a", "1"));
        known.begin_list();
        known.begin_list();
        assert_eq!(known.sweep(), [id("a", "1")]);
    }

    #[test]
    fn a_name_taken_by_another_uid_means_the_first_is_gone() {
        let mut known = Known::default();
        known.exists(&id("a", "1"));
        assert_eq!(known.exists(&id("a", "2")), Some(id("a", "1")));
        assert!(!known.gone(&id("a", "1")), "late news of the first one");
        assert!(known.gone(&id("a", "2")));
        assert!(!known.gone(&id("a", "2")));
    }
}
