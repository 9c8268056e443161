//! Brings a scenario up to its first step.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use dispatch_contract::driver::{Config, LeaseRef, Preflight};
use dispatch_contract::{Entropy, ObjectName};
use kube::Client;
use tokio::time::timeout;

use super::containers::Containers;
use super::error::{RunError, StepError};
use super::fixture::{self, Access, PrivateFolder, Rights, Token};
use super::names::JobNames;
use super::observer::Progress;
use super::proxied::{Proxied, Taps};
use super::record::{Notes, Record};
use super::stage::{Stage, Tools, UnderWay};
use super::subjects::{ADAPTER, Setups, Subjects, controller};
use super::{Host, Names, Settings};
use crate::cluster::local::guard;
use crate::history::recorder::{Journal, Recorded, Recorder};
use crate::history::{Kind, Role, Subject};
use crate::mutants;
use crate::proxy::{JournalLog, Log};
use crate::scenario::{Action, AdapterCall, Fact, PreflightPolicy, Scenario, Truth};
use crate::subject::{AdapterSetup, CommandLine, ControllerSetup, Program, Surroundings, Ways};

/// The name of the adapter's kubeconfig in the private folder.
const ADAPTER_KUBECONFIG: &str = "adapter.kubeconfig";

/// How long the controller may take to set its check Active.
const ACTIVE_LIMIT: Duration = Duration::from_secs(30);

/// The kinds that are recorded in the scenario's namespace.
const IN_NAMESPACE: [Kind; 9] = [
    Kind::TrainJob,
    Kind::Workload,
    Kind::JobSet,
    Kind::Job,
    Kind::Pod,
    Kind::LocalQueue,
    Kind::Lease,
    Kind::Event,
    Kind::TrainingRuntime,
];

/// What a scenario is brought up from.
pub(super) struct Setting<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) host: &'a dyn Host,
    pub(super) settings: &'a Settings,
    pub(super) names: &'a Names,
    pub(super) rights: &'a [Rights],
    pub(super) client: Client,
    pub(super) proxied: &'a Proxied,
    pub(super) folder: &'a Path,
    pub(super) journal: Arc<Journal>,
}

/// Brings it up in its namespace, which is there: objects, recorder, kubelet, subjects, in this order, so that everything that a
/// subject does is recorded.
pub(super) async fn set_up<'a>(
    setting: Setting<'a>,
    tools: &mut Tools<'_>,
) -> Result<Box<Stage<'a>>, RunError> {
    let Setting { scenario, host, names, client, .. } = &setting;
    let gates = &scenario.given.kueue_feature_gates;
    if !gates.is_empty() {
        tools.say("Kueue, with the feature gates of the scenario");
        host.set_feature_gates(gates).await.map_err(RunError::FeatureGates)?;
    }
    tools.say("the recorder");
    let journal = Arc::clone(&setting.journal);
    let recorder = Recorder::start(host.recorded_from(), journal, recorded(names)).await?;
    tools.say("queues, runtime, rights and nodes");
    let choice = host.containers();
    let wanted = fixture::Wanted { names, given: &scenario.given, containers: &choice };
    let made = fixture::make(client, wanted, (setting.rights, &*tools.clock));
    let with = (Arc::clone(&tools.clock), Arc::clone(&setting.journal));
    let (access, containers) = tokio::join!(made, Containers::start(&choice, client, names, with));
    let prepare = |what| move |source| RunError::Prepare { what, source };
    let access = access.map_err(prepare("its queues, runtime and rights"))?;
    let containers = containers.map_err(prepare("its virtual nodes"))?;
    tools.say("the adapter and the controller");
    stage(setting, tools, access, recorder, containers).await
}

async fn stage<'a>(
    setting: Setting<'a>,
    tools: &mut Tools<'_>,
    access: Access,
    recorder: Recorder,
    containers: Containers,
) -> Result<Box<Stage<'a>>, RunError> {
    let replicas = 0..setting.scenario.given.controller_replicas;
    let taps = taps(&setting, replicas.clone().map(controller).chain([ADAPTER])).await?;
    let (program, private) = if let Some(surroundings) = setting.host.embedded() {
        let ways = ways(&taps, &access, surroundings, setting.names);
        (Program::Embedded(Box::new(ways)), None)
    } else {
        let private = kubeconfigs(&setting, &taps, &access).map_err(RunError::Private)?;
        (Program::Own(guard::THIS_PROGRAM.into()), Some(private))
    };
    let place = private.as_ref().map(|private| private.path().to_owned()).unwrap_or_default();
    let Setting { scenario, host, settings, names, client, folder, journal, .. } = setting;
    let mutant = |role: Role| settings.subjects.mutant.clone().filter(|name| is_for(name, role));
    let setups = Setups {
        adapter: AdapterSetup {
            program: others(settings.subjects.adapter.as_ref(), &program),
            mutant: mutant(Role::Adapter),
            config: adapter_config(
                names,
                scenario.given.adapter_preflight,
                place.join(ADAPTER_KUBECONFIG),
            ),
            logs: folder.to_owned(),
        },
        controller: ControllerSetup {
            program: match &settings.subjects.controller_image {
                Some(image) => Program::Image(Box::new(image.clone())),
                None => others(settings.subjects.controller.as_ref(), &program),
            },
            controller_name: names.controller_name(),
            namespace: names.namespace(),
            lease: names.lease().to_owned(),
            mutant: mutant(Role::Controller),
            private: place,
            logs: folder.to_owned(),
        },
    };
    let revisions = host.revisions(&names.namespace());
    let notes = Notes { journal, revisions };
    let mut subjects = Subjects::new(setups, notes.clone());
    taps.reach(&mut subjects);
    for subject in replicas.map(controller).chain([ADAPTER]) {
        match subjects.start(subject).await {
            Ok(()) => {}
            Err(StepError::Run(error)) => return Err(error),
            Err(StepError::Failed { why, .. }) => return Err(RunError::NotReady { why }),
        }
    }
    let job_names = job_names(scenario, &*tools.entropy);
    let mut stage = Box::new(Stage {
        scenario,
        host,
        names: names.clone(),
        client,
        clock: Arc::clone(&tools.clock),
        time_scale: settings.time_scale,
        record: Record::new(notes),
        recorder,
        containers,
        subjects,
        jobs: BTreeMap::new(),
        job_names,
        taps,
        faults: BTreeMap::new(),
        under_way: UnderWay::default(),
        case: settings.case.as_ref(),
        frozen: BTreeMap::new(),
        _private: private,
    });
    if scenario.given.controller_replicas > 0 {
        active(&mut stage).await?;
    }
    Ok(stage)
}

/// Writes the kubeconfig of each subject, in a private folder.
fn kubeconfigs(
    setting: &Setting<'_>,
    taps: &Taps,
    access: &Access,
) -> std::io::Result<PrivateFolder> {
    let private = PrivateFolder::create(setting.names)?;
    let authority = setting.proxied.certificate_authority();
    let write = |name: &str, token: &Token, subject| {
        private.write(name, &token.kubeconfig(&taps.server(subject), authority))
    };
    write(ADAPTER_KUBECONFIG, &access.adapter, ADAPTER)?;
    for replica in 0..setting.scenario.given.controller_replicas {
        let name = ControllerSetup::kubeconfig(replica);
        write(&name, &access.controller, controller(replica))?;
    }
    Ok(private)
}

/// The ways of subjects in this process.
fn ways(taps: &Taps, access: &Access, surroundings: Surroundings, names: &Names) -> Ways {
    let of = taps.services().map(|(subject, port)| {
        let token = match subject.role {
            Role::Adapter => &access.adapter,
            _ => &access.controller,
        };
        (subject, (port, token.text().to_owned()))
    });
    Ways { surroundings, namespace: names.namespace(), of: of.collect() }
}

/// A port for each subject, and a tap on each of the cluster's components that are led.
async fn taps(
    setting: &Setting<'_>,
    subjects: impl Iterator<Item = Subject>,
) -> Result<Taps, RunError> {
    let Setting { host, names, proxied, journal, .. } = setting;
    let revisions = host.revisions(&names.namespace());
    let log: Arc<dyn Log> = Arc::new(JournalLog::new(Arc::clone(journal), revisions));
    let mut tapped = BTreeMap::new();
    for subject in subjects {
        tapped.insert(subject, proxied.subject(subject, Arc::clone(&log)).await?);
    }
    Ok(Taps { subjects: tapped, components: proxied.components(&names.namespace(), &log) })
}

/// The names that jobs get in the cluster: of dispatch's a fresh one, of others what the scenario
/// calls them.
fn job_names(scenario: &Scenario, entropy: &dyn Entropy) -> JobNames {
    let mut names = JobNames::new();
    for step in &scenario.steps {
        let calls = match &step.action {
            Action::Call(call) | Action::Begin(call) => std::slice::from_ref(call),
            Action::AtOnce(calls) => calls,
            Action::Submit { job, .. } => {
                names.insert(job.as_str().to_owned(), job.as_str().to_owned());
                continue;
            }
            _ => continue,
        };
        for call in calls {
            if let AdapterCall::Start { job, again: false, named_as: None, .. } = call
                && let Some(name) = ObjectName::new(entropy.ulid(), 1)
            {
                names.insert(job.as_str().to_owned(), name.to_string());
            }
        }
    }
    names
}

/// Returns when the check is Active: until then Kueue admits nothing in the scenario's queue.
async fn active(stage: &mut Stage<'_>) -> Result<(), RunError> {
    let fact = Fact::AdmissionCheckActive { active: true };
    let record = &mut stage.record;
    let seen = async {
        while fact.is_so(&record.history) != Truth::True {
            record.read_next().await?;
        }
        Ok(())
    };
    timeout(ACTIVE_LIMIT * stage.time_scale, seen).await.unwrap_or_else(|_| {
        let why = format!("the controller did not set its check Active within {ACTIVE_LIMIT:?}");
        Err(RunError::NotReady { why })
    })
}

/// The program of others, where there is one; else the suite's own.
fn others(line: Option<&CommandLine>, own: &Program) -> Program {
    let others = |line| Program::Others { suite: guard::THIS_PROGRAM.into(), line };
    line.cloned().map_or_else(|| own.clone(), others)
}

/// Whether the broken or permitted subject of this name stands in for one of this role.
fn is_for(mutant: &str, role: Role) -> bool {
    mutants::find(mutant).is_ok_and(|mutant| mutant.is_for(role))
}

fn adapter_config(names: &Names, preflight: PreflightPolicy, kubeconfig: PathBuf) -> Config {
    let (namespace, queue) = (names.namespace(), names.local_queue());
    let mut config = Config::kueue(&namespace, queue, &names.admission_check());
    config.controller_name = names.controller_name();
    config.lease = LeaseRef { name: names.lease().to_owned(), namespace };
    config.preflight = match preflight {
        PreflightPolicy::Assumed => Preflight::Assumed,
        PreflightPolicy::Required => Preflight::Required,
    };
    config.kubeconfig = Some(kubeconfig);
    config
}

fn recorded(names: &Names) -> Vec<Recorded> {
    let namespace = names.namespace();
    let mut all: Vec<_> =
        IN_NAMESPACE.iter().map(|kind| Recorded::in_namespace(*kind, &namespace)).collect();
    all.push(Recorded::named(Kind::AdmissionCheck, &names.admission_check()));
    all.push(Recorded::named(Kind::ClusterQueue, &names.cluster_queue()));
    all
}

impl Tools<'_> {
    fn say(&mut self, what: &str) {
        self.observer.progress(&Progress::Preparing { what });
    }
}
