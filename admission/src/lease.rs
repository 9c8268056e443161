//! The Lease: it saves replicas from doing the same work twice, and shows adapters that a
//! controller is alive. Nothing relies on it for safety (RG-07).
//!
//! No clock of another machine is trusted: a claim is over when the Lease has not changed for its
//! duration since *this* replica saw it change.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use dispatch_contract::{Clock, names};
use dispatch_kubernetes::request::{Limits, Outcome, Request, RequestError, send, send_optional};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};

use crate::config;
use crate::metrics::Metrics;
use crate::triggers::Everything;

/// What to do about the Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nobody holds it, or its holder let it run out.
    Acquire,
    /// It is this replica's.
    Renew,
    /// Another holds it, until then at least.
    Follow {
        /// When its claim runs out, unless it is renewed.
        until: Instant,
    },
}

/// What to do about a Lease that was first seen in this version at `seen`.
pub(crate) fn evaluate(lease: &Lease, me: &str, seen: Instant, now: Instant) -> Step {
    let spec = lease.spec.as_ref();
    let holder = spec.and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default();
    let seconds = spec.and_then(|spec| spec.lease_duration_seconds).unwrap_or_default();
    let until = seen + Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
    match holder {
        "" => Step::Acquire,
        holder if holder == me => Step::Renew,
        _ if now >= until => Step::Acquire,
        _ => Step::Follow { until },
    }
}

/// Until when this replica may act, as its reconcilers ask at the beginning of each pass.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    until: watch::Receiver<Option<Instant>>,
}

impl Claim {
    /// Whether the claim holds now.
    pub(crate) fn is_held(&self) -> bool {
        holds(*self.until.borrow())
    }
}

fn holds(until: Option<Instant>) -> bool {
    until.is_some_and(|until| Instant::now() < until)
}

/// Keeps this replica's claim.
pub(crate) struct Keeper {
    leases: Api<Lease>,
    config: config::Lease,
    me: String,
    limits: Limits,
    clock: Arc<dyn Clock>,
    claim: watch::Sender<Option<Instant>>,
    everything: Everything,
    metrics: Metrics,
    seen: Option<(String, Instant)>,
}

impl Keeper {
    pub(crate) fn new(
        client: Client,
        (config, me): (&config::Lease, &str),
        (clock, everything, metrics): (Arc<dyn Clock>, Everything, Metrics),
    ) -> (Self, Claim) {
        let (claim, until) = watch::channel(None);
        let keeper = Self {
            leases: Api::namespaced(client, &config.namespace),
            config: config.clone(),
            me: me.to_owned(),
            limits: Limits { request: config.renew },
            clock,
            claim,
            everything,
            metrics,
            seen: None,
        };
        (keeper, Claim { until })
    }

    /// Renews or watches the Lease until `end`, and gives it up then.
    pub(crate) async fn keep_until(mut self, end: impl Future<Output = ()> + Send) {
        tokio::select! {
            biased;
            () = end => {}
            () = self.keep() => {}
        }
        self.release().await;
    }

    async fn keep(&mut self) {
        let mut ticks = tokio::time::interval(self.config.renew);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let began = Instant::now();
            match self.turn(began).await {
                Ok(true) => self.claimed(Some(began + self.config.duration)),
                Ok(false) => self.claimed(None),
                Err(error) => {
                    tracing::warn!(lease = %self.config.name, %error, "the Lease could not be kept");
                    if !self.is_held() {
                        self.claimed(None);
                    }
                }
            }
        }
    }

    /// One look at the Lease; whether it is this replica's afterwards.
    async fn turn(&mut self, now: Instant) -> Result<bool, RequestError> {
        let get = self.leases.get(&self.config.name);
        let Some(lease) = send_optional(self.limits, self.request("get"), get).await? else {
            return self.create().await;
        };
        let version = lease.metadata.resource_version.clone().unwrap_or_default();
        let seen = match &self.seen {
            Some((before, seen)) if *before == version => *seen,
            _ => now,
        };
        self.seen = Some((version, seen));
        match evaluate(&lease, &self.me, seen, now) {
            Step::Follow { .. } => Ok(false),
            Step::Renew => self.write(renewal(&lease, self.clock.now())).await,
            Step::Acquire => self.write(self.acquisition(&lease)).await,
        }
    }

    async fn create(&self) -> Result<bool, RequestError> {
        let now = micro_time(self.clock.now());
        let lease = json!({
            "metadata": {"name": self.config.name, "namespace": self.config.namespace},
            "spec": {
                "holderIdentity": self.me,
                "leaseDurationSeconds": self.config.duration.as_secs(),
                "acquireTime": now,
                "renewTime": now,
                "leaseTransitions": 0,
            },
        });
        let Ok(lease) = serde_json::from_value::<Lease>(lease) else { return Ok(false) };
        let by = PostParams { field_manager: Some(manager()), ..PostParams::default() };
        let created = send(self.limits, self.request("create"), self.leases.create(&by, &lease));
        lost_or_won(created.await.map(drop))
    }

    async fn write(&self, body: Value) -> Result<bool, RequestError> {
        let by = PatchParams { field_manager: Some(manager()), ..PatchParams::default() };
        let patch = Patch::Merge(body);
        let patched = self.leases.patch(&self.config.name, &by, &patch);
        lost_or_won(send(self.limits, self.request("patch"), patched).await.map(drop))
    }

    /// Another holder from now on, with the version of the read.
    fn acquisition(&self, lease: &Lease) -> Value {
        let now = micro_time(self.clock.now());
        let before = lease.spec.as_ref().and_then(|spec| spec.lease_transitions);
        json!({
            "metadata": {"resourceVersion": lease.metadata.resource_version},
            "spec": {
                "holderIdentity": self.me,
                "leaseDurationSeconds": self.config.duration.as_secs(),
                "acquireTime": now,
                "renewTime": now,
                "leaseTransitions": before.unwrap_or_default().saturating_add(1),
            },
        })
    }

    fn is_held(&self) -> bool {
        holds(*self.claim.borrow())
    }

    /// A claim that lapsed in between begins anew: events were passed over meanwhile.
    fn claimed(&self, until: Option<Instant>) {
        let before = self.claim.send_replace(until);
        self.metrics.leads(until.is_some());
        if until.is_some() && !holds(before) {
            tracing::info!(lease = %self.config.name, identity = %self.me, "leading");
            self.everything.ask();
        } else if before.is_some() && until.is_none() {
            tracing::info!(lease = %self.config.name, identity = %self.me, "following");
        }
    }

    /// Gives the Lease up, so that another replica need not wait for it to run out.
    async fn release(self) {
        if self.claim.borrow().is_none() {
            return;
        }
        self.claimed(None);
        let get = self.leases.get(&self.config.name);
        let lease = send(self.limits, self.request("get"), get).await;
        let held = |lease: &Lease| {
            let spec = lease.spec.as_ref();
            spec.and_then(|spec| spec.holder_identity.as_deref()) == Some(self.me.as_str())
        };
        let released = match lease {
            Ok(lease) if held(&lease) => {
                let body = json!({
                    "metadata": {"resourceVersion": lease.metadata.resource_version},
                    "spec": {"holderIdentity": ""},
                });
                self.write(body).await
            }
            Ok(_) => return,
            Err(error) => Err(error),
        };
        match released {
            Ok(_) => tracing::info!(lease = %self.config.name, "released"),
            Err(error) => tracing::warn!(lease = %self.config.name, %error, "not released"),
        }
    }

    fn request(&self, verb: &'static str) -> Request {
        let object = format!("{}/{}", self.config.namespace, self.config.name);
        Request::new(verb, "leases.coordination.k8s.io", object)
    }
}

fn manager() -> String {
    names::FIELD_MANAGER_ADMISSION.to_owned()
}

/// A write that met another's has lost the Lease to it.
fn lost_or_won(written: Result<(), RequestError>) -> Result<bool, RequestError> {
    match written {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.outcome, Outcome::Conflict | Outcome::Exists) => Ok(false),
        Err(error) => Err(error),
    }
}

fn renewal(lease: &Lease, now: Timestamp) -> Value {
    json!({
        "metadata": {"resourceVersion": lease.metadata.resource_version},
        "spec": {"renewTime": micro_time(now)},
    })
}

/// A time as Leases have it, with microseconds.
fn micro_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn lease(holder: Option<&str>, seconds: i32) -> Lease {
        serde_json::from_value(json!({"spec": {
            "holderIdentity": holder, "leaseDurationSeconds": seconds}}))
        .unwrap()
    }

    #[rstest]
    #[case::nobodys(lease(None, 15), 0, "acquire")]
    #[case::released(lease(Some(""), 15), 0, "acquire")]
    #[case::mine(lease(Some("me"), 15), 0, "renew")]
    #[case::mine_though_late(lease(Some("me"), 15), 60, "renew")]
    #[case::anothers(lease(Some("other"), 15), 14, "follow")]
    #[case::anothers_run_out(lease(Some("other"), 15), 15, "acquire")]
    #[case::without_a_duration(lease(Some("other"), 0), 0, "acquire")]
    #[case::with_an_odd_duration(lease(Some("other"), -1), 0, "acquire")]
    fn a_lease_is_judged_by_when_it_was_seen_to_change(
        #[case] lease: Lease,
        #[case] seconds_since_seen: u64,
        #[case] expected: &str,
    ) {
        let seen = Instant::now();
        let step = evaluate(&lease, "me", seen, seen + Duration::from_secs(seconds_since_seen));
        let step = match step {
            Step::Acquire => "acquire",
            Step::Renew => "renew",
            Step::Follow { until } => {
                assert_eq!(until, seen + Duration::from_secs(15));
                "follow"
            }
        };
        assert_eq!(step, expected);
    }

    #[test]
    fn times_have_microseconds() {
        let time = micro_time("2026-01-02T03:04:05.678912345Z".parse().unwrap());
        assert_eq!(time, "2026-01-02T03:04:05.678912Z");
    }
}
