//! Playing many at a time, with a stand-in for the cluster.

use std::collections::BTreeMap;
use std::sync::Mutex;

use futures::FutureExt;
use rstest::rstest;
use tokio::sync::Semaphore;

use super::*;
use crate::report::ScenarioResult;
use crate::report::told::{broken, inconclusive, judged, not_judged};
use crate::rules::Overall;
use crate::run::Interruption;
use crate::scenario::embedded;

/// Gives what it was told to, by full id; passes otherwise. Keeps in which order plays began.
#[derive(Default)]
struct Told {
    results: BTreeMap<&'static str, ScenarioResult>,
    cases: Vec<&'static str>,
    over: bool,
    began: Mutex<Vec<String>>,
    /// Nothing ends until it is let, where there is one.
    ends: Option<Semaphore>,
}

impl Player for Told {
    fn play<'a>(&'a self, item: &'a Item, play: &'a Play, _: Tell) -> BoxFuture<'a, Ended> {
        async move {
            let case = play.case.as_ref().map(|case| case.id.as_str());
            let mut report = ScenarioReport::begun(&item.scenario, case);
            let id = report.full_id();
            self.began.lock().unwrap().push(format!("{} {id}", play.number));
            if let Some(ends) = &self.ends {
                ends.acquire().await.unwrap().forget();
            }
            let told = self.results.get(id.as_str()).cloned();
            report.result = told.unwrap_or_else(|| judged(Overall::Pass));
            let cases =
                self.cases.iter().map(|id| Case { id: (*id).to_owned(), fault: None }).collect();
            Ended { report, cases, leaving: None, over: self.over }
        }
        .boxed()
    }
}

/// Keeps what it is told.
#[derive(Default)]
struct Kept {
    /// By item: the cases, and how many were not played.
    groups: BTreeMap<usize, (Vec<String>, usize)>,
    played: Vec<usize>,
    /// An item that is of no interest once another was played.
    bored_by: Option<(usize, usize)>,
}

impl Audience for Kept {
    fn played(&mut self, item: usize, _: &ScenarioReport) {
        self.played.push(item);
    }

    fn wants(&self, item: usize) -> bool {
        self.bored_by.is_none_or(|(by, of)| item != of || !self.played.contains(&by))
    }

    fn ended(&mut self, item: usize, group: Group) {
        let word = |report: &ScenarioReport| match report.exit_code() {
            ExitCode::Conformant => report.case.clone().unwrap_or_else(|| "passed".to_owned()),
            code => format!("{}: {code:?}", report.case.as_deref().unwrap_or_default()),
        };
        let words = group.reports.iter().map(word).collect();
        assert!(self.groups.insert(item, (words, group.not_played)).is_none(), "told twice");
    }

    fn meanwhile(&mut self, _: &Status) {}
}

/// Items of so many scenarios, none of which has to be alone.
fn items(count: usize) -> Vec<Item> {
    let scenarios = embedded().unwrap().into_iter().cycle().take(count).zip(1..);
    let named = |(scenario, nth): (Scenario, u32)| {
        Arc::new(Scenario { id: format!("a/{nth}"), alone: false, ..scenario })
    };
    scenarios.map(|it| Item::new(&named(it), Path::new("results"))).collect()
}

async fn play(items: &[Item], player: &Told, audience: &mut Kept) -> Left {
    let (_sender, interrupts) = Interrupts::told();
    play_all(items, 2, &mut (1..), player, &interrupts, audience).await
}

fn group(words: &[&str], not_played: usize) -> (Vec<String>, usize) {
    (words.iter().map(ToString::to_string).collect(), not_played)
}

#[tokio::test]
async fn everything_is_played_each_with_a_number_of_its_own() {
    let (player, mut kept) = (Told::default(), Kept::default());
    let left = play(&items(3), &player, &mut kept).await;
    assert_eq!(left.not_played, 0);
    assert_eq!(*player.began.lock().unwrap(), ["1 a/1", "2 a/2", "3 a/3"]);
    assert_eq!(kept.groups.len(), 3);
}

#[tokio::test]
async fn cases_follow_the_reference_and_are_told_together() {
    let player = Told {
        cases: vec!["one", "two"],
        results: [("a/1/two", broken(&["RG-01"]))].into(),
        ..Told::default()
    };
    let (mut items, mut kept) = (items(2), Kept::default());
    items[0].cases = true;
    play(&items, &player, &mut kept).await;
    let began = player.began.into_inner().unwrap();
    assert_eq!(began, ["1 a/1/reference", "2 a/2", "3 a/1/one", "4 a/1/two"]);
    let first = group(&["reference", "one", "two: RuleBroken"], 0);
    assert_eq!(kept.groups, [(0, first), (1, group(&["passed"], 0))].into());
}

#[rstest]
#[case::breaks(broken(&["RG-01"]), "reference: RuleBroken")]
#[case::is_left_open(inconclusive(), "reference: Inconclusive")]
#[case::is_lost(not_judged(ExitCode::Environment), "reference: Environment")]
#[tokio::test]
async fn no_case_is_played_of_a_scenario_whose_reference_does_not_pass(
    #[case] result: ScenarioResult,
    #[case] word: &str,
) {
    let results = [("a/1/reference", result)].into();
    let player = Told { cases: vec!["one"], results, ..Told::default() };
    let (mut items, mut kept) = (items(1), Kept::default());
    items[0].cases = true;
    play(&items, &player, &mut kept).await;
    assert_eq!(kept.groups, [(0, group(&[word], 0))].into());
}

#[tokio::test]
async fn a_scenario_that_gives_no_case_does_not_pass() {
    let (mut items, mut kept) = (items(1), Kept::default());
    items[0].cases = true;
    play(&items, &Told::default(), &mut kept).await;
    assert_eq!(kept.groups, [(0, group(&["reference: SuiteFault"], 0))].into());
}

#[tokio::test]
async fn what_is_of_no_interest_any_more_is_not_played() {
    let (player, mut kept) = (Told::default(), Kept::default());
    kept.bored_by = Some((0, 3));
    let left = play(&items(4), &player, &mut kept).await;
    assert_eq!((kept.played, left.not_played), (vec![0, 1, 2], 0));
    assert!(!kept.groups.contains_key(&3));
}

#[tokio::test]
async fn nothing_begins_on_a_cluster_that_has_ended() {
    let player = Told { over: true, ..Told::default() };
    let mut kept = Kept::default();
    let left = play(&items(5), &player, &mut kept).await;
    assert_eq!((kept.played.len(), left.not_played), (2, 3));
}

#[tokio::test]
async fn an_interrupted_run_ends_what_plays_and_begins_nothing_else() {
    let player = Told { ends: Some(Semaphore::new(0)), ..Told::default() };
    let (items, mut kept) = (items(5), Kept::default());
    let (sender, interrupts) = Interrupts::told();
    let mut numbers = 1..;
    let all = play_all(&items, 2, &mut numbers, &player, &interrupts, &mut kept);
    let interrupted = async {
        while player.began.lock().unwrap().len() < 2 {
            tokio::task::yield_now().await;
        }
        sender.send_replace(Some(Interruption::Interrupt));
        // As the engine does it: what plays ends once the signal was seen.
        player.ends.as_ref().unwrap().add_permits(5);
    };
    let (left, ()) = tokio::join!(all, interrupted);
    assert_eq!((kept.played.len(), left.not_played), (2, 3));
    assert_eq!(kept.groups.len(), 2);
}
