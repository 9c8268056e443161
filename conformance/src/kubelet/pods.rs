//! Moves the pods of one node: watches them, decides, writes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use dispatch_contract::Clock;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Api, ResourceExt};
use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::decide::{Action, decide};
use super::nodes::MANAGER;
use super::policy::Policies;
use super::status;
use crate::follow::{Collection, Seen, follow};

/// How long each request may take.
const REQUEST_LIMIT: Duration = Duration::from_secs(10);

/// How long to wait before trying again what failed.
const RETRY: Duration = Duration::from_millis(100);

/// Runs those of these pods that are bound to a node until the future is dropped.
pub(super) async fn serve(
    api: Api<Pod>,
    node: String,
    mut wanted: watch::Receiver<Policies>,
    clock: Arc<dyn Clock>,
) {
    let (sink, mut seen) = mpsc::unbounded_channel();
    let fields = Some(format!("spec.nodeName={node}"));
    let watched = follow(Collection::new(api.clone(), fields), move |event| {
        // The receiver is gone only when this future is about to be dropped too.
        let _ = sink.send(event);
    });
    let worked = async move {
        let mut pods = Pods { api, clock, known: HashMap::new() };
        let mut retry = interval(RETRY);
        retry.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut left = false;
        loop {
            tokio::select! {
                biased;
                event = seen.recv() => match event {
                    Some(event) => pods.note(event),
                    None => return,
                },
                changed = wanted.changed() => if changed.is_err() { return },
                _ = retry.tick(), if left => {}
            }
            let policies = wanted.borrow_and_update().clone();
            left = pods.move_all(&policies).await;
            retry.reset();
        }
    };
    tokio::join!(watched, worked);
}

/// The pods of a node, as last seen, and what was done about that version.
struct Pods {
    api: Api<Pod>,
    clock: Arc<dyn Clock>,
    known: HashMap<String, Known>,
}

struct Known {
    pod: Pod,
    /// The last action that was written for this very version.
    done: Option<Action>,
}

impl Pods {
    fn note(&mut self, event: Seen<Pod>) {
        match event {
            Seen::Listed(all) => {
                self.known.clear();
                for pod in all {
                    self.keep(pod);
                }
            }
            Seen::Added(pod) | Seen::Modified(pod) => self.keep(pod),
            Seen::Deleted(pod) => {
                self.known.remove(&pod.uid().unwrap_or_default());
            }
            Seen::Lost(why) | Seen::Trouble(why) => tracing::warn!(why, "the pods of a node"),
        }
    }

    fn keep(&mut self, pod: Pod) {
        self.known.insert(pod.uid().unwrap_or_default(), Known { pod, done: None });
    }

    /// Does what is to be done about each pod; gives whether something failed and is left to do.
    async fn move_all(&mut self, policies: &Policies) -> bool {
        let mut left = false;
        for Known { pod, done } in self.known.values_mut() {
            let action = decide(pod, policies.for_pod(pod));
            if action == Action::Leave || *done == Some(action) {
                continue;
            }
            match act(&self.api, pod, action, &*self.clock).await {
                Ok(()) => *done = Some(action),
                Err(why) => {
                    tracing::info!(pod = pod.name_any(), ?action, why, "to be tried again");
                    left = true;
                }
            }
        }
        left
    }
}

/// Does it, to the pod of this UID only.
async fn act(api: &Api<Pod>, pod: &Pod, action: Action, clock: &dyn Clock) -> Result<(), String> {
    let name = pod.name_any();
    let request = async {
        match action {
            Action::Leave => Ok(()),
            Action::Run => patch(api, &name, status::running(pod, clock.now())).await,
            Action::End(ending) => patch(api, &name, status::ended(pod, ending, clock.now())).await,
            Action::Remove => {
                let params = DeleteParams {
                    grace_period_seconds: Some(0),
                    preconditions: Some(Preconditions { uid: pod.uid(), resource_version: None }),
                    ..DeleteParams::default()
                };
                api.delete(&name, &params).await.map(|_| ())
            }
        }
    };
    match timeout(REQUEST_LIMIT, request).await {
        Ok(Ok(())) => Ok(()),
        // Gone by now: the watch will say so.
        Ok(Err(kube::Error::Api(status))) if status.code == 404 => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no answer within {REQUEST_LIMIT:?}")),
    }
}

async fn patch(api: &Api<Pod>, name: &str, status: serde_json::Value) -> kube::Result<()> {
    let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    api.patch_status(name, &params, &Patch::Strategic(status)).await.map(|_| ())
}
