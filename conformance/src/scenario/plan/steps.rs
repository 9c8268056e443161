//! The steps, in their order.

use std::collections::BTreeMap;

use serde_saphyr::Spanned;

use super::text::one_line;
use super::{Maker, Plan, place};
use crate::scenario::file::{
    ApplyFile, DeleteFile, EditFile, EndFile, FactFile, ScenarioFile, StepFile, SubmitFile,
    SubmittedFile, Text,
};
use crate::scenario::problem::{Problem, did_you_mean};
use crate::scenario::{
    Action, Deadline, EditPatch, JobName, OwnThing, Place, Step, SubmitKind, Target, TargetKind,
    Thing,
};

const OWN_SIZE: &str = "the job does not say how large it is";
const SIZED: &str = "write such as `cpu: 1`, and no `like`";
const SIZE_OF_A_JOB: &str = "the Workload does not say which job's it is like, and no more";
const LIKE: &str = "write such as `submit: { job: theirs, kind: Workload, like: train }`";

/// The jobs that steps make, with the line of the first that does.
pub(super) fn jobs_made(steps: &[Spanned<StepFile>]) -> BTreeMap<String, usize> {
    let made = steps.iter().flat_map(|step| match &step.value {
        StepFile::Start(start) if start.refused.is_none() && !start.again => of_line(&start.job),
        StepFile::Submit(submit) => of_line(&submit.job),
        StepFile::AtOnce(calls) => jobs_made(&calls.value).into_iter().collect(),
        StepFile::Begin(call) => jobs_made(std::slice::from_ref(call)).into_iter().collect(),
        _ => Vec::new(),
    });
    // Collected from the last to the first, so that the first one stays.
    made.collect::<Vec<_>>().into_iter().rev().collect()
}

fn of_line(job: &Text) -> Vec<(String, usize)> {
    vec![(job.value.clone(), place(job).line)]
}

/// Where the scenario first asks for other feature gates of Kueue's.
pub(super) fn restarts_kueue(file: &ScenarioFile) -> Option<Place> {
    let step = || file.steps.value.iter().find(|step| matches!(step.value, StepFile::Kueue(_)));
    file.given.kueue.as_ref().map(place).or_else(|| step().map(place))
}

impl Plan<'_> {
    pub(super) fn steps(&mut self, written: &Spanned<Vec<Spanned<StepFile>>>) -> Vec<Step> {
        if written.value.is_empty() {
            let problem = Problem::new(place(written), "the scenario has no step");
            self.refuse(problem.hint("such as `- start: { job: train, cpu: 1 }`"));
        }
        let steps = written.value.iter().filter_map(|step| {
            let text = one_line(self.text, place(step));
            let action = self.action(step)?;
            Some(Step { place: place(step), text, action })
        });
        let steps = steps.collect();
        self.all_are_finished();
        steps
    }

    fn action(&mut self, step: &Spanned<StepFile>) -> Option<Action> {
        match &step.value {
            StepFile::Start(_)
            | StepFile::Open(_)
            | StepFile::Hold(_)
            | StepFile::Release(_)
            | StepFile::Stop(_)
            | StepFile::Status(_)
            | StepFile::List(_)
            | StepFile::Preflight(_) => self.call(step).map(Action::Call),
            StepFile::AtOnce(calls) => self.at_once(calls),
            StepFile::Begin(call) => self.begin(call),
            StepFile::Finish(call) => self.finish(call),
            StepFile::Submit(submit) => self.submit(submit),
            StepFile::Until(until) => self.until(until),
            StepFile::Linger(pods) => self.linger(pods),
            StepFile::LetGo(pods) => self.let_go(pods),
            StepFile::End(end) => self.end(end),
            StepFile::Delete(delete) => {
                let thing = self.thing(&DeleteFile::what(delete))?;
                let DeleteFile { propagation, force, .. } = delete.value;
                Some(Action::Delete { thing, propagation, force })
            }
            StepFile::Edit(edit) => self.edit(edit),
            StepFile::Apply(apply) => self.apply(apply),
            StepFile::Deactivate(job) => {
                let job = self.job(&job.value, place(job))?;
                Some(Action::Deactivate { job })
            }
            StepFile::Reactivate(job) => {
                let job = self.job(&job.value, place(job))?;
                Some(Action::Reactivate { job })
            }
            StepFile::Approve(job) => {
                self.foreign_check_is_there(place(job))?;
                let job = self.job(&job.value, place(job))?;
                Some(Action::Approve { job })
            }
            StepFile::Terminate(subject) => self.terminate(subject),
            StepFile::Kill(subject) => self.kill(subject),
            StepFile::Restart(subject) => self.restart(subject),
            StepFile::Kueue(kueue) => {
                Some(Action::Kueue { feature_gates: kueue.feature_gates.clone() })
            }
            StepFile::Freeze(subject) => self.freeze(subject),
            StepFile::Thaw(subject) => self.thaw(subject),
            StepFile::HoldBack(_)
            | StepFile::Stall(_)
            | StepFile::Slow(_)
            | StepFile::Answer(_)
            | StepFile::LoseRequest(_)
            | StepFile::LoseAnswer(_)
            | StepFile::KillAt(_)
            | StepFile::FreezeAt(_)
            | StepFile::Change(_)
            | StepFile::Silence(_)
            | StepFile::Cut(_)
            | StepFile::Expire(_) => self.fault(&step.value),
            StepFile::GoOn(fault) => self.go_on(fault),
            StepFile::InTurn(in_turn) => self.in_turn(in_turn),
        }
    }

    fn submit(&mut self, submit: &SubmitFile) -> Option<Action> {
        let job = self.new_job(&submit.job)?;
        let like = match &submit.like {
            Some(like) => Some(self.job(&like.value, place(like))?),
            None => None,
        };
        let (kind, what, hint) = match submit.kind {
            SubmittedFile::TrainJob => (Some(SubmitKind::TrainJob), OWN_SIZE, SIZED),
            SubmittedFile::Job => (Some(SubmitKind::Job), OWN_SIZE, SIZED),
            SubmittedFile::Workload => (None, SIZE_OF_A_JOB, LIKE),
        };
        self.jobs.insert(job.clone(), kind.map_or(Maker::Nobody, Maker::Somebody));
        match (kind, &submit.cpu, like) {
            (Some(kind), Some(cpu), None) => {
                self.cpu(cpu);
                let (cpu, labels) = (cpu.value, submit.labels.clone());
                Some(Action::Submit { job, kind, cpu, labels })
            }
            (None, None, Some(like)) if submit.labels.is_empty() => {
                Some(Action::SubmitWorkload { job, like })
            }
            _ => {
                self.refuse(Problem::new(place(&submit.job), what).hint(hint));
                None
            }
        }
    }

    /// The name of a job that is made here, and nowhere before.
    pub(super) fn new_job(&mut self, text: &Text) -> Option<JobName> {
        let name = self.name(&text.value, place(text))?;
        let problem = if name.is_probe() {
            Problem::new(place(text), "`probe` is the name of preflight's probes")
                .hint("give the job another name")
        } else if self.jobs.contains_key(&name) {
            let line = self.jobs_to_come.get(name.as_str()).copied().unwrap_or_default();
            Problem::new(place(text), format!("there is a job `{name}` already"))
                .hint(format!("it is made on line {line}; give this one another name"))
        } else {
            return Some(name);
        };
        self.refuse(problem);
        None
    }

    pub(super) fn cpu(&mut self, cpu: &Spanned<u32>) {
        if cpu.value == 0 || cpu.value > self.queue_cpu {
            let message = format!("the job asks for {} CPUs and would never run", cpu.value);
            let hint = format!("the queue has {}", self.queue_cpu);
            self.refuse(Problem::new(place(cpu), message).hint(hint));
        }
    }

    fn until(&mut self, until: &Spanned<FactFile>) -> Option<Action> {
        let fact = self.fact(until)?;
        let or_breaks = match &until.value.or_breaks {
            Some(rule) => Some(self.rule(rule)?),
            None => None,
        };
        Some(Action::Until { deadline: Deadline::of(&fact), fact, or_breaks })
    }

    /// The job of `pods-of <job>`.
    fn pods_of(&mut self, text: &Text) -> Option<JobName> {
        let target = self.target(text)?;
        if target.kind == TargetKind::Pods {
            return Some(target.of);
        }
        let problem = Problem::new(place(text), "only pods linger");
        self.refuse(problem.hint(format!("write `pods-of {}`", target.of)));
        None
    }

    /// Things of a job that is there by now.
    pub(super) fn target(&mut self, text: &Text) -> Option<Target> {
        match text.value.parse::<Target>() {
            Ok(target) => {
                self.job(target.of.as_str(), place(text))?;
                Some(target)
            }
            Err(why) => {
                let words = TargetKind::ALL.map(|kind| format!("`{} <job>`", kind.as_str()));
                let hint = format!("expected {}", words.join(", "));
                self.refuse(Problem::new(place(text), why).hint(hint));
                None
            }
        }
    }

    /// Something that an administrator edits or deletes.
    fn thing(&mut self, text: &Text) -> Option<Thing> {
        let own = OwnThing::ALL.into_iter().find(|thing| thing.as_str() == text.value);
        if let Some(own) = own {
            return Some(Thing::Own(own));
        }
        if text.value.contains(' ') {
            return self.target(text).map(Thing::Of);
        }
        let words = OwnThing::ALL.map(OwnThing::as_str);
        let hint = did_you_mean(&text.value, words).unwrap_or_else(|| {
            format!("expected such as `trainjob-of train`, or one of {}", words.join(", "))
        });
        let problem = Problem::new(place(text), format!("there is no `{}`", text.value));
        self.refuse(problem.hint(hint));
        None
    }

    fn edit(&mut self, edit: &EditFile) -> Option<Action> {
        let thing = self.thing(&edit.what)?;
        let patch = match (&edit.merge, &edit.patch) {
            (Some(merge), None) => {
                if !merge.value.is_object() {
                    let problem = Problem::new(place(merge), "the patch is not an object");
                    self.refuse(problem.hint("such as `merge: { spec: { suspend: false } }`"));
                }
                EditPatch::Merge(merge.value.clone())
            }
            (None, Some(patch)) => {
                if let Err(why) = serde_json::from_value::<json_patch::Patch>(patch.value.clone()) {
                    let problem = Problem::new(place(patch), format!("no JSON patch: {why}"));
                    let hint =
                        "such as `patch: [ { op: replace, path: /spec/suspend, value: false } ]`";
                    self.refuse(problem.hint(hint));
                }
                EditPatch::Json(patch.value.clone())
            }
            _ => {
                let problem = Problem::new(place(&edit.what), "the edit does not say one thing");
                self.refuse(problem.hint("write either `merge` or `patch`"));
                return None;
            }
        };
        Some(Action::Edit { thing, patch })
    }

    /// A field of an object of a job, which gets another owner.
    fn apply(&mut self, apply: &ApplyFile) -> Option<Action> {
        let target = self.target(&apply.what)?;
        if target.kind == TargetKind::Pods {
            let problem = Problem::new(place(&apply.what), "a field of one object is applied");
            self.refuse(problem.hint(format!("write such as `trainjob-of {}`", target.of)));
        }
        let field: Vec<_> = apply.field.value.split('.').map(str::to_owned).collect();
        if field.len() < 2 || field.iter().any(String::is_empty) {
            let message = format!("`{}` is not the path of a field", apply.field.value);
            let hint = "names of fields with dots between them, such as `spec.runtimeRef`";
            self.refuse(Problem::new(place(&apply.field), message).hint(hint));
        }
        Some(Action::Apply { target, field, manager: apply.manager.value.clone() })
    }

    fn linger(&mut self, text: &Text) -> Option<Action> {
        let job = self.pods_of(text)?;
        self.lingering.insert(job.clone());
        Some(Action::Linger { job })
    }

    fn let_go(&mut self, text: &Text) -> Option<Action> {
        let job = self.pods_of(text)?;
        if !self.lingering.remove(&job) {
            let problem = Problem::new(place(text), format!("the pods of `{job}` do not linger"));
            self.refuse(problem.hint(format!("add the step `linger: pods-of {job}` before")));
        }
        Some(Action::LetGo { job })
    }

    fn end(&mut self, end: &EndFile) -> Option<Action> {
        let job = self.job(&end.job.value, place(&end.job))?;
        Some(Action::End { job, end: end.end })
    }
}
