//! `dispatch-conformance subject`: becomes one of the subjects. Started by the suite itself.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use dispatch_adapter::serve;
use dispatch_admission::Config;
use tokio::signal::unix::{SignalKind, signal};

use super::terminal;
use crate::exit_code::ExitCode;
use crate::mutants;
use crate::subject;

/// The arguments of `subject`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    subject: Subject,
}

#[derive(Debug, Subcommand)]
enum Subject {
    /// The admission controller.
    Admission {
        /// Its configuration file.
        #[arg(long)]
        config: PathBuf,
        /// The broken controller to be, instead of the reference.
        #[arg(long)]
        mutant: Option<String>,
    },
    /// The adapter, driven on standard input and output.
    Adapter {
        /// The broken adapter to be, instead of the reference.
        #[arg(long)]
        mutant: Option<String>,
    },
}

/// Runs the subject until it is asked to stop.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    let log = tracing_subscriber::fmt().with_env_filter(subject::filter()).with_ansi(false);
    log.with_writer(std::io::stderr).init();
    let ended = match arguments.subject {
        Subject::Admission { config, mutant } => admission(&config, mutant.as_deref()).await,
        Subject::Adapter { mutant } => adapter(mutant.as_deref()).await,
    };
    match ended {
        Ok(()) => ExitCode::Conformant,
        Err(error) => {
            terminal::say(&format!("error: {error}"));
            ExitCode::Environment
        }
    }
}

async fn admission(
    config: &std::path::Path,
    mutant: Option<&str>,
) -> Result<(), Box<dyn std::error::Error>> {
    let config = Config::from_file(config)?;
    let mut terminate = signal(SignalKind::terminate())?;
    let shutdown = async move {
        terminate.recv().await;
    };
    Ok(dispatch_admission::run(config, mutants::controller(mutant)?, shutdown).await?)
}

async fn adapter(mutant: Option<&str>) -> Result<(), Box<dyn std::error::Error>> {
    let decisions = mutants::adapter(mutant)?;
    let open = |config| async move {
        let adapter = dispatch_adapter::connect(config).await?;
        Ok(adapter.with_decisions(decisions()))
    };
    serve::on_standard_streams(open).await
}
