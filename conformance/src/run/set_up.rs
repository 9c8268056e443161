//! Brings a scenario up to its first step.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dispatch_adapter::Preflight;
use kube::Client;
use tokio::time::timeout;

use super::error::{RunError, StepError};
use super::fixture::{self, Access, PrivateFolder, Rights};
use super::observer::Progress;
use super::stage::{Controllers, Record, Stage, Tools};
use super::steps::start_controller;
use super::{Host, Names, Settings};
use crate::history::Kind;
use crate::history::recorder::{Journal, Recorded, Recorder, Revisions};
use crate::kubelet::Kubelet;
use crate::scenario::{Fact, PreflightPolicy, Scenario, Truth};
use crate::subject::{AdapterSetup, BuiltIn, ControllerSetup};

/// How long the controller may take to set its check Active.
const ACTIVE_LIMIT: Duration = Duration::from_secs(30);

/// The kinds that are recorded in the scenario's namespace.
const IN_NAMESPACE: [Kind; 8] = [
    Kind::TrainJob,
    Kind::Workload,
    Kind::JobSet,
    Kind::Job,
    Kind::Pod,
    Kind::LocalQueue,
    Kind::Lease,
    Kind::Event,
];

/// What a scenario is brought up from.
pub(super) struct Setting<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) host: &'a dyn Host,
    pub(super) settings: &'a Settings,
    pub(super) names: &'a Names,
    pub(super) rights: &'a [Rights],
    pub(super) client: Client,
    pub(super) folder: &'a Path,
    pub(super) journal: Arc<Journal>,
}

/// Brings it up in its namespace, which is there: objects, recorder, kubelet, subjects, in this order, so that everything that a
/// subject does is recorded.
pub(super) async fn set_up<'a>(
    setting: Setting<'a>,
    tools: &mut Tools<'_>,
) -> Result<Stage<'a>, RunError> {
    let Setting { scenario, host, names, client, .. } = &setting;
    let gates = &scenario.given.kueue_feature_gates;
    if !gates.is_empty() {
        tools.say("Kueue, with the feature gates of the scenario");
        host.set_feature_gates(gates).await.map_err(RunError::FeatureGates)?;
    }
    tools.say("the recorder");
    let journal = Arc::clone(&setting.journal);
    let recorder = Recorder::start(client.clone(), journal, recorded(names)).await?;
    tools.say("queues, runtime, rights and virtual nodes");
    let made = fixture::make(*host, client, names, &scenario.given, setting.rights);
    let kubelet = Kubelet::start(client.clone(), names.nodes(), Arc::clone(&tools.clock));
    let (access, kubelet) = tokio::join!(made, kubelet);
    let prepare = |what| move |source| RunError::Prepare { what, source };
    let access = access.map_err(prepare("its queues, runtime and rights"))?;
    let kubelet = kubelet.map_err(prepare("its virtual nodes"))?;
    tools.say("the adapter and the controller");
    stage(setting, tools, access, recorder, kubelet).await
}

async fn stage<'a>(
    setting: Setting<'a>,
    tools: &mut Tools<'_>,
    access: Access,
    recorder: Recorder,
    kubelet: Kubelet,
) -> Result<Stage<'a>, RunError> {
    let Setting { scenario, host, settings, names, client, folder, journal, .. } = setting;
    let private = PrivateFolder::create(names).map_err(RunError::Private)?;
    let kubeconfig = private.write("controller.kubeconfig", &access.controller);
    let setup = ControllerSetup {
        controller_name: names.controller_name(),
        namespace: names.namespace(),
        lease: names.lease().to_owned(),
        kubeconfig: kubeconfig.map_err(RunError::Private)?,
        mutant: settings.subjects.mutant.clone(),
        private: private.path().to_owned(),
        logs: folder.to_owned(),
    };
    let adapter = adapter(access.adapter, names, scenario.given.adapter_preflight);
    let (clock, entropy) = (Arc::clone(&tools.clock), Arc::clone(&tools.entropy));
    let adapter = BuiltIn::new(adapter, clock, Arc::clone(&entropy)).await?;
    let record = Record::new(journal, Revisions::new(client.clone(), &names.namespace()));
    let mut controllers = Controllers { setup, running: BTreeMap::new() };
    for replica in 0..scenario.given.controller_replicas {
        match start_controller(&mut controllers, &record, replica).await {
            Ok(()) => {}
            Err(StepError::Run(error)) => return Err(error),
            Err(StepError::Failed { why, .. }) => return Err(RunError::NotReady { why }),
        }
    }
    let mut stage = Stage {
        scenario,
        host,
        names: names.clone(),
        client,
        entropy,
        time_scale: settings.time_scale,
        record,
        recorder,
        kubelet,
        adapter: Box::new(adapter),
        controllers,
        jobs: BTreeMap::new(),
        frozen: BTreeMap::new(),
        _private: private,
    };
    if scenario.given.controller_replicas > 0 {
        active(&mut stage).await?;
    }
    Ok(stage)
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

fn adapter(kubeconfig: String, names: &Names, preflight: PreflightPolicy) -> AdapterSetup {
    AdapterSetup {
        kubeconfig,
        namespace: names.namespace(),
        queue: names.local_queue().to_owned(),
        admission_check: names.admission_check(),
        controller_name: names.controller_name(),
        lease: names.lease().to_owned(),
        preflight: match preflight {
            PreflightPolicy::Assumed => Preflight::Assumed,
            PreflightPolicy::Required => Preflight::Required,
        },
    }
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
