//! `linger`, `let-go`, `end`: what becomes of a job's pods.

use crate::history::Version;
use crate::kubelet::Ending;
use crate::run::error::StepError;
use crate::run::stage::Stage;
use crate::scenario::{EndAs, JobName};

pub(super) fn linger(stage: &Stage<'_>, job: &JobName) -> Result<(), StepError> {
    stage.kubelet.linger(&stage.job(job)?.name, true);
    Ok(())
}

pub(super) fn let_go(stage: &Stage<'_>, job: &JobName) -> Result<(), StepError> {
    stage.kubelet.linger(&stage.job(job)?.name, false);
    Ok(())
}

/// Ends the pods that run now; those that come later run as usual.
pub(super) fn end(stage: &mut Stage<'_>, job: &JobName, end: EndAs) -> Result<(), StepError> {
    stage.record.read();
    let uid = stage.job(job)?.uid.clone().unwrap_or_default();
    let history = &stage.record.history;
    let runs = |version: &Version| {
        let phase = version.pod().and_then(|pod| pod.status.as_ref()?.phase.as_deref());
        phase == Some("Running")
    };
    let pods = history.live_pods(&uid, u64::MAX);
    let running = pods.iter().filter(|pod| pod.now().is_some_and(runs));
    let uids: Vec<_> = running.map(|pod| pod.uid.clone()).collect();
    if uids.is_empty() {
        return Err(StepError::failed(format!("no pod of {job} runs, so none can end")));
    }
    let ending = match end {
        EndAs::Succeeded => Ending::Succeeded,
        EndAs::Failed => Ending::Failed,
    };
    stage.kubelet.end(uids, ending);
    Ok(())
}
