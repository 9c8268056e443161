//! What can go wrong with a cluster, for people: what, where, and what to do about it.

use super::existing::Finding;
use super::existing::marker::NAMESPACE;
use crate::exit_code::ExitCode;
use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a cluster could not be had.
///
/// It crosses from the supervisor to whoever started it, so it holds plain data.
#[derive(Debug, Clone, PartialEq, Eq, Error, Diagnostic, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ClusterError {
    /// There is no `go` in PATH.
    #[error("no Go toolchain: `go` was not found in PATH")]
    #[diagnostic(
        code(cluster::go_missing),
        help(
            "install Go {needed} or later (https://go.dev/dl) and put its bin folder into PATH; \
             the local cluster's components are built from source once, then taken from the cache"
        )
    )]
    GoMissing {
        /// The lowest version that will do, as in go.mod.
        needed: String,
    },
    /// `go` is older than the pinned modules need.
    #[error("the Go toolchain is {found}, but the pinned modules need {needed} or later")]
    #[diagnostic(
        code(cluster::go_too_old),
        help(
            "install Go {needed} or later (https://go.dev/dl) and put its bin folder first in PATH"
        )
    )]
    GoTooOld {
        /// What `go env GOVERSION` says.
        found: String,
        /// The lowest version that will do, as in go.mod.
        needed: String,
    },
    /// A `go` command other than a build failed.
    #[error("`{command}` failed: {output}")]
    #[diagnostic(
        code(cluster::go_failed),
        help("run the command by hand; it needs the module proxy unless the modules are cached")
    )]
    GoFailed {
        /// The command line.
        command: String,
        /// The end of what it printed.
        output: String,
    },
    /// A component does not build.
    #[error("building {binary} failed:\n{output}")]
    #[diagnostic(
        code(cluster::build_failed),
        help("the whole output is in {}", log.display())
    )]
    BuildFailed {
        /// The binary.
        binary: String,
        /// The end of the compiler's output.
        output: String,
        /// All of it.
        log: PathBuf,
    },
    /// Somebody else held the cache's lock until the deadline.
    #[error(
        "the cache is locked: {} was held by {} for {waited_s} s",
        path.display(), holder.map_or_else(|| "an unknown process".to_owned(), |pid| format!("process {pid}"))
    )]
    #[diagnostic(
        code(cluster::cache_locked),
        help(
            "wait for the other build, or end that process if it hangs; \
             the lock goes with its process, so the file need not be deleted"
        )
    )]
    CacheLocked {
        /// The lock file.
        path: PathBuf,
        /// Who holds it, where that is known.
        holder: Option<u32>,
        /// How long it was waited for, in seconds.
        waited_s: u64,
    },
    /// No space is left.
    #[error("the disk is full: {} could not be written ({detail})", path.display())]
    #[diagnostic(
        code(cluster::disk_full),
        help(
            "free some space there (a cold build needs about 4 GB with Go's own caches, the \
             binaries 500 MB, a running cluster 100 MB), or point XDG_CACHE_HOME, XDG_STATE_HOME \
             or GOCACHE elsewhere"
        )
    )]
    DiskFull {
        /// What was being written.
        path: PathBuf,
        /// The system's words.
        detail: String,
    },
    /// A place that has to be written may not be.
    #[error("{} cannot be written ({detail})", path.display())]
    #[diagnostic(
        code(cluster::unwritable),
        help(
            "make it writable for this user, or point XDG_CACHE_HOME (cache) or XDG_STATE_HOME \
             (state and logs) to a folder that is"
        )
    )]
    Unwritable {
        /// What was being written.
        path: PathBuf,
        /// The system's words.
        detail: String,
    },
    /// Any other failure of a file.
    #[error("{}: {detail}", path.display())]
    #[diagnostic(code(cluster::file))]
    File {
        /// The file.
        path: PathBuf,
        /// The system's words.
        detail: String,
    },
    /// There is no folder for the cache or the state.
    #[error("neither {variable} nor HOME names an absolute folder")]
    #[diagnostic(code(cluster::no_home), help("set HOME or {variable}"))]
    NoHome {
        /// The variable that would do.
        variable: String,
    },
    /// A cluster's name cannot be a folder's name.
    #[error("{name:?} is no name for a cluster")]
    #[diagnostic(
        code(cluster::bad_name),
        help("use 1 to 40 lower-case letters, digits and `-`, beginning with a letter or digit")
    )]
    BadName {
        /// The name as given.
        name: String,
    },
    /// A component found its port in use.
    #[error("{component} cannot listen: {detail}")]
    #[diagnostic(
        code(cluster::port_taken),
        help("another process took the port after it was chosen; run the command again")
    )]
    PortTaken {
        /// The component.
        component: String,
        /// The line of its log that says so.
        detail: String,
    },
    /// No free port was found.
    #[error("no free port on 127.0.0.1 between {low} and {high}")]
    #[diagnostic(code(cluster::no_port), help("end some of the processes that listen there"))]
    NoPort {
        /// The lowest port tried.
        low: u16,
        /// The highest port tried.
        high: u16,
    },
    /// A component ended by itself.
    #[error("{component} died ({status}); the end of its log:\n{tail}")]
    #[diagnostic(code(cluster::component_died), help("the whole log is {}", log.display()))]
    ComponentDied {
        /// The component.
        component: String,
        /// How it ended: exit code or signal.
        status: String,
        /// Its log.
        log: PathBuf,
        /// The last lines of it.
        tail: String,
    },
    /// A component, or a step, was not ready in time.
    #[error("{component} was not ready after {after_s} s: waited until {until}; last seen: {last}")]
    #[diagnostic(
        code(cluster::not_ready),
        help("the logs are in {}; a busy machine may need --ready-within", logs.display())
    )]
    NotReady {
        /// The component or step.
        component: String,
        /// What had to be seen.
        until: String,
        /// What was seen last.
        last: String,
        /// The deadline, in seconds.
        after_s: u64,
        /// The folder of logs.
        logs: PathBuf,
    },
    /// No container engine can be asked.
    #[error("no container engine answers: {detail}")]
    #[diagnostic(
        code(cluster::engine_missing),
        help(
            "start Docker, or let DOCKER_HOST name an engine that runs; \
             from a checkout, `ci/kind/engine start` starts one of its own"
        )
    )]
    EngineMissing {
        /// What its client said.
        detail: String,
    },
    /// A program that a cluster of kind needs failed.
    #[error("`{command}` failed: {output}")]
    #[diagnostic(code(cluster::command_failed))]
    CommandFailed {
        /// The command line.
        command: String,
        /// The end of what it printed.
        output: String,
    },
    /// kind could not make its node.
    #[error("kind could not make a node from the image {image}: {output}")]
    #[diagnostic(
        code(cluster::no_node),
        help(
            "the logs are in {}; where the image cannot be pulled, build one from a checkout with \
             `ci/test --kind`, or `ci/kind/build` alone", logs.display()
        )
    )]
    NoNode {
        /// The image.
        image: String,
        /// The end of what kind printed.
        output: String,
        /// The folder of logs.
        logs: PathBuf,
    },
    /// The node of a cluster of kind has stopped.
    #[error("the node of cluster {name:?} has stopped")]
    #[diagnostic(
        code(cluster::node_stopped),
        help("delete it with `dispatch-conformance cluster down --cluster kind --name {name}`")
    )]
    NodeStopped {
        /// The cluster's name.
        name: String,
    },
    /// There is no program for the containers of scenarios' jobs.
    #[error("real containers have no program: {detail}")]
    #[diagnostic(
        code(cluster::no_container_program),
        help("build it, or name it with --container-program")
    )]
    NoContainerProgram {
        /// What was looked at, and what is wrong with it.
        detail: String,
    },
    /// An upstream manifest is not of the expected form.
    #[error("{}: {detail}", file.display())]
    #[diagnostic(
        code(cluster::manifest),
        help("the pinned module differs from what this release was written for")
    )]
    Manifest {
        /// The file in the module.
        file: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// The API server refused something that the start needs.
    #[error("{action} failed: {detail}")]
    #[diagnostic(code(cluster::request))]
    Request {
        /// What was asked for.
        action: String,
        /// The answer.
        detail: String,
    },
    /// A cluster of that name runs with other options.
    #[error("cluster {name:?} is running with {difference}")]
    #[diagnostic(
        code(cluster::occupied),
        help(
            "end it with `dispatch-conformance cluster down --name {name}`, or choose another --name"
        )
    )]
    Occupied {
        /// The cluster's name.
        name: String,
        /// In what it differs.
        difference: String,
    },
    /// Another process has just begun to start a cluster of that name.
    #[error("cluster {name:?} is being started by another process")]
    #[diagnostic(code(cluster::starting), help("run the command again"))]
    Starting {
        /// The cluster's name.
        name: String,
    },
    /// No such cluster runs.
    #[error("cluster {name:?} is not running")]
    #[diagnostic(
        code(cluster::not_running),
        help("start it with `dispatch-conformance cluster up --name {name}`")
    )]
    NotRunning {
        /// The cluster's name.
        name: String,
    },
    /// The cluster has no component of that name.
    #[error("the cluster has no component {name:?}")]
    #[diagnostic(code(cluster::no_component), help("`cluster status` names them"))]
    NoComponent {
        /// The name that was asked for.
        name: String,
    },
    /// The component sends no requests to the API server.
    #[error("{component} is no client of the API server, and cannot be led through a proxy")]
    #[diagnostic(code(cluster::no_client), help("the others can"))]
    NoClient {
        /// The component.
        component: String,
    },
    /// Components of the cluster are led through another's proxy.
    #[error(
        "components of cluster {name:?} are led through the proxy of {}",
        process.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
    )]
    #[diagnostic(
        code(cluster::led),
        help("wait until that run has ended, or use a cluster of another --name")
    )]
    Led {
        /// The cluster's name.
        name: String,
        /// The process that leads them, where that is known.
        process: Option<i32>,
    },
    /// The supervisor ended without a word.
    #[error("the supervisor of cluster {name:?} ended unexpectedly; the end of its log:\n{tail}")]
    #[diagnostic(code(cluster::supervisor_gone), help("the whole log is {}", log.display()))]
    SupervisorGone {
        /// The cluster's name.
        name: String,
        /// Its log.
        log: PathBuf,
        /// The last lines of it.
        tail: String,
    },
    /// A kubeconfig cannot be read or understood.
    #[error(
        "{} cannot be used: {detail}",
        path.as_ref().map_or_else(
            || "the kubeconfig of KUBECONFIG, or ~/.kube/config,".to_owned(),
            |path| format!("the kubeconfig {}", path.display())
        )
    )]
    #[diagnostic(
        code(cluster::kubeconfig),
        help("name one with --kubeconfig; `kubectl --kubeconfig FILE get namespaces` tries it")
    )]
    Kubeconfig {
        /// The file, where one was named.
        path: Option<PathBuf>,
        /// Why not.
        detail: String,
    },
    /// A kubeconfig has several contexts, and none was named.
    #[error("no context is named, and the kubeconfig has {}", listed(contexts))]
    #[diagnostic(
        code(cluster::context_not_named),
        help("name the cluster that is meant with --context; the current context is never taken")
    )]
    ContextNotNamed {
        /// Those that there are.
        contexts: Vec<String>,
    },
    /// A kubeconfig does not have the context that was named.
    #[error("there is no context {name:?}: the kubeconfig has {}", listed(contexts))]
    #[diagnostic(code(cluster::no_context), help("name one of them with --context"))]
    NoContext {
        /// The one that was named.
        name: String,
        /// Those that there are.
        contexts: Vec<String>,
    },
    /// Adapter and controller cannot reach the API server as a context does.
    #[error("the context {context:?} cannot be used: {detail}")]
    #[diagnostic(
        code(cluster::kubeconfig_unsupported),
        help(
            "adapter and controller reach the API server through a proxy that knows its URL and              its certificate authority alone: use a context with a `certificate-authority` that              needs nothing else"
        )
    )]
    KubeconfigUnsupported {
        /// The context.
        context: String,
        /// What is not supported.
        detail: String,
    },
    /// A cluster that others run too does not do, or nobody has said that it may be used.
    #[error("no run can start on the cluster of the context {context:?}\n{}", lines(refusals))]
    #[diagnostic(
        code(cluster::refused),
        help("`dispatch-conformance doctor` with the same --kubeconfig and --context says it all")
    )]
    Refused {
        /// The context.
        context: String,
        /// Why not.
        refusals: Vec<Finding>,
    },
    /// Others take the run for dead.
    #[error("the run's Lease {NAMESPACE}/{run} is lost: {why}")]
    #[diagnostic(
        code(cluster::lease_lost),
        help(
            "others may remove what the run has made; look at the connection to the API server,              and run again"
        )
    )]
    LeaseLost {
        /// The run's id.
        run: String,
        /// Why.
        why: String,
    },
    /// The cluster is run by others, who restart and configure it.
    #[error("on a cluster that others run, {what}")]
    #[diagnostic(code(cluster::not_ours), help("use --cluster local or --cluster kind"))]
    NotOurs {
        /// What cannot be done.
        what: String,
    },
    /// The start was given up because whoever asked for it is gone.
    #[error("the start was interrupted")]
    #[diagnostic(code(cluster::interrupted))]
    Interrupted,
}

/// Names in quotes, for people.
fn listed(names: &[String]) -> String {
    match names {
        [] => "no context".to_owned(),
        some => some.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", "),
    }
}

/// Findings, one after the other.
fn lines(findings: &[Finding]) -> String {
    findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

impl ClusterError {
    /// Sorts a failure to touch a file into the errors that people can act on.
    pub fn io(path: &Path, error: &io::Error) -> Self {
        let path = path.to_path_buf();
        // The innermost: what surrounds it repeats the path.
        let innermost = std::iter::successors(
            std::error::Error::source(error),
            |error: &&(dyn std::error::Error + 'static)| error.source(),
        );
        let detail = innermost.last().map_or_else(|| error.to_string(), ToString::to_string);
        match error.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::DiskFull { path, detail },
            io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::AlreadyExists => Self::Unwritable { path, detail },
            _ => Self::File { path, detail },
        }
    }

    /// How a command ends that meets this error.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::BadName { .. } | Self::ContextNotNamed { .. } | Self::NoContext { .. } => {
                ExitCode::Usage
            }
            Self::Interrupted => ExitCode::Interrupted,
            _ => ExitCode::Environment,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::full(io::ErrorKind::StorageFull, "cluster::disk_full")]
    #[case::quota(io::ErrorKind::QuotaExceeded, "cluster::disk_full")]
    #[case::read_only(io::ErrorKind::ReadOnlyFilesystem, "cluster::unwritable")]
    #[case::denied(io::ErrorKind::PermissionDenied, "cluster::unwritable")]
    #[case::file_in_the_way(io::ErrorKind::NotADirectory, "cluster::unwritable")]
    #[case::other(io::ErrorKind::InvalidData, "cluster::file")]
    fn a_failed_write_is_sorted_by_what_to_do_about_it(
        #[case] kind: io::ErrorKind,
        #[case] code: &str,
    ) {
        let error = ClusterError::io(Path::new("/cache/x"), &io::Error::from(kind));
        assert_eq!(error.code().unwrap().to_string(), code);
        assert_eq!(error.exit_code(), ExitCode::Environment);
        assert!(error.to_string().contains("/cache/x"));
    }

    #[test]
    fn an_error_survives_the_way_from_the_supervisor() {
        let error = ClusterError::GoTooOld { found: "go1.20".into(), needed: "1.26".into() };
        let json = serde_json::to_string(&error).unwrap();
        assert_eq!(serde_json::from_str::<ClusterError>(&json).unwrap(), error);
    }
}
