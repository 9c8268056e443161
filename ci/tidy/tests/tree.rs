//! The checks of this crate, applied to the repository.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Tests run in the folder of their crate. What was compiled in could be another checkout's, since a
/// target folder may serve several.
fn root() -> &'static Path {
    Path::new("../..")
}

/// The files of the repository, ignored ones left out, with their texts.
fn files(suffix: &str) -> Vec<(String, String)> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the files");
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let names = String::from_utf8(listed.stdout).expect("paths are UTF-8");
    let with_text = |name: &str| {
        let text = std::fs::read_to_string(root().join(name)).ok()?;
        Some((name.to_owned(), text))
    };
    names.lines().filter(|name| name.ends_with(suffix)).filter_map(with_text).collect()
}

fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn rust_files_are_small_finished_and_named_after_what_is_in_them() {
    let files = files(".rs");
    assert!(!files.is_empty());
    let faults: Vec<_> =
        files.iter().flat_map(|(path, text)| dispatch_tidy::rust_file(path, text)).collect();
    assert_none(&faults);
}

#[test]
fn documents_have_one_title() {
    let faults: Vec<_> = files(".md")
        .iter()
        .flat_map(|(path, text)| dispatch_tidy::markdown_file(path, text))
        .collect();
    assert_none(&faults);
}

#[test]
fn workflows_may_only_read_end_in_time_and_run_what_is_there() {
    let exists = |path: &str| root().join(path).exists();
    let all = files(".yml");
    let (actions, workflows): (Vec<_>, Vec<_>) = all
        .iter()
        .filter(|(path, _)| path.starts_with(".github/"))
        .partition(|(path, _)| path.ends_with("/action.yml"));
    assert!(!actions.is_empty() && !workflows.is_empty());
    let mut faults = Vec::new();
    for (path, text) in workflows {
        faults.extend(dispatch_tidy::workflow_file(path, text, exists));
    }
    for (path, text) in actions {
        faults.extend(dispatch_tidy::action_file(path, text, exists));
    }
    assert_none(&faults);
}

#[test]
fn every_crate_takes_its_lints_from_the_workspace() {
    let faults: Vec<_> = files("Cargo.toml")
        .iter()
        .filter(|(_, text)| {
            // The one crate with unsafe code.
            let is_exempt = text.contains("name = \"dispatch-determinism\"");
            let takes_them = text.contains("[lints]\nworkspace = true");
            text.contains("[package]") && !takes_them && !is_exempt
        })
        .map(|(path, _)| format!("{path} lacks `[lints] workspace = true`"))
        .collect();
    assert_none(&faults);
}

#[test]
fn nothing_that_runs_in_production_has_predictable_randomness_in_it() {
    let faults: Vec<_> = files("Cargo.toml")
        .iter()
        .filter(|(_, text)| text.contains("dispatch-determinism.workspace"))
        .map(|(path, _)| path.clone())
        .filter(|path| path != "conformance/Cargo.toml")
        .collect();
    assert_none(&faults);
}

#[test]
fn every_dependency_has_a_licence_that_the_project_takes() {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--all-features"])
        .current_dir(root())
        .output()
        .expect("cargo describes the workspace");
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("metadata is JSON");
    let packages = metadata["packages"].as_array().expect("there are packages");
    let faults: Vec<_> = packages
        .iter()
        .filter_map(|package| {
            let name = package["name"].as_str().unwrap_or_default();
            let licence = package["license"].as_str().unwrap_or_default();
            let taken = dispatch_tidy::takes_licence(name, licence);
            (!taken).then(|| format!("{name} has the licence `{licence}`"))
        })
        .collect();
    assert_none(&faults);
}
