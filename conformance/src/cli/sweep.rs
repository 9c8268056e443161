//! `sweep`: removes what killed runs have left on a cluster that stays.

use std::collections::BTreeSet;

use clap::{Args, ValueEnum};
use futures::future::join_all;
use kube::Client;

use super::context::Context;
use super::terminal::{Lines, chain, complain, print, say};
use crate::cluster::ClusterError;
use crate::cluster::existing;
use crate::cluster::kind;
use crate::cluster::local::{self, Claims, DEFAULT_NAME, Options};
use crate::exit_code::ExitCode;
use crate::run::{self, Names};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// What kind of cluster it is.
    #[arg(long, value_enum)]
    cluster: Cluster,
    /// Of `local` and `kind`: the cluster's name.
    #[arg(long, default_value = DEFAULT_NAME)]
    name: String,
    #[command(flatten)]
    context: Context,
}

/// The clusters that stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Cluster {
    /// A real control plane of this machine, as processes.
    Local,
    /// A cluster of kind.
    Kind,
    /// A cluster that others run.
    Existing,
}

/// What says whether a run is under way.
enum Signs {
    /// Each scenario holds the lock of a file.
    Locks(Claims),
    /// Each run has a Lease.
    Leases,
}

/// Runs the command.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    let reached = match arguments.cluster {
        Cluster::Local => reach(&arguments.name).await,
        Cluster::Kind => reach_kind(&arguments.name).await,
        Cluster::Existing => reach_existing(&arguments.context).await,
    };
    let (client, signs) = match reached {
        Ok(reached) => reached,
        Err(error) => {
            let code = error.exit_code();
            complain(error);
            return code;
        }
    };
    match remove(&client, &signs).await {
        Some(Swept::Nothing) => {
            say("nothing is left of a run that is over");
            ExitCode::Conformant
        }
        Some(Swept::All) => ExitCode::Conformant,
        Some(Swept::NotAll) | None => ExitCode::Environment,
    }
}

/// Removes what killed runs have left on a cluster that others run, before another one begins. What
/// stays disturbs nobody, and is said.
pub(super) async fn before_a_run(client: &Client) {
    let _ = remove(client, &Signs::Leases).await;
}

/// How much of what was left was removed.
enum Swept {
    /// Nothing was left.
    Nothing,
    /// All of it.
    All,
    /// Something is left still.
    NotAll,
}

/// Removes what is left of scenarios that nobody plays; `None` if that cannot be told, which is said.
async fn remove(client: &Client, signs: &Signs) -> Option<Swept> {
    let all = match run::remains(client).await {
        Ok(all) => all,
        Err(error) => {
            say(&format!("error: {}", chain(&error)));
            return None;
        }
    };
    let (dead, alive) = match divided(client, signs, all).await {
        Ok(divided) => divided,
        Err(error) => {
            complain(error);
            return None;
        }
    };
    for names in alive {
        say(&format!("left alone: {} is being played", names.suffix()));
    }
    if dead.is_empty() {
        return Some(Swept::Nothing);
    }
    say(&format!("removing what is left of {}", count(dead.len())));
    let swept = join_all(dead.iter().map(|names| sweep(client, signs, names))).await;
    let whole = swept.into_iter().all(|whole| whole);
    Some(if whole { Swept::All } else { Swept::NotAll })
}

/// Those that nobody plays, and the others.
async fn divided(
    client: &Client,
    signs: &Signs,
    all: Vec<Names>,
) -> Result<(Vec<Names>, Vec<Names>), ClusterError> {
    match signs {
        Signs::Leases => {
            let runs: BTreeSet<_> = all.iter().map(|names| names.run().to_owned()).collect();
            let over = existing::over(client, &runs).await?;
            Ok(all.into_iter().partition(|names| over.contains(names.run())))
        }
        Signs::Locks(claims) => {
            let (mut dead, mut alive) = (Vec::new(), Vec::new());
            for names in all {
                let to = if claims.is_held(names.suffix())? { &mut alive } else { &mut dead };
                to.push(names);
            }
            Ok((dead, alive))
        }
    }
}

async fn reach(name: &str) -> Result<(Client, Signs), ClusterError> {
    let options = Options::new(name)?;
    let client = local::client(&options, &Lines).await?;
    Ok((client, Signs::Locks(Claims::on(&options.places, name)?)))
}

async fn reach_kind(name: &str) -> Result<(Client, Signs), ClusterError> {
    let (client, claims) = kind::reach(&kind::Options::new(name)?, &Lines).await?;
    Ok((client, Signs::Locks(claims)))
}

/// Only where a run could start: there the marker is, and the rights are.
async fn reach_existing(context: &Context) -> Result<(Client, Signs), ClusterError> {
    let fit = existing::Fit::look(existing::reach(&context.options()).await?).await?;
    Ok((fit.client(), Signs::Leases))
}

/// Removes what is left of one scenario, and says so; whether all of it went.
async fn sweep(client: &Client, signs: &Signs, names: &Names) -> bool {
    let left = run::sweep(client, names).await.unwrap_or_else(|error| vec![chain(&error)]);
    for left in &left {
        say(&format!("left behind: {left}"));
    }
    if left.is_empty() {
        if let Signs::Locks(claims) = signs {
            claims.forget(names.suffix());
        }
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
