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
    fn an_object_is_found_by_what_names_it() {
        let mut objects = Objects::default();
        let all: [Object; 3] = [
            node("a", 1).into(),
            pod("a", None, 1).into(),
            group("a").into(),
        ];
        for object in &all {
            assert_eq!(objects.put(object.clone()), None);
        }
        for object in &all {
            assert_eq!(objects.get(&object.key()), Some(object));
            assert_eq!(object.key().of_name().kind(), object.key().kind());
        }
        assert_eq!(objects.all::<NodeSpec>().count(), 1);
        assert_eq!(objects.all::<GangSpec>().count(), 1);
        let key = all[0].key();
        assert!(objects.spec::<NodeSpec>(&key).is_some());
        assert!(objects.spec::<PodSpec>(&key).is_none());
        assert_eq!(objects.remove(&key), Some(all[0].clone()));
        assert_eq!(objects.all::<NodeSpec>().count(), 0);
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
