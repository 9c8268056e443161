//! Facts: one key says what a fact is about, the others what is asked of it.

use dispatch_contract::AdmissionCount;
use dispatch_contract::resources::CheckState;
use serde_saphyr::Spanned;

use super::processes::ADAPTER;
use super::{Maker, Plan, place};
use crate::history::{Role, Subject, Verb};
use crate::scenario::file::{CheckActivity, FactFile, Text};
use crate::scenario::problem::{Problem, did_you_mean};
use crate::scenario::{
    AdmissionIs, CalledFact, Fact, JobName, JobSetFact, Place, PodFact, ProcessFact, ProcessIs,
    RunningFact, SubmitKind, Target, TargetKind, TrainJobFact, WorkloadFact,
};

/// What facts are about, each with what can be asked of it.
pub(in crate::scenario) const SUBJECTS: [(&str, &[&str]); 18] = [
    (
        "workload",
        &[
            "gated",
            "quota-reserved",
            "check",
            "foreign-check",
            "admitted",
            "evicted",
            "finished",
            "active",
            "names",
            "says",
            "of",
        ],
    ),
    ("trainjob", &["suspended", "opened", "held", "ended-mark", "A"]),
    ("jobset", &["nth", "suspended", "active", "A"]),
    ("running", &["execution", "A"]),
    ("pod-of", &["terminating", "A"]),
    ("gone", &[]),
    ("ended", &["as"]),
    ("called", &["for"]),
    ("controller", &["is"]),
    ("adapter", &[]),
    ("admission-check", &[]),
    ("preflight", &[]),
    ("together", &[]),
    ("any", &[]),
    ("in-order", &[]),
    ("met", &[]),
    ("sent", &[]),
    ("answered", &["status"]),
];

/// What `A` is asked to be where it is to be less than the `TrainJob`'s.
const OUTDATED: &str = "outdated";

const CHECK_STATES: [CheckState; 4] =
    [CheckState::Pending, CheckState::Ready, CheckState::Retry, CheckState::Rejected];

impl Plan<'_> {
    /// A fact that stands by itself, where `or-breaks` has no place.
    pub(super) fn claimed_fact(&mut self, written: &Spanned<FactFile>) -> Option<Fact> {
        if let Some(rule) = &written.value.or_breaks {
            let problem = Problem::new(place(rule), "`or-breaks` is for steps that wait");
            self.refuse(problem.hint("leave it out, or write the fact as an `until` step"));
        }
        self.fact(written)
    }

    /// A fact.
    pub(super) fn fact(&mut self, written: &Spanned<FactFile>) -> Option<Fact> {
        let at = place(written);
        let written = &written.value;
        let subject = self.subject(written, at)?;
        self.attributes_belong(written, subject)?;
        match subject {
            "workload" => self.workload(written),
            "trainjob" => self.trainjob(written),
            "jobset" => self.jobset(written),
            "running" => {
                let admission = self.admission(written.admission.as_ref())?;
                let job = self.job_of_pods(written.running.as_ref()?, admission)?;
                let execution = value(written.execution.as_ref());
                Some(Fact::Running(RunningFact { job, execution, admission }))
            }
            "pod-of" => {
                let admission = self.admission(written.admission.as_ref())?;
                let job = self.job_of_pods(written.pod_of.as_ref()?, admission)?;
                let terminating = value(written.terminating.as_ref());
                Some(Fact::Pod(PodFact { job, terminating, admission }))
            }
            "gone" => Some(Fact::Gone(self.target(written.gone.as_ref()?)?)),
            "ended" => self.ended(written),
            "called" => self.called_fact(written),
            "controller" => self.controller(written),
            "adapter" => {
                let written = written.adapter.as_ref()?;
                self.process(ADAPTER, written.value, place(written))
            }
            "admission-check" => {
                let active = written.admission_check.as_ref()?.value == CheckActivity::Active;
                Some(Fact::AdmissionCheckActive { active })
            }
            "preflight" => self.preflight_fact(written),
            "met" => Some(Fact::Met(self.known_fault(written.met.as_ref()?)?)),
            "sent" => Some(Fact::Sent(self.known_fault(written.sent.as_ref()?)?)),
            "answered" => {
                let fault = self.known_fault(written.answered.as_ref()?)?;
                Some(Fact::Answered { fault, status: value(written.status.as_ref()) })
            }
            "any" => self.several("any", written.any.as_ref()?).map(Fact::Any),
            "in-order" => self.several("in-order", written.in_order.as_ref()?).map(Fact::InOrder),
            _ => self.several("together", written.together.as_ref()?).map(Fact::Together),
        }
    }

    /// The one key that says what the fact is about.
    fn subject(&mut self, written: &FactFile, fallback: Place) -> Option<&'static str> {
        let mut subjects = written.subjects();
        subjects.sort_by_key(|(_, at)| *at);
        match subjects.as_slice() {
            [(subject, _)] => Some(subject),
            [] => {
                let at = written.attributes().first().map_or(fallback, |(_, at)| *at);
                let names: Vec<_> = SUBJECTS.iter().map(|(name, _)| *name).collect();
                let problem = Problem::new(at, "the fact does not say what it is about");
                self.refuse(problem.hint(format!("add one of {}", names.join(", "))));
                None
            }
            [(first, _), (second, at), ..] => {
                let message = format!("the fact is about `{first}` and about `{second}`");
                let hint =
                    "make two facts of it, in `together: [ … ]` if both are to be so at once";
                self.refuse(Problem::new(*at, message).hint(hint));
                None
            }
        }
    }

    /// Every other key is one that can be asked of the subject.
    fn attributes_belong(&mut self, written: &FactFile, subject: &str) -> Option<()> {
        let of_subject = SUBJECTS.iter().find(|(name, _)| *name == subject);
        let (_, allowed) = of_subject?;
        let attributes = written.attributes();
        let strangers = attributes.iter().filter(|(name, _)| !allowed.contains(name));
        let mut belong = Some(());
        for (name, at) in strangers {
            let hint = match allowed {
                [] => format!("nothing more is asked of `{subject}`"),
                allowed => format!("of `{subject}` one asks {}", allowed.join(", ")),
            };
            let message = format!("`{name}` cannot be asked of `{subject}`");
            self.refuse(Problem::new(*at, message).hint(hint));
            belong = None;
        }
        belong
    }

    fn job_of(&mut self, text: &Text) -> Option<JobName> {
        self.job(&text.value, place(text))
    }

    /// A job that has pods. They are outdated only beside a `TrainJob`.
    fn job_of_pods(&mut self, text: &Text, admission: Option<AdmissionIs>) -> Option<JobName> {
        match admission {
            Some(AdmissionIs::Outdated) => self.training_job(text),
            _ => self.job_of(text),
        }
    }

    /// A job that has a `TrainJob` and a `JobSet`.
    fn training_job(&mut self, text: &Text) -> Option<JobName> {
        let job = self.job_of(text)?;
        let other = match self.jobs.get(&job) {
            Some(Maker::Somebody(SubmitKind::Job)) => Some("plain Job"),
            Some(Maker::Nobody) => Some("Workload"),
            _ => None,
        };
        if let Some(other) = other {
            let problem = Problem::new(place(text), format!("`{job}` is a {other}"));
            self.refuse(problem.hint("it has neither a TrainJob nor a JobSet"));
            return None;
        }
        Some(job)
    }

    fn workload(&mut self, written: &FactFile) -> Option<Fact> {
        let job = self.job_of(written.workload.as_ref()?)?;
        let check = match &written.check {
            Some(text) => Some(self.check_state(text)?),
            None => None,
        };
        let foreign_check = match &written.foreign_check {
            Some(text) => {
                self.foreign_check_is_there(place(text))?;
                Some(self.check_state(text)?)
            }
            None => None,
        };
        let names_pods_of = match &written.names {
            Some(text) => Some(self.pods_named(text)?),
            None => None,
        };
        Some(Fact::Workload(WorkloadFact {
            job,
            gated: value(written.gated.as_ref()),
            quota_reserved: value(written.quota_reserved.as_ref()),
            check,
            foreign_check,
            admitted: value(written.admitted.as_ref()),
            evicted: value(written.evicted.as_ref()),
            finished: value(written.finished.as_ref()),
            active: value(written.active.as_ref()),
            names_pods_of,
            says: written.says.as_ref().map(|text| text.value.clone()),
            of_jobset: written.of.is_some(),
        }))
    }

    /// Refuses what speaks of a check that the scenario does not ask for.
    pub(super) fn foreign_check_is_there(&mut self, at: Place) -> Option<()> {
        if !self.foreign_check {
            let problem = Problem::new(at, "there is no foreign check");
            self.refuse(problem.hint("write `queue: { cpu: 4, foreign-check: true }`"));
            return None;
        }
        Some(())
    }

    fn check_state(&mut self, text: &Text) -> Option<CheckState> {
        let state = CheckState::from(text.value.clone());
        if CHECK_STATES.contains(&state) {
            return Some(state);
        }
        let message = format!("a check has no state `{}`", text.value);
        let names = CHECK_STATES.map(|state| state.to_string());
        let hint = did_you_mean(&text.value, names.iter().map(String::as_str))
            .unwrap_or_else(|| format!("the states are {}", names.join(", ")));
        self.refuse(Problem::new(place(text), message).hint(hint));
        None
    }

    /// The job whose pods a message names.
    fn pods_named(&mut self, text: &Text) -> Option<JobName> {
        let Target { kind, of } = self.target(text)?;
        if kind == TargetKind::Pods {
            return Some(of);
        }
        let problem = Problem::new(place(text), "a message is asked for the names of pods");
        self.refuse(problem.hint(format!("write `names: pods-of {of}`")));
        None
    }

    fn trainjob(&mut self, written: &FactFile) -> Option<Fact> {
        let job = self.training_job(written.trainjob.as_ref()?)?;
        if let Some(text) = &written.admission {
            self.not_outdated(text)?;
        }
        let admission = self.admission(written.admission.as_ref())?;
        Some(Fact::TrainJob(TrainJobFact {
            job,
            suspended: value(written.suspended.as_ref()),
            opened: value(written.opened.as_ref()),
            held: value(written.held.as_ref()),
            ended_mark: value(written.ended_mark.as_ref()),
            admission,
        }))
    }

    fn jobset(&mut self, written: &FactFile) -> Option<Fact> {
        let job = self.training_job(written.jobset.as_ref()?)?;
        if let Some(text) = &written.admission {
            self.not_outdated(text)?;
        }
        let admission = self.admission(written.admission.as_ref())?;
        Some(Fact::JobSet(JobSetFact {
            job,
            nth: value(written.nth.as_ref()),
            suspended: value(written.suspended.as_ref()),
            active: value(written.active.as_ref()),
            admission,
        }))
    }

    /// What is asked of A. The outer `None` is a refusal, the inner one that nothing is asked.
    #[expect(clippy::option_option, reason = "a refusal is not the same as nothing asked")]
    fn admission(&mut self, written: Option<&Text>) -> Option<Option<AdmissionIs>> {
        match written {
            None => Some(None),
            Some(text) if text.value == "absent" => Some(Some(AdmissionIs::Absent)),
            Some(text) if text.value == OUTDATED => Some(Some(AdmissionIs::Outdated)),
            Some(text) => Some(Some(self.count_or_more(text)?)),
        }
    }

    /// What is asked of the count at the end.
    pub(super) fn last_count(&mut self, text: &Text) -> Option<AdmissionIs> {
        self.not_outdated(text)?;
        self.count_or_more(text)
    }

    /// An admission count, or one and all above it.
    fn count_or_more(&mut self, text: &Text) -> Option<AdmissionIs> {
        match text.value.strip_suffix('+') {
            Some(least) => self.number(text, least).map(AdmissionIs::AtLeast),
            None => self.count_of(text).map(AdmissionIs::Exactly),
        }
    }

    /// An admission count.
    pub(super) fn count_of(&mut self, text: &Text) -> Option<AdmissionCount> {
        self.number(text, &text.value)
    }

    fn number(&mut self, text: &Text, number: &str) -> Option<AdmissionCount> {
        let count = number.parse::<AdmissionCount>();
        if count.is_err() {
            let message = format!("`{}` is not an admission count", text.value);
            let hint = "a decimal number without sign or leading zeros; in facts also such as `2+` \
                        for 2 and more, `absent`, and of pods `outdated`";
            self.refuse(Problem::new(place(text), message).hint(hint));
        }
        count.ok()
    }

    /// The count of the `TrainJob` is what others are compared with.
    fn not_outdated(&mut self, text: &Text) -> Option<()> {
        if text.value != OUTDATED {
            return Some(());
        }
        let problem = Problem::new(place(text), "the count of a TrainJob is never outdated");
        self.refuse(problem.hint(
            "pods are: `pod-of` or `running` with `A: outdated` asks for an A that is less than \
             the TrainJob's",
        ));
        None
    }

    fn ended(&mut self, written: &FactFile) -> Option<Fact> {
        let text = written.ended.as_ref()?;
        let job = self.training_job(text)?;
        let end =
            self.needed(value(written.end.as_ref()), place(text), "ended", "as: Succeeded")?;
        Some(Fact::Ended { job, end })
    }

    /// A value without which the fact says nothing.
    fn needed<T>(&mut self, value: Option<T>, at: Place, of: &str, such: &str) -> Option<T> {
        if value.is_none() {
            let problem = Problem::new(at, format!("`{of}` does not say enough"));
            self.refuse(problem.hint(format!("add such as `{such}`")));
        }
        value
    }

    fn called_fact(&mut self, written: &FactFile) -> Option<Fact> {
        let call = written.called.as_ref()?;
        let job = match &written.for_job {
            Some(text) => Some(self.name(&text.value, place(text))?),
            None => None,
        };
        let matches = |(made, of): &(Verb, Option<JobName>)| {
            *made == call.value && (job.is_none() || *of == job)
        };
        if !self.calls.iter().any(matches) {
            let of = job.as_ref().map(|job| format!(" for `{job}`")).unwrap_or_default();
            let word = call.value.as_str();
            let problem = Problem::new(place(call), format!("no step calls {word}{of}"));
            self.refuse(problem.hint("the fact would never be true"));
            return None;
        }
        Some(Fact::Called(CalledFact { call: call.value, job }))
    }

    fn controller(&mut self, written: &FactFile) -> Option<Fact> {
        let number = written.controller.as_ref()?;
        let subject = Subject { role: Role::Controller, replica: number.value };
        self.replica(number.value, place(number))?;
        let is =
            self.needed(value(written.is.as_ref()), place(number), "controller", "is: stopped")?;
        self.process(subject, is, place(number))
    }

    fn process(&mut self, subject: Subject, is: ProcessIs, at: Place) -> Option<Fact> {
        let never = match is {
            ProcessIs::Started => None,
            ProcessIs::Frozen => Some("freezes"),
            ProcessIs::Stopped => Some("ends"),
        };
        if let Some(never) = never.filter(|_| !self.ever.contains(&(subject, is))) {
            let problem = Problem::new(at, format!("no step {never} {subject}"));
            self.refuse(problem.hint("the fact would never be true"));
            return None;
        }
        Some(Fact::Process(ProcessFact { subject, is }))
    }

    fn preflight_fact(&mut self, written: &FactFile) -> Option<Fact> {
        let verdict = written.preflight.as_ref()?;
        if !self.calls.contains(&(Verb::Preflight, None)) {
            let problem = Problem::new(place(verdict), "no step calls preflight");
            self.refuse(problem.hint("add the step `preflight: { observe-only: false }`"));
            return None;
        }
        Some(Fact::Preflight(verdict.value))
    }

    fn several(
        &mut self,
        word: &str,
        written: &Spanned<Vec<Spanned<FactFile>>>,
    ) -> Option<Vec<Fact>> {
        if written.value.len() < 2 {
            let problem =
                Problem::new(place(written), format!("`{word}` has fewer than two facts"));
            self.refuse(problem.hint("write the one fact by itself"));
        }
        let facts: Vec<_> = written.value.iter().map(|fact| self.claimed_fact(fact)).collect();
        facts.into_iter().collect()
    }
}

fn value<T: Copy>(written: Option<&Spanned<T>>) -> Option<T> {
    written.map(|written| written.value)
}

/// A key that was written, with the place of its value.
type Written = (&'static str, Place);

fn key<T>(name: &'static str, written: Option<&Spanned<T>>) -> Option<Written> {
    written.map(|written| (name, place(written)))
}

impl FactFile {
    /// The keys that say what the fact is about.
    fn subjects(&self) -> Vec<Written> {
        let keys = [
            key("workload", self.workload.as_ref()),
            key("trainjob", self.trainjob.as_ref()),
            key("jobset", self.jobset.as_ref()),
            key("running", self.running.as_ref()),
            key("pod-of", self.pod_of.as_ref()),
            key("gone", self.gone.as_ref()),
            key("ended", self.ended.as_ref()),
            key("called", self.called.as_ref()),
            key("controller", self.controller.as_ref()),
            key("adapter", self.adapter.as_ref()),
            key("admission-check", self.admission_check.as_ref()),
            key("preflight", self.preflight.as_ref()),
            key("together", self.together.as_ref()),
            key("any", self.any.as_ref()),
            key("in-order", self.in_order.as_ref()),
            key("met", self.met.as_ref()),
            key("sent", self.sent.as_ref()),
            key("answered", self.answered.as_ref()),
        ];
        keys.into_iter().flatten().collect()
    }

    /// The keys that ask something of it.
    fn attributes(&self) -> Vec<Written> {
        let keys = [
            key("gated", self.gated.as_ref()),
            key("quota-reserved", self.quota_reserved.as_ref()),
            key("check", self.check.as_ref()),
            key("foreign-check", self.foreign_check.as_ref()),
            key("admitted", self.admitted.as_ref()),
            key("evicted", self.evicted.as_ref()),
            key("finished", self.finished.as_ref()),
            key("active", self.active.as_ref()),
            key("names", self.names.as_ref()),
            key("says", self.says.as_ref()),
            key("of", self.of.as_ref()),
            key("suspended", self.suspended.as_ref()),
            key("opened", self.opened.as_ref()),
            key("held", self.held.as_ref()),
            key("ended-mark", self.ended_mark.as_ref()),
            key("nth", self.nth.as_ref()),
            key("execution", self.execution.as_ref()),
            key("terminating", self.terminating.as_ref()),
            key("A", self.admission.as_ref()),
            key("as", self.end.as_ref()),
            key("for", self.for_job.as_ref()),
            key("is", self.is.as_ref()),
            key("status", self.status.as_ref()),
        ];
        keys.into_iter().flatten().collect()
    }
}
