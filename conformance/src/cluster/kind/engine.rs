//! The programs that are called: the container engine's client, and kind.

use crate::cluster::ClusterError;
use crate::cluster::local::{guard, logs};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

/// How many lines of a failed command's output are shown.
const SHOWN: usize = 12;

/// Runs the engine's client, and gives what it prints.
pub(super) async fn docker<A: AsRef<OsStr>>(arguments: &[A]) -> Result<String, ClusterError> {
    run(OsStr::new("docker"), arguments, None).await
}

/// Runs a program, and gives what it prints. It ends when the future is dropped.
pub(super) async fn run<A: AsRef<OsStr>>(
    program: &OsStr,
    arguments: &[A],
    input: Option<&str>,
) -> Result<String, ClusterError> {
    let mut command = Command::new(program);
    command.args(arguments).kill_on_drop(true);
    // Ctrl-C is this process's alone: what cleans up goes on.
    command.process_group(0);
    let failed = failure(program, arguments);
    let child = start(&mut command, input).map_err(|error| failed(error.to_string()))?;
    output(child, input, failed).await
}

/// Runs a program that starts others. All of them end when the future is dropped, or when this
/// process is gone.
async fn run_with_others<A: AsRef<OsStr>>(
    program: &Path,
    arguments: &[A],
    input: Option<&str>,
) -> Result<String, ClusterError> {
    let failed = failure(program.as_os_str(), arguments);
    let mut command = guard::group(program);
    command.args(arguments).process_group(0);
    let child = start(&mut command, input).map_err(|error| failed(error.to_string()))?;
    let ends = Ends(child.id());
    let output = output(child, input, failed).await;
    ends.it_has_ended();
    output
}

/// Tells the guard of a group to end it when this is dropped.
struct Ends(Option<u32>);

impl Ends {
    fn it_has_ended(mut self) {
        self.0 = None;
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        if let Some(pid) = self.0.and_then(|pid| i32::try_from(pid).ok()) {
            // Not killed, which would leave the group.
            kill(Pid::from_raw(pid), Signal::SIGTERM).ok();
        }
    }
}

fn failure<A: AsRef<OsStr>>(
    program: &OsStr,
    arguments: &[A],
) -> impl Fn(String) -> ClusterError + use<A> {
    let command = line(program, arguments);
    move |output| ClusterError::CommandFailed { command: command.clone(), output }
}

fn start(command: &mut Command, input: Option<&str>) -> std::io::Result<Child> {
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

async fn output(
    mut child: Child,
    input: Option<&str>,
    failed: impl Fn(String) -> ClusterError,
) -> Result<String, ClusterError> {
    if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
        // One that ends without reading says why.
        drop(stdin.write_all(input.as_bytes()).await);
    }
    let output = child.wait_with_output().await.map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(failed(logs::last_lines(&String::from_utf8_lossy(&output.stderr), SHOWN)))
}

/// The command as people would type it, cut where it is long.
fn line<A: AsRef<OsStr>>(program: &OsStr, arguments: &[A]) -> String {
    let words = arguments.iter().map(|word| word.as_ref().to_string_lossy());
    let line =
        std::iter::once(program.to_string_lossy()).chain(words).collect::<Vec<_>>().join(" ");
    let mut cut: String = line.chars().take(200).collect();
    if cut.len() < line.len() {
        cut.push('…');
    }
    cut
}

/// Whether an engine answers.
pub(super) async fn answers() -> Result<(), ClusterError> {
    let asked = docker(&["version", "--format", "{{.Server.Version}}"]).await;
    asked.map(drop).map_err(|error| ClusterError::EngineMissing { detail: error.to_string() })
}

/// Whether the engine has an image.
pub(super) async fn has_image(image: &str) -> bool {
    docker(&["image", "inspect", "--format", "{{.Id}}", image]).await.is_ok()
}

/// kind, as it was built from its pin.
#[derive(Debug, Clone)]
pub(super) struct Kind(PathBuf);

impl Kind {
    /// The program at this path.
    pub(super) fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Whether the program is still in the cache.
    pub(super) fn is_there(&self) -> bool {
        self.0.exists()
    }

    /// Makes a cluster, with the administrator's kubeconfig in a file of ours.
    pub(super) async fn create(
        &self,
        name: &str,
        configuration: &str,
        kubeconfig: &Path,
    ) -> Result<(), ClusterError> {
        let name = super::node::cluster_name(name);
        let fixed = ["create", "cluster", "--retain", "--config", "-", "--name", &name];
        let mut arguments: Vec<&OsStr> = fixed.iter().map(OsStr::new).collect();
        arguments.extend([OsStr::new("--kubeconfig"), kubeconfig.as_os_str()]);
        run_with_others(&self.0, &arguments, Some(configuration)).await.map(drop)
    }

    /// Deletes a cluster.
    pub(super) async fn delete(&self, name: &str, kubeconfig: &Path) -> Result<(), ClusterError> {
        let name = super::node::cluster_name(name);
        let arguments = ["delete", "cluster", "--name", &name, "--kubeconfig"].map(OsStr::new);
        let all: Vec<&OsStr> = arguments.into_iter().chain([kubeconfig.as_os_str()]).collect();
        run_with_others(&self.0, &all, None).await.map(drop)
    }

    /// Writes the logs of the node and of all its pods into a folder.
    pub(super) async fn export_logs(&self, name: &str, folder: &Path) -> Result<(), ClusterError> {
        let name = super::node::cluster_name(name);
        let arguments = ["export", "logs", "--name", &name].map(OsStr::new);
        let all: Vec<&OsStr> = arguments.into_iter().chain([folder.as_os_str()]).collect();
        run_with_others(&self.0, &all, None).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_command_that_fails_is_named_with_what_it_said() {
        let error = run(OsStr::new("sh"), &["-c", "echo no such image >&2; exit 3"], None).await;
        let expected = ClusterError::CommandFailed {
            command: "sh -c echo no such image >&2; exit 3".into(),
            output: "no such image".into(),
        };
        assert_eq!(error, Err(expected));
    }

    #[tokio::test]
    async fn a_command_is_given_its_input_and_gives_its_output() {
        let output = run(OsStr::new("cat"), &[] as &[&str], Some("text")).await;
        assert_eq!(output.as_deref(), Ok("text"));
    }
}
