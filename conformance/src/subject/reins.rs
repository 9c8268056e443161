//! How a container is led: its orders go to whoever drives it, one after the other.

use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::process::Signal;
use tokio::sync::{mpsc, oneshot};

use super::handle::HandleError;

/// What a container is to do, or what is asked of whoever drives it.
#[derive(Debug)]
#[cfg_attr(not(feature = "containers"), expect(dead_code, reason = "nobody takes them"))]
pub(super) enum Order {
    /// As a process of this signal: SIGKILL ends it, SIGSTOP pauses all its processes, SIGCONT lets them
    /// go on; any other reaches its first process.
    Signal(Signal),
    /// To say what became of the signal before.
    Tell(oneshot::Sender<Result<(), String>>),
}

/// Leads one container. Clones lead the same.
#[derive(Clone, Debug)]
pub(super) struct Reins {
    /// Which one, of all of this process.
    number: u64,
    orders: mpsc::UnboundedSender<Order>,
}

impl Reins {
    /// Of a new container, and where its orders come out.
    #[cfg_attr(not(feature = "containers"), expect(dead_code, reason = "nobody makes one"))]
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<Order>) {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let (orders, taken) = mpsc::unbounded_channel();
        (Self { number: NUMBERS.fetch_add(1, Ordering::Relaxed), orders }, taken)
    }

    /// Whether both lead one container.
    pub(super) fn lead_the_same(&self, other: &Self) -> bool {
        self.number == other.number
    }

    /// Sends a signal. It has not reached the container yet.
    pub(super) fn signal(&self, signal: Signal) -> Result<(), Errno> {
        self.orders.send(Order::Signal(signal)).map_err(|_| Errno::SRCH)
    }

    /// Returns when every signal that was sent has reached the container.
    pub(super) async fn settled(&self) -> Result<(), HandleError> {
        let (tell, told) = oneshot::channel();
        self.orders.send(Order::Tell(tell)).map_err(|_| HandleError::NotRunning)?;
        let became = told.await.map_err(|_| HandleError::NotRunning)?;
        became.map_err(|why| HandleError::Engine { why })
    }
}
