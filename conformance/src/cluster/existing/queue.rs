//! The `ClusterQueues` that are there. A run makes its own, and touches no other.

use std::fmt;

use dispatch_contract::resources::{ClusterQueue, Conditions};
use kube::ResourceExt;
use serde::{Deserialize, Serialize};

/// A `ClusterQueue`, as far as it is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Queue {
    /// Its name.
    pub name: String,
    /// Whether it admits, as its condition Active says; None if Kueue has not said it.
    pub active: Option<bool>,
    /// The `AdmissionChecks` that its Workloads pass.
    pub checks: Vec<String>,
}

impl From<ClusterQueue> for Queue {
    fn from(queue: ClusterQueue) -> Self {
        let name = queue.name_any();
        let conditions = queue.status.map(|it| it.conditions).unwrap_or_default();
        let strategy = queue.spec.admission_checks_strategy.unwrap_or_default();
        Self {
            name,
            active: conditions.find("Active").map(|it| it.status == "True"),
            checks: strategy.admission_checks.into_iter().map(|it| it.name).collect(),
        }
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        let mut apart = Vec::new();
        match self.active {
            Some(true) => {}
            Some(false) => apart.push("not active".to_owned()),
            None => apart.push("not seen by Kueue".to_owned()),
        }
        if !self.checks.is_empty() {
            apart.push(format!("with {}", self.checks.join(" and ")));
        }
        if apart.is_empty() { Ok(()) } else { write!(f, " ({})", apart.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::it_admits(json!([{"type": "Active", "status": "True"}]), &[], "team")]
    #[case::it_does_not(json!([{"type": "Active", "status": "False"}]), &[], "team (not active)")]
    #[case::nobody_has_said_it(json!([]), &[], "team (not seen by Kueue)")]
    #[case::with_a_check(json!([{"type": "Active", "status": "True"}]), &["capacity"], "team (with capacity)")]
    #[case::with_both(
        json!([{"type": "Active", "status": "False"}]),
        &["capacity", "spending"],
        "team (not active, with capacity and spending)"
    )]
    fn a_queue_is_told_with_its_checks_and_whether_it_admits(
        #[case] conditions: serde_json::Value,
        #[case] checks: &[&str],
        #[case] expected: &str,
    ) {
        let checks: Vec<_> = checks.iter().map(|name| json!({"name": name})).collect();
        let queue: ClusterQueue = serde_json::from_value(json!({
            "metadata": {"name": "team"},
            "spec": {"admissionChecksStrategy": {"admissionChecks": checks}},
            "status": {"conditions": conditions},
        }))
        .unwrap();
        assert_eq!(Queue::from(queue).to_string(), expected);
    }
}
