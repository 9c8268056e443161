//! Which scenarios a command is about.

use std::io::IsTerminal;
use std::path::PathBuf;

use super::play;
use super::terminal::say;
use crate::exit_code::ExitCode;
use crate::scenario::{LoadError, Scenario, did_you_mean, embedded, load_folder};

/// Where scenarios come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The binary, which carries the suite's own.
    Embedded,
    /// A folder that somebody named. A run of them is no claim to conformance.
    Folder(PathBuf),
}

impl Source {
    pub(super) fn of(folder: Option<PathBuf>) -> Self {
        folder.map_or(Self::Embedded, Self::Folder)
    }
}

/// Loads the scenarios, or says what is wrong with them.
pub(super) fn load(source: &Source) -> Result<Vec<Scenario>, ExitCode> {
    let loaded = match source {
        Source::Embedded => embedded(),
        Source::Folder(folder) => load_folder(folder),
    };
    loaded.map_err(|error| {
        complain(&error);
        match (source, &error) {
            (Source::Embedded, _) => ExitCode::SuiteFault,
            (Source::Folder(_), _) => ExitCode::Usage,
        }
    })
}

fn complain(error: &LoadError) {
    match error {
        LoadError::Refused(refusals) => {
            let colours = std::io::stderr().is_terminal();
            for refusal in refusals {
                say(refusal.render(colours).trim_end());
            }
            let problems: usize = refusals.iter().map(|refusal| refusal.problems.len()).sum();
            let faults = if problems == 1 { "fault" } else { "faults" };
            say(&format!("error: {problems} {faults} in scenarios; no cluster was touched"));
        }
        LoadError::Unreadable(source) => say(&format!("error: {error}: {source}")),
        error => say(&format!("error: {error}")),
    }
}

/// The scenarios whose id contains one of the filters, or of which one asks for cases; all of them
/// without a filter.
pub(super) fn chosen<'a>(
    scenarios: &'a [Scenario],
    filters: &'a [String],
) -> impl Iterator<Item = &'a Scenario> {
    scenarios.iter().filter(move |scenario| {
        filters.is_empty() || filters.iter().any(|filter| play::asks_for(filter, &scenario.id))
    })
}

/// What to say where nothing is to be played, or less than was asked for: a filter that matches no
/// scenario is a slip, also beside one that does.
pub(super) fn none_matches(scenarios: &[Scenario], filters: &[String]) -> Option<String> {
    if scenarios.is_empty() {
        return Some("error: there is no scenario".to_owned());
    }
    let matches = |filter: &String| scenarios.iter().any(|it| play::asks_for(filter, &it.id));
    let filter = filters.iter().find(|filter| !matches(filter))?;
    let known = scenarios.iter().map(|scenario| scenario.id.as_str());
    Some(unknown(&format!("no scenario's id contains `{filter}`"), filter, known))
}

/// That something is unknown, with what may have been meant.
pub(super) fn unknown<'a>(what: &str, word: &str, known: impl Iterator<Item = &'a str>) -> String {
    let hint = did_you_mean(word, known)
        .unwrap_or_else(|| "`dispatch-conformance list` shows all scenarios".to_owned());
    format!("error: {what}; {hint}")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::one(&["start-gate/first-execution"], &["start-gate/first-execution"])]
    #[case::of_a_family(&["flight/gate-"], &["preflight/gate-leak"])]
    #[case::either(&["gate-leak", "ended-stays"], &["executions/ended-stays-ended", "preflight/gate-leak"])]
    #[case::nothing(&["nothing"], &[])]
    fn filters_choose_by_parts_of_ids(#[case] filters: &[&str], #[case] expected: &[&str]) {
        let filters: Vec<_> = filters.iter().map(ToString::to_string).collect();
        let scenarios = embedded().unwrap();
        let ids: Vec<_> = chosen(&scenarios, &filters).map(|it| it.id.as_str()).collect();
        assert_eq!(ids, expected);
    }

    #[test]
    fn without_filters_every_scenario_is_chosen() {
        let scenarios = embedded().unwrap();
        assert_eq!(chosen(&scenarios, &[]).count(), scenarios.len());
    }

    #[test]
    fn a_filter_that_matches_nothing_is_answered_with_what_may_be_meant() {
        let scenarios = embedded().unwrap();
        let filters = ["calls/", "start-gate/frist-execution"].map(str::to_owned);
        let said = none_matches(&scenarios, &filters).unwrap();
        assert!(said.ends_with("did you mean `start-gate/first-execution`?"), "{said}");
    }
}
