//! The thread that starts every subject.
//!
//! A subject asks the kernel to be killed when its parent is gone, and to the kernel that is the
//! parent's *thread* that started it. A thread of the runtime may end before the process does; this
//! one ends with it.

use std::io;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use tokio::process::{Child, Command};
use tokio::runtime::Handle;

type Order = Box<dyn FnOnce() + Send>;

static STARTER: Mutex<Option<Sender<Order>>> = Mutex::new(None);

/// Starts a child. It belongs to the runtime that this is called in.
pub(super) fn start(mut command: Command) -> io::Result<Child> {
    let runtime = Handle::try_current().map_err(io::Error::other)?;
    let (answer, answered) = channel();
    let order: Order = Box::new(move || {
        let _inside = runtime.enter();
        // Nobody waits any more: dropped, the child is killed.
        drop(answer.send(command.spawn()));
    });
    starter()?.send(order).map_err(|_| gone())?;
    answered.recv().map_err(|_| gone())?
}

fn starter() -> io::Result<Sender<Order>> {
    let mut starter = STARTER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(starter) = &*starter {
        return Ok(starter.clone());
    }
    let (orders, taken) = channel::<Order>();
    let run = move || taken.into_iter().for_each(|order| order());
    thread::Builder::new().name("starter".to_owned()).spawn(run)?;
    Ok(starter.insert(orders).clone())
}

fn gone() -> io::Error {
    io::Error::other("the thread that starts subjects is gone")
}
