//! Components whose requests are led through a proxy.

use super::life::{all_processes, nothing_is_left};
use super::pass_through;
use super::training::{pod_of, prepare, train};
use super::{Home, PATIENCE, options_in, said, send};
use dispatch_conformance::cluster::local::{
    FeatureGates, Options, Phase, ProcessId, Running, take_up_or_start,
};
use dispatch_conformance::cluster::{ClusterError, LeadThrough, progress::Silent};
use fs_err as fs;
use nix::sys::signal::Signal;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::TcpListener;
use tokio::process::{Child, ChildStdout, Command};

/// For each component the request by which a TrainJob goes on its way.
const DEEDS: [(&str, &str); 4] = [
    ("kueue", "POST /apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"),
    ("trainer", "PATCH /apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets/led"),
    ("jobset", "POST /apis/batch/v1/namespaces/default/jobs"),
    ("kube-controller-manager", "POST /api/v1/namespaces/default/pods"),
];

/// Where the other process finds its cluster.
const FOLDER: &str = "DISPATCH_TEST_LEADS_IN";

/// A proxy for each component. `heard` is told of every request of it.
async fn proxies(
    running: &Running,
    heard: impl Fn(&str, &str) + Clone + Send + 'static,
) -> BTreeMap<String, LeadThrough> {
    let (server, authority) = (running.server(), running.certificate_authority());
    let mut through = BTreeMap::new();
    for (component, _) in DEEDS {
        let heard = heard.clone();
        let heard = move |request: &str| heard(component, request);
        through.insert(component.to_owned(), pass_through::start(&server, &authority, heard).await);
    }
    through
}

/// No test of its own: the process that another test starts, and kills while it leads.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "started by another test"]
async fn a_process_that_leads() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let running = take_up_or_start(options_in(Path::new(&folder)), &Silent).await.unwrap();
    let through = proxies(&running, |component, request| println!("{component} {request}"));
    let _lead = running.lead(through.await).await.unwrap();
    println!("leads");
    std::future::pending::<()>().await;
}

struct OtherProcess {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl OtherProcess {
    fn start(home: &Home) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["lead::a_process_that_leads", "--exact", "--ignored", "--nocapture"])
            .env(FOLDER, home.path())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Returns when it has said a line that begins with each of these.
    async fn says(&mut self, mut beginnings: BTreeSet<String>) {
        let said = async {
            while !beginnings.is_empty() {
                let line = self.lines.next_line().await.unwrap().expect("it goes on");
                beginnings.retain(|beginning| !line.starts_with(beginning));
            }
        };
        let said = tokio::time::timeout(PATIENCE, said).await;
        assert!(said.is_ok(), "it never said {beginnings:?}");
    }
}

fn led(home: &Home) -> Vec<String> {
    let state = home.state("shared");
    let led = state.processes.into_iter().filter(|process| process.led_through.is_some());
    led.map(|process| process.name).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a real control plane"]
async fn components_are_led_until_the_process_that_leads_them_is_gone() {
    let home = Home::new();
    let up = home.run(&["cluster", "up", "--cluster=local", "--name=shared"]);
    assert!(up.status.success(), "{}", said(&up));
    let running = take_up_or_start(home.options(), &Silent).await.unwrap();
    let client = running.client();
    prepare(&client).await;

    let mut other = OtherProcess::start(&home);
    other.says(["leads".to_owned()].into()).await;
    assert_eq!(led(&home).len(), DEEDS.len());
    train(&client, "led", false).await;
    other.says(DEEDS.map(|(component, deed)| format!("{component} {deed}")).into()).await;

    let process = other.child.id().and_then(|id| i32::try_from(id).ok());
    let refused = async |component: &str| lead_nowhere(&running, component).await;
    let led_by_other = ClusterError::Led { name: "shared".into(), process };
    assert_eq!(refused("kueue").await, led_by_other);
    assert_eq!(refused("etcd").await, ClusterError::NoClient { component: "etcd".into() });
    assert_eq!(refused("x").await, ClusterError::NoComponent { name: "x".into() });

    let gates = FeatureGates::default_with(["AdmissionGatedBy=false".parse().unwrap()]);
    running.restart_kueue(&gates).await.unwrap();
    train(&client, "still-led", false).await;
    let (kueue, deed) = DEEDS[0];
    other.says([format!("{kueue} {deed}")].into()).await;

    send(other.child.id().unwrap(), Signal::SIGKILL);
    direct(&home);
    let running =
        take_up_or_start(Options { feature_gates: gates.clone(), ..home.options() }, &Silent)
            .await
            .unwrap();
    assert_eq!((running.name(), running.feature_gates()), ("shared", gates));
    train(&client, "direct", false).await;
    pod_of(&client, "direct").await;

    ends_in_order(&home, &running).await;
    breaks_off_while_components_start(&home, &running).await;
    goes_with_a_component(&home, &running).await;
    train(&client, "direct-again", false).await;
    pod_of(&client, "direct-again").await;

    no_token_is_shown(&home);
    let _lead = running.lead(proxies(&running, |_, _| {}).await).await.unwrap();
    let all = all_processes(&home.state("shared"));
    let down = home.run(&["cluster", "down", "--name=shared"]);
    assert!(down.status.success(), "{}", said(&down));
    nothing_is_left(&home, &all);
}

/// Waits until all components are back.
#[track_caller]
fn direct(home: &Home) {
    let begun = Instant::now();
    while !led(home).is_empty() || home.state("shared").phase != Phase::Ready {
        assert!(begun.elapsed() < PATIENCE, "still led: {:?}", led(home));
        std::thread::yield_now();
    }
}

/// How it is refused to lead a component.
async fn lead_nowhere(running: &Running, component: &str) -> ClusterError {
    let way = LeadThrough { server: String::new(), certificate_authority: String::new() };
    running.lead([(component.to_owned(), way)].into()).await.err().expect("it is refused")
}

/// A lead of one component that is ended, not broken off.
async fn ends_in_order(home: &Home, running: &Running) {
    let name = "kube-controller-manager";
    let mut through = proxies(running, |_, _| {}).await;
    through.retain(|component, _| component == name);
    let lead = running.lead(through).await.unwrap();
    assert_eq!(led(home), [name]);
    drop(running.freeze(name).await.unwrap());
    lead.end().await.unwrap();
    assert!(led(home).is_empty());
}

/// A lead that is given up before the components serve.
async fn breaks_off_while_components_start(home: &Home, running: &Running) {
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let way = LeadThrough {
        server: format!("https://{nobody}"),
        certificate_authority: running.certificate_authority(),
    };
    tokio::select! {
        _ = running.lead([("kueue".to_owned(), way)].into()) => panic!("nobody listens there"),
        () = async {
            let before = pid_of(home, "kueue");
            while home.state("shared").phase != Phase::Restarting || before.alive() {
                tokio::task::yield_now().await;
            }
        } => {}
    }
    direct(home);
}

/// A led component ends, and the one who leads it a moment later.
async fn goes_with_a_component(home: &Home, running: &Running) {
    let mut through = proxies(running, |_, _| {}).await;
    through.retain(|component, _| component == "kueue");
    let lead = running.lead(through).await.unwrap();
    send(pid_of(home, "kueue").pid, Signal::SIGKILL);
    drop(lead);
    direct(home);
}

fn pid_of(home: &Home, component: &str) -> ProcessId {
    let all = home.state("shared").processes;
    all.into_iter().find(|process| process.name == component).unwrap().id
}

/// The tokens of the components are in files for this user alone, and nowhere else.
fn no_token_is_shown(home: &Home) {
    let folder = home.clusters().join("shared");
    let run = folder.join("run");
    let file = run.join("tokens.csv");
    let kubeconfig = run.join("kubeconfigs/kueue");
    for secret in [&file, &kubeconfig] {
        let mode = fs::metadata(secret).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", secret.display());
    }
    let content = fs::read_to_string(file).unwrap();
    let tokens: Vec<_> = content.lines().filter_map(|line| line.split(',').next()).collect();
    assert!(fs::read_to_string(kubeconfig).unwrap().contains(tokens[4]));
    let logs = fs::read_dir(folder.join("logs")).unwrap().map(|entry| entry.unwrap().path());
    let mut shown: Vec<_> = logs.map(|log| fs::read_to_string(log).unwrap()).collect();
    for file in ["state.json", "supervisor.log"] {
        shown.push(fs::read_to_string(folder.join(file)).unwrap());
    }
    shown.push(said(&home.run(&["cluster", "status", "--output=json"])));
    for token in tokens {
        assert!(token.len() > 20 && shown.iter().all(|text| !text.contains(token)));
    }
}
