//! The one place that builds a Kubernetes client.
//!
//! kube's client sends a request again, writes too, when the answer is 429, 503 or 504. A create
//! that had landed would then look like one that met an existing object, and a write with a
//! precondition like a conflict. Clients made here send every request once; a caller that wants to
//! repeat one does so visibly, after a fresh read (CA-05).

use std::path::{Path, PathBuf};

use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use thiserror::Error;

/// No client could be built.
#[derive(Debug, Error)]
pub enum ClientError {
    /// A kubeconfig cannot be read or understood.
    #[error("cannot use the kubeconfig {}", path.display())]
    Kubeconfig {
        /// Where it is.
        path: PathBuf,
        /// Why.
        #[source]
        source: KubeconfigError,
    },
    /// A kubeconfig that was handed over as text cannot be understood.
    #[error("cannot use the kubeconfig that was handed over")]
    KubeconfigText(#[source] KubeconfigError),
    /// KUBECONFIG names files that cannot be read or understood.
    #[error("cannot use the kubeconfig that KUBECONFIG names")]
    Environment(#[source] KubeconfigError),
    /// There is neither a kubeconfig nor a pod's ServiceAccount.
    #[error(
        "no cluster is configured: set KUBECONFIG, name a kubeconfig, or run in a pod with a \
         ServiceAccount"
    )]
    NoCluster(#[source] InClusterError),
    /// The settings are readable and lead to no client, such as certificates that do not parse.
    #[error("cannot build a client from the settings of the cluster")]
    Settings(#[source] Box<kube::Error>),
}

/// A client from a kubeconfig file, with its current context.
pub async fn from_kubeconfig(path: &Path) -> Result<Client, ClientError> {
    let wrap = |source| ClientError::Kubeconfig { path: path.to_owned(), source };
    let kubeconfig = Kubeconfig::read_from(path).map_err(wrap)?;
    let options = KubeConfigOptions::default();
    from_config(Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(wrap)?)
}

/// A client from the text of a kubeconfig, with its current context.
pub async fn from_kubeconfig_text(text: &str) -> Result<Client, ClientError> {
    let kubeconfig = Kubeconfig::from_yaml(text).map_err(ClientError::KubeconfigText)?;
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    from_config(config.map_err(ClientError::KubeconfigText)?)
}

/// A client from KUBECONFIG where it is set, and else from the ServiceAccount of the pod that this
/// runs in.
pub async fn from_environment() -> Result<Client, ClientError> {
    let config = match Kubeconfig::from_env().map_err(ClientError::Environment)? {
        Some(kubeconfig) => {
            let options = KubeConfigOptions::default();
            let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
            config.map_err(ClientError::Environment)?
        }
        None => Config::incluster().map_err(ClientError::NoCluster)?,
    };
    from_config(config)
}

/// A client from settings, with kube's silent repeats off.
pub fn from_config(mut config: Config) -> Result<Client, ClientError> {
    config.default_retry = false;
    Client::try_from(config).map_err(|source| ClientError::Settings(Box::new(source)))
}
