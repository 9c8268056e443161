//! The cluster of a run: brought up before anything is played, left when all has ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::one::OnCluster;
use super::simulated::InSimulation;
use super::{Player, at_once};
use crate::cli::terminal::{Lines, chain, complain, say, settle, transient};
use crate::cluster::local::{DEFAULT_NAME, Options, Ownership, Running, take_up_or_start};
use crate::cluster::simulated::{DEFAULT_SEED, Simulated};
use crate::exit_code::ExitCode;
use crate::run::{self, Host, Interruption, Interrupts, Leaving, Proxied};
use crate::scenario::Scenario;

/// The clusters that scenarios can be played on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// One that is embedded in this program, in simulated time: nothing else is needed.
    Simulated,
    /// A real control plane with Kueue, Trainer and JobSet, as processes.
    Local,
}

/// Where to play, as it is asked for on the command line.
#[derive(Debug, Args)]
pub(in crate::cli) struct Where {
    /// Where to play them.
    #[arg(long, value_enum, default_value_t = Kind::Simulated)]
    cluster: Kind,
    /// Of `local`: the cluster to take up, if one of this name runs and matches; else a new one is
    /// started, and ended afterwards.
    #[arg(long, default_value = DEFAULT_NAME)]
    name: String,
    /// Of `simulated`: what everything that is left to chance comes of. The same seed gives the same
    /// histories.
    #[arg(long, default_value_t = DEFAULT_SEED, value_name = "N")]
    seed: u64,
}

impl Where {
    /// Refuses an option where no seed decides what happens.
    pub(in crate::cli) fn refuse_without_seed(&self, option: &str) -> Result<(), ExitCode> {
        let why = match self.cluster {
            Kind::Local => "on a real cluster no seed decides what happens",
            Kind::Simulated if !dispatch_determinism::AVAILABLE => {
                "elsewhere than on Linux the order of hash maps is not of the seed"
            }
            Kind::Simulated => return Ok(()),
        };
        say(&format!("error: {option}: {why}"));
        Err(ExitCode::Usage)
    }

    /// Refuses an option where subjects are parts of this process.
    pub(in crate::cli) fn refuse_without_processes(&self, option: &str) -> Result<(), ExitCode> {
        if self.cluster != Kind::Simulated {
            return Ok(());
        }
        say(&format!(
            "error: {option}: the embedded cluster has no address that another process could reach; \
             choose a real one, such as --cluster local"
        ));
        Err(ExitCode::Usage)
    }

    /// What says where, besides the kind of cluster and the seed.
    pub(in crate::cli) fn options(&self) -> Vec<String> {
        match self.cluster {
            Kind::Local if self.name != DEFAULT_NAME => {
                vec!["--name".to_owned(), self.name.clone()]
            }
            Kind::Local | Kind::Simulated => Vec::new(),
        }
    }

    /// How many scenarios are played there at once, unless said otherwise.
    pub(in crate::cli) fn at_once(&self, asked: Option<u8>) -> usize {
        match self.cluster {
            Kind::Simulated => asked.map_or_else(cores, usize::from),
            Kind::Local => at_once(asked),
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
    Local(Box<(Running, Proxied)>),
}

impl Ground {
    /// Brings it up for these scenarios. Where that cannot be, what was there is left as it was.
    pub(in crate::cli) async fn bring_up(
        asked: &Where,
        scenarios: &[Arc<Scenario>],
        interrupts: &Interrupts,
    ) -> Result<Self, ExitCode> {
        match asked.cluster {
            Kind::Simulated => Ok(Self::Simulated(asked.seed)),
            Kind::Local => {
                let cluster = bring_up(&asked.name, interrupts.clone()).await?;
                let led = lead(cluster, scenarios, interrupts).await?;
                Ok(Self::Local(Box::new(led)))
            }
        }
    }

    /// What kind of cluster it is.
    pub(in crate::cli) fn kind(&self) -> &'static str {
        match self {
            Self::Simulated(_) => "simulated",
            Self::Local(local) => local.0.kind(),
        }
    }

    /// The version of each component, by its name.
    pub(in crate::cli) fn versions(&self) -> BTreeMap<String, String> {
        match self {
            Self::Simulated(_) => Simulated::versions(),
            Self::Local(local) => Host::versions(&local.0),
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
            Self::Local(local) => {
                let (host, proxied) = &**local;
                Box::new(OnCluster { host, proxied, run, time_scale, interrupts })
            }
        }
    }

    /// Leaves it.
    pub(in crate::cli) async fn leave(self, leaving: &[Leaving]) {
        if let Self::Local(local) = self {
            let (cluster, proxied) = *local;
            end(proxied, &cluster).await;
            leave(cluster, leaving).await;
        }
    }
}

/// Takes up the cluster of this name, or starts one.
async fn bring_up(name: &str, mut interrupts: Interrupts) -> Result<Running, ExitCode> {
    let started = async { take_up_or_start(Options::new(name)?, &Lines).await };
    let started = tokio::select! {
        started = started => started,
        interruption = interrupts.next() => {
            say("interrupted: nothing was played");
            return Err(code_of(interruption));
        }
    };
    started.map_err(|error| {
        let code = error.exit_code();
        complain(error);
        code
    })
}

/// Starts the run's proxy, and leads the cluster's components through it where scenarios ask for it.
/// Where that cannot be, the cluster is left as it was.
async fn lead(
    cluster: Running,
    scenarios: &[Arc<Scenario>],
    interrupts: &Interrupts,
) -> Result<(Running, Proxied), ExitCode> {
    let mut interrupts = interrupts.clone();
    let started = tokio::select! {
        started = Proxied::start(&cluster, scenarios.iter().map(|it| &**it)) => started,
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
async fn end(proxied: Proxied, cluster: &Running) {
    if cluster.ownership() != Ownership::TakenUp {
        return;
    }
    if let Err(error) = proxied.end().await {
        say(&format!("left behind: a component that is led through the proxy: {}", chain(&error)));
    }
}

/// Ends a cluster of one's own; on one that was taken up, waits until the scenarios' namespaces are
/// gone.
async fn leave(cluster: Running, leaving: &[Leaving]) {
    // One that ends takes its namespaces along.
    if cluster.ownership() == Ownership::TakenUp && !leaving.is_empty() {
        transient("waiting for the scenarios' namespaces to go");
        let left = run::all_gone(&cluster.client(), leaving).await;
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
