//! `linger`, `let-go`, `end`: what becomes of a job's pods.

use crate::containers::Pod;
use crate::history::Version;
use crate::kubelet::Ending;
use crate::run::error::StepError;
use crate::run::stage::Stage;
use crate::scenario::{EndAs, JobName};

pub(super) async fn linger(stage: &mut Stage<'_>, job: &JobName) -> Result<(), StepError> {
    let running = running(stage, job)?;
    stage.containers.linger(&stage.job(job)?.name, &running).await
}

pub(super) async fn let_go(stage: &Stage<'_>, job: &JobName) -> Result<(), StepError> {
    stage.containers.let_go(&stage.job(job)?.name).await
}

/// Ends the pods that run now; those that come later run as usual.
pub(super) async fn end(stage: &mut Stage<'_>, job: &JobName, end: EndAs) -> Result<(), StepError> {
    let running = running(stage, job)?;
    if running.is_empty() {
        return Err(StepError::failed(format!("no pod of {job} runs, so none can end")));
    }
    let ending = match end {
        EndAs::Succeeded => Ending::Succeeded,
        EndAs::Failed => Ending::Failed,
    };
    stage.containers.end(&running, ending).await
}

/// The pods of a job that run now.
fn running(stage: &mut Stage<'_>, job: &JobName) -> Result<Vec<Pod>, StepError> {
    stage.record.read();
    let uid = stage.job(job)?.uid.clone().unwrap_or_default();
    let history = &stage.record.history;
    let runs = |version: &Version| {
        let phase = version.pod().and_then(|pod| pod.status.as_ref()?.phase.as_deref());
        phase == Some("Running")
    };
    let pods = history.live_pods(&uid, u64::MAX);
    let running = pods.iter().filter(|pod| pod.now().is_some_and(runs));
    Ok(running.map(|pod| Pod { name: pod.name.clone(), uid: pod.uid.clone() }).collect())
}
