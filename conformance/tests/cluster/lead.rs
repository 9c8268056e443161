//! Components whose requests are led through a proxy.

use super::life::{all_processes, nothing_is_left};
use super::training::{pod_of, prepare, train};
use super::{Home, PATIENCE, options_in, said, send};
use dispatch_conformance::cluster::local::{
    FeatureGates, Options, Phase, ProcessId, Running, take_up_or_start,
};
use dispatch_conformance::cluster::{ClusterError, LeadThrough, progress::Silent};
use dispatch_conformance::history::{Role, Subject, What};
use dispatch_conformance::proxy::{Log, Port, Proxy, Scope, Upstream};
use fs_err as fs;
use futures::future::{BoxFuture, try_join_all};
use nix::sys::signal::Signal;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::TcpListener;
use tokio::process::{Child, ChildStdout, Command};

/// For each component the request by which a TrainJob goes on its way.
const DEEDS: [(Role, &str); 4] = [
    (Role::Kueue, "create workloads"),
    (Role::Trainer, "patch jobsets"),
    (Role::Jobset, "create jobs"),
    (Role::KubeControllerManager, "create pods"),
];

/// Where the other process finds its cluster.
const FOLDER: &str = "DISPATCH_TEST_LEADS_IN";

/// A port of a proxy for each component.
struct Ports {
    proxy: Proxy,
    ports: Vec<Port>,
}

impl Ports {
    async fn open(running: &Running) -> Self {
        let (server, certificate_authority) = (running.server(), running.certificate_authority());
        let proxy = Proxy::start(Upstream::Server { server, certificate_authority }).await.unwrap();
        let ports = DEEDS.map(|(role, _)| proxy.port(Subject { role, replica: 0 }));
        let ports = try_join_all(ports).await.unwrap();
        Self { proxy, ports }
    }

    /// The way through it of every component that `led` names.
    fn ways(&self, led: impl Fn(&str) -> bool) -> BTreeMap<String, LeadThrough> {
        let way = |port: &Port| {
            let certificate_authority = self.proxy.certificate_authority().to_owned();
            let way = LeadThrough { server: port.server(), certificate_authority };
            (port.subject().to_string(), way)
        };
        self.ports.iter().map(way).filter(|(component, _)| led(component)).collect()
    }
}

/// Says every request on standard output: whose it is, its verb and its resource.
#[derive(Default)]
struct Said(AtomicU64);

impl Log for Said {
    fn number(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    #[expect(clippy::print_stdout, reason = "the test that started this process reads it")]
    fn note(&self, _: Option<u64>, what: What) {
        if let What::Request(request) = what {
            println!("{} {} {}", request.from, request.verb, request.resource);
        }
    }

    fn latest(&self) -> BoxFuture<'_, Option<u64>> {
        Box::pin(std::future::ready(None))
    }
}

/// What is said of a deed.
fn said_of((role, deed): (Role, &str)) -> String {
    format!("{} {deed}", role.as_str())
}

/// No test of its own: the process that another test starts, and kills while it leads.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "started by another test"]
async fn a_process_that_leads() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let running = take_up_or_start(options_in(Path::new(&folder)), &Silent).await.unwrap();
    let ports = Ports::open(&running).await;
    let log: Arc<dyn Log> = Arc::new(Said::default());
    let scope = Scope::Namespace("default".to_owned());
    let taps = ports.ports.iter().map(|port| port.tap(scope.clone(), Arc::clone(&log)));
    let _taps: Vec<_> = taps.collect();
    let _lead = running.lead(ports.ways(|_| true)).await.unwrap();
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
    other.says(DEEDS.map(said_of).into()).await;

    let process = other.child.id().and_then(|id| i32::try_from(id).ok());
    let refused = async |component: &str| lead_nowhere(&running, component).await;
    let led_by_other = ClusterError::Led { name: "shared".into(), process };
    assert_eq!(refused("kueue").await, led_by_other);
    assert_eq!(refused("etcd").await, ClusterError::NoClient { component: "etcd".into() });
    assert_eq!(refused("x").await, ClusterError::NoComponent { name: "x".into() });

    let gates = FeatureGates::default_with(["AdmissionGatedBy=false".parse().unwrap()]);
    running.restart_kueue(&gates).await.unwrap();
    train(&client, "still-led", false).await;
    other.says([said_of(DEEDS[0])].into()).await;

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
    let ports = Ports::open(&running).await;
    let _lead = running.lead(ports.ways(|_| true)).await.unwrap();
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
    let ports = Ports::open(running).await;
    let lead = running.lead(ports.ways(|component| component == name)).await.unwrap();
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
    let ports = Ports::open(running).await;
    let lead = running.lead(ports.ways(|component| component == "kueue")).await.unwrap();
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
