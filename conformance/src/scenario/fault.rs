//! Faults: what is done to the requests of a party, and to which of them.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde_json::Value;

use super::JobName;
use crate::history::Role;

/// The name that a scenario gives to a fault.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FaultName(String);

impl FaultName {
    /// A name. `None` unless it is 1 to 32 lower-case letters, digits and hyphens that begin with a
    /// letter.
    pub fn new(text: &str) -> Option<Self> {
        let letters =
            text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
        (letters && begins && text.len() <= 32 && !text.ends_with('-'))
            .then(|| Self(text.to_owned()))
    }

    /// The name as the scenario has it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FaultName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Something that is done to requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its name.
    pub name: FaultName,
    /// To which requests.
    pub at: RequestPattern,
    /// What is done.
    pub effect: FaultEffect,
    /// To how many of them.
    pub times: FaultTimes,
}

/// Which requests. What is absent asks for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPattern {
    /// Whose.
    pub from: Party,
    /// The verb is one of these; any, if there is none.
    pub verbs: Vec<&'static str>,
    /// The resource, in the plural.
    pub resource: Option<String>,
    /// Its subresource. With a resource and without this, the resource itself.
    pub subresource: Option<String>,
    /// The job that the request's object belongs to, by name.
    pub of: Option<JobName>,
    /// What the body asks for; all of it.
    pub sets: Vec<Setting>,
    /// Whether it is only tried.
    pub dry_run: Option<bool>,
    /// Only the nth such request, counted from 1 when the fault is placed.
    pub nth: Option<u32>,
    /// Only once this fault was met, by a request of the same party, and while it is in place.
    pub after: Option<FaultName>,
}

/// Whose requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Party {
    /// Every replica of the controller.
    Controllers,
    /// One replica of the controller, one of the adapter, or a component of the cluster.
    One(Role, u32),
}

impl Party {
    /// Every word for a party but those for single replicas.
    pub const WORDS: [&str; 6] =
        ["controller", "adapter", "kueue", "trainer", "jobset", "kube-controller-manager"];

    /// Whether it is a component of the cluster, and not a subject.
    pub fn is_component(self) -> bool {
        !matches!(self, Self::Controllers | Self::One(Role::Adapter | Role::Controller, _))
    }

    /// Whether it stands for this replica of this role.
    pub fn is(self, role: Role, replica: u32) -> bool {
        match self {
            Self::Controllers => role == Role::Controller,
            Self::One(of, number) => (of, number) == (role, replica),
        }
    }
}

impl FromStr for Party {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(number) = text.strip_prefix("controller-") {
            let number = number.parse().map_err(|_| format!("`{number}` is not a number"))?;
            return Ok(Self::One(Role::Controller, number));
        }
        let one = |role| Ok(Self::One(role, 0));
        match text {
            "controller" => Ok(Self::Controllers),
            "adapter" => one(Role::Adapter),
            "kueue" => one(Role::Kueue),
            "trainer" => one(Role::Trainer),
            "jobset" => one(Role::Jobset),
            "kube-controller-manager" => one(Role::KubeControllerManager),
            _ => Err(format!("nobody is called `{text}`")),
        }
    }
}

/// One thing that the body of a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A check gets this state.
    Check(String),
    /// A condition of this type gets True.
    Condition(String),
    /// The admission count: this one, or any.
    Count(Option<String>),
    /// The admission count that pods are to carry.
    PodCount(String),
    /// `spec.suspend`.
    Suspended(bool),
    /// `spec.active`.
    Active(bool),
    /// A mark of dispatch's on a `TrainJob`.
    Mark(Mark),
}

/// A mark of dispatch's on a `TrainJob`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// It was opened.
    Opened,
    /// It is held.
    Held,
    /// It ended.
    Ended,
}

/// What is done to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultEffect {
    /// It is held back until it is let on, and sent on then, also if who sent it gave up.
    HoldBack,
    /// It and everything of its sender after it is held back until it is let on.
    Stall,
    /// It is sent on later: by a moment that is long for an API server, and short for a time limit.
    Slow,
    /// It is sent on later: by up to some seconds, drawn for each request.
    SlowAtRandom,
    /// It is refused in the API server's place.
    Answer(RefusedAs),
    /// It is cut off before the API server.
    LoseRequest,
    /// It is sent on and answered, and the answer is cut off.
    LoseAnswer,
    /// Its sender is killed.
    Kill(When),
    /// Its sender is frozen.
    Freeze(When),
    /// Its body is changed, by a JSON merge patch, as by a webhook.
    Change(Value),
    /// Of a watch: it delivers nothing until it is let on, and then all of it.
    Silence,
    /// Of a watch: it ends.
    Cut,
    /// Of a watch: its version is too old (410), so that the sender has to list again.
    Expire,
}

impl FaultEffect {
    /// The word that names the step in a scenario.
    pub fn word(&self) -> &'static str {
        match self {
            Self::HoldBack => "hold-back",
            Self::Stall => "stall",
            Self::Slow | Self::SlowAtRandom => "slow",
            Self::Answer(_) => "answer",
            Self::LoseRequest => "lose-request",
            Self::LoseAnswer => "lose-answer",
            Self::Kill(_) => "kill-at",
            Self::Freeze(_) => "freeze-at",
            Self::Change(_) => "change",
            Self::Silence => "silence",
            Self::Cut => "cut",
            Self::Expire => "expire",
        }
    }
}

/// When something is done to the sender of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// Before it is sent on.
    #[default]
    Before,
    /// Once it was answered, and before its sender gets the answer.
    After,
}

/// How a request is refused in the API server's place, by the reason of Kubernetes' Status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum RefusedAs {
    /// 409.
    Conflict,
    /// 429, with a Retry-After.
    TooManyRequests,
    /// 500.
    InternalError,
    /// 503.
    ServiceUnavailable,
    /// 504.
    Timeout,
    /// 403.
    Forbidden,
}

/// To how many requests something is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultTimes {
    /// The first that matches.
    #[default]
    Once,
    /// The first three that match.
    Thrice,
    /// All that match.
    Always,
    /// The first of each kind: verb, resource, and what it asks for.
    OncePerKind,
}

/// A fault for each request in turn: a scenario with such a step is played once without the fault,
/// and then once for each kind of request that it made meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InTurn {
    /// The name of the fault in each of its cases.
    pub name: FaultName,
    /// Which requests are gone through.
    pub at: RequestPattern,
    /// What is done to each of them: every deed is a case of its own.
    pub deeds: Vec<Deed>,
}

/// What is done to each request in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deed {
    /// Its sender is killed before it is sent on.
    KillBefore,
    /// Its sender is killed once it was answered.
    KillAfter,
    /// Its sender is frozen before it is sent on.
    FreezeBefore,
    /// Its sender is frozen once it was answered.
    FreezeAfter,
    /// It is cut off before the API server.
    LoseRequest,
    /// Its answer is cut off.
    LoseAnswer,
    /// It is held back.
    HoldBack,
    /// It is answered 409.
    Conflict,
    /// It is answered 429.
    TooManyRequests,
    /// It is answered 500.
    InternalError,
    /// It is answered 503.
    Unavailable,
}

impl Deed {
    /// The word for it in a scenario, and in the names of cases.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::KillBefore => "kill-before",
            Self::KillAfter => "kill-after",
            Self::FreezeBefore => "freeze-before",
            Self::FreezeAfter => "freeze-after",
            Self::LoseRequest => "lose-request",
            Self::LoseAnswer => "lose-answer",
            Self::HoldBack => "hold-back",
            Self::Conflict => "conflict",
            Self::TooManyRequests => "too-many-requests",
            Self::InternalError => "internal-error",
            Self::Unavailable => "unavailable",
        }
    }

    /// What is done.
    pub fn effect(self) -> FaultEffect {
        match self {
            Self::KillBefore => FaultEffect::Kill(When::Before),
            Self::KillAfter => FaultEffect::Kill(When::After),
            Self::FreezeBefore => FaultEffect::Freeze(When::Before),
            Self::FreezeAfter => FaultEffect::Freeze(When::After),
            Self::LoseRequest => FaultEffect::LoseRequest,
            Self::LoseAnswer => FaultEffect::LoseAnswer,
            Self::HoldBack => FaultEffect::HoldBack,
            Self::Conflict => FaultEffect::Answer(RefusedAs::Conflict),
            Self::TooManyRequests => FaultEffect::Answer(RefusedAs::TooManyRequests),
            Self::InternalError => FaultEffect::Answer(RefusedAs::InternalError),
            Self::Unavailable => FaultEffect::Answer(RefusedAs::ServiceUnavailable),
        }
    }
}
