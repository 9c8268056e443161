//! Controllers that are containers. With a container engine, that of `DOCKER_HOST` or the usual socket,
//! which gets two images of Debian's programs; without a cluster.

#![cfg(feature = "containers")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use dispatch_conformance::subject::{
    Controller, ControllerSetup, HandleError, Image, ProcessHandle, Program, SubjectError,
    remove_containers,
};
use tokio::time::timeout;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_dispatch-conformance");

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_mins(1);

/// Runs the suite with an image, and gives what it says.
fn run_with(image: &str, more: &[&str]) -> Output {
    let report = tempfile::tempdir().unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["run", "--controller-image", image, "--report"]).arg(report.path());
    command.args(more).output().unwrap()
}

fn said(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn no_image_is_judged_on_the_embedded_cluster() {
    let (code, said) = said(&run_with("controller:1", &[]));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("choose a real one, such as --cluster local"), "{said}");
}

#[test]
fn an_image_and_a_command_line_are_not_judged_at_once() {
    let (code, said) =
        said(&run_with("controller:1", &["--controller", "sh", "--cluster", "local"]));
    assert_eq!(code, Some(2), "{said}");
}

#[test]
fn without_an_engine_no_cluster_is_touched() {
    let mut command = Command::new(PROGRAM);
    command.args(["run", "--cluster", "local", "--controller-image", "controller:1", "--report"]);
    command.arg(tempfile::tempdir().unwrap().path());
    let output = command.env("DOCKER_HOST", "unix:///nowhere/docker.sock").output().unwrap();
    let (code, said) = said(&output);
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("container::engine_missing"), "{said}");
    assert!(said.contains("unix:///nowhere/docker.sock"), "{said}");
}

#[test]
#[ignore = "needs a container engine"]
fn an_image_that_cannot_be_had_is_named() {
    let (code, said) = said(&run_with("localhost:1/x:1", &["--cluster", "local"]));
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("container::no_image"), "{said}");
    // Lines are broken where they end.
    let words: String = said.split_whitespace().collect();
    assert!(words.contains("`dockerpulllocalhost:1/x:1`"), "{said}");
}

/// A folder for a controller that is a container of an image of this program.
struct Place {
    folder: tempfile::TempDir,
    image: Image,
    run: String,
}

impl Place {
    async fn new(run: &str, program: &[&str]) -> Self {
        let name = format!("localhost/dispatch-conformance/{run}:test");
        made(&name, program);
        let run = format!("{run}-{}", std::process::id());
        let (image, _) = Image::ready(name.parse().unwrap(), &run).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        fs_err::write(folder.path().join(ControllerSetup::kubeconfig(0)), "{}").unwrap();
        Self { folder, image, run }
    }

    fn start(&self) -> (Controller, ProcessHandle) {
        let folder: PathBuf = self.folder.path().to_owned();
        let setup = ControllerSetup {
            program: Program::Image(Box::new(self.image.clone())),
            controller_name: "example.com/controller".to_owned(),
            namespace: "jobs".to_owned(),
            lease: "lease".to_owned(),
            mutant: None,
            private: folder.clone(),
            logs: folder,
        };
        let handle = ProcessHandle::default();
        (Controller::start(&setup, 0, &handle).unwrap(), handle)
    }
}

/// An image of a program of this machine.
fn made(name: &str, program: &[&str]) {
    let recipe = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ci/image");
    let output = Command::new(recipe).arg(name).args(program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn docker(arguments: &[&str]) -> String {
    let output = Command::new("docker").args(arguments).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "docker {arguments:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// What the engine says of a run's containers.
fn states(run: &str) -> String {
    let filter = format!("label=dispatch-conformance.run={run}");
    docker(&["ps", "--all", "--filter", &filter, "--format", "{{.State}}"])
}

async fn within<T>(limited: impl Future<Output = T>) -> T {
    timeout(PATIENCE, limited).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a container engine"]
async fn a_container_is_paused_goes_on_and_is_killed_as_a_process_is() {
    let place = Place::new("sleeps", &["/bin/sleep", "1000"]).await;
    let (controller, handle) = place.start();
    // What is sent before it has started reaches it afterwards.
    handle.freeze().unwrap();
    within(handle.stands_still()).await.unwrap();
    assert_eq!(states(&place.run), "paused");
    assert!(handle.is_frozen());
    handle.thaw().unwrap();
    within(handle.stands_still()).await.unwrap();
    assert_eq!(states(&place.run), "running");
    handle.freeze().unwrap();
    handle.kill().unwrap();
    let SubjectError::Died { status, .. } = within(controller.ended()).await else { panic!() };
    assert_eq!(status.to_string(), "signal: 9 (SIGKILL)");
    assert_eq!(states(&place.run), "");
    assert!(matches!(handle.kill(), Err(HandleError::NotRunning)));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a container engine"]
async fn one_that_ends_at_once_is_shown_with_its_log() {
    let line = "echo no $DISPATCH_NAMESPACE for me; exit 3";
    let place = Place::new("ends", &["/bin/sh", "-c", line]).await;
    let (controller, _) = place.start();
    let error = within(controller.ready()).await.unwrap_err().to_string();
    assert!(error.contains("ended by itself (exit status: 3)"), "{error}");
    assert!(error.ends_with("no jobs for me"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a container engine"]
async fn one_that_cannot_be_started_says_why_in_its_log() {
    let name = "localhost/dispatch-conformance/empty:test";
    made("localhost/dispatch-conformance/sleeps:test", &["/bin/sleep"]);
    let broken = docker(&["create", "localhost/dispatch-conformance/sleeps:test"]);
    docker(&["commit", "--change", r#"ENTRYPOINT ["/not-there"]"#, &broken, name]);
    docker(&["rm", &broken]);
    let (image, _) = Image::ready(name.parse().unwrap(), "empty").await.unwrap();
    let place = Place { image, ..Place::new("sleeps", &["/bin/sleep"]).await };
    let (controller, _) = place.start();
    let error = within(controller.ready()).await.unwrap_err().to_string();
    assert!(error.contains("the container does not start"), "{error}");
    assert!(error.contains("/not-there"), "{error}");
    assert_eq!(states("empty"), "");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a container engine"]
async fn what_a_killed_run_has_left_is_removed_and_nothing_else() {
    let image = "localhost/dispatch-conformance/left:test";
    made(image, &["/bin/sleep", "1000"]);
    let boot = fs_err::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let processes = fs_err::read_link("/proc/self/ns/pid").unwrap();
    let (boot, processes) = (boot.trim(), processes.display());
    let mut over = Command::new("true").spawn().unwrap();
    over.wait().unwrap();
    let left = |owner: String| {
        let owner = format!("dispatch-conformance.owner={owner}");
        docker(&["run", "--detach", "--network=none", "--label", &owner, image])
    };
    let gone = left(format!("{boot}/{processes}/{}/1", over.id()));
    let elsewhere = left(format!("other-machine/{processes}/{}/1", over.id()));
    let place = Place::new("left", &["/bin/sleep", "1000"]).await;
    let (controller, handle) = place.start();
    within(handle.stands_still()).await.unwrap();
    // Another one begins, and lets be what is in use.
    let (_, removed) = Image::ready(image.parse().unwrap(), "next").await.unwrap();
    assert_eq!(removed.len(), 0, "the run before has removed it already");
    let there = docker(&[
        "ps",
        "--quiet",
        "--no-trunc",
        "--filter",
        "ancestor=localhost/dispatch-conformance/left:test",
    ]);
    assert!(!there.contains(&gone) && there.contains(&elsewhere), "{there}");
    assert_eq!(states(&place.run), "running");
    docker(&["rm", "--force", &elsewhere]);
    // As by the process that looks after a run which is gone.
    assert_eq!(remove_containers(&place.run).await.unwrap().len(), 1);
    within(controller.ended()).await;
}
