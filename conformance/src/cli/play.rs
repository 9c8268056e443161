//! Plays scenarios on a cluster, many at a time, and judges them: what `run` and `mutants` share.

mod board;
mod cases;
mod cluster;
mod one;
mod results;
mod schedule;
mod sharding;
mod simulated;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio::time::{MissedTickBehavior, interval};

use super::terminal::say;
use crate::exit_code::ExitCode;
use crate::report::{Group, ScenarioReport, Status};
use crate::run::{Case, Interrupts, Leaving};
use crate::scenario::Scenario;
use crate::subject::Choice;
use board::{Board, Tell};
use schedule::Schedule;

pub(super) use cases::{asks_for, asks_for_case};
pub(super) use cluster::{Ground, Where, code_of, interrupts, versions};
pub(super) use results::{keep, writable};
pub(super) use sharding::{Sharding, file, no_claim, part};

/// How many scenarios are played at once for each core, unless said otherwise: most of the time a
/// scenario waits for the cluster's controllers.
const AT_ONCE_PER_CORE: usize = 3;

/// How many are played at once at most, unless said otherwise: the cluster has one API server.
const AT_ONCE: usize = 8;

/// How often whoever waits is told how far it has come.
const TELL_EVERY: Duration = Duration::from_millis(250);

/// Something that is to be played: a scenario with one subject, once, or as each of its cases.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) scenario: Arc<Scenario>,
    /// What is judged.
    pub(super) subjects: Choice,
    /// Which repetition it is and of how many, where it is repeated.
    pub(super) repetition: Option<(u32, u32)>,
    /// Whether all repetitions have the same seed.
    pub(super) same_seed: bool,
    /// The folder in which the scenario gets one of its own.
    pub(super) results: PathBuf,
    /// Whether it is played as cases, which are known once it was played as its reference.
    pub(super) cases: bool,
    /// Parts of names of the cases that are played; all are, if there is none.
    pub(super) only: Vec<String>,
}

impl Item {
    /// The scenario with the reference, once.
    pub(super) fn new(scenario: &Arc<Scenario>, results: &Path) -> Self {
        Self {
            scenario: Arc::clone(scenario),
            subjects: Choice::default(),
            repetition: None,
            same_seed: false,
            results: results.to_owned(),
            cases: scenario.has_cases(),
            only: Vec::new(),
        }
    }
}

/// One time that an item is played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Play {
    /// Which item.
    pub(super) item: usize,
    /// Its place among the cases of the item.
    pub(super) place: usize,
    /// As which case, where it is played as cases.
    pub(super) case: Option<Case>,
    /// Its number, unique in the run.
    pub(super) number: u32,
}

/// What becomes of an item that was played.
pub(super) struct Ended {
    pub(super) report: ScenarioReport,
    /// The cases that are known now.
    pub(super) cases: Vec<Case>,
    /// What it left in the cluster to go by itself.
    pub(super) leaving: Option<Leaving>,
    /// Whether nothing more can be played, since the cluster has ended.
    pub(super) over: bool,
}

/// Plays one item.
pub(super) trait Player: Sync {
    /// Plays it, and says meanwhile what it waits for.
    fn play<'a>(&'a self, item: &'a Item, play: &'a Play, tell: Tell) -> BoxFuture<'a, Ended>;
}

/// Whoever is told what became of each item.
pub(super) trait Audience {
    /// An item was played, once or as one of its cases.
    fn played(&mut self, item: usize, report: &ScenarioReport);
    /// Whether it is still of interest what becomes of an item.
    fn wants(&self, item: usize) -> bool;
    /// All of an item has ended: called once for each of which anything was played.
    fn ended(&mut self, item: usize, group: Group);
    /// How far it has come, every now and then.
    fn meanwhile(&mut self, status: &Status);
}

/// What is left of playing.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// Namespaces that go by themselves.
    pub(super) leaving: Vec<Leaving>,
    /// How many were not played, though they should have been: the run was interrupted, or the
    /// cluster has ended.
    pub(super) not_played: usize,
}

/// How many are played at once: as many as were asked for, or what suits this machine.
fn at_once(asked: Option<u8>) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    asked.map_or((AT_ONCE_PER_CORE * cores).min(AT_ONCE), usize::from)
}

/// Plays every item, as many at a time as `at_once` says, each with a number from `numbers` on.
/// Those that play when the run is interrupted end at once, with their objects removed; no other
/// begins.
pub(super) async fn play_all(
    items: &[Item],
    at_once: usize,
    numbers: &mut impl Iterator<Item = u32>,
    player: &dyn Player,
    interrupts: &Interrupts,
    audience: &mut dyn Audience,
) -> Left {
    let mut show = Show::new(items, at_once, numbers);
    let board = Board::default();
    let mut playing = FuturesUnordered::new();
    let mut interruption = interrupts.clone();
    let mut turn = interval(TELL_EVERY);
    turn.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        if interrupts.seen().is_some() && !show.stopped {
            say("interrupted: what plays is ended and cleaned up, and nothing else begins");
            show.stop(audience);
        }
        while let Some(play) = show.schedule.start() {
            let name = show.name(&play);
            let tell = board.begin(play.number, name, Instant::now());
            let item = &items[play.item];
            playing.push(async move {
                let ended = player.play(item, &play, tell).await;
                (play, ended)
            });
        }
        tokio::select! {
            ended = playing.next() => {
                let Some((play, ended)) = ended else { break };
                board.end(play.number);
                show.take(&play, ended, audience);
            }
            _ = interruption.next(), if !show.stopped => {}
            _ = turn.tick() => audience.meanwhile(&Status {
                playing: show.schedule.playing(),
                waiting: show.schedule.waiting(),
                longest: board.longest(Instant::now()),
            }),
        }
    }
    show.left
}

/// How far playing has come.
struct Show<'a, N> {
    items: &'a [Item],
    schedule: Schedule<Play>,
    groups: Vec<Part>,
    numbers: &'a mut N,
    left: Left,
    /// Whether nothing more begins.
    stopped: bool,
}

/// What is known of an item so far.
#[derive(Default)]
struct Part {
    /// How many of its cases wait or play.
    open: usize,
    reports: Vec<(usize, ScenarioReport)>,
    not_played: usize,
}

impl<'a, N: Iterator<Item = u32>> Show<'a, N> {
    fn new(items: &'a [Item], at_once: usize, numbers: &'a mut N) -> Self {
        let schedule = Schedule::new(at_once);
        let groups = items.iter().map(|_| Part::default()).collect();
        let left = Left::default();
        let mut this = Self { items, schedule, groups, numbers, left, stopped: false };
        for (item, asked) in items.iter().enumerate() {
            this.enqueue(item, 0, asked.cases.then(Case::reference));
        }
        this
    }

    fn enqueue(&mut self, item: usize, place: usize, case: Option<Case>) {
        let Some(number) = self.numbers.next() else { return };
        let alone = self.items[item].scenario.alone;
        self.groups[item].open += 1;
        self.schedule.enqueue(Play { item, place, case, number }, alone);
    }

    fn name(&self, play: &Play) -> String {
        let id = &self.items[play.item].scenario.id;
        let case = play.case.as_ref().map(|case| format!("/{}", case.id)).unwrap_or_default();
        format!("{id}{case}")
    }

    /// Takes what became of one that played.
    fn take(&mut self, play: &Play, ended: Ended, audience: &mut dyn Audience) {
        let Ended { mut report, cases, leaving, over } = ended;
        self.schedule.ended();
        self.left.leaving.extend(leaving);
        let item = &self.items[play.item];
        if item.cases && play.place == 0 && report.exit_code() == ExitCode::Conformant {
            match cases::chosen(&item.scenario.id, cases, &item.only) {
                Ok(cases) if !self.stopped => {
                    for (place, case) in (1..).zip(cases) {
                        self.enqueue(play.item, place, Some(case));
                    }
                }
                Ok(cases) => {
                    self.groups[play.item].not_played += cases.len();
                    self.left.not_played += cases.len();
                }
                Err(result) => report.result = result,
            }
        }
        audience.played(play.item, &report);
        self.groups[play.item].open -= 1;
        self.groups[play.item].reports.push((play.place, report));
        let dropped = self.schedule.take_out(|play| audience.wants(play.item));
        for item in dropped.iter().map(|play| play.item) {
            self.groups[item].open -= 1;
            self.tell_if_ended(item, audience);
        }
        if over {
            self.stop(audience);
        }
        self.tell_if_ended(play.item, audience);
    }

    /// Lets nothing more begin.
    fn stop(&mut self, audience: &mut dyn Audience) {
        self.stopped = true;
        for Play { item, .. } in self.schedule.take_out(|_| false) {
            self.groups[item].open -= 1;
            self.groups[item].not_played += 1;
            self.left.not_played += 1;
            self.tell_if_ended(item, audience);
        }
    }

    fn tell_if_ended(&mut self, item: usize, audience: &mut dyn Audience) {
        let group = &mut self.groups[item];
        if group.open > 0 || group.reports.is_empty() {
            return;
        }
        let Part { mut reports, not_played, .. } = std::mem::take(group);
        reports.sort_by_key(|(place, _)| *place);
        let reports = reports.into_iter().map(|(_, report)| report).collect();
        audience.ended(item, Group { reports, not_played });
    }
}
