//! `submit`: somebody else than dispatch makes a job.

use std::collections::BTreeMap;

use kube::ResourceExt;

use crate::history::Kind;
use crate::run::api::create;
use crate::run::error::StepError;
use crate::run::fixture::submitted;
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
    let object = submitted(&stage.names, &name, kind, cpu, labels);
    let kind = match kind {
        SubmitKind::TrainJob => Kind::TrainJob,
        SubmitKind::Job => Kind::Job,
    };
    stage.name_job(job, Job { kind, name: name.clone(), uid: None }, false).await?;
    let uid = create(&stage.client, object).await?.uid();
    Ok(stage.name_job(job, Job { kind, name, uid }, false).await?)
}
