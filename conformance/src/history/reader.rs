//! Reading a history back. It comes from anywhere, so everything in it has a bound.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;

use super::{Event, History, SCHEMA, What};

/// The greatest length of a line. The largest object that etcd takes has 1.5 MiB.
pub(super) const LINE_BYTES: usize = 8 << 20;

/// The greatest number of events.
pub(super) const EVENTS: usize = 2_000_000;

/// The greatest length of the file.
pub(super) const FILE_BYTES: u64 = 4 << 30;

/// How far the two clocks of a history may be apart, in milliseconds.
const CLOCKS_APART_MS: i128 = 5_000;

const CLOCK_JUMPED: &str = "the clock was set while the run lasted, so that its times say nothing";

/// A file is not a history that can be judged.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("the history {path} cannot be read")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// A bound is passed.
    #[error("the history {path} is not read past line {line}: {bound}")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Which bound.
        bound: String,
    },
    /// A line is not an event.
    #[error("line {line} of the history {path} is not an event: {why}")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// The first line is not the beginning of a history.
    #[error(
        "the file {path} does not begin like a history: the first line has to be a `begin` event \
         of schema `{SCHEMA}`"
    )]
    NotAHistory {
        /// The file.
        path: PathBuf,
    },
    /// A later version of the suite wrote it.
    #[error(
        "the history {path} has schema `{found}`, and this version reads up to `{SCHEMA}`; judge \
         it with the version of dispatch-conformance that wrote it, or a later one"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The schema of the file.
        found: String,
    },
}

/// Reads a history from a file.
pub fn read_file(path: &Path) -> Result<History, ReadError> {
    let io = |source| ReadError::Io { path: path.to_owned(), source };
    let file = fs_err::File::open(path).map_err(io)?;
    read(BufReader::new(file), path)
}

/// Reads a history from anything; `path` is what errors call it.
///
/// A last line that was cut off, an event that is missing between two others and an end that is
/// missing are gaps, not errors: what was kept until then can be judged.
pub fn read(input: impl BufRead, path: &Path) -> Result<History, ReadError> {
    let mut reader = Reader { input: input.take(FILE_BYTES), path, line: Vec::new(), number: 0 };
    let mut history = History::default();
    let mut next_seq = 0;
    while let Some(complete) = reader.next_line()? {
        if reader.number > EVENTS {
            return Err(reader.too_large(format!("more than {EVENTS} events")));
        }
        if reader.number == 1 {
            reader.check_schema()?;
        }
        match serde_json::from_slice::<Event>(&reader.line) {
            Ok(event) => next_seq = add(&mut history, event, next_seq, &reader)?,
            Err(_) if !complete && reader.number > 1 => {
                history.push_gap(
                    history.events().len(),
                    "the last line was cut off while it was written",
                );
            }
            Err(error) => return Err(reader.wrong(error.to_string())),
        }
    }
    if history.begin().is_none() {
        return Err(ReadError::NotAHistory { path: path.to_owned() });
    }
    history.close();
    Ok(history)
}

/// Adds an event, and a gap before it where some are missing. Returns the number that is next.
fn add(
    history: &mut History,
    event: Event,
    next_seq: u64,
    reader: &Reader<'_, impl BufRead>,
) -> Result<u64, ReadError> {
    let seq = event.seq;
    if history.begin().is_some() == matches!(event.what, What::Begin(_)) {
        return Err(reader.wrong("there is one `begin`, and it is the first line".to_owned()));
    }
    if seq < next_seq {
        return Err(reader.wrong(format!("its number is {seq}, after {}", next_seq - 1)));
    }
    if seq > next_seq {
        let why = format!("events {next_seq} to {} are missing", seq - 1);
        history.push_gap(history.events().len(), &why);
    }
    if let Some(begin) = history.events().first()
        && clocks_differ(begin, &event)
        && !history.gaps().any(|(_, gap)| gap.why == CLOCK_JUMPED)
    {
        history.push_gap(history.events().len(), CLOCK_JUMPED);
    }
    history.push(event);
    Ok(seq.saturating_add(1))
}

/// Whether more or less time passed since the first event by the wall clock, which the times of rules
/// are told by, than by the clock that is never set.
fn clocks_differ(begin: &Event, event: &Event) -> bool {
    let by_wall = event.at.duration_since(begin.at).as_millis();
    let steadily = (i128::from(event.elapsed_ns) - i128::from(begin.elapsed_ns)) / 1_000_000;
    (by_wall - steadily).abs() > CLOCKS_APART_MS
}

struct Reader<'a, R> {
    input: std::io::Take<R>,
    path: &'a Path,
    line: Vec<u8>,
    number: usize,
}

impl<R: BufRead> Reader<'_, R> {
    /// Reads the next line. `Some(false)` if it has no line end, `None` at the end of the file.
    fn next_line(&mut self) -> Result<Option<bool>, ReadError> {
        self.line.clear();
        self.number += 1;
        let bound = LINE_BYTES as u64 + 1;
        let read = self.input.by_ref().take(bound).read_until(b'\n', &mut self.line);
        read.map_err(|source| ReadError::Io { path: self.path.to_owned(), source })?;
        if self.line.len() > LINE_BYTES {
            return Err(self.too_large(format!("the line has more than {LINE_BYTES} bytes")));
        }
        if self.input.limit() == 0 {
            return Err(self.too_large(format!("the file has more than {FILE_BYTES} bytes")));
        }
        Ok((!self.line.is_empty()).then(|| self.line.ends_with(b"\n")))
    }

    /// Reads the schema of the first line before anything else of it, which a later version may
    /// have given another shape.
    fn check_schema(&self) -> Result<(), ReadError> {
        #[derive(Deserialize)]
        struct First {
            what: FirstWhat,
        }
        #[derive(Deserialize)]
        struct FirstWhat {
            begin: FirstBegin,
        }
        #[derive(Deserialize)]
        struct FirstBegin {
            schema: String,
        }
        let path = || self.path.to_owned();
        let Ok(first) = serde_json::from_slice::<First>(&self.line) else {
            return Err(ReadError::NotAHistory { path: path() });
        };
        let schema = first.what.begin.schema;
        let major = |schema: &str| schema.strip_prefix("dispatch-history/")?.parse::<u32>().ok();
        // There is one major so far; the readers of older ones go here.
        match (major(&schema), major(SCHEMA)) {
            (Some(found), Some(ours)) if found > ours => {
                let found = schema.chars().take(64).collect();
                Err(ReadError::Newer { path: path(), found })
            }
            (Some(1), _) => Ok(()),
            _ => Err(ReadError::NotAHistory { path: path() }),
        }
    }

    fn wrong(&self, why: String) -> ReadError {
        ReadError::Line { path: self.path.to_owned(), line: self.number, why }
    }

    fn too_large(&self, bound: String) -> ReadError {
        ReadError::TooLarge { path: self.path.to_owned(), line: self.number, bound }
    }
}
