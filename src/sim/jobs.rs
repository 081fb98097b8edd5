//! The simulated job controller: makes the pods of a job, so many at a time.

use super::scenario::{JobPlan, PodPlan};
use std::collections::BTreeMap;
use std::collections::VecDeque;

/// All jobs that exist, by their number in the scenario.
#[derive(Debug, Default)]
pub struct Jobs {
    waiting: BTreeMap<usize, VecDeque<PodPlan>>,
    /// Which job a pod's line belongs to.
    lines: BTreeMap<usize, usize>,
}

impl Jobs {
    /// A job is created; returns the pods it makes at once, beside those that it has.
    pub fn create(&mut self, job: usize, plan: JobPlan) -> Vec<PodPlan> {
        let mut pods: VecDeque<PodPlan> = plan.pods.into();
        let room = plan.parallelism.saturating_sub(plan.running.len());
        let now = pods.len().min(room);
        let first = pods.drain(..now).collect();
        self.waiting.insert(job, pods);
        first
    }

    /// A pod's line belongs to a job.
    pub fn owns(&mut self, job: usize, line: usize) {
        self.lines.insert(line, job);
    }

    /// A pod ended well; returns the job and the pod it makes in its place.
    pub fn finished(&mut self, line: usize) -> Option<(usize, PodPlan)> {
        let job = *self.lines.get(&line)?;
        let next = self.waiting.get_mut(&job)?.pop_front()?;
        Some((job, next))
    }

    /// A job is deleted; returns the lines of the pods it made.
    pub fn delete(&mut self, job: usize) -> Vec<usize> {
        self.waiting.remove(&job);
        let of_job = self.lines.iter().filter(|(_, owner)| **owner == job);
        of_job.map(|(line, _)| *line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finished_pod_makes_room_for_the_next_one() {
        let mut plan = JobPlan {
            parallelism: 2,
            pods: vec![PodPlan::default(); 3],
            ..JobPlan::default()
        };
        for (index, pod) in plan.pods.iter_mut().enumerate() {
            pod.spec.key.name = format!("job-{index}");
        }
        let mut jobs = Jobs::default();
        assert_eq!(jobs.create(7, plan).len(), 2);
        jobs.owns(7, 0);
        jobs.owns(7, 1);
        let (job, next) = jobs.finished(1).unwrap();
        assert_eq!((job, next.spec.key.name.as_str()), (7, "job-2"));
        assert_eq!(jobs.finished(0), None);
        assert_eq!(jobs.delete(7), [0, 1]);
    }
}
