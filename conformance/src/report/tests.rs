//! Reports of hand-made verdicts, and of histories that are told by hand.

use dispatch_contract::ErrorKind;
use insta::assert_snapshot;
use rstest::rstest;
use serde_json::json;

use super::describe::describe;
use super::timeline::timeline;
use super::told::{broken, case, inconclusive, judged, not_judged, report, rule, run};
use super::*;
use crate::history::told::{NAME, Told, set_check};
use crate::history::{
    End, EndedBy, Gap, History, Kind, StepBegan, StepFailed, SubjectChange, Verb, What,
};
use crate::rules::{Judgement, Verdict};
use crate::run::Progress;
use crate::scenario;
use dispatch_contract::rules::RuleId;

/// A step begins, at the revision of the event before it.
fn step(told: &mut Told, index: usize, text: &str) {
    let order = told.events.iter().filter_map(|event| event.order).max();
    told.tell(order, What::StepBegan(StepBegan { index, line: index + 10, text: text.to_owned() }));
}

/// A preempted job that is let go on while its old pod is still there; the events that prove it.
fn overlap() -> (History, Vec<u64>) {
    let mut told = Told::kueue();
    step(&mut told, 0, "start: { job: train, cpu: 4 }");
    told.runs();
    step(&mut told, 6, "until: { workload: train, evicted: true }");
    told.evicts().suspends().pod_terminates("pod-1");
    let terminating = told.events.len() as u64 - 1;
    told.unreserves();
    step(&mut told, 10, "until: { workload: train, quota-reserved: true }");
    told.seconds(1).reserves().sets("Ready");
    let ready = told.events.len() as u64 - 1;
    (told.history(), vec![terminating, ready])
}

fn failed() -> ScenarioReport {
    let (history, events) = overlap();
    let because = "the check was set Ready while pod-1 of the previous execution was Terminating";
    let verdict = Verdict::fail(because, events.iter().copied());
    let judged = Judged {
        overall: Overall::Fail {
            rules: vec![rule("RG-04"), rule("EX-02")],
            because: vec!["line 30, `count: { of: train, A: 2 }`: A is 1 at the end".to_owned()],
        },
        judgements: vec![Judgement { rule: rule("RG-04"), verdict }],
        failures: vec![
            Failure {
                rule: Some(rule("RG-04")),
                what: rule("RG-04").rule().unwrap().title.to_owned(),
                because: because.to_owned(),
                timeline: timeline(&history, &events),
            },
            Failure {
                rule: Some(rule("EX-02")),
                what: rule("EX-02").rule().unwrap().title.to_owned(),
                because: "execution 2 began while pod-1 of execution 1 lived".to_owned(),
                timeline: timeline(&history, &events[1..]),
            },
            Failure {
                rule: None,
                what: "line 30, `count: { of: train, A: 2 }`".to_owned(),
                because: "A is 1 at the end".to_owned(),
                timeline: Vec::new(),
            },
        ],
    };
    report("readmission/preemption-mid-execution", ScenarioResult::Judged(Box::new(judged)))
}

fn whole() -> RunReport {
    let mut repeated = report("readmission/foreign-workload", inconclusive());
    repeated.repetition = Some((2, 20));
    repeated.seed = Some(1);
    let mut left = report("preflight/gate-leak", not_judged(ExitCode::Environment));
    left.history = None;
    left.left_behind = vec!["namespace dispatch-01k0-4: it has finalizers".to_owned()];
    let passed = report("start-gate/first-execution", judged(Overall::Pass));
    let mut run = run(vec![passed, failed(), repeated, left]);
    run.subjects.mutant = Some("blind-to-pods".to_owned());
    run.no_claim = vec!["the mutant blind-to-pods was judged".to_owned()];
    run
}

#[test]
fn a_run_on_the_console() {
    let run = whole();
    let mut out = header(&Header {
        count: 4,
        shard: None,
        times: 1,
        at_once: 8,
        cluster: "local",
        versions: "kueue 0.17.0, trainer 2.2.0",
        subjects: &run.subjects,
    });
    out.push('\n');
    for report in &run.scenarios {
        out.push_str(&scenario(&run, report));
    }
    out.push_str(&summary(&run));
    assert_snapshot!(out);
}

#[rstest]
#[case::as_ever(None, None, &[], "--cluster local a/b")]
#[case::of_the_default_seed(None, Some(0), &[], "--cluster local a/b")]
#[case::of_another_seed(None, Some(7), &[], "--cluster local --seed 7 a/b")]
#[case::with_all(
    Some("deaf-to-eviction"),
    Some(7),
    &["--scenarios", "my own"],
    "--cluster local --mutant deaf-to-eviction --seed 7 --scenarios 'my own' a/b"
)]
fn what_failed_says_how_it_is_played_again(
    #[case] mutant: Option<&str>,
    #[case] seed: Option<u64>,
    #[case] options: &[&str],
    #[case] expected: &str,
) {
    let mut run = run(Vec::new());
    run.subjects.mutant = mutant.map(str::to_owned);
    run.options = options.iter().map(|&word| word.to_owned()).collect();
    let out = scenario(&run, &ScenarioReport { seed, ..report("a/b", broken(&["RG-01"])) });
    let again = out.lines().find(|line| line.contains("play it again")).unwrap();
    let expected = format!("play it again:   dispatch-conformance run {expected}");
    assert_eq!(again.trim(), expected);
}

#[test]
fn what_a_cluster_does_not_offer_is_not_played_and_leaves_the_run_incomplete() {
    let why = "it restarts Kueue".to_owned();
    let skipped = ScenarioResult::NotJudged { why, fault: ExitCode::Inconclusive };
    let skipped = ScenarioReport { history: None, took: Duration::ZERO, ..report("c/d", skipped) };
    let mut run = run(vec![report("a/b", judged(Overall::Pass)), skipped]);
    run.no_claim = vec!["1 of 2 scenarios need what this cluster does not offer".to_owned()];
    let lines: String = run.scenarios.iter().map(|report| scenario(&run, report)).collect();
    assert_snapshot!(format!("{lines}{}", summary(&run)));
    assert_eq!(run.exit_code(), ExitCode::Inconclusive);
}

#[test]
fn a_run_in_junit() {
    assert_snapshot!(junit(&whole()).unwrap());
}

#[test]
fn a_run_in_which_all_is_well() {
    let passed = |id: &str| report(id, judged(Overall::Pass));
    let run = run(vec![passed("a/b"), passed("c/d")]);
    let lines: String = run.scenarios.iter().map(|report| scenario(&run, report)).collect();
    assert_snapshot!(format!("{lines}{}", summary(&run)));
}

#[test]
fn a_shard_says_so_in_its_first_line_at_its_end_and_in_junit() {
    let shard = "2/4".parse().ok();
    let mut run = run(vec![report("a/b", judged(Overall::Pass))]);
    run.shard = shard;
    run.no_claim = vec!["shard 2/4 was played".to_owned()];
    let first = header(&Header {
        count: 1,
        shard,
        times: 3,
        at_once: 8,
        cluster: "local",
        versions: "kueue 0.17.0",
        subjects: &run.subjects,
    });
    assert_snapshot!(format!("{first}\n{}\n{}", summary(&run), junit(&run).unwrap()));
}

/// A scenario with one case of each kind.
fn cases() -> Group {
    let id = "readmission/killed-at-each-request";
    let all = [
        ("reference", judged(Overall::Pass)),
        ("before-get-workloads", inconclusive()),
        ("before-patch-trainjobs", broken(&["RG-05", "EX-01"])),
    ];
    let reports = all.map(|(name, result)| case(id, name, result)).into();
    Group { reports, not_played: 0 }
}

#[test]
fn cases_that_pass_are_one_line() {
    let mut all = cases();
    for report in &mut all.reports {
        report.result = judged(Overall::Pass);
    }
    let passed = group(&run(Vec::new()), &all);
    all.not_played = 2;
    assert_snapshot!(format!("{passed}{}", group(&run(Vec::new()), &all)));
}

#[test]
fn each_case_that_does_not_pass_is_shown_below() {
    let run = run(cases().reports);
    assert_snapshot!(format!("{}{}", group(&run, &cases()), summary(&run)));
}

#[test]
fn each_case_is_a_test_case_in_junit() {
    assert_snapshot!(junit(&run(cases().reports)).unwrap());
}

#[test]
fn a_run_of_which_some_was_not_played_is_incomplete() {
    let mut run = run(vec![report("a/b", judged(Overall::Pass))]);
    run.not_played = 3;
    assert_eq!(run.exit_code(), ExitCode::Inconclusive);
    assert!(summary(&run).contains("3 were not played"), "{}", summary(&run));
}

#[rstest]
#[case::nothing_yet(None, "12 passed, 1 did not, 2 play, 40 wait")]
#[case::no_word_yet(Some(""), "12 passed, 1 did not, 2 play, 40 wait; 7 s a/b")]
#[case::waiting(
    Some("step 4/16: until: { running: train }"),
    "12 passed, 1 did not, 2 play, 40 wait; 7 s a/b: step 4/16: until: { running: train }"
)]
fn a_status_says_what_the_longest_waits_for(#[case] said: Option<&str>, #[case] line: &str) {
    let longest = said.map(|said| Longest {
        name: "a/b".to_owned(),
        since: Duration::from_millis(7_900),
        said: said.to_owned(),
    });
    assert_eq!(status(&passed(12, 1), &Status { playing: 2, waiting: 40, longest }), line);
}

#[test]
fn every_event_has_words() {
    let mut told = Told::kueue();
    step(&mut told, 0, "start: { job: train, cpu: 1 }");
    told.runs().pod_terminates("pod-1").pod_goes("pod-1").evicts().ends("Failed").marks_ended();
    told.workload(|it| set_check(it, "Pending", "waiting for \u{1b}[2Jpod-1"));
    told.workload(|it| it["metadata"]["labels"] = json!({"a": "b"}));
    told.calls(Verb::Release).fails(ErrorKind::Rejected).delete(Kind::JobSet, NAME);
    told.controller(SubjectChange::Stopped).gap(Some(Kind::Pod)).gap(None);
    let history = told.history();
    let lines: Vec<_> = history.events().iter().map(|event| describe(&history, event)).collect();
    assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_description_is_short_and_harmless() {
    let mut told = Told::kueue();
    told.starts().workload(|it| set_check(it, "Pending", &"\u{1b}[1mpod ".repeat(500)));
    let history = told.history();
    for event in history.events() {
        let words = describe(&history, event);
        assert!(words.chars().count() <= 240, "{words}");
        assert!(!words.contains('\u{1b}'), "{words}");
    }
}

#[rstest]
#[case::preparing(Progress::Preparing { what: "the namespace" }, Some("preparing: the namespace"))]
#[case::step(
    Progress::StepBegan { index: 3, of: 16, text: "open: train" },
    Some("step 4/16: open: train")
)]
#[case::waiting(
    Progress::Waiting {
        until: "{ running: train }", limit: Duration::from_mins(1), now: "check Pending \u{1b}[0m"
    },
    Some("waiting at most 60.00 s until { running: train }; now: check Pending ")
)]
#[case::failed(Progress::StepFailed { index: 0, why: "refused" }, Some("step 1 failed: refused"))]
#[case::cleaning(Progress::CleaningUp, Some("cleaning up"))]
#[case::ended(Progress::StepEnded { index: 0 }, None)]
fn progress_says_what_is_waited_for(#[case] said: Progress<'_>, #[case] line: Option<&str>) {
    assert_eq!(progress(&said).as_deref(), line);
}

#[rstest]
#[case::all_passed(vec![judged(Overall::Pass)], ExitCode::Conformant)]
#[case::nothing(vec![], ExitCode::NothingRan)]
#[case::open(vec![judged(Overall::Pass), inconclusive()], ExitCode::Inconclusive)]
#[case::broken_outweighs_all(
    vec![not_judged(ExitCode::SuiteFault), inconclusive(), failed().result],
    ExitCode::RuleBroken
)]
#[case::fault_outweighs_environment(
    vec![not_judged(ExitCode::Environment), not_judged(ExitCode::SuiteFault)],
    ExitCode::SuiteFault
)]
#[case::environment_outweighs_open(
    vec![inconclusive(), not_judged(ExitCode::Environment)],
    ExitCode::Environment
)]
fn the_heaviest_result_is_the_exit_code(
    #[case] results: Vec<ScenarioResult>,
    #[case] code: ExitCode,
) {
    let scenarios = results.into_iter().map(|result| report("a/b", result)).collect();
    assert_eq!(run(scenarios).exit_code(), code);
}

#[test]
fn verdicts_that_differ_between_repetitions_are_pointed_out() {
    let passed = || report("a/b", judged(Overall::Pass));
    let same = summary(&run(vec![passed(), passed()]));
    assert!(!same.contains("not the same"), "{same}");
    let differs = summary(&run(vec![passed(), report("a/b", inconclusive()), passed()]));
    assert!(differs.contains("not the same each time: a/b: OPEN 1, PASS 2"), "{differs}");
}

#[test]
fn an_interrupted_run_says_so_whatever_it_found() {
    let mut run = run(vec![failed()]);
    run.interrupted = Some(ExitCode::Interrupted);
    assert_eq!(run.exit_code(), ExitCode::Interrupted);
    assert!(summary(&run).contains("interrupted"));
}

/// A scenario with one step of each weight, and a history in which the given step failed.
fn with_failed_step(index: usize, rule: Option<RuleId>) -> Judged {
    failed_after(Told::kueue().starts().opens().clone(), index, rule)
}

/// The same, with a history that begins as told.
fn failed_after(mut told: Told, index: usize, rule: Option<RuleId>) -> Judged {
    let scenario = scenario::told::scenario("", "{ called: open, for: train }");
    let why = "it was otherwise".to_owned();
    told.tell(Some(120), What::StepFailed(StepFailed { index, why, rule }));
    told.tell(None, What::End(End { why: EndedBy::Failed }));
    judge(&scenario, &told.events.iter().cloned().collect())
}

#[rstest]
#[case::played_to_its_end(Some(EndedBy::Finished), true)]
#[case::interrupted(Some(EndedBy::Interrupted), false)]
#[case::killed(None, false)]
fn what_a_scenario_expects_is_not_held_against_a_play_that_was_broken_off(
    #[case] end: Option<EndedBy>,
    #[case] is_broken: bool,
) {
    let scenario = scenario::told::scenario(
        "{ never: { trainjob: train, opened: true } }",
        "{ called: open, for: train }",
    );
    let mut told = Told::kueue().starts().opens().clone();
    if let Some(why) = end {
        told.tell(None, What::End(End { why }));
    }
    let judged = judge(&scenario, &told.events.iter().cloned().collect());
    let fails = matches!(judged.overall, Overall::Fail { .. });
    assert_eq!(fails, is_broken, "{:?}", judged.overall);
}

#[test]
fn a_call_that_answers_otherwise_breaks_the_scenario() {
    // Step 5 is Open.
    let judged = with_failed_step(5, None);
    assert!(matches!(judged.overall, Overall::Fail { .. }), "{:?}", judged.overall);
    assert!(judged.failures.iter().any(|it| it.what.contains("open: train")));
}

#[rstest]
#[case::a_call(5, None)]
#[case::of_a_rule(1, Some(rule("RG-15")))]
fn a_step_that_fails_after_the_suite_stood_still_leaves_the_scenario_open(
    #[case] index: usize,
    #[case] rule: Option<RuleId>,
) {
    let mut told = Told::kueue().starts().opens().clone();
    let why = "the suite itself stood still for 16 s".to_owned();
    told.tell(None, What::Gap(Gap { kind: None, why }));
    let judged = failed_after(told, index, rule);
    let Overall::Inconclusive { why } = &judged.overall else { panic!("{:?}", judged.overall) };
    assert!(why.iter().any(|why| why.contains("stood still")), "{why:?}");
}

#[test]
fn an_administrators_act_that_fails_leaves_the_scenario_open() {
    // Step 1 stops the controller.
    let judged = with_failed_step(1, None);
    assert!(matches!(judged.overall, Overall::Inconclusive { .. }), "{:?}", judged.overall);
}

#[test]
fn a_step_that_names_a_rule_breaks_it() {
    let judged = with_failed_step(1, Some(rule("RG-15")));
    let Overall::Fail { rules, .. } = &judged.overall else { panic!("{:?}", judged.overall) };
    assert!(rules.contains(&rule("RG-15")));
}

#[test]
fn rules_and_scenarios_are_explained() {
    let scenarios = scenario::embedded().unwrap();
    let about = explain_rule(rule("RG-10").rule().unwrap(), &scenarios);
    assert!(about.contains("readmission/controller-down"), "{about}");
    let down = scenarios.iter().find(|it| it.id == "readmission/controller-down").unwrap();
    assert_snapshot!(explain_scenario(down));
    let two: Vec<_> = scenarios.iter().take(2).collect();
    assert_eq!(list(&two).lines().count(), 2);
}

#[test]
fn every_rule_that_a_scenario_proves_has_a_judge() {
    for scenario in scenario::embedded().unwrap() {
        for rule in &scenario.proves {
            let judged = crate::rules::JUDGES.iter().any(|judge| judge.rule == rule.as_str());
            assert!(judged, "{} proves {rule}, which no judge judges", scenario.id);
        }
    }
}
