//! The proxy before a real API server, with real clients behind it.

use super::training::{pod_of, prepare, train};
use super::{Home, PATIENCE, said};
use dispatch_conformance::cluster::local::{Running, take_up_or_start};
use dispatch_conformance::cluster::{LeadThrough, progress::Silent};
use dispatch_conformance::history::recorder::{Journal, Reader, Revisions};
use dispatch_conformance::history::{Ending, Event, FaultChange, Request, Role, Subject, What};
use dispatch_conformance::proxy::{
    Effect, Fault, JournalLog, Log, Pattern, Placed, Port, Proxy, Scope, Tap, Times, Upstream,
    WatchFault,
};
use dispatch_contract::SystemClock;
use dispatch_kubernetes::client;
use futures::StreamExt;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::runtime::watcher;
use kube::{Api, Client, Config, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const COMPONENTS: [(&str, Role); 4] = [
    ("kueue", Role::Kueue),
    ("trainer", Role::Trainer),
    ("jobset", Role::Jobset),
    ("kube-controller-manager", Role::KubeControllerManager),
];

/// A history that is being made, and read.
struct History {
    journal: Arc<Journal>,
    log: Arc<dyn Log>,
    reader: Reader,
    seen: Vec<Arc<Event>>,
}

impl History {
    fn new(file: &Path, client: Client) -> Self {
        let journal = Arc::new(Journal::create(file, Arc::new(SystemClock)).unwrap());
        let log = JournalLog::new(Arc::clone(&journal), Revisions::new(client, "default"));
        let reader = journal.reader();
        Self { journal, log: Arc::new(log), reader, seen: Vec::new() }
    }

    /// Waits for an event; gives its order.
    async fn until(&mut self, what: &str, is: impl Fn(&What) -> bool) -> Option<u64> {
        let mut seen = self.seen.iter();
        if let Some(event) = seen.find(|event| is(&event.what)) {
            return event.order;
        }
        let read = async {
            loop {
                let event = self.reader.next().await.unwrap();
                let (found, order) = (is(&event.what), event.order);
                self.seen.push(event);
                if found {
                    return order;
                }
            }
        };
        let found = tokio::time::timeout(PATIENCE, read).await;
        found.unwrap_or_else(|_| panic!("{what}: not in {}", self.journal.path().display()))
    }

    /// Waits until a fault was met; gives the order.
    async fn met(&mut self, fault: &str) -> u64 {
        let is_met = |what: &What| matches!(what, What::Fault(it) if it.fault == fault && it.change == FaultChange::Met);
        self.until(fault, is_met).await.unwrap()
    }

    fn all(&mut self) -> &[Arc<Event>] {
        while let Some(event) = self.reader.try_next() {
            self.seen.push(event);
        }
        &self.seen
    }
}

fn parse<T: DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).unwrap()
}

fn hold(tap: &Tap, name: &str, verb: &str, resource: &str) -> Placed {
    let at = Pattern {
        verbs: vec![verb.to_owned()],
        resource: Some(resource.to_owned()),
        object: Some("led".to_owned()),
        ..Pattern::default()
    };
    tap.place(Fault { name: name.to_owned(), at, effect: Effect::Hold, times: Times::Once })
}

fn fault(name: &str, at: Pattern, effect: Effect) -> Fault {
    Fault { name: name.to_owned(), at, effect, times: Times::Once }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a real control plane"]
async fn real_clients_work_through_the_proxy_and_meet_its_faults() {
    let home = Home::new();
    let up = home.run(&["cluster", "up", "--cluster=local", "--name=shared"]);
    assert!(up.status.success(), "{}", said(&up));
    let running = take_up_or_start(home.options(), &Silent).await.unwrap();
    let upstream = Upstream::Server {
        server: running.server(),
        certificate_authority: running.certificate_authority(),
    };
    let proxy = Proxy::start(upstream).await.unwrap();
    a_client_of_ours(&home, &running, &proxy).await;
    the_components(&home, &running, &proxy).await;
    let down = home.run(&["cluster", "down", "--name=shared"]);
    assert!(down.status.success(), "{}", said(&down));
}

/// A client with a ServiceAccount's token.
async fn a_client_of_ours(home: &Home, running: &Running, proxy: &Proxy) {
    let mut history = History::new(&home.path().join("client.ndjson"), running.client());
    let port = proxy.port(Subject { role: Role::Controller, replica: 0 }).await.unwrap();
    let tap = port.tap(Scope::Everything, Arc::clone(&history.log));
    let token = token(&running.client()).await;
    let pods: Api<Pod> = Api::namespaced(client_of(&port, proxy, &token), "default");
    let creates = Pattern { verbs: vec!["create".to_owned()], ..Pattern::default() };

    tap.place(fault("lost", creates, Effect::LoseAnswer));
    let lost = pods.create(&PostParams::default(), &pod("one")).await;
    assert!(matches!(lost, Err(kube::Error::HyperError(_) | kube::Error::Service(_))), "{lost:?}");
    let one = pods.get("one").await.unwrap();
    let is_of_one = |what: &What| {
        matches!(what, What::RequestEnded(it)
            if it.ending == Ending::AnswerLost && it.uid == one.metadata.uid)
    };
    assert!(history.until("the lost answer", is_of_one).await.is_some(), "it has an order");
    let user = history.seen.iter().find_map(|event| match &event.what {
        What::Request(request) => request.user.clone(),
        _ => None,
    });
    assert_eq!(user.as_deref(), Some("system:serviceaccount:default:tested"));

    // A watcher does nothing by itself.
    let (sink, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let watched = watcher(pods.clone(), watcher::Config::default());
    let watching = tokio::spawn(watched.for_each(move |event| {
        let _ = sink.send(event);
        std::future::ready(())
    }));
    let mut next = async || tokio::time::timeout(PATIENCE, seen.recv()).await.unwrap().unwrap();
    while !matches!(next().await, Ok(watcher::Event::InitDone)) {}
    let of_watches = |effect| fault("watch", Pattern::default(), Effect::Watch(effect));
    history
        .until("the watch", |what| matches!(what, What::Request(it) if it.verb == "watch"))
        .await;
    let silence = tap.place(of_watches(WatchFault::Silence));
    let label = Patch::Merge(json!({"metadata": {"labels": {"a": "b"}}}));
    let patched = pods.patch("one", &PatchParams::default(), &label).await.unwrap();
    let told = |what: &What| matches!(what, What::Delivered(it) if it.resource_version == patched.resource_version());
    assert!(!history.all().iter().any(|event| told(&event.what)));
    silence.release();
    // The scheduler may have said something of the pod before.
    let is_labelled = |event: &watcher::Event<Pod>| match event {
        watcher::Event::Apply(pod) => pod.labels().contains_key("a"),
        other => panic!("{other:?}"),
    };
    while !is_labelled(&next().await.unwrap()) {}
    history.until("the event", told).await;
    tap.place(of_watches(WatchFault::Expire));
    assert!(next().await.is_err(), "the client learns that it has to list again");
    while !matches!(next().await, Ok(watcher::Event::InitDone)) {}

    watching.abort();

    let text = fs_err::read_to_string(home.path().join("client.ndjson")).unwrap();
    assert!(!text.contains(&token) && !text.contains(token.rsplit('.').next().unwrap()));
}

/// Kueue, Trainer, JobSet and Kubernetes' own controllers.
async fn the_components(home: &Home, running: &Running, proxy: &Proxy) {
    let client = running.client();
    let mut history = History::new(&home.path().join("led.ndjson"), client.clone());
    let mut through = BTreeMap::new();
    let mut ports = BTreeMap::new();
    for (component, role) in COMPONENTS {
        let port = proxy.port(Subject { role, replica: 0 }).await.unwrap();
        let certificate_authority = proxy.certificate_authority().to_owned();
        let way = LeadThrough { server: port.server(), certificate_authority };
        through.insert(component.to_owned(), way);
        ports.insert(role, port);
    }
    let lead = running.lead(through).await.unwrap();
    // Their watches are open by now; the taps find them.
    let tap = |port: &Port| port.tap(Scope::Namespace("default".to_owned()), history.log.clone());
    let taps: BTreeMap<_, _> = ports.iter().map(|(role, port)| (*role, tap(port))).collect();
    prepare(&client).await;

    let apply = hold(&taps[&Role::Trainer], "apply", "patch", "jobsets");
    let job = hold(&taps[&Role::Jobset], "job", "create", "jobs");
    let pod = hold(&taps[&Role::KubeControllerManager], "pod", "create", "pods");
    train(&client, "led", false).await;
    for (fault, placed) in [("apply", apply), ("job", job), ("pod", pod)] {
        let order = history.met(fault).await;
        assert!(order > 0);
        if fault == "job" {
            let jobs: Api<Job> = Api::namespaced(client.clone(), "default");
            assert_eq!(jobs.list(&ListParams::default()).await.unwrap().items, [], "it is held");
        }
        placed.release();
    }
    pod_of(&client, "led").await;
    let of_workload = |what: &What| {
        matches!(what, What::Delivered(it) if it.name.as_deref().is_some_and(|name|
            name.starts_with("trainjob-led-")))
    };
    history.until("Kueue is told of its Workload", of_workload).await;

    let requests: BTreeMap<u64, Request> = history
        .all()
        .iter()
        .filter_map(|event| match &event.what {
            What::Request(request) => Some((request.request, Request::clone(request))),
            _ => None,
        })
        .collect();
    for event in history.all() {
        if let What::RequestEnded(end) = &event.what {
            let refused = matches!(end.status, Some(400 | 401 | 403 | 406 | 415 | 500..));
            let request = &requests[&end.request];
            assert!(!refused && end.ending != Ending::Unreachable, "{request:?}: {end:?}");
        }
    }
    let of = |role| requests.values().filter(|request| request.from.role == role).count();
    for (component, role) in COMPONENTS {
        assert!(of(role) > 0, "{component} was not seen");
    }
    drop(taps);
    lead.end().await.unwrap();
}

fn pod(name: &str) -> Pod {
    let containers = json!([{ "name": "a", "image": "none" }]);
    parse(json!({ "metadata": { "name": name }, "spec": { "containers": containers } }))
}

/// A token of a ServiceAccount that may do everything.
async fn token(client: &Client) -> String {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
    let account = parse(json!({ "metadata": { "name": "tested" } }));
    accounts.create(&PostParams::default(), &account).await.unwrap();
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    let binding = parse(json!({
        "metadata": { "name": "tested" },
        "roleRef":
            { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "kind": "ServiceAccount", "name": "tested", "namespace": "default" }],
    }));
    bindings.create(&PostParams::default(), &binding).await.unwrap();
    let request: TokenRequest = parse(json!({ "spec": { "audiences": [] } }));
    let created =
        accounts.create_token_request("tested", &PostParams::default(), &request).await.unwrap();
    created.status.unwrap().token
}

fn client_of(port: &Port, proxy: &Proxy, token: &str) -> Client {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    let mut config = Config::new(port.server().parse().unwrap());
    let authority = CertificateDer::from_pem_slice(proxy.certificate_authority().as_bytes());
    config.root_cert = Some(vec![authority.unwrap().to_vec()]);
    config.auth_info.token = Some(token.to_owned().into());
    client::from_config(config).unwrap()
}
