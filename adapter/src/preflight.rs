//! Preflight: the gates are proved before anything is started.

use std::time::Duration;

use dispatch_contract::{CallError, PreflightAnswer, ReadmissionGate, Violation};

use crate::lease::{self, Heartbeat};
use crate::{Adapter, LeaseRef, Preflight};

mod leftovers;
mod probe;
mod probe_runtime;
mod queue;
mod verdict;
mod watch;

pub(crate) use probe_runtime::is_probe;
pub use verdict::{ProbeVerdict, Sighting, judge_probe};

/// For how long a closed probe is watched, from when Kueue says that its gate holds it back (PF-01,
/// PF-07). The contract's own window: nothing makes it shorter.
pub const PROBE_WINDOW: Duration = Duration::from_secs(10);

/// What one part of preflight found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Why nothing may be started.
    pub reasons: Vec<Violation>,
    /// What the operator should know of all the same.
    pub warnings: Vec<String>,
}

impl Findings {
    pub(crate) fn reason(&mut self, rule: &str, message: impl Into<String>) {
        self.reasons.push(Violation { rule: rule.to_owned(), message: message.into() });
    }

    fn add(&mut self, other: Self) {
        self.reasons.extend(other.reasons);
        self.warnings.extend(other.warnings);
    }
}

/// Everything that a preflight found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proofs {
    /// Of the check, and of the queue that has to name it (PF-06).
    pub administration: Findings,
    /// What is known of the controller (PF-04).
    pub heartbeat: Heartbeat,
    /// By which Lease.
    pub lease: LeaseRef,
    /// Of the probe (PF-01, PF-05, PF-07).
    pub probe: Findings,
}

pub(crate) async fn preflight(adapter: &Adapter) -> Result<PreflightAnswer, CallError> {
    let administration = queue::check(adapter).await?;
    let (heartbeat, probe) = tokio::join!(lease::observe(adapter), probe::run(adapter));
    let lease = adapter.config().lease.clone();
    let proofs = Proofs { administration, heartbeat: heartbeat?, lease, probe: probe? };
    Ok(adapter.decisions().conclude(&proofs))
}

/// What preflight answers, of what it found: observe-only for every reason there is.
pub fn conclude(proofs: &Proofs) -> PreflightAnswer {
    let mut findings = proofs.administration.clone();
    let alive = heartbeat_findings(&proofs.lease, &proofs.heartbeat);
    let readmission_gate = readmission_gate(&alive, &findings);
    findings.add(alive);
    findings.add(proofs.probe.clone());
    PreflightAnswer {
        observe_only: !findings.reasons.is_empty(),
        reasons: findings.reasons,
        readmission_gate,
        warnings: findings.warnings,
    }
}

/// Why an adapter may only observe, after what its last preflight said (PF-02).
pub fn observe_only(last: Option<&PreflightAnswer>, policy: Preflight) -> Option<String> {
    match (last, policy) {
        (Some(answer), _) if answer.observe_only => {
            let reasons: Vec<_> = answer.reasons.iter().map(|r| r.message.as_str()).collect();
            Some(reasons.join("; "))
        }
        (None, Preflight::Required) => Some("preflight has not proved the start gate".to_owned()),
        (None, Preflight::Assumed) | (Some(_), _) => None,
    }
}

/// What the controller's Lease says (PF-04).
fn heartbeat_findings(lease: &LeaseRef, heartbeat: &Heartbeat) -> Findings {
    let place = format!("the Lease {}/{}", lease.namespace, lease.name);
    let mut findings = Findings::default();
    match heartbeat {
        Heartbeat::Renewed => {}
        Heartbeat::Missing => findings.reason(
            "PF-04",
            format!("{place} is missing: no readmission controller runs; start dispatch-admission"),
        ),
        Heartbeat::Silent { since } => {
            let since = since.map_or_else(String::new, |time| format!(" (last at {time})"));
            findings.reason(
                "PF-04",
                format!(
                    "{place} was not renewed while it was watched for its duration{since}: no \
                     readmission controller runs; start dispatch-admission"
                ),
            );
        }
    }
    findings
}

/// Whether there is a readmission gate (PF-03).
fn readmission_gate(alive: &Findings, administration: &Findings) -> ReadmissionGate {
    match alive.reasons.first().or_else(|| administration.reasons.first()) {
        None => ReadmissionGate::Yes,
        Some(reason) => ReadmissionGate::No(reason.message.clone()),
    }
}
