//! `JUnit`, which every CI system reads.

use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::{RunReport, ScenarioReport, ScenarioResult, console, plain};
use crate::rules::Overall;

/// The run as `JUnit` XML: a suite with a test case for each scenario, or for each case of one. A broken
/// rule is a failure, with the rules as its type; a scenario without a verdict is an error.
///
/// The suite of a shard has the name of the whole run's: merged they are that.
pub fn junit(run: &RunReport) -> Result<String, SerializeError> {
    let mut suite = TestSuite::new(format!("dispatch-conformance on {}", run.cluster));
    suite.set_time(run.took);
    if let Some(shard) = run.shard {
        suite.add_property(("shard", shard.to_string().as_str()));
    }
    for (option, value) in run.subjects.options() {
        suite.add_property((option.trim_start_matches('-'), plain(value).as_str()));
    }
    for reason in &run.no_claim {
        suite.add_property(("no-claim", plain(reason).as_str()));
    }
    suite.add_test_cases(run.scenarios.iter().map(|report| case(run, report)));
    let mut report = Report::new("dispatch-conformance");
    report.set_time(run.took);
    report.add_test_suite(suite);
    report.to_string()
}

fn case(run: &RunReport, report: &ScenarioReport) -> TestCase {
    // A case is grouped under its scenario, a scenario under its family.
    let full = report.full_id();
    let (family, name) = full.rsplit_once('/').unwrap_or(("", &full));
    let name = console::repeated(name, report.repetition);
    let mut case = TestCase::new(name, status(run, report));
    case.set_classname(family);
    case.set_time(report.took);
    case.add_property(("title", plain(&report.title).as_str()));
    if let Some(seed) = report.seed {
        case.add_property(("seed", seed.to_string().as_str()));
    }
    if let Some(history) = &report.history {
        case.add_property(("history", plain(&history.display().to_string()).as_str()));
    }
    case
}

fn status(run: &RunReport, report: &ScenarioReport) -> TestCaseStatus {
    let (kind, type_, message) = match &report.result {
        ScenarioResult::Judged(judged) => match &judged.overall {
            Overall::Pass => return TestCaseStatus::success(),
            Overall::Fail { rules, because } => {
                let rules: Vec<_> = rules.iter().map(ToString::to_string).collect();
                let first = judged.failures.first().map(|failure| failure.because.as_str());
                let message = first.or(because.first().map(String::as_str)).unwrap_or_default();
                let type_ = if rules.is_empty() { "then".to_owned() } else { rules.join(" ") };
                (NonSuccessKind::Failure, type_, message.to_owned())
            }
            Overall::Inconclusive { why } => {
                (NonSuccessKind::Error, "inconclusive".to_owned(), why.join("; "))
            }
        },
        ScenarioResult::NotJudged { why, .. } => {
            (NonSuccessKind::Error, "not judged".to_owned(), why.clone())
        }
    };
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(type_);
    status.set_message(plain(&message));
    status.set_description(console::scenario(run, report));
    status
}
