//! Questions to bind pods, asked as one. A decision is carried out pod by pod: each bind may be asked back,
//! is tried again and answered by itself, and so is its question. Those of a gang that are sent at once are
//! asked as one, as far as they are there when the first of them is asked: nobody waits for more.

use muster_model::{AskedPod, GangKey, MAX_ASKED_PODS, RemoteAnswer, RemoteQuestion};
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use tokio::task::yield_now;

/// What is asked together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    plugin: Arc<str>,
    gang: GangKey,
}

/// Some pods, and what was answered about them.
#[derive(Debug)]
struct Group {
    number: u64,
    pods: Vec<AskedPod>,
    answer: watch::Sender<Option<RemoteAnswer>>,
}

/// What became of a pod that came.
struct Joined {
    answered: watch::Receiver<Option<RemoteAnswer>>,
    /// The number of the group that it is the first of: it is to ask.
    begun: Option<u64>,
}

/// The groups that are being gathered.
#[derive(Debug, Default)]
pub(super) struct Together {
    groups: Mutex<(u64, BTreeMap<Key, Group>)>,
}

impl Together {
    fn groups(&self) -> MutexGuard<'_, (u64, BTreeMap<Key, Group>)> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks to bind one pod, with all others of its gang for which that is asked now.
    pub(super) async fn ask<F, A>(&self, question: &RemoteQuestion, ask: A) -> RemoteAnswer
    where
        A: FnOnce(RemoteQuestion) -> F,
        F: Future<Output = RemoteAnswer>,
    {
        let key = Key {
            plugin: Arc::clone(&question.plugin),
            gang: question.gang.key.clone(),
        };
        let Joined {
            mut answered,
            begun: number,
        } = self.join(&key, &question.pods);
        let Some(number) = number else {
            let answer = answered.wait_for(Option::is_some).await;
            let answer = answer.ok().and_then(|answer| answer.clone());
            let lost = || RemoteAnswer::Failed("who was to ask it did not".to_owned());
            return answer.unwrap_or_else(lost);
        };
        let _leaves = Leaves {
            together: self,
            key: &key,
            number,
        };
        // Whoever is about to ask comes before this goes on.
        yield_now().await;
        let Some(group) = self.leave(&key, number) else {
            return RemoteAnswer::Failed("who was to ask it did not".to_owned());
        };
        let answer = ask(RemoteQuestion {
            pod_count: u32::try_from(group.pods.len()).unwrap_or(u32::MAX),
            pods: group.pods,
            ..question.clone()
        });
        let answer = answer.await;
        group.answer.send_replace(Some(answer.clone()));
        answer
    }

    /// Adds pods to the group that is being gathered, or begins one.
    fn join(&self, key: &Key, pods: &[AskedPod]) -> Joined {
        let mut groups = self.groups();
        let (last, groups) = &mut *groups;
        if let Some(group) = groups.get_mut(key)
            && group.pods.len() + pods.len() <= MAX_ASKED_PODS
        {
            group.pods.extend_from_slice(pods);
            return Joined {
                answered: group.answer.subscribe(),
                begun: None,
            };
        }
        *last += 1;
        let (answer, answered) = watch::channel(None);
        let group = Group {
            number: *last,
            pods: pods.to_vec(),
            answer,
        };
        groups.insert(key.clone(), group);
        Joined {
            answered,
            begun: Some(*last),
        }
    }

    /// Takes a group out: nobody joins it any more.
    fn leave(&self, key: &Key, number: u64) -> Option<Group> {
        let mut groups = self.groups();
        let is_it = groups
            .1
            .get(key)
            .is_some_and(|group| group.number == number);
        is_it.then(|| groups.1.remove(key)).flatten()
    }
}

/// A group that nobody asks for does not stay.
struct Leaves<'a> {
    together: &'a Together,
    key: &'a Key,
    number: u64,
}

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.together.leave(self.key, self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::join_all;
    use muster_model::{AskedGang, PodKey, RemotePoint};
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    fn question(gang: &str, pod: u32) -> RemoteQuestion {
        RemoteQuestion {
            plugin: "licences".into(),
            point: RemotePoint::Bind,
            gang: AskedGang {
                key: GangKey {
                    name: gang.to_owned(),
                    ..GangKey::default()
                },
                ..AskedGang::default()
            },
            pods: vec![AskedPod {
                key: PodKey {
                    name: format!("{gang}-{pod}"),
                    ..PodKey::default()
                },
                ..AskedPod::default()
            }],
            pod_count: 1,
            nodes: Arc::default(),
        }
    }

    #[tokio::test]
    async fn the_pods_of_a_gang_are_asked_about_at_once_and_all_hear_the_answer() {
        let (together, asked) = (Together::default(), AtomicU32::new(0));
        let one = |gang: &'static str, pod: u32| {
            let (together, asked) = (&together, &asked);
            async move {
                let question = question(gang, pod);
                let ask = async |question: RemoteQuestion| {
                    asked.fetch_add(1, Ordering::Relaxed);
                    RemoteAnswer::Deny(question.pod_count.to_string())
                };
                together.ask(&question, ask).await
            }
        };
        let all = (0..20).map(|pod| one("train", pod)).collect::<Vec<_>>();
        let (answers, alone) = tokio::join!(join_all(all), one("alone", 0));
        assert_eq!(answers, vec![RemoteAnswer::Deny("20".to_owned()); 20]);
        assert_eq!(alone, RemoteAnswer::Deny("1".to_owned()));
        assert_eq!(asked.load(Ordering::Relaxed), 2);
        assert!(together.groups().1.is_empty());
    }

    #[tokio::test]
    async fn where_the_one_who_asks_gives_up_the_others_hear_that_there_is_no_answer() {
        let together = Together::default();
        let (first, second) = (question("train", 0), question("train", 1));
        let never = |_| std::future::pending();
        let unused = async |_| unreachable!("somebody else asks");
        let first = tokio::time::timeout(Duration::from_millis(50), together.ask(&first, never));
        let (late, answer) = tokio::join!(first, together.ask(&second, unused));
        assert!(late.is_err());
        assert!(matches!(answer, RemoteAnswer::Failed(_)), "{answer:?}");
    }
}
