//! How a subject's process is reached: signals that cannot hit another process.

use std::future::ready;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};
use thiserror::Error;
use tokio::sync::watch;

use super::embedded::Gate;
use super::reins::Reins;
use crate::proxy;

/// Reaches the process of one subject, from any task. Clones reach the same, and a process that is
/// started again is reached by the handles of the one before.
///
/// A signal is sent by a file descriptor that stands for the process, and never to another one that
/// got its process id later.
#[derive(Clone, Debug, Default)]
pub struct ProcessHandle {
    now: Arc<Mutex<Option<Target>>>,
}

/// The process that is reached now.
#[derive(Clone, Debug)]
struct Target {
    life: Life,
    ended: watch::Receiver<Option<ExitStatus>>,
    asked: Option<Asked>,
    frozen: watch::Sender<bool>,
}

/// What is reached.
#[derive(Clone, Debug)]
pub(super) enum Life {
    /// A process.
    Process { pid: u32, descriptor: Arc<OwnedFd> },
    /// A subject in this process, of this number.
    Embedded { number: u64, gate: Gate, terminate: watch::Sender<bool> },
    /// A container.
    #[cfg_attr(not(feature = "containers"), expect(dead_code, reason = "nobody makes one"))]
    Container(Reins),
}

impl Life {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Process { descriptor: one, .. }, Self::Process { descriptor: other, .. }) => {
                Arc::ptr_eq(one, other)
            }
            (Self::Embedded { number: one, .. }, Self::Embedded { number: other, .. }) => {
                one == other
            }
            (Self::Container(one), Self::Container(other)) => one.lead_the_same(other),
            _ => false,
        }
    }

    fn signal(&self, signal: Signal) -> Result<(), Errno> {
        match self {
            Self::Process { descriptor, .. } => pidfd_send_signal(descriptor, signal),
            Self::Embedded { gate, terminate, .. } => {
                match signal {
                    Signal::KILL => gate.end(),
                    Signal::STOP => gate.close(),
                    Signal::CONT => gate.open(),
                    _ => drop(terminate.send_replace(true)),
                }
                Ok(())
            }
            Self::Container(reins) => reins.signal(signal),
        }
    }
}

/// What somebody asked a process for, so that its end is no surprise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// To stop (SIGTERM, or the end of its input).
    Stop,
    /// To be gone (SIGKILL).
    Kill,
}

/// A process, or a container, cannot be reached.
#[derive(Debug, Error)]
pub enum HandleError {
    /// It does not run.
    #[error("it does not run")]
    NotRunning,
    /// The kernel refuses.
    #[error("the kernel refuses to {what} it")]
    Refused {
        /// What was tried.
        what: &'static str,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The container engine refuses.
    #[error("the container engine does not do it: {why}")]
    Engine {
        /// What it says.
        why: String,
    },
}

impl ProcessHandle {
    /// Reaches this process from now on. It must not have been waited for yet.
    pub(super) fn reach(
        &self,
        pid: u32,
        ended: watch::Receiver<Option<ExitStatus>>,
    ) -> std::io::Result<Life> {
        let raw = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
        let descriptor = Arc::new(pidfd_open(raw, PidfdFlags::empty())?);
        let life = Life::Process { pid, descriptor };
        self.reach_life(life.clone(), ended);
        Ok(life)
    }

    /// Reaches this from now on.
    pub(super) fn reach_life(&self, life: Life, ended: watch::Receiver<Option<ExitStatus>>) {
        let frozen = watch::Sender::new(false);
        *self.lock() = Some(Target { life, ended, asked: None, frozen });
    }

    /// Ends a process that nobody needs any more, whether it is the one that is reached now or one
    /// before.
    pub(super) fn abandon(&self, life: &Life) {
        let mut now = self.lock();
        let this = now.as_mut().filter(|target| target.life.is(life));
        if let Some(target) = this.filter(|target| target.runs()) {
            target.asked = Some(Asked::Kill);
        }
        // That it does not run any more is as good.
        let _ = life.signal(Signal::KILL);
    }

    /// Its process id, while it runs; none in this process and in a container.
    pub fn pid(&self) -> Option<u32> {
        match self.running().ok()?.life {
            Life::Process { pid, .. } => Some(pid),
            Life::Embedded { .. } | Life::Container(_) => None,
        }
    }

    /// Ends it at once (SIGKILL), also if it is frozen. Returns when the signal was sent:
    /// [`ProcessHandle::ended`] waits for the end.
    pub fn kill(&self) -> Result<(), HandleError> {
        self.send("kill", Signal::KILL, |target| target.asked = Some(Asked::Kill))
    }

    /// Makes it stand still (SIGSTOP). Returns when the signal was sent:
    /// [`ProcessHandle::stands_still`] waits until it does.
    pub fn freeze(&self) -> Result<(), HandleError> {
        self.send("freeze", Signal::STOP, |target| target.is_frozen(true))
    }

    /// Lets it go on (SIGCONT).
    pub fn thaw(&self) -> Result<(), HandleError> {
        self.send("thaw", Signal::CONT, |target| target.is_frozen(false))
    }

    /// Asks it to stop (SIGTERM).
    pub fn terminate(&self) -> Result<(), HandleError> {
        self.expect_stop();
        self.send("terminate", Signal::TERM, |_| ())
    }

    /// Takes its end from now on for one that was asked for.
    pub(super) fn expect_stop(&self) {
        if let Some(target) = self.lock().as_mut() {
            target.asked.get_or_insert(Asked::Stop);
        }
    }

    /// What it was asked for; of one that has ended too.
    pub fn asked(&self) -> Option<Asked> {
        self.lock().as_ref().and_then(|target| target.asked)
    }

    /// Whether it was frozen last, and not thawed.
    pub fn is_frozen(&self) -> bool {
        self.running().is_ok_and(|target| *target.frozen.borrow())
    }

    /// Whether the process that runs now was frozen last, and each change of that, by whomever.
    pub(crate) fn freezes(&self) -> Option<watch::Receiver<bool>> {
        self.running().ok().map(|target| target.frozen.subscribe())
    }

    /// Whether it runs, frozen or not.
    pub fn is_running(&self) -> bool {
        self.running().is_ok()
    }

    /// Returns when it has ended and was waited for. At once, if it does not run.
    pub async fn ended(&self) {
        if let Ok(mut target) = self.running() {
            // An error is the end of whoever waits for it, which is as good.
            drop(target.ended.wait_for(Option::is_some).await);
        }
    }

    /// Returns when all its threads stand still, after [`ProcessHandle::freeze`].
    pub async fn stands_still(&self) -> Result<(), HandleError> {
        let descriptor = match self.running()?.life {
            Life::Process { descriptor, .. } => descriptor,
            Life::Embedded { .. } => return Ok(()),
            Life::Container(reins) => return reins.settled().await,
        };
        let waited = tokio::task::spawn_blocking(move || stopped(&descriptor)).await;
        let refused = |source| HandleError::Refused { what: "wait for", source };
        waited.map_err(|error| refused(error.into()))?
    }

    /// Returns when a signal that was sent has reached it. A container's engine takes its time, and the
    /// container goes on meanwhile.
    fn settled(&self) -> BoxFuture<'static, ()> {
        match self.running().map(|target| target.life) {
            Ok(Life::Container(reins)) => {
                async move { told("signal", reins.settled().await) }.boxed()
            }
            Ok(Life::Process { .. } | Life::Embedded { .. }) | Err(_) => ready(()).boxed(),
        }
    }

    fn send(
        &self,
        what: &'static str,
        signal: Signal,
        note: impl FnOnce(&mut Target),
    ) -> Result<(), HandleError> {
        let mut now = self.lock();
        let target = now.as_mut().filter(|target| target.runs()).ok_or(HandleError::NotRunning)?;
        // Before the signal, so that whoever sees its effect sees the cause. It cannot fail but by
        // the end of the process.
        note(target);
        target.life.signal(signal).map_err(|error| match error {
            Errno::SRCH => HandleError::NotRunning,
            error => HandleError::Refused { what, source: error.into() },
        })
    }

    fn running(&self) -> Result<Target, HandleError> {
        self.lock().clone().filter(Target::runs).ok_or(HandleError::NotRunning)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Target>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Target {
    fn runs(&self) -> bool {
        self.ended.borrow().is_none()
    }

    fn is_frozen(&self, frozen: bool) {
        self.frozen.send_if_modified(|now| std::mem::replace(now, frozen) != frozen);
    }
}

/// Waits until the process stands still. The kernel tells its parent, which is this process, once
/// the last thread has stopped.
fn stopped(process: &OwnedFd) -> Result<(), HandleError> {
    // What is waited for is left for others to see: the end is for whoever started it.
    let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    loop {
        return match waitid(WaitId::PidFd(process.as_fd()), options) {
            Ok(Some(status)) if status.stopped() => Ok(()),
            Err(Errno::INTR) => continue,
            Ok(_) | Err(Errno::CHILD) => Err(HandleError::NotRunning),
            Err(error) => Err(HandleError::Refused { what: "wait for", source: error.into() }),
        };
    }
}

impl proxy::Signals for ProcessHandle {
    fn kill(&self) -> BoxFuture<'_, ()> {
        told("kill", Self::kill(self));
        self.settled()
    }

    fn freeze(&self) -> BoxFuture<'_, ()> {
        told("freeze", Self::freeze(self));
        self.settled()
    }
}

/// That a process is gone already is what a fault is prepared for; anything else is for the log.
fn told(what: &str, sent: Result<(), HandleError>) {
    if let Err(error @ (HandleError::Refused { .. } | HandleError::Engine { .. })) = sent {
        tracing::error!(error = &error as &dyn std::error::Error, "cannot {what} a subject");
    }
}
