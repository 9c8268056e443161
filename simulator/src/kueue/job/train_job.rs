//! TrainJobs (Kueue `pkg/controller/jobs/trainjob/trainjob_controller.go`).

use serde_json::{Map, Value};

use super::pod_set::{Failed, PodSetInfo};
use super::stop::Stop;
use super::{Integration, job_set, merge_patch};
use crate::api::Request;
use crate::component::Plan;
use crate::kueue::names::{KUEUE, PATCH_MANAGER};
use crate::object::{Object, items, text};
use crate::resource::{Resource, TRAIN_JOB};
use crate::trainer;

const SOURCE: &str = "Kueue pkg/controller/jobs/trainjob/trainjob_controller.go";

/// A pod set for each replicated job.
pub(in crate::kueue) fn pod_sets<'a>(
    train_job: &Object,
    find: impl FnOnce(&'static Resource, &str, &str) -> Option<&'a Object>,
) -> Result<Vec<Value>, Failed> {
    Ok(job_set::pod_sets(&replicated_jobs(train_job, find)?))
}

/// The replicated jobs of the `JobSet` that it becomes, by its runtime as that is now: Kueue has
/// Trainer's library in it (Kueue `getChildJobSet`).
pub(super) fn replicated_jobs<'a>(
    train_job: &Object,
    find: impl FnOnce(&'static Resource, &str, &str) -> Option<&'a Object>,
) -> Result<Vec<Value>, Failed> {
    let name = text(train_job, "/spec/runtimeRef/name");
    let Some((kind, namespace, name)) = trainer::runtime_of(train_job) else {
        let kind = text(train_job, "/spec/runtimeRef/kind");
        return Err(Failed::ForNow(format!("unsupported runtime: {kind} {name}")));
    };
    let runtime = find(kind, namespace, name);
    let runtime = runtime.ok_or_else(|| Failed::ForNow(format!("runtime '{name}' not found")))?;
    let made = trainer::job_set(train_job, runtime);
    let made = made.map_err(|unsupported| Failed::Unsupported(unsupported.to_string()))?;
    Ok(items(&made, "/spec/replicatedJobs").to_vec())
}

/// Kueue `RunWithPodSetsInfo`: while it is suspended, Kueue's patch is set by a write of the whole
/// object; only then it is unsuspended, if it is still that version.
pub(super) fn start(
    train_job: &Object,
    replicated_jobs: usize,
    infos: &[PodSetInfo],
) -> Result<Plan, Failed> {
    if replicated_jobs != infos.len() {
        let got = infos.len();
        let why = format!("invalid podset infos: expecting {got} podset, got {replicated_jobs}");
        return Err(Failed::Permanently(why));
    }
    let jobs: Vec<Value> = infos.iter().map(PodSetInfo::patch).collect();
    let mut patched = train_job.clone();
    let Some(spec) = kueues_patch(&mut patched) else {
        return Err(Failed::ForNow("kueue runtime patch not found".to_owned()));
    };
    spec["replicatedJobs"] = jobs.into();
    let mut started = patched.clone();
    started["spec"]["suspend"] = false.into();
    let update = Request::update(TRAIN_JOB, typed(&patched), KUEUE);
    let unsuspend = merge_patch::strict(TRAIN_JOB, &patched, &started);
    Ok(Plan::one(update, SOURCE).then(unsuspend, SOURCE))
}

/// Kueue `Stop`: suspended by a write of the whole object; and once no Job counts active pods,
/// Kueue's patch is emptied. That write is made also where nothing is left to empty.
pub(super) fn stop(train_job: &Object) -> Stop {
    let mut plan = Plan::nothing();
    let mut at = train_job.clone();
    if !Integration::TrainJob.is_suspended(train_job) {
        at["spec"]["suspend"] = true.into();
        plan = plan.and(Request::update(TRAIN_JOB, typed(&at), KUEUE), SOURCE);
    }
    if Integration::TrainJob.is_active(train_job) {
        return Stop { plan, done: false };
    }
    let mut restored = at.clone();
    let Some(spec) = kueues_patch(&mut restored).and_then(Value::as_object_mut) else {
        return Stop { plan, done: false };
    };
    spec.remove("replicatedJobs");
    Stop { plan: plan.then(merge_patch::strict(TRAIN_JOB, &at, &restored), SOURCE), done: true }
}

/// The part of Kueue's entry among the runtime patches that Kueue changes.
fn kueues_patch(train_job: &mut Object) -> Option<&mut Value> {
    let patches = train_job.pointer_mut("/spec/runtimePatches")?.as_array_mut()?;
    let own = patches.iter_mut().find(|it| it["manager"] == PATCH_MANAGER)?;
    own.pointer_mut("/trainingRuntimeSpec/template/spec")
}

/// The object as Kueue's types write it: they leave out empty texts and lists (measured).
fn typed(train_job: &Object) -> Object {
    let mut typed = train_job.clone();
    for key in ["trainer", "initializer"] {
        if let Some(part) = typed["spec"].get_mut(key) {
            prune(part);
        }
    }
    typed
}

fn prune(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(prune);
            let kept = |value: &Value| {
                !value.is_null() && value != "" && value.as_array().is_none_or(|it| !it.is_empty())
            };
            *map =
                std::mem::take(map).into_iter().filter(|(_, it)| kept(it)).collect::<Map<_, _>>();
        }
        Value::Array(list) => list.iter_mut().for_each(prune),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::Verb;

    fn train_job(suspended: bool, active: i64) -> Object {
        json!({
            "metadata": {"name": "t", "namespace": "n", "resourceVersion": "5"},
            "spec": {
                "suspend": suspended,
                "trainer": {"env": [{"name": "X", "value": ""}], "args": []},
                "runtimePatches": [
                    {"manager": "a.b/c"},
                    {"manager": PATCH_MANAGER, "trainingRuntimeSpec": {"template": {"spec": {}}}},
                ],
            },
            "status": {"jobsStatus": [{"name": "node", "active": active}]},
        })
    }

    #[test]
    fn a_start_sets_the_patch_first_and_unsuspends_then() {
        let info = PodSetInfo { name: "node".to_owned(), ..PodSetInfo::default() };
        let plan = start(&train_job(true, 0), 1, &[info]).unwrap();
        let [update, patch] = &plan.requests[..] else { panic!("{plan:?}") };
        let Verb::Update(body, _) = &update.request.verb else { panic!("{update:?}") };
        assert_eq!(body["spec"]["suspend"], true);
        let jobs = &body["spec"]["runtimePatches"][1]["trainingRuntimeSpec"]["template"]["spec"];
        assert_eq!(jobs["replicatedJobs"][0]["name"], "node");
        assert_eq!(body["spec"]["trainer"], json!({"env": [{"name": "X"}]}));
        assert!(patch.follows);
        let Verb::MergePatch(body, _) = &patch.request.verb else { panic!("{patch:?}") };
        assert_eq!(body["spec"], json!({"suspend": false}));
    }

    #[test]
    fn without_its_patch_kueue_never_starts_it() {
        let mut train_job = train_job(true, 0);
        train_job["spec"]["runtimePatches"] = json!([]);
        let info = PodSetInfo::default();
        assert!(matches!(start(&train_job, 1, &[info]), Err(Failed::ForNow(_))));
        assert!(!stop(&train_job).done);
    }

    #[test]
    fn a_stop_waits_until_no_job_counts_active_pods() {
        let active = stop(&train_job(false, 1));
        assert!(!active.done);
        assert_eq!(active.plan.requests.len(), 1);
        let over = stop(&train_job(true, 0));
        assert!(over.done);
        let Verb::MergePatch(body, _) = &over.plan.requests[0].request.verb else { panic!() };
        assert_eq!(body, &json!({"metadata": {"resourceVersion": "5"}}));
    }
}
