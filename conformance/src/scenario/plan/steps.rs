//! The steps, in their order.

use std::collections::BTreeMap;

use serde_saphyr::Spanned;

use super::text::one_line;
use super::{Maker, Plan, place};
use crate::history::Verb;
use crate::scenario::file::{
    EndFile, FactFile, PreflightFile, ReleaseFile, ScenarioFile, StartFile, StatusFile, StepFile,
    SubmitFile, Text,
};
use crate::scenario::problem::{Problem, did_you_mean};
use crate::scenario::words::STATE_NAMES;
use crate::scenario::{Action, Component, Deadline, JobName, Place, Step, Target, TargetKind};

/// The jobs that steps make, with the line of the first that does.
pub(super) fn jobs_made(steps: &[Spanned<StepFile>]) -> BTreeMap<String, usize> {
    let made = steps.iter().filter_map(|step| match &step.value {
        StepFile::Start(start) if start.refused.is_none() => Some(&start.job),
        StepFile::Submit(submit) => Some(&submit.job),
        _ => None,
    });
    // Collected from the last to the first, so that the first one stays.
    made.rev().map(|job| (job.value.clone(), place(job).line)).collect()
}

/// Where the scenario first asks for other feature gates of Kueue's.
pub(super) fn restarts_kueue(file: &ScenarioFile) -> Option<Place> {
    let step = || file.steps.value.iter().find(|step| matches!(step.value, StepFile::Kueue(_)));
    file.given.kueue.as_ref().map(place).or_else(|| step().map(place))
}

/// Where the scenario first makes a component stand still.
pub(super) fn freezes(file: &ScenarioFile) -> Option<Place> {
    file.steps.value.iter().find(|step| matches!(step.value, StepFile::Freeze(_))).map(place)
}

impl Plan<'_> {
    pub(super) fn steps(&mut self, written: &Spanned<Vec<Spanned<StepFile>>>) -> Vec<Step> {
        if written.value.is_empty() {
            let problem = Problem::new(place(written), "the scenario has no step");
            self.refuse(problem.hint("such as `- start: { job: train, cpu: 1 }`"));
        }
        let steps = written.value.iter().filter_map(|step| {
            let text = one_line(self.text, place(step));
            let action = self.action(&step.value)?;
            Some(Step { place: place(step), text, action })
        });
        steps.collect()
    }

    fn action(&mut self, step: &StepFile) -> Option<Action> {
        match step {
            StepFile::Start(start) => self.start(start),
            StepFile::Submit(submit) => self.submit(submit),
            StepFile::Open(job) => {
                let job = self.called(Verb::Open, job)?;
                Some(Action::Open { job })
            }
            StepFile::Release(release) => self.release(release),
            StepFile::Status(status) => self.status(status),
            StepFile::List(jobs) => {
                self.calls.insert((Verb::List, None));
                let jobs = jobs.iter().filter_map(|job| self.dispatch_job(job)).collect();
                Some(Action::List { jobs })
            }
            StepFile::Preflight(preflight) => Some(self.preflight(preflight)),
            StepFile::Until(until) => self.until(until),
            StepFile::Linger(pods) => self.linger(pods),
            StepFile::LetGo(pods) => self.let_go(pods),
            StepFile::End(end) => self.end(end),
            StepFile::Delete(target) => {
                let target = self.target(target)?;
                Some(Action::Delete { target })
            }
            StepFile::StopController(replica) => self.stop_controller(replica),
            StepFile::StartController(replica) => self.start_controller(replica),
            StepFile::Kueue(kueue) => {
                Some(Action::Kueue { feature_gates: kueue.feature_gates.clone() })
            }
            StepFile::Freeze(component) => Some(self.freeze(component)),
            StepFile::Thaw(component) => Some(self.thaw(component)),
        }
    }

    fn start(&mut self, start: &StartFile) -> Option<Action> {
        let job = self.new_job(&start.job)?;
        self.cpu(&start.cpu);
        self.calls.insert((Verb::Start, Some(job.clone())));
        if start.refused.is_none() {
            self.jobs.insert(job.clone(), Maker::Dispatch);
        }
        let (cpu, priority, refused) = (start.cpu.value, start.priority, start.refused);
        Some(Action::Start { job, cpu, priority, refused })
    }

    fn submit(&mut self, submit: &SubmitFile) -> Option<Action> {
        let job = self.new_job(&submit.job)?;
        self.cpu(&submit.cpu);
        self.jobs.insert(job.clone(), Maker::Somebody(submit.kind));
        let (kind, cpu, labels) = (submit.kind, submit.cpu.value, submit.labels.clone());
        Some(Action::Submit { job, kind, cpu, labels })
    }

    /// The name of a job that is made here, and nowhere before.
    fn new_job(&mut self, text: &Text) -> Option<JobName> {
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

    fn cpu(&mut self, cpu: &Spanned<u32>) {
        if cpu.value == 0 || cpu.value > self.queue_cpu {
            let message = format!("the job asks for {} CPUs and would never run", cpu.value);
            let hint = format!("the queue has {}", self.queue_cpu);
            self.refuse(Problem::new(place(cpu), message).hint(hint));
        }
    }

    /// A job that the adapter is called for.
    fn called(&mut self, call: Verb, text: &Text) -> Option<JobName> {
        let job = self.dispatch_job(text)?;
        self.calls.insert((call, Some(job.clone())));
        Some(job)
    }

    fn release(&mut self, release: &ReleaseFile) -> Option<Action> {
        let job = self.called(Verb::Release, &release.job)?;
        Some(Action::Release { job, refused: release.refused })
    }

    fn status(&mut self, status: &StatusFile) -> Option<Action> {
        let job = self.called(Verb::Status, &status.job);
        let state = STATE_NAMES.into_iter().find(|name| *name == status.state.value);
        if state.is_none() {
            let message = format!("Status has no state `{}`", status.state.value);
            let hint = did_you_mean(&status.state.value, STATE_NAMES)
                .unwrap_or_else(|| format!("the states are {}", STATE_NAMES.join(", ")));
            self.refuse(Problem::new(place(&status.state), message).hint(hint));
        }
        Some(Action::Status { job: job?, state: state? })
    }

    fn preflight(&mut self, preflight: &PreflightFile) -> Action {
        self.calls.insert((Verb::Preflight, None));
        let because: Vec<_> = preflight.because.iter().filter_map(|rule| self.rule(rule)).collect();
        if let (false, Some(first)) = (preflight.observe_only, preflight.because.first()) {
            let problem = Problem::new(place(first), "a preflight that passes gives no reasons");
            self.refuse(problem.hint("say `observe-only: true`, or leave `because` out"));
        }
        Action::Preflight { observe_only: preflight.observe_only, because }
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

    fn stop_controller(&mut self, number: &Spanned<u32>) -> Option<Action> {
        let replica = self.replica(number)?;
        self.ever_stopped.insert(replica);
        if !self.stopped.insert(replica) {
            let problem =
                Problem::new(place(number), format!("replica {replica} is stopped already"));
            self.refuse(problem.hint(format!("add the step `start-controller: {replica}` before")));
        }
        Some(Action::StopController { replica })
    }

    fn start_controller(&mut self, number: &Spanned<u32>) -> Option<Action> {
        let replica = self.replica(number)?;
        if !self.stopped.remove(&replica) {
            let problem = Problem::new(place(number), format!("replica {replica} runs already"));
            self.refuse(problem.hint("every replica runs before the first step"));
        }
        Some(Action::StartController { replica })
    }

    fn freeze(&mut self, written: &Spanned<Component>) -> Action {
        let component = written.value;
        if !component.can_stand_still() {
            let message = format!("{} cannot be frozen", component.as_str());
            let hint = "its webhooks would not answer, and the API server would refuse writes of \
                        everybody else; hold its requests instead";
            self.refuse(Problem::new(place(written), message).hint(hint));
        } else if !self.frozen.insert(component) {
            let message = format!("{} stands still already", component.as_str());
            let hint = format!("add the step `thaw: {}` before", component.as_str());
            self.refuse(Problem::new(place(written), message).hint(hint));
        }
        Action::Freeze { component }
    }

    fn thaw(&mut self, written: &Spanned<Component>) -> Action {
        let component = written.value;
        if !self.frozen.remove(&component) && component.can_stand_still() {
            let message = format!("{} does not stand still", component.as_str());
            let hint = format!("add the step `freeze: {}` before", component.as_str());
            self.refuse(Problem::new(place(written), message).hint(hint));
        }
        Action::Thaw { component }
    }
}
