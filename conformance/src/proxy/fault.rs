//! What a fault is: the requests that it waits for, and what it does to them.

use std::time::Duration;

use serde_json::Value;
use sha2::{Digest, Sha256};

/// A fault: which requests meet it, how often, and what becomes of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Its name in the scenario.
    pub name: String,
    /// The requests that it waits for.
    pub at: Pattern,
    /// What it does to them.
    pub effect: Effect,
    /// How many of them meet it.
    pub times: Times,
}

/// Which requests a fault waits for. All that is given has to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// The verbs, as in [`crate::history::Request::verb`]; any, where there are none.
    pub verbs: Vec<String>,
    /// The resource, in the plural.
    pub resource: Option<String>,
    /// The subresource, such as `status`. Where it is `None` and the resource is given, only
    /// requests for the resource itself are meant.
    pub subresource: Option<String>,
    /// The name of an object: meant are the object itself and what is named after it, which is
    /// every name that contains this one between its ends, hyphens and dots.
    pub object: Option<String>,
    /// What the body asks for.
    pub sets: Vec<Sets>,
    /// Whether it is a dry run.
    pub dry_run: Option<bool>,
    /// Only the nth request, from 1, of those for which the rest holds.
    pub nth: Option<u32>,
    /// Only requests that come once the fault of this name was met on the same tap, and while it is in
    /// place.
    pub after: Option<String>,
}

/// Something that a write asks for, as [`crate::history::Asks`] tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sets {
    /// A check to this state, such as `Ready`.
    Check(String),
    /// A condition of this type to True.
    Condition(String),
    /// The admission count; to this value, where one is given.
    Count(Option<String>),
    /// The admission count of pods to come, to this value.
    PodCount(String),
    /// `spec.suspend`.
    Suspend(bool),
    /// `spec.active`.
    Active(bool),
    /// The opened mark.
    Opened,
    /// The hold mark.
    Held,
    /// The ended mark.
    Ended,
}

/// What a fault does to a request that meets it.
///
/// A request meets every fault whose pattern it matches, in the order in which they were placed,
/// up to the first that ends it. So a slow API (`Delay`, [`Times::Always`]) goes together with an
/// answer that is lost.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Held until the fault is released, and then sent on, even if the subject gave up on it.
    Hold,
    /// As `Hold`, and so is everything of this subject within the tap's scope that comes after it,
    /// events of its watches too.
    Stall,
    /// Sent on after this time, or when the fault is released.
    Delay(Duration),
    /// As `Delay`, each request by a time of its own.
    DelayAtRandom(AtRandom),
    /// Answered with an error, and not sent on.
    Answer(Refusal),
    /// Not sent on; the subject loses the connection, or with HTTP/2 the stream.
    LoseRequest,
    /// Sent on; when the API server has answered, the subject loses the connection or the stream
    /// instead of getting the answer.
    LoseAnswer,
    /// A signal to the subject.
    Signal(Signal, When),
    /// A JSON merge patch is applied to the body, as a mutating webhook would: the subject cannot
    /// tell.
    Change(Value),
    /// Something happens to a watch: to those that are open when the fault is placed, and to later
    /// ones. Requests that are no watches do not meet it.
    Watch(WatchFault),
}

/// Times that are drawn from a seed: the nth request that meets the fault waits for the same time
/// wherever the seed is the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtRandom {
    /// The longest.
    pub most: Duration,
    /// What they are drawn from.
    pub seed: String,
}

impl AtRandom {
    /// The time of the nth request, from 1.
    pub fn of(&self, nth: u32) -> Duration {
        let digest = Sha256::digest(format!("{}/{nth}", self.seed));
        let (bytes, _) = digest.split_first_chunk().unwrap_or((&[0; 4], &[]));
        self.most.mul_f64(f64::from(u32::from_be_bytes(*bytes)) / f64::from(u32::MAX))
    }
}

impl Effect {
    /// What is done to the nth request that meets the fault, from 1.
    pub(super) fn of_request(&self, nth: u32) -> Self {
        match self {
            Self::DelayAtRandom(times) => Self::Delay(times.of(nth)),
            effect => effect.clone(),
        }
    }
}

/// An error that stands in for the API server's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// 403.
    Forbidden,
    /// 409, the one of a version that is no longer the latest.
    Conflict,
    /// 410, the one of a version that is no longer kept.
    Expired,
    /// 429, with `Retry-After: 1`.
    TooManyRequests,
    /// 500.
    InternalError,
    /// 503.
    ServiceUnavailable,
    /// 504: the outcome is unknown to the subject, though nothing was sent on.
    Timeout,
}

/// A signal to the process of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Signal {
    /// SIGKILL.
    Kill,
    /// SIGSTOP. Whoever placed the fault thaws the subject.
    Freeze,
}

/// When a signal is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum When {
    /// Before the request is sent on. After `Kill` it never is; after `Freeze` it is when the fault
    /// is released.
    Before,
    /// When the API server has answered. After `Kill` the answer is lost; after `Freeze` it is
    /// there when the subject is thawed.
    After,
}

/// What happens to a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WatchFault {
    /// It stays open and delivers nothing until the fault is released, and then everything.
    Silence,
    /// It ends, as when the server's time limit for it is over.
    Cut,
    /// It delivers an `ERROR` event of status 410, and ends: what follows is no longer kept.
    Expire,
    /// A new watch, or list, that begins at a version is answered with 410. Nothing happens to
    /// those that are open.
    RefuseExpired,
}

/// How many requests meet a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Times {
    /// The first.
    Once,
    /// So many.
    Times(u32),
    /// All.
    Always,
    /// The first of each kind. Requests are of one kind that have verb, resource and subresource
    /// in common, and what they set, counts apart.
    OncePerKind,
}
