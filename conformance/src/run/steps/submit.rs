//! `submit`: somebody else than dispatch makes a job, or a Workload.

use std::collections::BTreeMap;

use kube::ResourceExt;

use crate::history::Kind;
use crate::run::api::create;
use crate::run::error::StepError;
use crate::run::fixture::{submitted, workload_like};
use crate::run::stage::{Job, Stage};
use crate::scenario::{JobName, SubmitKind};

pub(super) async fn run(
    stage: &mut Stage<'_>,
    job: &JobName,
    kind: SubmitKind,
    cpu: u32,
    labels: &BTreeMap<String, String>,
) -> Result<(), StepError> {
    let name = job.as_str().to_owned();
    let object = submitted((&stage.names, &stage.host.containers()), &name, kind, cpu, labels);
    let kind = match kind {
        SubmitKind::TrainJob => Kind::TrainJob,
        SubmitKind::Job => Kind::Job,
    };
    stage.name_job(job, Job { kind, name: name.clone(), uid: None }, false).await?;
    let uid = create(&stage.client, object).await?.uid();
    Ok(stage.name_job(job, Job { kind, name, uid }, false).await?)
}

/// Makes a Workload that nothing owns, like the one of a job.
pub(super) async fn workload(
    stage: &mut Stage<'_>,
    job: &JobName,
    like: &JobName,
) -> Result<(), StepError> {
    stage.record.read();
    let history = &stage.record.history;
    let object = history.object_of_job(like.as_str());
    let workloads = object.map(|object| history.workloads_of(&object.uid)).unwrap_or_default();
    let latest = workloads.iter().rev().find_map(|trail| trail.now());
    let spec = latest.and_then(|version| history.raw(version)).map(|it| it["spec"].clone());
    let Some(spec) = spec else {
        return Err(StepError::failed(format!("{like} has no Workload to make another like it")));
    };
    let name = job.as_str().to_owned();
    let object = workload_like(&stage.names, &name, &spec);
    let named = Job { kind: Kind::Workload, name, uid: None };
    stage.name_job(job, named.clone(), false).await?;
    let uid = create(&stage.client, object).await?.uid();
    Ok(stage.name_job(job, Job { uid, ..named }, false).await?)
}
