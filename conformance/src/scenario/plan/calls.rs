//! Steps that call the adapter.

use std::collections::BTreeSet;

use dispatch_contract::ErrorKind;
use serde_saphyr::Spanned;

use super::processes::ADAPTER;
use super::{Maker, Plan, place};
use crate::history::Verb;
use crate::scenario::file::{JobCallFile, PreflightFile, StartFile, StatusFile, StepFile, Text};
use crate::scenario::problem::{Problem, did_you_mean};
use crate::scenario::words::STATE_NAMES;
use crate::scenario::{Action, AdapterCall, CallEnd, Expected, JobName, Place};

/// The most pods that a job of a scenario has.
const PODS_GREATEST: u32 = 8;

impl Plan<'_> {
    /// A call; `None` of a step that is none, and of one that was refused.
    pub(super) fn call(&mut self, step: &Spanned<StepFile>) -> Option<AdapterCall> {
        self.adapter_answers(place(step));
        match &step.value {
            StepFile::Start(start) => self.start(start),
            StepFile::Open(call) => {
                let (job, end) = self.job_call(Verb::Open, call)?;
                Some(AdapterCall::Open { job, end })
            }
            StepFile::Hold(call) => {
                let (job, end) = self.job_call(Verb::Hold, call)?;
                Some(AdapterCall::Hold { job, end })
            }
            StepFile::Release(call) => {
                let (job, end) = self.job_call(Verb::Release, call)?;
                Some(AdapterCall::Release { job, end })
            }
            StepFile::Stop(call) => {
                let (job, end) = self.job_call(Verb::Stop, call)?;
                Some(AdapterCall::Stop { job, end })
            }
            StepFile::Status(status) => self.status(status),
            StepFile::List(jobs) => {
                self.calls.insert((Verb::List, None));
                let jobs = jobs.iter().filter_map(|job| self.dispatch_job(job)).collect();
                Some(AdapterCall::List { jobs })
            }
            StepFile::Preflight(preflight) => Some(self.preflight(preflight)),
            _ => None,
        }
    }

    /// Calls that are sent together.
    pub(super) fn at_once(&mut self, written: &Spanned<Vec<Spanned<StepFile>>>) -> Option<Action> {
        if written.value.len() < 2 {
            let problem = Problem::new(place(written), "`at-once` has fewer than two calls");
            self.refuse(problem.hint("write the one call by itself"));
        }
        let mut calls = Vec::new();
        let mut unanswered = BTreeSet::new();
        for step in &written.value {
            if !is_call(&step.value) {
                let problem =
                    Problem::new(place(step), "only calls of the adapter are made at once");
                self.refuse(problem.hint("make it a step of its own"));
                continue;
            }
            let Some(call) = self.call(step) else { continue };
            // Its UID is not known before the answer.
            if let AdapterCall::Start { job, .. } = &call
                && self.unanswered.insert(job.clone())
            {
                unanswered.insert(job.clone());
            }
            calls.push(call);
        }
        self.unanswered.retain(|job| !unanswered.contains(job));
        (calls.len() == written.value.len()).then_some(Action::AtOnce(calls))
    }

    fn start(&mut self, start: &StartFile) -> Option<AdapterCall> {
        let at = place(&start.job);
        let job =
            if start.again { self.dispatch_job(&start.job) } else { self.new_job(&start.job) }?;
        self.cpu(&start.cpu);
        let pods = start.pods.as_ref().map_or(1, |pods| pods.value);
        if let Some(written) = &start.pods {
            self.within(written, "pods", PODS_GREATEST);
        }
        let named_as = match &start.named_as {
            Some(text) => Some(self.dispatch_job(text)?),
            None => None,
        };
        self.calls.insert((Verb::Start, Some(job.clone())));
        let end = self.end_of(at, start.refused, start.cut_off, start.repeat)?;
        match end.expected {
            Expected::Success => drop(self.unanswered.remove(&job)),
            Expected::CutOff if !start.again => drop(self.unanswered.insert(job.clone())),
            Expected::CutOff | Expected::Refusal(_) => {}
        }
        if start.refused.is_none() {
            self.jobs.insert(job.clone(), Maker::Dispatch);
        }
        let StartFile { priority, deadline, again, .. } = *start;
        let (cpu, labels) = (start.cpu.value, start.labels.clone());
        Some(AdapterCall::Start {
            job,
            cpu,
            pods,
            labels,
            named_as,
            priority,
            deadline,
            again,
            end,
        })
    }

    /// A call for a job that has an answer to its Start.
    fn job_call(&mut self, verb: Verb, call: &Spanned<JobCallFile>) -> Option<(JobName, CallEnd)> {
        let text = JobCallFile::job(call);
        let job = self.called(verb, &text)?;
        let JobCallFile { refused, cut_off, repeat, .. } = call.value;
        Some((job, self.end_of(place(&text), refused, cut_off, repeat)?))
    }

    /// A job that the adapter is called for by its UID.
    fn called(&mut self, call: Verb, text: &Text) -> Option<JobName> {
        let job = self.dispatch_job(text)?;
        if self.unanswered.contains(&job) {
            let message = format!("the UID of `{job}` is not known here");
            let hint = format!(
                "its Start has no answer; add a step `start: {{ job: {job}, again: true, … }}` before"
            );
            self.refuse(Problem::new(place(text), message).hint(hint));
        }
        self.calls.insert((call, Some(job.clone())));
        Some(job)
    }

    /// That the adapter is there to be called.
    fn adapter_answers(&mut self, at: Place) {
        let (what, before) = if self.stopped.contains(&ADAPTER) {
            ("has ended", "restart")
        } else if self.frozen.contains(&ADAPTER) {
            ("stands still", "thaw")
        } else {
            return;
        };
        let problem = Problem::new(at, format!("the adapter {what} and answers nothing"));
        self.refuse(problem.hint(format!("add the step `{before}: adapter` before")));
    }

    /// How a call has to end.
    fn end_of(
        &mut self,
        at: Place,
        refused: Option<ErrorKind>,
        cut_off: bool,
        repeat: bool,
    ) -> Option<CallEnd> {
        let expected = match (refused, cut_off) {
            (None, false) => Expected::Success,
            (Some(kind), false) => Expected::Refusal(kind),
            (None, true) => Expected::CutOff,
            (Some(_), true) => {
                let problem = Problem::new(at, "a call that is cut off is not refused");
                self.refuse(problem.hint("leave out `refused`, or `cut-off`"));
                return None;
            }
        };
        if cut_off && repeat {
            let problem = Problem::new(at, "a call that is repeated does not end cut off");
            self.refuse(problem.hint("leave out `repeat`, or `cut-off`"));
            return None;
        }
        Some(CallEnd { expected, repeat })
    }

    fn status(&mut self, status: &StatusFile) -> Option<AdapterCall> {
        let job = self.called(Verb::Status, &status.job);
        let state = STATE_NAMES.into_iter().find(|name| *name == status.state.value);
        if state.is_none() {
            let message = format!("Status has no state `{}`", status.state.value);
            let hint = did_you_mean(&status.state.value, STATE_NAMES)
                .unwrap_or_else(|| format!("the states are {}", STATE_NAMES.join(", ")));
            self.refuse(Problem::new(place(&status.state), message).hint(hint));
        }
        Some(AdapterCall::Status { job: job?, state: state? })
    }

    fn preflight(&mut self, preflight: &PreflightFile) -> AdapterCall {
        self.calls.insert((Verb::Preflight, None));
        let because: Vec<_> = preflight.because.iter().filter_map(|rule| self.rule(rule)).collect();
        if let (false, Some(first)) = (preflight.observe_only, preflight.because.first()) {
            let problem = Problem::new(place(first), "a preflight that passes gives no reasons");
            self.refuse(problem.hint("say `observe-only: true`, or leave `because` out"));
        }
        AdapterCall::Preflight { observe_only: preflight.observe_only, because }
    }
}

pub(super) fn is_call(step: &StepFile) -> bool {
    matches!(
        step,
        StepFile::Start(_)
            | StepFile::Open(_)
            | StepFile::Hold(_)
            | StepFile::Release(_)
            | StepFile::Stop(_)
            | StepFile::Status(_)
            | StepFile::List(_)
            | StepFile::Preflight(_)
    )
}
