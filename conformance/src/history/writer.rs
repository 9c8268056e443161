//! Writing a history, event by event, as it happens.

use std::io::Write;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::reader::LINE_BYTES;
use super::{Event, Gap, Kind, What, secret};

/// Writes a history: one line an event, flushed before the next.
///
/// Nothing is lost silently. What may not be written, or could not be read back, is replaced by a
/// gap that says so; where even that fails, every later write fails too, since a reader could not
/// tell a line that was cut in the middle from two.
#[derive(Debug)]
pub struct HistoryWriter<W> {
    out: W,
    path: PathBuf,
    line: Vec<u8>,
    broken: bool,
}

/// An event was not written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The file cannot be written.
    #[error("event {seq} ({what}) was not written to the history {path}")]
    Io {
        /// The number of the event.
        seq: u64,
        /// What it was about.
        what: String,
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// The event may not be written; a gap stands in its place.
    #[error(
        "event {seq} ({what}) is left out of the history {path}, with a gap in its place: {why}"
    )]
    Withheld {
        /// The number of the event.
        seq: u64,
        /// What it was about.
        what: String,
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// An earlier write failed.
    #[error("event {seq} ({what}) was not written: the history {path} broke off before it")]
    Broken {
        /// The number of the event.
        seq: u64,
        /// What it was about.
        what: String,
        /// The file.
        path: PathBuf,
    },
}

impl HistoryWriter<fs_err::File> {
    /// Creates the file. One that is there already is not touched: a history is never overwritten.
    pub fn create(path: &Path) -> std::io::Result<Self> {
        let file = fs_err::OpenOptions::new().write(true).create_new(true).open(path)?;
        Ok(Self::new(file, path))
    }
}

impl<W: Write> HistoryWriter<W> {
    /// A writer to anything; `path` is what errors call it.
    pub fn new(out: W, path: &Path) -> Self {
        Self { out, path: path.to_owned(), line: Vec::new(), broken: false }
    }

    /// Writes an event and flushes it.
    pub fn append(&mut self, event: &Event) -> Result<(), WriteError> {
        let seq = event.seq;
        if self.broken {
            let what = subject(&event.what);
            return Err(WriteError::Broken { seq, what, path: self.path.clone() });
        }
        match self.encode(event) {
            Ok(()) => self.send(event),
            Err(why) => {
                let gap = withheld(event, &why);
                self.encode(&gap).unwrap_or_default();
                self.send(&gap)?;
                let what = subject(&event.what);
                Err(WriteError::Withheld { seq, what, path: self.path.clone(), why })
            }
        }
    }

    /// Makes the line of an event. `Err` says why it may not be written.
    fn encode(&mut self, event: &Event) -> Result<(), String> {
        let finding = match &event.what {
            What::Version(version) => secret::find_in_version(version),
            _ => secret::find(&serde_json::to_value(event).map_err(|error| error.to_string())?),
        };
        if let Some(finding) = finding {
            return Err(finding.to_string());
        }
        self.line.clear();
        serde_json::to_writer(&mut self.line, event).map_err(|error| error.to_string())?;
        self.line.push(b'\n');
        let bytes = self.line.len();
        if bytes > LINE_BYTES {
            return Err(format!("its line has {bytes} bytes, of at most {LINE_BYTES}"));
        }
        Ok(())
    }

    fn send(&mut self, event: &Event) -> Result<(), WriteError> {
        self.out.write_all(&self.line).and_then(|()| self.out.flush()).map_err(|source| {
            self.broken = true;
            let (seq, what, path) = (event.seq, subject(&event.what), self.path.clone());
            WriteError::Io { seq, what, path, source }
        })
    }
}

/// The gap that stands for an event.
fn withheld(event: &Event, why: &str) -> Event {
    let kind = match &event.what {
        What::Version(version) => Some(version.kind),
        _ => None,
    };
    let why = format!("{} was not recorded: {why}", subject(&event.what));
    Event { what: What::Gap(Gap { kind, why }), ..*event }
}

/// What an event is about, in a few words, without anything of its content.
fn subject(what: &What) -> String {
    match what {
        What::Begin(_) => "the beginning".to_owned(),
        What::JobNamed(named) => format!("the name of {}", named.job),
        What::Version(version) => {
            let (kind, name): (Kind, _) = (version.kind, &version.name);
            format!("{kind} {name}, version {}", version.resource_version)
        }
        What::Gap(_) => "a gap".to_owned(),
        What::CallInvoked(call) => format!("call {} of {}", call.call, call.verb.as_str()),
        What::CallAnswered(call) => format!("the answer to call {}", call.call),
        What::StepBegan(step) => format!("the beginning of step {}", step.index),
        What::StepEnded(step) => format!("the end of step {}", step.index),
        What::StepFailed(step) => format!("the failure of step {}", step.index),
        What::Subject(subject) => format!("a change of replica {}", subject.replica),
        What::Request(request) => format!("request {}, for {}", request.request, request.resource),
        What::RequestSent(sent) => format!("the sending of request {}", sent.request),
        What::RequestEnded(ended) => format!("the end of request {}", ended.request),
        What::Delivered(delivered) => format!("an event of the watch {}", delivered.request),
        What::Fault(fault) => format!("a change of the fault {}", fault.fault),
        What::Container(said) => format!("what the container of {} printed", said.pod),
        What::End(_) => "the end".to_owned(),
    }
}
