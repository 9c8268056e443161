//! Histories told by hand, for tests: each step is one write of one party, so that a test can leave
//! one out, repeat it or change the order.

use std::collections::BTreeMap;
use std::sync::Arc;

use dispatch_contract::{CallError, ErrorKind, names};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    Begin, CallAnswered, CallInvoked, CallOutcome, Change, Containers, End, EndedBy, Event, Gap,
    History, JobNamed, Kind, Mode, ObjectVersion, Role, SCHEMA, Subject, SubjectChange,
    SubjectChanged, SubjectNames, Verb, What,
};

mod containers;
mod requests;

pub(crate) use requests::{ADAPTER, CONTROLLER, SECOND, ask, check_body, raise_body};

/// The name of the object that most histories are about.
pub(crate) const NAME: &str = "dj-01k0000000000000000000000a-s1";
/// Its UID.
pub(crate) const UID: &str = "uid-train";
/// The name of the check.
pub(crate) const CHECK: &str = "dispatch-check";

/// A history that is being told.
#[derive(Clone)]
pub(crate) struct Told {
    pub(crate) events: Vec<Event>,
    objects: BTreeMap<(Kind, String), Value>,
    order: u64,
    now: Timestamp,
    call: u64,
    /// The latest version of each object.
    versions: BTreeMap<(Kind, String), u64>,
    /// The number of the latest request.
    request: u64,
    /// What it is about.
    asked: Option<(Kind, String)>,
    /// The latest watch of each subject, by kind.
    watches: BTreeMap<(Subject, Kind), u64>,
}

fn begin(mode: Mode) -> Begin {
    let kueue = mode == Mode::Kueue;
    Begin {
        schema: SCHEMA.to_owned(),
        run: "run".to_owned(),
        scenario: "told".to_owned(),
        case: None,
        digest: "00".to_owned(),
        proves: Vec::new(),
        cluster: "local".to_owned(),
        versions: BTreeMap::new(),
        mode,
        namespace: "ns".to_owned(),
        admission_check: kueue.then(|| CHECK.to_owned()),
        controller_name: kueue.then(|| names::CONTROLLER.to_owned()),
        cluster_queue: kueue.then(|| "cq".to_owned()),
        objects: BTreeMap::new(),
        feature_gates: BTreeMap::new(),
        subjects: SubjectNames::default(),
        seed: None,
        containers: Containers::StandIn,
    }
}

fn owner(kind: &str, uid: &str) -> Value {
    json!([{"apiVersion": "v1", "kind": kind, "name": "o", "uid": uid, "controller": true}])
}

fn replicated(a: &str) -> Value {
    json!([{"name": "node", "template": {"spec": {"template": {"metadata": {
        "annotations": {names::POD_ADMISSION: a}}}}}}])
}

/// Telling.
impl Told {
    fn new(mode: Mode) -> Self {
        let mut told = Self {
            events: Vec::new(),
            objects: BTreeMap::new(),
            order: 100,
            now: "2026-01-01T00:00:00Z".parse().unwrap(),
            call: 0,
            versions: BTreeMap::new(),
            request: 0,
            asked: None,
            watches: BTreeMap::new(),
        };
        told.tell(None, What::Begin(Box::new(begin(mode))));
        told
    }

    /// A run with Kueue, with one replica of the controller and the check that it serves.
    pub(crate) fn kueue() -> Self {
        let mut told = Self::new(Mode::Kueue);
        told.create(
            Kind::AdmissionCheck,
            json!({
                "metadata": {"name": CHECK, "uid": "uid-check"},
                "spec": {"controllerName": names::CONTROLLER},
                "status": {"conditions": [{"type": "Active", "status": "True"}]},
            }),
        );
        told.create(
            Kind::ClusterQueue,
            json!({
                "metadata": {"name": "cq", "uid": "uid-cq"},
                "spec": {"admissionChecksStrategy": {"admissionChecks": [{"name": CHECK}]}},
            }),
        );
        told.controller(SubjectChange::Ready);
        told
    }

    /// A run without Kueue.
    pub(crate) fn plain() -> Self {
        Self::new(Mode::Plain)
    }

    pub(crate) fn tell(&mut self, order: Option<u64>, what: What) -> &mut Self {
        let seq = self.events.len() as u64;
        self.now += SignedDuration::from_millis(10);
        let event = Event { seq, at: self.now, elapsed_ns: seq * 10_000_000, order, what };
        self.events.push(event);
        self
    }

    /// Lets time pass.
    pub(crate) fn seconds(&mut self, seconds: i64) -> &mut Self {
        self.now += SignedDuration::from_secs(seconds);
        self
    }

    pub(crate) fn gap(&mut self, kind: Option<Kind>) -> &mut Self {
        self.tell(None, What::Gap(Gap { kind, why: "the watch was too old".to_owned() }))
    }

    pub(crate) fn controller(&mut self, change: SubjectChange) -> &mut Self {
        self.replica(0, change)
    }

    pub(crate) fn replica(&mut self, replica: u32, change: SubjectChange) -> &mut Self {
        let changed = SubjectChanged { role: Role::Controller, replica, change, pid: None };
        self.tell(Some(self.order), What::Subject(changed))
    }

    pub(crate) fn adapter(&mut self, change: SubjectChange) -> &mut Self {
        let changed = SubjectChanged { role: Role::Adapter, replica: 0, change, pid: None };
        self.tell(Some(self.order), What::Subject(changed))
    }

    fn version(&mut self, kind: Kind, change: Change, object: &Value) -> &mut Self {
        self.order += 1;
        let mut object = object.clone();
        object["metadata"]["resourceVersion"] = json!(self.order.to_string());
        let text = |key: &str| object["metadata"][key].as_str().unwrap().to_owned();
        self.versions.insert((kind, text("name")), self.order);
        let version = ObjectVersion {
            kind,
            namespace: object["metadata"]["namespace"].as_str().map(str::to_owned),
            name: text("name"),
            uid: text("uid"),
            resource_version: self.order.to_string(),
            change,
            object: Arc::new(object),
        };
        self.tell(Some(self.order), What::Version(Box::new(version)))
    }

    pub(crate) fn create(&mut self, kind: Kind, object: Value) -> &mut Self {
        self.version(kind, Change::Added, &object);
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        self.objects.insert((kind, name), object);
        self
    }

    /// Changes an object, by its kind and name.
    pub(crate) fn change(
        &mut self,
        kind: Kind,
        name: &str,
        change: impl FnOnce(&mut Value),
    ) -> &mut Self {
        let mut object = self.objects[&(kind, name.to_owned())].clone();
        change(&mut object);
        self.version(kind, Change::Modified, &object);
        self.objects.insert((kind, name.to_owned()), object);
        self
    }

    pub(crate) fn delete(&mut self, kind: Kind, name: &str) -> &mut Self {
        let object = self.objects.remove(&(kind, name.to_owned())).unwrap();
        self.version(kind, Change::Deleted, &object)
    }

    /// Calls the adapter; the answer is told by [`Told::answers`].
    pub(crate) fn calls(&mut self, verb: Verb) -> &mut Self {
        self.calls_with(verb, json!({"name": NAME, "uid": UID}))
    }

    pub(crate) fn calls_with(&mut self, verb: Verb, input: Value) -> &mut Self {
        self.call += 1;
        let (call, job) = (self.call, Some("train".to_owned()));
        let subject = "adapter-0".to_owned();
        self.tell(
            Some(self.order),
            What::CallInvoked(CallInvoked { call, verb, subject, job, input }),
        )
    }

    pub(crate) fn answers(&mut self, answer: Value) -> &mut Self {
        self.outcome(CallOutcome::Ok(answer))
    }

    pub(crate) fn fails(&mut self, kind: ErrorKind) -> &mut Self {
        self.fails_saying(kind, "the reason")
    }

    pub(crate) fn fails_saying(&mut self, kind: ErrorKind, message: &str) -> &mut Self {
        self.fails_by(kind, message, &[])
    }

    /// A call fails, and says which rules ask for that.
    pub(crate) fn fails_by(&mut self, kind: ErrorKind, message: &str, rules: &[&str]) -> &mut Self {
        let rules = rules.iter().map(|rule| (*rule).to_owned()).collect();
        let error = CallError { kind, message: message.to_owned(), rules };
        let unknown = kind == ErrorKind::Unknown;
        self.outcome(if unknown { CallOutcome::Unknown(error) } else { CallOutcome::Failed(error) })
    }

    fn outcome(&mut self, outcome: CallOutcome) -> &mut Self {
        let call = self.call;
        self.tell(Some(self.order), What::CallAnswered(CallAnswered { call, outcome }))
    }

    /// The history, with its end.
    pub(crate) fn history(&mut self) -> History {
        self.tell(None, What::End(End { why: EndedBy::Finished }));
        self.events.iter().cloned().collect()
    }
}

/// The steps of an object's life in Kueue mode, one write each.
impl Told {
    /// There is a runtime of this name.
    pub(crate) fn runtime(&mut self, name: &str) -> &mut Self {
        self.create(
            Kind::TrainingRuntime,
            json!({
                "metadata": {"name": name, "namespace": "ns", "uid": format!("uid-{name}")},
                "spec": {"template": {"spec": {"replicatedJobs": [
                    {"name": "node", "template": {"spec": {"podReplacementPolicy": "Failed"}}}]}}},
            }),
        )
    }

    pub(crate) fn starts(&mut self) -> &mut Self {
        self.calls_with(Verb::Start, start_input());
        self.create_trainjob().create_jobset().create_workload().lists_check();
        self.answers(json!({"name": NAME, "uid": UID}))
    }

    pub(crate) fn create_trainjob(&mut self) -> &mut Self {
        self.create_trainjob_with(|_| {})
    }

    /// The object is created, and others change it as it is.
    pub(crate) fn create_trainjob_with(&mut self, change: impl FnOnce(&mut Value)) -> &mut Self {
        let mut object = trainjob();
        change(&mut object);
        self.tell(
            None,
            What::JobNamed(JobNamed {
                job: "train".to_owned(),
                kind: Kind::TrainJob,
                name: NAME.to_owned(),
                uid: Some(UID.to_owned()),
                dispatch: true,
            }),
        );
        self.create(Kind::TrainJob, object)
    }

    pub(crate) fn create_jobset(&mut self) -> &mut Self {
        self.create(
            Kind::JobSet,
            json!({
                "metadata": {"name": NAME, "namespace": "ns", "uid": "uid-jobset",
                    "ownerReferences": owner("TrainJob", UID)},
                "spec": {"suspend": true, "replicatedJobs": replicated("0")},
            }),
        );
        self.create(
            Kind::Job,
            json!({
                "metadata": {"name": "node", "namespace": "ns", "uid": "uid-job",
                    "ownerReferences": owner("JobSet", "uid-jobset"),
                    "labels": {names::JOBSET_NAME: NAME}},
                "spec": {"suspend": true, "template": {"spec": {"containers": []}}},
                "status": {"conditions": [{"type": "Suspended", "status": "True"}]},
            }),
        )
    }

    pub(crate) fn create_workload(&mut self) -> &mut Self {
        self.create(
            Kind::Workload,
            json!({
                "metadata": {"name": "workload", "namespace": "ns", "uid": "uid-workload",
                    "annotations": {names::ADMISSION_GATED_BY: names::GATE},
                    "ownerReferences": owner("TrainJob", UID)},
                "spec": {"active": true, "priority": 0},
                "status": {"conditions": [
                    {"type": "QuotaReserved", "status": "False", "reason": "AdmissionGated"}]},
            }),
        )
    }

    pub(crate) fn lists_check(&mut self) -> &mut Self {
        self.workload(|it| {
            it["status"]["admissionChecks"] =
                json!([{"name": CHECK, "state": "Pending", "message": ""}]);
        })
    }

    pub(crate) fn opens(&mut self) -> &mut Self {
        self.calls(Verb::Open).opens_gate().answers(json!({})).ungates()
    }

    /// Kueue takes the gate from the Workload.
    pub(crate) fn ungates(&mut self) -> &mut Self {
        self.workload(|it| {
            it["metadata"]["annotations"] = json!({});
            set_condition(it, "QuotaReserved", "False", "Pending");
        })
    }

    pub(crate) fn opens_gate(&mut self) -> &mut Self {
        self.trainjob(open)
    }

    pub(crate) fn reserves(&mut self) -> &mut Self {
        self.workload(|it| {
            set_condition(it, "QuotaReserved", "True", "QuotaReserved");
            set_condition(it, "Evicted", "False", "QuotaReserved");
            it["status"]["admission"] = json!({"clusterQueue": "cq"});
        })
    }

    pub(crate) fn raises(&mut self, a: u64) -> &mut Self {
        self.trainjob(|it| raise(it, a))
    }

    pub(crate) fn takes_over(&mut self, a: u64) -> &mut Self {
        self.change(Kind::JobSet, NAME, |it| {
            it["spec"]["replicatedJobs"] = replicated(&a.to_string());
        })
    }

    pub(crate) fn sets(&mut self, state: &str) -> &mut Self {
        self.workload(|it| set_check(it, state, "by the controller"))
    }

    pub(crate) fn admits(&mut self) -> &mut Self {
        self.workload(|it| set_condition(it, "Admitted", "True", "Admitted"))
    }

    pub(crate) fn resumes(&mut self) -> &mut Self {
        self.trainjob(|it| it["spec"]["suspend"] = json!(false));
        self.change(Kind::JobSet, NAME, |it| it["spec"]["suspend"] = json!(false));
        self.change(Kind::Job, "node", |it| {
            it["spec"]["suspend"] = json!(false);
            it["status"] = json!({"active": 1});
        })
    }

    pub(crate) fn pod(&mut self, name: &str, a: &str) -> &mut Self {
        self.create(
            Kind::Pod,
            json!({
                "metadata": {"name": name, "namespace": "ns", "uid": format!("uid-{name}"),
                    "annotations": {names::POD_ADMISSION: a},
                    "labels": {names::JOBSET_NAME: NAME},
                    "ownerReferences": owner("Job", "uid-job")},
                "status": {"phase": "Running"},
            }),
        )
    }

    pub(crate) fn pod_ends(&mut self, name: &str, phase: &str) -> &mut Self {
        self.change(Kind::Pod, name, |it| it["status"]["phase"] = json!(phase))
    }

    pub(crate) fn pod_terminates(&mut self, name: &str) -> &mut Self {
        self.change(Kind::Pod, name, |it| {
            it["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        })
    }

    pub(crate) fn pod_goes(&mut self, name: &str) -> &mut Self {
        self.delete(Kind::Pod, name)
    }

    /// Kueue evicts: the condition, and the check's reset.
    pub(crate) fn evicts(&mut self) -> &mut Self {
        self.workload(|it| {
            set_condition(it, "Evicted", "True", "Preempted");
            set_check(it, "Pending", "Reset to Pending after eviction. Previously: Ready");
        })
    }

    pub(crate) fn suspends(&mut self) -> &mut Self {
        self.trainjob(|it| it["spec"]["suspend"] = json!(true));
        self.change(Kind::JobSet, NAME, |it| it["spec"]["suspend"] = json!(true));
        self.change(Kind::Job, "node", |it| {
            it["spec"]["suspend"] = json!(true);
            it["status"] = json!({"conditions": [{"type": "Suspended", "status": "True"}]});
        })
    }

    /// Kueue takes the quota back.
    pub(crate) fn unreserves(&mut self) -> &mut Self {
        self.workload(|it| {
            set_condition(it, "QuotaReserved", "False", "Pending");
            set_condition(it, "Admitted", "False", "NoReservation");
            it["status"].as_object_mut().unwrap().remove("admission");
        })
    }

    /// Opened, with quota, and nothing decided yet.
    pub(crate) fn waits(&mut self) -> &mut Self {
        self.starts().opens().reserves()
    }

    /// From there to running, with A=1.
    pub(crate) fn runs(&mut self) -> &mut Self {
        self.waits().goes(1)
    }

    /// From quota to running, with this A, by every rule.
    pub(crate) fn goes(&mut self, a: u64) -> &mut Self {
        self.raises(a).takes_over(a).sets("Ready").admits().resumes();
        self.pod(&format!("pod-{a}"), &a.to_string())
    }

    /// Preempted with nothing left, and queued again.
    pub(crate) fn is_preempted(&mut self, a: u64) -> &mut Self {
        self.evicts().suspends().pod_goes(&format!("pod-{a}")).unreserves()
    }

    pub(crate) fn ends(&mut self, condition: &str) -> &mut Self {
        self.trainjob(|it| set_condition(it, condition, "True", "JobSet"))
    }

    pub(crate) fn marks_ended(&mut self) -> &mut Self {
        self.trainjob(|it| {
            it["spec"]["suspend"] = json!(true);
            it["metadata"]["annotations"][names::ENDED] = json!("Failed");
        })
    }

    pub(crate) fn trainjob(&mut self, change: impl FnOnce(&mut Value)) -> &mut Self {
        self.change(Kind::TrainJob, NAME, change)
    }

    pub(crate) fn workload(&mut self, change: impl FnOnce(&mut Value)) -> &mut Self {
        self.change(Kind::Workload, "workload", change)
    }
}

/// What Start is asked for.
pub(crate) fn start_input() -> Value {
    json!({"name": NAME, "runtimeRef": {"kind": "TrainingRuntime", "name": "runtime"}})
}

/// The object as it is created.
fn trainjob() -> Value {
    json!({
        "metadata": {"name": NAME, "namespace": "ns", "uid": UID, "generation": 1,
            "annotations": {
                names::ADMISSION_COUNT: "0", names::ADMISSION_GATED_BY: names::GATE,
                names::RUNTIME_DIGEST: "sha256:0"}},
        "spec": {"suspend": true,
            "runtimeRef": {"kind": "TrainingRuntime", "name": "runtime"}, "runtimePatches": [
            {"manager": names::KUEUE_RUNTIME_PATCH_MANAGER, "time": "2026-01-01T00:00:00Z"},
            {"manager": names::RUNTIME_PATCH_MANAGER, "trainingRuntimeSpec":
                {"template": {"spec": {"replicatedJobs": replicated("0")}}}},
        ]},
    })
}

/// Takes dispatch's gate, the only one, from a `TrainJob`, and marks it opened.
fn open(trainjob: &mut Value) {
    let annotations = trainjob["metadata"]["annotations"].as_object_mut().unwrap();
    annotations.remove(names::ADMISSION_GATED_BY);
    annotations.insert(names::OPENED.to_owned(), json!("true"));
}

/// Raises the count and the pod annotation in a `TrainJob`.
pub(crate) fn raise(trainjob: &mut Value, a: u64) {
    let a = a.to_string();
    trainjob["metadata"]["annotations"][names::ADMISSION_COUNT] = json!(a);
    let patches = trainjob["spec"]["runtimePatches"].as_array_mut().unwrap();
    let ours = patches.iter_mut().find(|it| it["manager"] == names::RUNTIME_PATCH_MANAGER);
    ours.unwrap()["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"] = replicated(&a);
}

/// Sets a condition of any object.
pub(crate) fn set_condition(object: &mut Value, type_: &str, status: &str, reason: &str) {
    let condition = json!({"type": type_, "status": status, "reason": reason});
    if !object["status"]["conditions"].is_array() {
        object["status"]["conditions"] = json!([]);
    }
    let conditions = object["status"]["conditions"].as_array_mut().unwrap();
    conditions.retain(|it| it["type"] != type_);
    conditions.push(condition);
}

/// Sets the check's entry on a Workload.
pub(crate) fn set_check(workload: &mut Value, state: &str, message: &str) {
    let checks = workload["status"]["admissionChecks"].as_array_mut().unwrap();
    let ours = checks.iter_mut().find(|it| it["name"] == CHECK).unwrap();
    ours["state"] = json!(state);
    ours["message"] = json!(message);
}
