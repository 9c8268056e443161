//! What becomes of subjects, and what the history says of it. The adapter is a shell script here,
//! and there is no cluster, so that nothing has an order.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use dispatch_contract::SystemClock;
use dispatch_contract::driver::Config;
use dispatch_kubernetes::client::from_kubeconfig_text;

use super::*;
use crate::history::What;
use crate::history::recorder::{Journal, Reader, Revisions};
use crate::proxy;
use crate::subject::Program;

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_mins(1);

/// It answers `initialize`, and then waits for its end.
const SCRIPT: &str = r#"#!/bin/sh
read -r request
echo '{"jsonrpc":"2.0","id":0,"result":{"name":"a","version":"1","modes":["kueue"],"calls":[]}}'
read -r request
"#;

struct Scene {
    subjects: Subjects,
    reader: Reader,
    _folder: tempfile::TempDir,
}

impl Scene {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("adapter.sh");
        fs_err::write(&program, SCRIPT).unwrap();
        fs_err::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let logs = folder.path().to_owned();
        let controller = ControllerSetup {
            program: Program::Own(program.clone()),
            controller_name: "c".to_owned(),
            namespace: "n".to_owned(),
            lease: "l".to_owned(),
            mutant: None,
            private: logs.clone(),
            logs: logs.clone(),
        };
        let (program, config) = (Program::Own(program), Config::kueue("n", "q", "c"));
        let adapter = AdapterSetup { program, mutant: None, config, logs };
        let history = folder.path().join("history.ndjson");
        let journal = Arc::new(Journal::create(&history, Arc::new(SystemClock)).unwrap());
        let reader = journal.reader();
        let revisions = Revisions::new(nowhere().await, "n");
        let notes = Notes { journal, revisions };
        let subjects = Subjects::new(Setups { adapter, controller }, notes);
        Self { subjects, reader, _folder: folder }
    }

    /// The next change of a subject that the history tells.
    async fn told(&mut self) -> SubjectChange {
        loop {
            let event = timeout(PATIENCE, self.reader.next()).await.unwrap().unwrap();
            if let What::Subject(subject) = &event.what {
                return subject.change;
            }
        }
    }

    async fn told_all<const N: usize>(&mut self) -> [SubjectChange; N] {
        let mut all = [SubjectChange::Died; N];
        for change in &mut all {
            *change = self.told().await;
        }
        all
    }
}

/// A client of a server that there is not.
async fn nowhere() -> kube::Client {
    let kubeconfig = "{apiVersion: v1, kind: Config, current-context: c,
        clusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}], users: [{name: u, user: {}}],
        contexts: [{name: c, context: {cluster: c, user: u}}]}";
    from_kubeconfig_text(kubeconfig).await.unwrap()
}

use SubjectChange::{Died, Frozen, Killed, Ready, Started, Stopped, Thawed};

#[tokio::test]
async fn what_a_step_kills_is_killed_and_can_be_started_again() {
    let mut scene = Scene::new().await;
    scene.subjects.start(ADAPTER).await.unwrap();
    scene.subjects.kill(ADAPTER).await.unwrap();
    assert!(scene.subjects.adapter().is_none());
    scene.subjects.restart(ADAPTER).await.unwrap();
    assert!(scene.subjects.adapter().is_some());
    assert_eq!(scene.told_all().await, [Started, Ready, Killed, Started, Ready]);
    assert!(scene.subjects.has_died().is_none());
}

#[tokio::test]
async fn to_restart_one_that_runs_kills_it_first() {
    let mut scene = Scene::new().await;
    scene.subjects.start(ADAPTER).await.unwrap();
    let handle = scene.subjects.handle(ADAPTER);
    let first = handle.pid();
    scene.subjects.restart(ADAPTER).await.unwrap();
    assert_ne!(handle.pid(), first);
    assert_eq!(scene.told_all().await, [Started, Ready, Killed, Started, Ready]);
}

#[tokio::test]
async fn what_a_fault_kills_is_killed_and_is_no_death() {
    let mut scene = Scene::new().await;
    scene.subjects.start(ADAPTER).await.unwrap();
    proxy::Signals::kill(&scene.subjects.handle(ADAPTER)).await;
    assert_eq!(scene.told_all().await, [Started, Ready, Killed]);
    assert!(scene.subjects.has_died().is_none());
    let error = scene.subjects.kill(ADAPTER).await.unwrap_err().to_string();
    assert_eq!(error, "adapter does not run");
}

#[tokio::test]
async fn a_death_that_nobody_asked_for_is_one_and_says_how() {
    let mut scene = Scene::new().await;
    scene.subjects.start(ADAPTER).await.unwrap();
    let pid = scene.subjects.handle(ADAPTER).pid().unwrap();
    let pid = nix::unistd::Pid::from_raw(i32::try_from(pid).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGABRT).unwrap();
    let death = timeout(PATIENCE, scene.subjects.died()).await.unwrap().to_string();
    assert!(death.contains("SIGABRT"), "{death}");
    assert_eq!(scene.told_all().await, [Started, Ready, Died]);
}

#[tokio::test]
async fn who_stands_still_is_told_whoever_froze_it() {
    let mut scene = Scene::new().await;
    scene.subjects.start(ADAPTER).await.unwrap();
    proxy::Signals::freeze(&scene.subjects.handle(ADAPTER)).await;
    assert_eq!(scene.told_all().await, [Started, Ready, Frozen]);
    // It stands still already: nothing more is told.
    scene.subjects.freeze(ADAPTER).await.unwrap();
    scene.subjects.thaw(ADAPTER).await.unwrap();
    scene.subjects.thaw(ADAPTER).await.unwrap();
    scene.subjects.freeze(ADAPTER).await.unwrap();
    scene.subjects.kill(ADAPTER).await.unwrap();
    assert_eq!(scene.told_all().await, [Thawed, Frozen, Killed]);
}

#[tokio::test]
async fn all_are_stopped_in_the_end_and_what_stands_still_is_killed() {
    let mut scene = Scene::new().await;
    scene.subjects.start(ADAPTER).await.unwrap();
    scene.subjects.stop_all().await;
    scene.subjects.start(ADAPTER).await.unwrap();
    scene.subjects.freeze(ADAPTER).await.unwrap();
    scene.subjects.stop_all().await;
    let told = scene.told_all().await;
    assert_eq!(told, [Started, Ready, Stopped, Started, Ready, Frozen, Killed]);
}

#[tokio::test]
async fn one_that_cannot_be_used_is_not_left_running() {
    let mut scene = Scene::new().await;
    scene.subjects.setups.adapter.config.mode = dispatch_contract::driver::Mode::Plain;
    let error = scene.subjects.start(ADAPTER).await.unwrap_err().to_string();
    assert!(error.contains("does not have the mode"), "{error}");
    assert!(!scene.subjects.handle(ADAPTER).is_running());
    assert_eq!(scene.told_all().await, [Started, Killed]);
}
