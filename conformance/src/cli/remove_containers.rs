//! The process beside a run with containers, which outlives it if it is killed.

use clap::Args;
use tokio::io::{AsyncReadExt, stdin};

use super::terminal::{complain, say};
use crate::exit_code::ExitCode;
use crate::subject;

/// The hidden subcommand's name.
pub(super) const SUBCOMMAND: &str = "remove-containers";

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The run.
    #[arg(long)]
    run: String,
}

/// Waits until nobody holds the other end of its input, which is when the run has ended, in whatever way.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    // Nothing is sent: what comes is the end.
    drop(stdin().read_to_end(&mut Vec::new()).await);
    match subject::remove_containers(&arguments.run).await {
        Ok(removed) => {
            for name in removed {
                say(&format!("removed the container {name}, which had not ended"));
            }
            ExitCode::Conformant
        }
        Err(error) => {
            let code = error.exit_code();
            complain(error);
            code
        }
    }
}
