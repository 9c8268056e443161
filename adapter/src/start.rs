//! Start: an object is created closed, and given back only when it is what was asked for.

use dispatch_contract::resources::{LocalQueue, TrainJob};
use dispatch_contract::{CallError, ErrorKind, ObjectRef, StartAnswer, StartRequest, names};
use dispatch_kubernetes::ended;
use dispatch_kubernetes::request::{Outcome, Request, RequestError, send, send_optional};
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::{Api, ResourceExt};
use serde_json::Value;

use crate::Adapter;
use crate::error::{fail, invalid, of_request};
use crate::priority;
use crate::stop::{self, Unopened};
use crate::write::{Budget, TRAINJOBS, manager};

mod body;
mod canonical;
mod compare;
mod input;
mod leftovers;
mod runtime;
mod workload;

pub use body::object;
pub(crate) use body::{Labels, body};
pub use compare::{Difference, differences};
pub(crate) use input::input;
pub use input::{Input, check as check_input};
pub use leftovers::found as leftovers;
pub use runtime::Runtime;
pub(crate) use runtime::{is_unseen as is_unseen_runtime, judge as judge_runtime};
pub use workload::{WorkloadVerdict, judge_workload};

pub(crate) async fn start(
    adapter: &Adapter,
    request: &StartRequest,
) -> Result<StartAnswer, CallError> {
    adapter.decisions().input(request, adapter.config())?;
    let input = input(request, adapter.config());
    let runtime = runtime::resolve(adapter, &input.request.runtime_ref).await?;
    let written = adapter.decisions().object(adapter.namespace(), &input, &runtime);
    let found = match read_raw(adapter, &input.request.name).await? {
        Some(found) => found,
        None => create(adapter, &input, &written).await?,
    };
    let object = accept(adapter, &input, &written, found).await?;
    Ok(StartAnswer { name: object.name, uid: object.uid, warnings: runtime.warnings })
}

/// Creates the object, after everything that can refuse it beforehand.
async fn create(adapter: &Adapter, input: &Input, written: &Value) -> Result<Value, CallError> {
    let name = &input.request.name;
    queue_exists(adapter, &input.queue).await?;
    priority_exists(adapter, input.request.priority_class.as_deref()).await?;
    leftovers::check(adapter, name).await?;
    if let Some(answer) = dry_run(adapter, input, written).await? {
        let differences = adapter.decisions().rehearsed(written, &answer);
        if !differences.is_empty() {
            let mut error = refusal(adapter, name, &differences, "SG-08");
            error.message.push_str("; nothing was created");
            return Err(error);
        }
    }
    send_create(adapter, name, written).await?;
    // Read anew: what the create answered is not what others may have made of the object since.
    read_raw(adapter, name).await?.ok_or_else(|| {
        let message = format!(
            "TrainJob {}/{name} was created, and is gone again: somebody deletes it",
            adapter.namespace()
        );
        fail(ErrorKind::Refused, message, &["SG-03"])
    })
}

/// The same create as a dry run (SG-08). `None` when the name has been taken meanwhile.
async fn dry_run(
    adapter: &Adapter,
    input: &Input,
    written: &Value,
) -> Result<Option<Value>, CallError> {
    let params = PostParams { dry_run: true, field_manager: Some(manager()) };
    let runtime = &input.request.runtime_ref.name;
    match post(adapter, &input.request.name, &params, written).await {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.outcome == Outcome::Exists => Ok(None),
        // Whatever a dry run did, it changed nothing.
        Err(error) if error.outcome == Outcome::Unknown => {
            Err(fail(ErrorKind::Unavailable, error.to_string(), &["SG-08"]))
        }
        Err(error) if is_unseen_runtime(&error, runtime) => {
            let message = format!(
                "the runtime {runtime} is there, and the cluster's webhooks have not seen it yet: \
                 {}; try again",
                error.message
            );
            Err(fail(ErrorKind::Unavailable, message, &["SG-08"]))
        }
        Err(error) if error.outcome == Outcome::Denied => {
            let message = format!("the cluster takes no such TrainJob: {}", error.message);
            Err(fail(ErrorKind::Invalid, message, &["CA-06", "SG-08"]))
        }
        Err(error) => Err(of_request(error)),
    }
}

/// Sends the create until it is known that an object of the name is there.
async fn send_create(adapter: &Adapter, name: &str, written: &Value) -> Result<(), CallError> {
    let params = PostParams { dry_run: false, field_manager: Some(manager()) };
    let budget = Budget::new(adapter.limits().request);
    loop {
        match post(adapter, name, &params, written).await {
            Ok(_) => return Ok(()),
            Err(error) if error.outcome == Outcome::Exists => return Ok(()),
            Err(error) if error.outcome == Outcome::Unknown => {
                let found = read_raw(adapter, name).await;
                match found {
                    Ok(Some(_)) => return Ok(()),
                    Ok(None) if !budget.is_spent() => {}
                    Ok(None) | Err(_) => return Err(of_request(error)),
                }
            }
            Err(error) => return Err(of_request(error)),
        }
    }
}

async fn post(
    adapter: &Adapter,
    name: &str,
    params: &PostParams,
    written: &Value,
) -> Result<Value, RequestError> {
    let api = raw_trainjobs(adapter);
    let request = Request::new("create", TRAINJOBS, format!("{}/{name}", adapter.namespace()));
    let object: DynamicObject =
        serde_json::from_value(written.clone()).map_err(|error| RequestError {
            request: request.clone(),
            outcome: Outcome::Denied,
            message: error.to_string(),
        })?;
    let answer = send(adapter.limits(), request, api.create(params, &object)).await?;
    Ok(as_value(&answer))
}

/// Reads the object as the API server has it, with every field.
async fn read_raw(adapter: &Adapter, name: &str) -> Result<Option<Value>, CallError> {
    let api = raw_trainjobs(adapter);
    let request = Request::new("get", TRAINJOBS, format!("{}/{name}", adapter.namespace()));
    let found = send_optional(adapter.limits(), request, api.get(name)).await;
    Ok(found.map_err(of_request)?.map(|object| as_value(&object)))
}

fn raw_trainjobs(adapter: &Adapter) -> Api<DynamicObject> {
    let resource = ApiResource::erase::<TrainJob>(&());
    Api::namespaced_with(adapter.client().clone(), adapter.namespace(), &resource)
}

fn as_value(object: &DynamicObject) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

/// Takes the object that is there under the name, or refuses it (SG-03, SG-05 to SG-07).
async fn accept(
    adapter: &Adapter,
    input: &Input,
    written: &Value,
    found: Value,
) -> Result<ObjectRef, CallError> {
    let name = &input.request.name;
    let trainjob: TrainJob = serde_json::from_value(found.clone()).map_err(|error| {
        let message = format!("TrainJob {}/{name} cannot be read: {error}", adapter.namespace());
        fail(ErrorKind::Refused, message, &["SG-07"])
    })?;
    // Of other input, it is left alone.
    adapter.decisions().same_input(&trainjob, &input.digest).map_err(|why| {
        let place = format!("TrainJob {}/{name}", adapter.namespace());
        fail(ErrorKind::Refused, format!("{place} {why}"), &["SG-07"])
    })?;
    let object = ObjectRef { name: name.clone(), uid: trainjob.uid().unwrap_or_default() };
    // Opened or ended, it is recorded long since: what happened to it is told by Status, and no
    // repeat of Start may stop it.
    if trainjob.is_opened() || ended::how(&trainjob, None).is_some() {
        return Ok(object);
    }
    let differences = adapter.decisions().differences(written, &found);
    let refused = if differences.is_empty() {
        workload::wait(adapter, &object).await.err()
    } else {
        Some(refusal(adapter, name, &differences, "SG-03"))
    };
    match refused {
        None => Ok(object),
        // What may pass does not make the object another one: it stays, closed.
        Some(error) if !matches!(error.kind, ErrorKind::Refused | ErrorKind::Deadline) => {
            Err(error)
        }
        Some(error) => stop_refused(adapter, object, error).await,
    }
}

/// Whether an object was made from the input of this digest; if not, why not, in words that follow its
/// name (SG-07).
pub fn same_input(trainjob: &TrainJob, digest: &str) -> Result<(), String> {
    if trainjob.metadata.deletion_timestamp.is_some() {
        return Err("is there and is being deleted; try again once it is gone".to_owned());
    }
    match trainjob.annotation(names::SPEC_DIGEST) {
        Some(found) if found == digest => Ok(()),
        Some(found) => Err(format!(
            "exists and was started from other input: its annotation {} is {found}, and this input \
             gives {digest}; it is left as it is",
            names::SPEC_DIGEST
        )),
        None => Err(format!(
            "exists and was not made by Start: it lacks the annotation {}; it is left as it is",
            names::SPEC_DIGEST
        )),
    }
}

/// Stops a refused object, unless somebody opened it meanwhile: then it is recorded, and it was the
/// opening that made it differ (SG-06).
async fn stop_refused(
    adapter: &Adapter,
    object: ObjectRef,
    mut refusal: CallError,
) -> Result<ObjectRef, CallError> {
    let then = match stop::delete_unopened(adapter, &object).await {
        Ok(Unopened::Opened) => return Ok(object),
        Ok(Unopened::Deleted) => "it was stopped".to_owned(),
        Err(error) => {
            format!("it is closed, and could not be stopped ({}); stop it", error.message)
        }
    };
    refusal.message = format!("{}; {then}", refusal.message);
    Err(refusal)
}

fn refusal(adapter: &Adapter, name: &str, differences: &[Difference], rule: &str) -> CallError {
    let fields: Vec<_> = differences.iter().map(ToString::to_string).collect();
    let place = format!("TrainJob {}/{name}", adapter.namespace());
    let message = format!("{place} is not what was written: {}", fields.join("; "));
    fail(ErrorKind::Refused, message, &[rule, "SG-06"])
}

async fn queue_exists(adapter: &Adapter, queue: &str) -> Result<(), CallError> {
    let namespace = adapter.namespace();
    let api = Api::<LocalQueue>::namespaced(adapter.client().clone(), namespace);
    let request = Request::new("get", "localqueues.kueue.x-k8s.io", format!("{namespace}/{queue}"));
    match send_optional(adapter.limits(), request, api.get(queue)).await.map_err(of_request)? {
        Some(_) => Ok(()),
        None => Err(invalid("queue", format!("there is no LocalQueue {namespace}/{queue}"))),
    }
}

/// Kueue makes no Workload for a priority that it does not know.
async fn priority_exists(adapter: &Adapter, class: Option<&str>) -> Result<(), CallError> {
    match class {
        Some(class) if !priority::exists(adapter, class).await? => {
            Err(invalid("priorityClass", format!("there is no WorkloadPriorityClass {class}")))
        }
        _ => Ok(()),
    }
}
