//! The start of the control plane, in the order that works: the API first, then what it must know,
//! then the managers, then the API server's way to their webhooks.

use super::cache::Cache;
use super::certificates::{Authority, Pair};
use super::components::{ALL, Component, Site};
use super::endpoint::{Endpoint, admin};
use super::features::FeatureGates;
use super::kubeconfig::Login;
use super::places::ClusterFolder;
use super::ports::{self, Reserved};
use super::processes::Processes;
use super::tokens::Tokens;
use super::waiting::Waits;
use super::{files, guard, install, kubeconfig};
use crate::cluster::ClusterError;
use fs_err as fs;
use std::collections::BTreeMap;

/// By what names and addresses the servers are reached.
const SERVED_AS: [&str; 4] = ["127.0.0.1", "localhost", "kubernetes.default.svc", "10.0.0.1"];

/// Ports that are held until their server starts.
pub(super) struct Ports {
    components: BTreeMap<Component, Reserved>,
    peer: Reserved,
}

impl Ports {
    /// Reserves one for each component, and one for etcd's peers.
    pub(super) fn reserve() -> Result<Self, ClusterError> {
        let mut free = ports::reserve(ALL.len() + 1, std::process::id())?;
        let peer = free.pop().ok_or(ClusterError::NoPort { low: 0, high: 0 })?;
        Ok(Self { components: ALL.into_iter().zip(free).collect(), peer })
    }
}

/// What a component's webhooks have to answer on before it counts as ready. Kueue answers for
/// every kind it integrates, also for those whose integration is still to come: the paths are of
/// those that the suite uses.
pub(super) fn webhooks(component: Component) -> &'static [&'static str] {
    match component {
        Component::JobSet => &["/mutate-jobset-x-k8s-io-v1alpha2-jobset", "/mutate--v1-pod"],
        Component::Trainer => &[
            "/mutate-trainer-kubeflow-org-v1alpha1-trainjob",
            "/validate-trainer-kubeflow-org-v1alpha1-trainjob",
            "/validate-trainer-kubeflow-org-v1alpha1-clustertrainingruntime",
        ],
        Component::Kueue => &[
            "/convert",
            "/mutate-kueue-x-k8s-io-v1beta2-workload",
            "/mutate-kueue-x-k8s-io-v1beta2-clusterqueue",
            "/mutate-batch-v1-job",
            "/mutate-jobset-x-k8s-io-v1alpha2-jobset",
            "/mutate-trainer-kubeflow-org-v1alpha1-trainjob",
        ],
        _ => &[],
    }
}

/// What a cluster is started from.
pub(super) struct Prepared {
    /// Where everything is.
    pub site: Site,
    /// Who signed the certificates.
    pub authority: Authority,
    /// The secrets of the components.
    pub tokens: Tokens,
}

/// Makes keys, certificates, tokens and kubeconfigs, everything that the components read.
pub(super) fn prepare(folder: &ClusterFolder, ports: &Ports) -> Result<Prepared, ClusterError> {
    let run = folder.run();
    files::remove_folder(&run)?;
    files::remove_folder(&folder.logs())?;
    for sub in ["", "kubeconfigs", "config", "tmp"] {
        files::private_folder(&run.join(sub))?;
    }
    files::folder(&folder.logs())?;
    let authority = Authority::create(&run.join("pki"))?;
    let site = Site {
        folder: folder.clone(),
        ports: ports.components.iter().map(|(c, port)| (*c, port.number())).collect(),
        peer_port: ports.peer.number(),
        authority: authority.file(),
        server: authority.server("server", &SERVED_AS)?,
        etcd_client: authority.client("etcd-client", "kube-apiserver", "etcd")?,
        service_accounts: authority.signing_key("service-accounts")?,
    };
    let server = site.url(Component::ApiServer);
    let pair = authority.client("admin", "admin", "system:masters")?;
    let admin = Login::Certificate(&pair);
    kubeconfig::write(&folder.kubeconfig(), &server, authority.pem(), "admin", &admin)?;
    let tokens = Tokens::create()?;
    files::write_private(&site.token_file(), tokens.file().as_bytes())?;
    for (component, token) in tokens.iter() {
        let (file, login) = (site.kubeconfig(component), Login::Token(token));
        kubeconfig::write(&file, &server, authority.pem(), component.user(), &login)?;
        if !webhooks(component).is_empty() {
            let folder = site.webhook_certificates(component);
            files::folder(&folder)?;
            copy_pair(&site.server, &folder)?;
        }
    }
    let etc = site.kueue_etc();
    let certificates = guard::prepare_etc(&etc).map_err(|error| ClusterError::io(&etc, &error))?;
    copy_pair(&site.server, &certificates)?;
    Ok(Prepared { site, authority, tokens })
}

/// Puts a certificate where controller-runtime looks for it.
fn copy_pair(pair: &Pair, folder: &std::path::Path) -> Result<(), ClusterError> {
    for (from, to) in [(&pair.certificate, "tls.crt"), (&pair.key, "tls.key")] {
        let content = fs::read(from).map_err(|error| ClusterError::io(from, &error))?;
        files::write_private(&folder.join(to), &content)?;
    }
    Ok(())
}

/// One start of the control plane.
pub(super) struct Start<'a> {
    /// The programs and manifests.
    pub cache: &'a Cache,
    /// The site.
    pub site: &'a Site,
    /// The authority's certificate, PEM.
    pub authority_pem: &'a str,
    /// Where children are started.
    pub processes: &'a Processes,
    /// Kueue's feature gates.
    pub gates: &'a FeatureGates,
    /// The waits.
    pub waits: &'a Waits<'a>,
}

impl Start<'_> {
    /// Brings everything up. When it returns, a TrainJob that is created at once is admitted.
    pub(super) async fn bring_up(&self, mut ports: Ports) -> Result<(), ClusterError> {
        let mut take = |component| ports.components.remove(&component).map(Reserved::give_up);
        take(Component::Etcd);
        drop(ports.peer);
        self.start(Component::Etcd)?;
        self.etcd().await?;
        take(Component::ApiServer);
        self.start(Component::ApiServer)?;
        self.ready(Component::ApiServer, "/readyz").await?;

        let client = admin(&self.site.folder.kubeconfig()).await?;
        let install = install::Install { client: &client, waits: self.waits };
        let mut webhook_configurations = Vec::new();
        let mut definitions = Vec::new();
        for component in [Component::JobSet, Component::Trainer, Component::Kueue] {
            let (own, webhooks) = super::manifests::split(self.objects(component)?);
            definitions.extend(own);
            webhook_configurations.extend(webhooks);
        }
        install.definitions(definitions).await?;

        // Only now: the garbage collector learns of kinds at its start, and then every 30 s.
        for component in ALL.into_iter().filter(|component| *component > Component::ApiServer) {
            take(component);
            self.start(component)?;
        }
        tokio::try_join!(
            self.ready(Component::ControllerManager, "/healthz"),
            self.ready(Component::Scheduler, "/readyz"),
            install.default_service_account(),
            self.webhooks_answer(Component::JobSet),
            self.webhooks_answer(Component::Trainer),
            self.webhooks_answer(Component::Kueue),
        )?;
        install.webhooks(webhook_configurations).await?;
        install.webhooks_are_called().await?;
        install.kueue_reconciles().await
    }

    pub(super) fn start(&self, component: Component) -> Result<(), ClusterError> {
        self.processes.start(component, self.site, self.gates)
    }

    async fn etcd(&self) -> Result<(), ClusterError> {
        let url = self.site.url(Component::Etcd);
        let pair = Some(&self.site.etcd_client);
        let endpoint = Endpoint::new(&url, &self.site.authority, pair)?;
        let ask = async || endpoint.says_ok("/readyz").await;
        self.waits.until("etcd", "/readyz says ok", ask).await
    }

    pub(super) async fn ready(&self, component: Component, path: &str) -> Result<(), ClusterError> {
        let endpoint = Endpoint::new(&self.site.url(component), &self.site.authority, None)?;
        let ask = async || endpoint.says_ok(path).await;
        self.waits.until(component.name(), &format!("{path} says ok"), ask).await
    }

    pub(super) async fn webhooks_answer(&self, component: Component) -> Result<(), ClusterError> {
        let endpoint = Endpoint::new(&self.site.url(component), &self.site.authority, None)?;
        let ask = async || {
            for path in webhooks(component) {
                endpoint.has_webhook(path).await?;
            }
            Ok(())
        };
        self.waits.until(component.name(), "its webhooks answer", ask).await
    }

    /// A component's manifests, its webhooks led to its port.
    fn objects(&self, component: Component) -> Result<Vec<serde_json::Value>, ClusterError> {
        let bundle = kubeconfig::base64(self.authority_pem);
        let mut objects = self.cache.manifests(component.name())?;
        for object in &mut objects {
            let url = self.site.url(component);
            super::manifests::lead_to(object, &url, bundle.as_str().unwrap_or_default());
            super::manifests::label(object);
        }
        Ok(objects)
    }
}
