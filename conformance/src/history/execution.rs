//! The executions of an object, by the contract's definition.

use dispatch_contract::AdmissionCount;
use dispatch_contract::resources::TrainJob;

use super::{History, Lives, Trail, Version};

/// One execution of an object: from the `TrainJob` version in which suspend goes from true to false
/// until the next suspension, or the end of the job, and its last live pod have passed.
#[derive(Clone, Debug)]
pub struct Execution<'a> {
    /// Its number, from 1.
    pub number: usize,
    /// The `TrainJob` version that started it.
    pub start: &'a Version,
    /// A, as that version has it; `None` where it is absent or unreadable.
    pub admission: Option<AdmissionCount>,
    /// The version in which the `TrainJob` was suspended again, ended, or was deleted.
    pub stop: Option<&'a Version>,
    /// The order as of which it is over: it was stopped, and no pod lives. `None` while it lasts.
    pub end: Option<u64>,
    /// The pods that live during it. A pod that outlives it belongs to the next one too.
    pub pods: Vec<&'a Trail>,
}

impl Execution<'_> {
    /// Whether it lasts at this order.
    pub fn lasts_at(&self, order: u64) -> bool {
        self.start.order <= order && self.end.is_none_or(|end| order < end)
    }
}

impl History {
    /// The executions of a `TrainJob`, in their order.
    pub fn executions(&self, uid: &str) -> Vec<Execution<'_>> {
        let Some(trainjob) = self.object(uid) else { return Vec::new() };
        let pods = Lives::until_dead(&self.pods_of(uid));
        let mut executions: Vec<Execution<'_>> = Vec::new();
        let mut running = false;
        for version in trainjob.versions() {
            let runs = !version.is_deletion()
                && version.trainjob().is_some_and(|job| !job.is_suspended() && job.end().is_none());
            let stopped = version.is_deletion()
                || version.trainjob().is_some_and(|job| job.is_suspended() || job.end().is_some());
            if runs && !running {
                // A job that lost its end (CA-07) was never suspended: that is no new execution.
                let suspended = trainjob
                    .before(version.order)
                    .is_none_or(|before| before.trainjob().is_some_and(TrainJob::is_suspended));
                if suspended {
                    executions.push(execution(executions.len() + 1, version));
                    running = true;
                }
            } else if stopped && running {
                running = false;
                if let Some(last) = executions.last_mut() {
                    last.stop = Some(version);
                }
            }
        }
        for execution in &mut executions {
            execution.end = execution.stop.and_then(|stop| pods.quiet_from(stop.order));
            let until = execution.end.unwrap_or(u64::MAX);
            execution.pods = pods.during(execution.start.order, until).collect();
            execution.pods.reverse();
        }
        executions
    }
}

fn execution(number: usize, start: &Version) -> Execution<'_> {
    let admission = start.trainjob().and_then(TrainJob::admission_count).and_then(Result::ok);
    Execution { number, start, admission, stop: None, end: None, pods: Vec::new() }
}
