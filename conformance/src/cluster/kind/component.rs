//! The managers that run as pods, and what their manifests call everything.

use crate::cluster::local::FeatureGates;
use crate::cluster::local::manifests::{SOURCES, Source};
use crate::cluster::managers::Serving;
use serde_json::{Value, json};

/// The port of their webhooks, in their own manifests.
const WEBHOOK_PORT: u16 = 9443;

/// A manager that runs as a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Component {
    /// JobSet's.
    JobSet,
    /// Trainer's.
    Trainer,
    /// Kueue's.
    Kueue,
}

impl Component {
    /// All of them.
    pub(super) const ALL: [Self; 3] = [Self::JobSet, Self::Trainer, Self::Kueue];

    /// The component of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|component| component.name() == name)
    }

    /// What people call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::JobSet => "jobset",
            Self::Trainer => "trainer",
            Self::Kueue => "kueue",
        }
    }

    /// Where its manifests are.
    pub(super) fn source(self) -> Option<&'static Source> {
        SOURCES.iter().find(|source| source.component == self.name())
    }

    /// Its pinned version.
    pub(super) fn version(self) -> &'static str {
        let version = self.source().and_then(|source| source.module.version_of(source.path));
        version.unwrap_or_default()
    }

    /// The image of its releases.
    pub(super) fn release(self) -> &'static str {
        match self {
            Self::JobSet => "registry.k8s.io/jobset/jobset",
            Self::Trainer => "ghcr.io/kubeflow/trainer/trainer-controller-manager",
            Self::Kueue => "registry.k8s.io/kueue/kueue",
        }
    }

    /// The folder of its module that has all its manifests.
    pub(super) fn manifests(self) -> &'static str {
        match self {
            Self::JobSet | Self::Kueue => "config",
            Self::Trainer => "manifests",
        }
    }

    /// The overlay in that folder that is installed.
    pub(super) fn overlay(self) -> &'static str {
        match self {
            Self::JobSet | Self::Kueue => "default",
            Self::Trainer => "dispatch-conformance",
        }
    }

    /// The text of that overlay, where it is not the component's own: Trainer's would fetch JobSet
    /// from elsewhere.
    pub(super) fn own_overlay(self) -> Option<&'static str> {
        let text = "namespace: kubeflow-system\n\
                    resources: [namespace.yaml, ../base/crds, ../base/manager, ../base/rbac, ../base/webhook]\n";
        (self == Self::Trainer).then_some(text)
    }

    /// The namespace that it is installed in.
    pub(super) fn namespace(self) -> &'static str {
        match self {
            Self::JobSet => "jobset-system",
            Self::Trainer => "kubeflow-system",
            Self::Kueue => "kueue-system",
        }
    }

    /// Its Deployment.
    pub(super) fn deployment(self) -> &'static str {
        match self {
            Self::JobSet => "jobset-controller-manager",
            Self::Trainer => "kubeflow-trainer-controller-manager",
            Self::Kueue => "kueue-controller-manager",
        }
    }

    /// The Service of its webhooks.
    pub(super) fn service(self) -> &'static str {
        match self {
            Self::JobSet => "jobset-webhook-service",
            Self::Trainer => "kubeflow-trainer-controller-manager",
            Self::Kueue => "kueue-webhook-service",
        }
    }

    /// The Secret with the certificate of its webhooks.
    pub(super) fn certificate(self) -> &'static str {
        match self {
            Self::JobSet => "jobset-webhook-server-cert",
            Self::Trainer => "kubeflow-trainer-webhook-cert",
            Self::Kueue => "kueue-webhook-server-cert",
        }
    }

    /// Its configuration.
    pub(super) fn configuration(self, gates: &FeatureGates) -> Value {
        let serving = Serving { webhook: json!({ "port": WEBHOOK_PORT }), probes: ":8081" };
        match self {
            Self::JobSet => serving.jobset(),
            Self::Trainer => serving.trainer(),
            Self::Kueue => serving.kueue(gates),
        }
    }
}
