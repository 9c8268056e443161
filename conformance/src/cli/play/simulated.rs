//! Plays scenarios on embedded clusters: each on one of its own, on a thread of its own.

use std::time::Instant;

use futures::future::BoxFuture;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::LocalSet;

use super::board::Tell;
use super::one::{ended, judged_now, not_played, settings};
use super::{Ended, Item, Play, Player};
use crate::cluster::simulated::{Simulated, chance};
use crate::exit_code::ExitCode;
use crate::history::History;
use crate::report::{self, ScenarioResult};
use crate::run::{self, Interrupts, Played, Proxied, RunError};

/// Plays in simulated time.
pub(in crate::cli) struct InSimulation<'a> {
    /// What everything that is left to chance comes of; of a repetition, with its number added.
    pub(in crate::cli) seed: u64,
    /// What ends all that play before their time.
    pub(in crate::cli) interrupts: &'a Interrupts,
}

impl Player for InSimulation<'_> {
    fn play<'a>(&'a self, item: &'a Item, play: &'a Play, tell: Tell) -> BoxFuture<'a, Ended> {
        let (tell_ended, has_ended) = oneshot::channel();
        let (own_item, own_play, interrupts) =
            (item.clone(), play.clone(), self.interrupts.clone());
        let repetition = item.repetition.filter(|_| !item.same_seed);
        let nth = repetition.map_or(0, |(nth, _)| u64::from(nth) - 1);
        let seed = self.seed.wrapping_add(nth);
        // What a thread keeps for itself, such as how it draws keys of maps, is the same for each.
        let drawn = chance(seed, &item.scenario.id);
        let thread = std::thread::Builder::new().name("simulation".to_owned()).spawn(move || {
            dispatch_determinism::fix(drawn);
            fastrand::seed(drawn);
            // Nobody waits for it any more when the run is given up.
            let _ = tell_ended.send(simulate(&own_item, &own_play, seed, interrupts, tell));
        });
        Box::pin(async move {
            let why = match thread {
                Ok(_) => match has_ended.await {
                    Ok(ended) => return ended,
                    Err(_) => "its thread has panicked".to_owned(),
                },
                Err(error) => format!("no thread can be started: {error}"),
            };
            not_played(item, play, why, ExitCode::SuiteFault)
        })
    }
}

/// Plays one item from its beginning to its verdict.
fn simulate(item: &Item, play: &Play, seed: u64, interrupts: Interrupts, mut tell: Tell) -> Ended {
    let begun = Instant::now();
    let runtime = match Builder::new_current_thread().enable_time().start_paused(true).build() {
        Ok(runtime) => runtime,
        Err(error) => {
            return not_played(
                item,
                play,
                format!("no runtime can be made: {error}"),
                ExitCode::SuiteFault,
            );
        }
    };
    let played =
        LocalSet::new().block_on(&runtime, play_one(item, play, seed, interrupts, &mut tell));
    // What was left behind in it is not waited for.
    runtime.shutdown_background();
    let judged = played.map(|(played, history)| {
        // As it was recorded: the file has the same, and reading it back takes time.
        let judged = report::judge(&item.scenario, &history);
        let judged = ScenarioResult::Judged(Box::new(judged));
        debug_assert_eq!(judged, judged_now(&item.scenario, &played.history), "by its file");
        (played, judged)
    });
    let (played, judged) = match judged {
        Ok((played, judged)) => (Ok(played), Some(judged)),
        Err(error) => (Err(error), None),
    };
    let mut ended = ended(item, play, (played, judged), begun);
    ended.report.seed = Some(seed);
    ended
}

async fn play_one(
    item: &Item,
    play: &Play,
    seed: u64,
    interrupts: Interrupts,
    tell: &mut Tell,
) -> Result<(Played, History), RunError> {
    let host = Simulated::start(seed, &item.scenario.id);
    let proxied = Proxied::start(&host, std::iter::once(&*item.scenario)).await?;
    // The names are the same wherever the seed is, since the cluster is nobody else's.
    let settings = settings(item, play, (&format!("seed{seed:x}"), 1), 1);
    run::play(&item.scenario, &host, &proxied, &settings, interrupts, tell).await
}
