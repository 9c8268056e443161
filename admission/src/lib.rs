//! The controller behind the Kueue `AdmissionCheck` of dispatch: the readmission gate.
//!
//! Kueue admits a job again after a preemption without asking anybody but its checks. For each
//! Workload whose check is Pending and whose quota is reserved, the controller makes sure that
//! nothing of the previous execution may still run, raises the admission count A in the `TrainJob`,
//! waits until the `JobSet` shows it, and only then sets the check Ready.
//!
//! One pass reads ([`Gather`]), decides ([`Decide`]: a pure, total function from a [`Snapshot`] to a
//! [`Decision`]) and writes ([`Apply`]). No state is kept between passes (RG-07, RG-09). The three
//! are given to [`run`], so that each can be replaced by itself.

mod apply;
mod check_status;
pub mod cli;
mod config;
mod controller;
mod decide;
mod gather;
mod lease;
pub mod manifests;
mod metrics;
mod parts;
mod pass;
mod raise;
mod reconcile;
mod retries;
mod serve;
mod served_checks;
mod snapshot;
mod triggers;

pub use apply::{Applied, Apply, LiveWriter};
pub use config::{Config, ConfigError, Lease, Timeouts};
pub use controller::{RunError, Surroundings, run, run_in};
pub use decide::{Contract, Decide, Decision, Standstill, WaitReason};
pub use gather::{Gather, GatherError, LiveReader};
pub use parts::{Environment, Parts};
pub use raise::{Raise, Raised};
pub use serve::ServeError;
pub use served_checks::ServedChecks;
pub use snapshot::{At, Object, Owner, Snapshot, Unversioned, WorkloadKey};
