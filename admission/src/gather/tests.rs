//! Reads against an API server that is played: whose a Workload is, and what is read of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use dispatch_contract::names;
use dispatch_kubernetes::request::Limits;
use http::{Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use kube::runtime::reflector::store;
use kube::runtime::watcher::Event;
use rstest::rstest;
use serde_json::{Value, json};
use tower::service_fn;

use super::{Gather, LiveReader};
use crate::served_checks::ServedChecks;
use crate::snapshot::{Owner, WorkloadKey};

const OBJECT: &str = "dj-01arz3ndektsv4rrffq69g5fav-s1";
const WORKLOADS: &str = "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads";
const TRAINJOBS: &str = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/n/trainjobs";
const JOBSETS: &str = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/n/jobsets";
const JOBS: &str = "/apis/batch/v1/namespaces/n/jobs";
const PODS: &str = "/api/v1/namespaces/n/pods";

/// What the API server has, by path; and what was asked of it, in order.
#[derive(Clone, Default)]
struct Api {
    has: Arc<BTreeMap<String, Value>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Api {
    fn client(&self) -> Client {
        let api = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let answer = api.answer(request.uri().path());
            async move { Ok::<_, std::convert::Infallible>(answer) }
        });
        Client::new(service, "n")
    }

    fn answer(&self, path: &str) -> Response<Body> {
        self.asked.lock().unwrap().push(path.to_owned());
        let (status, body) = match self.has.get(path) {
            Some(Value::String(refused)) => {
                (StatusCode::FORBIDDEN, status(403, "Forbidden", refused))
            }
            Some(found) => (StatusCode::OK, found.clone()),
            None if [TRAINJOBS, JOBS, PODS].contains(&path) => (StatusCode::OK, list(&[])),
            None => (StatusCode::NOT_FOUND, status(404, "NotFound", "not found")),
        };
        let body = Body::from(body.to_string().into_bytes());
        Response::builder().status(status).body(body).unwrap()
    }
}

fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": message})
}

fn list(items: &[Value]) -> Value {
    json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"},
        "items": items})
}

fn owner(api_version: &str, kind: &str, name: &str, uid: &str) -> Value {
    json!([{"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": true}])
}

fn by_trainjob(name: &str, uid: &str) -> Value {
    owner("trainer.kubeflow.org/v1alpha1", "TrainJob", name, uid)
}

fn workload(owners: &Value, conditions: &[&str]) -> Value {
    let conditions: Vec<_> =
        conditions.iter().map(|type_| json!({"type": type_, "status": "True"})).collect();
    json!({
        "metadata": {"name": "w", "namespace": "n", "uid": "wu", "resourceVersion": "5",
            "ownerReferences": owners},
        "status": {"conditions": conditions, "admissionChecks": [
            {"name": "ours", "state": "Pending", "message": ""},
            {"name": "theirs", "state": "Pending", "message": ""}]},
    })
}

fn object(name: &str, uid: &str, owners: &Value) -> Value {
    json!({"apiVersion": "x/v1", "kind": "X", "metadata": {"name": name, "namespace": "n",
        "uid": uid, "resourceVersion": "6", "ownerReferences": owners},
        "spec": {"runtimeRef": {"name": "r"}}})
}

/// Reads the Workload `w`; the owner that was found, and what was asked.
async fn read(has: &[(&str, Value)]) -> (Owner, Vec<String>) {
    let has = has.iter().map(|(path, value)| ((*path).to_owned(), value.clone())).collect();
    let api = Api { has: Arc::new(has), ..Api::default() };
    let (checks, mut writer) = store();
    for (name, controller) in [("ours", "a.io/ours"), ("theirs", "a.io/theirs")] {
        let check = json!({"metadata": {"name": name}, "spec": {"controllerName": controller}});
        writer.apply_watcher_event(&Event::Apply(serde_json::from_value(check).unwrap()));
    }
    let checks = ServedChecks::new(checks, "a.io/ours");
    let reader = LiveReader::new(api.client(), Limits::default(), checks);
    let key = WorkloadKey { namespace: "n".into(), name: "w".into() };
    let snapshot = reader.gather(&key).await.unwrap().unwrap();
    assert_eq!(snapshot.checks, ["ours"]);
    let asked = api.asked.lock().unwrap().clone();
    (snapshot.owner, asked)
}

fn said(owner: &Owner) -> String {
    match owner {
        Owner::NotRead => "not read".into(),
        Owner::Foreign => "foreign".into(),
        Owner::Prebuilt { trainjob } => format!("prebuilt by {trainjob}"),
        Owner::Unreadable { why } => format!("unreadable: {why}"),
        Owner::Indirect { trainjob, through } => format!("{trainjob} through {through}"),
        Owner::Dispatch(object) => format!("dispatch's {}", object.trainjob.uid()),
    }
}

fn at(collection: &str, name: &str) -> String {
    format!("{collection}/{name}")
}

fn patched(name: &str, uid: &str) -> Value {
    let mut trainjob = object(name, uid, &json!([]));
    trainjob["spec"]["runtimePatches"] = json!([{"manager": names::RUNTIME_PATCH_MANAGER}]);
    trainjob
}

#[rstest]
#[case::by_name(by_trainjob(OBJECT, "u"), vec![(at(TRAINJOBS, OBJECT), object(OBJECT, "u", &json!([])))],
    "dispatch's u")]
#[case::by_patch(by_trainjob("t", "u"), vec![(at(TRAINJOBS, "t"), patched("t", "u"))],
    "dispatch's u")]
#[case::a_foreign_trainjob(
    by_trainjob("t", "u"), vec![(at(TRAINJOBS, "t"), object("t", "u", &json!([])))], "foreign")]
#[case::another_of_the_name(
    by_trainjob(OBJECT, "u"), vec![(at(TRAINJOBS, OBJECT), object(OBJECT, "v", &json!([])))],
    "unreadable: the TrainJob dj-01arz3ndektsv4rrffq69g5fav-s1 is another one than the owner, \
     which had another UID")]
#[case::gone(by_trainjob(OBJECT, "u"), vec![],
    "unreadable: the TrainJob dj-01arz3ndektsv4rrffq69g5fav-s1 owns this and is gone")]
#[case::without_the_right(
    by_trainjob("t", "u"), vec![(at(TRAINJOBS, "t"), json!("User \"x\" cannot get resource"))],
    "unreadable: get trainjobs.trainer.kubeflow.org n/t: User \"x\" cannot get resource")]
#[case::a_plain_job(
    owner("batch/v1", "Job", "j", "u"), vec![(at(JOBS, "j"), object("j", "u", &json!([])))],
    "foreign")]
#[case::of_a_kind_that_trainer_does_not_make(
    owner("ray.io/v1", "RayJob", "r", "u"), vec![], "foreign")]
#[case::a_jobset_of_dispatchs(
    owner("jobset.x-k8s.io/v1alpha2", "JobSet", OBJECT, "j"),
    vec![
        (at(JOBSETS, OBJECT), object(OBJECT, "j", &by_trainjob(OBJECT, "u"))),
        (at(TRAINJOBS, OBJECT), object(OBJECT, "u", &json!([]))),
    ],
    "dj-01arz3ndektsv4rrffq69g5fav-s1 through the JobSet dj-01arz3ndektsv4rrffq69g5fav-s1")]
#[case::ownerless(json!([]), vec![], "foreign")]
#[case::named_as_prebuilt(
    json!([]), vec![(TRAINJOBS.to_owned(), list(&[object(OBJECT, "u", &json!([]))]))],
    "prebuilt by dj-01arz3ndektsv4rrffq69g5fav-s1")]
#[case::named_as_prebuilt_by_a_foreign_one(
    json!([]), vec![(TRAINJOBS.to_owned(), list(&[object("t", "u", &json!([]))]))], "foreign")]
#[case::named_as_prebuilt_by_an_odd_one(
    json!([]),
    vec![(TRAINJOBS.to_owned(), list(&[json!({"metadata": {"name": "t"}, "spec": 7})]))],
    "unreadable: the TrainJob t cannot be understood: ")]
#[tokio::test]
async fn a_workload_is_whose_its_owners_say(
    #[case] owners: Value,
    #[case] has: Vec<(String, Value)>,
    #[case] expected: &str,
) {
    let path = at(WORKLOADS, "w");
    let mut all = vec![(path.as_str(), workload(&owners, &["QuotaReserved"]))];
    all.extend(has.iter().map(|(path, value)| (path.as_str(), value.clone())));
    let (owner, _) = read(&all).await;
    let said = said(&owner);
    assert!(said.starts_with(expected), "`{said}` is not `{expected}`");
}

#[rstest]
#[case::it_waits_for_quota(&[], 1)]
#[case::it_asks_for_a_decision(&["QuotaReserved"], 6)]
#[case::it_runs(&["QuotaReserved", "Admitted"], 5)]
#[case::it_ended(&["QuotaReserved", "Admitted", "Finished"], 2)]
#[tokio::test]
async fn no_more_is_read_than_a_decision_can_depend_on_and_pods_last(
    #[case] conditions: &[&str],
    #[case] requests: usize,
) {
    let (workloads, trainjobs) = (at(WORKLOADS, "w"), at(TRAINJOBS, OBJECT));
    let mut trainjob = object(OBJECT, "u", &json!([]));
    trainjob["metadata"]["annotations"] = json!({names::RUNTIME_DIGEST: "sha256:0"});
    let owners = by_trainjob(OBJECT, "u");
    let (_, asked) =
        read(&[(&workloads, workload(&owners, conditions)), (&trainjobs, trainjob)]).await;
    let runtime = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes/r";
    let jobset = at(JOBSETS, OBJECT);
    let all = [workloads.as_str(), &trainjobs, runtime, &jobset, JOBS, PODS];
    let mut expected: Vec<_> = all.to_vec();
    if conditions.contains(&"Admitted") {
        expected.remove(2);
    }
    expected.truncate(requests);
    assert_eq!(asked, expected);
}
