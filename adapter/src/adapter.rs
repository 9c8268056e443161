//! The adapter, with a method for each call.

use std::sync::{Arc, Mutex, PoisonError};

use dispatch_contract::{
    CallError, Clock, Entropy, ErrorKind, ListEntry, ObjectRef, PreflightAnswer, ReleaseAnswer,
    StartAnswer, StartRequest, StatusAnswer, StopAnswer,
};
use dispatch_kubernetes::request::Limits;
use kube::Client;

use crate::decisions::{ByContract, Decisions};
use crate::error::fail;
use crate::{Config, Mode, Preflight};
use crate::{hold, list, open, preflight, release, start, status, stop};

/// An adapter in one namespace. Every call can be made at any time, by several tasks and several
/// adapters at once; what an adapter keeps in memory is only whether the gate was proved.
pub struct Adapter {
    config: Config,
    client: Client,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    decisions: Arc<dyn Decisions>,
    /// What the last preflight said, if there was one.
    proof: Mutex<Option<PreflightAnswer>>,
}

impl Adapter {
    /// An adapter by this configuration. Nothing is sent yet.
    pub fn new(
        config: Config,
        client: Client,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        let decisions = Arc::new(ByContract);
        Self { config, client, clock, entropy, decisions, proof: Mutex::default() }
    }

    /// The same adapter with other decisions than the contract's.
    #[must_use]
    pub fn with_decisions(self, decisions: Arc<dyn Decisions>) -> Self {
        Self { decisions, ..self }
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Creates an object, closed: nothing of it runs before [`Adapter::open`]. A repeat with the
    /// same input gives the same object (SG-01 to SG-09).
    pub async fn start(&self, request: &StartRequest) -> Result<StartAnswer, CallError> {
        self.is_supported()?;
        self.is_proved("Start")?;
        self.tell(start::start(self, request).await)
    }

    /// Opens an object's gate, once; a repeat writes nothing (OP-01 to OP-10).
    pub async fn open(&self, object: &ObjectRef) -> Result<(), CallError> {
        self.is_supported()?;
        self.is_proved("Open")?;
        self.tell(open::open(self, object).await)
    }

    /// What state an object is in, and what contradicts the contract (CA-04, EX-04, EX-05). An
    /// object that is gone has a state too.
    pub async fn status(&self, object: &ObjectRef) -> Result<StatusAnswer, CallError> {
        self.is_supported()?;
        self.tell(status::status(self, object).await)
    }

    /// Holds an object: it is marked, and its Workload deactivated (CA-01).
    pub async fn hold(&self, object: &ObjectRef) -> Result<(), CallError> {
        self.is_supported()?;
        self.tell(hold::hold(self, object).await)
    }

    /// Takes the hold away that it finds, and sets the object going (CA-02).
    pub async fn release(&self, object: &ObjectRef) -> Result<ReleaseAnswer, CallError> {
        self.is_supported()?;
        self.is_proved("Release")?;
        self.tell(release::release(self, object).await)
    }

    /// Deletes an object, and waits until no pod of it is left (CA-03).
    pub async fn stop(&self, object: &ObjectRef) -> Result<StopAnswer, CallError> {
        self.is_supported()?;
        self.tell(stop::stop(self, object).await)
    }

    /// Every object of dispatch in the namespace, probes excepted (CA-08). Whether a controller
    /// that is waited for lives is told by [`Adapter::status`] alone, since it takes a while to see.
    pub async fn list(&self) -> Result<Vec<ListEntry>, CallError> {
        self.is_supported()?;
        self.tell(list::list(self).await)
    }

    /// Proves that the gates hold (PF-01 to PF-07). Until it has, and when it fails, the adapter is
    /// observe-only. Takes [`crate::PROBE_WINDOW`] and a little more.
    pub async fn preflight(&self) -> Result<PreflightAnswer, CallError> {
        self.is_supported()?;
        let answer = self.tell(preflight::preflight(self).await)?;
        self.remember(&answer);
        Ok(answer)
    }

    /// What the caller is told of how a call ended.
    fn tell<T>(&self, ended: Result<T, CallError>) -> Result<T, CallError> {
        ended.map_err(|failed| self.decisions.told(failed))
    }

    /// Keeps what preflight said. An adapter whose gate was proved goes on when only the controller
    /// is missing now (PF-04, RG-10).
    fn remember(&self, answer: &PreflightAnswer) {
        let mut proof = self.proof.lock().unwrap_or_else(PoisonError::into_inner);
        let was_proved = proof.as_ref().is_some_and(|proof| !proof.observe_only);
        let only_heartbeat = answer.reasons.iter().all(|reason| reason.rule == "PF-04");
        if !(was_proved && only_heartbeat) {
            *proof = Some(answer.clone());
        }
    }

    /// Whether the gate is proved, or taken for granted (PF-02).
    fn is_proved(&self, call: &str) -> Result<(), CallError> {
        let proof = self.proof.lock().unwrap_or_else(PoisonError::into_inner);
        let policy = self.config.preflight;
        let Some(why) = self.decisions.observe_only(call, proof.as_ref(), policy) else {
            if proof.is_none() && policy == Preflight::Assumed {
                tracing::warn!("{call}: preflight is assumed, nobody proved that the gate holds");
            }
            return Ok(());
        };
        let message = format!("{call} is refused, the adapter may only observe: {why}");
        Err(fail(ErrorKind::ObserveOnly, message, &["PF-02"]))
    }

    /// Whether the configured mode is one that this adapter has.
    fn is_supported(&self) -> Result<(), CallError> {
        match self.config.mode {
            Mode::Kueue => self
                .config
                .check()
                .map_err(|error| fail(ErrorKind::Invalid, error.to_string(), &["CA-06"])),
            Mode::Plain => {
                Err(fail(ErrorKind::NotSupported, "mode: plain is not supported", &["CA-06"]))
            }
        }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.config.namespace
    }

    /// The name of the `AdmissionCheck`.
    pub(crate) fn check(&self) -> &str {
        self.config.admission_check.as_deref().unwrap_or_default()
    }

    pub(crate) fn limits(&self) -> Limits {
        Limits { request: self.config.timeouts.request }
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    pub(crate) fn entropy(&self) -> &dyn Entropy {
        &*self.entropy
    }

    pub(crate) fn decisions(&self) -> &dyn Decisions {
        &*self.decisions
    }
}
