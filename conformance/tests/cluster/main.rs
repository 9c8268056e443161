//! The `cluster` commands, as a person or a CI job meets them.
//!
//! The tests in `life` start real control planes: they need a Go toolchain (or a warm cache) and
//! some seconds each, so they are ignored unless asked for with `--ignored`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod errors;
mod guard;
mod life;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_dispatch-conformance");

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

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }
}

/// What a command said, for assertions.
fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
