//! Where time comes from.

use jiff::Timestamp;

/// Where the adapter, the controller and the suite read the time: the machine's clock in
/// production, a chosen time in a simulation.
pub trait Clock: Send + Sync {
    /// The time now, by this machine's clock. Never compared with a time that another machine
    /// wrote.
    fn now(&self) -> Timestamp;
}

/// The clock of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where the machine's clock is read"
    )]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
