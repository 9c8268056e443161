//! `dispatch-conformance`, the command.

use std::process::ExitCode;

fn main() -> ExitCode {
    dispatch_conformance::cli::main()
}
