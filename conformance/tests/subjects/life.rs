//! No subject outlives the suite, whatever ends the suite, and whatever state the subject is in.

use std::future::pending;
use std::io::{BufRead, BufReader};
use std::panic::AssertUnwindSafe;
use std::process::{Command, Stdio};
use std::time::Instant;

use dispatch_conformance::cluster::local::ProcessId;
use dispatch_conformance::subject::{AdapterProcess, Controller, ProcessHandle};
use futures::FutureExt;

use super::{PATIENCE, Place, ready};

/// Set for a run of this program that is the suite of a test.
const SUITE: &str = "SUBJECTS_OF_A_SUITE_TO_BE_KILLED";

/// Gone, or a zombie that nobody has waited for.
fn ended(id: ProcessId) -> bool {
    let stat = fs_err::read_to_string(format!("/proc/{}/stat", id.pid)).unwrap_or_default();
    !id.alive() || stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim().starts_with('Z'))
}

#[track_caller]
fn all_end(ids: &[ProcessId]) {
    let begun = Instant::now();
    while !ids.iter().all(|id| ended(*id)) {
        assert!(begun.elapsed() < PATIENCE, "still running: {ids:?}");
        std::thread::yield_now();
    }
}

fn id(handle: &ProcessHandle) -> ProcessId {
    ProcessId::of(handle.pid().unwrap()).unwrap()
}

/// Not a test: a suite with an adapter and two controllers, one of each kind frozen, which waits to
/// be killed. It says who they are.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "the suite that another test kills"]
async fn a_suite_that_waits() {
    if std::env::var_os(SUITE).is_none() {
        return;
    }
    let place = Place::new();
    // Started from a task: its thread may be any of the runtime's, and another one later.
    let started = tokio::spawn(async move {
        let (adapter, by_adapter) = ready(&place.adapter()).await.unwrap();
        let other = ProcessHandle::default();
        let frozen_adapter = AdapterProcess::start(&place.adapter(), &other).unwrap();
        let handles = [ProcessHandle::default(), ProcessHandle::default()];
        let start = |replica: u32, handle| Controller::start(&place.controller(), replica, handle);
        let controllers = [start(0, &handles[0]).unwrap(), start(1, &handles[1]).unwrap()];
        for handle in [&other, &handles[1]] {
            handle.freeze().unwrap();
            handle.stands_still().await.unwrap();
        }
        let pids = [&by_adapter, &other, &handles[0], &handles[1]].map(|it| it.pid().unwrap());
        println!("\nsubjects: {pids:?}");
        (place, adapter, frozen_adapter, controllers)
    });
    let _kept = started.await.unwrap();
    pending::<()>().await;
}

#[test]
fn a_killed_suite_takes_its_subjects_with_it_frozen_ones_too() {
    let mut suite = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--nocapture", "life::a_suite_that_waits"])
        .env(SUITE, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(suite.stdout.take().unwrap()).lines().map_while(Result::ok);
    let said = lines.find_map(|line| line.strip_prefix("subjects: ").map(str::to_owned));
    let pids: Vec<u32> = serde_json::from_str(&said.unwrap()).unwrap();
    let ids: Vec<_> = pids.iter().map(|pid| ProcessId::of(*pid).unwrap()).collect();
    assert_eq!(ids.len(), 4);
    assert!(!ids.iter().any(|id| ended(*id)), "they run until the suite is killed");
    suite.kill().unwrap();
    suite.wait().unwrap();
    all_end(&ids);
}

#[tokio::test]
async fn a_panic_ends_the_subjects_of_whoever_panics() {
    let place = Place::new();
    let (adapter, of_adapter) = ready(&place.adapter()).await.unwrap();
    let of_controller = ProcessHandle::default();
    let controller = Controller::start(&place.controller(), 0, &of_controller).unwrap();
    of_controller.freeze().unwrap();
    let ids = [id(&of_adapter), id(&of_controller)];
    let panics = async move {
        let _kept = (adapter, controller);
        panic!("for this test");
    };
    AssertUnwindSafe(panics).catch_unwind().await.unwrap_err();
    tokio::task::spawn_blocking(move || all_end(&ids)).await.unwrap();
}

#[test]
fn the_end_of_the_runtime_ends_the_subjects_that_are_left() {
    let place = Place::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (adapter, handle) = runtime.block_on(ready(&place.adapter())).unwrap();
    let id = id(&handle);
    std::mem::forget(adapter);
    drop(runtime);
    all_end(&[id]);
}
