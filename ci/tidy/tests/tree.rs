//! The checks of this crate, applied to the repository.

use std::collections::BTreeSet;
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

/// What cargo knows of the workspace.
fn metadata() -> Value {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--all-features"])
        .current_dir(root())
        .output()
        .expect("cargo describes the workspace");
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    serde_json::from_slice(&metadata.stdout).expect("metadata is JSON")
}

#[test]
fn nothing_that_runs_in_production_has_predictable_randomness_in_it() {
    let metadata = metadata();
    let faults: Vec<_> = ["dispatch-adapter", "dispatch-admission"]
        .into_iter()
        .filter(|program| needs(&metadata, program).contains("dispatch-determinism"))
        .map(|program| format!("{program} has dispatch-determinism in it"))
        .collect();
    assert_none(&faults);
    assert!(needs(&metadata, "dispatch-conformance").contains("dispatch-determinism"));
}

/// The names of all packages that are built into a package, itself included.
fn needs(metadata: &Value, package: &str) -> BTreeSet<String> {
    let nodes = metadata["resolve"]["nodes"].as_array().expect("there is a graph");
    let packages = metadata["packages"].as_array().expect("there are packages");
    let name = |id: &Value| {
        let found = packages.iter().find(|it| it["id"] == *id).expect("the package of an id");
        found["name"].as_str().unwrap_or_default().to_owned()
    };
    let mut open: Vec<&Value> = nodes.iter().filter(|node| name(&node["id"]) == package).collect();
    assert_eq!(open.len(), 1, "{package} is in the workspace once");
    let (mut found, mut names) = (BTreeSet::new(), BTreeSet::new());
    while let Some(node) = open.pop() {
        if !found.insert(node["id"].to_string()) {
            continue;
        }
        names.insert(name(&node["id"]));
        let built_in = |dependency: &&Value| {
            let kinds = dependency["dep_kinds"].as_array().into_iter().flatten();
            kinds.into_iter().any(|it| it["kind"].is_null())
        };
        for dependency in node["deps"].as_array().into_iter().flatten().filter(built_in) {
            open.extend(nodes.iter().filter(|node| node["id"] == dependency["pkg"]));
        }
    }
    names
}

#[test]
fn every_dependency_has_a_licence_that_the_project_takes() {
    let metadata = metadata();
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
