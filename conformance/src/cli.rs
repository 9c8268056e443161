//! The command line: one file for each command, and a dispatcher that knows nothing of them.

mod check;
mod cluster;
mod context;
mod doctor;
mod list;
mod mutants;
mod parity;
mod play;
mod remove_containers;
mod run;
mod scenarios;
mod subject;
mod sweep;
mod terminal;

use crate::cluster::local::{guard, supervisor};
use crate::exit_code::ExitCode;
use clap::{Parser, Subcommand};
use std::process::ExitCode as Ended;

/// The conformance suite of dispatch on Kubernetes.
#[derive(Debug, Parser)]
#[command(name = "dispatch-conformance", version, disable_help_subcommand = true)]
#[command(after_help = "Exit codes: 0 conformant; 1 a rule broken; 2 usage; 3 inconclusive or \
                        incomplete; 4 nothing ran; 5 environment; 6 a fault of the suite; \
                        130 and 143 interrupted, everything cleaned up.")]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start, end and look at clusters of this machine.
    Cluster(cluster::Arguments),
    /// Play scenarios on a cluster, judge what happened, and report it.
    Run(Box<run::Arguments>),
    /// Remove what killed runs have left on a cluster that stays.
    Sweep(sweep::Arguments),
    /// Say what is on a cluster that others run, and whether a run could start there. Changes nothing.
    Doctor(doctor::Arguments),
    /// List the scenarios.
    List(list::List),
    /// Say what a rule or a scenario is.
    Explain(list::Explain),
    /// Judge the broken subjects: each has to be caught, by its own rule.
    Mutants(mutants::Arguments),
    /// Compare what objects went through on the simulated cluster with what they do on a real one.
    Parity(parity::Arguments),
    /// Judge a stored history again.
    Check(check::Arguments),
    /// Owns a local cluster. Started by `cluster up` and `run`.
    #[command(name = supervisor::SUBCOMMAND, hide = true)]
    Supervise(supervisor::Arguments),
    /// Becomes one of the subjects. Started by the engine.
    #[command(hide = true)]
    Subject(subject::Arguments),
    /// Waits for a run's end, and removes what is left of its containers. Started by `run`.
    #[command(name = remove_containers::SUBCOMMAND, hide = true)]
    RemoveContainers(remove_containers::Arguments),
    /// Becomes another program that dies with its parent. Started by the supervisor.
    #[command(name = guard::SUBCOMMAND, hide = true)]
    Guard(guard::Arguments),
}

/// Runs the command line of this process.
pub fn main() -> Ended {
    match CommandLine::parse().command {
        Command::Cluster(arguments) => in_runtime(cluster::run(arguments)).into(),
        Command::Run(arguments) => in_runtime(run::run(*arguments)).into(),
        Command::Sweep(arguments) => in_runtime(sweep::run(arguments)).into(),
        Command::Doctor(arguments) => in_runtime(doctor::run(arguments)).into(),
        Command::List(arguments) => list::list(&arguments).into(),
        Command::Explain(arguments) => list::explain(&arguments).into(),
        Command::Mutants(arguments) => in_runtime(mutants::run(arguments)).into(),
        Command::Parity(arguments) => parity::run(&arguments).into(),
        Command::Check(arguments) => check::run(arguments).into(),
        Command::RemoveContainers(arguments) => {
            in_runtime(remove_containers::run(arguments)).into()
        }
        Command::Subject(arguments) => in_runtime(subject::run(arguments)).into(),
        // These two make their own runtime: one starts its children from the main thread alone,
        // the other has to have a single thread.
        Command::Supervise(_) => supervisor::main(),
        Command::Guard(arguments) => guard::main(&arguments),
    }
}

fn in_runtime(command: impl Future<Output = ExitCode>) -> ExitCode {
    match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(command),
        Err(error) => {
            terminal::say(&format!("error: cannot start: {error}"));
            ExitCode::SuiteFault
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use k8s_openapi::api::batch::v1::Job;

    #[test]
    fn the_command_line_is_well_formed() {
        CommandLine::command().debug_assert();
    }

    /// The manifest, with nothing in it that a Job does not have.
    fn sharded_run() -> Job {
        let text = fs_err::read_to_string("../examples/sharded-run/job.yaml").unwrap();
        let manifest: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
        let job: Job = serde_json::from_value(manifest.clone()).unwrap();
        assert_eq!(serde_json::to_value(&job).unwrap(), manifest);
        job
    }

    #[test]
    fn the_pods_of_the_sharded_run_play_a_shard_each() {
        let spec = sharded_run().spec.unwrap();
        assert_eq!(spec.completion_mode.as_deref(), Some("Indexed"));
        let of = spec.completions.unwrap();
        assert_eq!(spec.parallelism, Some(of));
        let arguments = spec.template.spec.unwrap().containers.remove(0).args.unwrap();
        assert!(arguments.contains(&format!("$(JOB_COMPLETION_INDEX)/{of}")), "{arguments:?}");
        // As Kubernetes gives them to the pod of this index.
        let parses = |index: i32| {
            let index = index.to_string();
            let given = arguments.iter().map(|it| it.replace("$(JOB_COMPLETION_INDEX)", &index));
            CommandLine::try_parse_from(std::iter::once("suite".to_owned()).chain(given)).is_ok()
        };
        assert!((0..of).all(parses));
        assert!(!parses(of), "there are as many shards as pods");
    }
}
