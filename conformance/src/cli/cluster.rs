//! `cluster up`, `down` and `status`.

use super::terminal::{Lines, complain, print, say, seconds};
use crate::cluster::ClusterError;
use crate::cluster::local::{
    self, DEFAULT_NAME, Down, FeatureGate, FeatureGates, Options, Phase, Places, State,
    unsupervised_within,
};
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
    /// End a cluster. Logs stay, keys and data go.
    Down(Named),
    /// Say how clusters are.
    Status(Status),
}

/// The clusters that this machine can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// A real control plane with Kueue, Trainer and JobSet, as processes.
    Local,
}

#[derive(Debug, Args)]
struct Named {
    /// The cluster's name. Several can run at once.
    #[arg(long, default_value = DEFAULT_NAME)]
    name: String,
}

#[derive(Debug, Args)]
struct Up {
    /// What to start.
    #[arg(long, value_enum)]
    cluster: Kind,
    #[command(flatten)]
    named: Named,
    /// Set one of Kueue's feature gates; can be given several times.
    /// AdmissionGatedBy=true and VisibilityOnDemand=false unless given.
    #[arg(long = "kueue-feature-gate", value_name = "NAME=BOOL")]
    feature_gates: Vec<FeatureGate>,
    /// How long to wait while another process builds into the cache, in seconds.
    #[arg(long, default_value_t = 3600, value_name = "SECONDS")]
    cache_wait: u64,
    /// How long the start may take once everything is built, in seconds.
    #[arg(long, default_value_t = 180, value_name = "SECONDS")]
    ready_within: u64,
}

#[derive(Debug, Args)]
struct Status {
    /// Of this cluster only.
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
        Command::Down(Named { name }) => down(&name).await,
        Command::Status(arguments) => status(&arguments),
    };
    done.unwrap_or_else(|error| {
        let code = error.exit_code();
        complain(error);
        code
    })
}

async fn up(arguments: Up) -> Result<ExitCode, ClusterError> {
    let Kind::Local = arguments.cluster;
    let options = Options {
        feature_gates: FeatureGates::default_with(arguments.feature_gates),
        cache_patience: Duration::from_secs(arguments.cache_wait),
        ready_within: Duration::from_secs(arguments.ready_within),
        ..Options::new(&arguments.named.name)?
    };
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
        Down::Ended => say(&format!("cluster {name} has ended")),
        Down::Cleaned => say(&format!("cluster {name} was not running; its remains are removed")),
        Down::Nothing => say(&format!("cluster {name} is not running")),
    }
    Ok(ExitCode::Conformant)
}

fn status(arguments: &Status) -> Result<ExitCode, ClusterError> {
    let places = Places::from_environment()?;
    let names = arguments.name.clone().map_or_else(|| local::names(&places), |name| vec![name]);
    let mut code = ExitCode::Conformant;
    if names.is_empty() {
        say("no clusters");
    }
    for name in names {
        match local::status(&places, &name)? {
            Some(state) => {
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
            None => return Err(ClusterError::NotRunning { name }),
        }
    }
    Ok(code)
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
