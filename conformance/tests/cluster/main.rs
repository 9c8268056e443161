//! The `cluster` commands, as a person or a CI job meets them.
//!
//! The tests in `existing`, `killed`, `life`, `lead`, `proxy` and `sweep` start real control planes: they need a
//! Go toolchain (or a warm cache) and some seconds each, so they are ignored unless asked for with
//! `--ignored`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod errors;
mod existing;
mod guard;
mod killed;
mod lead;
mod life;
mod proxy;
mod sweep;
mod training;

use dispatch_conformance::cluster::local::{Options, Places, State};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_dispatch-conformance");

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_mins(1);

/// A state folder of its own for each test; the cache is the person's own.
struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn clusters(&self) -> PathBuf {
        self.path().join("dispatch-conformance/clusters")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).env("XDG_STATE_HOME", self.path());
        command
    }

    /// Those of a cluster `shared` in this folder.
    fn options(&self) -> Options {
        options_in(self.path())
    }

    fn state(&self, name: &str) -> State {
        let text = fs_err::read(self.clusters().join(name).join("state.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }
}

fn options_in(folder: &Path) -> Options {
    let mut options = Options::new("shared").unwrap();
    let state = folder.join("dispatch-conformance");
    options.places = Places { state, ..options.places };
    options.program = PROGRAM.into();
    options
}

fn send(pid: u32, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(pid).unwrap()), signal).unwrap();
}

/// What a command said, for assertions.
fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
