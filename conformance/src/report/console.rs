//! What a person sees.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use dispatch_contract::rules::{Rule, Source};

use super::{Entry, Failure, Judged, RunReport, ScenarioReport, ScenarioResult, plain};
use crate::exit_code::ExitCode;
use crate::rules::{JUDGES, Overall};
use crate::run::Progress;
use crate::scenario::Scenario;

/// How many of a scenario's failures are shown with their timelines; the others have one line.
const SHOWN: usize = 3;

/// The first line of a run: how many scenarios are played, and how many times each.
pub fn header(
    (count, times): (usize, u32),
    cluster: &str,
    versions: &str,
    mutant: Option<&str>,
) -> String {
    let subject = mutant.map_or("the reference".to_owned(), |name| format!("the mutant {name}"));
    let times = if times > 1 { format!(", {times} times each,") } else { String::new() };
    format!("{}{times} with {subject} on {cluster} ({versions})", counted(count, "scenario"))
}

/// A scenario that was played: its line, and below it what is wrong.
pub fn scenario(run: &RunReport, report: &ScenarioReport) -> String {
    let word = word(&report.result);
    let note = match &report.result {
        ScenarioResult::Judged(judged) => match &judged.overall {
            Overall::Pass => String::new(),
            Overall::Fail { .. } => broken_rules(report).join(" "),
            Overall::Inconclusive { .. } => "inconclusive".to_owned(),
        },
        ScenarioResult::NotJudged { .. } => "not judged".to_owned(),
    };
    let name = name(report);
    let mut out = format!("{word}  {name:<44} {:>9}  {note}", seconds(report.took));
    out.truncate(out.trim_end().len());
    out.push('\n');
    match &report.result {
        ScenarioResult::Judged(judged) => below(&mut out, run, report, judged),
        ScenarioResult::NotJudged { why, .. } => indented(&mut out, &plain(why)),
    }
    for left in &report.left_behind {
        indented(&mut out, &format!("left behind: {}", plain(left)));
    }
    out
}

fn name(report: &ScenarioReport) -> String {
    match report.repetition {
        Some((nth, of)) => format!("{} ({nth}/{of})", report.id),
        None => report.id.clone(),
    }
}

/// What is wrong, and how to see it again.
fn below(out: &mut String, run: &RunReport, report: &ScenarioReport, judged: &Judged) {
    for (place, failure) in judged.failures.iter().enumerate() {
        show_failure(out, failure, place < SHOWN);
    }
    if let Overall::Inconclusive { why } = &judged.overall {
        for why in why {
            indented(out, &plain(why));
        }
    }
    if judged.overall == Overall::Pass {
        return;
    }
    let mutant = run.mutant.as_ref().map(|name| format!(" --mutant {name}")).unwrap_or_default();
    indented(
        out,
        &format!(
            "play it again:   dispatch-conformance run --cluster {}{mutant} {}",
            run.cluster, report.id
        ),
    );
    if let Some(history) = &report.history {
        let history = plain(&history.display().to_string());
        indented(out, &format!("judge it again:  dispatch-conformance check {history}"));
    }
}

fn show_failure(out: &mut String, failure: &Failure, with_timeline: bool) {
    let rule = failure.rule.map_or("then ".to_owned(), |rule| rule.to_string());
    indented(out, &format!("{rule}  {}", plain(&failure.what)));
    indented(out, &format!("       {}", plain(&failure.because)));
    if with_timeline {
        for entry in &failure.timeline {
            indented(out, &format!("       {}", timeline_line(entry)));
        }
    }
}

/// `+  12.31 s  #42 > what happened`; the mark is on events that prove the failure.
fn timeline_line(entry: &Entry) -> String {
    let mark = if entry.proves { '>' } else { ' ' };
    format!("+{:>9}  #{:<4} {mark} {}", seconds(entry.after), entry.event, entry.text)
}

fn indented(out: &mut String, text: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "      {text}");
}

/// The end of a run.
pub fn summary(run: &RunReport) -> String {
    let count = |code| run.scenarios.iter().filter(|it| it.exit_code() == code).count();
    let passed = count(ExitCode::Conformant);
    let failed = count(ExitCode::RuleBroken);
    let open = count(ExitCode::Inconclusive);
    let lost = run.scenarios.len() - passed - failed - open;
    let mut out = format!(
        "{} in {}: {passed} passed, {failed} failed, {open} inconclusive, {lost} not judged\n",
        counted(run.scenarios.len(), "scenario"),
        seconds(run.took),
    );
    let broken: BTreeSet<_> = run.scenarios.iter().flat_map(broken_rules).collect();
    if !broken.is_empty() {
        let broken: Vec<_> = broken.into_iter().collect();
        let _ = writeln!(out, "broken: {}", broken.join(", "));
    }
    for line in differing(run) {
        let _ = writeln!(out, "{line}");
    }
    if run.interrupted.is_some() {
        out.push_str("interrupted: what was not played is not in this report\n");
    }
    if !run.no_claim.is_empty() {
        let _ = writeln!(out, "no claim to conformance: {}", run.no_claim.join("; "));
    }
    out
}

/// Scenarios that were repeated and did not have the same verdict each time.
fn differing(run: &RunReport) -> Vec<String> {
    let mut verdicts: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for report in &run.scenarios {
        *verdicts.entry(&report.id).or_default().entry(word(&report.result)).or_default() += 1;
    }
    verdicts.retain(|_, counts| counts.len() > 1);
    let line = |(id, counts): (&str, BTreeMap<&str, usize>)| {
        let counts: Vec<_> = counts.iter().map(|(word, count)| format!("{word} {count}")).collect();
        format!("not the same each time: {id}: {}", counts.join(", "))
    };
    verdicts.into_iter().map(line).collect()
}

/// The verdict in a word.
fn word(result: &ScenarioResult) -> &'static str {
    match result {
        ScenarioResult::Judged(judged) => match judged.overall {
            Overall::Pass => "PASS",
            Overall::Fail { .. } => "FAIL",
            Overall::Inconclusive { .. } => "OPEN",
        },
        ScenarioResult::NotJudged { .. } => "LOST",
    }
}

fn broken_rules(report: &ScenarioReport) -> Vec<String> {
    match &report.result {
        ScenarioResult::Judged(judged) => match &judged.overall {
            Overall::Fail { rules, .. } => rules.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        },
        ScenarioResult::NotJudged { .. } => Vec::new(),
    }
}

/// What a run says while it lasts, on one line; `None` for what is not worth one.
pub fn progress(id: &str, progress: &Progress<'_>) -> Option<String> {
    let said = match progress {
        Progress::Preparing { what } => format!("preparing: {}", plain(what)),
        Progress::StepBegan { index, of, text } => {
            format!("step {}/{of}: {}", index + 1, plain(text))
        }
        Progress::Waiting { until, limit, now } => format!(
            "waiting at most {} until {}; now: {}",
            seconds(*limit),
            plain(until),
            plain(now)
        ),
        Progress::StepFailed { index, why } => format!("step {} failed: {}", index + 1, plain(why)),
        Progress::CleaningUp => "cleaning up".to_owned(),
        Progress::Recording { .. } | Progress::StepEnded { .. } => return None,
    };
    Some(format!("{id}: {said}"))
}

/// Scenarios, a line each.
pub fn list(scenarios: &[&Scenario]) -> String {
    let width = scenarios.iter().map(|scenario| scenario.id.len()).max().unwrap_or_default();
    let lines = scenarios
        .iter()
        .map(|scenario| format!("{:<width$}  {}\n", scenario.id, plain(&scenario.title)));
    lines.collect()
}

/// A rule, and the scenarios that prove it.
pub fn explain_rule(rule: &Rule, scenarios: &[Scenario]) -> String {
    let source = match rule.source {
        Source::Seed => "the document that defines the two gates",
        Source::Real => "what the real stack does",
        Source::SeedAndReal => {
            "the document that defines the two gates, and what the real stack does"
        }
        Source::Extended => "an extension where that document is silent",
        Source::SeedAndExtended => {
            "the document that defines the two gates, and an extension of it"
        }
    };
    let judged = JUDGES.iter().any(|judge| judge.rule == rule.id);
    let judged = if judged { "in every scenario" } else { "by no judge of its own" };
    let proving = scenarios.iter().filter(|it| it.proves.iter().any(|it| it.as_str() == rule.id));
    let proving: Vec<_> = proving.map(|scenario| format!("  {}\n", scenario.id)).collect();
    let proving = if proving.is_empty() { "  none\n".to_owned() } else { proving.concat() };
    format!(
        "{}  {}\n\n{}\n\nSource: {source}.\nJudged: {judged}.\nProved by:\n{proving}",
        rule.id,
        rule.title,
        wrapped(rule.text)
    )
}

/// A scenario: why it is, what it proves, its steps, and what must come of them.
pub fn explain_scenario(scenario: &Scenario) -> String {
    let why = wrapped(&scenario.why);
    let mut out = format!("{}\n{}\n\n{why}\n", scenario.id, scenario.title);
    out.push_str("\nProves:\n");
    for rule in &scenario.proves {
        let title = rule.rule().map_or("", |rule| rule.title);
        let _ = writeln!(out, "  {rule}  {title}");
    }
    let steps = scenario.steps.iter().map(|step| step.text.as_str());
    let then = scenario.then.iter().map(|line| line.text.as_str());
    let witness = scenario.witness.iter().map(|line| line.text.as_str());
    section(&mut out, "Steps", steps);
    section(&mut out, "Then", then);
    section(&mut out, "Witness: without it the verdict does not count", witness);
    out
}

fn section<'a>(out: &mut String, title: &str, lines: impl Iterator<Item = &'a str>) {
    let _ = writeln!(out, "\n{title}:");
    for line in lines {
        let _ = writeln!(out, "  {}", plain(line));
    }
}

/// A text in lines of at most 100 characters, where its words allow it.
fn wrapped(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= 100 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn seconds(time: Duration) -> String {
    format!("{}.{:02} s", time.as_secs(), time.subsec_millis() / 10)
}
