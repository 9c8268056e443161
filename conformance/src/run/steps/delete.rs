//! `delete`: an administrator deletes something of a job.

use crate::run::api::{Deleted, Named, delete};
use crate::run::error::StepError;
use crate::run::stage::Stage;
use crate::scenario::{Target, TargetKind};

pub(super) async fn run(stage: &mut Stage<'_>, target: &Target) -> Result<(), StepError> {
    let job = stage.job(&target.of)?.clone();
    let namespace = stage.names.namespace();
    let named =
        |api_version, kind, name| Named::namespaced(api_version, kind, namespace.clone(), name);
    let all = match target.kind {
        TargetKind::TrainJob => {
            vec![named("trainer.kubeflow.org/v1alpha1", "TrainJob", job.name)]
        }
        // It has the TrainJob's name.
        TargetKind::JobSet => vec![named("jobset.x-k8s.io/v1alpha2", "JobSet", job.name)],
        TargetKind::Pods => {
            stage.record.read();
            let uid = job.uid.unwrap_or_default();
            let pods = stage.record.history.live_pods(&uid, u64::MAX);
            pods.into_iter().map(|pod| named("v1", "Pod", pod.name.clone())).collect()
        }
    };
    let mut deleted = 0;
    for one in &all {
        deleted += usize::from(delete(&stage.client, one).await? != Deleted::WasGone);
    }
    if deleted == 0 {
        return Err(StepError::failed(format!("there is no {target} to delete")));
    }
    Ok(())
}
