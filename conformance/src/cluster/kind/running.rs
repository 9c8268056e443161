//! A cluster that somebody runs scenarios on.

use super::bring_up::{DEPLOYMENTS, Options, make, ready};
use super::component::Component;
use super::container_image;
use super::engine::{self, Kind};
use super::lead::{self, Lead};
use super::manifests;
use super::node::Node;
use super::state::{Phase, State};
use super::{delete, down, names};
use crate::cluster::local::install::Install;
use crate::cluster::local::waiting::Waits;
use crate::cluster::local::{Claims, ClusterFolder, FeatureGates, Places, endpoint, files};
use crate::cluster::progress::Silent;
use crate::cluster::{ClusterError, LeadThrough, Progress};
use crate::containers::{Choice, Program};
use base64::prelude::{BASE64_STANDARD, Engine};
use fs_err as fs;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::config::Kubeconfig;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// How long a component may take to be started again.
const RESTART_LIMIT: Duration = Duration::from_mins(3);

/// How often it is looked whether the node still runs.
const LOOK: Duration = Duration::from_secs(5);

/// The name of a run's own cluster begins with it.
const OWN: &str = "own-";

/// What becomes of a cluster when the run is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stay {
    /// It is the run's own, and deleted.
    Deleted,
    /// It stays for the next run.
    Kept,
}

/// The right to make a cluster of a name, or to have it to oneself; gone with the process.
pub(super) struct Held(#[expect(dead_code, reason = "held for its lock")] fs::File);

impl Held {
    /// Takes it.
    pub(super) fn take(folder: &ClusterFolder, name: &str) -> Result<Self, ClusterError> {
        files::private_folder(folder.root())?;
        let path = folder.lock();
        let failed = |error: std::io::Error| ClusterError::io(&path, &error);
        let file = fs::OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(std::fs::TryLockError::WouldBlock) => {
                Err(ClusterError::Starting { name: name.to_owned() })
            }
            Err(std::fs::TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

/// Whether somebody makes the cluster, or has it to itself.
pub(super) fn is_held(folder: &ClusterFolder) -> bool {
    match fs::OpenOptions::new().write(true).open(folder.lock()) {
        Ok(file) => matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)),
        Err(_) => false,
    }
}

/// A cluster that is ready.
pub struct Running {
    inner: Arc<Inner>,
    stay: Stay,
    containers: Choice,
    _held: Option<Held>,
}

/// What is shared by those who use a cluster.
pub(super) struct Inner {
    pub(super) folder: ClusterFolder,
    pub(super) node: Node,
    pub(super) client: kube::Client,
    name: String,
    server: String,
    certificate_authority: String,
    /// The Deployments as the components bring them.
    deployments: BTreeMap<String, Value>,
    now: Mutex<Now>,
}

/// How it is now.
#[derive(Clone)]
struct Now {
    state: State,
    led: BTreeMap<Component, LeadThrough>,
}

/// The controllers of Kubernetes, standing still until this is dropped or this process is gone.
#[derive(Debug)]
pub struct Frozen {
    /// They go on when its input is closed.
    _child: Child,
}

/// Takes up the cluster of that name if it is there and matches, else makes it under that name; it
/// stays. Without `reuse` one of the run's own is made, under a name that nobody else takes up.
///
/// What runs that were killed have left of clusters of their own is deleted before.
pub async fn take_up_or_create(
    mut options: Options,
    reuse: bool,
    progress: &dyn Progress,
) -> Result<Running, ClusterError> {
    engine::answers().await?;
    delete_abandoned(&options.places).await?;
    options.name = name_of(&options, reuse);
    if !reuse {
        let held = Held::take(&options.folder()?, &options.name)?;
        let (inner, held) = make(&options, held, progress).await?;
        return Ok(Running::new(inner, Stay::Deleted, Some(held)));
    }
    let Some(state) = ready(&options).await? else {
        let held = Held::take(&options.folder()?, &options.name)?;
        let (inner, _) = make(&options, held, progress).await?;
        return Ok(Running::new(inner, Stay::Kept, None));
    };
    if let Some(difference) = options.difference(&state) {
        return Err(ClusterError::Occupied { name: options.name, difference });
    }
    let client = endpoint::admin(&state.kubeconfig).await?;
    let inner = Inner::new(&options, options.folder()?, state, client)?;
    lead_none(&inner, progress).await?;
    Ok(Running::new(inner, Stay::Kept, None))
}

/// Ends what a run that was killed has led: its proxy is gone, and nothing gets done.
async fn lead_none(inner: &Inner, progress: &dyn Progress) -> Result<(), ClusterError> {
    let waits = Waits::new(progress, inner.folder.logs(), RESTART_LIMIT);
    Box::pin(lead::undo_abandoned(inner, &waits)).await
}

/// Does what cannot move between threads while it waits, for those who can.
pub(super) async fn on_one_thread<T: Send + 'static>(
    work: impl AsyncFnOnce() -> Result<T, ClusterError> + Send + 'static,
) -> Result<T, ClusterError> {
    let runtime = tokio::runtime::Handle::current();
    let done = tokio::task::spawn_blocking(move || runtime.block_on(work()));
    done.await.unwrap_or(Err(ClusterError::Interrupted))
}

/// The administrator's client of the cluster of this name, and the claims on what is on it.
pub async fn reach(
    options: &Options,
    progress: &dyn Progress,
) -> Result<(kube::Client, Claims), ClusterError> {
    let missing = || ClusterError::NotRunning { name: options.name.clone() };
    let state = ready(options).await?.ok_or_else(missing)?;
    let client = endpoint::admin(&state.kubeconfig).await?;
    let inner = Inner::new(options, options.folder()?, state, client)?;
    lead_none(&inner, progress).await?;
    Ok((inner.client, Claims::in_folder(&inner.folder)))
}

/// Deletes what [`take_up_or_create`] has made of a cluster that it was not let finish.
pub async fn delete_unfinished(options: &Options, reuse: bool) -> Result<(), ClusterError> {
    let name = name_of(options, reuse);
    match State::read(&options.places.kind_cluster(&name)?) {
        Some(state) if state.phase != Phase::Starting => Ok(()),
        _ => down(&options.places, &name).await.map(drop),
    }
}

/// The name of the cluster: a run's own is named after its process.
fn name_of(options: &Options, reuse: bool) -> String {
    if reuse { options.name.clone() } else { format!("{OWN}{}", std::process::id()) }
}

/// Deletes the clusters whose makers and users are gone.
pub(super) async fn delete_abandoned(places: &Places) -> Result<(), ClusterError> {
    for name in names(places) {
        let folder = places.kind_cluster(&name)?;
        let state = State::read(&folder);
        if !is_abandoned(&name, state.as_ref().map(|state| state.phase), is_held(&folder)) {
            continue;
        }
        down(places, &name).await?;
        if name.starts_with(OWN) {
            files::remove_folder(folder.root())?;
        }
    }
    Ok(())
}

/// Whether nobody will ever use a cluster or delete it: one that a run had to itself, or that was
/// never finished, while nobody holds it.
fn is_abandoned(name: &str, phase: Option<Phase>, held: bool) -> bool {
    !held && (name.starts_with(OWN) || phase == Some(Phase::Starting))
}

/// The URL of the API server, and the authority that vouches for it, PEM.
fn server(kubeconfig: &Path) -> Result<(String, String), ClusterError> {
    let odd = |detail: &str| ClusterError::File {
        path: kubeconfig.to_path_buf(),
        detail: detail.to_owned(),
    };
    let config =
        Kubeconfig::read_from(kubeconfig).map_err(|error| odd(&endpoint::chain(&error)))?;
    let cluster = config.clusters.into_iter().find_map(|named| named.cluster);
    let cluster = cluster.ok_or_else(|| odd("it names no cluster"))?;
    let server = cluster.server.ok_or_else(|| odd("it names no server"))?;
    let authority = cluster.certificate_authority_data.unwrap_or_default();
    let authority =
        BASE64_STANDARD.decode(authority).ok().and_then(|pem| String::from_utf8(pem).ok());
    Ok((server, authority.ok_or_else(|| odd("its authority is not PEM in base64"))?))
}

impl Inner {
    pub(super) fn new(
        options: &Options,
        folder: ClusterFolder,
        state: State,
        client: kube::Client,
    ) -> Result<Self, ClusterError> {
        let path = folder.run().join(DEPLOYMENTS);
        let text = fs::read(&path).map_err(|error| ClusterError::io(&path, &error))?;
        let deployments = serde_json::from_slice(&text)
            .map_err(|error| ClusterError::File { path, detail: error.to_string() })?;
        let (node, name) = (Node::of(&options.name), options.name.clone());
        let (server, certificate_authority) = server(&state.kubeconfig)?;
        let now = Mutex::new(Now { state, led: BTreeMap::new() });
        Ok(Self { folder, node, client, name, server, certificate_authority, deployments, now })
    }

    pub(super) fn state(&self) -> State {
        self.lock().state.clone()
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes how a component is to run; it is started again if that is new.
    pub(super) async fn deploy(
        &self,
        component: Component,
        gates: &FeatureGates,
        lead: Option<&LeadThrough>,
        install: &Install<'_>,
    ) -> Result<(), ClusterError> {
        let configuration = manifests::configuration(component, gates, lead)?;
        install.put(configuration.clone()).await?;
        let image = self.lock().state.images.of(component);
        let Some(bundled) = self.deployments.get(component.name()) else { return Ok(()) };
        let deployment = manifests::deployment(component, bundled, &image, &configuration);
        install.put(deployment).await.map(drop)
    }

    /// Returns when the component runs as it was last written, and nothing of it as it was before.
    pub(super) async fn rolled_out(
        &self,
        component: Component,
        waits: &Waits<'_>,
    ) -> Result<(), ClusterError> {
        let api: Api<Deployment> = Api::namespaced(self.client.clone(), component.namespace());
        let ask = async || {
            let got = api.get(component.deployment()).await;
            let deployment = got.map_err(|error| endpoint::chain(&error))?;
            let status = deployment.status.unwrap_or_default();
            let seen = status.observed_generation >= deployment.metadata.generation;
            let counts = [status.replicas, status.updated_replicas, status.available_replicas];
            if seen && counts == [Some(1); 3] {
                return Ok(());
            }
            let counts = counts.map(Option::unwrap_or_default);
            Err(format!("{} pods, {} of them new, {} ready", counts[0], counts[1], counts[2]))
        };
        waits.until(component.name(), "its pod is ready", ask).await
    }

    /// Starts components again with these gates and ways, and returns when they serve.
    pub(super) async fn restart(
        &self,
        components: &[Component],
        gates: &FeatureGates,
        led: &BTreeMap<Component, LeadThrough>,
    ) -> Result<(), ClusterError> {
        let waits = Waits::new(&Silent, self.folder.logs(), RESTART_LIMIT);
        let install = Install { client: &self.client, waits: &waits };
        // One after the other, Kueue last: it is asked about the pods of the others.
        for component in components {
            self.deploy(*component, gates, led.get(component), &install).await?;
            self.rolled_out(*component, &waits).await?;
        }
        install.webhooks_are_called().await?;
        install.kueue_reconciles().await?;
        let mut now = self.lock();
        now.state.feature_gates = gates.clone();
        now.led.clone_from(led);
        now.state.write(&self.folder)
    }

    pub(super) fn led(&self) -> BTreeMap<Component, LeadThrough> {
        self.lock().led.clone()
    }
}

impl Running {
    fn new(inner: Inner, stay: Stay, held: Option<Held>) -> Self {
        Self { inner: Arc::new(inner), stay, containers: Choice::StandIn, _held: held }
    }

    /// The administrator's client. It sends nothing twice by itself.
    pub fn client(&self) -> kube::Client {
        self.inner.client.clone()
    }

    /// The API server's URL.
    pub fn server(&self) -> &str {
        &self.inner.server
    }

    /// The authority that signed the API server's certificate, PEM.
    pub fn certificate_authority(&self) -> &str {
        &self.inner.certificate_authority
    }

    /// What is known of it.
    pub fn state(&self) -> State {
        self.inner.state()
    }

    /// What the containers of scenarios' jobs are.
    pub fn containers(&self) -> &Choice {
        &self.containers
    }

    /// From now on scenarios' jobs are of real containers, which run this program. Returns when its node
    /// has their image.
    pub async fn use_containers(&mut self, program: &Program) -> Result<(), ClusterError> {
        let node = &self.inner.node;
        let image = container_image::load(node, program, &self.inner.folder.run()).await?;
        self.containers = Choice::Real { image };
        Ok(())
    }

    /// What becomes of it when the run is over.
    pub fn stay(&self) -> Stay {
        self.stay
    }

    /// The claims on what is on it.
    pub fn claims(&self) -> Claims {
        Claims::in_folder(&self.inner.folder)
    }

    /// The address of this machine as the cluster's pods see it.
    pub async fn gateway(&self) -> Result<IpAddr, ClusterError> {
        self.inner.node.gateway().await
    }

    /// Starts Kueue again with other feature gates, and returns when it serves. While it is away
    /// every write to a kind that its webhooks guard fails.
    pub async fn restart_kueue(&self, gates: &FeatureGates) -> Result<(), ClusterError> {
        let (inner, gates) = (Arc::clone(&self.inner), gates.clone());
        on_one_thread(async move || inner.restart(&[Component::Kueue], &gates, &inner.led()).await)
            .await
    }

    /// Starts components again, with their requests led through a proxy, and returns when they
    /// serve. They keep their tokens; kube-controller-manager, which has a certificate, gets one.
    pub async fn lead(&self, through: BTreeMap<String, LeadThrough>) -> Result<Lead, ClusterError> {
        let inner = Arc::clone(&self.inner);
        on_one_thread(async move || Lead::begin(inner, through).await).await
    }

    /// Makes kube-controller-manager stand still until the result is dropped, or this process is
    /// gone. The others answer webhooks, and cannot be.
    pub async fn freeze(&self, component: &str) -> Result<Frozen, ClusterError> {
        if component != lead::CONTROLLER_MANAGER {
            return Err(ClusterError::NoComponent { name: component.to_owned() });
        }
        // Whatever ends this process closes the pipe, and the script goes on.
        let script = "pid=$(pgrep -f '^kube-controller-manager '); kill -STOP $pid; \
                      trap 'kill -CONT $pid' EXIT; echo stands still; cat >/dev/null";
        let line = || "docker exec … kill -STOP".to_owned();
        let failed = |output: String| ClusterError::CommandFailed { command: line(), output };
        let mut command = Command::new("docker");
        command.args(["exec", "--interactive", self.inner.node.name(), "bash", "-euc", script]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let output = child.stdout.take().ok_or_else(|| failed("it has no output".to_owned()))?;
        let said = BufReader::new(output).lines().next_line().await;
        match said {
            Ok(Some(_)) => Ok(Frozen { _child: child }),
            _ => Err(failed("kube-controller-manager was not found".to_owned())),
        }
    }

    /// Returns when the node does not run any more. To be raced with whatever needs it.
    pub async fn ended(&self) -> ClusterError {
        let mut turn = tokio::time::interval(LOOK);
        loop {
            turn.tick().await;
            match self.inner.node.runs().await {
                Ok(true) => {}
                Ok(false) => return ClusterError::NodeStopped { name: self.inner.name.clone() },
                Err(error) => return error,
            }
        }
    }

    /// Writes the logs of the node and of all its pods into a folder.
    pub async fn export_logs(&self, folder: &Path) -> Result<(), ClusterError> {
        Kind::at(self.state().kind).export_logs(&self.inner.name, folder).await
    }

    /// Deletes the cluster if it is the run's own, and returns when it is gone.
    pub async fn shut_down(self) -> Result<(), ClusterError> {
        if self.stay == Stay::Kept {
            return Ok(());
        }
        delete(&self.inner.folder, &self.inner.name, Some(&self.state())).await?;
        files::remove_folder(self.inner.folder.root())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::of_a_run_that_was_killed("own-7", Some(Phase::Ready), false, true)]
    #[case::of_a_run_that_was_killed_at_once("own-7", None, false, true)]
    #[case::of_a_run("own-7", Some(Phase::Ready), true, false)]
    #[case::whose_maker_was_killed("default", Some(Phase::Starting), false, true)]
    #[case::being_made("default", Some(Phase::Starting), true, false)]
    #[case::that_stays("default", Some(Phase::Ready), false, false)]
    #[case::that_was_ended("default", Some(Phase::Ended), false, false)]
    #[case::not_begun("default", None, false, false)]
    fn a_cluster_is_abandoned_that_nobody_will_use(
        #[case] name: &str,
        #[case] phase: Option<Phase>,
        #[case] held: bool,
        #[case] abandoned: bool,
    ) {
        assert_eq!(is_abandoned(name, phase, held), abandoned);
    }
}
