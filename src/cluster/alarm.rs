//! Says that a task has panicked, which its runtime would keep to itself: one kind would not be watched any more,
//! or a pod stay on its way for ever, and everything else go on as if nothing were. A panic is a bug, and nobody
//! knows what it left behind, so the process ends and another takes over.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use tokio::sync::Notify;

/// Rung by the first task that panics.
#[derive(Clone, Debug, Default)]
pub struct Alarm(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    by: Mutex<Option<&'static str>>,
    rung: Notify,
}

impl Alarm {
    /// The same task, which rings when it panics.
    pub fn guard<F: Future>(
        &self,
        name: &'static str,
        task: F,
    ) -> impl Future<Output = F::Output> + use<F> {
        let bell = Bell {
            alarm: self.clone(),
            name,
        };
        async move {
            let _bell = bell;
            task.await
        }
    }

    /// Waits until a task has panicked; which one.
    pub async fn rung(&self) -> &'static str {
        loop {
            if let Some(name) = *self.by() {
                return name;
            }
            self.0.rung.notified().await;
        }
    }

    fn by(&self) -> std::sync::MutexGuard<'_, Option<&'static str>> {
        self.0.by.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rings when it is dropped by a panic.
struct Bell {
    alarm: Alarm,
    name: &'static str,
}

impl Drop for Bell {
    fn drop(&mut self) {
        if thread::panicking() {
            self.alarm.by().get_or_insert(self.name);
            // Kept for who waits later.
            self.alarm.0.rung.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::{sleep, timeout};

    #[tokio::test(start_paused = true)]
    async fn a_task_that_panics_rings_whether_it_waited_or_not_and_no_other_does() {
        for waits in [false, true] {
            let alarm = Alarm::default();
            assert_eq!(
                tokio::spawn(alarm.guard("well", async { 7 }))
                    .await
                    .unwrap(),
                7
            );
            let aborted = tokio::spawn(alarm.guard("aborted", std::future::pending::<()>()));
            aborted.abort();
            assert!(aborted.await.unwrap_err().is_cancelled());
            let quiet = timeout(Duration::from_secs(1), alarm.rung()).await;
            assert!(quiet.is_err(), "{quiet:?}");
            let broken = tokio::spawn(alarm.guard("broken", async move {
                if waits {
                    sleep(Duration::from_secs(1)).await;
                }
                panic!("a bug");
            }));
            assert!(broken.await.unwrap_err().is_panic());
            assert_eq!(alarm.rung().await, "broken");
            assert_eq!(alarm.rung().await, "broken", "whenever it is asked");
        }
    }
}
