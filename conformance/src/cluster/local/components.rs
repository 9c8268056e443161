//! How each program of the control plane is started: its arguments, configuration and environment.
//!
//! Everything here is a pure function of the [`Site`]. All servers listen on 127.0.0.1 alone.

use super::certificates::Pair;
use super::features::FeatureGates;
use super::places::ClusterFolder;
use crate::cluster::managers::{BURST, QPS, Serving};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The programs of the control plane, in the order of their start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Component {
    /// The store.
    Etcd,
    /// The API server.
    ApiServer,
    /// The controllers of Kubernetes itself, among them those of Jobs and of garbage.
    ControllerManager,
    /// The scheduler of pods.
    Scheduler,
    /// JobSet's manager.
    JobSet,
    /// Trainer's manager.
    Trainer,
    /// Kueue's manager.
    Kueue,
}

/// All of them.
pub(super) const ALL: [Component; 7] = [
    Component::Etcd,
    Component::ApiServer,
    Component::ControllerManager,
    Component::Scheduler,
    Component::JobSet,
    Component::Trainer,
    Component::Kueue,
];

impl Component {
    /// Whether it is a client of the API server, with a kubeconfig.
    pub(super) fn is_client(self) -> bool {
        !matches!(self, Self::Etcd | Self::ApiServer)
    }

    /// What people, logs and the state call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::JobSet => "jobset",
            Self::Trainer => "trainer",
            Self::Kueue => "kueue",
        }
    }

    /// Its program in the cache.
    pub(super) fn binary(self) -> &'static str {
        match self {
            Self::Trainer => "trainer-controller-manager",
            other => other.name(),
        }
    }

    /// Its user in Kubernetes, seen in audit logs and by a proxy.
    pub(super) fn user(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "system:kube-controller-manager",
            Self::Scheduler => "system:kube-scheduler",
            Self::JobSet => "jobset-controller-manager",
            Self::Trainer => "kubeflow-trainer-controller-manager",
            Self::Kueue => "kueue-controller-manager",
        }
    }
}

/// What the start of every component depends on.
#[derive(Debug, Clone)]
pub(super) struct Site {
    /// The cluster's folder.
    pub folder: ClusterFolder,
    /// The port of each component.
    pub ports: BTreeMap<Component, u16>,
    /// etcd's port for its peers, of which there are none.
    pub peer_port: u16,
    /// The authority's certificate.
    pub authority: PathBuf,
    /// The certificate of all servers.
    pub server: Pair,
    /// The API server's certificate for etcd.
    pub etcd_client: Pair,
    /// The keys of ServiceAccount tokens.
    pub service_accounts: Pair,
}

/// A program to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Invocation {
    /// Its arguments.
    pub arguments: Vec<String>,
    /// A configuration file to write before.
    pub configuration: Option<(PathBuf, Value)>,
}

/// How much a component may allocate until it collects its garbage, in percent of what it keeps. On
/// a loaded machine every eighth of the API server's seconds went to that with Go's own 100; it keeps
/// up to 1.4 GB with this.
const GOGC: &str = "200";

/// Controllers that would need kubelets or a cloud: without heartbeats they taint every node and
/// evict its pods. Nodes are what the suite says they are.
const CONTROLLERS: &str = "*,-node-ipam-controller,-node-lifecycle-controller,\
    -taint-eviction-controller,-device-taint-eviction-controller,\
    -persistentvolume-attach-detach-controller";

impl Site {
    /// The URL at which a component listens.
    pub(super) fn url(&self, component: Component) -> String {
        format!("https://127.0.0.1:{}", self.port(component))
    }

    /// The port on which a component listens.
    pub(super) fn port(&self, component: Component) -> u16 {
        self.ports.get(&component).copied().unwrap_or_default()
    }

    /// The kubeconfig of a component.
    pub(super) fn kubeconfig(&self, component: Component) -> PathBuf {
        self.folder.run().join("kubeconfigs").join(component.name())
    }

    /// The tokens that the API server knows.
    pub(super) fn token_file(&self) -> PathBuf {
        self.folder.run().join("tokens.csv")
    }

    /// Where a component keeps temporary files. Trainer has no option for its certificates: it
    /// looks for them below this folder.
    pub(super) fn temporary(&self, component: Component) -> PathBuf {
        self.folder.run().join("tmp").join(component.name())
    }

    /// Where a manager finds the certificate of its webhook server.
    pub(super) fn webhook_certificates(&self, component: Component) -> PathBuf {
        self.temporary(component).join("k8s-webhook-server/serving-certs")
    }

    /// The folder that Kueue sees as /etc.
    pub(super) fn kueue_etc(&self) -> PathBuf {
        self.folder.run().join("kueue-etc")
    }

    /// How a component is started.
    pub(super) fn invocation(&self, component: Component, gates: &FeatureGates) -> Invocation {
        match component {
            Component::Etcd => self.etcd(),
            Component::ApiServer => self.api_server(),
            Component::ControllerManager => self.controller_manager(),
            Component::Scheduler => self.scheduler(),
            Component::JobSet => self.manager(component, self.serving_of(component).jobset()),
            Component::Trainer => self.manager(component, self.serving_of(component).trainer()),
            Component::Kueue => self.manager(component, self.serving_of(component).kueue(gates)),
        }
    }

    /// The whole environment of a component: nothing of the person's own reaches it.
    pub(super) fn environment(&self, component: Component) -> Vec<(&'static str, PathBuf)> {
        vec![
            ("HOME", self.folder.run()),
            ("KUBECONFIG", self.kubeconfig(component)),
            ("PATH", PathBuf::from("/usr/bin:/bin")),
            ("TMPDIR", self.temporary(component)),
            ("GOGC", PathBuf::from(GOGC)),
        ]
    }

    fn etcd(&self) -> Invocation {
        let url = self.url(Component::Etcd);
        let peers = format!("https://127.0.0.1:{}", self.peer_port);
        let mut flags = Flags::default();
        flags
            .set("name", "local")
            .path("data-dir", &self.folder.run().join("etcd"))
            // The store lives as long as the cluster: there is no crash to recover from.
            .set("unsafe-no-fsync", "true")
            .set("listen-client-urls", &url)
            .set("advertise-client-urls", &url)
            .set("listen-peer-urls", &peers)
            .set("initial-advertise-peer-urls", &peers)
            .set("initial-cluster", format!("local={peers}"))
            .set("log-level", "warn");
        for role in ["", "peer-"] {
            flags
                .set(&format!("{role}client-cert-auth"), "true")
                .path(&format!("{role}trusted-ca-file"), &self.authority)
                .path(&format!("{role}cert-file"), &self.server.certificate)
                .path(&format!("{role}key-file"), &self.server.key);
        }
        flags.invocation()
    }

    fn api_server(&self) -> Invocation {
        let mut flags = Flags::default();
        self.serving(&mut flags, Component::ApiServer)
            .set("advertise-address", "127.0.0.1")
            .set("etcd-servers", self.url(Component::Etcd))
            .path("etcd-cafile", &self.authority)
            .path("etcd-certfile", &self.etcd_client.certificate)
            .path("etcd-keyfile", &self.etcd_client.key)
            .path("client-ca-file", &self.authority)
            .path("token-auth-file", &self.token_file())
            .set("service-account-issuer", "https://kubernetes.default.svc.cluster.local")
            .path("service-account-key-file", &self.service_accounts.certificate)
            .path("service-account-signing-key-file", &self.service_accounts.key)
            .set("service-cluster-ip-range", "10.0.0.0/24")
            .set("endpoint-reconciler-type", "none")
            .set("authorization-mode", "RBAC")
            // ServiceAccount would keep pods waiting for tokens that no kubelet mounts;
            // TaintNodesByCondition would keep every new node tainted as not ready.
            .set("disable-admission-plugins", "ServiceAccount,TaintNodesByCondition")
            .set("max-requests-inflight", 3000)
            .set("max-mutating-requests-inflight", 1500);
        flags.invocation()
    }

    fn controller_manager(&self) -> Invocation {
        let mut flags = Flags::default();
        self.serving(&mut flags, Component::ControllerManager)
            .path("kubeconfig", &self.kubeconfig(Component::ControllerManager))
            .set("leader-elect", "false")
            .set("controllers", CONTROLLERS)
            .path("service-account-private-key-file", &self.service_accounts.key)
            .path("root-ca-file", &self.authority)
            .set("kube-api-qps", QPS)
            .set("kube-api-burst", BURST);
        flags.invocation()
    }

    fn scheduler(&self) -> Invocation {
        let file = self.configuration_file(Component::Scheduler);
        let mut flags = Flags::default();
        self.serving(&mut flags, Component::Scheduler).path("config", &file);
        let configuration = json!({
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": { "leaderElect": false },
            "clientConnection": {
                "kubeconfig": self.kubeconfig(Component::Scheduler),
                "qps": QPS,
                "burst": BURST,
            },
        });
        Invocation { configuration: Some((file, configuration)), ..flags.invocation() }
    }

    fn manager(&self, component: Component, configuration: Value) -> Invocation {
        let file = self.configuration_file(component);
        let mut flags = Flags::default();
        flags.path("config", &file);
        Invocation { configuration: Some((file, configuration)), ..flags.invocation() }
    }

    /// Where a manager listens: on the loopback address, without probes.
    fn serving_of(&self, component: Component) -> Serving {
        let mut webhook = json!({ "host": "127.0.0.1", "port": self.port(component) });
        // Trainer has no such option.
        if component != Component::Trainer {
            webhook["certDir"] = json!(self.webhook_certificates(component));
        }
        Serving { webhook, probes: "0" }
    }

    fn configuration_file(&self, component: Component) -> PathBuf {
        self.folder.run().join("config").join(component.name()).with_added_extension("json")
    }

    fn serving<'f>(&self, flags: &'f mut Flags, component: Component) -> &'f mut Flags {
        flags
            .set("bind-address", "127.0.0.1")
            .set("secure-port", self.port(component))
            .path("tls-cert-file", &self.server.certificate)
            .path("tls-private-key-file", &self.server.key)
            .set("profiling", "false")
    }
}

/// Flags, as all these programs take them: `--name=value`.
#[derive(Default)]
struct Flags(Vec<String>);

impl Flags {
    fn set(&mut self, name: &str, value: impl std::fmt::Display) -> &mut Self {
        self.0.push(format!("--{name}={value}"));
        self
    }

    fn path(&mut self, name: &str, path: &Path) -> &mut Self {
        self.set(name, path.display())
    }

    fn invocation(self) -> Invocation {
        Invocation { arguments: self.0, configuration: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::local::Places;
    use rstest::rstest;

    fn site() -> Site {
        let pair = |name: &str| Pair {
            certificate: format!("/pki/{name}.crt").into(),
            key: format!("/pki/{name}.key").into(),
        };
        let places = Places { cache: "/cache".into(), state: "/state".into() };
        Site {
            folder: places.cluster("c").unwrap(),
            ports: ALL.into_iter().zip(15_001..).collect(),
            peer_port: 15_000,
            authority: "/pki/ca.crt".into(),
            server: pair("server"),
            etcd_client: pair("etcd-client"),
            service_accounts: pair("service-accounts"),
        }
    }

    #[test]
    fn every_server_listens_on_the_loopback_address_alone() {
        for component in ALL {
            let Invocation { arguments, configuration } =
                site().invocation(component, &FeatureGates::default());
            let port = site().port(component).to_string();
            let by_flag = arguments.iter().any(|flag| flag == "--bind-address=127.0.0.1")
                || arguments
                    .iter()
                    .any(|flag| *flag == format!("--listen-client-urls=https://127.0.0.1:{port}"));
            let host = configuration.and_then(|(_, content)| {
                content.pointer("/webhook/host")?.as_str().map(str::to_owned)
            });
            assert!(by_flag || host.as_deref() == Some("127.0.0.1"), "{component:?}");
        }
    }

    #[rstest]
    #[case::jobset(Component::JobSet)]
    #[case::trainer(Component::Trainer)]
    #[case::kueue(Component::Kueue)]
    fn managers_run_alone_and_unthrottled(#[case] component: Component) {
        let (_, content) =
            site().invocation(component, &FeatureGates::default()).configuration.unwrap();
        assert_eq!(content["leaderElection"]["leaderElect"], false);
        assert_eq!(content["metrics"]["bindAddress"], "0");
        assert_eq!(content["clientConnection"], json!({ "qps": QPS, "burst": BURST }));
    }

    #[test]
    fn kueue_gets_the_feature_gates_it_is_to_have() {
        let gates = FeatureGates::default_with(["AdmissionGatedBy=false".parse().unwrap()]);
        let (_, content) = site().invocation(Component::Kueue, &gates).configuration.unwrap();
        let expected = json!({ "AdmissionGatedBy": false, "VisibilityOnDemand": false });
        assert_eq!(content["featureGates"], expected);
    }

    #[test]
    fn nothing_of_the_persons_environment_reaches_a_component() {
        let names: Vec<_> =
            site().environment(Component::Kueue).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["HOME", "KUBECONFIG", "PATH", "TMPDIR", "GOGC"]);
    }
}
