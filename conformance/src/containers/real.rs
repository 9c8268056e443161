//! The real containers of a scenario's namespace.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dispatch_container::said::{Said, Saying};
use futures::future::{join_all, try_join_all};
use k8s_openapi::api::core::v1::Pod as KubePod;
use kube::{Api, Client, ResourceExt};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::log;
use super::tell::{NotTold, Word, tell};
use crate::follow::{Collection, Seen, follow};
use crate::history::recorder::Journal;
use crate::history::{ContainerSaid, What};
use crate::kubelet::{Ending, Policies};

/// How long the logs may lag behind the API server.
const LOG_LIMIT: Duration = Duration::from_secs(10);

/// A pod, by its name and its UID.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pod {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
}

/// The containers of a namespace: tells them what a scenario says, and writes what they print into the
/// history. When it is dropped, they go on.
pub struct Real {
    shared: Arc<Shared>,
    /// Ended when dropped.
    tasks: JoinSet<()>,
}

struct Shared {
    client: Client,
    namespace: String,
    journal: Arc<Journal>,
    policies: Mutex<Policies>,
    /// What is known of each container, by the UID of its pod.
    known: watch::Sender<BTreeMap<String, Known>>,
}

/// What is known of a container.
#[derive(Clone, Debug)]
struct Known {
    pod: Pod,
    job: Option<String>,
    /// Whether it has said that it began.
    began: bool,
    /// Whether everything that it printed was read.
    over: bool,
}

impl Real {
    /// Follows the containers of the namespace from now on.
    pub fn start(client: Client, namespace: &str, journal: Arc<Journal>) -> Self {
        let shared = Arc::new(Shared {
            client,
            namespace: namespace.to_owned(),
            journal,
            policies: Mutex::default(),
            known: watch::Sender::default(),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(Arc::clone(&shared)));
        Self { shared, tasks }
    }

    /// Makes the containers of a job ignore SIGTERM, those to come included. Returns when those of the
    /// pods that run have heard it.
    pub async fn linger(&self, job: &str, running: &[Pod]) -> Result<(), NotTold> {
        self.shared.policies().linger(job, true);
        self.shared.tell_all(running, Word::Linger).await
    }

    /// Makes the containers of a job heed SIGTERM again, also if it came before.
    pub async fn let_go(&self, job: &str) -> Result<(), NotTold> {
        self.shared.policies().linger(job, false);
        let of_job = |known: &Known| known.job.as_deref() == Some(job);
        self.shared.tell_all(&self.shared.there(of_job), Word::LetGo).await
    }

    /// Ends the containers of these pods.
    pub async fn end(&self, pods: &[Pod], ending: Ending) -> Result<(), NotTold> {
        self.shared.tell_all(pods, Word::End(ending)).await
    }

    /// Makes all heed SIGTERM from now on, so that everything can be removed.
    pub async fn let_all_go(&self) {
        *self.shared.policies() = Policies::default();
        let there = self.shared.there(|_| true);
        let told = there.iter().map(|pod| self.shared.tell(pod, Word::LetGo));
        for not_told in join_all(told).await.into_iter().filter_map(Result::err) {
            tracing::warn!(%not_told, "it ends with its grace period");
        }
    }

    /// Writes no more into the history, once what the containers of these pods have said is in it: their
    /// beginning, and of those that have ended, everything.
    pub async fn stop_listening(&mut self, ran: &[Pod], ended: &[Pod]) {
        let mut known = self.shared.known.subscribe();
        let is = |known: &BTreeMap<String, Known>, pod: &Pod, what: fn(&Known) -> bool| {
            known.get(&pod.uid).is_some_and(what)
        };
        let heard = known.wait_for(|known| {
            ran.iter().all(|pod| is(known, pod, |it| it.began || it.over))
                && ended.iter().all(|pod| is(known, pod, |it| it.over))
        });
        // What is missing then, judges see.
        drop(timeout(LOG_LIMIT, heard).await);
        self.tasks.shutdown().await;
    }
}

impl Shared {
    fn policies(&self) -> MutexGuard<'_, Policies> {
        self.policies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pods whose container has begun and is not known to have ended.
    fn there(&self, which: impl Fn(&Known) -> bool) -> Vec<Pod> {
        let known = self.known.borrow();
        let there = known.values().filter(|known| known.began && !known.over && which(known));
        there.map(|known| known.pod.clone()).collect()
    }

    async fn tell_all(&self, pods: &[Pod], word: Word) -> Result<(), NotTold> {
        try_join_all(pods.iter().map(|pod| self.tell(pod, word))).await.map(drop)
    }

    /// Tells a container something. One that has ended meanwhile need not hear it.
    async fn tell(&self, pod: &Pod, word: Word) -> Result<(), NotTold> {
        let mut known = self.known.subscribe();
        let over = known.wait_for(|known| known.get(&pod.uid).is_some_and(|it| it.over));
        tokio::select! {
            biased;
            told = tell(&self.client, &self.namespace, pod, word) => told,
            _ = over => Ok(()),
        }
    }

    /// Takes note of a pod whose container runs or has run; gives whether it is new.
    fn note(&self, pod: &KubePod) -> Option<Known> {
        let uid = pod.uid()?;
        if !runs(pod) || self.known.borrow().contains_key(&uid) {
            return None;
        }
        let job = crate::kubelet::job_of(pod).map(str::to_owned);
        let pod = Pod { name: pod.name_any(), uid: uid.clone() };
        let known = Known { pod, job, began: false, over: false };
        self.known.send_modify(|all| {
            all.insert(uid, known.clone());
        });
        Some(known)
    }

    /// Reads the log of a container to its end.
    async fn listen(self: Arc<Self>, known: Known) {
        let api = Api::<KubePod>::namespaced(self.client.clone(), &self.namespace);
        let Known { pod, job, .. } = known;
        let mut telling = JoinSet::new();
        log::read(&api, &pod, |said| {
            let began = said.what == Saying::Started;
            self.write(&pod, job.as_deref(), said);
            if began {
                self.change(&pod, |known| known.began = true);
                if job.as_deref().is_some_and(|job| self.policies().lingers(job)) {
                    let (shared, pod) = (Arc::clone(&self), pod.clone());
                    telling.spawn(async move {
                        if let Err(not_told) = shared.tell(&pod, Word::Linger).await {
                            tracing::warn!(%not_told, "it heeds SIGTERM");
                        }
                    });
                }
            }
        })
        .await;
        self.change(&pod, |known| known.over = true);
    }

    fn write(&self, pod: &Pod, job: Option<&str>, said: Said) {
        let line = ContainerSaid {
            job: job.map(str::to_owned),
            pod: pod.name.clone(),
            uid: pod.uid.clone(),
            said,
        };
        self.journal.note(None, What::Container(Box::new(line)));
    }

    fn change(&self, pod: &Pod, change: impl FnOnce(&mut Known)) {
        self.known.send_modify(|all| {
            if let Some(known) = all.get_mut(&pod.uid) {
                change(known);
            }
        });
    }
}

/// Listens to every container that there is.
async fn serve(shared: Arc<Shared>) {
    let (sink, mut seen) = mpsc::unbounded_channel();
    let api = Api::<KubePod>::namespaced(shared.client.clone(), &shared.namespace);
    let watched = follow(Collection::new(api, None), move |event| {
        // The receiver is gone only when this future is about to be dropped too.
        let _ = sink.send(event);
    });
    let listened = async {
        let mut listening = JoinSet::new();
        while let Some(event) = seen.recv().await {
            let pods = match event {
                Seen::Listed(pods) => pods,
                Seen::Added(pod) | Seen::Modified(pod) => vec![pod],
                Seen::Deleted(_) => Vec::new(),
                Seen::Lost(why) | Seen::Trouble(why) => {
                    tracing::warn!(why, "the pods of a namespace");
                    Vec::new()
                }
            };
            for known in pods.iter().filter_map(|pod| shared.note(pod)) {
                listening.spawn(Arc::clone(&shared).listen(known));
            }
        }
    };
    tokio::join!(watched, listened);
}

/// Whether the container of a pod runs, or has run.
fn runs(pod: &KubePod) -> bool {
    let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
    statuses.into_iter().flatten().filter_map(|status| status.state.as_ref()).any(|state| {
        let ended = state.terminated.as_ref();
        state.running.is_some() || ended.is_some_and(|it| it.started_at.is_some())
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case::runs(json!({ "running": { "startedAt": "2026-01-01T00:00:00Z" } }), true)]
    #[case::has_ended(
        json!({ "terminated": { "exitCode": 0, "startedAt": "2026-01-01T00:00:00Z" } }), true)]
    #[case::never_began(json!({ "terminated": { "exitCode": 128 } }), false)]
    #[case::waits(json!({ "waiting": { "reason": "ContainerCreating" } }), false)]
    fn a_log_is_read_once_its_container_has_begun(#[case] state: Value, #[case] expected: bool) {
        let status = json!({ "name": "node", "image": "i", "imageID": "", "ready": true, "restartCount": 0, "state": state });
        let pod = json!({ "metadata": {}, "status": { "containerStatuses": [status] } });
        assert_eq!(runs(&serde_json::from_value(pod).unwrap()), expected);
        assert!(!runs(&KubePod::default()));
    }
}
