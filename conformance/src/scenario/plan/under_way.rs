//! Calls of the adapter that are under way while other steps are played.

use serde_saphyr::Spanned;

use super::calls::is_call;
use super::{Plan, place};
use crate::history::Verb;
use crate::scenario::file::{StepFile, Text};
use crate::scenario::problem::Problem;
use crate::scenario::{Action, AdapterCall};

impl Plan<'_> {
    /// A call whose answer is not waited for yet.
    pub(super) fn begin(&mut self, step: &Spanned<StepFile>) -> Option<Action> {
        let at = place(step);
        if !is_call(&step.value) {
            let problem = Problem::new(at, "only a call of the adapter is begun");
            self.refuse(problem.hint("make it a step of its own"));
            return None;
        }
        let call = self.call(step)?;
        if call.end().repeat {
            let problem = Problem::new(at, "a call that is begun is made once");
            self.refuse(problem.hint("leave out `repeat`"));
        }
        // Its UID is not known before the answer.
        if let AdapterCall::Start { job, .. } = &call {
            self.unanswered.insert(job.clone());
        }
        if let Some((_, first)) = self.under_way.insert(call.verb(), (call.clone(), at)) {
            let word = call.word();
            let problem = Problem::new(at, format!("there is a call of `{word}` under way"));
            let hint = format!("it is begun on line {}; add the step `finish: {word}`", first.line);
            self.refuse(problem.hint(hint));
        }
        Some(Action::Begin(call))
    }

    /// The answer of a call that was begun.
    pub(super) fn finish(&mut self, text: &Text) -> Option<Action> {
        let verb = self.under_way.keys().copied().find(|verb| verb.as_str() == text.value);
        let call: Option<(Verb, AdapterCall)> =
            verb.and_then(|verb| Some((verb, self.under_way.remove(&verb)?.0)));
        let Some((verb, call)) = call else {
            let message = format!("no call of `{}` is under way", text.value);
            let hint = format!("add a step such as `begin: {{ {}: train }}` before", text.value);
            self.refuse(Problem::new(place(text), message).hint(hint));
            return None;
        };
        if let AdapterCall::Start { job, .. } = &call {
            self.unanswered.remove(job);
        }
        Some(Action::Finish(verb))
    }

    /// That every call that was begun is finished.
    pub(super) fn all_are_finished(&mut self) {
        for (call, at) in std::mem::take(&mut self.under_way).into_values() {
            let word = call.word();
            let problem = Problem::new(at, format!("the call of `{word}` is never finished"));
            self.refuse(problem.hint(format!("add the step `finish: {word}`")));
        }
    }
}
