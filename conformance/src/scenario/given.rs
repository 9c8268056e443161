//! What is there before the first step.

use std::collections::BTreeMap;

use serde::Deserialize;

/// What is there before the first step: queues and subjects, each of the scenario's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Who decides when an object runs.
    pub mode: Mode,
    /// The quota of the `ClusterQueue`, in CPUs. Jobs ask it for what their `cpu` says.
    pub queue_cpu: u32,
    /// Whether the `ClusterQueue` lists the check of another controller too, which the suite plays.
    pub foreign_check: bool,
    /// How many replicas of the controller run, each ready before the first step.
    pub controller_replicas: u32,
    /// Whether the adapter has to prove the gate before it starts anything.
    pub adapter_preflight: PreflightPolicy,
    /// Kueue's feature gates that differ from the suite's own, by name.
    pub kueue_feature_gates: BTreeMap<String, bool>,
}

/// Who decides when an object runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Kueue, behind the start gate and the readmission gate.
    Kueue,
}

/// Whether the adapter proves the gate by itself before it starts anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PreflightPolicy {
    /// The gate is taken for granted, so that a scenario does not pay preflight's 10 seconds.
    #[default]
    Assumed,
    /// Without a proof by preflight the adapter only observes (PF-02).
    Required,
}

/// What a cluster must be able to do for a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// The suite may restart Kueue with other feature gates.
    KueueFeatureGates,
    /// The suite may make a component of the cluster stand still.
    FreezeComponents,
    /// The suite may start components of the cluster again, with their requests led through its
    /// proxy.
    LeadComponents,
}
