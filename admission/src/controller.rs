//! The running controller: how it begins and ends.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use dispatch_contract::{Clock, Entropy, OsEntropy, SystemClock, names};
use dispatch_kubernetes::client::{self, ClientError};
use dispatch_kubernetes::request::Limits;
use futures::future::{BoxFuture, Shared};
use futures::{FutureExt, StreamExt, future};
use kube::Client;
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{Store, store};
use thiserror::Error;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::instrument::WithSubscriber;

use crate::check_status;
use crate::config::{Config, ConfigError};
use crate::lease::Keeper;
use crate::metrics::Metrics;
use crate::parts::{Environment, Parts};
use crate::pass::Pass;
use crate::reconcile;
use crate::retries::Retries;
use crate::serve::{self, ServeError, Shown};
use crate::served_checks::{ServedChecks, WatchedCheck};
use crate::triggers::{Everything, Synced, Watches};

/// How long passes may go on after the shutdown has begun. One that is cut short is like one that
/// crashed: the next pass raises again (RG-09).
const DRAIN: Duration = Duration::from_secs(5);

/// Ends with the shutdown.
type Stop = Shared<BoxFuture<'static, ()>>;

/// The controller could not begin, or could not go on.
#[derive(Debug, Error)]
pub enum RunError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There is no client.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The endpoints cannot be served.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The task that keeps the Lease has died; without it nobody would know whether this replica
    /// leads.
    #[error("the task that keeps the Lease has died")]
    LeaseTask,
}

/// Runs the controller until `shutdown`. The `AdmissionChecks` stay Active as it goes, so that
/// Kueue does not stop the queues (RG-10).
///
/// `parts` is given the environment and makes the parts of a pass from it; [`Parts::reference`] are
/// the contract's.
pub async fn run(
    config: Config,
    parts: impl FnOnce(&Environment) -> Parts,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), RunError> {
    config.check()?;
    let client = match &config.kubeconfig {
        Some(path) => client::from_kubeconfig(path).await?,
        None => client::from_environment().await?,
    };
    run_in(Surroundings::new(client), config, parts, shutdown).await
}

/// What a controller runs in.
pub struct Surroundings {
    client: Client,
    clock: Arc<dyn Clock>,
    endpoints: Endpoints,
}

/// How it is seen that a controller is well.
enum Endpoints {
    /// Over HTTP.
    Served,
    /// It says once that it is ready.
    Told(oneshot::Sender<()>),
}

impl Surroundings {
    /// A cluster that this client reaches, with this machine's clock. The endpoints are served.
    pub fn new(client: Client) -> Self {
        Self { client, clock: Arc::new(SystemClock), endpoints: Endpoints::Served }
    }

    /// The same without a network: the time is this clock's, no endpoints are served, and `ready` is
    /// told once every watch has had its first list.
    pub fn embedded(client: Client, clock: Arc<dyn Clock>, ready: oneshot::Sender<()>) -> Self {
        Self { client, clock, endpoints: Endpoints::Told(ready) }
    }
}

/// As [`run`], in surroundings that are there already.
pub async fn run_in(
    surroundings: Surroundings,
    config: Config,
    parts: impl FnOnce(&Environment) -> Parts,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), RunError> {
    config.check()?;
    let Surroundings { client, clock, endpoints } = surroundings;
    let (synced, everything, metrics) = (Synced::default(), Everything::new(), Metrics::new());
    let limits = Limits { request: config.timeouts.request };
    let stop = shutdown.boxed().shared();

    let shown = Shown { metrics: metrics.clone(), synced: synced.clone() };
    let serving = show(endpoints, &config, shown).await?;

    let identity = config.identity.clone().unwrap_or_else(default_identity);
    let shared = (clock.clone(), everything.clone(), metrics.clone());
    let (keeper, claim) = Keeper::new(client.clone(), (&config.lease, &identity), shared);
    let (end_lease, lease_ends) = oneshot::channel();
    let keeper = keeper.keep_until(lease_ends.map(drop));
    let mut keeping = tokio::spawn(keeper.with_current_subscriber());

    let (known, writer) = store();
    let checks = ServedChecks::new(known.clone(), &config.controller_name);
    let environment = Environment { client, limits, clock, checks };
    let pass = Pass { parts: parts(&environment), metrics, takeover: config.timeouts.takeover };
    let watches = Watches {
        client: environment.client.clone(),
        namespace: config.namespace.clone(),
        synced,
        everything,
    };
    let context = reconcile::Context {
        pass,
        claim: claim.clone(),
        resync: config.resync,
        retries: Retries::default(),
    };
    let checks = (check_status::Context { environment, claim }, known, writer);
    let mut working = reconcilers(&watches, checks, (context, config.concurrency), stop.clone());

    let ended = tokio::select! {
        biased;
        () = &mut working => Ok(()),
        _ = &mut keeping => Err(RunError::LeaseTask),
        served = serving => Err(served.err().map_or(RunError::LeaseTask, RunError::Serve)),
        () = stop.clone() => {
            tracing::info!("shutting down; the AdmissionChecks stay Active");
            if timeout(DRAIN, &mut working).await.is_err() {
                tracing::warn!("passes were cut short; their Workloads wait for the next leader");
            }
            Ok(())
        }
    };
    drop(working);
    let _ = end_lease.send(());
    if ended.is_ok() && keeping.await.is_err() {
        return Err(RunError::LeaseTask);
    }
    ended
}

/// Shows how the controller is until what it returns is dropped.
async fn show(
    endpoints: Endpoints,
    config: &Config,
    shown: Shown,
) -> Result<BoxFuture<'static, Result<(), ServeError>>, ServeError> {
    match endpoints {
        Endpoints::Served => {
            let listener = serve::listen(config.listen, config.endpoints_file.as_deref()).await?;
            Ok(serve::serve(listener, shown).boxed())
        }
        Endpoints::Told(ready) => Ok(async move {
            shown.synced.complete().await;
            // Whoever started it may have lost interest.
            let _ = ready.send(());
            future::pending().await
        }
        .boxed()),
    }
}

/// Both reconcilers, until `stop` and until what is under way then is over.
fn reconcilers(
    watches: &Watches,
    (activation, known, writer): (check_status::Context, Store<WatchedCheck>, Writer<WatchedCheck>),
    (context, concurrency): (reconcile::Context, u16),
    stop: Stop,
) -> BoxFuture<'static, ()> {
    let (workloads, changed) = watches.workloads();
    let changed = changed.take_until(stop.clone()).boxed();
    let served = &activation.environment.checks;
    let checks_changed = watches.checks(&known, writer, served).take_until(stop.clone()).boxed();
    let serve_checks = check_status::serve(activation, known.clone(), checks_changed);
    let serve_workloads = async move {
        // A pass has to know which checks are this controller's.
        future::select(known.wait_until_ready().boxed(), stop).await;
        reconcile::serve(context, workloads, changed, concurrency).await;
    };
    future::join(serve_workloads, serve_checks).map(|((), ())| ()).boxed()
}

/// The machine's name, which in a pod is the pod's, and a token: two replicas never share it.
fn default_identity() -> String {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| names::LEASE.to_owned());
    format!("{host}_{}", OsEntropy.token())
}
