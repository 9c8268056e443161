//! Stop: the object is deleted, and nothing of it is left afterwards (CA-03).

use dispatch_contract::resources::TrainJob;
use dispatch_contract::{CallError, ErrorKind, ObjectRef, StopAnswer, names};
use dispatch_kubernetes::owned::{self, InNamespace, Owned};
use dispatch_kubernetes::request::{Outcome, Request, RequestError, send};
use futures::{FutureExt, StreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, Preconditions, PropagationPolicy};
use kube::{Api, ResourceExt};
use tokio::time::{Instant, timeout_at};

use crate::Adapter;
use crate::error::{fail, of_request};
use crate::watch::changes;
use crate::write::{Budget, TRAINJOBS, read, read_by_name};

/// How many pods a message names.
const PODS_NAMED: usize = 10;

/// The finalizer of an object that is deleted in the foreground.
const FOREGROUND: &str = "foregroundDeletion";

/// What of a stopped object is still there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Its pods, whatever their phase.
    pub pods: Vec<String>,
    /// Other things that could still make pods: the `TrainJob`, its `JobSet`, its Jobs.
    pub others: Vec<String>,
}

impl Left {
    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.pods.is_empty() && self.others.is_empty()
    }
}

/// What of the object of this UID is still there, given the `TrainJob` that has its name now, if
/// any, and what has its name below.
///
/// What belongs to another object of the same name is not counted: it is told by the `JobSet` that
/// the other object owns.
pub fn left(object: &ObjectRef, named: Option<&TrainJob>, owned: &Owned) -> Left {
    let own = named.filter(|trainjob| trainjob.uid().as_deref() == Some(object.uid.as_str()));
    let other = named.filter(|_| own.is_none()).and_then(ResourceExt::uid);
    let others_jobset = owned
        .jobset
        .as_ref()
        .filter(|jobset| other.is_some() && jobset.controller_uid() == other.as_deref());
    let others_uid = others_jobset.and_then(ResourceExt::uid);
    let is_others = |metadata: &ObjectMeta| {
        let label = metadata.labels.as_ref().and_then(|labels| labels.get(names::JOBSET_UID));
        others_uid.is_some() && label == others_uid.as_ref()
    };
    let mut others = Vec::new();
    if own.is_some() {
        others.push(format!("TrainJob {}", object.name));
    }
    if let Some(jobset) = owned.jobset.as_ref().filter(|_| others_jobset.is_none()) {
        others.push(format!("JobSet {}", jobset.name_any()));
    }
    let jobs = owned.jobs.iter().filter(|job| !is_others(&job.metadata));
    others.extend(jobs.map(|job| format!("Job {}", job.name_any())));
    let pods = owned.pods.iter().filter(|pod| !is_others(&pod.metadata));
    Left { pods: pods.map(ResourceExt::name_any).collect(), others }
}

pub(crate) async fn stop(adapter: &Adapter, object: &ObjectRef) -> Result<StopAnswer, CallError> {
    let deadline = Instant::now() + adapter.config().timeouts.release;
    let deleted = delete(adapter, object).await?;
    until_gone(adapter, object, deadline).await?;
    Ok(StopAnswer { deleted })
}

/// How an object is deleted: that of the UID, and at this resourceVersion where one is given. In the
/// background: in the foreground Trainer would make the `JobSet` anew while the object waits for it to
/// go (CA-03).
pub fn deletion(object: &ObjectRef, version: Option<String>) -> DeleteParams {
    DeleteParams {
        propagation_policy: Some(PropagationPolicy::Background),
        preconditions: Some(Preconditions {
            uid: Some(object.uid.clone()),
            resource_version: version,
        }),
        ..DeleteParams::default()
    }
}

/// Deletes the object, if it is there. Whether there was something to delete.
pub(crate) async fn delete(adapter: &Adapter, object: &ObjectRef) -> Result<bool, CallError> {
    let (client, limits, namespace) = (adapter.client(), adapter.limits(), adapter.namespace());
    let api = Api::<TrainJob>::namespaced(client.clone(), namespace);
    let params = adapter.decisions().deletion(object, None);
    let budget = Budget::new(limits.request);
    let mut unanswered: Option<RequestError> = None;
    loop {
        let found = read(client, limits, namespace, object).await;
        let found = found.map_err(|error| unanswered.clone().map_or(error, of_request))?;
        let Some(trainjob) = found else { return Ok(unanswered.is_some()) };
        if goes_by_itself(&trainjob) {
            return Ok(true);
        }
        if let Some(error) = unanswered.filter(|_| budget.is_spent()) {
            return Err(of_request(error));
        }
        let request = Request::new("delete", TRAINJOBS, format!("{namespace}/{}", object.name));
        match send(limits, request, api.delete(&object.name, &params)).await {
            Ok(_) => return Ok(true),
            // Another UID has the name: this object is gone.
            Err(error) if matches!(error.outcome, Outcome::NotFound | Outcome::Conflict) => {
                return Ok(false);
            }
            Err(error) if error.outcome == Outcome::Unknown => unanswered = Some(error),
            Err(error) => return Err(of_request(error)),
        }
    }
}

/// Whether the object is being deleted, so that nothing more is to be done. One that somebody deletes
/// in the foreground is not: while it waits for its `JobSet` to go, Trainer makes it anew. Deleted in the
/// background it no longer waits.
fn goes_by_itself(trainjob: &TrainJob) -> bool {
    let metadata = &trainjob.metadata;
    let waits = metadata.finalizers.iter().flatten().any(|finalizer| finalizer == FOREGROUND);
    metadata.deletion_timestamp.is_some() && !waits
}

/// What became of an object that was to be deleted unless it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unopened {
    /// It is deleted, or was gone.
    Deleted,
    /// It is open, and stays.
    Opened,
}

/// Deletes an object that was never opened, at the version that shows it.
pub(crate) async fn delete_unopened(
    adapter: &Adapter,
    object: &ObjectRef,
) -> Result<Unopened, CallError> {
    let (client, limits, namespace) = (adapter.client(), adapter.limits(), adapter.namespace());
    let api = Api::<TrainJob>::namespaced(client.clone(), namespace);
    let budget = Budget::new(limits.request);
    loop {
        let Some(trainjob) = read(client, limits, namespace, object).await? else {
            return Ok(Unopened::Deleted);
        };
        if trainjob.is_opened() {
            return Ok(Unopened::Opened);
        }
        let params = adapter.decisions().deletion(object, trainjob.resource_version());
        let request = Request::new("delete", TRAINJOBS, format!("{namespace}/{}", object.name));
        match send(limits, request, api.delete(&object.name, &params)).await {
            Ok(_) => return Ok(Unopened::Deleted),
            Err(error) if error.outcome == Outcome::NotFound => return Ok(Unopened::Deleted),
            Err(error)
                if matches!(error.outcome, Outcome::Conflict | Outcome::Unknown)
                    && !budget.is_spent() => {}
            Err(error) => return Err(of_request(error)),
        }
    }
}

/// Waits on watches until nothing of the object is left; at the deadline names what is.
async fn until_gone(
    adapter: &Adapter,
    object: &ObjectRef,
    deadline: Instant,
) -> Result<(), CallError> {
    let mut signs = changes(adapter.client(), adapter.namespace());
    loop {
        let left = look(adapter, object).await?;
        if left.is_empty() {
            return Ok(());
        }
        match timeout_at(deadline, signs.next()).await {
            Ok(Some(sign)) => sign?,
            Ok(None) | Err(_) => return Err(still_there(adapter, object, &left)),
        }
        // Several changes are one reason to look.
        while let Some(Some(sign)) = signs.next().now_or_never() {
            sign?;
        }
    }
}

async fn look(adapter: &Adapter, object: &ObjectRef) -> Result<Left, CallError> {
    let (client, limits, namespace) = (adapter.client(), adapter.limits(), adapter.namespace());
    let named = read_by_name(client, limits, namespace, &object.name).await?;
    let below: InNamespace =
        owned::read_namespace(client, limits, namespace).await.map_err(of_request)?;
    Ok(adapter.decisions().left(object, named.as_ref(), &below.of_name(&object.name)))
}

fn still_there(adapter: &Adapter, object: &ObjectRef, left: &Left) -> CallError {
    let mut pods: Vec<String> = left.pods.iter().take(PODS_NAMED).cloned().collect();
    if left.pods.len() > PODS_NAMED {
        pods.push(format!("{} more", left.pods.len() - PODS_NAMED));
    }
    let pods = if pods.is_empty() { "none".to_owned() } else { pods.join(", ") };
    let others = if left.others.is_empty() {
        String::new()
    } else {
        format!("; also left: {}", left.others.join(", "))
    };
    let message = format!(
        "TrainJob {}/{} was deleted, and after {} s it is not gone; pods left: {pods}{others}",
        adapter.namespace(),
        object.name,
        adapter.config().timeouts.release.as_secs_f64()
    );
    fail(ErrorKind::Deadline, message, &["CA-03"])
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn object() -> ObjectRef {
        ObjectRef { name: "t".to_owned(), uid: "u".to_owned() }
    }

    fn trainjob(uid: &str) -> Option<TrainJob> {
        serde_json::from_value(json!({"metadata": {"name": "t", "uid": uid}})).unwrap()
    }

    fn owned(jobset: Value, jobs: &[(&str, &str)], pods: &[(&str, &str)]) -> Owned {
        let make = |(name, jobset): &(&str, &str)| json!({"metadata": {"name": name, "labels": {names::JOBSET_UID: jobset}}});
        Owned {
            jobset: serde_json::from_value(jobset).unwrap(),
            jobs: jobs.iter().map(|job| serde_json::from_value(make(job)).unwrap()).collect(),
            pods: pods.iter().map(|pod| serde_json::from_value(make(pod)).unwrap()).collect(),
        }
    }

    fn jobset(owner: &str) -> Value {
        json!({"metadata": {"name": "t", "uid": "js", "ownerReferences": [{"apiVersion": "x",
            "kind": "TrainJob", "name": "t", "uid": owner, "controller": true}]}})
    }

    #[rstest]
    #[case::not_deleted(json!({}), false)]
    #[case::deleted(json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}), true)]
    #[case::kept_by_somebody(
        json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/backup"]}),
        true)]
    #[case::in_the_foreground(
        json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["foregroundDeletion"]}),
        false)]
    fn an_object_that_is_deleted_in_the_foreground_is_deleted_again(
        #[case] metadata: Value,
        #[case] goes: bool,
    ) {
        let mut object = json!({"metadata": {"name": "t", "uid": "u"}});
        object["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
        assert_eq!(goes_by_itself(&serde_json::from_value(object).unwrap()), goes);
    }

    #[rstest]
    #[case::nothing(None, owned(json!(null), &[], &[]), &[], &[])]
    #[case::the_object_itself(
        trainjob("u"), owned(json!(null), &[], &[]), &[], &["TrainJob t"])]
    #[case::all_of_it(
        trainjob("u"), owned(jobset("u"), &[("j", "js")], &[("p", "js")]),
        &["p"], &["TrainJob t", "JobSet t", "Job j"])]
    #[case::jobset_alone(None, owned(jobset("u"), &[], &[]), &[], &["JobSet t"])]
    #[case::pods_after_their_owners(
        None, owned(json!(null), &[], &[("p", "gone")]), &["p"], &[])]
    #[case::another_object_of_the_name(
        trainjob("v"), owned(jobset("v"), &[("j", "js")], &[("p", "js")]), &[], &[])]
    #[case::pods_beside_another_object_of_the_name(
        trainjob("v"), owned(jobset("v"), &[("j", "js")], &[("p", "gone"), ("q", "js")]),
        &["p"], &[])]
    #[case::jobset_beside_another_object_of_the_name(
        trainjob("v"), owned(jobset("u"), &[], &[("p", "js")]), &["p"], &["JobSet t"])]
    fn what_is_left_of_a_stopped_object_is_named(
        #[case] named: Option<TrainJob>,
        #[case] below: Owned,
        #[case] pods: &[&str],
        #[case] others: &[&str],
    ) {
        let found = left(&object(), named.as_ref(), &below);
        assert_eq!(found.pods, pods);
        assert_eq!(found.others, others);
    }
}
