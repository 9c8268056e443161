//! The one evaluator of facts: what is so at a point of a history.

mod requests;

use dispatch_contract::resources::{Conditions, JobSet, ReplicatedJob, TrainJob, Workload};
use dispatch_contract::{AdmissionCount, names};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use super::{
    AdmissionIs, CalledFact, EndAs, Fact, JobName, JobSetFact, PodFact, PreflightVerdict,
    ProcessFact, ProcessIs, RunningFact, Target, TargetKind, TrainJobFact, WorkloadFact,
};
use crate::history::{
    CallOutcome, Event, History, Kind, Object, Subject, SubjectChange, Trail, Verb, Version, What,
};

/// A point of a history: an order, and at it, after the versions of that order, an event that is no
/// version. A call that was sent at the revision 7 comes after everything of revision 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    order: u64,
    event: u64,
}

impl Point {
    /// After everything that was recorded.
    pub const NOW: Self = Self { order: u64::MAX, event: u64::MAX };

    /// The point of an event; `None` where it has no order.
    pub fn of(event: &Event) -> Option<Self> {
        let is_version = matches!(event.what, What::Version(_));
        Some(Self { order: event.order?, event: if is_version { 0 } else { event.seq } })
    }

    fn after(order: Option<u64>, seq: u64) -> Option<Self> {
        Some(Self { order: order?, event: seq })
    }
}

/// Whether a fact is true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It is.
    True,
    /// It is not.
    False,
    /// The history does not tell, for this reason.
    CannotBeSaid(String),
}

impl From<bool> for Truth {
    fn from(is: bool) -> Self {
        if is { Self::True } else { Self::False }
    }
}

impl Truth {
    /// True if any is, else what cannot be said, else false.
    fn any(truths: impl Iterator<Item = Self>) -> Self {
        let mut answer = Self::False;
        for truth in truths {
            match truth {
                Self::True => return Self::True,
                Self::CannotBeSaid(why) => answer = Self::CannotBeSaid(why),
                Self::False => {}
            }
        }
        answer
    }

    /// False if any is, else what cannot be said, else true.
    fn all(truths: impl Iterator<Item = Self>) -> Self {
        let mut answer = Self::True;
        for truth in truths {
            match truth {
                Self::False => return Self::False,
                Self::CannotBeSaid(why) => answer = Self::CannotBeSaid(why),
                Self::True => {}
            }
        }
        answer
    }
}

impl Fact {
    /// Whether the fact is true in the state after all that was recorded so far.
    pub fn is_so(&self, history: &History) -> Truth {
        self.holds(history, Point::NOW)
    }

    /// Whether the fact is true at a point of the history.
    pub fn holds(&self, history: &History, point: Point) -> Truth {
        let at = At { history, point };
        match self {
            Self::Workload(fact) => at.workload(fact),
            Self::TrainJob(fact) => at.trainjob(fact),
            Self::JobSet(fact) => at.jobset(fact),
            Self::Running(fact) => at.running(fact),
            Self::Pod(fact) => at.pod(fact),
            Self::Gone(target) => at.gone(target),
            Self::Ended { job, end } => at.ended(job, *end),
            Self::Called(fact) => at.called(fact),
            Self::Process(fact) => at.process(*fact),
            Self::AdmissionCheckActive { active } => at.admission_check(*active),
            Self::Preflight(verdict) => at.preflight(*verdict),
            Self::Together(facts) => {
                Truth::all(facts.iter().map(|fact| fact.holds(history, point)))
            }
            Self::Any(facts) => Truth::any(facts.iter().map(|fact| fact.holds(history, point))),
            Self::InOrder(facts) => at.in_order(facts),
            Self::Met(fault) => at.met(fault),
            Self::Sent(fault) => at.sent(fault),
            Self::Answered { fault, status } => at.answered(fault, *status),
        }
    }

    /// The kinds of objects whose versions the fact depends on. Other events matter to it too only
    /// where they are not about objects.
    pub(super) fn kinds(&self) -> Vec<Kind> {
        let probe = |job: &JobName| job.is_probe().then_some(Kind::TrainJob);
        match self {
            Self::Workload(fact) => {
                let mut kinds = vec![Kind::Workload, Kind::TrainJob, Kind::Job];
                kinds.extend(fact.names_pods_of.as_ref().map(|_| Kind::Pod));
                kinds.extend(fact.of_jobset.then_some(Kind::JobSet));
                kinds
            }
            Self::TrainJob(_) | Self::Ended { .. } => vec![Kind::TrainJob],
            Self::JobSet(_) => vec![Kind::JobSet],
            Self::Running(_) | Self::Pod(_) => vec![Kind::Pod, Kind::TrainJob],
            Self::Gone(target) => {
                let kind = match target.kind {
                    TargetKind::Pods => Kind::Pod,
                    TargetKind::JobSet => Kind::JobSet,
                    TargetKind::TrainJob => Kind::TrainJob,
                    TargetKind::Workload => Kind::Workload,
                };
                [kind].into_iter().chain(probe(&target.of)).collect()
            }
            Self::AdmissionCheckActive { .. } => vec![Kind::AdmissionCheck],
            Self::Called(_)
            | Self::Process(_)
            | Self::Preflight(_)
            | Self::Met(_)
            | Self::Sent(_)
            | Self::Answered { .. } => Vec::new(),
            Self::Together(facts) | Self::Any(facts) | Self::InOrder(facts) => {
                facts.iter().flat_map(Self::kinds).collect()
            }
        }
    }
}

/// A history at a point.
struct At<'a> {
    history: &'a History,
    point: Point,
}

impl<'a> At<'a> {
    /// The UIDs of the `TrainJobs` or Jobs that a scenario's name stands for: one, or for `probe`
    /// all of preflight's.
    fn uids(&self, job: &JobName) -> Vec<&'a str> {
        if !job.is_probe() {
            let trail = self.history.object_of_job(job.as_str());
            return trail.map(|trail| trail.uid.as_str()).into_iter().collect();
        }
        let is_probe = |trail: &&Trail| {
            let job = trail.first().and_then(Version::trainjob);
            job.is_some_and(|job| job.labels().contains_key(names::PROBE))
        };
        self.history.of_kind(Kind::TrainJob).filter(is_probe).map(|it| it.uid.as_str()).collect()
    }

    /// Whether any of these objects is like this now. One that cannot be read leaves it open.
    fn any_is<'b>(
        &self,
        trails: impl Iterator<Item = &'b Trail>,
        is: impl Fn(&'b Version) -> bool,
    ) -> Truth {
        let versions = trails.filter_map(|trail| trail.at(self.point.order));
        Truth::any(versions.map(|version| match &version.object {
            Object::Unreadable(why) => Truth::CannotBeSaid(why.clone()),
            _ => is(version).into(),
        }))
    }

    fn trainjobs(&self, job: &JobName) -> impl Iterator<Item = &'a Trail> {
        self.uids(job).into_iter().filter_map(|uid| self.history.object(uid))
    }

    fn live_pods(&self, job: &JobName) -> Vec<&'a Pod> {
        self.uids(job).into_iter().flat_map(|uid| self.live_pods_of(uid)).collect()
    }

    fn live_pods_of(&self, uid: &str) -> impl Iterator<Item = &'a Pod> {
        let order = self.point.order;
        let trails = self.history.live_pods(uid, order).into_iter();
        trails.filter_map(move |trail| trail.at(order)?.pod())
    }

    /// The live pods of a job, each with whether it carries the A that is asked for, if any is.
    fn carrying(&self, job: &JobName, asked: Option<AdmissionIs>) -> Vec<(&'a Pod, Truth)> {
        let of_object = |uid| {
            let is_compared = asked == Some(AdmissionIs::Outdated);
            let now = if is_compared { self.count(uid) } else { Ok(None) };
            self.live_pods_of(uid).map(move |pod| (pod, carries(asked, pod, &now)))
        };
        self.uids(job).into_iter().flat_map(of_object).collect()
    }

    /// The count of a `TrainJob`: `None` where there is no readable one.
    fn count(&self, uid: &str) -> Result<Option<AdmissionCount>, String> {
        let trail = self.history.object(uid);
        let Some(version) = trail.and_then(|trail| trail.at(self.point.order)) else {
            return Ok(None);
        };
        match &version.object {
            Object::Unreadable(why) => Err(why.clone()),
            _ => Ok(version.trainjob().and_then(TrainJob::admission_count).and_then(Result::ok)),
        }
    }

    fn workload(&self, fact: &WorkloadFact) -> Truth {
        let check = self.history.begin().and_then(|begin| begin.admission_check.as_deref());
        let ours = check;
        let names: Vec<_> = match &fact.names_pods_of {
            Some(job) => self.live_pods(job).into_iter().map(ResourceExt::name_any).collect(),
            None => Vec::new(),
        };
        let is = |workload: &Workload| {
            let check = check.and_then(|name| workload.check(name));
            let said = |name: &String| check.is_some_and(|check| check.message.contains(name));
            let foreign = workload.checks().iter().find(|it| Some(it.name.as_str()) != ours);
            let says_all = !names.is_empty() && names.iter().all(said);
            let says = |word: &String| {
                let message = check.map(|check| check.message.to_lowercase());
                message.is_some_and(|message| message.contains(&word.to_lowercase()))
            };
            agrees(fact.gated, is_gated(workload))
                && agrees(fact.quota_reserved, workload.is("QuotaReserved"))
                && agrees(fact.admitted, workload.is("Admitted"))
                && agrees(fact.evicted, workload.is("Evicted"))
                && agrees(fact.finished, workload.is("Finished"))
                && agrees(fact.active, workload.is_active())
                && fact
                    .check
                    .as_ref()
                    .is_none_or(|state| check.is_some_and(|it| it.state == *state))
                && fact
                    .foreign_check
                    .as_ref()
                    .is_none_or(|state| foreign.is_some_and(|it| it.state == *state))
                && (fact.names_pods_of.is_none() || says_all)
                && fact.says.as_ref().is_none_or(says)
        };
        let uids = self.uids(&fact.job).into_iter();
        let owners: Vec<&str> = if fact.of_jobset {
            let jobsets = uids.flat_map(|uid| self.history.jobsets_of(uid));
            jobsets.map(|jobset| jobset.uid.as_str()).collect()
        } else {
            uids.collect()
        };
        // A Workload that was submitted is itself the object of its job.
        let own = owners.iter().filter_map(|uid| self.history.object(uid));
        let own: Vec<_> = own.filter(|trail| trail.kind == Kind::Workload).collect();
        let owned = owners.into_iter().flat_map(|uid| self.history.workloads_of(uid));
        let trails = owned.chain(own);
        self.any_is(trails, |version| version.workload().is_some_and(is))
    }

    fn trainjob(&self, fact: &TrainJobFact) -> Truth {
        let is = |job: &TrainJob| {
            agrees(fact.suspended, job.is_suspended())
                && agrees(fact.opened, job.is_opened())
                && agrees(fact.held, job.hold_token().is_some())
                && agrees(fact.ended_mark, job.ended_mark().is_some())
                && fact.admission.is_none_or(|asked| {
                    asked.is_met_by(job.annotation(names::ADMISSION_COUNT), None)
                })
        };
        self.any_is(self.trainjobs(&fact.job), |version| version.trainjob().is_some_and(is))
    }

    fn jobset(&self, fact: &JobSetFact) -> Truth {
        let trails = self.uids(&fact.job).into_iter().flat_map(|uid| {
            let mut trails = self.history.jobsets_of(uid);
            trails.sort_by_key(|trail| trail.created());
            trails.into_iter().zip(1_u32..)
        });
        let of_number = trails.filter(|(_, nth)| fact.nth.is_none_or(|asked| asked == *nth));
        self.any_is(of_number.map(|(trail, _)| trail), |version| {
            let jobset = version.jobset();
            jobset.is_some_and(|jobset| {
                agrees(fact.suspended, jobset.is_suspended())
                    && agrees(fact.active, jobset.has_active_jobs())
                    && fact.admission.is_none_or(|asked| bears(jobset, asked))
            })
        })
    }

    fn running(&self, fact: &RunningFact) -> Truth {
        let pods = self.carrying(&fact.job, fact.admission);
        if pods.is_empty() {
            return Truth::False;
        }
        let run = pods.into_iter().flat_map(|(pod, carries)| [is_running(pod).into(), carries]);
        match Truth::all(run) {
            Truth::False => Truth::False,
            truth if self.is_in_execution(&fact.job, fact.execution) => truth,
            _ => Truth::False,
        }
    }

    /// Whether the job's latest execution has this number, and lasts.
    fn is_in_execution(&self, job: &JobName, number: Option<u32>) -> bool {
        let Some(number) = number else { return true };
        let order = self.point.order;
        self.uids(job).into_iter().any(|uid| {
            let executions = self.history.executions(uid);
            let latest = executions.iter().rfind(|execution| execution.start.order <= order);
            latest.is_some_and(|it| it.number == number as usize && it.lasts_at(order))
        })
    }

    fn pod(&self, fact: &PodFact) -> Truth {
        let pods = self.carrying(&fact.job, fact.admission).into_iter();
        Truth::any(pods.map(|(pod, carries)| {
            let is = agrees(fact.terminating, pod.metadata.deletion_timestamp.is_some());
            Truth::all([is.into(), carries].into_iter())
        }))
    }

    fn gone(&self, target: &Target) -> Truth {
        let order = self.point.order;
        let uids = self.uids(&target.of);
        let left = match target.kind {
            TargetKind::Pods => {
                uids.into_iter().any(|uid| !self.history.live_pods(uid, order).is_empty())
            }
            TargetKind::JobSet => {
                let mut jobsets = uids.into_iter().flat_map(|uid| self.history.jobsets_of(uid));
                jobsets.any(|trail| trail.at(order).is_some())
            }
            TargetKind::Workload => {
                let mut all = uids.into_iter().flat_map(|uid| self.history.workloads_of(uid));
                all.any(|trail| trail.at(order).is_some())
            }
            TargetKind::TrainJob => {
                self.trainjobs(&target.of).any(|trail| trail.at(order).is_some())
            }
        };
        (!left).into()
    }

    fn ended(&self, job: &JobName, end: EndAs) -> Truth {
        let type_ = match end {
            EndAs::Succeeded => "Complete",
            EndAs::Failed => "Failed",
        };
        self.any_is(self.trainjobs(job), |version| {
            version.trainjob().is_some_and(|job| job.conditions().is_true(type_))
        })
    }

    fn called(&self, fact: &CalledFact) -> Truth {
        let calls = self.history.calls().iter().filter(|call| {
            let of_job = |job: &JobName| call.invoked.job.as_deref() == Some(job.as_str());
            call.invoked.verb == fact.call && fact.job.as_ref().is_none_or(of_job)
        });
        Truth::any(calls.map(|call| match Point::after(call.invoked_order, call.invoked_seq) {
            Some(sent) => (sent <= self.point).into(),
            None => Truth::CannotBeSaid("the call has no order".to_owned()),
        }))
    }

    fn process(&self, fact: ProcessFact) -> Truth {
        let mut answer = Truth::False;
        for event in self.history.events() {
            let What::Subject(subject) = &event.what else { continue };
            if (Subject { role: subject.role, replica: subject.replica }) != fact.subject {
                continue;
            }
            let is = match subject.change {
                SubjectChange::Started | SubjectChange::Ready | SubjectChange::Thawed => {
                    ProcessIs::Started
                }
                SubjectChange::Frozen => ProcessIs::Frozen,
                SubjectChange::Stopped | SubjectChange::Killed | SubjectChange::Died => {
                    ProcessIs::Stopped
                }
            };
            match Point::of(event) {
                Some(changed) if changed <= self.point => answer = (is == fact.is).into(),
                Some(_) => {}
                None => {
                    let why = "a change of the process has no order".to_owned();
                    answer = Truth::CannotBeSaid(why);
                }
            }
        }
        answer
    }

    fn admission_check(&self, active: bool) -> Truth {
        let Some(name) = self.history.begin().and_then(|begin| begin.admission_check.as_deref())
        else {
            return Truth::CannotBeSaid("the scenario has no AdmissionCheck".to_owned());
        };
        let trails = self.history.of_kind(Kind::AdmissionCheck).filter(|it| it.name == name);
        self.any_is(trails, |version| {
            let object = self.history.raw(version);
            let conditions = object.and_then(|it| it["status"]["conditions"].as_array());
            let is_active = conditions
                .into_iter()
                .flatten()
                .any(|condition| condition["type"] == "Active" && condition["status"] == "True");
            is_active == active
        })
    }

    fn preflight(&self, verdict: PreflightVerdict) -> Truth {
        let mut answer = Truth::False;
        for call in self.history.calls().iter().filter(|call| call.invoked.verb == Verb::Preflight)
        {
            let Some(answered) = &call.answered else { continue };
            let is = match &answered.outcome {
                CallOutcome::Ok(given) => given["observeOnly"].as_bool().map(|observe_only| {
                    if observe_only {
                        PreflightVerdict::ObserveOnly
                    } else {
                        PreflightVerdict::Proved
                    }
                }),
                CallOutcome::Failed(_) | CallOutcome::Unknown(_) => None,
            };
            match Point::after(answered.order, answered.seq) {
                Some(point) if point <= self.point => answer = (is == Some(verdict)).into(),
                Some(_) => {}
                None => answer = Truth::CannotBeSaid("the answer has no order".to_owned()),
            }
        }
        answer
    }
}

/// Whether what is asked, if anything is, agrees with what is.
fn agrees(asked: Option<bool>, is: bool) -> bool {
    asked.is_none_or(|asked| asked == is)
}

/// Whether a pod carries the A that is asked for, if any is. `now` is the count of its `TrainJob`.
fn carries(
    asked: Option<AdmissionIs>,
    pod: &Pod,
    now: &Result<Option<AdmissionCount>, String>,
) -> Truth {
    let annotation = pod.annotation(names::POD_ADMISSION);
    match now {
        Ok(now) => asked.is_none_or(|asked| asked.is_met_by(annotation, *now)).into(),
        Err(why) => Truth::CannotBeSaid(why.clone()),
    }
}

/// Whether the pods of a `JobSet` will all carry this A.
fn bears(jobset: &JobSet, asked: AdmissionIs) -> bool {
    let jobs = &jobset.spec.replicated_jobs;
    let is = |job: &ReplicatedJob| asked.is_met_by(job.pod_annotation(names::POD_ADMISSION), None);
    !jobs.is_empty() && jobs.iter().all(is)
}

fn is_gated(workload: &Workload) -> bool {
    let reserved = workload.conditions().find("QuotaReserved");
    reserved.is_some_and(|it| it.status == "False" && it.reason == "AdmissionGated")
}

fn is_running(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    phase == Some("Running") && pod.metadata.deletion_timestamp.is_none()
}

/// An annotation of a pod.
trait Annotated {
    fn annotation(&self, key: &str) -> Option<&str>;
}

impl Annotated for Pod {
    fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations().get(key).map(String::as_str)
    }
}

#[cfg(test)]
mod tests;
