//! The language against the scenarios of the suite, and against files that are refused.

use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use rstest::rstest;

use super::load::options;
use super::*;

fn read(path: &Path) -> (String, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios").canonicalize().unwrap();
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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let from_folder = load_folder(&folder).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(from_folder, embedded().unwrap_or_else(|error| panic!("{error}")));
}
