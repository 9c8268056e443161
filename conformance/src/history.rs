//! What happened in a run: the events, the file they are kept in, and the read model that
//! expectations and judges ask.
//!
//! A history is the only thing that a verdict is made from. It is written as the run goes, can be
//! judged again later and alone, and is untrusted when it is read back.

mod event;
mod execution;
mod lives;
mod model;
mod reader;
pub mod recorder;
mod secret;
mod trail;
mod writer;

pub use event::{
    Begin, CallAnswered, CallInvoked, CallOutcome, Change, End, EndedBy, Event, Gap, JobNamed,
    Kind, Mode, ObjectVersion, Request, Role, SCHEMA, StepBegan, StepEnded, StepFailed,
    SubjectChange, SubjectChanged, Verb, What,
};
pub use execution::Execution;
pub use lives::Lives;
pub use model::{Answered, Call, History};
pub use reader::{ReadError, read, read_file};
pub use trail::{Object, Trail, Version};
pub use writer::{HistoryWriter, WriteError};

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod told;
