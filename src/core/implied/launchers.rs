//! Launchers that are made when their workers run: the PodGroup of such an MPIJob counts the launcher, and a minimum that
//! counts it is never there. So it is the workers; the launcher comes beside them, onto the room that `minResources`
//! holds.

use muster_model::{Event, GangKey, GangSpec, Object, ObjectKey, Source};
use std::collections::BTreeMap;

/// PodGroups that MPIJobs control, and for how many workers the launchers wait.
#[derive(Clone, Debug, Default)]
pub(super) struct LateLaunchers {
    of_jobs: BTreeMap<(String, String), OfJob>,
}

/// What belongs to one MPIJob, by namespace and name.
#[derive(Clone, Debug, Default)]
struct OfJob {
    is_there: bool,
    /// Stays when it is deleted, for as long as there is a PodGroup: what runs then is not below its minimum.
    workers_first: Option<u32>,
    /// Its PodGroups as they were written: one of a kind.
    groups: BTreeMap<Source, GangSpec>,
}

impl LateLaunchers {
    /// Lets the news of a PodGroup count workers alone; returns what the news means besides.
    pub(super) fn hear(&mut self, event: &mut Event) -> Vec<Event> {
        match event {
            Event::Is(Object::MpiJob(job)) => {
                let name = (job.namespace.clone(), job.name.clone());
                let known = self.of_jobs.entry(name).or_default();
                known.is_there = true;
                if known.workers_first == job.workers_first {
                    return Vec::new();
                }
                known.workers_first = job.workers_first;
                let groups = known.groups.values();
                groups
                    .map(|group| Event::is(known.counted(group)))
                    .collect()
            }
            Event::Gone(ObjectKey::MpiJob(namespace, name)) => {
                self.change(&(namespace.clone(), name.clone()), |job| {
                    job.is_there = false;
                });
                Vec::new()
            }
            Event::Is(Object::Gang(spec)) => {
                if spec.of_mpi_job {
                    let job = self.of_jobs.entry(name_of(&spec.key)).or_default();
                    job.groups.insert(spec.source, (**spec).clone());
                    **spec = job.counted(spec);
                } else {
                    self.forget_group(&spec.key, spec.source);
                }
                Vec::new()
            }
            Event::Gone(ObjectKey::Gang(key, source)) => {
                self.forget_group(key, *source);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn forget_group(&mut self, key: &GangKey, source: Source) {
        if !self.of_jobs.is_empty() {
            self.change(&name_of(key), |job| _ = job.groups.remove(&source));
        }
    }

    fn change(&mut self, name: &(String, String), change: impl FnOnce(&mut OfJob)) {
        if let Some(job) = self.of_jobs.get_mut(name) {
            change(job);
            if !job.is_there && job.groups.is_empty() {
                self.of_jobs.remove(name);
            }
        }
    }
}

impl OfJob {
    /// A PodGroup whose minimum counts nobody who is made later.
    fn counted(&self, group: &GangSpec) -> GangSpec {
        let mut group = group.clone();
        if let Some(workers) = self.workers_first.filter(|all| *all < group.min_available) {
            group.read_otherwise.push(format!(
                "minMember {} counts the launcher, which is made when the workers run: {workers} must run",
                group.min_available,
            ));
            group.min_available = workers;
        }
        group
    }
}

fn name_of(key: &GangKey) -> (String, String) {
    (key.namespace.clone(), key.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::MpiJobSpec;

    fn key() -> GangKey {
        GangKey {
            namespace: "n".into(),
            name: "j".into(),
            ..GangKey::default()
        }
    }

    fn job(workers_first: Option<u32>) -> Event {
        Event::is(MpiJobSpec {
            namespace: "n".into(),
            name: "j".into(),
            workers_first,
        })
    }

    fn group(min_available: u32) -> Event {
        Event::is(GangSpec {
            key: key(),
            source: Source::Volcano,
            of_mpi_job: true,
            min_available,
            ..GangSpec::default()
        })
    }

    fn minimum(event: &Event) -> u32 {
        match event {
            Event::Is(Object::Gang(group)) => group.min_available,
            other => panic!("{other:?}"),
        }
    }

    /// The minima that everybody hears of: of the news, if it is of a PodGroup, and of what it means besides.
    fn told(launchers: &mut LateLaunchers, mut event: Event) -> Vec<u32> {
        let besides = launchers.hear(&mut event);
        let is_group = matches!(event, Event::Is(Object::Gang(_)));
        let itself = is_group.then(|| minimum(&event));
        itself
            .into_iter()
            .chain(besides.iter().map(minimum))
            .collect()
    }

    fn job_gone() -> Event {
        Event::Gone(ObjectKey::MpiJob("n".into(), "j".into()))
    }

    fn group_gone() -> Event {
        Event::Gone(ObjectKey::Gang(key(), Source::Volcano))
    }

    #[test]
    fn a_launcher_that_comes_later_does_not_count_in_whichever_order_that_is_heard() {
        let mut first_the_job = LateLaunchers::default();
        assert_eq!(told(&mut first_the_job, job(Some(2))), []);
        assert_eq!(told(&mut first_the_job, group(3)), [2]);
        let mut first_the_group = LateLaunchers::default();
        assert_eq!(told(&mut first_the_group, group(3)), [3]);
        assert_eq!(told(&mut first_the_group, job(Some(2))), [2]);
        assert_eq!(told(&mut first_the_group, job(Some(2))), []);
    }

    #[test]
    fn a_minimum_that_does_not_count_it_stays() {
        let mut launchers = LateLaunchers::default();
        assert_eq!(told(&mut launchers, job(Some(2))), []);
        assert_eq!(told(&mut launchers, group(2)), [2]);
        assert_eq!(told(&mut launchers, group(1)), [1]);
        assert_eq!(told(&mut launchers, group(4)), [2]);
    }

    #[test]
    fn an_edit_of_either_counts() {
        let mut launchers = LateLaunchers::default();
        assert_eq!(told(&mut launchers, group(5)), [5]);
        assert_eq!(told(&mut launchers, job(None)), []);
        assert_eq!(told(&mut launchers, job(Some(4))), [4]);
        assert_eq!(told(&mut launchers, job(Some(3))), [3]);
        assert_eq!(told(&mut launchers, job(None)), [5]);
    }

    #[test]
    fn what_is_deleted_leaves_nothing_and_takes_nothing_back_from_what_runs() {
        let mut launchers = LateLaunchers::default();
        told(&mut launchers, job(Some(2)));
        told(&mut launchers, group(3));
        assert_eq!(told(&mut launchers, job_gone()), []);
        assert_eq!(told(&mut launchers, group(3)), [2]);
        told(&mut launchers, group_gone());
        assert!(launchers.of_jobs.is_empty());
        assert_eq!(told(&mut launchers, group(3)), [3]);
        told(&mut launchers, group_gone());
        told(&mut launchers, job(Some(2)));
        told(&mut launchers, job_gone());
        assert!(launchers.of_jobs.is_empty());
    }
}
