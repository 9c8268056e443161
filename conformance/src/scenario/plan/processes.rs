//! Steps that reach for processes: of subjects, and of components of the cluster.

use super::{Plan, place};
use crate::history::{Role, Subject};
use crate::scenario::file::{ScenarioFile, StepFile, Text};
use crate::scenario::problem::{Problem, did_you_mean};
use crate::scenario::{Action, Component, Place, ProcessIs};

/// The adapter of a scenario.
pub(super) const ADAPTER: Subject = Subject { role: Role::Adapter, replica: 0 };

/// Where the scenario first makes a component of the cluster stand still.
pub(super) fn freezes(file: &ScenarioFile) -> Option<Place> {
    file.steps.value.iter().find_map(|step| match &step.value {
        StepFile::Freeze(text) => {
            let subject: Subject = text.value.parse().ok()?;
            Component::of(subject.role).map(|_| place(step))
        }
        _ => None,
    })
}

impl Plan<'_> {
    pub(super) fn terminate(&mut self, text: &Text) -> Option<Action> {
        let subject = self.running(text)?;
        if self.frozen.contains(&subject) {
            let problem =
                Problem::new(place(text), format!("{subject} stands still and hears nothing"));
            let hint = format!("add the step `thaw: {subject}` before, or kill it");
            self.refuse(problem.hint(hint));
        }
        self.ends(subject);
        Some(Action::Terminate { subject })
    }

    pub(super) fn kill(&mut self, text: &Text) -> Option<Action> {
        let subject = self.running(text)?;
        self.ends(subject);
        Some(Action::Kill { subject })
    }

    pub(super) fn restart(&mut self, text: &Text) -> Option<Action> {
        let subject = self.judged(text)?;
        self.stopped.remove(&subject);
        self.frozen.remove(&subject);
        Some(Action::Restart { subject })
    }

    pub(super) fn freeze(&mut self, text: &Text) -> Option<Action> {
        let subject = self.freezable(text)?;
        if self.stopped.contains(&subject) {
            return self.has_ended(subject, text);
        }
        if !self.frozen.insert(subject) {
            let problem = Problem::new(place(text), format!("{subject} stands still already"));
            self.refuse(problem.hint(format!("add the step `thaw: {subject}` before")));
        }
        self.ever.insert((subject, ProcessIs::Frozen));
        Some(Action::Freeze { subject })
    }

    pub(super) fn thaw(&mut self, text: &Text) -> Option<Action> {
        let subject = self.freezable(text)?;
        if self.stopped.contains(&subject) {
            return self.has_ended(subject, text);
        }
        if !self.frozen.remove(&subject) {
            let problem = Problem::new(place(text), format!("{subject} does not stand still"));
            self.refuse(problem.hint(format!("add the step `freeze: {subject}` before")));
        }
        Some(Action::Thaw { subject })
    }

    /// A replica of the controller, by its number.
    pub(super) fn replica(&mut self, replica: u32, at: Place) -> Option<()> {
        if replica < self.replicas {
            return Some(());
        }
        let problem = Problem::new(at, format!("there is no replica {replica}"));
        let last = self.replicas.saturating_sub(1);
        self.refuse(problem.hint(format!("they count from 0, and the last one here is {last}")));
        None
    }

    /// A subject that is judged.
    fn judged(&mut self, text: &Text) -> Option<Subject> {
        let subject = text.value.parse::<Subject>().ok();
        let judged = subject.filter(|subject| Component::of(subject.role).is_none());
        let Some(subject) = judged else { return self.unknown(text, &[]) };
        if subject.role == Role::Controller {
            self.replica(subject.replica, place(text))?;
        }
        Some(subject)
    }

    /// A subject that is judged and has not ended.
    fn running(&mut self, text: &Text) -> Option<Subject> {
        let subject = self.judged(text)?;
        if self.stopped.contains(&subject) {
            return self.has_ended(subject, text);
        }
        Some(subject)
    }

    fn has_ended<T>(&mut self, subject: Subject, text: &Text) -> Option<T> {
        let problem = Problem::new(place(text), format!("{subject} has ended already"));
        self.refuse(problem.hint(format!("add the step `restart: {subject}` before")));
        None
    }

    fn ends(&mut self, subject: Subject) {
        self.stopped.insert(subject);
        self.frozen.remove(&subject);
        self.ever.insert((subject, ProcessIs::Stopped));
    }

    /// A subject that is judged, or a component that can stand still.
    fn freezable(&mut self, text: &Text) -> Option<Subject> {
        let subject = text.value.parse::<Subject>().ok();
        let Some(component) = subject.and_then(|subject| Component::of(subject.role)) else {
            let known = Component::ALL.into_iter().filter(|component| component.can_stand_still());
            let known: Vec<_> = known.map(Component::as_str).collect();
            return match subject {
                Some(_) => self.judged(text),
                None => self.unknown(text, &known),
            };
        };
        if !component.can_stand_still() {
            let message = format!("{} cannot be frozen", component.as_str());
            let hint = "its webhooks would not answer, and the API server would refuse writes of \
                        everybody else; hold its requests instead";
            self.refuse(Problem::new(place(text), message).hint(hint));
            return None;
        }
        subject
    }

    fn unknown<T>(&mut self, text: &Text, more: &[&str]) -> Option<T> {
        let controllers = (0..self.replicas).map(|replica| format!("controller-{replica}"));
        let mut known: Vec<_> = controllers.chain(["adapter".to_owned()]).collect();
        known.extend(more.iter().map(|&word| word.to_owned()));
        let hint = did_you_mean(&text.value, known.iter().map(String::as_str))
            .unwrap_or_else(|| format!("expected one of {}", known.join(", ")));
        let message = format!("`{}` is no process that this can be done to", text.value);
        self.refuse(Problem::new(place(text), message).hint(hint));
        None
    }
}
