//! What an object owns, read live from the API server: its `JobSet`, its Jobs, its pods.
//!
//! Labels of Jobs and pods can be changed by users, and an owner can be gone before what it owned;
//! so both count, the label and the owner (RG-04). A list by label alone would miss a pod whose
//! label was edited, so lists are of the namespace, and are picked from here.

use std::collections::BTreeSet;

use dispatch_contract::resources::{JobSet, TrainJob};
use dispatch_contract::{PodOfObject, names};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::ListParams;
use kube::core::DeserializeGuard;
use kube::{Api, Client, ResourceExt};

use crate::request::{Limits, Request, RequestError, send, send_optional};

/// What was read of an object's `JobSet`, Jobs and pods, in this order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Owned {
    /// The `JobSet` of the object's name.
    pub jobset: Option<JobSet>,
    /// The Jobs of it, by label or by owner.
    pub jobs: Vec<Job>,
    /// The pods of it, by label or by owner, whatever their phase.
    pub pods: Vec<Pod>,
}

impl Owned {
    /// The pods that a chain of controllers owns up to the `TrainJob`, each matched by UID.
    ///
    /// A label of any pod can name the object, and so can an owner that controls nothing. Such a pod
    /// is waited for (RG-04), but its number is not trusted (RG-13), and it is no reason to evict
    /// the object: the eviction would not end it (EX-05).
    pub fn owned_through(&self, trainjob: &TrainJob) -> Vec<&Pod> {
        let uid = trainjob.metadata.uid.as_deref();
        let jobset = self.jobset.as_ref().filter(|jobset| jobset.controller_uid() == uid);
        let Some(jobset) = jobset.and_then(|jobset| jobset.metadata.uid.as_deref()) else {
            return Vec::new();
        };
        let of_jobset = |job: &&Job| controller_uid(&job.metadata) == Some(jobset);
        let jobs: BTreeSet<&str> = self
            .jobs
            .iter()
            .filter(of_jobset)
            .filter_map(|job| job.metadata.uid.as_deref())
            .collect();
        let is_own =
            |pod: &&Pod| controller_uid(&pod.metadata).is_some_and(|uid| jobs.contains(uid));
        self.pods.iter().filter(is_own).collect()
    }
}

fn controller_uid(metadata: &ObjectMeta) -> Option<&str> {
    let mut owners = metadata.owner_references.iter().flatten();
    owners.find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.as_str())
}

/// Reads all of it, in the order of RG-04.
pub async fn read(
    client: &Client,
    limits: Limits,
    trainjob: &TrainJob,
) -> Result<Owned, RequestError> {
    let jobset = read_jobset(client, limits, trainjob).await?;
    read_below(client, limits, trainjob, jobset).await
}

/// Reads the `JobSet` of the object's name; whose it is, [`JobSet::controller_uid`] says.
pub async fn read_jobset(
    client: &Client,
    limits: Limits,
    trainjob: &TrainJob,
) -> Result<Option<JobSet>, RequestError> {
    let (namespace, name) = (trainjob.namespace().unwrap_or_default(), trainjob.name_any());
    let request = Request::new("get", "jobsets.jobset.x-k8s.io", format!("{namespace}/{name}"));
    let jobsets = Api::<JobSet>::namespaced(client.clone(), &namespace);
    send_optional(limits, request, jobsets.get(&name)).await
}

/// Reads Jobs, then pods, below a `JobSet` that was read before.
pub async fn read_below(
    client: &Client,
    limits: Limits,
    trainjob: &TrainJob,
    jobset: Option<JobSet>,
) -> Result<Owned, RequestError> {
    let namespace = trainjob.namespace().unwrap_or_default();
    let name = trainjob.name_any();
    let in_namespace = format!("in namespace {namespace}");
    let all = ListParams::default();
    let jobs = Api::<Job>::namespaced(client.clone(), &namespace);
    let request = Request::new("list", "jobs.batch", in_namespace.clone());
    let jobs = send(limits, request, jobs.list(&all)).await?.items;
    let jobs = jobs_of(&name, jobset.as_ref(), jobs);
    let pods = Api::<Pod>::namespaced(client.clone(), &namespace);
    let request = Request::new("list", "pods", in_namespace);
    let pods = send(limits, request, pods.list(&all)).await?.items;
    let pods = pods_of(&name, &jobs, pods);
    Ok(Owned { jobset, jobs, pods })
}

/// All `JobSets`, Jobs and pods of a namespace, read live in this order: what several objects own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InNamespace {
    /// Its `JobSets`.
    pub jobsets: Vec<JobSet>,
    /// Its Jobs.
    pub jobs: Vec<Job>,
    /// Its pods.
    pub pods: Vec<Pod>,
}

impl InNamespace {
    /// What of it belongs to an object, as [`read`] would give it.
    pub fn of(&self, trainjob: &TrainJob) -> Owned {
        self.of_name(&trainjob.name_any())
    }

    /// What of it belongs to the object of this name, whether or not that is still there.
    pub fn of_name(&self, name: &str) -> Owned {
        let jobset = self.jobsets.iter().find(|jobset| jobset.name_any() == name).cloned();
        let jobs = jobs_of(name, jobset.as_ref(), self.jobs.clone());
        let pods = pods_of(name, &jobs, self.pods.clone());
        Owned { jobset, jobs, pods }
    }
}

/// Reads all `JobSets`, Jobs and pods of a namespace, in the order of RG-04. A `JobSet` that cannot
/// be read is passed over.
pub async fn read_namespace(
    client: &Client,
    limits: Limits,
    namespace: &str,
) -> Result<InNamespace, RequestError> {
    let in_namespace = format!("in namespace {namespace}");
    let all = ListParams::default();
    let jobsets = Api::<DeserializeGuard<JobSet>>::namespaced(client.clone(), namespace);
    let request = Request::new("list", "jobsets.jobset.x-k8s.io", in_namespace.clone());
    let jobsets = send(limits, request, jobsets.list(&all)).await?.items;
    let jobs = Api::<Job>::namespaced(client.clone(), namespace);
    let request = Request::new("list", "jobs.batch", in_namespace.clone());
    let jobs = send(limits, request, jobs.list(&all)).await?.items;
    let pods = Api::<Pod>::namespaced(client.clone(), namespace);
    let request = Request::new("list", "pods", in_namespace);
    let pods = send(limits, request, pods.list(&all)).await?.items;
    let jobsets = jobsets.into_iter().filter_map(|guarded| guarded.0.ok()).collect();
    Ok(InNamespace { jobsets, jobs, pods })
}

/// The Jobs of the object `name` among those of its namespace.
pub fn jobs_of(name: &str, jobset: Option<&JobSet>, all: Vec<Job>) -> Vec<Job> {
    let owner = jobset.and_then(|jobset| jobset.metadata.uid.clone());
    all.into_iter()
        .filter(|job| {
            has_label(&job.metadata, name)
                || owner.as_deref().is_some_and(|uid| is_owned_by(&job.metadata, uid))
        })
        .collect()
}

/// The pods of the object `name` among those of its namespace.
pub fn pods_of(name: &str, jobs: &[Job], all: Vec<Pod>) -> Vec<Pod> {
    let owners: BTreeSet<&str> =
        jobs.iter().filter_map(|job| job.metadata.uid.as_deref()).collect();
    all.into_iter()
        .filter(|pod| {
            has_label(&pod.metadata, name)
                || owners.iter().any(|uid| is_owned_by(&pod.metadata, uid))
        })
        .collect()
}

fn has_label(metadata: &ObjectMeta, name: &str) -> bool {
    let labels = metadata.labels.as_ref();
    labels.and_then(|labels| labels.get(names::JOBSET_NAME)).is_some_and(|value| value == name)
}

/// Whether the object has an owner of this UID.
pub fn is_owned_by(metadata: &ObjectMeta, uid: &str) -> bool {
    metadata.owner_references.iter().flatten().any(|owner| owner.uid == uid)
}

/// Whether a pod lives: from its creation until it is Succeeded, Failed or gone; scheduled or not,
/// Terminating or not.
pub fn is_live(pod: &Pod) -> bool {
    !matches!(phase(pod), "Succeeded" | "Failed")
}

/// The live pods among `pods`, as answers and messages name them, by name.
pub fn live_pods<'a>(pods: impl IntoIterator<Item = &'a Pod>) -> Vec<PodOfObject> {
    let mut live: Vec<_> = pods.into_iter().filter(|pod| is_live(pod)).map(describe).collect();
    live.sort();
    live
}

/// A pod as answers and messages name it.
pub fn describe(pod: &Pod) -> PodOfObject {
    PodOfObject {
        name: pod.name_any(),
        uid: pod.metadata.uid.clone().unwrap_or_default(),
        phase: phase(pod).to_owned(),
        terminating: pod.metadata.deletion_timestamp.is_some(),
        node: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()),
        admission: admission(pod).map(str::to_owned),
    }
}

/// A as the pod's annotation has it, readable or not.
pub fn admission(pod: &Pod) -> Option<&str> {
    pod.metadata.annotations.as_ref()?.get(names::POD_ADMISSION).map(String::as_str)
}

fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending")
}
