//! `sweep`: removes what killed runs have left on a cluster that stays.

use clap::Args;
use futures::future::join_all;
use kube::Client;

use super::cluster::Cluster;
use super::terminal::{Lines, chain, complain, print, say};
use crate::cluster::ClusterError;
use crate::cluster::kind;
use crate::cluster::local::{self, Claims, DEFAULT_NAME, Options};
use crate::exit_code::ExitCode;
use crate::run::{self, Names};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// What kind of cluster it is.
    #[arg(long, value_enum)]
    cluster: Cluster,
    /// The cluster's name.
    #[arg(long, default_value = DEFAULT_NAME)]
    name: String,
}

/// Runs the command.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    let reached = match arguments.cluster {
        Cluster::Local => reach(&arguments.name).await,
        Cluster::Kind => reach_kind(&arguments.name).await,
    };
    let (client, claims) = match reached {
        Ok(reached) => reached,
        Err(error) => {
            let code = error.exit_code();
            complain(error);
            return code;
        }
    };
    let all = match run::remains(&client).await {
        Ok(all) => all,
        Err(error) => {
            say(&format!("error: {}", chain(&error)));
            return ExitCode::Environment;
        }
    };
    let mut dead = Vec::new();
    for names in all {
        match claims.is_held(names.suffix()) {
            Ok(true) => say(&format!("left alone: {} is being played", names.suffix())),
            Ok(false) => dead.push(names),
            Err(error) => {
                complain(error);
                return ExitCode::Environment;
            }
        }
    }
    if dead.is_empty() {
        say("nothing is left of a run that is over");
        return ExitCode::Conformant;
    }
    say(&format!("removing what is left of {}", count(dead.len())));
    let swept = join_all(dead.iter().map(|names| sweep(&client, &claims, names))).await;
    if swept.into_iter().all(|whole| whole) { ExitCode::Conformant } else { ExitCode::Environment }
}

async fn reach(name: &str) -> Result<(Client, Claims), ClusterError> {
    let options = Options::new(name)?;
    let client = local::client(&options, &Lines).await?;
    Ok((client, Claims::on(&options.places, name)?))
}

async fn reach_kind(name: &str) -> Result<(Client, Claims), ClusterError> {
    kind::reach(&kind::Options::new(name)?, &Lines).await
}

/// Removes what is left of one scenario, and says so; whether all of it went.
async fn sweep(client: &Client, claims: &Claims, names: &Names) -> bool {
    let left = run::sweep(client, names).await.unwrap_or_else(|error| vec![chain(&error)]);
    for left in &left {
        say(&format!("left behind: {left}"));
    }
    if left.is_empty() {
        claims.forget(names.suffix());
        print(&format!("removed {}", names.suffix()));
    }
    left.is_empty()
}

fn count(scenarios: usize) -> String {
    match scenarios {
        1 => "1 scenario".to_owned(),
        many => format!("{many} scenarios"),
    }
}
