//! `delete`, `edit`, `deactivate`, `reactivate` and `approve`: what an administrator does to objects,
//! and the controller of a foreign check.

use dispatch_contract::names;
use dispatch_simulator::object::seconds;
use kube::ResourceExt;
use serde_json::json;

use crate::history::{History, Kind, Trail, Version};
use crate::run::api::{self, Deleted, Named, apply_status};
use crate::run::error::StepError;
use crate::run::fixture::foreign_check_ready;
use crate::run::stage::Stage;
use crate::scenario::{EditPatch, JobName, OwnThing, Propagation, Target, TargetKind, Thing};

const KUEUE: &str = "kueue.x-k8s.io/v1beta2";
const TRAINER: &str = "trainer.kubeflow.org/v1alpha1";

/// Deletes something.
pub(super) async fn delete(
    stage: &mut Stage<'_>,
    thing: &Thing,
    propagation: Propagation,
    force: bool,
) -> Result<(), StepError> {
    let mut deleted = 0;
    for one in &named(stage, thing)? {
        let became = api::delete_with(&stage.client, one, propagation, force).await?;
        deleted += usize::from(became != Deleted::WasGone);
    }
    if deleted == 0 {
        return Err(StepError::failed(format!("there is no {thing} to delete")));
    }
    Ok(())
}

/// Changes something.
pub(super) async fn edit(
    stage: &mut Stage<'_>,
    thing: &Thing,
    patch: &EditPatch,
) -> Result<(), StepError> {
    let all = named(stage, thing)?;
    if all.is_empty() {
        return Err(StepError::failed(format!("there is no {thing} to edit")));
    }
    for one in &all {
        api::patch(&stage.client, one, patch).await?;
    }
    Ok(())
}

/// Deactivates or activates the Workload of a job.
pub(super) async fn set_active(
    stage: &mut Stage<'_>,
    job: &JobName,
    active: bool,
) -> Result<(), StepError> {
    let thing = Thing::Of(Target { kind: TargetKind::Workload, of: job.clone() });
    let patch = EditPatch::Merge(json!({ "spec": { "active": active } }));
    edit(stage, &thing, &patch).await
}

/// Sets the foreign check of a job's Workload Ready, as the controller that it names.
pub(super) async fn approve(stage: &mut Stage<'_>, job: &JobName) -> Result<(), StepError> {
    let thing = Thing::Of(Target { kind: TargetKind::Workload, of: job.clone() });
    let workloads = named(stage, &thing)?;
    let Some(workload) = workloads.first() else {
        return Err(StepError::failed(format!("there is no {thing} to approve")));
    };
    let ready = foreign_check_ready(&stage.names, &workload.name, &seconds(stage.clock.now()));
    Ok(apply_status(&stage.client, ready).await?)
}

/// The objects that are meant.
pub(super) fn named(stage: &mut Stage<'_>, thing: &Thing) -> Result<Vec<Named>, StepError> {
    match thing {
        Thing::Of(target) => of_job(stage, target),
        Thing::Own(own) => Ok(vec![own_thing(stage, *own)]),
    }
}

fn own_thing(stage: &Stage<'_>, thing: OwnThing) -> Named {
    let (names, namespace) = (&stage.names, stage.names.namespace());
    match thing {
        OwnThing::Runtime => {
            Named::namespaced(TRAINER, "TrainingRuntime", namespace, names.runtime().to_owned())
        }
        OwnThing::ClusterQueue => Named::cluster(KUEUE, "ClusterQueue", names.cluster_queue()),
        OwnThing::LocalQueue => {
            Named::namespaced(KUEUE, "LocalQueue", namespace, names.local_queue().to_owned())
        }
        OwnThing::AdmissionCheck => {
            Named::cluster(KUEUE, "AdmissionCheck", names.admission_check())
        }
        OwnThing::Lease => Named::namespaced(
            "coordination.k8s.io/v1",
            "Lease",
            namespace,
            names.lease().to_owned(),
        ),
    }
}

/// The latest of preflight's probes that is there.
fn probe(history: &History) -> Option<&Trail> {
    let is_probe = |trail: &&Trail| {
        let job = trail.now().and_then(Version::trainjob);
        job.is_some_and(|job| job.labels().contains_key(names::PROBE))
    };
    history.of_kind(Kind::TrainJob).rfind(is_probe)
}

fn of_job(stage: &mut Stage<'_>, target: &Target) -> Result<Vec<Named>, StepError> {
    let namespace = stage.names.namespace();
    let named =
        |api_version, kind, name| Named::namespaced(api_version, kind, namespace.clone(), name);
    stage.record.read();
    let history = &stage.record.history;
    let (name, uid) = if target.of.is_probe() {
        let Some(probe) = probe(history) else { return Ok(Vec::new()) };
        (probe.name.clone(), probe.uid.as_str())
    } else {
        let object = history.object_of_job(target.of.as_str());
        let uid = object.map(|object| object.uid.as_str()).unwrap_or_default();
        (stage.job(&target.of)?.name.clone(), uid)
    };
    Ok(match target.kind {
        TargetKind::TrainJob => vec![named(TRAINER, "TrainJob", name)],
        // It has the TrainJob's name.
        TargetKind::JobSet => vec![named("jobset.x-k8s.io/v1alpha2", "JobSet", name)],
        TargetKind::Workload => {
            let there = |name: &&&Trail| name.now().is_some();
            let workloads = history.workloads_of(uid);
            let latest = workloads.iter().rfind(there);
            latest.map(|it| named(KUEUE, "Workload", it.name.clone())).into_iter().collect()
        }
        TargetKind::Pods => {
            let pods = history.live_pods(uid, u64::MAX);
            pods.into_iter().map(|pod| named("v1", "Pod", pod.name.clone())).collect()
        }
    })
}
