//! Ctrl-C and SIGTERM: a run that is ended before its time still cleans up and reports.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Why a run is ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// SIGINT: somebody pressed Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

/// Whether this process was asked to end. Clones see the same.
#[derive(Clone, Debug)]
pub struct Interrupts {
    seen: watch::Receiver<Option<Interruption>>,
}

impl Interrupts {
    /// Takes the signals of this process from now on. The first one is kept; later ones of the same
    /// run change nothing.
    pub fn listen() -> io::Result<Self> {
        let (sender, seen) = watch::channel(None);
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::spawn(async move {
            loop {
                let what = tokio::select! {
                    _ = interrupt.recv() => Interruption::Interrupt,
                    _ = terminate.recv() => Interruption::Terminate,
                };
                sender.send_if_modified(|first| first.is_none() && first.replace(what).is_none());
            }
        });
        Ok(Self { seen })
    }

    /// Interrupts that come when the test says so, and not by signals, which are the whole process's.
    #[cfg(test)]
    pub(crate) fn told() -> (watch::Sender<Option<Interruption>>, Self) {
        let (sender, seen) = watch::channel(None);
        (sender, Self { seen })
    }

    /// The first signal, if there was one.
    pub fn seen(&self) -> Option<Interruption> {
        *self.seen.borrow()
    }

    /// Returns when there was a signal.
    pub async fn next(&mut self) -> Interruption {
        match self.seen.wait_for(Option::is_some).await.map(|seen| *seen) {
            Ok(Some(what)) => what,
            // Nobody listens any more: there will be no signal.
            _ => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use nix::sys::signal::{Signal, raise};

    use super::*;

    #[tokio::test]
    async fn the_first_signal_is_kept() {
        let mut interrupts = Interrupts::listen().unwrap();
        assert_eq!(interrupts.seen(), None);
        raise(Signal::SIGTERM).unwrap();
        assert_eq!(interrupts.next().await, Interruption::Terminate);
        raise(Signal::SIGINT).unwrap();
        tokio::task::yield_now().await;
        assert_eq!(interrupts.clone().next().await, Interruption::Terminate);
    }
}
