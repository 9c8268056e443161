//! What can be said on the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use dispatch_contract::ObjectRef;

/// Calls of dispatch's adapter for Kubernetes.
///
/// Exit codes: 0, the call succeeded; 1, it failed, or preflight answers that nothing may be
/// started; 2, the command line, the configuration or the request cannot be understood.
#[derive(Debug, Parser)]
#[command(name = "dispatch-adapter", version)]
pub(super) struct Arguments {
    /// The configuration file (YAML or JSON); flags win over it.
    #[arg(long, global = true, value_name = "FILE", env = "DISPATCH_ADAPTER_CONFIG")]
    pub(super) config: Option<PathBuf>,
    /// The kubeconfig; KUBECONFIG, or the pod's ServiceAccount, unless given.
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,
    /// The namespace of the objects.
    #[arg(long, short, global = true)]
    pub(super) namespace: Option<String>,
    /// Who admits objects: kueue, or plain, which is not supported yet.
    #[arg(long, global = true)]
    pub(super) mode: Option<String>,
    /// The LocalQueue of objects whose start names none.
    #[arg(long, global = true)]
    pub(super) queue: Option<String>,
    /// The AdmissionCheck that every Workload has to list.
    #[arg(long, global = true)]
    pub(super) admission_check: Option<String>,
    /// The controller that the AdmissionCheck has to name.
    #[arg(long, global = true)]
    pub(super) controller_name: Option<String>,
    /// The name of the controller's Lease.
    #[arg(long, global = true)]
    pub(super) lease_name: Option<String>,
    /// The namespace of the controller's Lease.
    #[arg(long, global = true)]
    pub(super) lease_namespace: Option<String>,
    /// Whether the start gate is to be proved first: required, or assumed.
    #[arg(long, global = true)]
    pub(super) preflight: Option<String>,
    /// How long one request may take, such as 10s.
    #[arg(long, global = true, value_name = "DURATION")]
    pub(super) request_timeout: Option<String>,
    /// How long Kueue may take to make a Workload, such as 30s.
    #[arg(long, global = true, value_name = "DURATION")]
    pub(super) workload_timeout: Option<String>,
    /// How long pods may take to go, such as 2m.
    #[arg(long, global = true, value_name = "DURATION")]
    pub(super) release_timeout: Option<String>,
    /// How answers are written to standard output.
    #[arg(long, short, global = true, value_enum, default_value_t = Format::Text)]
    pub(super) output: Format,
    /// What is logged to standard error, as filters of the tracing crate.
    #[arg(long, global = true, default_value = "info,kube=warn", env = "DISPATCH_LOG")]
    pub(super) log: String,
    #[command(subcommand)]
    pub(super) call: Call,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Lines for people.
    Text,
    /// The answer as the driver protocol has it; a failed call as {"error": …}.
    Json,
}

#[derive(Debug, Subcommand)]
pub(super) enum Call {
    /// Create an object, closed; print its name and UID.
    Start(Start),
    /// Open an object's gate.
    Open(Object),
    /// Say what state an object is in.
    Status(Object),
    /// Hold an object: nothing of it runs until it is released.
    Hold(Object),
    /// Release a held object.
    Release(Object),
    /// Delete an object and wait until no pod of it is left.
    Stop(Object),
    /// List all objects of the namespace.
    List,
    /// Prove that the gates hold.
    Preflight,
    /// Make the calls that come by the driver protocol, on standard input and output.
    ///
    /// The configuration comes by the protocol too, and its flags are refused.
    Serve,
    /// Print the manifests with the rights that the adapter needs.
    Manifests,
}

#[derive(Debug, Args)]
pub(super) struct Object {
    /// The object's name.
    pub(super) name: String,
    /// Its UID, as start printed it.
    #[arg(long)]
    pub(super) uid: String,
}

impl Object {
    pub(super) fn object(&self) -> ObjectRef {
        ObjectRef { name: self.name.clone(), uid: self.uid.clone() }
    }
}

#[derive(Debug, Args)]
pub(super) struct Start {
    /// The request as a file (YAML or JSON), `-` for standard input; flags win over it.
    #[arg(long, short, value_name = "FILE", required_unless_present = "runtime")]
    pub(super) file: Option<PathBuf>,
    /// The object's name, dj-<ulid>-s<N>; a fresh one unless given.
    #[arg(long)]
    pub(super) name: Option<String>,
    /// The runtime.
    #[arg(long)]
    pub(super) runtime: Option<String>,
    /// ClusterTrainingRuntime (the default) or TrainingRuntime.
    #[arg(long)]
    pub(super) runtime_kind: Option<String>,
    /// The LocalQueue of this object.
    #[arg(long)]
    pub(super) job_queue: Option<String>,
    /// The WorkloadPriorityClass.
    #[arg(long)]
    pub(super) priority_class: Option<String>,
    /// A label; can be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub(super) label: Vec<(String, String)>,
    /// An annotation; can be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub(super) annotation: Vec<(String, String)>,
    /// The trainer, as spec.trainer of a TrainJob, in YAML.
    #[arg(long, value_name = "YAML")]
    pub(super) trainer: Option<String>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }
}
