//! What happened in a run: the events, the file they are kept in, and the read model that
//! expectations and judges ask.
//!
//! A history is the only thing that a verdict is made from. It is written as the run goes, can be
//! judged again later and alone, and is untrusted when it is read back.

mod asks;
mod container;
mod event;
mod exchange;
mod execution;
mod lives;
mod model;
mod reader;
pub mod recorder;
mod request;
mod secret;
mod trail;
mod writer;

pub use asks::Asks;
pub use container::{Account, ContainerSaid, Containers};
pub use event::{
    Begin, CallAnswered, CallInvoked, CallOutcome, Change, End, EndedBy, Event, Gap, JobNamed,
    Kind, Mode, ObjectVersion, Role, SCHEMA, StepBegan, StepEnded, StepFailed, SubjectChange,
    SubjectChanged, SubjectNames, What,
};
pub use exchange::{Ended, Exchange, FaultSeen, Sent};
pub use execution::Execution;
pub use lives::Lives;
pub use model::{Answered, Call, History};
pub use reader::{ReadError, read, read_file};
pub use request::{
    Delivered, Ending, FaultChange, FaultChanged, PatchKind, Refused, Request, RequestEnded,
    RequestSent, Subject, UnknownSubject,
};
pub(crate) use secret::may_be_kept;
pub use trail::{Object, Trail, Version};
pub use writer::{HistoryWriter, WriteError};

pub use dispatch_contract::driver::Verb;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod told;
