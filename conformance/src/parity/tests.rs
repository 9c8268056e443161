use std::collections::BTreeMap;

use insta::assert_snapshot;
use rstest::rstest;

use super::*;
use crate::exit_code::ExitCode;
use crate::history::Kind;
use crate::history::told::Told;
use crate::report;

/// A life of these writes, after which its history ended.
fn life(writes: &[&str]) -> Life {
    let write = |text: &&str| text.split(", ").map(Transition::read).collect();
    Life { writes: writes.iter().map(write).collect(), still: false }
}

fn still(writes: &[&str]) -> Life {
    Life { still: true, ..life(writes) }
}

fn role(kind: Kind) -> Role {
    Role { kind, name: "train".to_owned() }
}

fn play(scenario: &str) -> Play {
    let (digest, verdict) = ("00".to_owned(), "pass".to_owned());
    Play { scenario: scenario.to_owned(), digest, verdict, ..Play::default() }
}

fn lived(kind: Kind, life: Life) -> BTreeMap<Role, Lived> {
    let events = (0..life.writes.len() as u64).map(|at| 100 + at).collect();
    BTreeMap::from([(role(kind), Lived { life, events })])
}

fn recorded(runs: &[(&str, Kind, Life)]) -> Recording {
    let mut recording = Recording::default();
    for (scenario, kind, life) in runs {
        assert!(recording.add(play(scenario), lived(*kind, life.clone())));
    }
    recording
}

fn compared(recording: &Recording, kind: Kind, here: Life) -> Comparison {
    let simulated = [("sim/history.ndjson".to_owned(), play("a/one"), lived(kind, here))];
    compare(recording, &simulated, &mut Known::default())
}

/// How a life differs from those that a recording has of it.
fn moves(recording: &Recording, kind: Kind, here: Life) -> Vec<String> {
    let comparison = compared(recording, kind, here);
    let of_life = comparison.disagreements.iter().filter_map(|it| match it {
        Disagreement::Life(unlike) => Some(&unlike.moves),
        Disagreement::Verdict { .. } => None,
    });
    of_life.flatten().map(ToString::to_string).collect()
}

#[test]
fn a_life_is_what_each_write_changes_without_what_differs_from_run_to_run() {
    let history = Told::kueue().runs().is_preempted(1).history();
    let mut recording = Recording::default();
    recording.add(play("a/one"), lives(&history).0);
    assert_snapshot!(recording.write());
}

#[test]
fn objects_that_come_one_after_the_other_are_told_apart() {
    let history = Told::kueue().runs().is_preempted(1).goes(2).history();
    let (lives, _) = lives(&history);
    let names: Vec<_> = lives.keys().map(ToString::to_string).collect();
    let expected = [
        "TrainJob train",
        "Workload train",
        "JobSet train",
        "Job train/node",
        "Pod train/node",
        "Pod train/node #2",
    ];
    assert_eq!(names, expected);
}

#[rstest]
#[case::the_same(&["created", "a: 1", "b: 1"], &[])]
#[case::cut_short(&["created", "a: 1"], &[])]
#[case::passed_over(&["created", "b: 1"], &["`a: 1` is missing"])]
#[case::more(&["created", "a: 1", "c: 1", "b: 1"], &["`c: 1` comes too"])]
#[case::turned(&["created", "b: 1", "a: 1"], &["`a: 1` comes after `b: 1`, on the real cluster before it"])]
#[case::at_once(&["created", "a: 1, b: 1"], &["`a: 1` comes in one write with `b: 1`, on the real cluster before it"])]
#[case::another_end(&["created", "a: 1", "c: 1"], &["`b: 1` is missing", "`c: 1` comes too"])]
fn what_no_real_run_does_is_a_disagreement(#[case] here: &[&str], #[case] expected: &[&str]) {
    let recording = recorded(&[("a/one", Kind::Pod, life(&["created", "a: 1", "b: 1"]))]);
    assert_eq!(moves(&recording, Kind::Pod, life(here)), expected);
}

#[test]
fn what_did_not_come_though_there_was_time_is_missing() {
    let recording = recorded(&[("a/one", Kind::Pod, life(&["created", "a: 1"]))]);
    assert_eq!(moves(&recording, Kind::Pod, still(&["created"])), ["`a: 1` is missing"]);
    let recording = recorded(&[("a/one", Kind::Pod, still(&["created"]))]);
    assert_eq!(moves(&recording, Kind::Pod, life(&["created", "a: 1"])), ["`a: 1` comes too"]);
}

#[test]
fn an_object_that_no_real_run_has_is_one_disagreement() {
    let mut recording = recorded(&[("a/one", Kind::Job, life(&["created"]))]);
    recording.plays.values_mut().for_each(|play| play.never.still = true);
    let here = life(&["created", "a: 1", "b: 1"]);
    assert_eq!(moves(&recording, Kind::Pod, here), ["`created` comes too"]);
}

#[test]
fn an_order_that_differs_between_real_runs_of_any_scenario_says_nothing() {
    let recording = recorded(&[
        ("a/one", Kind::Pod, life(&["created", "a: 1", "b: 1"])),
        ("a/other", Kind::Pod, life(&["created", "a: 1", "b: 1"])),
        ("a/other", Kind::Pod, life(&["created", "b: 1", "a: 1"])),
    ]);
    assert!(moves(&recording, Kind::Pod, life(&["created", "b: 1", "a: 1"])).is_empty());
    assert!(!moves(&recording, Kind::Pod, life(&["b: 1", "a: 1", "created"])).is_empty());
}

#[rstest]
#[case::counted_by_a_controller("count active: 1", true)]
#[case::decided("suspend: true", false)]
fn what_some_real_runs_of_one_other_scenario_do_without_is_permitted_only_where_nobody_decides_it(
    #[case] transition: &str,
    #[case] permitted: bool,
) {
    let recording = recorded(&[
        ("a/one", Kind::Job, life(&["created", transition, "b: 1"])),
        ("a/other", Kind::Job, life(&["created", transition, "b: 1"])),
        ("a/other", Kind::Job, life(&["created", "b: 1"])),
    ]);
    let found = moves(&recording, Kind::Job, life(&["created", "b: 1"]));
    assert_eq!(found.is_empty(), permitted, "{found:?}");
}

#[test]
fn a_verdict_that_differs_is_a_disagreement() {
    let recording = recorded(&[("a/one", Kind::Pod, life(&["created"]))]);
    let broken = Play { verdict: "fail".to_owned(), ..play("a/one") };
    let simulated = [("file".to_owned(), broken, lived(Kind::Pod, life(&["created"])))];
    let comparison = compare(&recording, &simulated, &mut Known::default());
    let text = report::parity(&comparison, &[]);
    assert!(text.starts_with("a/one: the verdict is fail, on the real cluster pass\n"), "{text}");
}

#[test]
fn a_scenario_that_has_changed_since_is_not_compared() {
    let recording = recorded(&[("a/one", Kind::Pod, life(&["created"]))]);
    let changed = Play { digest: "01".to_owned(), ..play("a/one") };
    let simulated = [("file".to_owned(), changed, lived(Kind::Pod, life(&["other"])))];
    let comparison = compare(&recording, &simulated, &mut Known::default());
    assert_eq!((comparison.plays, comparison.not_compared.len()), (0, 1));
    assert_eq!(report::parity_exit_code(&comparison, &[]), ExitCode::Inconclusive);
}

#[test]
fn runs_of_a_scenario_that_has_changed_no_longer_count() {
    let mut recording = recorded(&[("a/one", Kind::Pod, life(&["created"]))]);
    let changed = Play { digest: "01".to_owned(), ..play("a/one") };
    recording.add(changed, lived(Kind::Pod, life(&["created", "a: 1"])));
    let play = &recording.plays["a/one"];
    assert_eq!(
        (play.runs, &play.lives[&role(Kind::Pod)][..]),
        (1, &[life(&["created", "a: 1"])][..])
    );
}

#[test]
fn a_recording_is_read_as_it_was_written() {
    let recording = recorded(&[
        ("a/one", Kind::Pod, life(&["created, phase: Pending", "gone"])),
        ("a/one", Kind::Pod, still(&["created, phase: Pending"])),
        ("a/one", Kind::Job, life(&["created"])),
        ("a/other", Kind::Workload, life(&["created", "QuotaReserved: False(Pending)"])),
    ]);
    let text = recording.write();
    assert_eq!(Recording::read(&text).unwrap().write(), text);
    assert_snapshot!(text);
}

#[rstest]
#[case::another_file("something else", "line 1")]
#[case::no_play_and_no_life("dispatch-parity/1\n\nplays a/one\n", "line 3")]
#[case::no_digest("dispatch-parity/1\n\nplay a/one\nPod train = never\n", "line 4")]
#[case::no_such_life(
    "dispatch-parity/1\n\nplay a/one\n00 pass of 1 runs\nPod train = 01\n",
    "line 5"
)]
fn what_is_no_recording_is_refused_with_its_line(#[case] text: &str, #[case] expected: &str) {
    let error = Recording::read(text).unwrap_err().to_string();
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn a_known_difference_is_met_or_said_to_be_no_more() {
    let recording = recorded(&[("a/one", Kind::Pod, life(&["created", "a: 1", "b: 1"]))]);
    let list = "
- {scenario: a/one, kind: Pod, how: '`a: 1` is missing', why: it is late}
- {scenario: a/one, kind: Job, why: it is gone}
";
    let mut known = Known::read(list).unwrap();
    let here = lived(Kind::Pod, life(&["created", "b: 1"]));
    let simulated = [("file".to_owned(), play("a/one"), here)];
    let comparison = compare(&recording, &simulated, &mut known);
    assert_eq!((comparison.disagreements.len(), comparison.known), (0, 1));
    let not_met: Vec<_> = known.not_met().collect();
    assert_eq!(not_met.len(), 1);
    assert_eq!(report::parity_exit_code(&comparison, &not_met), ExitCode::SuiteFault);
    assert_snapshot!(report::parity(&comparison, &not_met));
}

#[test]
fn what_differs_in_the_same_way_is_shown_once() {
    let writes = ["created", "a: 1", "b: 1", "c: 1", "d: 1", "e: 1", "gone"];
    let recording =
        recorded(&[("a/one", Kind::Pod, life(&writes)), ("a/two", Kind::Pod, life(&writes))]);
    let here = lived(Kind::Pod, life(&["created", "a: 1", "b: 1", "c: 1", "d: 2, e: 1", "gone"]));
    let simulated =
        ["a/one", "a/two"].map(|it| (format!("sim/{it}/history.ndjson"), play(it), here.clone()));
    let comparison = compare(&recording, &simulated, &mut Known::default());
    assert_snapshot!(report::parity(&comparison, &[]));
}

#[test]
fn what_the_suite_carries_is_well_formed() {
    assert!(Recording::embedded().is_ok());
    assert!(Known::embedded().is_ok());
}
