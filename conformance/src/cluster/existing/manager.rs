//! What can be told of Kueue, JobSet and Trainer from outside: the pods behind the Service that their
//! webhooks are called at, the images of these, and how they were told to run.

use k8s_openapi::api::core::v1::{ConfigMap, Container, Pod, Service};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::ResourceExt;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A webhook of a cluster: for which API groups it is called, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Webhook {
    pub(super) groups: Vec<String>,
    /// None where it is called by URL, outside of the cluster.
    pub(super) service: Option<ServiceRef>,
}

/// A Service, and its port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ServiceRef {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) port: i32,
}

/// What was told of a manager.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Manager {
    /// Whether the API server calls a webhook of it. Without one it is not installed.
    pub installed: bool,
    /// Its version, as in the tag of its image.
    pub version: Option<String>,
    /// The feature gates that were set, by flag or by configuration.
    pub feature_gates: Option<BTreeMap<String, bool>>,
    /// The kinds of jobs that it manages, where its configuration names them.
    pub frameworks: Option<Vec<String>>,
    /// Why not everything could be told.
    pub not_told: Option<String>,
}

impl Manager {
    /// One that is there, of which nothing more can be told.
    pub(super) fn untold(why: impl Into<String>) -> Self {
        Self { installed: true, not_told: Some(why.into()), ..Self::default() }
    }
}

/// Kueue's API group. It has webhooks for the kinds of jobs that it manages too.
const KUEUE: &str = "kueue.x-k8s.io";

/// Where the manager of this API group is called; an error says why there is no one answer.
pub(super) fn service(webhooks: &[Webhook], group: &str) -> Option<Result<ServiceRef, String>> {
    let places = |group: &str| -> BTreeSet<Option<&ServiceRef>> {
        let of_it = webhooks.iter().filter(|it| it.groups.iter().any(|of| of == group));
        of_it.map(|webhook| webhook.service.as_ref()).collect()
    };
    let mut of_it = places(group);
    let not_kueues: BTreeSet<_> = of_it.difference(&places(KUEUE)).copied().collect();
    // Where all are outside of the cluster, they have one place.
    if group != KUEUE && (!not_kueues.is_empty() || !of_it.contains(&None)) {
        of_it = not_kueues;
    }
    match of_it.into_iter().collect::<Vec<_>>()[..] {
        [] => None,
        [Some(only)] => Some(Ok(only.clone())),
        [None] => Some(Err("it is a process outside of the cluster".to_owned())),
        _ => Some(Err("its webhooks are called in several places".to_owned())),
    }
}

/// The labels of the pods behind a Service.
pub(super) fn selector(service: &Service) -> Option<String> {
    let selector = service.spec.as_ref()?.selector.as_ref().filter(|it| !it.is_empty())?;
    let pairs: Vec<_> = selector.iter().map(|(key, value)| format!("{key}={value}")).collect();
    Some(pairs.join(","))
}

/// The containers behind the port of a Service: one for each pod that is there to stay.
pub(super) fn containers<'a>(
    service: &Service,
    port: i32,
    pods: &'a [Pod],
) -> Result<Vec<(&'a Pod, &'a Container)>, String> {
    let ports = service.spec.iter().flat_map(|spec| spec.ports.iter().flatten());
    let target = ports.filter(|it| it.port == port).find_map(|it| it.target_port.clone());
    let target = target.unwrap_or(IntOrString::Int(port));
    let stays = |pod: &&Pod| {
        let ended = pod.status.as_ref().and_then(|it| it.phase.as_deref());
        pod.metadata.deletion_timestamp.is_none() && !matches!(ended, Some("Succeeded" | "Failed"))
    };
    let of_pod = |pod: &'a Pod| {
        let all = pod.spec.as_ref().map(|spec| spec.containers.as_slice()).unwrap_or_default();
        let listens = |it: &&Container| {
            it.ports.iter().flatten().any(|port| match &target {
                IntOrString::Int(number) => port.container_port == *number,
                IntOrString::String(name) => port.name.as_ref() == Some(name),
            })
        };
        let only = || match all {
            [only] => Some(only),
            _ => all.iter().find(|it| it.name == "manager"),
        };
        let found = all.iter().find(listens).or_else(only);
        let name = pod.name_any();
        let found = found.ok_or_else(|| format!("which container of pod {name} it is"))?;
        Ok((pod, found))
    };
    let found: Result<Vec<_>, String> = pods.iter().filter(stays).map(of_pod).collect();
    match found {
        Ok(found) if found.is_empty() => Err("no pod is behind its Service".to_owned()),
        found => found,
    }
}

/// The version that all of these images say.
pub(super) fn version<'a>(images: impl Iterator<Item = &'a str>) -> Result<String, String> {
    let tags: BTreeSet<_> = images.map(|image| tag(image).ok_or(image)).collect();
    match tags.into_iter().collect::<Vec<_>>()[..] {
        [Ok(only)] => Ok(only.to_owned()),
        [Err(image)] => Err(format!("its image {image} has no tag")),
        _ => Err("its pods are of several images".to_owned()),
    }
}

/// The tag of an image's name.
fn tag(image: &str) -> Option<&str> {
    let name = image.split_once('@').map_or(image, |(name, _)| name);
    name.rsplit_once(':').map(|(_, tag)| tag).filter(|tag| !tag.contains('/'))
}

/// Major and minor number of a version, whatever comes after them.
pub(super) fn minor(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.trim_start_matches('v').split(['.', '-', '+']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The `ConfigMap`s that a pod mounts.
pub(super) fn config_maps(pod: &Pod) -> impl Iterator<Item = &str> {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes.filter_map(|volume| volume.config_map.as_ref().map(|it| it.name.as_str()))
}

/// The configuration of a manager of this API group in `ConfigMap`s: the one document of its kind.
pub(super) fn configuration(config_maps: &[ConfigMap], group: &str) -> Option<Value> {
    let texts = config_maps.iter().flat_map(|it| it.data.iter().flatten());
    let documents = texts.filter_map(|(_, text)| serde_saphyr::from_str::<Value>(text).ok());
    let mut of_it = documents.filter(|document| {
        let of = document["apiVersion"].as_str().unwrap_or_default();
        document["kind"] == "Configuration" && of.starts_with(&format!("config.{group}/"))
    });
    of_it.next()
}

/// Whether a manager was told to read its configuration from a file.
pub(super) fn has_configuration(arguments: &[String]) -> bool {
    values(arguments, "config").next().is_some()
}

/// The feature gates that were set: by flag, or by configuration.
pub(super) fn feature_gates(
    arguments: &[String],
    configuration: Option<&Value>,
) -> BTreeMap<String, bool> {
    let by_configuration = configuration.and_then(|it| it["featureGates"].as_object());
    let by_configuration = by_configuration.into_iter().flatten();
    let mut gates: BTreeMap<_, _> =
        by_configuration.filter_map(|(name, on)| Some((name.clone(), on.as_bool()?))).collect();
    for pair in values(arguments, "feature-gates").flat_map(|value| value.split(',')) {
        if let Some((name, on)) = pair.split_once('=')
            && let Ok(on) = on.trim().to_ascii_lowercase().parse()
        {
            gates.insert(name.trim().to_owned(), on);
        }
    }
    gates
}

/// The kinds of jobs that a configuration of Kueue names.
pub(super) fn frameworks(configuration: &Value) -> Option<Vec<String>> {
    let integrations = &configuration["integrations"];
    let lists = ["frameworks", "externalFrameworks"];
    let all = lists.into_iter().filter_map(|key| integrations[key].as_array());
    let all: Vec<_> = all.flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    (!all.is_empty()).then_some(all)
}

/// The values of a flag: `--name=value`, or `--name value`.
fn values<'a>(arguments: &'a [String], name: &'a str) -> impl Iterator<Item = &'a str> {
    arguments.iter().enumerate().filter_map(move |(place, argument)| {
        let flag = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-'))?;
        match flag.split_once('=') {
            Some((flag, value)) => (flag == name).then_some(value),
            None if flag == name => arguments.get(place + 1).map(String::as_str),
            None => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn webhook(group: &str, service: Option<&str>) -> Webhook {
        let service = service.map(|name| ServiceRef {
            namespace: "kueue-system".to_owned(),
            name: name.to_owned(),
            port: 443,
        });
        Webhook { groups: vec![group.to_owned()], service }
    }

    #[rstest]
    #[case::none(vec![webhook("other", Some("x"))], "None")]
    #[case::one(vec![webhook("kueue", Some("x")), webhook("kueue", Some("x"))], "x")]
    #[case::outside(vec![webhook("kueue", None)], "outside")]
    #[case::several(vec![webhook("kueue", Some("x")), webhook("kueue", Some("y"))], "several")]
    fn a_manager_is_where_its_webhooks_are_called(
        #[case] webhooks: Vec<Webhook>,
        #[case] expected: &str,
    ) {
        assert!(format!("{:?}", service(&webhooks, "kueue")).contains(expected));
    }

    #[test]
    fn kueues_own_webhooks_for_the_jobs_of_others_tell_nothing_of_these() {
        let kueues = [webhook(KUEUE, Some("kueue")), webhook("jobset", Some("kueue"))];
        assert_eq!(service(&kueues, "jobset"), None);
        let both = [&kueues[..], &[webhook("jobset", Some("own"))]].concat();
        assert_eq!(service(&both, "jobset").unwrap().unwrap().name, "own");
        assert_eq!(service(&both, KUEUE).unwrap().unwrap().name, "kueue");
    }

    #[rstest]
    #[case::tag("registry.k8s.io/kueue/kueue:v0.17.0", Some("v0.17.0"))]
    #[case::tag_and_digest("a/b:v1@sha256:00", Some("v1"))]
    #[case::digest("a/b@sha256:00", None)]
    #[case::port("localhost:5000/kueue", None)]
    #[case::port_and_tag("localhost:5000/kueue:v2", Some("v2"))]
    fn the_tag_of_an_image(#[case] image: &str, #[case] expected: Option<&str>) {
        assert_eq!(tag(image), expected);
    }

    #[rstest]
    #[case("v0.17.0", Some((0, 17)))]
    #[case("v0.17.2-vendor.1", Some((0, 17)))]
    #[case("1.35+", Some((1, 35)))]
    #[case("v1.35-eks", Some((1, 35)))]
    #[case("latest", None)]
    #[case("main-0a1b", None)]
    fn the_minor_version(#[case] version: &str, #[case] expected: Option<(u32, u32)>) {
        assert_eq!(minor(version), expected);
    }

    #[test]
    fn pods_of_two_versions_have_no_version() {
        assert!(version(["a:v1", "a:v2"].into_iter()).unwrap_err().contains("several"));
        assert_eq!(version(["a:v1", "b:v1"].into_iter()), Ok("v1".to_owned()));
    }

    fn pod(spec: &Value) -> Pod {
        serde_json::from_value(json!({ "metadata": { "name": "p" }, "spec": spec })).unwrap()
    }

    #[rstest]
    #[case::by_number(json!(9443), "two")]
    #[case::by_name(json!("webhook"), "two")]
    #[case::by_no_port(json!(1), "manager")]
    fn the_container_behind_the_service_is_asked_and_not_its_sidecar(
        #[case] target: Value,
        #[case] expected: &str,
    ) {
        let service = json!({ "spec": { "ports": [{ "port": 443, "targetPort": target }] } });
        let service: Service = serde_json::from_value(service).unwrap();
        let ports = json!([{ "name": "webhook", "containerPort": 9443 }]);
        let pods = [pod(&json!({ "containers": [
            { "name": "sidecar" }, { "name": "manager" }, { "name": "two", "ports": ports },
        ] }))];
        let found = containers(&service, 443, &pods).unwrap();
        assert_eq!(found[0].1.name, expected);
    }

    #[test]
    fn a_service_without_pods_tells_nothing() {
        let ended = json!({ "metadata": {}, "status": { "phase": "Failed" } });
        let ended: Pod = serde_json::from_value(ended).unwrap();
        assert!(containers(&Service::default(), 443, &[ended]).is_err());
    }

    #[test]
    fn gates_are_set_by_configuration_or_by_flag() {
        let configuration = json!({ "featureGates": { "A": true, "B": false } });
        let flags = ["--feature-gates=C=true,D=false".to_owned(), "--config=/f".to_owned()];
        let gates = feature_gates(&flags, Some(&configuration));
        let expected = [("A", true), ("B", false), ("C", true), ("D", false)];
        assert_eq!(gates, expected.map(|(name, on)| (name.to_owned(), on)).into());
        assert!(has_configuration(&flags));
        let apart = ["--feature-gates".to_owned(), "E=True".to_owned()];
        assert_eq!(feature_gates(&apart, None), [("E".to_owned(), true)].into());
    }

    #[test]
    fn the_configuration_is_found_by_its_kind() {
        let config_map = |text: &str| ConfigMap {
            data: Some([("f.yaml".to_owned(), text.to_owned())].into()),
            ..ConfigMap::default()
        };
        let own = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n\
                   integrations: {frameworks: [batch/job], externalFrameworks: [Foo.v1.x]}\n";
        let all = [config_map("{not: it}"), config_map(": no yaml ["), config_map(own)];
        let found = configuration(&all, "kueue.x-k8s.io").unwrap();
        assert_eq!(frameworks(&found).unwrap(), ["batch/job", "Foo.v1.x"]);
        assert_eq!(configuration(&all, "jobset.x-k8s.io"), None);
    }
}
