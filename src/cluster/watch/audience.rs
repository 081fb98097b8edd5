//! Who listens to a watch, and as what they are told: the engine hears events, a controller the objects.

use crate::News;
use muster_api::Reading;
use muster_api::kinds::{Identity, Watchable};
use muster_model::Event;

/// Who listens to watches of a kind.
pub trait Audience<K: Watchable>: Send + Sync + 'static {
    /// A piece of what they are told.
    type News: Send + 'static;

    /// What is told of an object that is so, in this order.
    ///
    /// # Errors
    /// When the object cannot be read: why.
    fn is(&self, object: K) -> Result<[Option<Self::News>; 2], String>;

    /// What is told when an object is gone.
    fn gone(&self, object: Identity) -> [Option<Self::News>; 2];

    /// All objects that exist have been told.
    fn synced(&self) -> Self::News;
}

/// The engine's.
impl<K: Watchable> Audience<K> for Reading {
    type News = News;

    fn is(&self, object: K) -> Result<[Option<News>; 2], String> {
        let (says, is_silent) = (object.says(self), object.is_silent(self));
        let subject = K::subject(object.meta().uid.as_deref().unwrap_or_default());
        let found = object.exists(self)?;
        let said = subject.and_then(|subject| match says {
            Some(says) => Some(News::Says(subject, Some(says))),
            None => is_silent.then_some(News::Silent(subject)),
        });
        Ok([Some(News::Event(Event::Is(found))), said])
    }

    fn gone(&self, object: Identity) -> [Option<News>; 2] {
        let subject = K::subject(&object.uid);
        let gone = Event::Gone(<K as Watchable>::gone(object));
        let silent = subject.map(|subject| News::Says(subject, None));
        [Some(News::Event(gone)), silent]
    }

    fn synced(&self) -> News {
        News::Synced(K::KIND)
    }
}
