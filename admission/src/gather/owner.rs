//! Whose Workload it is: the controller owners above it, each matched by UID (RG-02, RG-03).

use std::fmt::Debug;

use dispatch_contract::names;
use dispatch_contract::resources::{JobSet, TrainJob, Workload};
use dispatch_kubernetes::request::{Limits, Outcome, Request, RequestError, send, send_optional};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::ListParams;
use kube::core::{DeserializeGuard, PartialObjectMeta};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::GatherError;
use crate::snapshot::{At, Owner};

/// How many owners are looked at, one above the other. What Trainer makes is four deep.
const OWNERS_AT_MOST: usize = 8;

/// What is above a Workload.
pub(super) enum Above {
    /// A `TrainJob` of dispatch's owns it directly.
    Direct(Box<At<TrainJob>>),
    /// Anything else.
    Other(Owner),
}

/// One owner, as it was found.
enum Step {
    TrainJob(Box<At<TrainJob>>),
    /// Of a kind that can stand between a `TrainJob` and a Workload; with its own controller owner.
    Between(Option<OwnerReference>),
    /// Of a kind that neither Trainer nor `JobSet` makes.
    Foreign,
    Unreadable(String),
}

/// Follows the controller owners of a Workload up to a `TrainJob` of dispatch's, or to the end.
pub(super) async fn climb(
    client: &Client,
    limits: Limits,
    workload: &Workload,
) -> Result<Above, GatherError> {
    let namespace = workload.namespace().unwrap_or_default();
    let Some(first) = workload.controller_owner() else {
        return ownerless(client, limits, &namespace, &workload.name_any()).await.map(Above::Other);
    };
    let reader = Owners { client, limits, namespace: &namespace };
    let mut next = Some(first.clone());
    for _ in 0..OWNERS_AT_MOST {
        let Some(owner) = next else { return Ok(Above::Other(Owner::Foreign)) };
        next = match reader.step(&owner).await? {
            Step::Unreadable(why) => return Ok(Above::Other(Owner::Unreadable { why })),
            Step::Foreign => return Ok(Above::Other(Owner::Foreign)),
            Step::Between(above) => above,
            Step::TrainJob(trainjob) if !trainjob.object.is_dispatch() => {
                controller_of(trainjob.object.owner_references())
            }
            Step::TrainJob(trainjob) if owner.uid == first.uid => {
                return Ok(Above::Direct(trainjob));
            }
            Step::TrainJob(trainjob) => {
                let trainjob = trainjob.object.name_any();
                let through = described(first);
                return Ok(Above::Other(Owner::Indirect { trainjob, through }));
            }
        };
    }
    let why = format!("more than {OWNERS_AT_MOST} owners are above {}", described(first));
    Ok(Above::Other(Owner::Unreadable { why }))
}

fn described(owner: &OwnerReference) -> String {
    format!("the {} {}", owner.kind, owner.name)
}

fn controller_of(owners: &[OwnerReference]) -> Option<OwnerReference> {
    owners.iter().find(|owner| owner.controller == Some(true)).cloned()
}

struct Owners<'a> {
    client: &'a Client,
    limits: Limits,
    namespace: &'a str,
}

impl Owners<'_> {
    async fn step(&self, owner: &OwnerReference) -> Result<Step, GatherError> {
        let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
        let metadata = match (group, owner.kind.as_str()) {
            (names::TRAINER_GROUP, "TrainJob") => return self.trainjob(owner).await,
            ("jobset.x-k8s.io", "JobSet") => {
                self.metadata::<JobSet>(owner, "jobsets.jobset.x-k8s.io").await
            }
            ("batch", "Job") => self.metadata::<Job>(owner, "jobs.batch").await,
            ("", "Pod") => self.metadata::<Pod>(owner, "pods").await,
            _ => return Ok(Step::Foreign),
        };
        match metadata {
            Ok(Ok(above)) => Ok(Step::Between(above)),
            Ok(Err(why)) => Ok(Step::Unreadable(why)),
            Err(error) => unreadable_for_good(error).map(Step::Unreadable),
        }
    }

    async fn trainjob(&self, owner: &OwnerReference) -> Result<Step, GatherError> {
        let api = Api::<TrainJob>::namespaced(self.client.clone(), self.namespace);
        let request = self.request("trainjobs.trainer.kubeflow.org", owner);
        let found = match send_optional(self.limits, request, api.get(&owner.name)).await {
            Ok(found) => found.map(At::read).transpose()?,
            Err(error) => return unreadable_for_good(error).map(Step::Unreadable),
        };
        Ok(match found {
            Some(trainjob) if trainjob.uid() == owner.uid => Step::TrainJob(Box::new(trainjob)),
            found => Step::Unreadable(replaced(owner, found.is_some())),
        })
    }

    /// The controller owner of an owner; or why that cannot be known.
    async fn metadata<K>(
        &self,
        owner: &OwnerReference,
        resource: &'static str,
    ) -> Result<Result<Option<OwnerReference>, String>, RequestError>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + Debug + DeserializeOwned,
    {
        let api = Api::<K>::namespaced(self.client.clone(), self.namespace);
        let request = self.request(resource, owner);
        let found: Option<PartialObjectMeta<K>> =
            send_optional(self.limits, request, api.get_metadata(&owner.name)).await?;
        Ok(match found {
            Some(found) if found.uid().as_deref() == Some(owner.uid.as_str()) => {
                Ok(controller_of(found.owner_references()))
            }
            found => Err(replaced(owner, found.is_some())),
        })
    }

    fn request(&self, resource: &'static str, owner: &OwnerReference) -> Request {
        Request::new("get", resource, format!("{}/{}", self.namespace, owner.name))
    }
}

fn replaced(owner: &OwnerReference, another: bool) -> String {
    let owner = described(owner);
    if another {
        format!("{owner} is another one than the owner, which had another UID")
    } else {
        format!("{owner} owns this and is gone")
    }
}

/// An owner that this controller may not read stays unreadable, and the check says so; any other
/// failure is one of the moment.
fn unreadable_for_good(error: RequestError) -> Result<String, GatherError> {
    match error.outcome {
        Outcome::Forbidden | Outcome::Denied => Ok(error.to_string()),
        _ => Err(error.into()),
    }
}

/// A Workload without a controller owner is foreign, unless a `TrainJob` of dispatch's names it as
/// prebuilt: Kueue would start that `TrainJob` by it.
async fn ownerless(
    client: &Client,
    limits: Limits,
    namespace: &str,
    workload: &str,
) -> Result<Owner, GatherError> {
    let api = Api::<DeserializeGuard<TrainJob>>::namespaced(client.clone(), namespace);
    let selected =
        ListParams::default().labels(&format!("{}={workload}", names::PREBUILT_WORKLOAD));
    let in_namespace = format!("in namespace {namespace}");
    let request = Request::new("list", "trainjobs.trainer.kubeflow.org", in_namespace);
    for found in send(limits, request, api.list(&selected)).await? {
        match found.0 {
            Ok(trainjob) if !trainjob.is_dispatch() => {}
            Ok(trainjob) => return Ok(Owner::Prebuilt { trainjob: trainjob.name_any() }),
            Err(odd) => {
                let name = odd.metadata.name.unwrap_or_default();
                let why = format!("the TrainJob {name} cannot be understood: {}", odd.error);
                return Ok(Owner::Unreadable { why });
            }
        }
    }
    Ok(Owner::Foreign)
}
