//! What a killed run leaves on a cluster that stays, and how it is removed.

use super::life::{all_processes, nothing_is_left};
use super::{Home, PATIENCE, said, send};
use dispatch_conformance::cluster::local::take_up_or_start;
use dispatch_conformance::cluster::progress::Silent;
use fs_err as fs;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use nix::sys::signal::Signal;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

const SCENARIO: &str = "readmission/preemption-mid-execution";

/// The cluster that both tests start.
const SHARED: [&str; 2] = ["--cluster=local", "--name=shared"];

/// A command whose temporary files are the test's own.
pub(super) fn command(home: &Home, arguments: &[&str]) -> Command {
    let mut command = home.command(arguments);
    command.env("TMPDIR", home.path().join("tmp"));
    command
}

/// Plays a scenario on this cluster, and returns when its job runs for the first time.
pub(super) fn play_until_the_job_runs(home: &Home, results: &str, on: &[&str]) -> Child {
    let results = home.path().join(results);
    let folder = results.display().to_string();
    let mut run = command(home, &["run", "--report", &folder, SCENARIO]);
    let mut run = run.args(on).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let once = results.join(SCENARIO).join("history.ndjson");
    let repeated = results.join("0001").join(SCENARIO).join("history.ndjson");
    let begun = Instant::now();
    while ![&once, &repeated].iter().any(|it| text(it).contains("\"phase\":\"Running\"")) {
        assert_eq!(run.try_wait().unwrap(), None, "it has ended");
        assert!(begun.elapsed() < PATIENCE, "its job never ran");
        std::thread::yield_now();
    }
    run
}

fn text(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a real control plane"]
async fn what_a_killed_run_has_left_is_swept_and_a_live_run_is_not_touched() {
    let home = Home::new();
    let tmp = home.path().join("tmp");
    fs::create_dir(&tmp).unwrap();
    let up = home.run(&["cluster", "up", "--cluster=local", "--name=shared"]);
    assert!(up.status.success(), "{}", said(&up));
    let client = take_up_or_start(home.options(), &Silent).await.unwrap().client();
    let bystander = "dispatch-team-1";
    make_namespace(&client, bystander).await;

    let mut killed = play_until_the_job_runs(&home, "killed", &SHARED);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let mut live = play_until_the_job_runs(&home, "live", &SHARED);
    // So that it neither ends nor removes anything meanwhile.
    send(live.id(), Signal::SIGSTOP);
    assert_eq!((namespaces(&client).await.len(), left_in(&tmp)), (3, 2));

    let sweep = command(&home, &["sweep", "--cluster=local", "--name=shared"]).output().unwrap();
    let told = said(&sweep);
    assert_eq!(sweep.status.code(), Some(0), "{told}");
    assert_eq!(told.matches("is being played").count(), 1, "{told}");
    assert_eq!(told.lines().filter(|line| line.starts_with("removed ")).count(), 1, "{told}");
    assert_eq!((namespaces(&client).await.len(), left_in(&tmp)), (2, 1));

    assert!(is_running_in(&client, &namespaces(&client).await).await, "the live run was disturbed");

    send(live.id(), Signal::SIGINT);
    send(live.id(), Signal::SIGCONT);
    assert_eq!(live.wait().unwrap().code(), Some(130), "it is ended by the signal");
    let sweep = command(&home, &["sweep", "--cluster=local", "--name=shared"]).output().unwrap();
    assert!(said(&sweep).contains("nothing is left"), "{}", said(&sweep));
    assert_eq!(namespaces(&client).await, [bystander]);

    let all = all_processes(&home.state("shared"));
    let down = home.run(&["cluster", "down", "--name=shared"]);
    assert!(down.status.success(), "{}", said(&down));
    nothing_is_left(&home, &all);
    let sweep = home.run(&["sweep", "--cluster=local", "--name=shared"]);
    assert_eq!(sweep.status.code(), Some(5), "{}", said(&sweep));
    assert!(said(&sweep).contains("cluster::not_running"), "{}", said(&sweep));
}

fn left_in(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

pub(super) async fn make_namespace(client: &Client, name: &str) {
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some(name.to_owned());
    Api::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
}

/// Whether a pod runs in one of these namespaces, and nobody is removing it.
async fn is_running_in(client: &Client, namespaces: &[String]) -> bool {
    let all = Api::<Pod>::all(client.clone()).list(&ListParams::default()).await.unwrap();
    all.items.iter().any(|pod| {
        let namespace = pod.metadata.namespace.as_ref();
        let runs = pod.status.as_ref().is_some_and(|it| it.phase.as_deref() == Some("Running"));
        let stays = pod.metadata.deletion_timestamp.is_none();
        runs && stays && namespace.is_some_and(|it| namespaces.contains(it))
    })
}

/// Those whose names begin as the suite's do.
pub(super) async fn namespaces(client: &Client) -> Vec<String> {
    let all = Api::<Namespace>::all(client.clone()).list(&ListParams::default()).await.unwrap();
    let names = all.items.into_iter().filter_map(|namespace| namespace.metadata.name);
    names.filter(|name| name.starts_with("dispatch-")).collect()
}
