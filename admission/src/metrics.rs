//! What the controller counts.

use std::sync::Arc;
use std::time::Duration;

use dispatch_kubernetes::request::{Outcome, RequestError};
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, LabelSetEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::apply::Applied;
use crate::decide::Decision;

/// The counters of one controller.
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    registry: Arc<Registry>,
    decisions: Family<DecisionLabel, Counter>,
    writes: Family<WriteLabels, Counter>,
    passes: Histogram,
    leader: Gauge,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DecisionLabel {
    decision: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct WriteLabels {
    decision: &'static str,
    outcome: &'static str,
}

impl EncodeLabelSet for WriteLabels {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> Result<(), std::fmt::Error> {
        [("decision", self.decision), ("outcome", self.outcome)].as_slice().encode(encoder)
    }
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("dispatch_admission");
        let decisions = Family::default();
        registry.register("decisions", "Decisions, by kind", decisions.clone());
        let writes = Family::default();
        registry.register("writes", "Writes, by decision and outcome", writes.clone());
        let passes = Histogram::new(exponential_buckets(0.005, 2.0, 14));
        registry.register("pass_duration_seconds", "How long passes took", passes.clone());
        let leader = Gauge::default();
        registry.register("leader", "Whether this replica holds the Lease", leader.clone());
        Self { registry: Arc::new(registry), decisions, writes, passes, leader }
    }

    pub(crate) fn decided(&self, decision: &Decision) {
        let decision = decision.name();
        self.decisions.get_or_create(&DecisionLabel { decision }).inc();
    }

    pub(crate) fn written(&self, decision: &Decision, applied: &Result<Applied, RequestError>) {
        let outcome = match applied {
            Ok(Applied::Nothing) => return,
            Ok(Applied::Written | Applied::Raised { .. }) => "written",
            Ok(Applied::Altered(_)) => "altered",
            Err(error) => outcome_name(error.outcome),
        };
        let labels = WriteLabels { decision: decision.name(), outcome };
        self.writes.get_or_create(&labels).inc();
    }

    pub(crate) fn passed(&self, took: Duration) {
        self.passes.observe(took.as_secs_f64());
    }

    pub(crate) fn leads(&self, leads: bool) {
        self.leader.set(i64::from(leads));
    }

    /// All of it, in the text format of `OpenMetrics`.
    pub(crate) fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Conflict => "conflict",
        Outcome::OwnedByOthers => "owned-by-others",
        Outcome::Exists => "exists",
        Outcome::NotFound => "not-found",
        Outcome::Forbidden => "forbidden",
        Outcome::Denied => "denied",
        Outcome::Unavailable => "unavailable",
        Outcome::Unknown => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::Standstill;

    #[test]
    fn decisions_and_writes_are_counted_by_kind() {
        let metrics = Metrics::new();
        metrics.decided(&Decision::PassThrough);
        metrics.decided(&Decision::Nothing(Standstill::NoQuota));
        metrics.written(&Decision::PassThrough, &Ok(Applied::Written));
        metrics.written(&Decision::PassThrough, &Ok(Applied::Nothing));
        metrics.leads(true);
        let text = metrics.text().unwrap();
        for line in [
            "dispatch_admission_decisions_total{decision=\"pass-through\"} 1",
            "dispatch_admission_writes_total{decision=\"pass-through\",outcome=\"written\"} 1",
            "dispatch_admission_leader 1",
        ] {
            assert!(text.lines().any(|found| found == line), "no `{line}` in\n{text}");
        }
    }
}
