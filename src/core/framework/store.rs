//! What plugins share within one cycle.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;

/// One value of each type; emptied before each cycle.
#[derive(Debug, Default)]
pub struct Store {
    values: BTreeMap<TypeId, Box<dyn Any + Send + Sync>>,
}

impl Store {
    /// Keeps a value, in place of the last of its type.
    pub fn put<T: Send + Sync + 'static>(&mut self, value: T) {
        self.values.insert(TypeId::of::<T>(), Box::new(value));
    }

    /// The value of a type.
    #[must_use]
    pub fn get<T: 'static>(&self) -> Option<&T> {
        self.values.get(&TypeId::of::<T>())?.downcast_ref()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.values.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_type() {
        let mut store = Store::default();
        store.put(7_u32);
        store.put("seven");
        store.put(8_u32);
        assert_eq!(store.get::<u32>(), Some(&8));
        assert_eq!(store.get::<&str>(), Some(&"seven"));
        store.clear();
        assert_eq!(store.get::<u32>(), None);
    }
}
