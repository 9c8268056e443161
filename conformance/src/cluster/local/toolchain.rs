//! The Go toolchain: found, and new enough.

use super::guard;
use super::pins::{self, BUILD_ENVIRONMENT, Module, STACK};
use crate::cluster::ClusterError;
use std::io;
use std::path::{Path, PathBuf};
use tokio::process::Command;

/// A `go` that can build the pinned modules.
#[derive(Debug, Clone)]
pub(in crate::cluster) struct Toolchain {
    /// `go env GOVERSION`, such as `go1.26.8`.
    pub version: String,
}

impl Toolchain {
    /// Looks for `go` in PATH and checks its version against go.mod.
    pub(in crate::cluster) async fn find() -> Result<Self, ClusterError> {
        let version = run(command(&["env", "GOVERSION"])).await?.trim().to_owned();
        let needed = STACK.go_version();
        if numbers(&version) < numbers(needed) {
            return Err(ClusterError::GoTooOld { found: version, needed: needed.to_owned() });
        }
        Ok(Self { version })
    }

    /// The name of the cache folder for this toolchain.
    pub(in crate::cluster) fn digest(&self) -> String {
        pins::digest(&self.version)
    }

    /// Where the sources of a pinned module are; downloads them if need be.
    pub(in crate::cluster) async fn sources(
        &self,
        folder: &Path,
        path: &str,
    ) -> Result<PathBuf, ClusterError> {
        let mut download = command(&["mod", "download", "-json", path]);
        download.current_dir(folder);
        let answer = run(download).await?;
        let dir = serde_json::from_str::<serde_json::Value>(&answer)
            .ok()
            .and_then(|answer| answer.get("Dir")?.as_str().map(PathBuf::from));
        dir.ok_or_else(|| ClusterError::GoFailed {
            command: format!("go mod download -json {path}"),
            output: answer,
        })
    }
}

/// A `go` command with the fixed environment, which dies with this process.
pub(in crate::cluster) fn command<A: AsRef<str>>(arguments: &[A]) -> Command {
    let mut command = guard::group("go");
    command.args(arguments.iter().map(AsRef::as_ref));
    command.envs(BUILD_ENVIRONMENT).env_remove("GOOS").env_remove("GOARCH");
    // Not killed on drop: SIGKILL would take the guard away and leave the compilers. The guard
    // ends its group when this process does.
    command.stdin(std::process::Stdio::null());
    command
}

/// Runs a command and gives its standard output.
async fn run(mut command: Command) -> Result<String, ClusterError> {
    let words = command.as_std().get_args().skip_while(|word| *word != "go");
    let line = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    let output = command.output().await.map_err(|error| failed_to_start(&line, &error))?;
    if output.status.code() == Some(guard::NOT_FOUND) {
        return Err(missing());
    }
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(ClusterError::GoFailed { command: line, output: text });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn failed_to_start(line: &str, error: &io::Error) -> ClusterError {
    ClusterError::GoFailed { command: line.to_owned(), output: error.to_string() }
}

/// The error for a `go` that is not there.
pub(in crate::cluster) fn missing() -> ClusterError {
    ClusterError::GoMissing { needed: STACK.go_version().to_owned() }
}

/// Writes the pinning module's files, so that `go` can be run in its folder.
pub(in crate::cluster) fn write_module(module: &Module, folder: &Path) -> Result<(), ClusterError> {
    super::files::folder(folder)?;
    super::files::write(&folder.join("go.mod"), module.go_mod.as_bytes())?;
    super::files::write(&folder.join("go.sum"), module.go_sum.as_bytes())
}

/// `go1.26.8`, `1.26` or `go1.27rc1` as numbers; what follows them is ignored.
fn numbers(version: &str) -> Vec<u32> {
    let text = version.trim_start_matches("go");
    let end = text.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].split('.').map_while(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::numbers;
    use rstest::rstest;

    #[rstest]
    #[case::same("go1.26", "1.26", true)]
    #[case::patch("go1.26.8", "1.26", true)]
    #[case::next("go1.27rc1", "1.26", true)]
    #[case::vendor_suffix("go1.26.8 X:nodwarf5", "1.26", true)]
    #[case::older("go1.25.9", "1.26", false)]
    #[case::much_older("go1.9", "1.26", false)]
    #[case::unreadable("devel", "1.26", false)]
    fn a_toolchain_is_new_enough(#[case] found: &str, #[case] needed: &str, #[case] enough: bool) {
        assert_eq!(numbers(found) >= numbers(needed), enough);
    }
}
