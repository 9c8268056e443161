//! The watches on a probe.

use dispatch_contract::resources::{TrainJob, Workload};
use dispatch_contract::{CallError, ErrorKind, ObjectRef, names};
use futures::StreamExt;
use futures::stream::{BoxStream, select_all};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::runtime::watcher;
use tokio::time::{Instant, timeout_at};

use super::Sighting;
use crate::Adapter;
use crate::error::fail;
use crate::watch::{Seen, Watch, watch};
use crate::workload::{WORKLOADS, belongs_to};
use crate::write::TRAINJOBS;

/// How many watches there are.
const WATCHES: usize = 3;

/// What a watch brought.
pub(super) enum Glimpse {
    /// Something of the probe.
    Seen(Sighting),
    /// The watch cannot go on.
    Failed(CallError),
}

enum Item {
    Workload(Box<Workload>),
    Pod(String),
    TrainJobDeleted(String),
    Listed,
    Gap,
}

/// Watches on everything that could show a leak, opened before the probe is made, so that nothing
/// of it can come and go unseen.
pub(super) struct Eyes {
    items: BoxStream<'static, Result<Option<Item>, CallError>>,
}

impl Eyes {
    /// Opens the watches, and waits until all of them have seen what was there before.
    pub(super) async fn open(
        adapter: &Adapter,
        name: &str,
        deadline: Instant,
    ) -> Result<Self, CallError> {
        let (client, namespace) = (adapter.client(), adapter.namespace());
        let all = watcher::Config::default;
        let one = all().fields(&format!("metadata.name={name}"));
        let probe = name.to_owned();
        let items = select_all([
            items(watch::<Workload>(client, namespace, WORKLOADS, all()), |seen| match seen {
                Seen::Version(workload) => Some(Item::Workload(Box::new(workload))),
                _ => None,
            }),
            items(watch::<Pod>(client, namespace, "pods", all()), move |seen| match seen {
                // One that was deleted at once counts as well.
                Seen::Version(pod) | Seen::Deleted(pod) => {
                    is_pod_of(&probe, &pod).then(|| Item::Pod(pod.name_any()))
                }
                _ => None,
            }),
            items(watch::<TrainJob>(client, namespace, TRAINJOBS, one), |seen| match seen {
                Seen::Deleted(trainjob) => trainjob.uid().map(Item::TrainJobDeleted),
                _ => None,
            }),
        ]);
        let mut eyes = Self { items: items.boxed() };
        for _ in 0..WATCHES {
            timeout_at(deadline, eyes.listed()).await.unwrap_or_else(|_| {
                let message = "the watches for the probe could not be opened in time";
                Err(fail(ErrorKind::Unavailable, message, &["PF-01"]))
            })?;
        }
        Ok(eyes)
    }

    async fn listed(&mut self) -> Result<(), CallError> {
        loop {
            match self.items.next().await {
                Some(Ok(Some(Item::Listed))) => return Ok(()),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error),
                None => std::future::pending().await,
            }
        }
    }

    /// The next thing that is seen of the probe.
    pub(super) async fn next(&mut self, probe: &ObjectRef) -> Glimpse {
        loop {
            let item = match self.items.next().await {
                Some(Ok(Some(item))) => item,
                Some(Ok(None)) => continue,
                Some(Err(error)) => return Glimpse::Failed(error),
                None => std::future::pending().await,
            };
            match item {
                Item::Workload(workload) if belongs_to(&workload, &probe.uid) => {
                    return Glimpse::Seen(Sighting::Workload(workload));
                }
                Item::Pod(name) => return Glimpse::Seen(Sighting::Pod(name)),
                Item::TrainJobDeleted(uid) if uid == probe.uid => {
                    return Glimpse::Seen(Sighting::Deleted);
                }
                Item::Gap => return Glimpse::Seen(Sighting::Gap),
                Item::Workload(_) | Item::TrainJobDeleted(_) | Item::Listed => {}
            }
        }
    }
}

fn items<K: Send + 'static>(
    watch: Watch<K>,
    mut pick: impl FnMut(Seen<K>) -> Option<Item> + Send + 'static,
) -> BoxStream<'static, Result<Option<Item>, CallError>> {
    watch
        .map(move |seen| {
            seen.map(|seen| match seen {
                Seen::Listed => Some(Item::Listed),
                Seen::Gap => Some(Item::Gap),
                other => pick(other),
            })
        })
        .boxed()
}

/// Whether this is a pod of the probe, by label or by name: the name of a probe is nobody else's.
fn is_pod_of(probe: &str, pod: &Pod) -> bool {
    let labelled = pod.labels().get(names::JOBSET_NAME).is_some_and(|name| name == probe);
    labelled || pod.name_any().starts_with(&format!("{probe}-"))
}
