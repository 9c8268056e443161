//! What a person sees.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use dispatch_contract::rules::{Rule, Source};

use super::{Entry, Failure, Judged, RunReport, ScenarioReport, ScenarioResult, plain};
use crate::cluster::simulated::DEFAULT_SEED;
use crate::exit_code::ExitCode;
use crate::history::SubjectNames;
use crate::rules::{JUDGES, Overall};
use crate::scenario::Scenario;
use crate::shard::Shard;
use crate::shell::quoted;

/// How many of a scenario's failures are shown with their timelines; the others have one line.
const SHOWN: usize = 3;

/// What the first line of a run says.
#[derive(Clone, Copy, Debug)]
pub struct Header<'a> {
    /// How many scenarios there are.
    pub count: usize,
    /// Which part of the run these are, where they are not the whole.
    pub shard: Option<Shard>,
    /// How many times each is played.
    pub times: u32,
    /// How many are played at once, at most.
    pub at_once: usize,
    /// The kind of cluster.
    pub cluster: &'a str,
    /// The versions of its components.
    pub versions: &'a str,
    /// What is judged.
    pub subjects: &'a SubjectNames,
}

/// The first line of a run.
pub fn header(header: &Header<'_>) -> String {
    let Header { count, shard, times, at_once, cluster, versions, subjects } = *header;
    let mut scenarios = counted(count, "scenario") + &of_shard(shard);
    if times > 1 {
        // Writing to a String cannot fail.
        let _ = write!(scenarios, ", {times} times each,");
    }
    format!("{scenarios} with {subjects} on {cluster} ({versions}), {at_once} at a time")
}

/// Of which shard something is, where it is not of the whole: ` of shard 2/4`.
pub fn of_shard(shard: Option<Shard>) -> String {
    shard.map_or_else(String::new, |shard| format!(" of shard {shard}"))
}

/// A scenario that was played: its line, and below it what is wrong.
pub fn scenario(run: &RunReport, report: &ScenarioReport) -> String {
    let note = match &report.result {
        ScenarioResult::Judged(judged) => match &judged.overall {
            Overall::Pass => String::new(),
            Overall::Fail { .. } => broken_rules(report).join(" "),
            Overall::Inconclusive { .. } => "inconclusive".to_owned(),
        },
        ScenarioResult::NotJudged { .. } => "not judged".to_owned(),
    };
    let name = repeated(&report.full_id(), report.repetition);
    let mut out = line(word(&report.result), &name, report.took, &note);
    match &report.result {
        ScenarioResult::Judged(judged) => below(&mut out, run, report, judged),
        ScenarioResult::NotJudged { why, .. } => indented(&mut out, &plain(why)),
    }
    for left in &report.left_behind {
        indented(&mut out, &format!("left behind: {}", plain(left)));
    }
    out
}

/// A name, and which repetition it is.
pub(super) fn repeated(name: &str, repetition: Option<(u32, u32)>) -> String {
    match repetition {
        Some((nth, of)) => format!("{name} ({nth}/{of})"),
        None => name.to_owned(),
    }
}

/// The line of a verdict: the word, of what, how long it took, and what else there is to say.
pub(super) fn line(word: &str, name: &str, took: Duration, note: &str) -> String {
    let line = format!("{word}  {name:<44} {:>9}  {note}", seconds(took));
    format!("{}\n", line.trim_end())
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
    indented(out, &format!("play it again:   {}", plain(&again(run, report))));
    if let Some(history) = &report.history {
        let history = plain(&history.display().to_string());
        indented(out, &format!("judge it again:  dispatch-conformance check {history}"));
    }
}

/// The command that plays it again as it was played.
fn again(run: &RunReport, report: &ScenarioReport) -> String {
    let mut words = vec!["dispatch-conformance", "run", "--cluster", &run.cluster];
    words.extend(run.subjects.options().flat_map(|(option, value)| [option, value]));
    let seed = report.seed.filter(|seed| *seed != DEFAULT_SEED).map(|seed| seed.to_string());
    if let Some(seed) = &seed {
        words.extend(["--seed", seed]);
    }
    words.extend(run.options.iter().map(String::as_str));
    let id = report.full_id();
    words.push(&id);
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
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
    let count = |wanted| run.scenarios.iter().filter(|it| word(&it.result) == wanted).count();
    let (passed, failed, open) = (count("PASS"), count("FAIL"), count("OPEN"));
    let lost = run.scenarios.len() - passed - failed - open;
    let mut out = format!(
        "{} in {}: {passed} passed, {failed} failed, {open} inconclusive, {lost} not judged\n",
        played(run),
        seconds(run.took),
    );
    let broken: BTreeSet<_> = run.scenarios.iter().flat_map(broken_rules).collect();
    if !broken.is_empty() {
        let broken: Vec<_> = broken.into_iter().collect();
        let _ = writeln!(out, "broken: {}", broken.join(", "));
    }
    // What was interrupted differs from what was not, and that says nothing.
    if run.interrupted.is_none() {
        for line in differing(run) {
            let _ = writeln!(out, "{line}");
        }
    }
    if run.not_played > 0 {
        let why = if run.interrupted.is_some() { "interrupted: " } else { "" };
        let _ = writeln!(out, "{why}{} not played", were(run.not_played));
    } else if run.interrupted.is_some() {
        out.push_str("interrupted: what played then was not played to its end\n");
    }
    if !run.no_claim.is_empty() {
        let _ = writeln!(out, "no claim to conformance: {}", run.no_claim.join("; "));
    }
    out
}

/// How many scenarios were played, and how many cases those had that were played as cases.
fn played(run: &RunReport) -> String {
    let id = |report: &ScenarioReport| (report.id.clone(), report.repetition);
    let scenarios: BTreeSet<_> = run.scenarios.iter().map(id).collect();
    let scenarios = counted(scenarios.len(), "scenario") + &of_shard(run.shard);
    match run.scenarios.iter().filter(|report| report.case.is_some()).count() {
        0 => scenarios,
        cases => format!("{scenarios} with {}", counted(cases, "case")),
    }
}

/// Scenarios that were repeated and did not have the same verdict each time.
fn differing(run: &RunReport) -> Vec<String> {
    let mut verdicts: BTreeMap<String, BTreeMap<&str, usize>> = BTreeMap::new();
    for report in &run.scenarios {
        let of_it = verdicts.entry(report.full_id()).or_default();
        *of_it.entry(word(&report.result)).or_default() += 1;
    }
    verdicts.retain(|_, counts| counts.len() > 1);
    let line = |(id, counts): (String, BTreeMap<&str, usize>)| {
        let counts: Vec<_> = counts.iter().map(|(word, count)| format!("{word} {count}")).collect();
        format!("not the same each time: {id}: {}", counts.join(", "))
    };
    verdicts.into_iter().map(line).collect()
}

/// The verdict in a word.
pub(super) fn word(result: &ScenarioResult) -> &'static str {
    match result {
        ScenarioResult::Judged(judged) => match judged.overall {
            Overall::Pass => "PASS",
            Overall::Fail { .. } => "FAIL",
            Overall::Inconclusive { .. } => "OPEN",
        },
        // Nothing went wrong: the cluster does not offer what the scenario needs.
        ScenarioResult::NotJudged { fault: ExitCode::Inconclusive, .. } => "SKIP",
        ScenarioResult::NotJudged { .. } => "LOST",
    }
}

pub(super) fn broken_rules(report: &ScenarioReport) -> Vec<String> {
    match &report.result {
        ScenarioResult::Judged(judged) => match &judged.overall {
            Overall::Fail { rules, .. } => rules.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        },
        ScenarioResult::NotJudged { .. } => Vec::new(),
    }
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

pub(super) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn were(count: usize) -> String {
    if count == 1 { "1 was".to_owned() } else { format!("{count} were") }
}

pub(super) fn seconds(time: Duration) -> String {
    format!("{}.{:02} s", time.as_secs(), time.subsec_millis() / 10)
}
