//! Components whose requests are led through a proxy.
//!
//! Kueue, Trainer and JobSet get a kubeconfig that names the proxy, and keep the token of their
//! ServiceAccount. kube-controller-manager is known to the API server by a certificate, which no
//! proxy can pass on: it gets the token of a ServiceAccount that may do everything.

use super::component::Component;
use super::running::{Inner, on_one_thread};
use crate::cluster::local::install::Install;
use crate::cluster::local::kubeconfig::{self, Login};
use crate::cluster::local::waiting::Waits;
use crate::cluster::local::{ClusterFolder, endpoint, files};
use crate::cluster::progress::Silent;
use crate::cluster::{ClusterError, LeadThrough};
use fs_err as fs;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What scenarios call the controllers of Kubernetes.
pub(super) const CONTROLLER_MANAGER: &str = "kube-controller-manager";

/// Where its kubeconfig is while it is led: in a folder of the node that its pod sees.
const LED: &str = "/etc/kubernetes/pki/dispatch-conformance.conf";

/// Its kubeconfig otherwise.
const OWN: &str = "/etc/kubernetes/controller-manager.conf";

/// The ServiceAccount that it is while it is led, in `kube-system`.
const ACCOUNT: &str = "dispatch-conformance-controller-manager";

/// For how long its token is good, in seconds: longer than any run.
const GOOD_FOR_S: i64 = 24 * 60 * 60;

/// How long it may take until the components serve.
const LIMIT: Duration = Duration::from_mins(4);

/// Components whose requests are led through a proxy. [`Lead::end`] ends that. Of a run that was
/// killed the next one that takes the cluster up ends it.
pub struct Lead {
    inner: Arc<Inner>,
    _alone: fs::File,
}

impl Lead {
    /// Begins it for these components; one run at a time may.
    pub(super) async fn begin(
        inner: Arc<Inner>,
        through: BTreeMap<String, LeadThrough>,
    ) -> Result<Self, ClusterError> {
        let led = || ClusterError::Led { name: inner.name().to_owned(), process: None };
        let alone = alone(&inner.folder)?.ok_or_else(led)?;
        let managers =
            through.iter().filter_map(|(name, way)| Some((Component::named(name)?, way.clone())));
        let managers: BTreeMap<_, _> = managers.collect();
        let names: Vec<_> = managers.keys().copied().collect();
        if let Some(way) = through.get(CONTROLLER_MANAGER) {
            controllers(&inner, Some(way)).await?;
        }
        inner.restart(&names, &inner.state().feature_gates, &managers).await?;
        Ok(Self { inner, _alone: alone })
    }

    /// Ends it, and returns when the components serve without the proxy, which until then has to be
    /// there.
    pub async fn end(self) -> Result<(), ClusterError> {
        on_one_thread(async move || Box::pin(undo(&self.inner)).await).await
    }
}

/// The right to lead components of a cluster, if nobody has it.
fn alone(folder: &ClusterFolder) -> Result<Option<fs::File>, ClusterError> {
    let path = folder.run().join("lead.lock");
    files::private_folder(&folder.run())?;
    let opened = fs::OpenOptions::new().write(true).create(true).truncate(false).open(&path);
    let file = opened.map_err(|error| ClusterError::io(&path, &error))?;
    Ok(file.try_lock().is_ok().then_some(file))
}

/// Ends what a run that was killed has led.
pub(super) async fn undo_abandoned(inner: &Inner, waits: &Waits<'_>) -> Result<(), ClusterError> {
    let Some(_alone) = alone(&inner.folder)? else { return Ok(()) };
    let work = Box::pin(undo(inner));
    waits.step("components", "none is led through a proxy", work).await
}

async fn undo(inner: &Inner) -> Result<(), ClusterError> {
    let gates = inner.state().feature_gates;
    if inner.node.execute(&["test", "-e", LED]).await.is_ok() {
        controllers(inner, None).await?;
    }
    inner.restart(&Component::ALL, &gates, &BTreeMap::new()).await
}

/// Starts kube-controller-manager again, led or not, and returns when it says that it is healthy.
async fn controllers(inner: &Inner, way: Option<&LeadThrough>) -> Result<(), ClusterError> {
    let (from, to) = if way.is_some() { (OWN, LED) } else { (LED, OWN) };
    if let Some(LeadThrough { server, certificate_authority }) = way {
        let token = token(inner).await?;
        let login = Login::Token(&token);
        let text = kubeconfig::text(server, certificate_authority, CONTROLLER_MANAGER, &login)?;
        inner.node.script(&format!("umask 077; cat >{LED}"), &text).await?;
    }
    // kubelet starts it again when its manifest is another.
    let manifest = "/etc/kubernetes/manifests/kube-controller-manager.yaml";
    let script = format!(
        "sed 's#--kubeconfig={from}#--kubeconfig={to}#' {manifest} >/root/part; mv /root/part {manifest}"
    );
    inner.node.script(&script, "").await?;
    let waits = Waits::new(&Silent, inner.folder.logs(), LIMIT);
    let ask = async || {
        let all = inner.node.execute(&["pgrep", "-af", "^kube-controller-manager "]).await;
        let all = all.map_err(|_| "it does not run".to_owned())?;
        if all.lines().count() != 1 || !all.contains(&format!("--kubeconfig={to}")) {
            return Err("the old one runs".to_owned());
        }
        let health = ["kubectl", "--server=https://127.0.0.1:10257", "--insecure-skip-tls-verify"];
        let asked: Vec<_> = health.into_iter().chain(["get", "--raw", "/healthz"]).collect();
        inner.node.execute(&asked).await.map(drop).map_err(|error| error.to_string())
    };
    waits.until(CONTROLLER_MANAGER, "it says that it is healthy", ask).await?;
    if way.is_none() {
        inner.node.execute(&["rm", "-f", LED]).await?;
    }
    Ok(())
}

/// A token with which kube-controller-manager may do everything.
async fn token(inner: &Inner) -> Result<String, ClusterError> {
    let waits = Waits::new(&Silent, inner.folder.logs(), LIMIT);
    let install = Install { client: &inner.client, waits: &waits };
    let metadata = json!({ "name": ACCOUNT, "namespace": "kube-system" });
    let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata });
    install.put(account).await?;
    let rights = "rbac.authorization.k8s.io";
    install
        .put(json!({
            "apiVersion": format!("{rights}/v1"),
            "kind": "ClusterRoleBinding",
            "metadata": { "name": ACCOUNT },
            "roleRef": { "apiGroup": rights, "kind": "ClusterRole", "name": "cluster-admin" },
            "subjects": [{ "kind": "ServiceAccount", "name": ACCOUNT, "namespace": "kube-system" }],
        }))
        .await?;
    let api: Api<ServiceAccount> = Api::namespaced(inner.client.clone(), "kube-system");
    let spec =
        TokenRequestSpec { expiration_seconds: Some(GOOD_FOR_S), ..TokenRequestSpec::default() };
    let request = TokenRequest { spec, ..TokenRequest::default() };
    let answer = api.create_token_request(ACCOUNT, &PostParams::default(), &request).await;
    let answer = answer.map_err(|error| ClusterError::Request {
        action: format!("asking for a token of kube-system/{ACCOUNT}"),
        detail: endpoint::chain(&error),
    })?;
    Ok(answer.status.map(|status| status.token).unwrap_or_default())
}
