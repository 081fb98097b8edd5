//! A store of objects of all kinds, by what names them: for whoever holds a cluster's objects and does
//! not decide.

use super::{Object, ObjectKey, ObjectKind, Spec};
use std::collections::BTreeMap;

/// Objects of all kinds; one of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objects(BTreeMap<ObjectKind, BTreeMap<ObjectKey, Object>>);

impl Objects {
    /// Puts an object in the place of the one of its name, and returns that one.
    pub fn put(&mut self, object: Object) -> Option<Object> {
        let key = object.key().of_name();
        self.0.entry(key.kind()).or_default().insert(key, object)
    }

    /// Takes an object out, by its name.
    pub fn remove(&mut self, key: &ObjectKey) -> Option<Object> {
        let key = key.clone().of_name();
        self.0.get_mut(&key.kind())?.remove(&key)
    }

    /// The object of a name, whatever its uid.
    #[must_use]
    pub fn get(&self, key: &ObjectKey) -> Option<&Object> {
        self.0.get(&key.kind())?.get(&key.clone().of_name())
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, key: &ObjectKey) -> Option<&mut Object> {
        self.0.get_mut(&key.kind())?.get_mut(&key.clone().of_name())
    }

    /// What is told of the object of a name; `None` also where the name is one of another kind.
    #[must_use]
    pub fn spec<S: Spec>(&self, key: &ObjectKey) -> Option<&S> {
        self.get(key).and_then(S::of)
    }

    /// All objects of a kind, by their names.
    pub fn of_kind(&self, kind: ObjectKind) -> impl Iterator<Item = &Object> {
        self.0.get(&kind).into_iter().flat_map(BTreeMap::values)
    }

    /// What is told of all objects of a kind, by their names.
    pub fn all<S: Spec>(&self) -> impl Iterator<Item = &S> {
        self.of_kind(S::KIND).filter_map(S::of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{group, node, pod};
    use crate::{GangSpec, NodeSpec, PodKey, PodSpec};

    #[test]
    fn an_object_of_any_kind_is_found_by_what_names_it() {
        let all: Vec<Object> = ObjectKind::ALL.iter().map(|kind| kind.empty()).collect();
        let mut objects = Objects::default();
        for object in &all {
            assert_eq!(objects.put(object.clone()), None);
        }
        for (kind, object) in ObjectKind::ALL.iter().zip(&all) {
            let key = object.key();
            assert_eq!((key.kind(), key.clone().of_name().kind()), (*kind, *kind));
            assert_eq!(objects.get(&key), Some(object));
            assert_eq!(objects.of_kind(*kind).collect::<Vec<_>>(), [object]);
            assert_eq!(objects.remove(&key), Some(object.clone()));
            assert_eq!(objects.get(&key), None);
        }
        assert!(
            ObjectKind::ALL
                .iter()
                .all(|kind| objects.of_kind(*kind).next().is_none())
        );
    }

    #[test]
    fn what_is_told_of_an_object_is_read_as_its_own_kind_only() {
        let mut objects = Objects::default();
        let key = Object::from(node("a", 1)).key();
        objects.put(node("a", 1).into());
        objects.put(group("a").into());
        assert_eq!(objects.spec(&key), Some(&node("a", 1)));
        assert_eq!(objects.spec::<PodSpec>(&key), None);
        assert_eq!(objects.all::<NodeSpec>().count(), 1);
        assert_eq!(objects.all::<GangSpec>().count(), 1);
        assert_eq!(objects.all::<PodSpec>().count(), 0);
    }

    #[test]
    fn another_pod_of_the_same_name_takes_its_place() {
        let mut objects = Objects::default();
        let first = pod("a", None, 1);
        let second = PodSpec {
            key: PodKey {
                uid: "another".to_owned(),
                ..first.key.clone()
            },
            ..first.clone()
        };
        objects.put(first.clone().into());
        assert_eq!(objects.put(second.clone().into()), Some(first.into()));
        assert_eq!(objects.all::<PodSpec>().collect::<Vec<_>>(), [&second]);
    }
}
