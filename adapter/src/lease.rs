//! Whether the controller lives, by its Lease (PF-04).
//!
//! The time in a Lease is that of the machine that wrote it, and is never compared with a time of
//! this one to decide anything: a Lease counts as not renewed once it has been watched for its own
//! duration without a change.

use std::time::Duration;

use dispatch_contract::CallError;
use dispatch_kubernetes::request::{Request, send_optional};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::runtime::watcher;
use tokio::time::Instant;

use crate::Adapter;
use crate::error::of_request;
use crate::watch::{Seen, until, watch};

const LEASES: &str = "leases.coordination.k8s.io";

/// For how long a Lease is watched that does not say for how long it holds.
const DEFAULT_DURATION: Duration = Duration::from_secs(15);

/// What is known of the controller by its Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heartbeat {
    /// The Lease is renewed.
    Renewed,
    /// The Lease was not renewed while it was watched for its duration; it was last at this time,
    /// by the clock of whoever renewed it.
    Silent {
        /// The Lease's own time, if it has one.
        since: Option<Timestamp>,
    },
    /// There is no such Lease.
    Missing,
}

/// Reads the Lease once, and watches it only where it looks stale by this machine's clock. That
/// comparison only saves time: a Lease that looks stale is called silent after it was watched, and
/// one that looks fresh by a clock that is behind is found out as soon as the clocks agree.
pub(crate) async fn glance(adapter: &Adapter) -> Result<Heartbeat, CallError> {
    let lease = &adapter.config().lease;
    let api = Api::<Lease>::namespaced(adapter.client().clone(), &lease.namespace);
    let request = Request::new("get", LEASES, format!("{}/{}", lease.namespace, lease.name));
    let found = send_optional(adapter.limits(), request, api.get(&lease.name)).await;
    let Some(found) = found.map_err(of_request)? else { return Ok(Heartbeat::Missing) };
    if looks_fresh(&found, adapter.clock().now()) {
        return Ok(Heartbeat::Renewed);
    }
    observe(adapter).await
}

/// Watches the Lease for its duration (PF-04).
pub(crate) async fn observe(adapter: &Adapter) -> Result<Heartbeat, CallError> {
    let lease = &adapter.config().lease;
    let config = watcher::Config::default().fields(&format!("metadata.name={}", lease.name));
    let mut leases = watch::<Lease>(adapter.client(), &lease.namespace, LEASES, config);
    let started = Instant::now();
    let mut seen = Sightings::default();
    loop {
        let deadline = started + seen.duration();
        let renewed = until(&mut leases, deadline, |event| Some(seen.take(&event)));
        match renewed.await? {
            Some(true) => return Ok(Heartbeat::Renewed),
            Some(false) => {}
            None => return Ok(seen.verdict()),
        }
    }
}

/// What was seen of the Lease so far.
#[derive(Debug, Default)]
struct Sightings {
    listed: bool,
    first: Option<Lease>,
}

impl Sightings {
    /// Takes one sighting; whether it shows that somebody renews the Lease.
    fn take(&mut self, seen: &Seen<Lease>) -> bool {
        match seen {
            Seen::Listed => self.listed = true,
            Seen::Version(lease) => {
                // A Lease that appears while it is watched was just written.
                let renewed = match &self.first {
                    Some(first) => renew_time(first) != renew_time(lease),
                    None => self.listed,
                };
                if renewed && is_held(lease) {
                    return true;
                }
                self.first.get_or_insert_with(|| lease.clone());
            }
            Seen::Deleted(_) => self.first = None,
            Seen::Gap => {}
        }
        false
    }

    fn duration(&self) -> Duration {
        self.first.as_ref().map_or(DEFAULT_DURATION, duration)
    }

    fn verdict(&self) -> Heartbeat {
        match &self.first {
            Some(lease) => Heartbeat::Silent { since: renew_time(lease) },
            None => Heartbeat::Missing,
        }
    }
}

fn is_held(lease: &Lease) -> bool {
    let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref());
    holder.is_some_and(|holder| !holder.is_empty())
}

fn renew_time(lease: &Lease) -> Option<Timestamp> {
    lease.spec.as_ref()?.renew_time.as_ref().map(|time| time.0)
}

fn duration(lease: &Lease) -> Duration {
    let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
    seconds
        .and_then(|seconds| u64::try_from(seconds).ok())
        .map_or(DEFAULT_DURATION, Duration::from_secs)
}

/// Whether the Lease was renewed within its duration, if the clock of whoever renewed it agrees
/// with this one.
fn looks_fresh(lease: &Lease, now: Timestamp) -> bool {
    let Some(renewed) = renew_time(lease) else { return false };
    let age = now.duration_since(renewed);
    is_held(lease) && Duration::try_from(age).is_ok_and(|age| age <= duration(lease))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn lease(renewed: &str, holder: &str) -> Lease {
        serde_json::from_value(json!({
            "metadata": {"name": "l"},
            "spec": {"renewTime": renewed, "holderIdentity": holder, "leaseDurationSeconds": 3},
        }))
        .unwrap()
    }

    fn at(second: u8, holder: &str) -> Seen<Lease> {
        Seen::Version(lease(&format!("2026-01-01T00:00:{second:02}.000000Z"), holder))
    }

    #[rstest]
    #[case::never_renewed(vec![at(0, "a"), Seen::Listed], false)]
    #[case::renewed(vec![at(0, "a"), Seen::Listed, at(1, "a")], true)]
    #[case::taken_over(vec![at(0, "a"), Seen::Listed, at(1, "b")], true)]
    #[case::touched_without_a_renewal(vec![at(0, "a"), Seen::Listed, at(0, "a")], false)]
    #[case::given_up(vec![at(0, "a"), Seen::Listed, at(1, "")], false)]
    #[case::appeared(vec![Seen::Listed, at(0, "a")], true)]
    #[case::listed_again_unchanged(vec![at(0, "a"), Seen::Listed, Seen::Gap, at(0, "a")], false)]
    #[case::deleted(vec![at(0, "a"), Seen::Listed, Seen::Deleted(lease(
        "2026-01-01T00:00:00.000000Z", "a"))], false)]
    fn a_lease_is_renewed_when_its_time_changes_while_it_is_watched(
        #[case] seen: Vec<Seen<Lease>>,
        #[case] renewed: bool,
    ) {
        let mut sightings = Sightings::default();
        let found = seen.iter().any(|event| sightings.take(event));
        assert_eq!(found, renewed);
    }

    #[test]
    fn a_silent_lease_is_told_from_a_missing_one() {
        let mut sightings = Sightings::default();
        assert_eq!(sightings.verdict(), Heartbeat::Missing);
        sightings.take(&at(7, "a"));
        let since = "2026-01-01T00:00:07Z".parse().ok();
        assert_eq!(sightings.verdict(), Heartbeat::Silent { since });
        assert_eq!(sightings.duration(), Duration::from_secs(3));
    }

    #[rstest]
    #[case::fresh("2026-01-01T00:00:03Z", true)]
    #[case::stale("2026-01-01T00:00:04Z", false)]
    #[case::from_a_clock_that_is_ahead("2025-12-31T23:59:00Z", false)]
    fn a_lease_that_does_not_look_fresh_is_to_be_watched(#[case] now: &str, #[case] fresh: bool) {
        let found = looks_fresh(&lease("2026-01-01T00:00:00.000000Z", "a"), now.parse().unwrap());
        assert_eq!(found, fresh);
    }
}
