//! Clusters from their start to their end, whatever ends them.

use super::training::{gated_workload, pod_of, prepare, train};
use super::{Home, PATIENCE, said, send};
use dispatch_conformance::cluster::local::{
    FeatureGates, Ownership, Phase, ProcessId, Running, State, take_up_or_start,
};
use dispatch_conformance::cluster::{ClusterError, progress::Silent};
use fs_err as fs;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;
use nix::sys::signal::Signal;
use rstest::rstest;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::Instant;

/// The processes whose arguments or environment name the folder of this test's clusters.
fn left(home: &Home) -> Vec<String> {
    let needle = home.clusters().display().to_string();
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok).map(|entry| entry.path());
    let named = processes.filter_map(|process| {
        let read = |file: &str| fs::read(process.join(file)).unwrap_or_default();
        let arguments = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
        let environment = String::from_utf8_lossy(&read("environ")).into_owned();
        (arguments.contains(&needle) || environment.contains(&needle)).then_some(arguments)
    });
    named.collect()
}

/// Waits until nothing of this test's clusters runs any more.
#[track_caller]
pub(super) fn nothing_is_left(home: &Home, ids: &[ProcessId]) {
    let begun = Instant::now();
    loop {
        let left = left(home);
        if left.is_empty() && ids.iter().all(|id| ended(*id)) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "still running: {left:?}");
        std::thread::yield_now();
    }
}

/// Gone, or a zombie that nobody has waited for.
pub(super) fn ended(id: ProcessId) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", id.pid)).unwrap_or_default();
    !id.alive() || stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim().starts_with('Z'))
}

/// Starts `cluster up` and returns when it says something that contains `words`.
fn up_until(home: &Home, words: &str) -> (Child, impl Iterator<Item = String>) {
    let mut command = home.command(&["cluster", "up", "--cluster=local", "--name=one"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let seen = lines.any(|line| line.contains(words));
    assert!(seen, "`cluster up` never said {words:?}");
    (child, lines)
}

pub(super) fn all_processes(state: &State) -> Vec<ProcessId> {
    state.processes.iter().map(|process| process.id).chain([state.supervisor]).collect()
}

#[rstest]
#[case::at_once("waiting   etcd", Signal::SIGINT, Some(130))]
#[case::while_the_api_starts("waiting   kube-apiserver", Signal::SIGINT, Some(130))]
#[case::while_definitions_are_made("waiting   definitions", Signal::SIGTERM, Some(143))]
#[case::while_managers_start("waiting   trainer", Signal::SIGINT, Some(130))]
#[case::killed_early("waiting   kube-apiserver", Signal::SIGKILL, None)]
#[case::killed_late("waiting   trainer", Signal::SIGKILL, None)]
#[ignore = "starts a real control plane"]
fn a_start_that_is_ended_leaves_nothing(
    #[case] moment: &str,
    #[case] signal: Signal,
    #[case] code: Option<i32>,
) {
    let home = Home::new();
    let (mut starter, rest) = up_until(&home, moment);
    let supervisor = home.state("one").supervisor;
    send(starter.id(), signal);
    rest.for_each(drop);
    assert_eq!(starter.wait().unwrap().code(), code);
    nothing_is_left(&home, &[supervisor]);
    assert!(!home.clusters().join("one/run").exists(), "keys are left");
}

#[test]
#[ignore = "starts a real control plane"]
fn a_killed_supervisor_takes_everything_with_it_and_is_reported() {
    let home = Home::new();
    let up = home.run(&["cluster", "up", "--cluster=local", "--name=one"]);
    assert!(up.status.success(), "{}", said(&up));
    let state = home.state("one");
    assert_eq!((state.phase, state.processes.len()), (Phase::Ready, 7));

    send(state.supervisor.pid, Signal::SIGKILL);
    nothing_is_left(&home, &all_processes(&state));
    let status = home.run(&["cluster", "status", "--name=one"]);
    assert_eq!(status.status.code(), Some(5));
    assert!(said(&status).contains("cluster::supervisor_gone"), "{}", said(&status));
    assert!(!home.clusters().join("one/run").exists(), "keys are left");
}

#[test]
#[ignore = "starts a real control plane"]
fn a_component_that_dies_ends_the_cluster_and_is_named_with_its_log() {
    let home = Home::new();
    let up = home.run(&["cluster", "up", "--cluster=local", "--name=one"]);
    assert!(up.status.success(), "{}", said(&up));
    let state = home.state("one");
    let kueue = state.processes.iter().find(|process| process.name == "kueue").unwrap();

    send(kueue.id.pid, Signal::SIGKILL);
    nothing_is_left(&home, &all_processes(&state));
    let status = said(&home.run(&["cluster", "status", "--name=one"]));
    assert!(status.contains("kueue died (SIGKILL)"), "{status}");
}

#[test]
#[ignore = "starts a real control plane"]
fn feature_gates_that_kueue_does_not_know_are_its_error() {
    let home = Home::new();
    let unknown = "--kueue-feature-gate=NoSuchGate=true";
    let up = home.run(&["cluster", "up", "--cluster=local", unknown]);
    assert_eq!(up.status.code(), Some(5));
    assert!(said(&up).contains("unrecognized feature"), "{}", said(&up));
    nothing_is_left(&home, &[]);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a real control plane"]
async fn a_matching_cluster_is_taken_up_and_stays_and_another_is_not() {
    let home = Home::new();
    let up = home.run(&["cluster", "up", "--cluster=local", "--name=shared"]);
    assert!(up.status.success(), "{}", said(&up));

    let running = take_up_or_start(home.options(), &Silent).await.unwrap();
    assert_eq!((running.name(), running.ownership()), ("shared", Ownership::TakenUp));
    running.shut_down().await;
    assert_eq!(home.state("shared").phase, Phase::Ready);

    let mut other = home.options();
    other.feature_gates = FeatureGates::default_with(["AdmissionGatedBy=false".parse().unwrap()]);
    let running = take_up_or_start(other, &Silent).await.unwrap();
    assert_eq!(running.ownership(), Ownership::Own);
    let own = running.state();
    assert_ne!(own.name, "shared");
    drop(running);
    nothing_is_left_of(&own);

    let shared = home.state("shared");
    let down = home.run(&["cluster", "down", "--name=shared"]);
    assert!(down.status.success(), "{}", said(&down));
    nothing_is_left(&home, &all_processes(&shared));
}

#[track_caller]
fn nothing_is_left_of(state: &State) {
    let begun = Instant::now();
    while !all_processes(state).into_iter().all(ended) {
        assert!(begun.elapsed() < PATIENCE, "still running: {:?}", state.processes);
        std::thread::yield_now();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a real control plane"]
async fn kueue_admits_trainjobs_and_keeps_gates_as_its_feature_gates_say() {
    let home = Home::new();
    let running = take_up_or_start(home.options(), &Silent).await.unwrap();
    let client = running.client();
    prepare(&client).await;

    train(&client, "open", false).await;
    pod_of(&client, "open").await;

    train(&client, "gated", true).await;
    gated_workload(&client).await;
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    assert_eq!(pods.list(&ListParams::default()).await.unwrap().items.len(), 1);

    let off = FeatureGates::default_with(["AdmissionGatedBy=false".parse().unwrap()]);
    running.restart_kueue(&off).await.unwrap();
    assert_eq!(running.feature_gates(), off);
    train(&client, "leaked", true).await;
    pod_of(&client, "leaked").await;

    running.restart_kueue(&FeatureGates::default()).await.unwrap();
    assert_eq!(running.state().phase, Phase::Ready);
    ends_when_a_component_dies(running).await;
    nothing_is_left(&home, &[]);
}

async fn ends_when_a_component_dies(running: Running) {
    let etcd = running.state().processes.into_iter().find(|p| p.name == "etcd").unwrap();
    let (reason, ()) = tokio::join!(running.ended(), async {
        send(etcd.id.pid, Signal::SIGKILL);
    });
    assert!(
        matches!(&reason, ClusterError::ComponentDied { component, .. } if component == "etcd"),
        "{reason:?}"
    );
}
