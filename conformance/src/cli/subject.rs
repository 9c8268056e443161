//! `dispatch-conformance subject`: becomes one of the subjects. Started by the suite itself.

use clap::{Args, Subcommand};
use dispatch_adapter::serve;

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
    Admission(Box<Admission>),
    /// The adapter, driven on standard input and output.
    Adapter {
        /// The broken adapter to be, instead of the reference.
        #[arg(long)]
        mutant: Option<String>,
    },
}

#[derive(Debug, Args)]
struct Admission {
    /// The broken controller to be, instead of the reference.
    #[arg(long)]
    mutant: Option<String>,
    #[command(flatten)]
    options: dispatch_admission::cli::Options,
}

/// Runs the subject until it is asked to stop.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    let log = tracing_subscriber::fmt().with_env_filter(subject::filter()).with_ansi(false);
    log.with_writer(std::io::stderr).init();
    let ended = match arguments.subject {
        Subject::Admission(admission) => controller(*admission).await,
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

async fn controller(admission: Admission) -> Result<(), Box<dyn std::error::Error>> {
    let shutdown = dispatch_admission::cli::shutdown()?;
    let config = admission.options.configuration()?;
    let parts = mutants::controller(admission.mutant.as_deref())?;
    Ok(dispatch_admission::run(config, parts, shutdown).await?)
}

async fn adapter(mutant: Option<&str>) -> Result<(), Box<dyn std::error::Error>> {
    let decisions = mutants::adapter(mutant)?;
    let open = |config| async move {
        let adapter = dispatch_adapter::connect(config).await?;
        Ok(adapter.with_decisions(decisions()))
    };
    serve::on_standard_streams(open).await
}
