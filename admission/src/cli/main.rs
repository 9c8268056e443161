//! The readmission gate of dispatch, as a process.

use std::process::ExitCode;

use clap::Parser;
use dispatch_admission::{Parts, cli};
use dispatch_kubernetes::request::chain;

/// The controller behind the Kueue AdmissionCheck of dispatch: before a job runs, and again after
/// every preemption, it makes sure that nothing of the previous execution is left and raises the
/// job's admission count.
#[derive(Debug, Parser)]
#[command(name = "dispatch-admission", version)]
struct Arguments {
    #[command(flatten)]
    options: cli::Options,
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = Arguments::parse().options;
    cli::log(options.log_format);
    let shutdown = match cli::shutdown() {
        Ok(shutdown) => shutdown,
        Err(error) => return failed(&error),
    };
    let config = match options.configuration() {
        Ok(config) => config,
        Err(error) => return failed(&error),
    };
    match dispatch_admission::run(config, Parts::reference, shutdown).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn failed(error: &(dyn std::error::Error + 'static)) -> ExitCode {
    tracing::error!("{}", chain(error));
    ExitCode::FAILURE
}
