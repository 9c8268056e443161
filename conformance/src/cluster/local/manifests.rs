//! The custom resource definitions and webhook configurations of Kueue, JobSet and Trainer, taken
//! from their own modules.
//!
//! The modules carry kustomize bases. The part of kustomize that these bases use is small and is
//! done here: resources, JSON patches that replace, and merge patches. Only what the API server
//! has to know is rendered; Deployments, Services and RBAC of the managers are not, since they run
//! as processes with certificates of their own.

use super::pins::{JOBSET, Module, STACK};
use crate::cluster::ClusterError;
use fs_err as fs;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Where a component's manifests are in its module.
#[derive(Debug)]
pub(in crate::cluster) struct Source {
    /// The component.
    pub component: &'static str,
    /// The module that pins it.
    pub module: &'static Module,
    /// Its module path.
    pub path: &'static str,
    /// The kustomize bases in it.
    bases: [&'static str; 2],
    /// What its default overlay puts before the names of webhook configurations.
    prefix: &'static str,
}

/// All components that bring manifests.
pub(in crate::cluster) static SOURCES: [Source; 3] = [
    Source {
        component: "kueue",
        module: &STACK,
        path: "sigs.k8s.io/kueue",
        bases: ["config/components/crd", "config/components/webhook"],
        prefix: "kueue-",
    },
    Source {
        component: "trainer",
        module: &STACK,
        path: "github.com/kubeflow/trainer/v2",
        bases: ["manifests/base/crds", "manifests/base/webhook"],
        prefix: "",
    },
    Source {
        component: "jobset",
        module: &JOBSET,
        path: "sigs.k8s.io/jobset",
        bases: ["config/components/crd", "config/components/webhook"],
        prefix: "jobset-",
    },
];

/// The kinds that are kept.
const KINDS: [&str; 3] =
    ["CustomResourceDefinition", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

#[derive(Debug, Deserialize)]
struct Kustomization {
    resources: Vec<String>,
    #[serde(default)]
    patches: Vec<PatchEntry>,
}

#[derive(Debug, Deserialize)]
struct PatchEntry {
    path: Option<String>,
    patch: Option<String>,
    target: Option<Target>,
}

#[derive(Debug, Deserialize)]
struct Target {
    kind: Option<String>,
    name: Option<String>,
}

/// Renders the manifests of one component from its module's sources.
pub(in crate::cluster) fn render(
    source: &Source,
    sources: &Path,
) -> Result<Vec<Value>, ClusterError> {
    let mut objects = Vec::new();
    for base in source.bases {
        objects.extend(render_base(&sources.join(base))?);
    }
    for object in &mut objects {
        if kind(object) == "CustomResourceDefinition" {
            // Would have cert-manager put a certificate in; the bundle is ours.
            if let Some(annotations) = object.pointer_mut("/metadata/annotations") {
                annotations.as_object_mut().map(|map| map.remove("cert-manager.io/inject-ca-from"));
            }
        } else {
            let name = format!("{}{}", source.prefix, name(object));
            object["metadata"]["name"] = name.into();
        }
    }
    Ok(objects)
}

fn render_base(folder: &Path) -> Result<Vec<Value>, ClusterError> {
    let file = folder.join("kustomization.yaml");
    let kustomization: Kustomization =
        serde_saphyr::from_str_with_options(&read(&file)?, reading())
            .map_err(|error| odd(&file, &error))?;
    let mut objects = Vec::new();
    for resource in &kustomization.resources {
        objects.extend(documents(&folder.join(resource))?);
    }
    objects.retain(|object| KINDS.contains(&kind(object)));
    for entry in &kustomization.patches {
        let (origin, text) = match (&entry.path, &entry.patch) {
            (Some(path), _) => (folder.join(path), read(&folder.join(path))?),
            (None, Some(text)) => (file.clone(), text.clone()),
            (None, None) => return Err(odd(&file, &"a patch without content")),
        };
        let patch: Value = serde_saphyr::from_str_with_options(&text, reading())
            .map_err(|error| odd(&origin, &error))?;
        let mut hits = 0;
        for object in objects.iter_mut().filter(|o| is_for(&patch, entry.target.as_ref(), o)) {
            apply(object, &patch).map_err(|detail| odd(&origin, &detail))?;
            hits += 1;
        }
        if hits == 0 {
            return Err(odd(&origin, &"the patch fits no object"));
        }
    }
    Ok(objects)
}

fn read(file: &Path) -> Result<String, ClusterError> {
    fs::read_to_string(file).map_err(|error| odd(file, &error))
}

fn odd(file: &Path, detail: &dyn std::fmt::Display) -> ClusterError {
    ClusterError::Manifest { file: file.to_path_buf(), detail: detail.to_string() }
}

/// All documents of a YAML file.
fn documents(file: &Path) -> Result<Vec<Value>, ClusterError> {
    read_documents(&read(file)?, file)
}

/// All documents of a YAML text, which came from `origin`.
pub(in crate::cluster) fn read_documents(
    text: &str,
    origin: &Path,
) -> Result<Vec<Value>, ClusterError> {
    let all: Vec<Value> = serde_saphyr::from_multiple_with_options(text, reading())
        .map_err(|error| odd(origin, &error))?;
    Ok(all.into_iter().filter(Value::is_object).collect())
}

/// Only `true` and `false` are booleans, as for Kubernetes' own readers; and the definitions are
/// larger than what is taken from strangers.
fn reading() -> serde_saphyr::Options {
    serde_saphyr::options! {
        strict_booleans: true,
        budget: serde_saphyr::budget! { max_events: 10_000_000, max_nodes: 10_000_000 },
    }
}

fn kind(object: &Value) -> &str {
    object["kind"].as_str().unwrap_or_default()
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// Whether a patch is meant for an object: by the target of the entry, else by the kind and name
/// in the patch itself.
fn is_for(patch: &Value, target: Option<&Target>, object: &Value) -> bool {
    match target {
        Some(target) => {
            target.kind.as_deref().is_none_or(|wanted| wanted == kind(object))
                && target.name.as_deref().is_none_or(|wanted| wanted == name(object))
        }
        None => kind(patch) == kind(object) && name(patch) == name(object),
    }
}

fn apply(object: &mut Value, patch: &Value) -> Result<(), String> {
    let Some(operations) = patch.as_array() else {
        merge(object, patch);
        return Ok(());
    };
    for operation in operations {
        let pointer = operation["path"].as_str().unwrap_or_default();
        if operation["op"] != "replace" {
            return Err(format!("operation {} is not supported", operation["op"]));
        }
        let place = object.pointer_mut(pointer).ok_or_else(|| format!("{pointer} is not there"))?;
        *place = operation["value"].clone();
    }
    Ok(())
}

/// A strategic merge, as far as webhook configurations and definitions need it: lists whose
/// entries have names are merged by name, other lists are replaced.
fn merge(into: &mut Value, patch: &Value) {
    match (into, patch) {
        (Value::Object(into), Value::Object(patch)) => {
            for (key, value) in patch {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (Value::Array(into), Value::Array(patch))
            if patch.iter().all(|entry| entry.get("name").is_some()) =>
        {
            for entry in patch {
                match into.iter_mut().find(|known| known["name"] == entry["name"]) {
                    Some(known) => merge(known, entry),
                    None => into.push(entry.clone()),
                }
            }
        }
        (into, patch) => *into = patch.clone(),
    }
}

/// Leads an object's webhooks to a server on this machine instead of a Service.
///
/// `base` is such as `https://127.0.0.1:9443`, `ca_bundle` the base64 of PEM.
pub(in crate::cluster) fn lead_to(object: &mut Value, base: &str, ca_bundle: &str) {
    if let Some(client) = object.pointer_mut("/spec/conversion/webhook/clientConfig") {
        lead_client_to(client, base, ca_bundle);
    }
    for webhook in object["webhooks"].as_array_mut().into_iter().flatten() {
        lead_client_to(&mut webhook["clientConfig"], base, ca_bundle);
    }
}

fn lead_client_to(client: &mut Value, base: &str, ca_bundle: &str) {
    let path = client.pointer("/service/path").and_then(Value::as_str).unwrap_or_default();
    *client = json!({ "url": format!("{base}{path}"), "caBundle": ca_bundle });
}

/// Puts the definitions apart from the webhook configurations.
pub(in crate::cluster) fn split(objects: Vec<Value>) -> (Vec<Value>, Vec<Value>) {
    objects.into_iter().partition(|object| kind(object) == "CustomResourceDefinition")
}

/// Marks an object as made by the suite.
pub(in crate::cluster) fn label(object: &mut Value) {
    let labels = &mut object["metadata"]["labels"];
    if !labels.is_object() {
        *labels = Value::Object(Map::new());
    }
    labels["app.kubernetes.io/managed-by"] = "dispatch-conformance".into();
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::named_entries_are_merged(
        json!({ "webhooks": [{ "name": "a", "x": 1 }, { "name": "b" }] }),
        json!({ "webhooks": [{ "name": "a", "y": 2 }] }),
        json!({ "webhooks": [{ "name": "a", "x": 1, "y": 2 }, { "name": "b" }] })
    )]
    #[case::other_lists_are_replaced(
        json!({ "values": ["a", "b"] }),
        json!({ "values": ["c"] }),
        json!({ "values": ["c"] })
    )]
    #[case::what_a_json_patch_names_is_replaced(
        json!({ "webhooks": [{ "name": "a" }], "metadata": { "name": "x" } }),
        json!([{ "op": "replace", "path": "/metadata/name", "value": "y" }]),
        json!({ "webhooks": [{ "name": "a" }], "metadata": { "name": "y" } })
    )]
    fn a_patch_does_what_kustomize_does(
        #[case] mut object: Value,
        #[case] patch: Value,
        #[case] patched: Value,
    ) {
        apply(&mut object, &patch).unwrap();
        assert_eq!(object, patched);
    }

    #[rstest]
    #[case::operation(json!([{ "op": "add", "path": "/a", "value": 1 }]), "\"add\" is not supported")]
    #[case::place(json!([{ "op": "replace", "path": "/b", "value": 1 }]), "/b is not there")]
    fn a_patch_that_cannot_be_done_is_an_error(#[case] patch: Value, #[case] words: &str) {
        let error = apply(&mut json!({ "a": 0 }), &patch).unwrap_err();
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn webhooks_are_led_to_this_machine_and_keep_their_paths() {
        let service = json!({ "service": { "name": "s", "namespace": "n", "path": "/p" } });
        let mut object = json!({
            "webhooks": [{ "clientConfig": service }],
            "spec": { "conversion": { "webhook": { "clientConfig": service } } },
        });
        lead_to(&mut object, "https://127.0.0.1:9", "Q0E=");
        let led = json!({ "url": "https://127.0.0.1:9/p", "caBundle": "Q0E=" });
        assert_eq!(object["webhooks"][0]["clientConfig"], led);
        assert_eq!(object["spec"]["conversion"]["webhook"]["clientConfig"], led);
    }

    #[test]
    fn a_base_is_rendered_with_its_patches_and_without_services() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write(
            "kustomization.yaml",
            "resources: [all.yaml]\npatches:\n- path: p.yaml\n  target:\n    kind: MutatingWebhookConfiguration\n",
        );
        write(
            "all.yaml",
            "---\nkind: MutatingWebhookConfiguration\nmetadata: {name: m}\n---\nkind: Service\n",
        );
        write("p.yaml", "- op: replace\n  path: /metadata/name\n  value: n\n");
        let rendered = render_base(folder.path()).unwrap();
        let expected =
            json!([{ "kind": "MutatingWebhookConfiguration", "metadata": { "name": "n" } }]);
        assert_eq!(Value::Array(rendered), expected);
    }

    #[test]
    fn a_patch_that_fits_nothing_is_an_error_that_names_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kustomization.yaml");
        fs::write(&file, "resources: []\npatches:\n- patch: 'kind: X'\n").unwrap();
        let error = render_base(folder.path()).unwrap_err();
        assert!(matches!(error, ClusterError::Manifest { file: named, .. } if named == file));
    }
}
