//! What people see: progress and errors on standard error, results on standard output.

use crate::cluster::{Event, Progress};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// The longest line that is said in place of another, where the width of the terminal is not known.
const WIDTH: usize = 78;

/// After how long without a line something is said where it cannot be said in place of another.
const QUIET: Duration = Duration::from_secs(20);

/// Writes a line to standard error. A closed one is no reason to stop.
pub(super) fn say(line: &str) {
    drop(writeln!(std::io::stderr().lock(), "{line}"));
}

/// Writes a line to standard output.
pub(super) fn print(line: &str) {
    drop(writeln!(std::io::stdout().lock(), "{line}"));
}

/// Says what is being done now: on a terminal in place of what was said so before, else on a line
/// of its own.
pub(super) fn transient(line: &str) {
    if std::io::stderr().is_terminal() {
        in_place(line);
    } else {
        say(line);
    }
}

/// Takes away what [`transient`] said last.
pub(super) fn settle() {
    if std::io::stderr().is_terminal() {
        in_place("");
    }
}

fn in_place(line: &str) {
    let width = terminal_size::terminal_size_of(std::io::stderr());
    // A line that fills the last column would wrap.
    let width = width.map_or(WIDTH, |(width, _)| usize::from(width.0).saturating_sub(1));
    let line: String = line.chars().take(width).collect();
    let mut out = std::io::stderr().lock();
    drop(write!(out, "\r\u{1b}[2K{line}").and_then(|()| out.flush()));
}

/// Says how far something has come, between the lines that it prints: on a terminal at once and in
/// place, else only after a while without any line.
pub(super) struct Meanwhile {
    terminal: bool,
    last: Instant,
}

impl Meanwhile {
    pub(super) fn new(now: Instant) -> Self {
        Self { terminal: std::io::stderr().is_terminal(), last: now }
    }

    /// Prints something that stays.
    pub(super) fn print(&mut self, text: &str) {
        settle();
        print(text);
        self.last = Instant::now();
    }

    /// Says how far it has come.
    pub(super) fn say(&mut self, line: &str) {
        let now = Instant::now();
        if self.terminal {
            in_place(line);
        } else if now.saturating_duration_since(self.last) >= QUIET {
            say(line);
            self.last = now;
        }
    }
}

impl Drop for Meanwhile {
    fn drop(&mut self) {
        settle();
    }
}

/// Writes an error with its code and what to do about it.
pub(super) fn complain(error: impl miette::Diagnostic + Send + Sync + 'static) {
    say(&format!("{:?}", miette::Report::new(error)));
}

/// An error with everything that it comes from.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !words.ends_with(&more) {
            words = format!("{words}: {more}");
        }
        cause = error.source();
    }
    words
}

/// Tells a cluster's progress, a line an event.
pub(super) struct Lines;

impl Progress for Lines {
    fn event(&self, event: &Event) {
        say(&line(event));
    }
}

/// One event in words.
pub(super) fn line(event: &Event) -> String {
    match event {
        Event::CacheLocked { path, holder, waited_ms } => {
            let holder =
                holder.map_or_else(|| "another process".into(), |p| format!("process {p}"));
            let path = path.display();
            format!(
                "waiting   {holder} builds into the cache ({path}), {} so far",
                seconds(*waited_ms)
            )
        }
        Event::Building { binary, nth, of } => {
            format!("building  {binary} ({nth} of {of}; once, then it is in the cache)")
        }
        Event::Built { binary, elapsed_ms } => {
            format!("built     {binary} in {}", seconds(*elapsed_ms))
        }
        Event::Waiting { phase, until } => format!("waiting   {phase}: until {until}"),
        Event::Done { phase, because, elapsed_ms } => {
            format!("ready     {phase}: {because}, {}", seconds(*elapsed_ms))
        }
        Event::StartedElsewhere { name, supervisor } => {
            format!("waiting   cluster {name} is being started by process {supervisor}")
        }
    }
}

/// A duration for people.
pub(super) fn seconds(elapsed_ms: u64) -> String {
    let (minutes, rest) = (elapsed_ms / 60_000, elapsed_ms % 60_000);
    let minutes = if minutes > 0 { format!("{minutes} min ") } else { String::new() };
    format!("{minutes}{}.{:02} s", rest / 1000, rest % 1000 / 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::short(70, "0.07 s")]
    #[case::some(12_345, "12.34 s")]
    #[case::long(234_428, "3 min 54.42 s")]
    fn durations_are_readable(#[case] ms: u64, #[case] text: &str) {
        assert_eq!(seconds(ms), text);
    }

    #[test]
    fn a_wait_says_for_what() {
        let event = Event::Waiting { phase: "etcd".into(), until: "/readyz says ok".into() };
        assert_eq!(line(&event), "waiting   etcd: until /readyz says ok");
    }
}
