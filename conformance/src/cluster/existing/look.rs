//! Sees what is on a cluster. Everything here reads.

use super::manager::{self, Manager, ServiceRef, Webhook};
use super::question::{Answer, Silence, ask, if_allowed};
use super::queue::Queue;
use super::rights::{self, Right};
use super::{Access, lease, marker};
use crate::cluster::ClusterError;
use dispatch_contract::resources::ClusterQueue;
use futures::future::try_join_all;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, RuleWithOperations, ValidatingWebhookConfiguration,
    WebhookClientConfig,
};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::ListParams;
use kube::{Api, Client};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How many rights are asked about at once.
const AT_ONCE: usize = 16;

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Found {
    /// The context.
    pub context: String,
    /// The beginning of a kubectl command for it.
    pub kubectl: String,
    /// The API server.
    pub server: String,
    /// Whether the object is there that says that scenarios may be played; None if it may not be read.
    pub marker: Option<bool>,
    /// The API server's version.
    pub kubernetes: String,
    /// Kueue, JobSet and Trainer.
    pub managers: BTreeMap<String, Manager>,
    /// The kinds that a run needs.
    pub kinds: Vec<Kind>,
    /// The `ClusterQueues` that are there; None if they may not be listed, or Kueue is not there.
    pub queues: Option<Vec<Queue>>,
    /// How many rights were asked about.
    pub rights: usize,
    /// Those that are missing.
    pub missing: Vec<Right>,
    /// The runs that have a Lease: they are under way, or were killed.
    pub runs: Vec<String>,
}

/// A kind that a run needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Kind {
    /// The name of its definition.
    pub name: String,
    /// The version that is needed.
    pub version: String,
    /// How it is.
    pub state: KindState,
}

/// How a kind is that a run needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KindState {
    /// It is served, with every field that is needed.
    Served,
    /// There is no such kind.
    Missing,
    /// The version is not served; these are.
    OtherVersions(Vec<String>),
    /// These fields are missing.
    WithoutFields(Vec<String>),
    /// It may not be read.
    NotTold,
}

/// What is needed: definition, version, and the fields that came with a later release of it.
const KINDS: [(&str, &str, &[&str]); 9] = [
    ("workloads.kueue.x-k8s.io", "v1beta2", &["spec.active", "status.admissionChecks"]),
    (
        "clusterqueues.kueue.x-k8s.io",
        "v1beta2",
        &["spec.cohortName", "spec.admissionChecksStrategy"],
    ),
    ("localqueues.kueue.x-k8s.io", "v1beta2", &[]),
    ("resourceflavors.kueue.x-k8s.io", "v1beta2", &[]),
    ("admissionchecks.kueue.x-k8s.io", "v1beta2", &[]),
    ("workloadpriorityclasses.kueue.x-k8s.io", "v1beta2", &[]),
    ("jobsets.jobset.x-k8s.io", "v1alpha2", &["spec.suspend"]),
    ("trainjobs.trainer.kubeflow.org", "v1alpha1", &["spec.runtimePatches", "spec.suspend"]),
    ("trainingruntimes.trainer.kubeflow.org", "v1alpha1", &[]),
];

/// The managers, by the API group that their webhooks are for.
pub(super) const MANAGERS: [(&str, &str); 3] = [
    ("kueue", "kueue.x-k8s.io"),
    ("jobset", "jobset.x-k8s.io"),
    ("trainer", "trainer.kubeflow.org"),
];

/// Sees what is there.
///
/// # Errors
/// The API server does not answer, or answers that it cannot. A question that may not be asked is no
/// error: what it would tell is then not told.
pub async fn look(access: &Access) -> Result<Found, ClusterError> {
    let rights = rights::all()?;
    Box::pin(see(access, rights)).await.map_err(|silence| ClusterError::Request {
        action: format!("looking at the cluster of the context {:?}", access.context),
        detail: match silence {
            Silence::Forbidden => "it says nothing to whoever the kubeconfig names".to_owned(),
            Silence::Failed(why) => why,
        },
    })
}

async fn see(access: &Access, rights: Vec<Right>) -> Answer<Found> {
    let client = &access.client;
    let kubernetes = ask(client.apiserver_version()).await?.git_version;
    let count = rights.len();
    let asked = rights.into_iter().map(|right| async {
        let has = rights::has(client, &right).await?;
        Ok::<_, Silence>((!has).then_some(right))
    });
    let missing = stream::iter(asked).buffered(AT_ONCE).try_collect::<Vec<_>>();
    let kinds = try_join_all(KINDS.iter().map(|needed| kind(client, needed)));
    let marker = async { if_allowed(marker::is_there(client).await) };
    let runs = async { if_allowed(lease::runs(client).await) };
    let (missing, kinds, managers, marker, runs, queues) =
        tokio::join!(missing, kinds, managers(client), marker, runs, queues(client));
    Ok(Found {
        context: access.context.clone(),
        kubectl: access.kubectl.clone(),
        server: access.server.clone(),
        marker: marker?,
        kubernetes,
        managers: managers?,
        kinds: kinds?,
        queues: queues?,
        rights: count,
        missing: missing?.into_iter().flatten().collect(),
        runs: runs?.unwrap_or_default(),
    })
}

async fn kind(
    client: &Client,
    (name, version, fields): &(&'static str, &'static str, &[&str]),
) -> Answer<Kind> {
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    let state = match if_allowed(ask(api.get_opt(name)).await)? {
        None => KindState::NotTold,
        Some(None) => KindState::Missing,
        Some(Some(definition)) => state(&json!(definition.spec), version, fields),
    };
    Ok(Kind { name: (*name).to_owned(), version: (*version).to_owned(), state })
}

/// How a definition is.
fn state(definition: &Value, version: &str, fields: &[&str]) -> KindState {
    let served = definition["versions"].as_array().into_iter().flatten();
    let served: Vec<_> = served.filter(|it| it["served"] == true).collect();
    let name = |it: &Value| it["name"].as_str().unwrap_or_default().to_owned();
    let Some(found) = served.iter().find(|it| it["name"] == version) else {
        return KindState::OtherVersions(served.into_iter().map(name).collect());
    };
    let lacks = |field: &&&str| {
        let path = field.split('.').map(|part| format!("/properties/{part}"));
        found["schema"]["openAPIV3Schema"].pointer(&path.collect::<String>()).is_none()
    };
    let lacking: Vec<_> = fields.iter().filter(lacks).map(|it| (*it).to_owned()).collect();
    if lacking.is_empty() { KindState::Served } else { KindState::WithoutFields(lacking) }
}

/// None where Kueue, and so the kind, is not there.
async fn queues(client: &Client) -> Answer<Option<Vec<Queue>>> {
    let api = Api::<ClusterQueue>::all(client.clone());
    let all = ListParams::default();
    let listed = async {
        match api.list(&all).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            listed => listed.map(|it| Some(it.items.into_iter().map(Queue::from).collect())),
        }
    };
    Ok(if_allowed(ask(listed).await)?.flatten())
}

async fn managers(client: &Client) -> Answer<BTreeMap<String, Manager>> {
    let webhooks = if_allowed(webhooks(client).await)?;
    let mut all = BTreeMap::new();
    for (name, group) in MANAGERS {
        let manager = match &webhooks {
            None => Manager::untold("webhook configurations may not be listed"),
            Some(webhooks) => match manager::service(webhooks, group) {
                None => Manager::default(),
                Some(Err(why)) => Manager::untold(why),
                Some(Ok(service)) => match behind(client, &service, group).await {
                    Ok(manager) => manager,
                    Err(Silence::Forbidden) => {
                        let namespace = &service.namespace;
                        Manager::untold(format!(
                            "its Service or its pods in {namespace} may not be read"
                        ))
                    }
                    Err(Silence::Failed(why)) => Manager::untold(why),
                },
            },
        };
        all.insert(name.to_owned(), manager);
    }
    Ok(all)
}

async fn webhooks(client: &Client) -> Answer<Vec<Webhook>> {
    let (all, mut found) = (ListParams::default(), Vec::new());
    let mutating = Api::<MutatingWebhookConfiguration>::all(client.clone());
    for configuration in ask(mutating.list(&all)).await? {
        let webhooks = configuration.webhooks.into_iter().flatten();
        found.extend(webhooks.map(|it| webhook(it.rules, it.client_config)));
    }
    let validating = Api::<ValidatingWebhookConfiguration>::all(client.clone());
    for configuration in ask(validating.list(&all)).await? {
        let webhooks = configuration.webhooks.into_iter().flatten();
        found.extend(webhooks.map(|it| webhook(it.rules, it.client_config)));
    }
    Ok(found)
}

fn webhook(rules: Option<Vec<RuleWithOperations>>, client: WebhookClientConfig) -> Webhook {
    let groups = rules.into_iter().flatten().flat_map(|rule| rule.api_groups.unwrap_or_default());
    let service = client.service.map(|it| ServiceRef {
        namespace: it.namespace,
        name: it.name,
        port: it.port.unwrap_or(443),
    });
    Webhook { groups: groups.collect(), service }
}

/// What can be told of the manager behind a Service.
async fn behind(client: &Client, service_ref: &ServiceRef, group: &str) -> Answer<Manager> {
    let ServiceRef { namespace, name, port } = service_ref;
    let services = Api::<Service>::namespaced(client.clone(), namespace);
    let service = ask(services.get(name)).await?;
    let Some(selector) = manager::selector(&service) else {
        return Ok(Manager::untold(format!("its Service {namespace}/{name} selects no pods")));
    };
    let pods = Api::<Pod>::namespaced(client.clone(), namespace);
    let pods = ask(pods.list(&ListParams::default().labels(&selector))).await?.items;
    let containers = match manager::containers(&service, *port, &pods) {
        Ok(containers) => containers,
        Err(why) => return Ok(Manager::untold(why)),
    };
    let images = containers.iter().map(|(_, container)| container.image.as_deref());
    let version = manager::version(images.map(Option::unwrap_or_default));
    let mut told = Manager { installed: true, ..Manager::default() };
    match version {
        Ok(version) => told.version = Some(version),
        Err(why) => told.not_told = Some(why),
    }
    // All pods are of one Deployment.
    let Some((pod, container)) = containers.first() else { return Ok(told) };
    let mut arguments = container.command.clone().unwrap_or_default();
    arguments.extend(container.args.clone().unwrap_or_default());
    let api = Api::<ConfigMap>::namespaced(client.clone(), namespace);
    let mut config_maps = Vec::new();
    for name in manager::config_maps(pod) {
        // One that may not be read, or is optional and not there, is none.
        config_maps.extend(ask(api.get_opt(name)).await.ok().flatten());
    }
    let configuration = manager::configuration(&config_maps, group);
    if configuration.is_none() && manager::has_configuration(&arguments) {
        let why = "its configuration was not found in a ConfigMap that may be read";
        told.not_told.get_or_insert(why.to_owned());
        return Ok(told);
    }
    told.feature_gates = Some(manager::feature_gates(&arguments, configuration.as_ref()));
    told.frameworks = configuration.as_ref().and_then(manager::frameworks);
    Ok(told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn definition() -> Value {
        let schema = json!({ "openAPIV3Schema": { "properties": { "spec": {
            "properties": { "active": { "type": "boolean" } },
        } } } });
        json!({ "versions": [
            { "name": "v1beta1", "served": true },
            { "name": "v1beta2", "served": true, "schema": schema },
            { "name": "v1", "served": false },
        ] })
    }

    #[rstest]
    #[case::served("v1beta2", &["spec.active"], KindState::Served)]
    #[case::without("v1beta2", &["spec.x.y"], KindState::WithoutFields(vec!["spec.x.y".into()]))]
    #[case::other("v1", &[], KindState::OtherVersions(vec!["v1beta1".into(), "v1beta2".into()]))]
    fn a_kind_is_served_in_its_version_with_its_fields(
        #[case] version: &str,
        #[case] fields: &[&str],
        #[case] expected: KindState,
    ) {
        assert_eq!(state(&definition(), version, fields), expected);
    }
}
