//! What controllers hear: a watch for each resource, each at its own pace and in its own order. One that breaks loses
//! what was on its way; the list after it tells what is there, and what it lacks of what was heard before is gone.

use muster_api::kinds::Identity;
use muster_controllers::{ObjectName, Observation, Resource};
use muster_model::units::Time;
use std::collections::BTreeMap;

/// The watches of controllers.
#[derive(Debug, Default)]
pub(super) struct Ears {
    watches: BTreeMap<Resource, Watch>,
    /// The uids of what was heard to be there.
    heard: BTreeMap<ObjectName, String>,
}

/// One of them.
#[derive(Debug, Default)]
struct Watch {
    /// News arrives in its order, the last by then.
    until: Time,
    /// How much of it is on its way.
    under_way: u64,
    /// Rises when it breaks: what was on its way before is lost.
    generation: u64,
    /// It broke, and the list after it is not there yet.
    broken: bool,
}

/// How a piece of news gets there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// At once.
    Now,
    /// Then, with the watch of this generation.
    At(Time, u64),
    /// Never.
    Lost,
}

impl Ears {
    /// How news of a resource gets there that would be there at this time.
    pub(super) fn way(&mut self, resource: Resource, at: Time, now: Time) -> Way {
        let watch = self.watches.entry(resource).or_default();
        if watch.broken {
            return Way::Lost;
        }
        watch.until = at.max(watch.until);
        // What is to arrive at this moment may not have arrived yet.
        if watch.until <= now && watch.under_way == 0 {
            return Way::Now;
        }
        watch.under_way += 1;
        Way::At(watch.until, watch.generation)
    }

    /// News arrives; whether it was not lost with its watch.
    pub(super) fn arrives(&mut self, resource: Resource, generation: u64) -> bool {
        let watch = self.watches.entry(resource).or_default();
        if watch.generation != generation {
            return false;
        }
        watch.under_way = watch.under_way.saturating_sub(1);
        true
    }

    /// Notes what is heard.
    pub(super) fn note(&mut self, news: &Observation) {
        match news {
            Observation::Gone(resource, id) => _ = self.heard.remove(&name_of(*resource, id)),
            news => {
                if let Some(id) = identity(news) {
                    self.heard.insert(name_of(news.resource(), &id), id.uid);
                }
            }
        }
    }

    /// The watch of a resource breaks; whether it was whole.
    pub(super) fn cut(&mut self, resource: Resource) -> bool {
        let watch = self.watches.entry(resource).or_default();
        if watch.broken {
            return false;
        }
        (watch.broken, watch.under_way) = (true, 0);
        watch.generation += 1;
        true
    }

    /// A list takes the place of the broken watch; what is to be heard, if it was broken.
    pub(super) fn mend(
        &mut self,
        resource: Resource,
        list: Vec<Observation>,
    ) -> Option<Vec<Observation>> {
        let watch = self.watches.get_mut(&resource)?;
        if !std::mem::take(&mut watch.broken) {
            return None;
        }
        let before = self.heard.extract_if(.., |on, _| on.resource == resource);
        let mut before: BTreeMap<ObjectName, String> = before.collect();
        let mut news = Vec::new();
        for one in &list {
            let Some(id) = identity(one) else { continue };
            let on = name_of(resource, &id);
            if let Some(uid) = before.remove(&on)
                && uid != id.uid
            {
                news.push(gone(on, uid));
            }
        }
        news.extend(before.into_iter().map(|(on, uid)| gone(on, uid)));
        news.extend(list);
        news.push(Observation::Synced(resource));
        Some(news)
    }
}

fn gone(on: ObjectName, uid: String) -> Observation {
    let id = Identity {
        namespace: on.namespace,
        name: on.name,
        uid,
    };
    Observation::Gone(on.resource, id)
}

fn name_of(resource: Resource, id: &Identity) -> ObjectName {
    ObjectName {
        resource,
        namespace: id.namespace.clone(),
        name: id.name.clone(),
    }
}

/// Of which object news is that is there.
fn identity(news: &Observation) -> Option<Identity> {
    let meta = match news {
        Observation::Pod(one) => &one.metadata,
        Observation::Node(one) => &one.metadata,
        Observation::Namespace(one) => &one.metadata,
        Observation::Testbed(one) => &one.metadata,
        Observation::TestbedSlice(one) => &one.metadata,
        Observation::BatchJob(one) => &one.metadata,
        Observation::Scheduling(one) => &one.metadata,
        Observation::QueueJob(one) => &one.metadata,
        Observation::Other(_, one) => &one.metadata,
        Observation::Gone(..) | Observation::Synced(_) | Observation::NotServed(_) => return None,
    };
    Some(Identity::of(meta))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(name: &str, uid: &str) -> Observation {
        let pod = json!({"metadata": {"namespace": "n", "name": name, "uid": uid}});
        Observation::read(Resource::Pods, pod).unwrap()
    }

    fn told(news: &[Observation]) -> Vec<String> {
        let words = news.iter().map(|one| match one {
            Observation::Gone(_, id) => format!("-{} {}", id.name, id.uid),
            Observation::Synced(_) => "synced".to_owned(),
            other => {
                let id = identity(other).unwrap();
                format!("{} {}", id.name, id.uid)
            }
        });
        words.collect()
    }

    #[test]
    fn news_of_one_resource_keeps_its_order_and_waits_for_no_other() {
        let mut ears = Ears::default();
        let (pods, jobs) = (Resource::Pods, Resource::Jobs);
        assert_eq!(ears.way(pods, Time(5), Time(1)), Way::At(Time(5), 0));
        assert_eq!(ears.way(pods, Time(2), Time(2)), Way::At(Time(5), 0));
        assert_eq!(ears.way(jobs, Time(2), Time(2)), Way::Now);
        assert!(ears.arrives(pods, 0) && ears.arrives(pods, 0));
        assert_eq!(ears.way(pods, Time(6), Time(6)), Way::Now);
    }

    #[test]
    fn after_a_break_a_list_tells_what_is_there_and_what_is_gone() {
        let mut ears = Ears::default();
        for (name, uid) in [("kept", "1"), ("gone", "2"), ("another", "3")] {
            ears.note(&pod(name, uid));
        }
        let on_its_way = ears.way(Resource::Pods, Time(9), Time(1));
        assert_eq!(on_its_way, Way::At(Time(9), 0));
        assert!(ears.cut(Resource::Pods) && !ears.cut(Resource::Pods));
        assert!(!ears.arrives(Resource::Pods, 0), "lost");
        assert_eq!(ears.way(Resource::Pods, Time(2), Time(2)), Way::Lost);
        let list = || vec![pod("another", "4"), pod("kept", "1"), pod("new", "5")];
        let heard = ears.mend(Resource::Pods, list()).unwrap();
        let wanted = [
            "-another 3",
            "-gone 2",
            "another 4",
            "kept 1",
            "new 5",
            "synced",
        ];
        assert_eq!(told(&heard), wanted);
        assert!(ears.mend(Resource::Pods, list()).is_none(), "it is whole");
    }
}
