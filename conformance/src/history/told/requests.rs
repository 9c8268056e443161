//! Requests in histories told by hand: one event each, or a whole exchange as subjects make it.

use dispatch_contract::names;
use serde_json::{Value, json};

use super::{CHECK, NAME, Told, UID, raise, set_check};
use crate::history::{
    Delivered, Ending, FaultChange, FaultChanged, Kind, PatchKind, Refused, Request, RequestEnded,
    RequestSent, Role, Subject, Verb, What,
};

/// The adapter that every call is made to.
pub(crate) const ADAPTER: Subject = Subject { role: Role::Adapter, replica: 0 };

/// The replica of the controller that every history has.
pub(crate) const CONTROLLER: Subject = Subject { role: Role::Controller, replica: 0 };

/// Another replica.
pub(crate) const SECOND: Subject = Subject { role: Role::Controller, replica: 1 };

/// A request about an object, without a body.
pub(crate) fn ask(from: Subject, verb: &str, kind: Kind, name: &str) -> Request {
    let (group, _, resource) = kind.resource();
    let cluster_wide = matches!(kind, Kind::AdmissionCheck | Kind::ClusterQueue);
    Request {
        request: 0,
        from,
        verb: verb.to_owned(),
        patch: (verb == "patch").then_some(PatchKind::Merge),
        group: group.to_owned(),
        resource: resource.to_owned(),
        subresource: None,
        namespace: (!cluster_wide).then(|| "ns".to_owned()),
        name: (!name.is_empty()).then(|| name.to_owned()),
        query: [].into(),
        user: None,
        body: None,
    }
}

impl Request {
    /// With a body.
    pub(crate) fn with(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    /// To the object's status.
    pub(crate) fn on_status(mut self) -> Self {
        self.subresource = Some("status".to_owned());
        self
    }

    /// As a dry run.
    pub(crate) fn dry(mut self) -> Self {
        self.query.insert("dryRun".to_owned(), "All".to_owned());
        self
    }
}

/// Single events.
impl Told {
    /// A request reaches the proxy. What follows is about it until the next one.
    pub(crate) fn request(&mut self, mut request: Request) -> &mut Self {
        self.request += 1;
        request.request = self.request;
        let kind = request.kind();
        self.asked = kind.map(|kind| (kind, request.name.clone().unwrap_or_default()));
        if let (Some(kind), "watch") = (kind, request.verb.as_str()) {
            self.watches.insert((request.from, kind), self.request);
        }
        self.tell(None, What::Request(Box::new(request)))
    }

    /// The number of the latest request.
    pub(crate) fn latest_request(&self) -> u64 {
        self.request
    }

    /// What follows is about an earlier request, to the same object; no further request can be told
    /// after it.
    pub(crate) fn back_to(&mut self, request: u64) -> &mut Self {
        self.request = request;
        self
    }

    pub(crate) fn sent(&mut self) -> &mut Self {
        self.sent_as(None)
    }

    /// It is sent on with another body.
    pub(crate) fn sent_as(&mut self, changed_body: Option<Value>) -> &mut Self {
        let sent = RequestSent { request: self.request, changed_body };
        self.tell(None, What::RequestSent(Box::new(sent)))
    }

    /// The API server answers with the object as it is, and the subject gets the answer.
    pub(crate) fn answered(&mut self) -> &mut Self {
        self.answers_with(Ending::Answered, 200, None)
    }

    /// The API server answers with the object as it is, and the subject does not get the answer.
    pub(crate) fn answer_lost(&mut self) -> &mut Self {
        self.answers_with(Ending::AnswerLost, 200, None)
    }

    /// The API server answers with a list of this kind.
    pub(crate) fn listed(&mut self) -> &mut Self {
        let order = self.order;
        let end = RequestEnded {
            items: Some(1),
            resource_version: Some(order.to_string()),
            ..self.end(Ending::Answered, 200)
        };
        self.tell(Some(order), What::RequestEnded(Box::new(end)))
    }

    /// The API server refuses.
    pub(crate) fn refused(&mut self, status: u16, reason: &str, message: &str) -> &mut Self {
        let refused = Refused { reason: reason.to_owned(), message: message.to_owned() };
        self.answers_with(Ending::Answered, status, Some(refused))
    }

    /// A fault refuses in the API server's place.
    pub(crate) fn refused_instead(&mut self, status: u16) -> &mut Self {
        let message = "a fault of the scenario".to_owned();
        let refused = Some(Refused { reason: "Forbidden".to_owned(), message });
        self.answers_with(Ending::AnsweredInstead, status, refused)
    }

    /// It ends without any answer of the API server's.
    pub(crate) fn unanswered(&mut self, ending: Ending) -> &mut Self {
        let end = RequestEnded { status: None, ..self.end(ending, 0) };
        self.tell(None, What::RequestEnded(Box::new(end)))
    }

    fn end(&self, ending: Ending, status: u16) -> RequestEnded {
        RequestEnded {
            request: self.request,
            ending,
            status: Some(status),
            refused: None,
            uid: None,
            resource_version: None,
            items: None,
        }
    }

    fn answers_with(&mut self, ending: Ending, status: u16, refused: Option<Refused>) -> &mut Self {
        let object = self.asked.clone().filter(|_| refused.is_none());
        let known = object.and_then(|object| Some((self.now_at(&object)?, object)));
        let order = known.as_ref().map(|(order, _)| *order);
        let end = RequestEnded {
            refused,
            uid: known.map(|(_, object)| self.uid(&object)),
            resource_version: order.map(|order| order.to_string()),
            ..self.end(ending, status)
        };
        self.tell(order, What::RequestEnded(Box::new(end)))
    }

    fn uid(&self, object: &(Kind, String)) -> String {
        let uid = self.objects.get(object).map(|it| &it["metadata"]["uid"]);
        uid.and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// The version of an object as it is.
    pub(crate) fn now_at(&self, object: &(Kind, String)) -> Option<u64> {
        self.versions.get(object).copied()
    }

    /// The latest watch of a subject delivers an object as it is.
    pub(crate) fn delivered(&mut self, to: Subject, kind: Kind, name: &str) -> &mut Self {
        let object = (kind, name.to_owned());
        let order = self.now_at(&object);
        let delivered = Delivered {
            request: self.watches[&(to, kind)],
            type_: "MODIFIED".to_owned(),
            name: Some(name.to_owned()),
            uid: Some(self.uid(&object)),
            resource_version: order.map(|order| order.to_string()),
        };
        self.tell(order, What::Delivered(Box::new(delivered)))
    }
}

impl Told {
    /// Something happens with a fault, about the latest request.
    pub(crate) fn fault(&mut self, change: FaultChange) -> &mut Self {
        let request = Some(self.request);
        let fault = FaultChanged { fault: "fault".to_owned(), change, request };
        self.tell(Some(self.order), What::Fault(fault))
    }
}

/// Whole exchanges.
impl Told {
    pub(crate) fn reads(&mut self, from: Subject, kind: Kind, name: &str) -> &mut Self {
        self.request(ask(from, "get", kind, name)).sent().answered()
    }

    pub(crate) fn lists(&mut self, from: Subject, kind: Kind) -> &mut Self {
        self.request(ask(from, "list", kind, "")).sent().listed()
    }

    pub(crate) fn watches(&mut self, from: Subject, kind: Kind) -> &mut Self {
        self.request(ask(from, "watch", kind, "")).sent()
    }

    /// A request that makes one version, and is answered with it.
    pub(crate) fn writes(
        &mut self,
        request: Request,
        change: impl FnOnce(&mut Value),
    ) -> &mut Self {
        self.request(request).sent();
        let (kind, name) = self.asked.clone().unwrap();
        self.change(kind, &name, change).answered()
    }

    /// The body of a write of an object with the version that the object has now.
    pub(crate) fn body(&self, kind: Kind, name: &str, mut body: Value) -> Value {
        let version = self.now_at(&(kind, name.to_owned())).unwrap();
        body["metadata"]["resourceVersion"] = json!(version.to_string());
        body
    }
}

/// What a raise writes.
pub(crate) fn raise_body(a: u64) -> Value {
    let a = a.to_string();
    json!({
        "metadata": {"annotations": {names::ADMISSION_COUNT: a}},
        "spec": {"runtimePatches": [{"manager": names::RUNTIME_PATCH_MANAGER,
            "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs":
                super::replicated(&a)}}}}]},
    })
}

/// What a write of the check writes.
pub(crate) fn check_body(state: &str) -> Value {
    json!({"status": {"admissionChecks": [
        {"name": CHECK, "state": state, "message": "by the controller"}]}})
}

/// The controller's requests.
impl Told {
    /// The raise, from the version that the object has now.
    pub(crate) fn raises_by(&mut self, from: Subject, a: u64) -> &mut Self {
        let body = self.body(Kind::TrainJob, NAME, raise_body(a));
        self.writes(ask(from, "patch", Kind::TrainJob, NAME).with(body), |it| raise(it, a))
    }

    /// The write of the check, from the version that the Workload has now.
    pub(crate) fn sets_by(&mut self, from: Subject, state: &str) -> &mut Self {
        let body = self.body(Kind::Workload, "workload", check_body(state));
        let request = ask(from, "patch", Kind::Workload, "workload").on_status().with(body);
        self.writes(request, |it| set_check(it, state, "by the controller"))
    }

    /// The reads of a pass, from Workload to pods.
    pub(crate) fn looks(&mut self, from: Subject) -> &mut Self {
        self.reads(from, Kind::Workload, "workload").reads(from, Kind::TrainJob, NAME);
        self.looks_below(from)
    }

    /// The reads below the `TrainJob`.
    pub(crate) fn looks_below(&mut self, from: Subject) -> &mut Self {
        self.reads(from, Kind::JobSet, NAME).lists(from, Kind::Job).lists(from, Kind::Pod)
    }

    /// A pass from quota to Ready, with every request of it.
    pub(crate) fn approves_by(&mut self, from: Subject, a: u64) -> &mut Self {
        self.looks(from).raises_by(from, a).takes_over(a).looks_below(from).sets_by(from, "Ready")
    }

    /// From quota to running, with every request of the controller's.
    pub(crate) fn goes_by(&mut self, from: Subject, a: u64) -> &mut Self {
        self.approves_by(from, a).admits().resumes().pod(&format!("pod-{a}"), &a.to_string())
    }
}

/// The adapter's requests.
impl Told {
    /// The body of the create.
    pub(crate) fn created_body() -> Value {
        let mut body = super::trainjob();
        let metadata = body["metadata"].as_object_mut().unwrap();
        metadata.remove("uid");
        metadata.remove("generation");
        body["spec"]["runtimePatches"].as_array_mut().unwrap().remove(0);
        body
    }

    /// The create as a dry run, and then for good.
    pub(crate) fn creates_by(&mut self, from: Subject, body: &Value) -> &mut Self {
        self.creates_with(from, body, |_| {})
    }

    /// The same, and others change the object as it is created.
    pub(crate) fn creates_with(
        &mut self,
        from: Subject,
        body: &Value,
        change: impl FnOnce(&mut Value),
    ) -> &mut Self {
        let create = || ask(from, "create", Kind::TrainJob, NAME).with(body.clone());
        self.request(create().dry()).sent().answered();
        self.request(create()).sent().create_trainjob_with(change).answered()
    }

    /// Start, with every request of it.
    pub(crate) fn starts_by(&mut self, from: Subject) -> &mut Self {
        self.calls_with(Verb::Start, super::start_input());
        self.creates_by(from, &Self::created_body()).reads(from, Kind::TrainJob, NAME);
        self.create_jobset().watches(from, Kind::Workload).create_workload().lists_check();
        self.delivered(from, Kind::Workload, "workload");
        self.answers(json!({"name": NAME, "uid": UID}))
    }

    /// The update of Open, from the version that the object has now.
    pub(crate) fn opens_gate_by(&mut self, from: Subject) -> &mut Self {
        let body = self.body(
            Kind::TrainJob,
            NAME,
            json!({"metadata": {"annotations": {
                names::ADMISSION_GATED_BY: null, names::OPENED: "true"}}}),
        );
        self.writes(ask(from, "patch", Kind::TrainJob, NAME).with(body), super::open)
    }

    /// Open, with every request of it.
    pub(crate) fn opens_by(&mut self, from: Subject) -> &mut Self {
        self.calls(Verb::Open).reads(from, Kind::TrainJob, NAME).opens_gate_by(from);
        self.answers(json!({})).ungates()
    }

    /// Opened, with quota, and nothing decided yet, with every request of the adapter's.
    pub(crate) fn waits_by(&mut self, from: Subject) -> &mut Self {
        self.starts_by(from).opens_by(from).reserves()
    }
}
