//! `doctor`: says what is on a cluster that others run, and whether a run could start there.

use clap::{Args, ValueEnum};

use super::context::Context;
use super::terminal::{chain, complain, print, say};
use crate::cluster::ClusterError;
use crate::cluster::existing::{self, Finding};
use crate::exit_code::ExitCode;
use crate::report::{self, Doctor};
use crate::run;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    context: Context,
    /// For people, or one JSON object.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
    /// Print the `ClusterRole` that a run needs, and look at no cluster.
    #[arg(long)]
    print_role: bool,
}

/// In what form it is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Text,
    Json,
}

/// Runs the command.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    let done = if arguments.print_role { role() } else { look(&arguments).await };
    done.unwrap_or_else(|error| {
        let code = error.exit_code();
        complain(error);
        code
    })
}

fn role() -> Result<ExitCode, ClusterError> {
    print(existing::role(&existing::rights()?).trim_end());
    Ok(ExitCode::Conformant)
}

async fn look(arguments: &Arguments) -> Result<ExitCode, ClusterError> {
    let access = existing::reach(&arguments.context.options()).await?;
    let found = existing::look(&access).await?;
    let findings = existing::judge(&found, &existing::pinned());
    let would_make = match run::would_make() {
        Ok(all) => all.into_iter().map(|(kind, name)| (kind.to_owned(), name)).collect(),
        Err(error) => {
            say(&format!("error: {}", chain(&error)));
            return Ok(ExitCode::SuiteFault);
        }
    };
    let doctor = Doctor {
        can_start: !findings.iter().any(Finding::is_refusal),
        found,
        findings,
        would_make,
    };
    match arguments.output {
        Output::Text => print(report::doctor(&doctor).trim_end()),
        Output::Json => print(&serde_json::json!(doctor).to_string()),
    }
    Ok(if doctor.can_start { ExitCode::Conformant } else { ExitCode::Environment })
}
