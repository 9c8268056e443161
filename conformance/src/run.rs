//! The engine: plays a scenario on a cluster and writes its history.
//!
//! The way of a run: the scenario's own namespace, queues and nodes are made; the recorder watches;
//! the subjects are started; the steps are played, each waiting on what the recorder sees; and in
//! the end, however it comes, everything that was made is removed. Nothing is judged here: the
//! history is all that is handed on.

mod api;
mod case;
mod cases;
mod containers;
mod error;
mod existing;
mod explain;
mod fixture;
mod host;
mod interrupt;
mod kind;
mod local;
mod names;
mod observer;
mod proxied;
mod record;
mod set_up;
mod simulated;
mod stage;
mod steps;
mod stood_still;
mod subjects;
mod sweep;
mod teardown;
mod watch;

use std::path::PathBuf;
use std::sync::Arc;

pub use case::Case;
pub use cases::cases;
pub use error::RunError;
pub use host::{Claim, Frozen, Host, HostError, Led, Way, unmet};
pub use interrupt::{Interruption, Interrupts};
pub use names::Names;
pub use observer::{Observer, Progress, Silent};
pub use proxied::Proxied;
pub use sweep::{remains, sweep, would_make};
pub use teardown::{Leaving, all_gone};

use containers::Containers;
use record::Record;
use set_up::{Setting, set_up};
use stage::{Stage, Tools};
use steps::Steps;
use stood_still::Watchman;
use teardown::Torn;
use watch::{Halt, Watch};

use crate::history::recorder::Journal;
use crate::history::{Begin, End, EndedBy, History, SCHEMA, What};
use crate::scenario::Scenario;
use crate::subject::Choice;

/// How a scenario is played.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The id of the run: lower-case letters and digits, at most 26. Names of objects end in it.
    pub run: String,
    /// The number of the scenario in the run. Names of objects end in it too.
    pub number: u32,
    /// The folder of the run's results; the scenario gets one of its own in it.
    pub results: PathBuf,
    /// As which case the scenario is played, which then gets a folder of its own in the scenario's.
    pub case: Option<Case>,
    /// By how much deadlines are stretched for a slow cluster; 1 for none.
    pub time_scale: u32,
    /// What is judged.
    pub subjects: Choice,
}

/// A scenario that was played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// Its folder: the history, and the logs of the subjects.
    pub folder: PathBuf,
    /// The history.
    pub history: PathBuf,
    /// How it ended.
    pub ended: EndedBy,
    /// What could not be removed, and why, one a line; empty when nothing is left.
    pub left_behind: Vec<String>,
    /// The scenario's namespace, which was deleted and goes by itself: for [`all_gone`], once for a
    /// whole run.
    pub leaving: Option<Leaving>,
}

/// Plays a scenario.
///
/// The history is given as it was recorded; the file has the same events.
///
/// A step that fails is no error: the history has it, and the judges say what it means. When this
/// returns, subjects have ended and objects are removed; when its future is dropped, subjects are
/// killed and objects stay.
///
/// # Errors
/// What keeps a scenario from being played: [`RunError`].
pub async fn play(
    scenario: &Scenario,
    host: &dyn Host,
    proxied: &Proxied,
    settings: &Settings,
    interrupts: Interrupts,
    observer: &mut dyn Observer,
) -> Result<(Played, History), RunError> {
    let names = Names::new(&settings.run, settings.number);
    // To the very end: of what is not claimed anybody may remove what is left.
    let _claim = host.claim(&names).map_err(RunError::Claim)?;
    let rights = fixture::shipped(&names)?;
    let folder = settings.results.join(&scenario.id);
    let folder = settings.case.iter().fold(folder, |folder, case| folder.join(&case.id));
    let history = folder.join("history.ndjson");
    fs_err::create_dir_all(&folder)
        .map_err(|source| RunError::Results { path: folder.clone(), source })?;
    let clock = host.clock();
    let mut tools = Tools { clock: Arc::clone(&clock), entropy: host.entropy(), observer };
    let journal = Arc::new(Journal::create(&history, clock)?);
    tools.observer.progress(&Progress::Recording { history: &history });
    journal.append(None, What::Begin(Box::new(begin(scenario, host, settings, &names))))?;

    let _watchman = Watchman::start(Arc::clone(&journal));
    let gates = host.feature_gates();
    let client = host.client();
    let mut watch = Watch { host, interrupts };
    let setting = Setting {
        scenario,
        host,
        settings,
        names: &names,
        rights: &rights,
        client: client.clone(),
        proxied,
        folder: &folder,
        journal: Arc::clone(&journal),
    };
    // Not to be interrupted: a namespace that is made after it was removed would stay.
    let namespace = api::create(&client, fixture::namespace(&names)).await;
    let ready = match namespace {
        Ok(_) => watch.over(Box::pin(set_up(setting, &mut tools))).await,
        Err(source) => Err(Halt::Error(RunError::Prepare { what: "its namespace", source })),
    };
    let (ended, containers, record) = match ready {
        Ok(mut stage) => {
            let played = watch.over(steps::play(&mut stage, tools.observer)).await;
            let (containers, record) = finish(stage).await;
            (played, Some(containers), Some(record))
        }
        Err(halt) => (Err(halt), None, None),
    };
    let ended = conclude(&journal, ended);
    let recorded = record.map_or_else(History::default, Record::close);
    tools.observer.progress(&Progress::CleaningUp);
    let torn = if host.is_disposable() {
        Torn::default()
    } else {
        teardown::teardown(host, &client, &names, &rights, &gates).await
    };
    // Until here the stand-in kubelet ended the pods that were removed.
    drop(containers);
    let Torn { left: left_behind, leaving } = torn;
    match ended {
        Ok(ended) => Ok((Played { folder, history, ended, left_behind, leaving }, recorded)),
        Err(error) => {
            for left in left_behind {
                tracing::warn!(left, "not removed");
            }
            Err(error)
        }
    }
}

/// Stops the subjects and lets the recorder see all that happened. The stand-in kubelet goes on.
async fn finish(mut stage: Box<Stage<'_>>) -> (Containers, Record) {
    // Whoever is held back could not end.
    std::mem::take(&mut stage.faults).into_values().flatten().for_each(|placed| placed.remove());
    stage.subjects.stop_all().await;
    stage.recorder.stop().await;
    stage.record.read();
    stage.containers.finish(&stage.record.history).await;
    (stage.containers, stage.record)
}

/// Writes how it ended, as far as the history can still be written.
fn conclude(journal: &Journal, ended: Result<Steps, Halt>) -> Result<EndedBy, RunError> {
    let (why, ended) = match ended {
        Ok(Steps::Finished) => (EndedBy::Finished, Ok(EndedBy::Finished)),
        Ok(Steps::Failed) => (EndedBy::Failed, Ok(EndedBy::Failed)),
        Err(Halt::Interrupted) => (EndedBy::Interrupted, Ok(EndedBy::Interrupted)),
        Err(Halt::Error(error)) => (EndedBy::Interrupted, Err(error)),
    };
    let written = journal.append(None, What::End(End { why }));
    // The first error is the cause of the second.
    let ended = ended?;
    written?;
    Ok(ended)
}

fn begin(scenario: &Scenario, host: &dyn Host, settings: &Settings, names: &Names) -> Begin {
    let objects = [
        ("LocalQueue", names.local_queue().to_owned()),
        ("Lease", names.lease().to_owned()),
        ("ResourceFlavor", names.flavor()),
        ("TrainingRuntime", names.runtime().to_owned()),
    ];
    Begin {
        schema: SCHEMA.to_owned(),
        run: settings.run.clone(),
        scenario: scenario.id.clone(),
        case: settings.case.as_ref().map(|case| case.id.clone()),
        digest: scenario.digest.clone(),
        proves: scenario.proves.clone(),
        cluster: host.kind().to_owned(),
        versions: host.versions(),
        mode: match scenario.given.mode {
            crate::scenario::Mode::Kueue => crate::history::Mode::Kueue,
        },
        namespace: names.namespace(),
        admission_check: Some(names.admission_check()),
        controller_name: Some(names.controller_name()),
        cluster_queue: Some(names.cluster_queue()),
        objects: objects.map(|(kind, name)| (kind.to_owned(), name)).into(),
        feature_gates: scenario.given.kueue_feature_gates.clone(),
        subjects: settings.subjects.names(),
        seed: host.seed(),
        containers: host.containers().containers(),
    }
}
