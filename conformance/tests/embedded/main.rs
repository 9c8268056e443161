//! Runs on the embedded cluster, as people start them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Scenarios that between them have everything that could leave something to chance: several replicas,
/// watches that end, retries, requests that are slow at random, and cases.
const FILTER: [&str; 6] = [
    "readmission/two-replicas",
    "readmission/watches-cut-and-expired",
    "readmission/frozen-at-each-request",
    "calls/answered-500",
    "executions/slow-controllers",
    "preflight/gate-leak",
];

/// Runs scenarios, with their histories in a folder; gives what is said.
fn run(arguments: &[&str], report: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dispatch-conformance"));
    let output = command.arg("run").args(arguments).arg("--report").arg(report).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{arguments:?}: {text}");
    text
}

/// Runs scenarios; gives their histories, by their places in the report.
fn histories(arguments: &[&str]) -> BTreeMap<PathBuf, Vec<u8>> {
    let report = TempDir::new().unwrap();
    run(arguments, report.path());
    let mut found = BTreeMap::new();
    collect(report.path(), report.path(), &mut found);
    found
}

fn collect(root: &Path, folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs_err::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, found);
        } else if path.ends_with("history.ndjson") {
            let place = path.strip_prefix(root).unwrap().to_owned();
            found.insert(place, fs_err::read(&path).unwrap());
        }
    }
}

/// The first line that differs, for people.
fn first_difference(one: &[u8], other: &[u8]) -> String {
    let lines = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (one, other) = (lines(one), lines(other));
    let mut pairs = one.lines().zip(other.lines());
    let differs = pairs.find(|(one, other)| one != other);
    differs.map_or("one is longer".to_owned(), |(one, other)| format!("{one}\n{other}"))
}

fn assert_same(all: &BTreeMap<PathBuf, Vec<u8>>, some: &BTreeMap<PathBuf, Vec<u8>>) {
    assert!(!some.is_empty());
    for (place, history) in some {
        let other = all.get(place).unwrap_or_else(|| panic!("no {}", place.display()));
        let difference = || first_difference(history, other);
        assert!(history == other, "{}: {}", place.display(), difference());
    }
}

#[test]
fn one_seed_gives_one_history_in_every_process_alone_and_beside_others() {
    if !dispatch_determinism::AVAILABLE {
        return;
    }
    let together = histories(&FILTER);
    assert_same(&together, &histories(&FILTER));
    for alone in FILTER {
        assert_same(&together, &histories(&["--parallel", "1", alone]));
    }
}

#[test]
fn another_seed_gives_another_history_and_the_same_verdict() {
    let scenario = "readmission/two-replicas";
    let [one, other] = ["1", "2"].map(|seed| histories(&["--seed", seed, scenario]));
    assert_ne!(one, other);
}

#[test]
fn a_repetition_has_the_next_seed() {
    let scenario = "start-gate/first-execution";
    let repeated = histories(&["--seed", "6", "--repeat", "2", scenario]);
    let [sixth, seventh] = ["6", "7"].map(|seed| histories(&["--seed", seed, scenario]));
    let of = |nth: &str| {
        let found = repeated.iter().find(|(place, _)| place.starts_with(nth));
        found.map(|(_, history)| history).unwrap()
    };
    assert_eq!(Some(of("0001")), sixth.values().next());
    assert_eq!(Some(of("0002")), seventh.values().next());
}

#[test]
fn shards_play_all_of_a_run_once_and_may_share_a_folder() {
    let filter = ["calls/bad-input", "preflight/gate-leak", "start-gate/first-execution"];
    let report = TempDir::new().unwrap();
    for shard in [["--shard", "1/2"], ["--shard-from-zero", "1/2"]] {
        run(&[&shard[..], &filter].concat(), report.path());
    }
    for file in ["junit-1-of-2.xml", "junit-2-of-2.xml"] {
        assert!(report.path().join(file).exists(), "{file}");
    }
    let mut shards = BTreeMap::new();
    collect(report.path(), report.path(), &mut shards);
    assert_eq!(shards.len(), filter.len());
    if dispatch_determinism::AVAILABLE {
        assert_same(&shards, &histories(&filter));
    }
}

#[test]
fn a_shard_that_cannot_be_is_refused_with_what_is_expected() {
    for (shard, filter, code, words) in [
        ("5/4", "calls/", 2, "expected I/N with I from 1 to N, such as 1/4"),
        ("4/4", "calls/bad-input", 4, "nothing is in shard 4/4: there are 1 to be played in all"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dispatch-conformance"));
        let output = command.args(["run", "--shard", shard, filter]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(words), "{said}");
    }
}

/// Runs scenarios again and again with one seed; gives the digest of their histories.
fn digest(arguments: &[&str]) -> String {
    let report = TempDir::new().unwrap();
    let text = run(&[&["--same-seed"], arguments].concat(), report.path());
    let line = text.lines().find(|line| line.starts_with("histories of one seed: "));
    let (_, digest) = line.and_then(|line| line.rsplit_once(' ')).unwrap();
    digest.to_owned()
}

#[test]
fn repetitions_with_the_same_seed_have_one_digest() {
    if !dispatch_determinism::AVAILABLE {
        return;
    }
    let scenario = "start-gate/first-execution";
    let repeated = digest(&["--repeat", "3", scenario]);
    assert_eq!(repeated, digest(&[scenario]));
    assert_ne!(repeated, digest(&["--seed", "1", scenario]));
}

#[test]
#[ignore = "plays the whole suite 121 times"]
fn every_scenario_has_one_history_of_a_seed() {
    let many = digest(&["--repeat", "100"]);
    assert_eq!(many, digest(&["--repeat", "10", "--parallel", "1"]));
    assert_eq!(many, digest(&["--repeat", "10", "--parallel", "8"]));
    assert_eq!(many, digest(&[]));
}
