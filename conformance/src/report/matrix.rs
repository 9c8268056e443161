//! The table of the broken subjects as JSON: `mutants.json`, documented in `docs/mutants.md`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::mutants::{Catch, MutantReport};
use super::{ScenarioReport, ScenarioResult};
use crate::mutants::{CANARY, Mutant};
use crate::rules::Overall;

/// The schema of the file: a name and a major number.
const SCHEMA: &str = "dispatch-mutants/1";

/// The file.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    schema: &'static str,
    run: &'a str,
    /// Which part of the subjects these are, where they are not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    shard: Option<String>,
    cluster: &'a str,
    versions: &'a BTreeMap<String, String>,
    canary: &'static str,
    /// How many broken subjects were caught, each by its own rule.
    caught: usize,
    /// Of how many.
    of: usize,
    reference: Option<Subject>,
    mutants: Vec<Subject>,
    /// Those that break nothing, and have to pass.
    permitted: Vec<Subject>,
    /// By scenario, with its case, and subject: what was found.
    matrix: BTreeMap<String, BTreeMap<&'static str, &'static str>>,
}

/// A broken or permitted subject, or the reference.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Subject {
    name: &'static str,
    #[serde(flatten)]
    differs: Option<Differs>,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    caught_by: Option<By>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    seconds: f64,
    scenarios: Vec<Played>,
}

/// What a subject does otherwise than the reference.
#[derive(Debug, Serialize)]
struct Differs {
    is: &'static str,
    about: &'static str,
    breaks: &'static [&'static str],
}

/// What caught a broken subject.
#[derive(Debug, Serialize)]
struct By {
    rule: String,
    scenario: String,
}

/// A scenario that was played with a subject.
#[derive(Debug, Serialize)]
struct Played {
    scenario: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    case: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    found: &'static str,
    /// The rules that it broke, the likely cause first.
    broken: Vec<String>,
    seconds: f64,
    /// The history, from the folder of the file on.
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<PathBuf>,
}

/// The reports of all subjects that were judged as JSON. Histories are named from `folder` on, in
/// which the file is to be.
pub fn mutants_json(
    reports: &[MutantReport],
    versions: &BTreeMap<String, String>,
    folder: &Path,
) -> serde_json::Result<String> {
    let first = reports.first().map(|report| &report.run);
    let subjects = |is: fn(&MutantReport) -> bool| -> Vec<_> {
        reports.iter().filter(|it| is(it)).map(|it| subject(it, folder)).collect()
    };
    let mutants = subjects(MutantReport::is_broken);
    let file = File {
        schema: SCHEMA,
        run: first.map_or("", |run| &run.run),
        shard: first.and_then(|run| run.shard).map(|shard| shard.to_string()),
        cluster: first.map_or("", |run| &run.cluster),
        versions,
        canary: CANARY,
        caught: mutants.iter().filter(|mutant| mutant.caught_by.is_some()).count(),
        of: mutants.len(),
        reference: subjects(|it| it.subject.is_none()).into_iter().next(),
        mutants,
        permitted: subjects(MutantReport::is_permitted),
        matrix: matrix(reports),
    };
    serde_json::to_string_pretty(&file).map(|text| format!("{text}\n"))
}

fn subject(report: &MutantReport, folder: &Path) -> Subject {
    let (verdict, caught_by, why) = match report.catch.clone() {
        Catch::Clean => ("clean", None, None),
        Catch::Caught { rule, scenario } => ("caught", Some(By { rule, scenario }), None),
        Catch::Wrong { found } => ("wrong", None, Some(found)),
        Catch::Open { why } => ("open", None, Some(why)),
    };
    let differs = |mutant: &'static Mutant| Differs {
        is: mutant.is(),
        about: mutant.about,
        breaks: mutant.breaks,
    };
    Subject {
        name: report.name(),
        differs: report.subject.map(differs),
        verdict,
        caught_by,
        why,
        seconds: seconds(report.took()),
        scenarios: report.run.scenarios.iter().map(|it| played(it, folder)).collect(),
    }
}

fn played(report: &ScenarioReport, folder: &Path) -> Played {
    let history = report.history.as_ref();
    Played {
        scenario: report.id.clone(),
        case: report.case.clone(),
        seed: report.seed,
        found: found(report),
        broken: broken(report),
        seconds: seconds(report.took),
        history: history.map(|it| it.strip_prefix(folder).unwrap_or(it).to_owned()),
    }
}

fn matrix(reports: &[MutantReport]) -> BTreeMap<String, BTreeMap<&'static str, &'static str>> {
    let mut matrix: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
    for report in reports {
        for scenario in &report.run.scenarios {
            let row = matrix.entry(scenario.full_id()).or_default();
            row.insert(report.name(), found(scenario));
        }
    }
    matrix
}

fn found(report: &ScenarioReport) -> &'static str {
    match &report.result {
        ScenarioResult::Judged(judged) => match judged.overall {
            Overall::Pass => "passed",
            Overall::Fail { .. } => "broken",
            Overall::Inconclusive { .. } => "inconclusive",
        },
        ScenarioResult::NotJudged { .. } => "not-judged",
    }
}

fn broken(report: &ScenarioReport) -> Vec<String> {
    let ScenarioResult::Judged(judged) = &report.result else { return Vec::new() };
    let rules = judged.failures.iter().filter_map(|failure| failure.rule);
    rules.map(|rule| rule.to_string()).collect()
}

/// To a hundredth.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit_code::ExitCode;
    use crate::mutants::find;
    use crate::report::told::{broken, case, inconclusive, judged, not_judged, report, run};

    #[test]
    fn the_table_is_written_with_what_each_scenario_found() {
        let catches = "readmission/eviction-window";
        let reference = run(vec![report(catches, judged(Overall::Pass))]);
        let caught = run(vec![
            case("a/b", "reference", inconclusive()),
            report(catches, broken(&["RG-01", "EX-01"])),
        ]);
        let permitted = run(vec![report("calls/hold-and-release", judged(Overall::Pass))]);
        let lost = run(vec![report("start-gate/x", not_judged(ExitCode::Environment))]);
        let reports = [
            MutantReport::of(None, reference),
            MutantReport::of(Some(find("deaf-to-eviction").unwrap()), caught),
            MutantReport::of(Some(find("never-ready").unwrap()), lost),
            MutantReport::of(Some(find("skips-numbers").unwrap()), permitted),
        ];
        let versions = [("kueue".to_owned(), "v0.17.0".to_owned())].into();
        let text = mutants_json(&reports, &versions, Path::new("results/run")).unwrap();
        insta::assert_snapshot!(text);
    }
}
