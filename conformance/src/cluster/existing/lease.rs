//! The Lease of a run, by which others know that what is named after the run is in use.
//!
//! It is in the marker's namespace, has the run's id for a name, is there before anything else of the
//! run, and goes after everything else. The run renews it while it lives. Whoever would remove what a
//! run has left watches its Lease for as long as it is good, by a clock of their own, and then takes it
//! away, by the version that they saw all the time: a run that has renewed it meanwhile keeps it, and a
//! run whose Lease was taken away finds that out at its next renewal and ends.

use super::marker::NAMESPACE;
use super::question::{Answer, ask};
use crate::cluster::ClusterError;
use crate::cluster::local::endpoint::chain;
use crate::follow::{Collection, Seen, follow};
use crate::run_id::is_run_id;
use dispatch_contract::{Clock, SystemClock};
use dispatch_kubernetes::request::{Limits, Outcome, Request, send, send_optional};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

/// For how long it is good.
const GOOD_FOR: Duration = Duration::from_secs(30);

/// How often it is renewed.
const RENEW_EVERY: Duration = Duration::from_secs(5);

/// The longest for which a Lease is watched, whatever it says of itself.
const WATCH_AT_MOST: Duration = Duration::from_mins(5);

/// The field manager of the Leases.
const MANAGER: &str = "dispatch-conformance";

/// How long one request may take: two may be lost while it is good.
const LIMITS: Limits = Limits { request: RENEW_EVERY };

/// A run's Lease, renewed until this is dropped.
pub struct RunLease {
    client: Client,
    run: String,
    /// Why it is lost, once it is.
    lost: watch::Receiver<Option<String>>,
    /// Ended when dropped.
    renewing: JoinSet<()>,
}

impl RunLease {
    /// Makes it. To be done before anything else is made that is named after the run.
    pub async fn take(client: Client, run: &str) -> Result<Self, ClusterError> {
        let api = leases(&client);
        let begun = Instant::now();
        let holder = std::env::var("HOSTNAME").unwrap_or_default();
        let lease = json!({
            "metadata": { "name": run, "namespace": NAMESPACE },
            "spec": {
                "holderIdentity": format!("{holder}/{}", std::process::id()),
                "leaseDurationSeconds": GOOD_FOR.as_secs(),
                "acquireTime": MicroTime(SystemClock.now()),
                "renewTime": MicroTime(SystemClock.now()),
            },
        });
        let failed = |detail: String| ClusterError::Request {
            action: format!("making the run's Lease {NAMESPACE}/{run}"),
            detail,
        };
        let lease = serde_json::from_value(lease).map_err(|error| failed(error.to_string()))?;
        let params =
            PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        let made = send(LIMITS, Request::new("create", "leases", run), api.create(&params, &lease));
        made.await.map_err(|error| failed(chain(&error)))?;
        let (tell, lost) = watch::channel(None);
        let mut renewing = JoinSet::new();
        renewing.spawn(renew(api, run.to_owned(), begun, tell));
        Ok(Self { client, run: run.to_owned(), lost, renewing })
    }

    /// Why it is lost, if it is: others may remove what is named after the run.
    pub fn is_lost(&self) -> Option<ClusterError> {
        self.lost.borrow().clone().map(|why| self.lease_lost(why))
    }

    /// Returns when it is lost, with the reason.
    pub async fn lost(&self) -> ClusterError {
        let mut lost = self.lost.clone();
        let why = match lost.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or_default(),
            Err(_) => "it is not renewed any more".to_owned(),
        };
        self.lease_lost(why)
    }

    fn lease_lost(&self, why: String) -> ClusterError {
        ClusterError::LeaseLost { run: self.run.clone(), why }
    }

    /// Takes it away. To be done after everything else that is named after the run.
    pub async fn end(mut self) -> Result<(), ClusterError> {
        self.renewing.shutdown().await;
        let api = leases(&self.client);
        let params = DeleteParams::default();
        let deleted = api.delete(&self.run, &params);
        let request = Request::new("delete", "leases", &self.run);
        send_optional(LIMITS, request, deleted).await.map(drop).map_err(|error| {
            ClusterError::Request {
                action: format!("removing the run's Lease {NAMESPACE}/{}", self.run),
                detail: chain(&error),
            }
        })
    }
}

/// Renews it until it is lost: nobody has it any more, or it was not renewed for as long as it is good.
async fn renew(api: Api<Lease>, run: String, begun: Instant, tell: watch::Sender<Option<String>>) {
    let mut good_until = begun + GOOD_FOR;
    let mut turn = interval(RENEW_EVERY);
    turn.set_missed_tick_behavior(MissedTickBehavior::Delay);
    turn.tick().await;
    let why = loop {
        turn.tick().await;
        let sent = Instant::now();
        // A patch makes none, where a server-side apply would.
        let patch = json!({ "spec": { "renewTime": MicroTime(SystemClock.now()) } });
        let by = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        let (request, patch) = (Request::new("patch", "leases", &run), Patch::Merge(patch));
        match send(LIMITS, request, api.patch(&run, &by, &patch)).await {
            // However late: as long as it is there, nobody has removed anything.
            Ok(_) => good_until = sent + GOOD_FOR,
            Err(error) if error.outcome == Outcome::NotFound => {
                break "somebody took it away, since it was not renewed in time".to_owned();
            }
            Err(error) if Instant::now() >= good_until => break chain(&error),
            Err(_) => {}
        }
    };
    // Nobody asks any more when the run is over.
    drop(tell.send(Some(why)));
}

fn leases(client: &Client) -> Api<Lease> {
    Api::namespaced(client.clone(), NAMESPACE)
}

/// The runs that have a Lease.
pub(super) async fn runs(client: &Client) -> Answer<Vec<String>> {
    let all = ask(leases(client).list(&ListParams::default())).await?;
    Ok(all.into_iter().map(|lease| lease.name_any()).filter(|name| is_run_id(name)).collect())
}

/// A Lease as it was first seen.
struct First {
    uid: Option<String>,
    version: Option<String>,
    good_for: Duration,
}

/// Which runs are over, of these and of all that have a Lease: those without one, and those whose Lease
/// is not renewed while it is watched for as long as it is good. It is taken away then. What a run has
/// made is to be looked for before this is asked: its Lease was there earlier.
pub async fn over(
    client: &Client,
    runs: &BTreeSet<String>,
) -> Result<BTreeSet<String>, ClusterError> {
    let failed = |detail: String| ClusterError::Request {
        action: format!("watching the Leases of runs in {NAMESPACE}"),
        detail,
    };
    let (sink, mut seen) = mpsc::unbounded_channel();
    let watched = follow(Collection::new(leases(client), None), move |event| {
        // The receiver is gone only when this future is about to be dropped too.
        let _ = sink.send(event);
    });
    let worked = async {
        let mut silent = Silent::new(runs);
        let mut until = Instant::now() + WATCH_AT_MOST;
        while !(silent.listed && silent.watched.is_empty()) {
            match timeout_at(until, seen.recv()).await {
                Ok(Some(event)) => {
                    let first = !silent.listed;
                    silent.note(event);
                    if first && silent.listed {
                        until = Instant::now() + silent.longest();
                    }
                }
                Ok(None) => return Err("the watch has ended".to_owned()),
                Err(_) if silent.listed => break,
                Err(_) => return Err("they could not be listed".to_owned()),
            }
        }
        Ok(silent)
    };
    let silent = tokio::select! {
        biased;
        () = watched => Err("the watch has ended".to_owned()),
        silent = worked => silent,
    };
    let Silent { watched, mut over, .. } = silent.map_err(failed)?;
    for (run, first) in watched {
        let preconditions = Preconditions { uid: first.uid, resource_version: first.version };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        let api = leases(client);
        let deleted = api.delete(&run, &params);
        match send_optional(Limits::default(), Request::new("delete", "leases", &run), deleted)
            .await
        {
            Ok(_) => {
                over.insert(run);
            }
            // It was renewed after all.
            Err(error) if error.outcome == Outcome::Conflict => {}
            Err(error) => return Err(failed(chain(&error))),
        }
    }
    Ok(over)
}

/// Which runs are silent, as far as was seen.
struct Silent {
    /// Whether it was seen which runs have a Lease.
    listed: bool,
    /// Those whose Lease has not changed.
    watched: BTreeMap<String, First>,
    /// Those without one.
    over: BTreeSet<String>,
}

impl Silent {
    fn new(runs: &BTreeSet<String>) -> Self {
        Self { listed: false, watched: BTreeMap::new(), over: runs.clone() }
    }

    /// For how long the Leases are to be watched.
    fn longest(&self) -> Duration {
        let all = self.watched.values().map(|first| first.good_for);
        all.max().unwrap_or_default().clamp(GOOD_FOR, WATCH_AT_MOST)
    }

    /// Takes what was seen. The first list says which runs have a Lease; every change after it is a
    /// sign of life.
    fn note(&mut self, event: Seen<Lease>) {
        match event {
            Seen::Listed(all) if !self.listed => {
                self.listed = true;
                for lease in all.iter().filter(|lease| is_run_id(&lease.name_any())) {
                    self.over.remove(&lease.name_any());
                    self.watched.insert(lease.name_any(), First::of(lease));
                }
            }
            Seen::Listed(all) => {
                for lease in all {
                    let unchanged = |first: &First| first.version == lease.resource_version();
                    if !self.watched.get(&lease.name_any()).is_some_and(unchanged) {
                        self.watched.remove(&lease.name_any());
                    }
                }
            }
            Seen::Added(lease) | Seen::Modified(lease) => {
                let run = lease.name_any();
                self.watched.remove(&run);
                self.over.remove(&run);
            }
            // The run has ended, and removed what it could.
            Seen::Deleted(lease) => {
                let run = lease.name_any();
                if self.watched.remove(&run).is_some() {
                    self.over.insert(run);
                }
            }
            Seen::Lost(_) | Seen::Trouble(_) => {}
        }
    }
}

impl First {
    fn of(lease: &Lease) -> Self {
        let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
        let seconds = seconds.and_then(|it| u64::try_from(it).ok()).unwrap_or_default();
        Self {
            uid: lease.uid(),
            version: lease.resource_version(),
            good_for: Duration::from_secs(seconds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::simulated::Simulated;

    const RUN: &str = "01m8n2g4jrhr5epw0y3vtrjg3h";
    const OTHER: &str = "01m8n2g4jrhr5epw0y3vtrjg3j";

    /// A cluster with the marker's namespace, and its administrator.
    async fn cluster() -> (Simulated, Client) {
        let cluster = Simulated::start(0, "lease");
        let client = cluster.client();
        let namespace = json!({ "metadata": { "name": NAMESPACE } });
        let api = Api::<k8s_openapi::api::core::v1::Namespace>::all(client.clone());
        let namespace = serde_json::from_value(namespace).unwrap();
        api.create(&PostParams::default(), &namespace).await.unwrap();
        (cluster, client)
    }

    fn named(runs: &[&str]) -> BTreeSet<String> {
        runs.iter().map(|&run| run.to_owned()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_lives_is_let_be_and_known_for_it_soon() {
        let (_cluster, client) = cluster().await;
        let lease = RunLease::take(client.clone(), RUN).await.unwrap();
        let begun = Instant::now();
        assert_eq!(over(&client, &named(&[RUN])).await.unwrap(), named(&[]));
        assert!(begun.elapsed() < 2 * RENEW_EVERY);
        assert!(lease.is_lost().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_without_a_lease_is_over_at_once() {
        let (_cluster, client) = cluster().await;
        let _other = RunLease::take(client.clone(), OTHER).await.unwrap();
        let begun = Instant::now();
        assert_eq!(over(&client, &named(&[RUN, OTHER])).await.unwrap(), named(&[RUN]));
        assert!(begun.elapsed() < GOOD_FOR);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_nobody_renews_is_watched_as_long_as_it_is_good_and_taken_away() {
        let (_cluster, client) = cluster().await;
        // As a run that was killed: its Lease stays, also where it had made nothing yet.
        drop(RunLease::take(client.clone(), RUN).await.unwrap());
        let begun = Instant::now();
        assert_eq!(over(&client, &named(&[])).await.unwrap(), named(&[RUN]));
        assert!(begun.elapsed() >= GOOD_FOR);
        assert_eq!(runs(&client).await.unwrap(), Vec::<String>::new());
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_whose_lease_was_taken_away_learns_of_it() {
        let (_cluster, client) = cluster().await;
        let lease = RunLease::take(client.clone(), RUN).await.unwrap();
        leases(&client).delete(RUN, &DeleteParams::default()).await.unwrap();
        let lost = lease.lost().await;
        assert!(matches!(&lost, ClusterError::LeaseLost { run, .. } if run == RUN), "{lost}");
        assert_eq!(lease.is_lost(), Some(lost));
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_has_ended_has_no_lease() {
        let (_cluster, client) = cluster().await;
        let lease = RunLease::take(client.clone(), RUN).await.unwrap();
        assert_eq!(runs(&client).await.unwrap(), [RUN]);
        lease.end().await.unwrap();
        assert_eq!(runs(&client).await.unwrap(), Vec::<String>::new());
    }

    #[test]
    fn other_leases_of_the_namespace_are_nobodys_business() {
        let mut silent = Silent::new(&BTreeSet::new());
        let other = json!({ "metadata": { "name": "leader" } });
        silent.note(Seen::Listed(vec![serde_json::from_value(other).unwrap()]));
        assert!(silent.watched.is_empty() && silent.over.is_empty());
    }
}
