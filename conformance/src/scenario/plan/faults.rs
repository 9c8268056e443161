//! Faults: which requests they are for, and what they do.

use serde_saphyr::Spanned;

use super::{Plan, place};
use crate::history::{Role, Subject};
use crate::scenario::file::{FaultFile, InTurnFile, PatternFile, SetsFile, StepFile, Text};
use crate::scenario::problem::{Problem, did_you_mean};
use crate::scenario::{
    Action, Fault, FaultEffect, FaultName, InTurn, Need, Party, Place, ProcessIs, RequestPattern,
    Setting,
};

/// The verbs that a pattern names, each with what it stands for.
const VERBS: [(&str, &[&str]); 10] = [
    ("get", &["get"]),
    ("list", &["list"]),
    ("watch", &["watch"]),
    ("create", &["create"]),
    ("update", &["update"]),
    ("patch", &["patch"]),
    ("delete", &["delete"]),
    ("deletecollection", &["deletecollection"]),
    ("read", &["get", "list"]),
    ("write", &["create", "update", "patch", "delete", "deletecollection"]),
];

/// The conditions that a write of the cluster's components may set.
const CONDITIONS: [&str; 7] =
    ["QuotaReserved", "Admitted", "Evicted", "Finished", "Suspended", "Complete", "Failed"];

/// The states that a check is set to.
const CHECK_STATES: [&str; 4] = ["Pending", "Ready", "Retry", "Rejected"];

impl Plan<'_> {
    /// A step that places a fault.
    pub(super) fn fault(&mut self, step: &StepFile) -> Option<Action> {
        let (written, effect) = match step {
            StepFile::HoldBack(fault) => (fault, Some(FaultEffect::HoldBack)),
            StepFile::Stall(fault) => (fault, Some(FaultEffect::Stall)),
            StepFile::Slow(fault) if fault.at_random => (fault, Some(FaultEffect::SlowAtRandom)),
            StepFile::Slow(fault) => (fault, Some(FaultEffect::Slow)),
            StepFile::LoseRequest(fault) => (fault, Some(FaultEffect::LoseRequest)),
            StepFile::LoseAnswer(fault) => (fault, Some(FaultEffect::LoseAnswer)),
            StepFile::KillAt(fault) => {
                (fault, Some(FaultEffect::Kill(fault.when.unwrap_or_default())))
            }
            StepFile::FreezeAt(fault) => {
                (fault, Some(FaultEffect::Freeze(fault.when.unwrap_or_default())))
            }
            StepFile::Answer(fault) => (fault, fault.with.map(FaultEffect::Answer)),
            StepFile::Change(fault) => (fault, fault.merge.clone().map(FaultEffect::Change)),
            StepFile::Silence(fault) => (fault, Some(FaultEffect::Silence)),
            StepFile::Cut(fault) => (fault, Some(FaultEffect::Cut)),
            StepFile::Expire(fault) => (fault, Some(FaultEffect::Expire)),
            _ => return None,
        };
        self.keys_belong(written, effect.as_ref());
        let name = self.new_fault(&written.name)?;
        let mut at = self.pattern(&written.at)?;
        if matches!(effect, Some(FaultEffect::Silence | FaultEffect::Cut | FaultEffect::Expire)) {
            at.verbs = vec!["watch"];
        }
        let signalled = matches!(effect, Some(FaultEffect::Kill(_) | FaultEffect::Freeze(_)));
        if signalled && at.from.is_component() {
            let problem = Problem::new(place(&written.at.from), "a component is not signalled");
            self.refuse(problem.hint("hold its requests back instead"));
        }
        self.may_be(at.from, effect.as_ref()?);
        let times = written.times.unwrap_or_default();
        Some(Action::Place(Box::new(Fault { name, at, effect: effect?, times })))
    }

    /// What becomes of the sender when the fault is met, so that later steps may speak of it.
    fn may_be(&mut self, from: Party, effect: &FaultEffect) {
        let Party::One(role, replica) = from else { return };
        let subject = Subject { role, replica };
        match effect {
            FaultEffect::Kill(_) => drop(self.ever.insert((subject, ProcessIs::Stopped))),
            FaultEffect::Freeze(_) => {
                self.frozen.insert(subject);
                self.ever.insert((subject, ProcessIs::Frozen));
            }
            _ => {}
        }
    }

    /// Of `when`, `with` and `merge`, those that the effect asks for and no other.
    fn keys_belong(&mut self, written: &FaultFile, effect: Option<&FaultEffect>) {
        let at = place(&written.name);
        let signals = matches!(effect, Some(FaultEffect::Kill(_) | FaultEffect::Freeze(_)));
        if written.when.is_some() && !signals {
            let problem = Problem::new(at, "`when` is for `kill-at` and `freeze-at`");
            self.refuse(problem.hint("leave it out"));
        }
        if written.at_random && effect != Some(&FaultEffect::SlowAtRandom) {
            let problem = Problem::new(at, "`at-random` is for `slow`");
            self.refuse(problem.hint("leave it out"));
        }
        let (answers, changes) = (
            matches!(effect, Some(FaultEffect::Answer(_))),
            matches!(effect, Some(FaultEffect::Change(_))),
        );
        if effect.is_none() {
            let problem = Problem::new(at, "the fault does not say what it does");
            self.refuse(
                problem.hint("`answer` needs such as `with: Conflict`, `change` a `merge`"),
            );
        } else if (written.with.is_some() && !answers) || (written.merge.is_some() && !changes) {
            let problem = Problem::new(at, "the fault says what another kind of fault does");
            self.refuse(problem.hint("`with` is for `answer`, `merge` is for `change`"));
        }
    }

    /// A step that goes through requests in turn.
    pub(super) fn in_turn(&mut self, written: &InTurnFile) -> Option<Action> {
        let name = self.new_fault(&written.name)?;
        let at = self.pattern(&written.at)?;
        if written.deeds.value.is_empty() {
            let problem = Problem::new(place(&written.deeds), "nothing is done to each request");
            self.refuse(problem.hint("such as `do: [kill-before, kill-after]`"));
        }
        if self.in_turn.replace(place(&written.name)).is_some() {
            let problem = Problem::new(place(&written.name), "requests are gone through twice");
            self.refuse(problem.hint("make two scenarios of it"));
        }
        for deed in &written.deeds.value {
            self.may_be(at.from, &deed.effect());
        }
        Some(Action::InTurn(Box::new(InTurn { name, at, deeds: written.deeds.value.clone() })))
    }

    pub(super) fn go_on(&mut self, text: &Text) -> Option<Action> {
        let fault = self.known_fault(text)?;
        Some(Action::GoOn { fault })
    }

    fn new_fault(&mut self, text: &Text) -> Option<FaultName> {
        let name = self.fault_name(text)?;
        if !self.faults.insert(name.clone()) {
            let problem = Problem::new(place(text), format!("there is a fault `{name}` already"));
            self.refuse(problem.hint("give this one another name"));
            return None;
        }
        Some(name)
    }

    fn fault_name(&mut self, text: &Text) -> Option<FaultName> {
        let name = FaultName::new(&text.value);
        if name.is_none() {
            let problem =
                Problem::new(place(text), format!("`{}` is not a fault's name", text.value));
            let hint = "1 to 32 lower-case letters, digits and hyphens, beginning with a letter";
            self.refuse(problem.hint(hint));
        }
        name
    }

    /// A fault that is there by now.
    pub(super) fn known_fault(&mut self, text: &Text) -> Option<FaultName> {
        let name = self.fault_name(text)?;
        if self.faults.contains(&name) {
            return Some(name);
        }
        let known: Vec<_> = self.faults.iter().map(FaultName::as_str).collect();
        let hint = did_you_mean(name.as_str(), known.iter().copied()).unwrap_or_else(|| {
            if known.is_empty() {
                "no step before this one places a fault".to_owned()
            } else {
                format!("the faults are {}", known.join(", "))
            }
        });
        self.refuse(Problem::new(place(text), format!("there is no fault `{name}`")).hint(hint));
        None
    }

    fn pattern(&mut self, written: &PatternFile) -> Option<RequestPattern> {
        let from = self.party(&written.from)?;
        let verbs = written.verb.iter().filter_map(|verb| self.verbs(verb)).flatten();
        let verbs: Vec<_> = verbs.copied().collect();
        let (resource, subresource) = match &written.resource {
            Some(text) => match text.value.split_once('/') {
                Some((resource, sub)) => (Some(resource.to_owned()), Some(sub.to_owned())),
                None => (Some(text.value.clone()), None),
            },
            None => (None, None),
        };
        // Its name is known from the beginning, so that a fault can wait for its very first request.
        let of = match &written.of {
            Some(text) => Some(self.job_to_come(text)?),
            None => None,
        };
        let sets = match &written.sets {
            Some(sets) => self.sets(sets)?,
            None => Vec::new(),
        };
        let nth = written.nth.as_ref().map(|nth| nth.value);
        if let (Some(0), Some(nth)) = (nth, &written.nth) {
            let problem = Problem::new(place(nth), "requests are counted from 1");
            self.refuse(problem.hint("leave `nth` out for the first"));
        }
        let after = match &written.after {
            Some(text) => Some(self.known_fault(text)?),
            None => None,
        };
        let dry_run = written.dry_run;
        Some(RequestPattern { from, verbs, resource, subresource, of, sets, dry_run, nth, after })
    }

    fn party(&mut self, text: &Text) -> Option<Party> {
        match text.value.parse::<Party>() {
            Ok(Party::One(Role::Controller, replica)) if replica >= self.replicas => {
                let problem = Problem::new(place(text), format!("there is no replica {replica}"));
                let last = self.replicas.saturating_sub(1);
                self.refuse(problem.hint(format!("they count from 0, and the last one is {last}")));
                None
            }
            Ok(party) => {
                if party.is_component() {
                    self.leads.get_or_insert(place(text));
                }
                Some(party)
            }
            Err(why) => {
                let hint = did_you_mean(&text.value, Party::WORDS)
                    .unwrap_or_else(|| format!("expected one of {}", Party::WORDS.join(", ")));
                self.refuse(Problem::new(place(text), why).hint(hint));
                None
            }
        }
    }

    fn verbs(&mut self, text: &Text) -> Option<&'static [&'static str]> {
        let found = VERBS.iter().find(|(word, _)| *word == text.value);
        if found.is_none() {
            let words = VERBS.map(|(word, _)| word);
            let hint = did_you_mean(&text.value, words)
                .unwrap_or_else(|| format!("the verbs are {}", words.join(", ")));
            let problem = Problem::new(place(text), format!("`{}` is not a verb", text.value));
            self.refuse(problem.hint(hint));
        }
        found.map(|(_, verbs)| *verbs)
    }

    /// A job that some step of the file makes, by now or later.
    fn job_to_come(&mut self, text: &Text) -> Option<crate::scenario::JobName> {
        let name = self.name(&text.value, place(text))?;
        if name.is_probe() || self.jobs_to_come.contains_key(name.as_str()) {
            return Some(name);
        }
        let problem = Problem::new(place(text), format!("there is no job `{name}`"));
        let hint = self.hint_for_job(name.as_str());
        self.refuse(problem.hint(hint));
        None
    }

    fn sets(&mut self, written: &Spanned<SetsFile>) -> Option<Vec<Setting>> {
        let SetsFile { check, condition, admission, pods, suspended, active, mark } =
            &written.value;
        let mut sets = Vec::new();
        if let Some(text) = check {
            if !CHECK_STATES.contains(&text.value.as_str()) {
                let message = format!("a check has no state `{}`", text.value);
                let hint = format!("the states are {}", CHECK_STATES.join(", "));
                self.refuse(Problem::new(place(text), message).hint(hint));
                return None;
            }
            sets.push(Setting::Check(text.value.clone()));
        }
        if let Some(text) = condition {
            if !CONDITIONS.contains(&text.value.as_str()) {
                let message = format!("there is no condition `{}`", text.value);
                let hint = format!("there are {}", CONDITIONS.join(", "));
                self.refuse(Problem::new(place(text), message).hint(hint));
                return None;
            }
            sets.push(Setting::Condition(text.value.clone()));
        }
        if let Some(text) = admission {
            sets.push(Setting::Count(self.count_or_any(text)?));
        }
        if let Some(text) = pods {
            sets.push(Setting::PodCount(self.count_of(text)?.to_string()));
        }
        sets.extend(suspended.map(Setting::Suspended));
        sets.extend(active.map(Setting::Active));
        sets.extend(mark.map(Setting::Mark));
        if sets.is_empty() {
            let problem = Problem::new(place(written), "`sets` says nothing");
            self.refuse(problem.hint("such as `sets: { check: Ready }`"));
            return None;
        }
        Some(sets)
    }

    /// A count, or `any`. The outer `None` is a refusal.
    #[expect(clippy::option_option, reason = "a refusal is not the same as any count")]
    fn count_or_any(&mut self, text: &Text) -> Option<Option<String>> {
        if text.value == "any" {
            return Some(None);
        }
        self.count_of(text).map(|count| Some(count.to_string()))
    }

    /// Leading components through the proxy needs a cluster that allows it.
    pub(super) fn leading_is_said(&mut self, needs: &[Spanned<Need>]) {
        let Some(at): Option<Place> = self.leads else { return };
        if !needs.iter().any(|need| need.value == Need::LeadComponents) {
            let problem = Problem::new(at, "a component's requests are met without saying so");
            self.refuse(problem.hint("add `needs: [lead-components]`"));
        }
    }
}
