//! `run`: plays scenarios on a cluster, judges what happened, and reports it.

mod image;
mod same;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use dispatch_contract::{Entropy, OsEntropy};

use super::play::{self, Audience, Ground, Item, Sharding, Where, play_all, writable};
use super::scenarios::{self, Source};
use super::terminal::{Meanwhile, print, say};
use crate::exit_code::ExitCode;
use crate::mutants;
use crate::report::{self, Group, Header, RunReport, ScenarioReport, Status};
use crate::scenario::Scenario;
use crate::shard::Shard;
use crate::subject::{Choice, CommandLine, ImageName};
use same::Histories;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Only scenarios whose id contains one of these, such as readmission/ or gate-leak; or, with the
    /// whole id and a case after it, only such cases.
    filter: Vec<String>,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    sharding: Sharding,
    /// Scenarios of this folder instead of the suite's own: no claim to conformance.
    #[arg(long, value_name = "DIR")]
    scenarios: Option<PathBuf>,
    /// Judge a broken subject in place of the reference, or a permitted one. Exit code 1 is then the
    /// expected answer, of a permitted one 0.
    #[arg(long, value_name = "NAME")]
    mutant: Option<String>,
    /// Judge this adapter in place of the reference: the command line of a program that speaks the driver
    /// protocol. On a real cluster only.
    #[arg(long, value_name = "COMMAND", conflicts_with = "mutant")]
    adapter: Option<CommandLine>,
    /// Judge this controller in place of the reference: the command line of a program that is told what
    /// it needs in its environment. On a real cluster only.
    #[arg(long, value_name = "COMMAND", conflicts_with = "mutant")]
    controller: Option<CommandLine>,
    /// Judge the controller of this container image in place of the reference: its containers are told
    /// what they need in their environment. On a real cluster of this machine only.
    #[arg(long, value_name = "REF", conflicts_with_all = ["mutant", "controller"])]
    controller_image: Option<ImageName>,
    /// The folder for histories and junit.xml. A new one under results/ unless given.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Play this many scenarios at a time. Those that have to be alone on the cluster come last, one
    /// by one.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=32))]
    parallel: Option<u8>,
    /// Play every scenario this many times.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: u32,
    /// Of `simulated`: play every repetition with the same seed, and compare the histories byte for
    /// byte. Exit code 6 if a scenario has more than one. The digest that is printed is that of every
    /// run with this seed, in whatever process, and however many play at a time.
    #[arg(long)]
    same_seed: bool,
    /// Give a slow cluster this many times as long; the contract's own windows stay.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20))]
    time_scale: u32,
}

/// A run that was asked for, once everything about it was found to be possible.
struct Asked {
    place: Where,
    shard: Option<Shard>,
    run: String,
    scenarios: Vec<Arc<Scenario>>,
    filter: Vec<String>,
    results: PathBuf,
    subjects: Choice,
    /// The image that the controller is containers of, until it is known to be there.
    controller_image: Option<ImageName>,
    options: Vec<String>,
    no_claim: Vec<String>,
    at_once: usize,
    repeat: u32,
    same_seed: bool,
    time_scale: u32,
}

/// Runs the command.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    let mut asked = match ask(arguments) {
        Ok(asked) => asked,
        Err(code) => return code,
    };
    let interrupts = match play::interrupts() {
        Ok(interrupts) => interrupts,
        Err(code) => return code,
    };
    let begun = Instant::now();
    let sweeper = match image::ready(&mut asked, &interrupts).await {
        Ok(sweeper) => sweeper,
        Err(code) => return code,
    };
    let (place, scenarios) = (&asked.place, &asked.scenarios);
    let ground = match Ground::bring_up(place, &asked.run, scenarios, &interrupts).await {
        Ok(ground) => ground,
        Err(code) => return code,
    };
    print(&first_line(&asked, &ground));
    let items = items(&asked);
    let histories = asked.same_seed.then(Histories::default);
    let mut console = Console::new(report_of(&asked, &ground), histories, Instant::now());
    let player = ground.player(&asked.run, asked.time_scale, &interrupts);
    let at_once = asked.at_once;
    let left = play_all(&items, at_once, &mut (1..), &*player, &interrupts, &mut console).await;
    drop(player);
    let (mut report, histories) = console.finished();
    report.not_played = left.not_played;
    report.interrupted = interrupts.seen().map(play::code_of);
    report.took = begun.elapsed();
    if report.exit_code() != ExitCode::Conformant && report.interrupted.is_none() {
        ground.keep_logs(&asked.results).await;
    }
    ground.leave(&left.leaving).await;
    if let Some(sweeper) = sweeper {
        sweeper.sweep().await;
    }
    finish(&report, histories.as_ref(), &asked.results)
}

/// Everything that can be refused before a cluster is touched.
fn ask(arguments: Arguments) -> Result<Asked, ExitCode> {
    if arguments.same_seed {
        arguments.place.refuse_without_seed("--same-seed")?;
    }
    arguments.place.refuse_without_kubelets()?;
    let options = options(&arguments);
    let subjects = subjects(&arguments)?;
    let source = Source::of(arguments.scenarios);
    let all = scenarios::load(&source)?;
    if let Some(why) = scenarios::none_matches(&all, &arguments.filter) {
        say(&why);
        return Err(ExitCode::NothingRan);
    }
    let chosen: Vec<_> = scenarios::chosen(&all, &arguments.filter).cloned().collect();
    let mut no_claim = Vec::new();
    if source != Source::Embedded {
        no_claim.push("the scenarios are not the suite's own".to_owned());
    }
    if chosen.len() < all.len() {
        no_claim.push(format!("{} of {} scenarios were asked for", chosen.len(), all.len()));
    }
    let shard = arguments.sharding.shard();
    no_claim.extend(play::no_claim(shard));
    // Of what takes longest, or has the cluster for itself, each shard has its share.
    let part = play::part(shard, chosen, |it| (it.alone, it.has_cases()))?;
    if let Some(mutant) = &subjects.mutant {
        no_claim.push(format!("the mutant {mutant} was judged"));
    }
    if arguments.time_scale > 1 {
        no_claim.push(format!("deadlines were stretched {} times", arguments.time_scale));
    }
    let run = OsEntropy.token();
    let results = arguments.report.unwrap_or_else(|| Path::new("results").join(&run));
    writable(&results)?;
    Ok(Asked {
        at_once: arguments.place.at_once(arguments.parallel),
        place: arguments.place,
        shard,
        run,
        scenarios: part.into_iter().map(Arc::new).collect(),
        filter: arguments.filter,
        results,
        subjects,
        controller_image: arguments.controller_image,
        options,
        no_claim,
        repeat: arguments.repeat,
        same_seed: arguments.same_seed,
        time_scale: arguments.time_scale,
    })
}

/// What is to be judged.
fn subjects(arguments: &Arguments) -> Result<Choice, ExitCode> {
    let Arguments { mutant, adapter, controller, .. } = arguments;
    let subjects = Choice {
        mutant: mutant.clone(),
        adapter: adapter.clone(),
        controller: controller.clone(),
        controller_image: None,
    };
    if subjects.has_others() {
        arguments.place.refuse_without_processes("--adapter and --controller")?;
    }
    if arguments.controller_image.is_some() {
        arguments.place.refuse_without_processes("--controller-image")?;
    }
    match mutant.as_deref().map(mutants::find) {
        Some(Err(error)) => {
            say(&format!("error: {error}"));
            Err(ExitCode::Usage)
        }
        Some(Ok(_)) | None => Ok(subjects),
    }
}

/// With what a scenario is played again, besides the kind of cluster, the subject and the seed.
fn options(arguments: &Arguments) -> Vec<String> {
    let mut options = arguments.place.options();
    if let Some(folder) = &arguments.scenarios {
        options.extend(["--scenarios".to_owned(), folder.display().to_string()]);
    }
    if arguments.time_scale > 1 {
        options.extend(["--time-scale".to_owned(), arguments.time_scale.to_string()]);
    }
    options
}

/// Every scenario, in the order of their ids, and all of that as often as was asked for.
fn items(asked: &Asked) -> Vec<Item> {
    let of = asked.repeat;
    let rounds = (1..=of).flat_map(|nth| asked.scenarios.iter().map(move |it| (nth, it)));
    let item = |(nth, scenario): (u32, &Arc<Scenario>)| {
        let results = match of {
            1 => asked.results.clone(),
            _ => asked.results.join(format!("{nth:04}")),
        };
        Item {
            subjects: asked.subjects.clone(),
            repetition: (of > 1).then_some((nth, of)),
            same_seed: asked.same_seed,
            only: only(&asked.filter, &scenario.id),
            ..Item::new(scenario, &results)
        }
    };
    rounds.map(item).collect()
}

/// The cases of a scenario that the filters ask for; all of them, if one asks for the scenario.
fn only(filters: &[String], id: &str) -> Vec<String> {
    let of_it = filters.iter().filter(|filter| play::asks_for(filter, id));
    let cases: Option<Vec<_>> = of_it.map(|it| play::asks_for_case(it, id)).collect();
    cases.unwrap_or_default().into_iter().map(str::to_owned).collect()
}

fn first_line(asked: &Asked, ground: &Ground) -> String {
    report::header(&Header {
        count: asked.scenarios.len(),
        shard: asked.shard,
        times: asked.repeat,
        at_once: asked.at_once,
        cluster: ground.kind(),
        versions: &play::versions(ground),
        subjects: &asked.subjects.names(),
    })
}

/// The report of a run of which nothing is known yet.
fn report_of(asked: &Asked, ground: &Ground) -> RunReport {
    RunReport {
        run: asked.run.clone(),
        cluster: ground.kind().to_owned(),
        shard: asked.shard,
        subjects: asked.subjects.names(),
        options: asked.options.clone(),
        no_claim: [asked.no_claim.clone(), ground.no_claim(&asked.scenarios)].concat(),
        scenarios: Vec::new(),
        not_played: 0,
        took: Duration::ZERO,
        interrupted: None,
    }
}

/// Prints what became of each scenario as it ends, whole, and keeps it for the report.
struct Console {
    run: RunReport,
    groups: Vec<(usize, Group)>,
    passed: usize,
    not_passed: usize,
    /// Those that have to be the same.
    histories: Option<Histories>,
    meanwhile: Meanwhile,
}

impl Console {
    fn new(run: RunReport, histories: Option<Histories>, now: Instant) -> Self {
        let meanwhile = Meanwhile::new(now);
        Self { run, groups: Vec::new(), passed: 0, not_passed: 0, histories, meanwhile }
    }

    /// The report, with everything in the order in which it was asked for; and what is known of the
    /// histories.
    fn finished(mut self) -> (RunReport, Option<Histories>) {
        self.groups.sort_by_key(|(item, _)| *item);
        let groups = self.groups.into_iter();
        self.run.scenarios = groups.flat_map(|(_, group)| group.reports).collect();
        (self.run, self.histories)
    }
}

impl Audience for Console {
    fn played(&mut self, _: usize, report: &ScenarioReport) {
        match report.exit_code() {
            ExitCode::Conformant => self.passed += 1,
            _ => self.not_passed += 1,
        }
    }

    fn wants(&self, _: usize) -> bool {
        true
    }

    fn ended(&mut self, item: usize, mut group: Group) {
        if let Some(histories) = &mut self.histories {
            group.reports.iter_mut().for_each(|report| histories.take(report));
        }
        self.meanwhile.print(report::group(&self.run, &group).trim_end());
        self.groups.push((item, group));
    }

    fn meanwhile(&mut self, status: &Status) {
        let done = report::passed(self.passed, self.not_passed);
        self.meanwhile.say(&report::status(&done, status));
    }
}

/// Writes the report and says how the run went.
fn finish(report: &RunReport, histories: Option<&Histories>, results: &Path) -> ExitCode {
    print(report::summary(report).trim_end());
    if let Some(summary) = histories.map(Histories::summary).filter(|it| !it.is_empty()) {
        print(summary.trim_end());
    }
    let found = match report.exit_code() {
        ExitCode::Conformant | ExitCode::Inconclusive
            if histories.is_some_and(|histories| !histories.are_the_same()) =>
        {
            ExitCode::SuiteFault
        }
        found => found,
    };
    let file = results.join(play::file("junit.xml", report.shard));
    play::keep(&file, report::junit(report), found)
}
