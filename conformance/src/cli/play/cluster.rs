//! The cluster of a run: brought up before anything is played, left when all has ended.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::one::OnCluster;
use super::simulated::InSimulation;
use super::{Player, at_once};
use crate::cli::context::Context;
use crate::cli::sweep;
use crate::cli::terminal::{Lines, chain, complain, say, settle, transient};
use crate::cluster::local::{DEFAULT_NAME, Options, Ownership, Running, take_up_or_start};
use crate::cluster::simulated::{DEFAULT_SEED, Simulated};
use crate::cluster::{ClusterError, existing, kind};
use crate::containers::{NoProgram, Program};
use crate::exit_code::ExitCode;
use crate::run::{self, Host, Interruption, Interrupts, Leaving, Proxied};
use crate::scenario::Scenario;

/// The clusters that scenarios can be played on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Cluster {
    /// One that is embedded in this program, in simulated time: nothing else is needed.
    Simulated,
    /// A real control plane with Kueue, Trainer and JobSet, as processes.
    Local,
    /// A cluster of kind, with the three as pods in it.
    Kind,
    /// A cluster that others run, where an object that says so was put by hand; see `doctor`.
    Existing,
}

/// What the containers of jobs can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OfJobs {
    /// None: a stand-in kubelet moves the pods, exactly when a scenario says so.
    StandIn,
    /// A program of ours, run by the cluster's kubelets. EX-01 and EX-02 are then judged by what each
    /// container says of itself too.
    Real,
}

/// Where to play, as it is asked for on the command line.
#[derive(Debug, Args)]
pub(in crate::cli) struct Where {
    /// Where to play them.
    #[arg(long, value_enum, default_value_t = Cluster::Simulated)]
    cluster: Cluster,
    /// Of `local`: the cluster to take up, if one of this name runs and matches; else a new one is
    /// started, and ended afterwards. Of `kind`, with --reuse: the one to take up, or to make.
    #[arg(long, default_value = DEFAULT_NAME)]
    name: String,
    /// Of `kind`: take up the cluster of that name, or make it, and leave it; else a new one is made,
    /// and deleted afterwards.
    #[arg(long)]
    reuse: bool,
    /// Of `kind`: what runs in the pods of jobs.
    #[arg(long, value_enum, default_value_t = OfJobs::StandIn)]
    containers: OfJobs,
    /// With --containers real: the static program `dispatch-container`, where it is not beside this
    /// program.
    #[arg(long, value_name = "FILE")]
    container_program: Option<PathBuf>,
    #[command(flatten)]
    context: Context,
    /// Of `simulated`: what everything that is left to chance comes of. The same seed gives the same
    /// histories.
    #[arg(long, default_value_t = DEFAULT_SEED, value_name = "N")]
    seed: u64,
}

impl Where {
    /// Refuses an option where no seed decides what happens.
    pub(in crate::cli) fn refuse_without_seed(&self, option: &str) -> Result<(), ExitCode> {
        let why = match self.cluster {
            Cluster::Local | Cluster::Kind | Cluster::Existing => {
                "on a real cluster no seed decides what happens"
            }
            Cluster::Simulated if !dispatch_determinism::AVAILABLE => {
                "elsewhere than on Linux the order of hash maps is not of the seed"
            }
            Cluster::Simulated => return Ok(()),
        };
        say(&format!("error: {option}: {why}"));
        Err(ExitCode::Usage)
    }

    /// Refuses an option where subjects are parts of this process.
    pub(in crate::cli) fn refuse_without_processes(&self, option: &str) -> Result<(), ExitCode> {
        if self.cluster != Cluster::Simulated {
            return Ok(());
        }
        say(&format!(
            "error: {option}: the embedded cluster has no address that another process could reach; \
             choose a real one, such as --cluster local"
        ));
        Err(ExitCode::Usage)
    }

    /// Refuses options that the kind of cluster does not have.
    pub(in crate::cli) fn refuse_without_kubelets(&self) -> Result<(), ExitCode> {
        let asks = self.containers == OfJobs::Real || self.container_program.is_some();
        if !asks || self.cluster == Cluster::Kind {
            return Ok(());
        }
        let why = "only a cluster of kind runs containers of the suite's; choose --cluster kind";
        say(&format!("error: --containers real: {why}"));
        Err(ExitCode::Usage)
    }

    /// The program of real containers, where they are asked for.
    fn program(&self) -> Result<Option<Program>, ClusterError> {
        if self.containers == OfJobs::StandIn {
            return Ok(None);
        }
        let found = Program::find(
            self.container_program.as_deref(),
            &std::env::current_exe().unwrap_or_default(),
        );
        let missing =
            |error: NoProgram| ClusterError::NoContainerProgram { detail: error.to_string() };
        found.map(Some).map_err(missing)
    }

    /// What says where, besides the kind of cluster and the seed.
    pub(in crate::cli) fn options(&self) -> Vec<String> {
        let reused = self.cluster == Cluster::Kind && self.reuse;
        let mut options: Vec<_> = reused.then(|| "--reuse".to_owned()).into_iter().collect();
        if (reused || self.cluster == Cluster::Local) && self.name != DEFAULT_NAME {
            options.extend(["--name".to_owned(), self.name.clone()]);
        }
        if self.containers == OfJobs::Real {
            options.extend(["--containers", "real"].map(str::to_owned));
        }
        if let Some(program) = &self.container_program {
            options.extend(["--container-program".to_owned(), program.display().to_string()]);
        }
        if self.cluster == Cluster::Existing {
            options.extend(self.context.words());
        }
        options
    }

    /// How many scenarios are played there at once, unless said otherwise.
    pub(in crate::cli) fn at_once(&self, asked: Option<u8>) -> usize {
        match self.cluster {
            Cluster::Simulated => asked.map_or_else(cores, usize::from),
            Cluster::Local | Cluster::Kind | Cluster::Existing => at_once(asked),
        }
    }
}

/// In simulated time nobody waits, so that more than one for each core is of no use.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A cluster that is there.
pub(in crate::cli) enum Ground {
    /// An embedded one for each play, of this seed.
    Simulated(u64),
    /// One for all, and the proxy before it.
    Real(Box<(Real, Proxied)>),
}

/// A cluster on which all is played.
pub(in crate::cli) enum Real {
    /// Of processes.
    Local(Box<Running>),
    /// Of kind.
    Kind(Box<kind::Running>),
    /// One that others run.
    Existing(Box<existing::Running>),
}

impl Real {
    fn host(&self) -> &dyn Host {
        match self {
            Self::Local(cluster) => &**cluster,
            Self::Kind(cluster) => &**cluster,
            Self::Existing(cluster) => &**cluster,
        }
    }

    /// Whether it is there when the run is over.
    fn stays(&self) -> bool {
        match self {
            Self::Local(cluster) => cluster.ownership() == Ownership::TakenUp,
            Self::Kind(cluster) => cluster.stay() == kind::Stay::Kept,
            Self::Existing(_) => true,
        }
    }

    /// Ends it if it is the run's own; else what the run has there.
    async fn shut_down(self) {
        let ended = match self {
            Self::Local(cluster) => {
                cluster.shut_down().await;
                Ok(())
            }
            Self::Kind(cluster) => cluster.shut_down().await,
            Self::Existing(cluster) => cluster.end().await,
        };
        if let Err(error) = ended {
            complain(error);
        }
    }
}

impl Ground {
    /// Brings it up for these scenarios of the run of this id. Where that cannot be, what was there is
    /// left as it was.
    pub(in crate::cli) async fn bring_up(
        asked: &Where,
        run: &str,
        scenarios: &[Arc<Scenario>],
        interrupts: &Interrupts,
    ) -> Result<Self, ExitCode> {
        match asked.cluster {
            Cluster::Simulated => Ok(Self::Simulated(asked.seed)),
            Cluster::Local | Cluster::Kind | Cluster::Existing => {
                let cluster = bring_up(asked, run, interrupts.clone()).await?;
                let led = lead(cluster, scenarios, interrupts).await?;
                Ok(Self::Real(Box::new(led)))
            }
        }
    }

    /// What kind of cluster it is.
    pub(in crate::cli) fn kind(&self) -> &'static str {
        match self {
            Self::Simulated(_) => "simulated",
            Self::Real(real) => real.0.host().kind(),
        }
    }

    /// Why a run of these scenarios on it is no claim to conformance.
    pub(in crate::cli) fn no_claim(&self, scenarios: &[Arc<Scenario>]) -> Vec<String> {
        let Self::Real(real) = self else { return Vec::new() };
        let host = real.0.host();
        let unmet = scenarios.iter().filter(|it| run::unmet(host, it).is_some()).count();
        let unmet = (unmet > 0).then(|| {
            let of = scenarios.len();
            format!("{unmet} of {of} scenarios need what this cluster does not offer")
        });
        let warnings = match &real.0 {
            Real::Existing(cluster) => cluster.warnings(),
            Real::Local(_) | Real::Kind(_) => &[],
        };
        let untold = (!warnings.is_empty()).then(|| {
            "not all that is installed on the cluster could be told, see `doctor`".to_owned()
        });
        unmet.into_iter().chain(untold).collect()
    }

    /// The version of each component, by its name.
    pub(in crate::cli) fn versions(&self) -> BTreeMap<String, String> {
        match self {
            Self::Simulated(_) => Simulated::versions(),
            Self::Real(real) => real.0.host().versions(),
        }
    }

    /// Who plays on it.
    pub(in crate::cli) fn player<'a>(
        &'a self,
        run: &'a str,
        time_scale: u32,
        interrupts: &'a Interrupts,
    ) -> Box<dyn Player + 'a> {
        match self {
            Self::Simulated(seed) => Box::new(InSimulation { seed: *seed, interrupts }),
            Self::Real(real) => {
                let (cluster, proxied) = &**real;
                let host = cluster.host();
                Box::new(OnCluster { host, proxied, run, time_scale, interrupts })
            }
        }
    }

    /// Keeps the logs of what runs in it, where that is not on this machine already: something failed.
    pub(in crate::cli) async fn keep_logs(&self, results: &Path) {
        let Self::Real(real) = self else { return };
        let Real::Kind(cluster) = &real.0 else { return };
        let folder = results.join("cluster-logs");
        match cluster.export_logs(&folder).await {
            Ok(()) => say(&format!("the cluster's logs: {}", folder.display())),
            Err(error) => complain(error),
        }
    }

    /// Leaves it.
    pub(in crate::cli) async fn leave(self, leaving: &[Leaving]) {
        if let Self::Real(real) = self {
            let (cluster, proxied) = *real;
            end(proxied, &cluster).await;
            leave(cluster, leaving).await;
        }
    }
}

/// Takes up the cluster that is asked for, or starts one.
async fn bring_up(asked: &Where, run: &str, mut interrupts: Interrupts) -> Result<Real, ExitCode> {
    let started = async {
        let cluster = match asked.cluster {
            Cluster::Kind => {
                let options = kind::Options::new(&asked.name)?;
                // Before anything is made.
                let program = asked.program()?;
                let created = Box::pin(kind::take_up_or_create(options, asked.reuse, &Lines)).await;
                let mut cluster = created?;
                if let Some(program) = &program
                    && let Err(error) = cluster.use_containers(program).await
                {
                    cluster.shut_down().await?;
                    return Err(error);
                }
                Real::Kind(Box::new(cluster))
            }
            Cluster::Existing => Real::Existing(Box::new(begin(&asked.context, run).await?)),
            Cluster::Simulated | Cluster::Local => {
                let started = take_up_or_start(Options::new(&asked.name)?, &Lines).await;
                Real::Local(Box::new(started?))
            }
        };
        Ok::<_, ClusterError>(cluster)
    };
    let started = tokio::select! {
        started = started => started,
        interruption = interrupts.next() => {
            say("interrupted: nothing was played");
            if asked.cluster == Cluster::Kind {
                delete_unfinished(asked).await;
            }
            return Err(code_of(interruption));
        }
    };
    started.map_err(|error| {
        let code = error.exit_code();
        complain(error);
        code
    })
}

/// Deletes what there is of a cluster of kind whose making was interrupted. That of processes ends
/// with the one that wanted it.
async fn delete_unfinished(asked: &Where) {
    let deleted =
        async { kind::delete_unfinished(&kind::Options::new(&asked.name)?, asked.reuse).await };
    if let Err(error) = deleted.await {
        complain(error);
    }
}

/// Begins a run on a cluster that others run, once what killed runs have left is removed.
async fn begin(context: &Context, run: &str) -> Result<existing::Running, ClusterError> {
    let fit = existing::Fit::look(existing::reach(&context.options()).await?).await?;
    sweep::before_a_run(&fit.client()).await;
    let running = fit.begin(run).await?;
    for warning in running.warnings() {
        say(&warning.to_string());
    }
    Ok(running)
}

/// Starts the run's proxy, and leads the cluster's components through it where scenarios ask for it.
/// Where that cannot be, the cluster is left as it was.
async fn lead(
    cluster: Real,
    scenarios: &[Arc<Scenario>],
    interrupts: &Interrupts,
) -> Result<(Real, Proxied), ExitCode> {
    let mut interrupts = interrupts.clone();
    let host = cluster.host();
    let played = scenarios.iter().map(|it| &**it).filter(|it| run::unmet(host, it).is_none());
    let started = tokio::select! {
        started = Proxied::start(host, played) => started,
        interruption = interrupts.next() => {
            say("interrupted: nothing was played");
            leave(cluster, &[]).await;
            return Err(code_of(interruption));
        }
    };
    match started {
        Ok(proxied) => Ok((cluster, proxied)),
        Err(error) => {
            say(&format!("error: {}", chain(&error)));
            leave(cluster, &[]).await;
            Err(ExitCode::Environment)
        }
    }
}

/// Ends the proxy: the components of a cluster that stays serve without it then.
async fn end(proxied: Proxied, cluster: &Real) {
    if !cluster.stays() {
        return;
    }
    if let Err(error) = proxied.end().await {
        say(&format!("left behind: a component that is led through the proxy: {}", chain(&error)));
    }
}

/// Ends a cluster of one's own; on one that was taken up, waits until the scenarios' namespaces are
/// gone.
async fn leave(cluster: Real, leaving: &[Leaving]) {
    // One that ends takes its namespaces along.
    if cluster.stays() && !leaving.is_empty() {
        transient("waiting for the scenarios' namespaces to go");
        let left = run::all_gone(&cluster.host().client(), leaving).await;
        settle();
        for left in left {
            say(&format!("left behind: {left}"));
        }
    }
    cluster.shut_down().await;
}

/// The version of each component, for people.
pub(in crate::cli) fn versions(ground: &Ground) -> String {
    let versions = ground.versions().into_iter().map(|(name, version)| format!("{name} {version}"));
    versions.collect::<Vec<_>>().join(", ")
}

/// Listens for what interrupts a run.
pub(in crate::cli) fn interrupts() -> Result<Interrupts, ExitCode> {
    Interrupts::listen().map_err(|error| {
        say(&format!("error: signals cannot be taken: {error}"));
        ExitCode::SuiteFault
    })
}

/// How a command ends that was interrupted.
pub(in crate::cli) fn code_of(interruption: Interruption) -> ExitCode {
    match interruption {
        Interruption::Interrupt => ExitCode::Interrupted,
        Interruption::Terminate => ExitCode::Terminated,
    }
}
