//! The cluster of a run: brought up before anything is played, left when all has ended.

use std::sync::Arc;

use crate::cli::terminal::{Lines, chain, complain, say, settle, transient};
use crate::cluster::local::{Options, Ownership, Running, take_up_or_start};
use crate::exit_code::ExitCode;
use crate::run::{self, Host, Interruption, Interrupts, Leaving, Proxied};
use crate::scenario::Scenario;

/// Takes up the cluster of this name, or starts one.
pub(in crate::cli) async fn bring_up(
    name: &str,
    mut interrupts: Interrupts,
) -> Result<Running, ExitCode> {
    let started = async { take_up_or_start(Options::new(name)?, &Lines).await };
    let started = tokio::select! {
        started = started => started,
        interruption = interrupts.next() => {
            say("interrupted: nothing was played");
            return Err(code_of(interruption));
        }
    };
    started.map_err(|error| {
        let code = error.exit_code();
        complain(error);
        code
    })
}

/// Starts the run's proxy, and leads the cluster's components through it where scenarios ask for it.
/// Where that cannot be, the cluster is left as it was.
pub(in crate::cli) async fn lead(
    cluster: Running,
    scenarios: &[Arc<Scenario>],
    interrupts: &Interrupts,
) -> Result<(Running, Proxied), ExitCode> {
    let mut interrupts = interrupts.clone();
    let started = tokio::select! {
        started = Proxied::start(&cluster, scenarios.iter().map(|it| &**it)) => started,
        interruption = interrupts.next() => {
            say("interrupted: nothing was played");
            leave(cluster, &[]).await;
            return Err(code_of(interruption));
        }
    };
    match started {
        Ok(proxied) => Ok((cluster, proxied)),
        Err(error) => {
            say(&format!("error: {}", chain(&error)));
            leave(cluster, &[]).await;
            Err(ExitCode::Environment)
        }
    }
}

/// Ends the proxy: the components of a cluster that stays serve without it then.
pub(in crate::cli) async fn end(proxied: Proxied, cluster: &Running) {
    if cluster.ownership() != Ownership::TakenUp {
        return;
    }
    if let Err(error) = proxied.end().await {
        say(&format!("left behind: a component that is led through the proxy: {}", chain(&error)));
    }
}

/// Ends a cluster of one's own; on one that was taken up, waits until the scenarios' namespaces are
/// gone.
pub(in crate::cli) async fn leave(cluster: Running, leaving: &[Leaving]) {
    // One that ends takes its namespaces along.
    if cluster.ownership() == Ownership::TakenUp && !leaving.is_empty() {
        transient("waiting for the scenarios' namespaces to go");
        let left = run::all_gone(&cluster.client(), leaving).await;
        settle();
        for left in left {
            say(&format!("left behind: {left}"));
        }
    }
    cluster.shut_down().await;
}

/// The version of each component, for people.
pub(in crate::cli) fn versions(host: &dyn Host) -> String {
    let versions = host.versions().into_iter().map(|(name, version)| format!("{name} {version}"));
    versions.collect::<Vec<_>>().join(", ")
}

/// Listens for what interrupts a run.
pub(in crate::cli) fn interrupts() -> Result<Interrupts, ExitCode> {
    Interrupts::listen().map_err(|error| {
        say(&format!("error: signals cannot be taken: {error}"));
        ExitCode::SuiteFault
    })
}

/// How a command ends that was interrupted.
pub(in crate::cli) fn code_of(interruption: Interruption) -> ExitCode {
    match interruption {
        Interruption::Interrupt => ExitCode::Interrupted,
        Interruption::Terminate => ExitCode::Terminated,
    }
}
