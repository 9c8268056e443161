//! `mutants`: the suite's own proof. Every broken subject is judged by the scenarios that are to
//! catch it, and so is the reference by the same scenarios. Every permitted subject has to pass.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use dispatch_contract::{Entropy, OsEntropy};

use super::play::{self, Audience, Ground, Item, Left, Sharding, Where, play_all, writable};
use super::scenarios::{self, Source};
use super::terminal::{Meanwhile, print, say};
use crate::exit_code::ExitCode;
use crate::mutants::{self, CANARY, Mutant};
use crate::report::{self, Catch, Group, MutantReport, RunReport, ScenarioReport, Status};
use crate::run::Interrupts;
use crate::scenario::Scenario;
use crate::shard::Shard;
use crate::subject::Choice;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Only broken and permitted subjects whose name contains one of these; the canary and the
    /// reference are judged all the same.
    filter: Vec<String>,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    sharding: Sharding,
    /// The folder for histories and mutants.json. A new one under results/ unless given.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Play this many scenarios at a time. Those that have to be alone on the cluster come last, one
    /// by one.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=32))]
    parallel: Option<u8>,
    /// Leave the reference out, where it has just been judged by the whole suite.
    #[arg(long)]
    without_reference: bool,
}

/// What was asked for, once everything about it was found to be possible.
struct Asked {
    place: Where,
    shard: Option<Shard>,
    run: String,
    wanted: Vec<&'static Mutant>,
    scenarios: Vec<Arc<Scenario>>,
    results: PathBuf,
    at_once: usize,
    with_reference: bool,
}

/// Runs the command.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    let asked = match ask(arguments) {
        Ok(asked) => asked,
        Err(code) => return code,
    };
    let interrupts = match play::interrupts() {
        Ok(interrupts) => interrupts,
        Err(code) => return code,
    };
    let (place, scenarios) = (&asked.place, &asked.scenarios);
    let ground = match Ground::bring_up(place, &asked.run, scenarios, &interrupts).await {
        Ok(ground) => ground,
        Err(code) => return code,
    };
    print(&first_line(&asked, &ground));
    let mut console = Console::new(&asked, &ground);
    let left = trials(&asked, &ground, &interrupts, &mut console).await;
    let versions = ground.versions();
    ground.leave(&left.leaving).await;
    let reports = console.finished();
    let found = match interrupts.seen() {
        Some(interruption) => play::code_of(interruption),
        None => report::mutants_exit_code(&reports),
    };
    let table = report::mutants_json(&reports, &versions, &asked.results);
    let file = asked.results.join(play::file("mutants.json", asked.shard));
    play::keep(&file, table, found)
}

/// Everything that can be refused before a cluster is touched.
fn ask(arguments: Arguments) -> Result<Asked, ExitCode> {
    arguments.place.refuse_without_kubelets()?;
    let scenarios = scenarios::load(&Source::Embedded)?;
    let wanted = mutants::matching(&arguments.filter).map_err(|error| {
        say(&format!("error: {error}"));
        ExitCode::NothingRan
    })?;
    let shard = arguments.sharding.shard();
    let wanted = part(shard, wanted)?;
    let run = OsEntropy.token();
    let results = arguments.report.unwrap_or_else(|| Path::new("results").join(&run));
    writable(&results)?;
    let scenarios = scenarios.into_iter().map(Arc::new).collect();
    let at_once = arguments.place.at_once(arguments.parallel);
    let with_reference = !arguments.without_reference;
    let place = arguments.place;
    Ok(Asked { place, shard, run, wanted, scenarios, results, at_once, with_reference })
}

/// The subjects of a shard. The canary is in each, since it is what makes the others' verdicts count.
fn part(
    shard: Option<Shard>,
    wanted: Vec<&'static Mutant>,
) -> Result<Vec<&'static Mutant>, ExitCode> {
    if shard.is_none() {
        return Ok(wanted);
    }
    let (canary, others): (Vec<_>, Vec<_>) =
        wanted.into_iter().partition(|mutant| is_canary(Some(mutant)));
    let others = play::part(shard, others, |mutant: &&Mutant| mutant.is_permitted())?;
    Ok(canary.into_iter().chain(others).collect())
}

fn first_line(asked: &Asked, ground: &Ground) -> String {
    let (versions, cluster) = (play::versions(ground), ground.kind());
    let permitted = asked.wanted.iter().filter(|mutant| mutant.is_permitted()).count();
    let broken = asked.wanted.len() - permitted;
    let permitted = if permitted > 0 { format!(", {permitted} permitted") } else { String::new() };
    let reference = if asked.with_reference { " and the reference" } else { "" };
    let (shard, at_once) = (report::of_shard(asked.shard), asked.at_once);
    format!(
        "{broken} broken subjects{permitted}{shard}{reference} on {cluster} ({versions}), {at_once} at a time"
    )
}

/// Judges the canary, and everything else once that was caught.
async fn trials(
    asked: &Asked,
    ground: &Ground,
    interrupts: &Interrupts,
    console: &mut Console,
) -> Left {
    let player = ground.player(&asked.run, 1, interrupts);
    let mut numbers = 1..;
    let (canary, others): (Vec<_>, Vec<_>) =
        (0..console.trials.len()).partition(|trial| is_canary(console.trials[*trial].subject));
    let mut left = Left::default();
    for trials in [canary, others] {
        let items = console.stage(asked, &trials);
        let at_once = asked.at_once;
        let more = play_all(&items, at_once, &mut numbers, &*player, interrupts, console).await;
        left.leaving.extend(more.leaving);
        left.not_played += more.not_played;
        if !console.canary_is_caught() || left.not_played > 0 || interrupts.seen().is_some() {
            break;
        }
    }
    left
}

/// A subject that is judged: a broken or permitted one, or the reference.
struct Trial {
    subject: Option<&'static Mutant>,
    run: RunReport,
    /// How many of its scenarios have not ended yet.
    open: usize,
    caught: bool,
    told: bool,
}

impl Trial {
    /// The scenarios that it is judged by: its own, in their order; for the
    /// reference, those of all that are wanted.
    fn scenarios<'a>(&self, asked: &'a Asked) -> Vec<&'a Arc<Scenario>> {
        let all: Vec<&Mutant> = self.subject.map_or(asked.wanted.clone(), |mutant| vec![mutant]);
        let mut seen = BTreeSet::new();
        let ids = all.iter().flat_map(|mutant| mutant.judged_by).filter(|id| seen.insert(**id));
        ids.filter_map(|id| asked.scenarios.iter().find(|it| it.id == *id)).collect()
    }

    fn report(&self) -> MutantReport {
        let mut run = self.run.clone();
        run.not_played += self.open;
        MutantReport::of(self.subject, run)
    }
}

/// Prints what became of each subject once that is known.
struct Console {
    trials: Vec<Trial>,
    /// The trial of each item that is played.
    of_items: Vec<usize>,
    /// That of the longest name.
    width: usize,
    meanwhile: Meanwhile,
}

impl Console {
    fn new(asked: &Asked, ground: &Ground) -> Self {
        let trial = |subject: Option<&'static Mutant>| Trial {
            subject,
            run: RunReport {
                run: asked.run.clone(),
                cluster: ground.kind().to_owned(),
                shard: asked.shard,
                subjects: choice(subject).names(),
                options: asked.place.options(),
                no_claim: Vec::new(),
                scenarios: Vec::new(),
                not_played: 0,
                took: Duration::ZERO,
                interrupted: None,
            },
            open: 0,
            caught: false,
            told: false,
        };
        let reference = asked.with_reference.then_some(None);
        let subjects = reference.into_iter().chain(asked.wanted.iter().copied().map(Some));
        let trials: Vec<_> = subjects.map(trial).collect();
        let names = asked.wanted.iter().map(|mutant| mutant.name.len());
        let width = names.max().unwrap_or_default().max(report::REFERENCE.len());
        Self { trials, of_items: Vec::new(), width, meanwhile: Meanwhile::new(Instant::now()) }
    }

    /// The items of some of the trials: the first scenario of each, then the second of each, so that
    /// few are begun in vain; one that was caught is done with.
    fn stage(&mut self, asked: &Asked, trials: &[usize]) -> Vec<Item> {
        let mut items = Vec::new();
        for trial in trials {
            let subject = self.trials[*trial].subject;
            let results = asked.results.join(subject.map_or(report::REFERENCE, |it| it.name));
            for (nth, scenario) in self.trials[*trial].scenarios(asked).into_iter().enumerate() {
                self.trials[*trial].open += 1;
                let subjects = choice(subject);
                items.push((nth, *trial, Item { subjects, ..Item::new(scenario, &results) }));
            }
        }
        items.sort_by_key(|(nth, trial, _)| (*nth, *trial));
        self.of_items = items.iter().map(|(_, trial, _)| *trial).collect();
        items.into_iter().map(|(_, _, item)| item).collect()
    }

    fn canary_is_caught(&self) -> bool {
        self.trials.iter().any(|trial| is_canary(trial.subject) && trial.caught)
    }

    /// Says what became of a trial, once that is known: its row; and below it, where it is not as it
    /// should be, what became of each scenario.
    fn tell(&mut self, trial: usize) {
        let trial = &mut self.trials[trial];
        if trial.told || !(trial.caught || trial.open == 0) {
            return;
        }
        trial.told = true;
        let report = trial.report();
        let mut text = report::mutant_row(&report, self.width);
        if !report.is_right() {
            text.extend(report.run.scenarios.iter().map(|it| report::scenario(&report.run, it)));
        }
        self.meanwhile.print(text.trim_end());
    }

    /// What became of every subject of which anything was played; the rest is summed up.
    fn finished(mut self) -> Vec<MutantReport> {
        for trial in &mut self.trials {
            trial.run.scenarios.sort_by_key(ScenarioReport::full_id);
        }
        let reports: Vec<_> = self.trials.iter().map(Trial::report).collect();
        self.meanwhile.print(report::mutants_summary(&reports).trim_end());
        reports
    }
}

/// The subject that is judged; the reference unless there is one.
fn choice(subject: Option<&Mutant>) -> Choice {
    subject.map_or_else(Choice::default, |mutant| Choice::mutant(mutant.name))
}

fn is_canary(subject: Option<&Mutant>) -> bool {
    subject.is_some_and(|mutant| mutant.name == CANARY)
}

impl Audience for Console {
    fn played(&mut self, item: usize, report: &ScenarioReport) {
        let trial = &mut self.trials[self.of_items[item]];
        trial.caught |= trial.subject.is_some_and(|mutant| Catch::is_caught(mutant, report));
    }

    fn wants(&self, item: usize) -> bool {
        !self.trials[self.of_items[item]].caught
    }

    fn ended(&mut self, item: usize, group: Group) {
        let trial = self.of_items[item];
        self.trials[trial].open -= 1;
        self.trials[trial].run.not_played += group.not_played;
        self.trials[trial].run.scenarios.extend(group.reports);
        self.tell(trial);
    }

    fn meanwhile(&mut self, status: &Status) {
        let is_broken = |subject: Option<&Mutant>| subject.is_some_and(|it| !it.is_permitted());
        let broken = self.trials.iter().filter(|trial| is_broken(trial.subject));
        let caught = broken.clone().filter(|trial| trial.caught).count();
        let done = format!("{caught} of {} caught", broken.count());
        self.meanwhile.say(&report::status(&done, status));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shards_of_the_subjects_are_all_of_them_and_the_canary_is_in_each() {
        let mut found = BTreeSet::new();
        let mut count = 0;
        for shard in ["1/3", "2/3", "3/3"] {
            let part = part(shard.parse().ok(), mutants::all().collect()).unwrap();
            assert!(is_canary(part.first().copied()), "{shard}");
            count += part.len();
            found.extend(part.into_iter().map(|mutant| mutant.name));
        }
        assert_eq!(found, mutants::all().map(|mutant| mutant.name).collect());
        assert_eq!(count, found.len() + 2);
    }
}
