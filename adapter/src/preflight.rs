//! Preflight: the gates are proved before anything is started.

use std::time::Duration;

use dispatch_contract::{CallError, PreflightAnswer, ReadmissionGate, Violation};

use crate::Adapter;
use crate::lease::{self, Heartbeat};

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
pub(crate) struct Findings {
    /// Why nothing may be started.
    pub(crate) reasons: Vec<Violation>,
    /// What the operator should know of all the same.
    pub(crate) warnings: Vec<String>,
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

pub(crate) async fn preflight(adapter: &Adapter) -> Result<PreflightAnswer, CallError> {
    let mut findings = queue::check(adapter).await?;
    let served = findings.reasons.is_empty();
    let (heartbeat, probe) = tokio::join!(lease::observe(adapter), probe::run(adapter));
    let heartbeat = heartbeat?;
    let alive = heartbeat_findings(adapter, &heartbeat);
    let gate = readmission_gate(&alive, served, &findings);
    findings.add(alive);
    findings.add(probe?);
    Ok(PreflightAnswer {
        observe_only: !findings.reasons.is_empty(),
        reasons: findings.reasons,
        readmission_gate: gate,
        warnings: findings.warnings,
    })
}

/// What the controller's Lease says (PF-04).
fn heartbeat_findings(adapter: &Adapter, heartbeat: &Heartbeat) -> Findings {
    let lease = &adapter.config().lease;
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
fn readmission_gate(alive: &Findings, served: bool, queue: &Findings) -> ReadmissionGate {
    let first = alive.reasons.first().or_else(|| queue.reasons.first());
    match first {
        None if served => ReadmissionGate::Yes,
        Some(reason) => ReadmissionGate::No(reason.message.clone()),
        None => ReadmissionGate::No("the AdmissionCheck is not served".to_owned()),
    }
}
