//! What people and scripts read.

use std::fmt::Write as _;
use std::io::Write as _;

use dispatch_contract::{
    CallError, ListEntry, PodOfObject, PreflightAnswer, ReadmissionGate, ReleaseAnswer,
    StartAnswer, State, StatusAnswer, StopAnswer,
};
use serde_json::{Value, json};

use super::Format;
use crate::manifests;

/// The answer of a call, with the name of the object it is about.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    Start(StartAnswer),
    Open(String),
    Status(String, StatusAnswer),
    Hold(String),
    Release(String, ReleaseAnswer),
    Stop(String, StopAnswer),
    List(Vec<ListEntry>),
    Preflight(PreflightAnswer),
    Manifests,
}

impl Answer {
    /// Whether a script should take the answer for a failure.
    pub(super) fn is_failure(&self) -> bool {
        matches!(self, Self::Preflight(answer) if answer.observe_only)
    }
}

/// Where answers go.
pub(super) struct Output {
    format: Format,
}

impl Output {
    pub(super) fn new(format: Format) -> Self {
        Self { format }
    }

    pub(super) fn answer(&self, answer: &Answer) {
        match self.format {
            Format::Text => print(&text(answer)),
            Format::Json => print(&format!("{}\n", json(answer))),
        }
    }

    pub(super) fn error(&self, error: &CallError) {
        match self.format {
            Format::Text => drop(write!(std::io::stderr().lock(), "{}", error_text(error))),
            Format::Json => print(&format!("{}\n", json!({"error": error}))),
        }
    }
}

/// Writes to standard output. That nobody reads it is no failure of the call.
fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    drop(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()));
}

/// An answer as the driver protocol has it; the calls that answer nothing answer `{}`.
fn json(answer: &Answer) -> Value {
    match answer {
        Answer::Start(answer) => json!(answer),
        Answer::Status(_, answer) => json!(answer),
        Answer::Release(_, answer) => json!(answer),
        Answer::Stop(_, answer) => json!(answer),
        Answer::List(entries) => json!(entries),
        Answer::Preflight(answer) => json!(answer),
        Answer::Open(_) | Answer::Hold(_) => json!({}),
        Answer::Manifests => {
            manifests::ALL.iter().map(|(file, text)| ((*file).to_owned(), json!(text))).collect()
        }
    }
}

fn text(answer: &Answer) -> String {
    match answer {
        Answer::Start(answer) => start(answer),
        Answer::Open(name) => format!("{name} is open\n"),
        Answer::Status(name, answer) => status(name, answer),
        Answer::Hold(name) => format!("{name} is held\n"),
        Answer::Release(name, answer) => release(name, answer),
        Answer::Stop(name, StopAnswer { deleted: true }) => {
            format!("{name} is stopped; nothing of it is left\n")
        }
        Answer::Stop(name, StopAnswer { deleted: false }) => {
            format!("{name} was gone already; nothing of it is left\n")
        }
        Answer::List(entries) => list(entries),
        Answer::Preflight(answer) => preflight(answer),
        Answer::Manifests => {
            let files = manifests::ALL.iter().map(|(file, text)| format!("# {file}\n{text}"));
            files.collect::<Vec<_>>().join("---\n")
        }
    }
}

fn error_text(error: &CallError) -> String {
    let rules = if error.rules.is_empty() {
        String::new()
    } else {
        format!(" ({})", error.rules.join(", "))
    };
    format!("error: {error}{rules}\n")
}

fn start(answer: &StartAnswer) -> String {
    let StartAnswer { name, uid, warnings } = answer;
    let mut text = format!(
        "{name} is created, closed\n  uid   {uid}\n  next  dispatch-adapter open {name} --uid {uid}\n"
    );
    add_lines(&mut text, "warning", warnings);
    text
}

fn release(name: &str, answer: &ReleaseAnswer) -> String {
    let mut text = if answer.released {
        format!("{name} is released\n")
    } else {
        format!("{name}: nothing was released\n")
    };
    if let Some(why) = &answer.not_resumed {
        add_lines(&mut text, "it does not go on", std::slice::from_ref(why));
    }
    text
}

fn status(name: &str, answer: &StatusAnswer) -> String {
    let count = answer.admission.map_or_else(|| "unreadable".to_owned(), |count| count.to_string());
    let mut text = format!("{name} is {}", answer.state.name());
    if answer.state != State::NotFound {
        let _ = write!(text, ", A={count}");
    }
    text.push('\n');
    state(&mut text, &answer.state);
    for violation in &answer.violations {
        let _ = writeln!(text, "  violation of {}: {}", violation.rule, violation.message);
    }
    text
}

fn state(text: &mut String, state: &State) {
    let mut line = |what: &str, value: &str| {
        let _ = writeln!(text, "  {what}: {value}");
    };
    match state {
        State::NotFound
        | State::DeactivatedByAnother
        | State::Gated
        | State::SuspendedByAnother
        | State::GateGone
        | State::Starting { refused_by: None } => {}
        State::Ended { how, opened, pods_left } => {
            line("how", how);
            line("was opened", if *opened { "yes" } else { "no" });
            pods(text, "pod left", pods_left);
        }
        State::Held { pods_left } | State::Draining { pods_left } => {
            pods(text, "pod left", pods_left);
        }
        State::HeldByAdministrator { gates } if gates.is_empty() => {
            line("gates", "none that has a name; the annotation has a blank value");
        }
        State::HeldByAdministrator { gates } => line("gates", &gates.join(", ")),
        State::Running { identity, pods: running } => {
            match identity {
                Some(identity) => line("R", &identity.to_string()),
                None => line("R", "no pod reports a readable one"),
            }
            pods(text, "pod", running);
        }
        State::WaitingAtCheck { check, check_state, message, controller_silent_since } => {
            line("check", &format!("{check} is {check_state}"));
            if !message.is_empty() {
                line("message", message);
            }
            if let Some(since) = controller_silent_since {
                line("controller", &format!("its Lease has not been renewed since {since}"));
            }
        }
        State::Starting { refused_by: Some(why) } => line("refused by", why),
        State::Queued { reason } => line("reason", reason),
    }
}

fn pods(text: &mut String, what: &str, pods: &[PodOfObject]) {
    for pod in pods {
        let state = if pod.terminating { "Terminating" } else { pod.phase.as_str() };
        let node = pod.node.as_deref().map_or_else(String::new, |node| format!(" on {node}"));
        let admission = pod.admission.as_deref().unwrap_or("nothing");
        let _ = writeln!(text, "  {what}: {}, {state}{node}, A={admission}", pod.name);
    }
}

fn list(entries: &[ListEntry]) -> String {
    if entries.is_empty() {
        return "no objects\n".to_owned();
    }
    let width = entries.iter().map(|entry| entry.name.len()).max().unwrap_or_default();
    let lines = entries
        .iter()
        .map(|entry| format!("{:width$}  {}  {}\n", entry.name, entry.uid, entry.state.name()));
    lines.collect()
}

fn preflight(answer: &PreflightAnswer) -> String {
    let mut text = if answer.observe_only {
        "observe-only: Start, Open and Release are refused\n".to_owned()
    } else {
        "the start gate is proved\n".to_owned()
    };
    for reason in &answer.reasons {
        let _ = writeln!(text, "  {}: {}", reason.rule, reason.message);
    }
    match &answer.readmission_gate {
        ReadmissionGate::Yes => text.push_str("  readmission gate: yes\n"),
        ReadmissionGate::No(why) => {
            let _ = writeln!(text, "  readmission gate: no, {why}");
        }
    }
    add_lines(&mut text, "warning", &answer.warnings);
    text
}

fn add_lines(text: &mut String, what: &str, lines: &[String]) {
    for line in lines {
        let _ = writeln!(text, "  {what}: {line}");
    }
}

#[cfg(test)]
mod tests;
