//! The probe: a closed `TrainJob` that would be admitted were it not closed, and that nothing could
//! schedule if it were (PF-01, PF-05, PF-07).

use std::time::Duration;

use dispatch_contract::{CallError, ErrorKind, ObjectRef, RuntimeRef, StartRequest, names};
use dispatch_kubernetes::request::{Outcome, Request, RequestError, send};
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::{Api, ResourceExt};
use serde_json::Value;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

use super::probe_runtime::{PREFIX, RUNTIMES, remove_runtime, runtime, runtime_api};
use super::watch::{Eyes, Glimpse};
use super::{Findings, PROBE_WINDOW, ProbeVerdict, leftovers};
use crate::Adapter;
use crate::error::of_request;
use crate::priority;
use crate::start::{Input, Labels, body, is_unseen_runtime, judge_runtime};
use crate::stop::stop;
use crate::write::{Step, TRAINJOBS, annotations_patch, manager, read_by_name, settle};

/// How often a preflight renews its probe, so that others see that it lives. Several times within
/// the window that they watch for.
const RENEWAL: Duration = Duration::from_secs(2);

/// How often the create is tried again while a webhook's cache lacks the probe's runtime. There is
/// nothing to watch: the caches are inside Trainer and Kueue.
const CACHE_PACE: Duration = Duration::from_millis(100);

/// Makes a probe, watches it, and removes it whatever was seen; beside it, removes probes that
/// crashed preflights left.
pub(super) async fn run(adapter: &Adapter) -> Result<Findings, CallError> {
    let name = format!("{PREFIX}{}", adapter.entropy().token());
    let probe = async {
        let proved = prove(adapter, &name).await;
        let removed = remove(adapter, &name).await;
        proved.map(|mut findings| {
            findings.warnings.extend(removed);
            findings
        })
    };
    let (probe, swept) = tokio::join!(probe, leftovers::sweep(adapter, &name));
    let mut findings = probe?;
    findings.warnings.extend(swept);
    Ok(findings)
}

async fn prove(adapter: &Adapter, name: &str) -> Result<Findings, CallError> {
    let mut findings = Findings::default();
    let Some(queue) = adapter.config().queue.clone() else { return Ok(findings) };
    let deadline = Instant::now() + adapter.config().timeouts.workload;
    let mut eyes = Eyes::open(adapter, name, deadline).await?;
    let created = match create(adapter, name, &queue, deadline).await {
        Ok(created) => created,
        Err(error) if error.kind == ErrorKind::Forbidden => return Err(error),
        Err(error) => {
            findings.reason("PF-07", format!("the probe could not be made: {}", error.message));
            return Ok(findings);
        }
    };
    let verdict = watched(adapter, &created, &mut eyes, deadline).await?;
    match verdict {
        ProbeVerdict::Gated => {}
        ProbeVerdict::Leak(why) => findings.reason("PF-01", format!("the gate leaks: {why}")),
        ProbeVerdict::NotYet(why) => findings.reason(
            "PF-07",
            format!(
                "the gate is unproved: within {} s Kueue did not say that it holds the probe back; \
                 {why}",
                adapter.config().timeouts.workload.as_secs_f64()
            ),
        ),
        ProbeVerdict::Unproved(why) => {
            findings.reason("PF-07", format!("the gate is unproved: {why}"));
        }
    }
    Ok(findings)
}

/// Watches the probe until it leaks, or the window has passed since Kueue held it back, or Kueue
/// has not held it back by the deadline. Renews the probe meanwhile.
async fn watched(
    adapter: &Adapter,
    probe: &ObjectRef,
    eyes: &mut Eyes,
    mut deadline: Instant,
) -> Result<ProbeVerdict, CallError> {
    let mut sightings = Vec::new();
    let mut renewals = interval(RENEWAL);
    renewals.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut renewed = 0_u64;
    let mut held = false;
    loop {
        let verdict = adapter.decisions().probe(&sightings);
        match &verdict {
            ProbeVerdict::Leak(_) | ProbeVerdict::Unproved(_) => return Ok(verdict),
            ProbeVerdict::Gated if !held => {
                held = true;
                deadline = Instant::now() + PROBE_WINDOW;
            }
            ProbeVerdict::Gated | ProbeVerdict::NotYet(_) => {}
        }
        tokio::select! {
            biased;
            glimpse = timeout_at(deadline, eyes.next(probe)) => match glimpse {
                Ok(Glimpse::Seen(sighting)) => sightings.push(sighting),
                Ok(Glimpse::Failed(error)) => return Err(error),
                Err(_) => return Ok(verdict),
            },
            _ = renewals.tick() => {
                renewed += 1;
                renew(adapter, probe, renewed).await;
            }
        }
    }
}

/// Shows others that this preflight lives. One that fails is made up for by the next.
async fn renew(adapter: &Adapter, probe: &ObjectRef, number: u64) {
    let number = number.to_string();
    let decide = |trainjob: &dispatch_contract::resources::TrainJob| {
        if trainjob.annotation(names::PROBE_RENEWED) == Some(number.as_str()) {
            return Step::Done(());
        }
        Step::Write(annotations_patch(trainjob, &[(names::PROBE_RENEWED, Some(&number))]))
    };
    let settled =
        settle(adapter.client(), adapter.limits(), adapter.namespace(), probe, decide).await;
    if let Err(error) = settled {
        tracing::debug!(%error, probe = probe.name, "the probe was not renewed");
    }
}

/// Makes the probe's runtime, then the probe.
async fn create(
    adapter: &Adapter,
    name: &str,
    queue: &str,
    deadline: Instant,
) -> Result<ObjectRef, CallError> {
    let namespace = adapter.namespace();
    let params = PostParams { dry_run: false, field_manager: Some(manager()) };
    let runtimes = runtime_api(adapter);
    let made = post(adapter, &runtimes, RUNTIMES, &params, runtime(namespace, name)).await;
    let spec = made.map_err(of_request)?.data["spec"].take();
    let runtime = judge_runtime("TrainingRuntime", name, &spec)?;
    // A probe that leaks must not preempt anybody.
    let class = priority::lowest(adapter).await?;
    let input = probe_input(name, queue, class);
    let written = body(namespace, &input, &runtime, Labels::Probe);
    let resource = ApiResource::erase::<dispatch_contract::resources::TrainJob>(&());
    let api = Api::namespaced_with(adapter.client().clone(), namespace, &resource);
    let mut pace = interval(CACHE_PACE);
    loop {
        pace.tick().await;
        match post(adapter, &api, TRAINJOBS, &params, written.clone()).await {
            Ok(answer) => {
                let uid = answer.uid().unwrap_or_default();
                return Ok(ObjectRef { name: name.to_owned(), uid });
            }
            Err(error) if is_unseen_runtime(&error, name) && Instant::now() < deadline => {}
            Err(error) if error.outcome == Outcome::Unknown => {
                let found =
                    read_by_name(adapter.client(), adapter.limits(), namespace, name).await?;
                let uid = found.and_then(|found| found.uid()).ok_or_else(|| of_request(error))?;
                return Ok(ObjectRef { name: name.to_owned(), uid });
            }
            Err(error) => return Err(of_request(error)),
        }
    }
}

async fn post(
    adapter: &Adapter,
    api: &Api<DynamicObject>,
    resource: &'static str,
    params: &PostParams,
    body: Value,
) -> Result<DynamicObject, RequestError> {
    let name = body["metadata"]["name"].as_str().unwrap_or_default();
    let request = Request::new("create", resource, format!("{}/{name}", adapter.namespace()));
    let object: DynamicObject = serde_json::from_value(body).map_err(|error| RequestError {
        request: request.clone(),
        outcome: Outcome::Denied,
        message: error.to_string(),
    })?;
    send(adapter.limits(), request, api.create(params, &object)).await
}

fn probe_input(name: &str, queue: &str, priority_class: Option<String>) -> Input {
    let runtime_ref =
        RuntimeRef { kind: Some("TrainingRuntime".to_owned()), name: name.to_owned() };
    Input {
        request: StartRequest {
            name: name.to_owned(),
            runtime_ref,
            queue: None,
            priority_class,
            labels: [].into(),
            annotations: [(names::PROBE_RENEWED.to_owned(), "0".to_owned())].into(),
            trainer: None,
            initializer: None,
            active_deadline_seconds: None,
        },
        queue: queue.to_owned(),
        digest: "probe".to_owned(),
    }
}

/// Removes the probe and its runtime; what could not be removed is said.
async fn remove(adapter: &Adapter, name: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    let namespace = adapter.namespace();
    match read_by_name(adapter.client(), adapter.limits(), namespace, name).await {
        Ok(Some(trainjob)) => {
            let uid = trainjob.uid().unwrap_or_default();
            let object = ObjectRef { name: name.to_owned(), uid };
            warnings.extend(stop(adapter, &object).await.err().map(|error| error.message));
        }
        Ok(None) => {}
        Err(error) => warnings.push(error.message),
    }
    warnings.extend(remove_runtime(adapter, name, None).await.err().map(|error| error.message));
    warnings.iter().map(|why| format!("the probe {namespace}/{name} is left: {why}")).collect()
}

#[cfg(test)]
mod tests {
    use dispatch_contract::ObjectName;
    use dispatch_contract::resources::TrainJob;

    use super::*;

    #[test]
    fn a_probe_has_no_objects_name_and_is_closed_like_one() {
        let name = format!("{PREFIX}01arz3ndektsv4rrffq69g5fav");
        assert!(!ObjectName::matches(&name));
        let spec = runtime("n", &name)["spec"].take();
        let runtime = judge_runtime("TrainingRuntime", &name, &spec).unwrap();
        assert!(runtime.warnings.is_empty());
        let input = probe_input(&name, "q", None);
        let written = body("n", &input, &runtime, Labels::Probe);
        let trainjob: TrainJob = serde_json::from_value(written).unwrap();
        assert!(trainjob.gates().has_dispatch() && trainjob.is_suspended());
        assert!(trainjob.dispatch_patch().is_some(), "the controller would wave it through");
        // `<name>-node-0-0-` and five letters are the name of its pod.
        assert!(name.len() + "-node-0-0-abcde".len() <= 63);
    }
}
