//! Testbeds of a cluster, brought into the book as a whole: their slots may be in several objects.
//!
//! One with slices is shown anew at most a few times a second, however many of these change.

use super::book::Book;
use super::troubles::{say_failed, say_left_out};
use super::views::{Key, Kind, View};
use futures::stream::{self, Stream, StreamExt};
use kube::core::DeserializeGuard;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use kube::{Api, Client, Resource, ResourceExt};
use muster_api::crd::{Testbed, TestbedSlice};
use muster_api::slices::Slices;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// A Testbed with slices is shown so long after the first of them changed.
const TOGETHER: Duration = Duration::from_millis(300);

type Told<K> = Result<Event<DeserializeGuard<K>>, watcher::Error>;

/// What one of both watches tells.
enum News {
    Testbed(Told<Testbed>),
    Slice(Told<TestbedSlice>),
}

fn events<K>(client: Client) -> impl Stream<Item = Told<K>>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + 'static,
{
    let api = Api::<DeserializeGuard<K>>::all(client);
    watch(api, watcher::Config::default()).default_backoff()
}

/// Brings all Testbeds into the book, for ever.
pub(super) async fn follow(client: Client, book: Arc<Book>) {
    let testbeds = events(client.clone()).map(News::Testbed);
    let mut news = pin!(stream::select(testbeds, events(client).map(News::Slice)));
    let mut tables = Tables::default();
    // Said once of each until it works again.
    let mut failing = [false; 2];
    let mut at = Instant::now();
    loop {
        let waits = tables.is_stale();
        tokio::select! {
            next = news.next() => {
                let Some(next) = next else { return };
                let (which, failed) = match next {
                    News::Testbed(told) => (0, told.map(|event| tables.testbed(event, &book))),
                    News::Slice(told) => (1, told.map(|event| tables.slice(event, &book))),
                };
                if let (Err(error), false) = (&failed, failing[which]) {
                    say_failed(["testbeds", "testbedslices"][which], error);
                }
                failing[which] = failed.is_err();
                if !waits {
                    at = Instant::now() + TOGETHER;
                }
            }
            () = sleep_until(at), if waits => tables.show(&book),
        }
    }
}

/// What is known of Testbeds and their slices.
#[derive(Default)]
struct Tables {
    testbeds: BTreeMap<String, Testbed>,
    slices: Slices,
    /// Those of a list that is under way.
    seen: BTreeSet<String>,
    seen_slices: BTreeSet<String>,
    /// All Testbeds, and all slices, were told once.
    told: [bool; 2],
    /// Testbeds that are to be shown anew.
    stale: BTreeSet<String>,
}

fn key(name: &str) -> Key {
    Key::new(Kind::Testbed, "", name)
}

impl Tables {
    fn testbed(&mut self, event: Event<DeserializeGuard<Testbed>>, book: &Book) {
        match event {
            Event::Init => self.seen.clear(),
            Event::InitApply(object) => {
                self.seen.insert(object.name_any());
                self.testbed_is(object, book);
            }
            Event::InitDone => {
                let seen = std::mem::take(&mut self.seen);
                self.testbeds.retain(|name, _| seen.contains(name));
                self.told[0] = true;
                self.begin(book);
                if self.told[1] {
                    book.synced(Kind::Testbed, &seen.iter().map(|name| key(name)).collect());
                }
            }
            Event::Apply(object) => self.testbed_is(object, book),
            Event::Delete(object) => {
                self.testbeds.remove(&object.name_any());
                book.gone(&key(&object.name_any()));
            }
        }
    }

    fn testbed_is(&mut self, object: DeserializeGuard<Testbed>, book: &Book) {
        let name = object.name_any();
        match object.0 {
            Ok(testbed) => {
                self.testbeds.insert(name.clone(), testbed);
                self.changed(name, book);
            }
            Err(invalid) => {
                say_left_out(Kind::Testbed.name(), &name, &invalid);
                self.testbeds.remove(&name);
                book.gone(&key(&name));
            }
        }
    }

    fn slice(&mut self, event: Event<DeserializeGuard<TestbedSlice>>, book: &Book) {
        let changed = match event {
            Event::Init => {
                self.seen_slices.clear();
                None
            }
            Event::InitApply(object) => {
                self.seen_slices.insert(object.name_any());
                self.slice_is(object)
            }
            Event::InitDone => {
                let seen = std::mem::take(&mut self.seen_slices);
                self.stale.extend(self.slices.keep(&seen));
                if !std::mem::replace(&mut self.told[1], true) {
                    self.begin(book);
                }
                None
            }
            Event::Apply(object) => self.slice_is(object),
            Event::Delete(object) => {
                let uid = object.uid().unwrap_or_default();
                self.slices.gone(&object.name_any(), &uid)
            }
        };
        self.stale.extend(changed.map(|(testbed, _)| testbed));
    }

    fn slice_is(&mut self, object: DeserializeGuard<TestbedSlice>) -> Option<(String, u32)> {
        let (name, uid) = (object.name_any(), object.uid().unwrap_or_default());
        match object.0 {
            Ok(slice) => self.slices.is(&slice),
            Err(invalid) => {
                say_left_out("TestbedSlice", &name, &invalid);
                self.slices.gone(&name, &uid)
            }
        }
    }

    /// A Testbed changed: one that has slices is shown with what else changes of it.
    fn changed(&mut self, name: String, book: &Book) {
        let is_whole = !self.slices.has(&name) && self.told[1];
        self.stale.insert(name);
        if is_whole {
            self.show(book);
        }
    }

    /// All is told: what there is is shown.
    fn begin(&mut self, book: &Book) {
        if self.told == [true; 2] {
            self.show(book);
            let all = self.testbeds.keys().map(|name| key(name));
            book.synced(Kind::Testbed, &all.collect());
        }
    }

    /// Whether something is to be shown, and may be.
    fn is_stale(&self) -> bool {
        self.told == [true; 2] && !self.stale.is_empty()
    }

    /// Shows what changed.
    fn show(&mut self, book: &Book) {
        for name in std::mem::take(&mut self.stale) {
            if let Some(testbed) = self.testbeds.get(&name) {
                book.put(View::from(&self.slices.whole(testbed)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::book::Bounds;
    use super::*;
    use serde_json::{Value, json};

    fn slots(numbers: &[i32]) -> Value {
        let slot = |position: &i32| {
            json!({"position": position, "nodeName": "n", "nodeId": "", "nodePosition": 0,
                   "ghost": "g", "state": "Free"})
        };
        numbers.iter().map(slot).collect()
    }

    fn testbed(uid: &str, numbers: &[i32]) -> DeserializeGuard<Testbed> {
        let spec = json!({"nodeLabel": "l", "slotsPerNode": 1, "resourcesPerSlot": {"cpu": "1"}});
        let meta = json!({"name": "lab", "uid": uid});
        let status = json!({"slots": slots(numbers)});
        let value = json!({"apiVersion": "muster.dev/v1alpha1", "kind": "Testbed",
                           "metadata": meta, "spec": spec, "status": status});
        serde_json::from_value(value).unwrap()
    }

    fn slice(owner: &str, numbers: &[i32]) -> DeserializeGuard<TestbedSlice> {
        let owner = json!([{"apiVersion": "muster.dev/v1alpha1", "kind": "Testbed", "name": "lab",
                            "uid": owner, "controller": true}]);
        let meta = json!({"name": "lab.1000", "uid": "s", "ownerReferences": owner});
        let spec = json!({"testbed": "lab", "slots": slots(numbers)});
        let value = json!({"apiVersion": "muster.dev/v1alpha1", "kind": "TestbedSlice",
                           "metadata": meta, "spec": spec});
        serde_json::from_value(value).unwrap()
    }

    fn shown(book: &Book) -> Option<Vec<i32>> {
        let held = book.get(&key("lab"))?;
        let View::Testbed(view) = &held.view else {
            return None;
        };
        Some(view.slots.iter().map(|slot| slot.position).collect())
    }

    #[test]
    fn a_testbed_is_shown_whole_and_not_before_its_slices_are_told() {
        let book = Book::new(Bounds::default());
        let mut tables = Tables::default();
        tables.testbed(Event::Init, &book);
        tables.testbed(Event::InitApply(testbed("1", &[0])), &book);
        tables.testbed(Event::InitDone, &book);
        assert_eq!((shown(&book), tables.is_stale()), (None, false));
        tables.slice(Event::Init, &book);
        tables.slice(Event::InitApply(slice("1", &[1_000])), &book);
        tables.slice(Event::InitDone, &book);
        assert_eq!(shown(&book), Some(vec![0, 1_000]));
        // What changes comes together.
        tables.testbed(Event::Apply(testbed("1", &[0, 1])), &book);
        tables.slice(Event::Apply(slice("1", &[1_000, 1_001])), &book);
        assert_eq!(shown(&book), Some(vec![0, 1_000]));
        assert!(tables.is_stale());
        tables.show(&book);
        assert_eq!(shown(&book), Some(vec![0, 1, 1_000, 1_001]));
        // A list without it.
        tables.slice(Event::Init, &book);
        tables.slice(Event::InitDone, &book);
        tables.show(&book);
        assert_eq!(shown(&book), Some(vec![0, 1]));
        // Without slices it is shown at once.
        tables.testbed(Event::Apply(testbed("1", &[])), &book);
        assert_eq!(shown(&book), Some(vec![]));
        tables.testbed(Event::Delete(testbed("1", &[])), &book);
        assert_eq!(shown(&book), None);
    }

    #[test]
    fn what_an_earlier_testbed_of_the_name_had_is_not_shown() {
        let book = Book::new(Bounds::default());
        let mut tables = Tables::default();
        tables.slice(Event::InitDone, &book);
        tables.testbed(Event::InitDone, &book);
        tables.slice(Event::Apply(slice("1", &[1_000])), &book);
        tables.testbed(Event::Apply(testbed("2", &[0])), &book);
        tables.show(&book);
        assert_eq!(shown(&book), Some(vec![0]));
    }
}
