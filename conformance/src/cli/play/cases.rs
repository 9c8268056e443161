//! Which cases of a scenario are played.

use crate::exit_code::ExitCode;
use crate::report::ScenarioResult;
use crate::run::Case;

/// Whether a filter asks for a scenario: for all of it, or for cases of it.
pub(in crate::cli) fn asks_for(filter: &str, id: &str) -> bool {
    id.contains(filter) || of_case(filter, id).is_some()
}

/// The part of a case's name that a filter asks for, if it asks for some cases of a scenario and
/// not for all of it.
pub(in crate::cli) fn asks_for_case<'a>(filter: &'a str, id: &str) -> Option<&'a str> {
    if id.contains(filter) { None } else { of_case(filter, id) }
}

fn of_case<'a>(filter: &'a str, id: &str) -> Option<&'a str> {
    filter.strip_prefix(id)?.strip_prefix('/')
}

/// The cases of a scenario that are to be played, after its reference. Without any the scenario
/// proves nothing: that is its result, then.
pub(super) fn chosen(
    id: &str,
    cases: Vec<Case>,
    only: &[String],
) -> Result<Vec<Case>, ScenarioResult> {
    if cases.is_empty() {
        let why = format!("{id} is played as cases, and none came of its reference run");
        return Err(ScenarioResult::NotJudged { why, fault: ExitCode::SuiteFault });
    }
    let wanted =
        |case: &Case| only.is_empty() || only.iter().any(|part| case.id.contains(part.as_str()));
    let (wanted, others): (Vec<_>, Vec<_>) = cases.into_iter().partition(wanted);
    // The reference was played already.
    let reference =
        wanted.is_empty() && only.iter().any(|part| Case::reference().id.contains(part));
    if wanted.is_empty() && !reference {
        let others: Vec<_> = others.into_iter().map(|case| case.id).collect();
        let why = format!("no case of {id} is called so; there are {}", others.join(", "));
        return Err(ScenarioResult::NotJudged { why, fault: ExitCode::Usage });
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::all("readmission/", true, None)]
    #[case::part("killed-at", true, None)]
    #[case::whole("readmission/killed-at-each-request", true, None)]
    #[case::one_case("readmission/killed-at-each-request/before-patch", true, Some("before-patch"))]
    #[case::another("readmission/killed-at-each-requests", false, None)]
    fn a_filter_asks_for_a_scenario_or_for_cases_of_it(
        #[case] filter: &str,
        #[case] asked: bool,
        #[case] case: Option<&str>,
    ) {
        let id = "readmission/killed-at-each-request";
        assert_eq!((asks_for(filter, id), asks_for_case(filter, id)), (asked, case));
    }

    fn cases(ids: &[&str]) -> Vec<Case> {
        ids.iter().map(|id| Case { id: (*id).to_owned(), fault: None }).collect()
    }

    #[rstest]
    #[case::all(&[], &["before-get", "before-patch"])]
    #[case::one(&["patch"], &["before-patch"])]
    #[case::only_the_reference(&["reference"], &[])]
    fn cases_are_chosen_by_parts_of_their_names(#[case] only: &[&str], #[case] expected: &[&str]) {
        let only: Vec<_> = only.iter().map(ToString::to_string).collect();
        let chosen = chosen("a/b", cases(&["before-get", "before-patch"]), &only);
        assert_eq!(chosen.unwrap(), cases(expected));
    }

    #[rstest]
    #[case::none_at_all(&[], &[], ExitCode::SuiteFault, "none came of its reference run")]
    #[case::none_of_that_name(&["one"], &["x"], ExitCode::Usage, "called so; there are one")]
    fn a_scenario_without_a_case_has_no_verdict(
        #[case] there: &[&str],
        #[case] only: &[&str],
        #[case] expected: ExitCode,
        #[case] words: &str,
    ) {
        let only: Vec<_> = only.iter().map(ToString::to_string).collect();
        let Err(ScenarioResult::NotJudged { why, fault }) = chosen("a/b", cases(there), &only)
        else {
            panic!("it has cases")
        };
        assert_eq!(fault, expected);
        assert!(why.contains(words), "{why}");
    }
}
