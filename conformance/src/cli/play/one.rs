//! Plays one scenario on the cluster and judges its history.

use std::path::Path;
use std::time::Instant;

use futures::future::BoxFuture;

use super::board::Tell;
use super::{Ended, Item, Play, Player};
use crate::cli::terminal::chain;
use crate::exit_code::ExitCode;
use crate::history::{EndedBy, read_file};
use crate::report::{self, ScenarioReport, ScenarioResult};
use crate::rules::Overall;
use crate::run::{self, Case, Host, Interrupts, Played, Proxied, RunError, Settings};
use crate::scenario::Scenario;

/// Plays on a cluster.
pub(in crate::cli) struct OnCluster<'a> {
    /// The cluster.
    pub(in crate::cli) host: &'a dyn Host,
    /// The proxy that the subjects reach it through.
    pub(in crate::cli) proxied: &'a Proxied,
    /// The run's id.
    pub(in crate::cli) run: &'a str,
    /// By how much deadlines are stretched.
    pub(in crate::cli) time_scale: u32,
    /// What ends all that play before their time.
    pub(in crate::cli) interrupts: &'a Interrupts,
}

impl Player for OnCluster<'_> {
    fn play<'a>(&'a self, item: &'a Item, play: &'a Play, tell: Tell) -> BoxFuture<'a, Ended> {
        Box::pin(self.play_and_judge(item, play, tell))
    }
}

impl OnCluster<'_> {
    async fn play_and_judge(&self, item: &Item, play: &Play, mut tell: Tell) -> Ended {
        let settings = settings(item, play, (self.run, play.number), self.time_scale);
        let begun = Instant::now();
        let interrupts = self.interrupts.clone();
        let (scenario, host, proxied) = (&item.scenario, self.host, self.proxied);
        if let Some(why) = run::unmet(host, scenario) {
            return not_played(item, play, why.to_owned(), ExitCode::Inconclusive);
        }
        let played = run::play(scenario, host, proxied, &settings, interrupts, &mut tell).await;
        let played = played.map(|(played, _)| played);
        let judged = match &played {
            Ok(played) => Some(judge(&item.scenario, &played.history).await),
            Err(_) => None,
        };
        ended(item, play, (played, judged), begun)
    }
}

/// How an item is played, with the names of this run and number.
pub(super) fn settings(
    item: &Item,
    play: &Play,
    (run, number): (&str, u32),
    time_scale: u32,
) -> Settings {
    Settings {
        run: run.to_owned(),
        number,
        results: item.results.clone(),
        case: play.case.clone(),
        time_scale,
        subjects: item.subjects.clone(),
    }
}

/// What became of it; a history that was made is judged already.
pub(super) fn ended(
    item: &Item,
    play: &Play,
    (played, judged): (Result<Played, RunError>, Option<ScenarioResult>),
    begun: Instant,
) -> Ended {
    let mut report = ScenarioReport {
        took: begun.elapsed(),
        repetition: item.repetition,
        ..ScenarioReport::begun(&item.scenario, play.case.as_ref().map(|case| case.id.as_str()))
    };
    match played {
        Ok(played) => {
            let result = judged.unwrap_or_else(|| judged_now(&item.scenario, &played.history));
            report.interrupted = played.ended == EndedBy::Interrupted;
            report.result = if report.interrupted { interrupted(result) } else { result };
            report.history = Some(played.history.clone());
            report.left_behind.clone_from(&played.left_behind);
            let cases = cases(item, play, &played);
            Ended { report, cases, leaving: played.leaving, over: false }
        }
        Err(error) => {
            let over = matches!(error, RunError::ClusterEnded(_));
            let fault = fault(&error);
            report.result = ScenarioResult::NotJudged { why: chain(&error), fault };
            Ended { report, cases: Vec::new(), leaving: None, over }
        }
    }
}

/// What becomes of an item that was not played.
pub(super) fn not_played(item: &Item, play: &Play, why: String, fault: ExitCode) -> Ended {
    let case = play.case.as_ref().map(|case| case.id.as_str());
    let mut report = ScenarioReport::begun(&item.scenario, case);
    report.result = ScenarioResult::NotJudged { why, fault };
    Ended { report, cases: Vec::new(), leaving: None, over: false }
}

/// The cases that come of a reference run.
fn cases(item: &Item, play: &Play, played: &Played) -> Vec<Case> {
    let reference = item.cases && play.case == Some(Case::reference());
    if reference && played.ended == EndedBy::Finished {
        return run::cases(&item.scenario, played);
    }
    Vec::new()
}

/// Judges a history from its file: the file is all that counts, so that a verdict can be had again.
/// Judging takes time, in which the others play on.
async fn judge(scenario: &Scenario, history: &Path) -> ScenarioResult {
    let (scenario, history) = (scenario.clone(), history.to_owned());
    let judged = tokio::task::spawn_blocking(move || judged_now(&scenario, &history)).await;
    judged.unwrap_or_else(|error| {
        let why = format!("the judges have a fault: {error}");
        ScenarioResult::NotJudged { why, fault: ExitCode::SuiteFault }
    })
}

pub(super) fn judged_now(scenario: &Scenario, history: &Path) -> ScenarioResult {
    match read_file(history) {
        Ok(history) => ScenarioResult::Judged(Box::new(report::judge(scenario, &history))),
        Err(error) => ScenarioResult::NotJudged { why: chain(&error), fault: ExitCode::SuiteFault },
    }
}

/// What an interrupted scenario left open has one reason, and not one for each rule.
fn interrupted(mut result: ScenarioResult) -> ScenarioResult {
    if let ScenarioResult::Judged(judged) = &mut result
        && let Overall::Inconclusive { why } = &mut judged.overall
    {
        *why = vec!["it was interrupted".to_owned()];
    }
    result
}

/// Whose fault it is that a scenario could not be played.
fn fault(error: &RunError) -> ExitCode {
    match error {
        RunError::Manifests { .. } | RunError::Panicked(_) => ExitCode::SuiteFault,
        RunError::Results { .. }
        | RunError::Private(_)
        | RunError::Journal(_)
        | RunError::Recorder(_)
        | RunError::Prepare { .. }
        | RunError::Proxy(_)
        | RunError::Lead(_)
        | RunError::Subject(_)
        | RunError::NotReady { .. }
        | RunError::FeatureGates(_)
        | RunError::Freeze { .. }
        | RunError::Claim(_)
        | RunError::Sweep { .. }
        | RunError::ClusterEnded(_) => ExitCode::Environment,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::told::{broken, inconclusive};

    #[test]
    fn what_was_interrupted_is_left_open_for_that_reason_alone() {
        let ScenarioResult::Judged(judged) = interrupted(inconclusive()) else { panic!("lost") };
        let why = vec!["it was interrupted".to_owned()];
        assert_eq!(judged.overall, Overall::Inconclusive { why });
    }

    #[test]
    fn a_rule_that_was_broken_before_an_interruption_stays_broken() {
        assert_eq!(interrupted(broken(&["RG-01"])), broken(&["RG-01"]));
    }
}
