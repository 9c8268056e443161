//! Tells everybody who waits that something changed, in the order in which they began to wait.
//!
//! tokio's own `watch` wakes those who wait in an order that is left to chance, on purpose. Here it
//! decides who is logged first, and one seed has to give one history.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// Rings for all who listen. Clones are the same bell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bell(Arc<Rung>);

#[derive(Debug, Default)]
struct Rung {
    times: AtomicU64,
    waiting: Notify,
}

impl Bell {
    /// Tells all who listen that something changed.
    pub(crate) fn ring(&self) {
        self.0.times.fetch_add(1, Ordering::AcqRel);
        self.0.waiting.notify_waiters();
    }

    /// Listens from now on: what rings before [`Listener::rung`] is called counts too.
    pub(crate) fn listen(&self) -> Listener {
        Listener { heard: self.0.times.load(Ordering::Acquire), bell: Arc::clone(&self.0) }
    }
}

/// Somebody who listens to a bell.
#[derive(Debug)]
pub(crate) struct Listener {
    bell: Arc<Rung>,
    heard: u64,
}

impl Listener {
    /// What has rung until now is no news any more.
    pub(crate) fn catch_up(&mut self) {
        self.heard = self.bell.times.load(Ordering::Acquire);
    }

    /// Returns when the bell has rung since this last returned. Nothing is lost if it is dropped.
    pub(crate) async fn rung(&mut self) {
        loop {
            // Made before the look, so that what rings in between wakes it.
            let notified = self.bell.waiting.notified();
            let times = self.bell.times.load(Ordering::Acquire);
            if times != self.heard {
                self.heard = times;
                return;
            }
            notified.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[tokio::test]
    async fn those_who_wait_are_told_in_the_order_in_which_they_came() {
        let (bell, told) = (Bell::default(), Arc::new(Mutex::new(Vec::new())));
        let waiting = Arc::new(AtomicU64::new(0));
        let mut tasks = Vec::new();
        for number in 0..100 {
            let (mut listener, told) = (bell.listen(), Arc::clone(&told));
            let waiting = Arc::clone(&waiting);
            tasks.push(tokio::spawn(async move {
                waiting.fetch_add(1, Ordering::AcqRel);
                listener.rung().await;
                told.lock().unwrap().push(number);
            }));
        }
        while waiting.load(Ordering::Acquire) < 100 {
            tokio::task::yield_now().await;
        }
        bell.ring();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*told.lock().unwrap(), (0..100).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn what_rang_before_it_was_waited_for_counts() {
        let bell = Bell::default();
        let mut listener = bell.listen();
        bell.ring();
        listener.rung().await;
        listener.catch_up();
        bell.ring();
        listener.rung().await;
    }
}
