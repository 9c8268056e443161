//! The processes of subjects, without a cluster: what an adapter says and does not say, and that
//! none outlives the suite.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod conversation;
mod life;
mod signals;

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use dispatch_conformance::subject::{
    AdapterProcess, AdapterSetup, ControllerSetup, ProcessHandle, Program, SubjectError,
};
use dispatch_contract::driver::{Config, Preflight};
use serde_json::json;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_dispatch-conformance");

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_mins(1);

/// A folder for subjects, and an API server that never answers.
struct Place {
    folder: tempfile::TempDir,
    _silent: TcpListener,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = format!("http://{}", silent.local_addr().unwrap());
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": server}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        });
        for name in ["adapter.kubeconfig".to_owned()].into_iter().chain((0..2).map(replica)) {
            fs_err::write(folder.path().join(name), kubeconfig.to_string()).unwrap();
        }
        Self { folder, _silent: silent }
    }

    /// What an adapter is started from.
    fn adapter(&self) -> AdapterSetup {
        let mut config = Config::kueue("jobs", "queue", "dispatch");
        config.preflight = Preflight::Assumed;
        config.kubeconfig = Some(self.folder.path().join("adapter.kubeconfig"));
        let logs = self.folder.path().to_owned();
        AdapterSetup { program: Program::Own(PROGRAM.into()), mutant: None, config, logs }
    }

    /// What an adapter is started from that is a shell script.
    fn script(&self, lines: &str) -> AdapterSetup {
        let program = self.folder.path().join("adapter.sh");
        fs_err::write(&program, format!("#!/bin/sh\n{lines}\n")).unwrap();
        fs_err::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let line = program.to_str().unwrap().parse().unwrap();
        let program = Program::Others { suite: PROGRAM.into(), line };
        AdapterSetup { program, ..self.adapter() }
    }

    /// What replicas of the controller are started from.
    fn controller(&self) -> ControllerSetup {
        let folder: PathBuf = self.folder.path().to_owned();
        ControllerSetup {
            program: Program::Own(PROGRAM.into()),
            controller_name: "example.com/controller".to_owned(),
            namespace: "jobs".to_owned(),
            lease: "lease".to_owned(),
            mutant: None,
            private: folder.clone(),
            logs: folder,
        }
    }
}

fn replica(replica: u32) -> String {
    ControllerSetup::kubeconfig(replica)
}

/// An adapter that is ready, and how it is reached.
async fn ready(setup: &AdapterSetup) -> Result<(AdapterProcess, ProcessHandle), SubjectError> {
    let handle = ProcessHandle::default();
    let adapter = AdapterProcess::start(setup, &handle)?;
    adapter.ready().await?;
    Ok((adapter, handle))
}
