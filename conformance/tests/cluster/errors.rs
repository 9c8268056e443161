//! An environment that cannot do what is asked ends the command with exit code 5 and an error that
//! says what, where and what to do; nothing is started.

use super::{Home, said};
use fs_err as fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const UP: [&str; 3] = ["cluster", "up", "--cluster=local"];

/// Puts a `go` into a folder that says it is of some version.
fn go_that_says(folder: &Path, version: &str) {
    let path = folder.join("go");
    fs::write(&path, format!("#!/bin/sh\necho {version}\n")).unwrap();
    fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[track_caller]
fn refused(mut command: Command, exit_code: i32, code: &str, words: &[&str]) {
    let output = command.output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(exit_code), "{said}");
    // The report is wrapped to the width of the terminal.
    let flat: String = said.split_whitespace().filter(|word| *word != "│").collect();
    let code: String = code.split_whitespace().collect();
    assert!(flat.contains(&code), "no {code} in {said}");
    for word in words {
        let word: String = word.split_whitespace().collect();
        assert!(flat.contains(&word), "no {word:?} in {said}");
    }
}

#[test]
fn without_a_go_toolchain_the_error_says_what_to_install() {
    let home = Home::new();
    let mut command = home.command(&UP);
    command.env("PATH", home.path());
    refused(command, 5, "cluster::go_missing", &["Go 1.26 or later", "PATH"]);
}

#[test]
fn with_an_old_go_toolchain_the_error_names_both_versions() {
    let home = Home::new();
    go_that_says(home.path(), "go1.24.3");
    let mut command = home.command(&UP);
    command.env("PATH", home.path());
    refused(command, 5, "cluster::go_too_old", &["go1.24.3", "need 1.26 or later"]);
}

#[test]
fn a_cache_that_cannot_be_written_is_named() {
    let home = Home::new();
    go_that_says(home.path(), "go1.26.8");
    let cache = home.path().join("cache");
    fs::write(&cache, "a file where a folder should be").unwrap();
    let mut command = home.command(&UP);
    command.env("PATH", home.path()).env("XDG_CACHE_HOME", &cache);
    refused(command, 5, "cluster::unwritable", &["XDG_CACHE_HOME"]);
}

#[test]
fn a_state_folder_that_cannot_be_written_is_named() {
    let home = Home::new();
    let state = home.path().join("state");
    fs::write(&state, "a file where a folder should be").unwrap();
    let mut command = home.command(&UP);
    command.env("XDG_STATE_HOME", &state);
    refused(command, 5, "cluster::unwritable", &["XDG_STATE_HOME"]);
}

#[test]
fn a_locked_cache_is_waited_for_and_then_reported_with_its_holder() {
    let home = Home::new();
    // A toolchain that no cache was built with, so this one is empty.
    go_that_says(home.path(), "go1.99.0");
    let cache = home.path().join("cache");
    let mut first = home.command(&UP);
    first.env("PATH", home.path()).env("XDG_CACHE_HOME", &cache);
    // This `go` builds nothing, so the first run fails and leaves the folder of its generation.
    assert_eq!(first.output().unwrap().status.code(), Some(5));
    let generations = fs::read_dir(cache.join("dispatch-conformance")).unwrap();
    let generation = generations.into_iter().next().unwrap().unwrap().path();
    let lock = fs::File::options().write(true).open(generation.join("lock")).unwrap();
    lock.lock().unwrap();

    let mut command = home.command(&UP);
    command.arg("--cache-wait=1").env("PATH", home.path()).env("XDG_CACHE_HOME", &cache);
    refused(command, 5, "cluster::cache_locked", &["builds into the cache", "held by process"]);
}

#[test]
fn a_name_that_leaves_the_folder_is_a_usage_error() {
    let mut command = Home::new().command(&UP);
    command.arg("--name=../elsewhere");
    refused(command, 2, "cluster::bad_name", &["../elsewhere"]);
}

#[test]
fn a_cluster_that_is_not_there_has_no_status_and_nothing_to_end() {
    let home = Home::new();
    refused(home.command(&["cluster", "status", "--name=x"]), 5, "cluster::not_running", &["x"]);
    refused(home.command(&["cluster", "down", "--name=x"]), 0, "is not running", &[]);
}
