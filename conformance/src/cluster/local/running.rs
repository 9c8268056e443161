//! A cluster that somebody runs scenarios on.

use super::claims::Claims;
use super::features::FeatureGates;
use super::pins::{JOBSET, STACK};
use super::places::ClusterFolder;
use super::protocol::{Answer, Request, connect, receive, send};
use super::starter::{Options, Supervisor, matching};
use super::state::{Phase, State};
use super::{END_LIMIT, endpoint, files, names, status, supervised, supervisor_gone};
use crate::cluster::{ClusterError, LeadThrough, Progress};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

/// Whose a running cluster is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// Started for this [`Running`], and ends with it.
    Own,
    /// It was there before, and stays.
    TakenUp,
}

/// A cluster that is ready. Dropping it ends the cluster if it is its own, without waiting;
/// [`Running::shut_down`] waits.
pub struct Running {
    link: Arc<Link>,
    client: kube::Client,
    supervisor: Option<Supervisor>,
}

/// The way to the cluster's supervisor.
struct Link {
    options: Options,
    folder: ClusterFolder,
    state: Mutex<State>,
}

/// A component that stands still until this is dropped.
#[derive(Debug)]
pub struct Frozen {
    _connection: BufReader<UnixStream>,
}

/// Components whose requests are led through a proxy until this is dropped, or this process is gone.
/// They are then started again without it; [`Lead::end`] waits for that.
pub struct Lead {
    link: Arc<Link>,
    connection: BufReader<UnixStream>,
}

/// How many folders of own clusters are kept for their logs.
const KEPT: usize = 5;

/// Takes up a healthy cluster of that name that matches: the same pins, the same feature gates.
/// Else starts an own one, under a name that nobody else takes up, which ends with the result.
///
/// # Errors
/// Every [`ClusterError`] of a start. Dropping the future ends what it had started.
pub async fn take_up_or_start(
    mut options: Options,
    progress: &dyn Progress,
) -> Result<Running, ClusterError> {
    if let Some(state) = matching(&options, progress).await? {
        let client = endpoint::admin(&state.kubeconfig).await?;
        if endpoint::answers(&client).await {
            let link = Arc::new(Link::new(options, state)?);
            return Ok(Running { link, client, supervisor: None });
        }
    }
    options.name = own_name(&options);
    let supervisor = Supervisor::start(&options, progress).await?;
    let client = endpoint::admin(&supervisor.state.kubeconfig).await?;
    let link = Arc::new(Link::new(options, supervisor.state.clone())?);
    Ok(Running { link, client, supervisor: Some(supervisor) })
}

/// A name for an own cluster; removes the folders of old ones.
fn own_name(options: &Options) -> String {
    let prefix = "own-";
    let folders = names(&options.places).into_iter().filter(|name| name.starts_with(prefix));
    let mut over: Vec<_> = folders
        .filter_map(|name| options.places.cluster(&name).ok())
        .filter(|folder| !supervised(folder))
        .filter_map(|folder| {
            let changed = fs_err::metadata(folder.root()).and_then(|meta| meta.modified()).ok()?;
            Some((changed, folder))
        })
        .collect();
    over.sort_by_key(|(changed, _)| *changed);
    for (_, folder) in over.iter().take(over.len().saturating_sub(KEPT)) {
        // Another run may be removing it too.
        drop(files::remove_folder(folder.root()));
    }
    format!("{prefix}{}", std::process::id())
}

impl Lead {
    /// Ends it, and returns when the components serve without the proxy, which until then has to be
    /// there.
    pub async fn end(mut self) -> Result<(), ClusterError> {
        // Of this side only: the answer comes over the other.
        let closed = self.connection.get_mut().shutdown().await;
        closed.map_err(|_| self.link.why_gone())?;
        self.link.answer(&mut self.connection).await
    }
}

impl Link {
    fn new(options: Options, state: State) -> Result<Self, ClusterError> {
        let folder = options.folder()?;
        Ok(Self { options, folder, state: Mutex::new(state) })
    }

    /// Asks the supervisor for something, and returns when it is done. Some things last as long as
    /// the connection.
    async fn ask(&self, request: &Request) -> Result<BufReader<UnixStream>, ClusterError> {
        let asked = async {
            let mut stream = connect(&self.folder).await?;
            send(&mut stream, request).await?;
            Ok::<_, std::io::Error>(BufReader::new(stream))
        };
        let mut connection = asked.await.map_err(|_| self.why_gone())?;
        self.answer(&mut connection).await?;
        Ok(connection)
    }

    async fn answer(&self, from: &mut BufReader<UnixStream>) -> Result<(), ClusterError> {
        match receive::<Answer>(from).await {
            Ok(Some(Answer::Ready(state))) => {
                *self.state.lock().unwrap_or_else(PoisonError::into_inner) = *state;
                Ok(())
            }
            Ok(Some(Answer::Failed(error))) => Err(error),
            _ => Err(self.why_gone()),
        }
    }

    fn why_gone(&self) -> ClusterError {
        let name = &self.options.name;
        match status(&self.options.places, name) {
            Ok(Some(State { failure: Some(failure), .. })) => failure,
            Ok(Some(State { phase: Phase::Ended, .. })) => {
                ClusterError::NotRunning { name: name.clone() }
            }
            _ => supervisor_gone(&self.folder, name),
        }
    }
}

impl Running {
    /// The administrator's client. It sends nothing twice by itself.
    pub fn client(&self) -> kube::Client {
        self.client.clone()
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> std::path::PathBuf {
        self.link.folder.kubeconfig()
    }

    /// The API server's URL.
    pub fn server(&self) -> String {
        self.state().server
    }

    /// The authority that signed the API server's certificate, PEM. With [`Running::server`] and
    /// a token it makes a kubeconfig for a ServiceAccount.
    pub fn certificate_authority(&self) -> String {
        self.state().certificate_authority
    }

    /// The version of each component that a scenario depends on, by its name.
    pub fn versions() -> BTreeMap<String, String> {
        let components = [
            ("kubernetes", &STACK, "k8s.io/kubernetes"),
            ("etcd", &STACK, "go.etcd.io/etcd/server/v3"),
            ("kueue", &STACK, "sigs.k8s.io/kueue"),
            ("trainer", &STACK, "github.com/kubeflow/trainer/v2"),
            ("jobset", &JOBSET, "sigs.k8s.io/jobset"),
        ];
        let versions = components.iter().filter_map(|(name, module, path)| {
            Some(((*name).to_owned(), module.version_of(path)?.to_owned()))
        });
        versions.collect()
    }

    /// The cluster's name.
    pub fn name(&self) -> &str {
        &self.link.options.name
    }

    /// Whose it is.
    pub fn ownership(&self) -> Ownership {
        if self.supervisor.is_some() { Ownership::Own } else { Ownership::TakenUp }
    }

    /// The folder of logs, one for each component.
    pub fn logs(&self) -> std::path::PathBuf {
        self.link.folder.logs()
    }

    /// What the supervisor last said of the cluster.
    pub fn state(&self) -> State {
        self.link.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Kueue's feature gates, as they are now.
    pub fn feature_gates(&self) -> FeatureGates {
        self.state().feature_gates
    }

    /// Starts Kueue again with other feature gates. Returns when its webhooks answer and it has
    /// reconciled a ClusterQueue.
    ///
    /// A gate that Kueue does not know ends the cluster, with Kueue's own words. While it is away
    /// every write to a kind that Kueue's webhooks guard fails, so nothing else
    /// may use the cluster meanwhile. On a cluster that was taken up, put the old gates back.
    pub async fn restart_kueue(&self, gates: &FeatureGates) -> Result<(), ClusterError> {
        self.link.ask(&Request::RestartKueue(gates.clone())).await.map(drop)
    }

    /// Makes a component stand still: it keeps its connections and does nothing. It goes on when
    /// the result is dropped, and also when this process is killed.
    pub async fn freeze(&self, component: &str) -> Result<Frozen, ClusterError> {
        let connection = self.link.ask(&Request::Freeze(component.to_owned())).await?;
        Ok(Frozen { _connection: connection })
    }

    /// Starts components again, with their requests led through a proxy, and returns when they
    /// serve: webhooks answer, controllers reconcile. They keep their tokens, and Kueue its feature
    /// gates.
    ///
    /// While they are away every write to a kind that their webhooks guard fails, so nothing else may
    /// use the cluster meanwhile. A component that cannot work through the proxy ends the cluster,
    /// with its own words. One that stood still no longer does.
    pub async fn lead(&self, through: BTreeMap<String, LeadThrough>) -> Result<Lead, ClusterError> {
        let connection = self.link.ask(&Request::Lead(through)).await?;
        Ok(Lead { link: Arc::clone(&self.link), connection })
    }

    /// The claims on what is on it.
    pub fn claims(&self) -> Claims {
        Claims::in_folder(&self.link.folder)
    }

    /// Returns when the cluster has ended, with the reason. To be raced with whatever needs it.
    pub async fn ended(&self) -> ClusterError {
        if let Ok(mut stream) = connect(&self.link.folder).await
            && send(&mut stream, &Request::Watch).await.is_ok()
        {
            let mut rest = Vec::new();
            drop(stream.read_to_end(&mut rest).await);
        }
        super::unsupervised_within(&self.link.folder, END_LIMIT).await;
        self.link.why_gone()
    }

    /// Ends the cluster if it is its own, and returns when it is gone.
    pub async fn shut_down(mut self) {
        if let Some(supervisor) = self.supervisor.take() {
            supervisor.end(END_LIMIT).await;
        }
    }

    /// The log of a component.
    pub fn log(&self, component: &str) -> std::path::PathBuf {
        self.link.folder.log(component)
    }

    /// The cluster's folder.
    pub fn folder(&self) -> &Path {
        self.link.folder.root()
    }
}
