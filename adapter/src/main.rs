//! `dispatch-adapter`: the calls of the adapter on the command line.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    dispatch_adapter::cli::main().await
}
