//! A scenario file as it is written: the YAML's own shape, with the place of every value.
//!
//! Steps are externally tagged, nothing is flattened, untagged or internally tagged: serde would
//! buffer those and lose the places. What the file means is decided in [`super::plan`].

use std::collections::BTreeMap;

use dispatch_contract::ErrorKind;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::{
    Deed, EndAs, FaultTimes, JobDeadline, Mark, Mode, Need, PreflightPolicy, PreflightVerdict,
    Priority, ProcessIs, RefusedAs, When,
};
use crate::history::Verb;

mod delete;
mod job_call;

pub(super) use delete::DeleteFile;
pub(super) use job_call::JobCallFile;

/// A text with its place.
pub(super) type Text = Spanned<String>;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct ScenarioFile {
    pub(super) title: Text,
    pub(super) why: Text,
    pub(super) proves: Spanned<Vec<Text>>,
    pub(super) broken_by_the_cluster: Option<Spanned<Vec<Text>>>,
    #[serde(default)]
    pub(super) needs: Vec<Spanned<Need>>,
    #[serde(default)]
    pub(super) alone: bool,
    pub(super) given: GivenFile,
    pub(super) steps: Spanned<Vec<Spanned<StepFile>>>,
    #[serde(default)]
    pub(super) then: Vec<Spanned<ExpectationFile>>,
    pub(super) witness: Spanned<Vec<Spanned<FactFile>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct GivenFile {
    pub(super) mode: Mode,
    pub(super) queue: QueueFile,
    pub(super) controller: ControllerFile,
    #[serde(default)]
    pub(super) adapter: AdapterFile,
    pub(super) kueue: Option<Spanned<KueueFile>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct QueueFile {
    pub(super) cpu: Spanned<u32>,
    #[serde(default)]
    pub(super) foreign_check: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct ControllerFile {
    pub(super) replicas: Spanned<u32>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct AdapterFile {
    pub(super) preflight: PreflightPolicy,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct KueueFile {
    pub(super) feature_gates: BTreeMap<String, bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum StepFile {
    Start(StartFile),
    Submit(SubmitFile),
    Open(Spanned<JobCallFile>),
    Hold(Spanned<JobCallFile>),
    Release(Spanned<JobCallFile>),
    Stop(Spanned<JobCallFile>),
    Status(StatusFile),
    List(Vec<Text>),
    Preflight(PreflightFile),
    AtOnce(Spanned<Vec<Spanned<StepFile>>>),
    Begin(Box<Spanned<StepFile>>),
    Finish(Text),
    Until(Box<Spanned<FactFile>>),
    Linger(Text),
    LetGo(Text),
    End(EndFile),
    Delete(Spanned<DeleteFile>),
    Edit(EditFile),
    Apply(ApplyFile),
    Deactivate(Text),
    Reactivate(Text),
    Approve(Text),
    Terminate(Text),
    Kill(Text),
    Restart(Text),
    Kueue(KueueFile),
    Freeze(Text),
    Thaw(Text),
    HoldBack(FaultFile),
    Stall(FaultFile),
    Slow(FaultFile),
    Answer(FaultFile),
    LoseRequest(FaultFile),
    LoseAnswer(FaultFile),
    KillAt(FaultFile),
    FreezeAt(FaultFile),
    Change(FaultFile),
    Silence(FaultFile),
    Cut(FaultFile),
    Expire(FaultFile),
    GoOn(Text),
    InTurn(InTurnFile),
}

/// A fault: at which requests, and its name. What it does is said by the step's own word.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct FaultFile {
    pub(super) at: PatternFile,
    #[serde(rename = "as")]
    pub(super) name: Text,
    pub(super) when: Option<When>,
    pub(super) with: Option<RefusedAs>,
    pub(super) merge: Option<serde_json::Value>,
    pub(super) times: Option<FaultTimes>,
    #[serde(default)]
    pub(super) at_random: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct InTurnFile {
    pub(super) at: PatternFile,
    #[serde(rename = "do")]
    pub(super) deeds: Spanned<Vec<Deed>>,
    #[serde(rename = "as")]
    pub(super) name: Text,
}

/// Which requests.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct PatternFile {
    pub(super) from: Text,
    #[serde(default)]
    pub(super) verb: Vec<Text>,
    pub(super) resource: Option<Text>,
    pub(super) of: Option<Text>,
    pub(super) sets: Option<Spanned<SetsFile>>,
    pub(super) dry_run: Option<bool>,
    pub(super) nth: Option<Spanned<u32>>,
    pub(super) after: Option<Text>,
}

/// What the body of a request asks for.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct SetsFile {
    pub(super) check: Option<Text>,
    pub(super) condition: Option<Text>,
    #[serde(rename = "A")]
    pub(super) admission: Option<Text>,
    pub(super) pods: Option<Text>,
    pub(super) suspended: Option<bool>,
    pub(super) active: Option<bool>,
    pub(super) mark: Option<Mark>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct StartFile {
    pub(super) job: Text,
    pub(super) cpu: Spanned<u32>,
    pub(super) pods: Option<Spanned<u32>>,
    #[serde(default)]
    pub(super) labels: BTreeMap<String, String>,
    pub(super) named_as: Option<Text>,
    pub(super) priority: Option<Priority>,
    pub(super) deadline: Option<JobDeadline>,
    #[serde(default)]
    pub(super) again: bool,
    pub(super) refused: Option<ErrorKind>,
    #[serde(default)]
    pub(super) cut_off: bool,
    #[serde(default)]
    pub(super) repeat: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct EditFile {
    pub(super) what: Text,
    pub(super) merge: Option<Spanned<serde_json::Value>>,
    pub(super) patch: Option<Spanned<serde_json::Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct ApplyFile {
    pub(super) what: Text,
    pub(super) field: Text,
    #[serde(rename = "as")]
    pub(super) manager: Text,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct SubmitFile {
    pub(super) job: Text,
    pub(super) kind: SubmittedFile,
    pub(super) cpu: Option<Spanned<u32>>,
    pub(super) like: Option<Text>,
    #[serde(default)]
    pub(super) labels: BTreeMap<String, String>,
}

/// What somebody else submits.
#[derive(Clone, Copy, Deserialize)]
pub(super) enum SubmittedFile {
    TrainJob,
    Job,
    Workload,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct StatusFile {
    pub(super) job: Text,
    pub(super) state: Text,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct PreflightFile {
    pub(super) observe_only: bool,
    #[serde(default)]
    pub(super) because: Vec<Text>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct EndFile {
    pub(super) job: Text,
    #[serde(rename = "as")]
    pub(super) end: EndAs,
}

/// A fact: one key says what it is about, the others what is asked of it.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct FactFile {
    pub(super) workload: Option<Text>,
    pub(super) trainjob: Option<Text>,
    pub(super) jobset: Option<Text>,
    pub(super) running: Option<Text>,
    pub(super) pod_of: Option<Text>,
    pub(super) gone: Option<Text>,
    pub(super) ended: Option<Text>,
    pub(super) called: Option<Spanned<Verb>>,
    pub(super) controller: Option<Spanned<u32>>,
    pub(super) adapter: Option<Spanned<ProcessIs>>,
    pub(super) admission_check: Option<Spanned<CheckActivity>>,
    pub(super) preflight: Option<Spanned<PreflightVerdict>>,
    pub(super) together: Option<Spanned<Vec<Spanned<FactFile>>>>,
    pub(super) any: Option<Spanned<Vec<Spanned<FactFile>>>>,
    pub(super) in_order: Option<Spanned<Vec<Spanned<FactFile>>>>,
    pub(super) met: Option<Text>,
    pub(super) sent: Option<Text>,
    pub(super) answered: Option<Text>,

    pub(super) gated: Option<Spanned<bool>>,
    pub(super) quota_reserved: Option<Spanned<bool>>,
    pub(super) check: Option<Text>,
    pub(super) foreign_check: Option<Text>,
    pub(super) admitted: Option<Spanned<bool>>,
    pub(super) evicted: Option<Spanned<bool>>,
    pub(super) finished: Option<Spanned<bool>>,
    pub(super) active: Option<Spanned<bool>>,
    pub(super) names: Option<Text>,
    pub(super) says: Option<Text>,
    pub(super) of: Option<Spanned<WorkloadOf>>,
    pub(super) suspended: Option<Spanned<bool>>,
    pub(super) opened: Option<Spanned<bool>>,
    pub(super) held: Option<Spanned<bool>>,
    pub(super) ended_mark: Option<Spanned<bool>>,
    pub(super) nth: Option<Spanned<u32>>,
    pub(super) execution: Option<Spanned<u32>>,
    pub(super) terminating: Option<Spanned<bool>>,
    #[serde(rename = "A")]
    pub(super) admission: Option<Text>,
    #[serde(rename = "as")]
    pub(super) end: Option<Spanned<EndAs>>,
    #[serde(rename = "for")]
    pub(super) for_job: Option<Text>,
    pub(super) is: Option<Spanned<ProcessIs>>,
    pub(super) status: Option<Spanned<u16>>,

    /// Allowed in `until` alone.
    pub(super) or_breaks: Option<Text>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum CheckActivity {
    Active,
    Inactive,
}

/// Whose Workload a fact is about, where it is not the `TrainJob`'s or Job's own.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum WorkloadOf {
    #[serde(rename = "jobset")]
    JobSet,
}

/// An expectation: one claim, and the points of the history that it is about.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct ExpectationFile {
    pub(super) never: Option<Spanned<FactFile>>,
    pub(super) always: Option<Spanned<FactFile>>,
    pub(super) finally: Option<Spanned<FactFile>>,
    pub(super) executions: Option<Spanned<ExecutionsFile>>,
    pub(super) count: Option<Spanned<CountFile>>,

    pub(super) before: Option<Spanned<FactFile>>,
    pub(super) after: Option<Spanned<FactFile>>,
    pub(super) between: Option<Spanned<Vec<Spanned<FactFile>>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct ExecutionsFile {
    pub(super) of: Text,
    pub(super) count: u32,
    /// Written out so that the line says what it claims; there is no other word.
    #[serde(rename = "identity")]
    pub(super) _identity: Increasing,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Increasing {
    Increasing,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct CountFile {
    pub(super) of: Text,
    #[serde(rename = "A")]
    pub(super) admission: Text,
}
