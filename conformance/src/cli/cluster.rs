//! `cluster up`, `down` and `status`.

mod kind;

use super::terminal::{Lines, complain, print, say, seconds};
use crate::cluster::local::{
    self, DEFAULT_NAME, FeatureGate, FeatureGates, Options, Phase, Places, State,
    unsupervised_within,
};
use crate::cluster::{self, ClusterError};
use crate::exit_code::ExitCode;
use clap::{Args, Subcommand, ValueEnum};
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};

/// How long the end of an interrupted start is waited for.
const END_LIMIT: Duration = Duration::from_secs(20);

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start a cluster and leave it running; print its kubeconfig's path.
    Up(Up),
    /// Build what a local cluster is made of, without starting one; print the folder.
    Build(CacheWait),
    /// End a cluster. Logs stay, keys and data go.
    Down(Down),
    /// Say how clusters are.
    Status(Status),
}

/// The clusters that this machine can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Cluster {
    /// A real control plane with Kueue, Trainer and JobSet, as processes.
    Local,
    /// A cluster of kind, with the three as pods in it.
    Kind,
}

#[derive(Debug, Args)]
struct Down {
    /// What kind of cluster it is.
    #[arg(long, value_enum, default_value_t = Cluster::Local)]
    cluster: Cluster,
    #[command(flatten)]
    named: Named,
}

#[derive(Debug, Args)]
struct Named {
    /// The cluster's name. Several can run at once.
    #[arg(long, default_value = DEFAULT_NAME)]
    name: String,
}

#[derive(Debug, Args)]
struct CacheWait {
    /// How long to wait while another process builds into the cache, in seconds.
    #[arg(long, default_value_t = 3600, value_name = "SECONDS")]
    cache_wait: u64,
}

#[derive(Debug, Args)]
struct Up {
    /// What to start.
    #[arg(long, value_enum)]
    cluster: Cluster,
    #[command(flatten)]
    named: Named,
    /// Set one of Kueue's feature gates; can be given several times.
    /// AdmissionGatedBy=true and VisibilityOnDemand=false unless given.
    #[arg(long = "kueue-feature-gate", value_name = "NAME=BOOL")]
    feature_gates: Vec<FeatureGate>,
    #[command(flatten)]
    cache: CacheWait,
    /// How long the start may take once everything is built, in seconds: 180 for `local`, 600 for
    /// `kind` unless given.
    #[arg(long, value_name = "SECONDS")]
    ready_within: Option<u64>,
}

#[derive(Debug, Args)]
struct Status {
    /// Of this kind only.
    #[arg(long, value_enum)]
    cluster: Option<Cluster>,
    /// Of this name only.
    #[arg(long)]
    name: Option<String>,
    /// For people, or the state as it is kept, one JSON object a line.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// In what form a status is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Text,
    Json,
}

/// Runs the command.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    let done = match arguments.command {
        Command::Up(arguments) => up(arguments).await,
        Command::Build(cache) => build(&cache).await,
        Command::Down(Down { cluster: Cluster::Local, named }) => down(&named.name).await,
        Command::Down(Down { cluster: Cluster::Kind, named }) => kind::down(&named.name).await,
        Command::Status(arguments) => status(&arguments).await,
    };
    done.unwrap_or_else(|error| {
        let code = error.exit_code();
        complain(error);
        code
    })
}

impl CacheWait {
    fn patience(&self) -> Duration {
        Duration::from_secs(self.cache_wait)
    }
}

async fn build(cache: &CacheWait) -> Result<ExitCode, ClusterError> {
    let folder = local::build(&Places::from_environment()?, cache.patience(), &Lines).await?;
    print(&folder.display().to_string());
    Ok(ExitCode::Conformant)
}

async fn up(arguments: Up) -> Result<ExitCode, ClusterError> {
    let feature_gates = FeatureGates::default_with(arguments.feature_gates);
    let cache_patience = arguments.cache.patience();
    let ready_within = arguments.ready_within.map(Duration::from_secs);
    let name = &arguments.named.name;
    if arguments.cluster == Cluster::Kind {
        let fresh = cluster::kind::Options::new(name)?;
        let ready_within = ready_within.unwrap_or(fresh.ready_within);
        let options =
            cluster::kind::Options { feature_gates, cache_patience, ready_within, ..fresh };
        return kind::up(&options).await;
    }
    let fresh = Options::new(name)?;
    let ready_within = ready_within.unwrap_or(fresh.ready_within);
    let options = Options { feature_gates, cache_patience, ready_within, ..fresh };
    let begun = Instant::now();
    let state = tokio::select! {
        state = local::up(&options, &Lines) => state?,
        code = interrupted() => {
            say("interrupted: ending what was started");
            if !unsupervised_within(&options.folder()?, END_LIMIT).await {
                local::down(&options.places, &options.name).await?;
            }
            return Ok(code);
        }
    };
    let elapsed = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    say(&format!("cluster {} is ready, {}", state.name, seconds(elapsed)));
    say(&format!("end it with `dispatch-conformance cluster down --name {}`", state.name));
    print(&state.kubeconfig.display().to_string());
    Ok(ExitCode::Conformant)
}

async fn down(name: &str) -> Result<ExitCode, ClusterError> {
    match local::down(&Places::from_environment()?, name).await? {
        local::Down::Ended => say(&format!("cluster {name} has ended")),
        local::Down::Cleaned => {
            say(&format!("cluster {name} was not running; its remains are removed"));
        }
        local::Down::Nothing => say(&format!("cluster {name} is not running")),
    }
    Ok(ExitCode::Conformant)
}

async fn status(arguments: &Status) -> Result<ExitCode, ClusterError> {
    let mut code = ExitCode::Conformant;
    let mut found = 0;
    if arguments.cluster != Some(Cluster::Kind) {
        let (all, of_local) = local_status(arguments)?;
        (found, code) = (found + all, of_local);
    }
    if arguments.cluster != Some(Cluster::Local) {
        let json = arguments.output == Output::Json;
        let (all, of_kind) = kind::status(arguments.name.as_deref(), json).await?;
        found += all;
        if of_kind != ExitCode::Conformant {
            code = of_kind;
        }
    }
    match (&arguments.name, found) {
        (Some(name), 0) => Err(ClusterError::NotRunning { name: name.clone() }),
        (None, 0) => {
            say("no clusters");
            Ok(code)
        }
        _ => Ok(code),
    }
}

/// How many clusters of processes there are, and whether one has failed.
fn local_status(arguments: &Status) -> Result<(usize, ExitCode), ClusterError> {
    let places = Places::from_environment()?;
    let names = arguments.name.clone().map_or_else(|| local::names(&places), |name| vec![name]);
    let (mut found, mut code) = (0, ExitCode::Conformant);
    for name in names {
        let Some(state) = local::status(&places, &name)? else { continue };
        found += 1;
        match arguments.output {
            Output::Text => print(&describe(&state)),
            Output::Json => print(&serde_json::json!(state).to_string()),
        }
        if state.phase == Phase::Failed {
            code = ExitCode::Environment;
        }
        if let Some(failure) = state.failure {
            say(&format!("why {name} failed:"));
            complain(failure);
        }
    }
    Ok((found, code))
}

fn describe(state: &State) -> String {
    let phase = match state.phase {
        Phase::Starting => "starting",
        Phase::Ready => "ready",
        Phase::Restarting => "restarting components",
        Phase::Failed => "failed",
        Phase::Ended => "ended",
    };
    let mut lines = vec![format!("{}: {phase}", state.name)];
    if matches!(state.phase, Phase::Ready | Phase::Restarting) {
        lines.push(format!("  kubeconfig  {}", state.kubeconfig.display()));
        lines.push(format!("  server      {}", state.server));
        lines.push(format!("  gates       {}", state.feature_gates));
        lines.push(format!("  supervisor  process {}", state.supervisor.pid));
        for process in &state.processes {
            let (name, pid, port) = (&process.name, process.id.pid, process.port);
            let led = process.led_through.iter().map(|server| format!(", led through {server}"));
            let led = led.collect::<String>();
            lines.push(format!("  {name:<24} process {pid}, port {port}{led}"));
        }
    }
    lines.join("\n")
}

/// Returns when this process is told to end, with the exit code for it.
async fn interrupted() -> ExitCode {
    let mut signals = Vec::new();
    for (kind, code) in [
        (SignalKind::interrupt(), ExitCode::Interrupted),
        (SignalKind::terminate(), ExitCode::Terminated),
        (SignalKind::hangup(), ExitCode::Terminated),
    ] {
        if let Ok(mut signal) = signal(kind) {
            signals.push(Box::pin(async move {
                signal.recv().await;
                code
            }));
        }
    }
    futures::future::select_all(signals).await.0
}
