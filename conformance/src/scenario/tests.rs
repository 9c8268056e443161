//! The language against the scenarios of the suite, and against files that are refused.

use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use rstest::rstest;

use super::load::options;
use super::*;

fn read(path: &Path) -> (String, String) {
    let root = Path::new("../scenarios").canonicalize().unwrap();
    let path = path.canonicalize().unwrap();
    let id = path.strip_prefix(root).unwrap().with_extension("");
    (id.display().to_string(), std::fs::read_to_string(path).unwrap())
}

#[rstest]
fn a_bad_file_is_refused_with_place_and_hint(#[files("../scenarios/_bad/*.yaml")] path: PathBuf) {
    let (id, text) = read(&path);
    let refusal = parse(&id, &format!("scenarios/{id}.yaml"), &text).unwrap_err();
    insta::with_settings!({ snapshot_path => "../../../scenarios/_bad",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        assert_snapshot!(id.trim_start_matches("_bad/"), refusal.render(false));
    });
}

#[rstest]
fn another_parser_reads_a_scenario_alike(
    #[files("../scenarios/**/*.yaml")]
    #[exclude("_bad")]
    path: PathBuf,
) {
    let (id, text) = read(&path);
    let ours: serde_json::Value = serde_saphyr::from_str_with_options(&text, options()).unwrap();
    let theirs: serde_json::Value = serde_yaml::from_str(&text).unwrap();
    assert_eq!(ours, theirs, "{id}");
}

#[test]
fn every_scenario_of_the_suite_is_sound() {
    let scenarios = embedded().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenarios.len(), embedded_sources().len());
    for scenario in scenarios {
        assert_eq!(scenario.digest.len(), 64, "{}", scenario.id);
        assert!(!scenario.then.is_empty(), "{} expects nothing", scenario.id);
    }
}

#[test]
fn the_binary_carries_what_the_folder_holds() {
    let folder = Path::new("../scenarios");
    let from_folder = load_folder(folder).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(from_folder, embedded().unwrap_or_else(|error| panic!("{error}")));
}

/// The words that serde knows at some place, from what it says of one that it does not know.
fn words<T: serde::de::DeserializeOwned>() -> Vec<&'static str> {
    match serde_saphyr::from_str::<T>("no-such-word: 1").err().map(|error| {
        match error.without_snippet() {
            serde_saphyr::Error::SerdeUnknownField { expected, .. }
            | serde_saphyr::Error::SerdeUnknownVariant { expected, .. } => expected.clone(),
            other => panic!("{other}"),
        }
    }) {
        Some(words) => words,
        None => panic!("`no-such-word` is a word"),
    }
}

/// The tables of the language's reference, as the cells of each row.
fn rows() -> Vec<Vec<String>> {
    let path = Path::new("../docs/scenarios.md");
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

fn in_backticks(cell: &str) -> &str {
    cell.strip_prefix('`').and_then(|cell| cell.strip_suffix('`')).unwrap_or(cell)
}

/// Whether an example has the shape of what it is an example of.
fn example_is<T: serde::de::DeserializeOwned>(word: &str) -> bool {
    rows().iter().any(|row| {
        let example = row.last().map(|cell| in_backticks(cell)).unwrap_or_default();
        let is_of_word = in_backticks(&row[0]) == word && row.len() > 2;
        is_of_word && serde_saphyr::from_str_with_options::<T>(example, options()).is_ok()
    })
}

/// Every key that the suite's scenarios write at any depth below one of their own keys.
fn keys_used(below: &[&str]) -> std::collections::BTreeSet<String> {
    fn walk(value: &serde_json::Value, keys: &mut std::collections::BTreeSet<String>) {
        match value {
            serde_json::Value::Object(map) => {
                keys.extend(map.keys().cloned());
                map.values().for_each(|value| walk(value, keys));
            }
            serde_json::Value::Array(list) => list.iter().for_each(|value| walk(value, keys)),
            _ => {}
        }
    }
    let mut keys = std::collections::BTreeSet::new();
    for (_, text) in embedded_sources() {
        let scenario: serde_json::Value =
            serde_saphyr::from_str_with_options(text, options()).unwrap();
        for key in below {
            walk(&scenario[key], &mut keys);
        }
    }
    keys
}

#[test]
fn every_step_is_documented_and_used() {
    let used = keys_used(&["steps"]);
    for word in words::<file::StepFile>() {
        assert!(example_is::<file::StepFile>(word), "docs/scenarios.md has no example of `{word}`");
        assert!(used.contains(word), "no scenario has the step `{word}`");
    }
}

#[test]
fn every_fact_is_documented_and_used() {
    let used = keys_used(&["steps", "then", "witness"]);
    let text: String = rows().concat().concat();
    for word in words::<file::FactFile>() {
        assert!(text.contains(word), "docs/scenarios.md does not speak of `{word}`");
        assert!(used.contains(word), "no scenario asks for `{word}`");
    }
    for (subject, _) in plan::SUBJECTS {
        assert!(example_is::<file::FactFile>(subject), "there is no example of `{subject}`");
    }
}

#[test]
fn every_expectation_is_documented_and_used() {
    let used = keys_used(&["then"]);
    for word in words::<file::ExpectationFile>() {
        let example = example_is::<file::ExpectationFile>(word);
        assert!(example, "docs/scenarios.md has no example of `{word}`");
        assert!(used.contains(word), "no scenario expects `{word}`");
    }
}

/// Whatever a scenario's steps, expectations and witness ask of `A`, at any depth.
fn counts_asked_for(text: &str) -> Vec<String> {
    fn walk(value: &serde_json::Value, asked: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(map) => {
                let count = map.get("A").map(|count| match count.as_str() {
                    Some(text) => text.to_owned(),
                    None => count.to_string(),
                });
                asked.extend(count);
                map.values().for_each(|value| walk(value, asked));
            }
            serde_json::Value::Array(list) => list.iter().for_each(|value| walk(value, asked)),
            _ => {}
        }
    }
    let scenario: serde_json::Value = serde_saphyr::from_str_with_options(text, options()).unwrap();
    let mut asked = Vec::new();
    for key in ["steps", "then", "witness"] {
        walk(&scenario[key], &mut asked);
    }
    asked
}

#[test]
fn no_scenario_demands_a_number_that_a_controller_may_skip() {
    let exact = "steps: [ { until: { any: [ { running: a, A: 2 }, { pod-of: a, A: 1+ } ] } } ]";
    assert_eq!(counts_asked_for(exact), ["2", "1+"]);
    for (id, text) in embedded_sources() {
        for asked in counts_asked_for(text) {
            let is_exact = asked.parse::<dispatch_contract::AdmissionCount>().is_ok();
            assert!(!is_exact || asked == "0", "{id} asks for `A: {asked}`; write `A: {asked}+`");
        }
    }
}

#[test]
fn every_key_of_a_scenario_is_documented() {
    let text: String = rows().concat().concat();
    for word in words::<file::ScenarioFile>().into_iter().chain(words::<file::GivenFile>()) {
        assert!(text.contains(&format!("`{word}`")), "docs/scenarios.md lacks `{word}`");
    }
}

#[test]
fn what_is_asked_of_facts_is_what_the_file_can_hold() {
    let mut asked: Vec<_> =
        plan::SUBJECTS.iter().flat_map(|(subject, keys)| keys.iter().chain([subject])).collect();
    asked.push(&"or-breaks");
    for word in words::<file::FactFile>() {
        assert!(asked.contains(&&word), "nothing is asked of `{word}`");
    }
}

#[test]
fn the_states_of_status_are_the_contracts() {
    use dispatch_contract::State;
    // A state that is added to the contract does not compile here until it is looked at.
    let known = |state: &State| match state {
        State::NotFound
        | State::Ended { .. }
        | State::Held { .. }
        | State::DeactivatedByAnother
        | State::Gated
        | State::HeldByAdministrator { .. }
        | State::Running { .. }
        | State::Draining { .. }
        | State::SuspendedByAnother
        | State::WaitingAtCheck { .. }
        | State::Starting { .. }
        | State::GateGone
        | State::Queued { .. } => words::STATE_NAMES.contains(&state.name()),
    };
    for state in [State::NotFound, State::Gated, State::GateGone, State::SuspendedByAnother] {
        assert!(known(&state));
    }
    assert_eq!(words::STATE_NAMES.len(), 13);
}

#[rstest]
#[case::one_letter("strat", &["start", "status"], Some("start"))]
#[case::swapped("trian", &["train", "urgent"], Some("train"))]
#[case::capitals("pending", &["Pending", "Ready"], Some("Pending"))]
#[case::far("banana", &["start", "status"], None)]
#[case::nothing_to_choose("start", &[], None)]
#[case::a_short_word_is_not_anything("ab", &["xy"], None)]
fn a_hint_is_the_nearest_word(
    #[case] word: &str,
    #[case] candidates: &[&str],
    #[case] near: Option<&str>,
) {
    let hint = did_you_mean(word, candidates.iter().copied());
    assert_eq!(hint, near.map(|near| format!("did you mean `{near}`?")));
}

#[rstest]
#[case::plain("train", true)]
#[case::digits("a-1", true)]
#[case::empty("", false)]
#[case::capital("Train", false)]
#[case::digit_first("1a", false)]
#[case::hyphen_last("a-", false)]
#[case::long("abcdefghijklmnopqrstu", false)]
fn names_of_jobs_have_a_grammar(#[case] text: &str, #[case] is: bool) {
    assert_eq!(JobName::new(text).is_some(), is);
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_loader_panic(text in "[a-z:\\-\\[\\]{}, \"#&*|>\n0-9]{0,200}") {
        let _ = parse("any", "any.yaml", &text);
    }

    #[test]
    fn no_change_of_a_scenario_makes_the_loader_panic(at in 0_usize..1500, with in "[ -~]{0,3}") {
        let (id, text) = embedded_sources()[0];
        let at = text.char_indices().map(|(at, _)| at).nth(at).unwrap_or(text.len());
        let rest = text[at..].chars().skip(2).collect::<String>();
        if let Err(refusal) = parse(id, "any.yaml", &format!("{}{with}{rest}", &text[..at])) {
            proptest::prop_assert!(!refusal.problems.is_empty());
            refusal.render(false);
        }
    }
}
