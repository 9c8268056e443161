//! The making of a cluster: the node first, then what its API has to know, then the managers, then
//! the API server's way to their webhooks.

use super::component::Component;
use super::configuration;
use super::engine::{self, Kind};
use super::images::Images;
use super::manifests::{self, Bundle};
use super::node::Node;
use super::running::{Held, Inner, delete_abandoned};
use super::state::{Phase, SCHEMA, State};
use super::{delete, settings};
use crate::cluster::local::cache::Cache;
use crate::cluster::local::certificates::Authority;
use crate::cluster::local::install::Install;
use crate::cluster::local::pins::{JOBSET, KIND, STACK};
use crate::cluster::local::waiting::Waits;
use crate::cluster::local::{ClusterFolder, FeatureGates, Places, endpoint, files, kubeconfig};
use crate::cluster::{ClusterError, Progress};
use fs_err as fs;
use k8s_openapi::api::core::v1::Node as NodeObject;
use kube::Api;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// What cluster is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Its name.
    pub name: String,
    /// Where cache and state are.
    pub places: Places,
    /// Kueue's feature gates.
    pub feature_gates: FeatureGates,
    /// How long a cache that somebody else builds into is waited for.
    pub cache_patience: Duration,
    /// How long the start may take once kind is built, images that are pulled included.
    pub ready_within: Duration,
}

impl Options {
    /// The defaults, for a cluster called `name`.
    pub fn new(name: &str) -> Result<Self, ClusterError> {
        Ok(Self {
            name: name.to_owned(),
            places: Places::from_environment()?,
            feature_gates: FeatureGates::default(),
            cache_patience: Duration::from_hours(1),
            ready_within: Duration::from_mins(10),
        })
    }

    /// The cluster's folder.
    pub fn folder(&self) -> Result<ClusterFolder, ClusterError> {
        self.places.kind_cluster(&self.name)
    }

    /// In what a cluster differs from what is wanted.
    pub(super) fn difference(&self, state: &State) -> Option<String> {
        let pinned = versions(state.images);
        let others = pinned.iter().filter(|(name, version)| {
            *name != "kubernetes" && state.versions.get(*name) != Some(version)
        });
        if others.count() > 0 {
            return Some("components of another release".to_owned());
        }
        (state.feature_gates != self.feature_gates).then(|| {
            format!("the feature gates {} instead of {}", state.feature_gates, self.feature_gates)
        })
    }
}

/// The pinned versions of what a cluster is made of, by name.
fn versions(images: Images) -> BTreeMap<String, String> {
    let mut pinned = vec![
        ("kubernetes", STACK.version_of("k8s.io/kubernetes")),
        ("kueue", STACK.version_of("sigs.k8s.io/kueue")),
        ("trainer", STACK.version_of("github.com/kubeflow/trainer/v2")),
        ("jobset", JOBSET.version_of("sigs.k8s.io/jobset")),
    ];
    if images == Images::Built {
        pinned.push(("etcd", STACK.version_of("go.etcd.io/etcd/server/v3")));
    }
    let known = pinned.into_iter().filter_map(|(name, version)| Some((name, version?)));
    known.map(|(name, version)| (name.to_owned(), version.to_owned())).collect()
}

/// Has the cluster running, and leaves it so: takes one that is there if it matches, else makes it.
pub async fn up(options: &Options, progress: &dyn Progress) -> Result<State, ClusterError> {
    engine::answers().await?;
    delete_abandoned(&options.places).await?;
    let held = Held::take(&options.folder()?, &options.name)?;
    if let Some(state) = ready(options).await? {
        return match options.difference(&state) {
            None => Ok(state),
            Some(difference) => {
                Err(ClusterError::Occupied { name: options.name.clone(), difference })
            }
        };
    }
    let (inner, _held) = make(options, held, progress).await?;
    Ok(inner.state())
}

/// The state of a cluster that is ready and runs.
pub(super) async fn ready(options: &Options) -> Result<Option<State>, ClusterError> {
    let state = State::read(&options.folder()?).filter(|state| state.phase == Phase::Ready);
    match state {
        Some(state) if Node::of(&options.name).runs().await? => Ok(Some(state)),
        _ => Ok(None),
    }
}

/// Makes a cluster, in the place of what there is left of one. What was made of one that fails is
/// deleted, with its logs kept.
pub(super) async fn make(
    options: &Options,
    held: Held,
    progress: &dyn Progress,
) -> Result<(Inner, Held), ClusterError> {
    let cache =
        Cache::of_program(&options.places.cache, &KIND, options.cache_patience, progress).await?;
    let folder = options.folder()?;
    let node = Node::of(&options.name);
    if node.exists().await? {
        delete(&folder, &options.name, State::read(&folder).as_ref()).await?;
    }
    for old in [folder.run(), folder.logs()] {
        files::remove_folder(&old)?;
    }
    files::private_folder(&folder.run())?;
    let images = Images::find().await;
    let kind = Kind::at(cache.binary(KIND.name));
    let others = super::states(&options.places)?;
    let state = State {
        schema: SCHEMA.to_owned(),
        name: options.name.clone(),
        phase: Phase::Starting,
        images,
        kind: kind.path().to_owned(),
        versions: versions(images),
        feature_gates: options.feature_gates.clone(),
        kubeconfig: folder.kubeconfig(),
        settings: settings::before(others.iter().map(|state| &state.settings)),
    };
    state.write(&folder)?;
    let waits = Waits::new(progress, folder.logs(), options.ready_within);
    let made =
        Make { options, folder: &folder, cache: &cache, kind: &kind, node: &node, waits: &waits };
    match made.all(state.clone()).await {
        Ok(inner) => Ok((inner, held)),
        Err(error) => {
            // What it looked like is all that helps; the error is told in any case.
            drop(kind.export_logs(&options.name, &folder.logs()).await);
            drop(delete(&folder, &options.name, Some(&state)).await);
            State { phase: Phase::Ended, ..state }.write(&folder)?;
            Err(error)
        }
    }
}

/// One making.
struct Make<'a> {
    options: &'a Options,
    folder: &'a ClusterFolder,
    cache: &'a Cache,
    kind: &'a Kind,
    node: &'a Node,
    waits: &'a Waits<'a>,
}

impl Make<'_> {
    /// All of it. When it returns, a TrainJob that is created at once is admitted.
    async fn all(&self, mut state: State) -> Result<Inner, ClusterError> {
        self.make_node(&state).await?;
        let client = endpoint::admin(&self.folder.kubeconfig()).await?;
        let version = client.apiserver_version().await.map_err(|error| ClusterError::Request {
            action: "asking the API server for its version".to_owned(),
            detail: endpoint::chain(&error),
        })?;
        state.versions.insert("kubernetes".to_owned(), version.git_version);
        self.node_ready(&client).await?;
        let bundles = self.bundles().await?;
        let install = Install { client: &client, waits: self.waits };
        let mut definitions = Vec::new();
        let mut webhooks = Vec::new();
        let mut deployments = BTreeMap::new();
        for (component, bundle) in bundles {
            definitions.extend(bundle.definitions);
            webhooks.extend(bundle.webhooks);
            for object in bundle.before {
                install.put(object).await?;
            }
            install.put(self.certificate(component)?).await?;
            deployments.insert(component.name().to_owned(), bundle.deployment);
        }
        install.definitions(definitions).await?;
        let text = json!(deployments).to_string();
        files::write_private(&self.folder.run().join(DEPLOYMENTS), text.as_bytes())?;
        state.phase = Phase::Ready;
        let inner = Inner::new(self.options, self.folder.clone(), state, client.clone())?;
        for component in Component::ALL {
            inner.deploy(component, &self.options.feature_gates, None, &install).await?;
        }
        for component in Component::ALL {
            inner.rolled_out(component, self.waits).await?;
        }
        install.webhooks(webhooks).await?;
        install.webhooks_are_called().await?;
        install.kueue_reconciles().await?;
        install.garbage_is_collected().await?;
        inner.state().write(self.folder)?;
        Ok(inner)
    }

    async fn make_node(&self, state: &State) -> Result<(), ClusterError> {
        let name = &self.options.name;
        let configuration = configuration::cluster(state.images).to_string();
        let made = self.kind.create(name, &configuration, &state.kubeconfig);
        let seen = format!("kind has made it, {}", state.images.as_str());
        self.waits.step("node", &seen, made).await.map_err(|error| match error {
            ClusterError::CommandFailed { output, .. } => ClusterError::NoNode {
                image: state.images.node(),
                output,
                logs: self.folder.logs(),
            },
            other => other,
        })
    }

    async fn node_ready(&self, client: &kube::Client) -> Result<(), ClusterError> {
        let api: Api<NodeObject> = Api::all(client.clone());
        let ask = async || {
            let node = api.get(self.node.name()).await.map_err(|error| endpoint::chain(&error))?;
            let conditions = node.status.and_then(|status| status.conditions).unwrap_or_default();
            let ready = conditions.into_iter().find(|condition| condition.type_ == "Ready");
            match ready {
                Some(ready) if ready.status == "True" => Ok(()),
                Some(other) => Err(other.message.unwrap_or(other.status)),
                None => Err("it says nothing of itself".to_owned()),
            }
        };
        self.waits.until("node", "it is Ready", ask).await
    }

    /// The manifests of every component, put together in the node.
    async fn bundles(&self) -> Result<Vec<(Component, Bundle)>, ClusterError> {
        let authority = Authority::create(&self.folder.run().join("pki"))?;
        let pem = kubeconfig::base64(authority.pem());
        let work = async {
            let mut all = Vec::new();
            for component in Component::ALL {
                let service = format!("{}.{}.svc", component.service(), component.namespace());
                authority.server(component.name(), &[&service])?;
                all.push((component, self.bundle(component, &pem).await?));
            }
            Ok(all)
        };
        self.waits.step("manifests", "kustomize has put them together", work).await
    }

    async fn bundle(&self, component: Component, pem: &Value) -> Result<Bundle, ClusterError> {
        let Some(source) = component.source() else { return Ok(Bundle::default()) };
        let sources = self.cache.sources(source).await?;
        let place = format!("/var/lib/dispatch-conformance/{}", component.name());
        self.node.copy_in(&sources.join(component.manifests()), &place).await?;
        let overlay = format!("{place}/{}/{}", component.manifests(), component.overlay());
        if let Some(text) = component.own_overlay() {
            let script = format!("mkdir -p {overlay}; cat >{overlay}/kustomization.yaml");
            self.node.script(&script, text).await?;
            let namespace = format!(
                "{{apiVersion: v1, kind: Namespace, metadata: {{name: {}}}}}",
                component.namespace()
            );
            self.node.script(&format!("cat >{overlay}/namespace.yaml"), &namespace).await?;
        }
        let rendered = self.node.execute(&["kubectl", "kustomize", &overlay]).await?;
        manifests::bundle(component, &rendered, pem)
    }

    fn certificate(&self, component: Component) -> Result<Value, ClusterError> {
        let file = self.folder.run().join("pki").join(component.name());
        let read = |extension: &str| {
            let path = file.with_added_extension(extension);
            fs::read_to_string(&path).map_err(|error| ClusterError::io(&path, &error))
        };
        Ok(manifests::certificate(component, &read("crt")?, &read("key")?))
    }
}

/// The file with the Deployments as the components bring them, by component.
pub(super) const DEPLOYMENTS: &str = "deployments.json";
