//! The manifests of a component, as they are installed here.
//!
//! They are its own, put together by kustomize, which the node's kubectl has in it. What is changed:
//! certificates come from us and not from the component itself, which would need minutes for them;
//! its configuration is the suite's; the API service for pending workloads is left out, as on the
//! local cluster; and requests for CPUs are, so that a small machine will do.

use super::component::Component;
use crate::cluster::ClusterError;
use crate::cluster::LeadThrough;
use crate::cluster::local::FeatureGates;
use crate::cluster::local::kubeconfig::{self, Login};
use crate::cluster::local::manifests;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::path::Path;

/// Where a pod finds the token of its ServiceAccount.
const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// Where a component that is led finds its kubeconfig.
const LED: &str = "/dispatch-conformance";

/// Where Kueue without certificate management of its own reads the certificate of its metrics.
const METRICS: &str = "/etc/kueue/metrics/certs";

/// Everything that a component brings.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Bundle {
    /// Its custom resource definitions.
    pub(super) definitions: Vec<Value>,
    /// Its webhook configurations.
    pub(super) webhooks: Vec<Value>,
    /// What has to be there before it starts: namespace, rights, Services, namespace first.
    pub(super) before: Vec<Value>,
    /// Its Deployment.
    pub(super) deployment: Value,
}

/// Sorts what kustomize gave. `authority` is the base64 of the PEM that vouches for the webhooks.
pub(super) fn bundle(
    component: Component,
    rendered: &str,
    authority: &Value,
) -> Result<Bundle, ClusterError> {
    let mut bundle = Bundle::default();
    let origin = Path::new(component.manifests()).join(component.overlay());
    for mut object in manifests::read_documents(rendered, &origin)? {
        manifests::label(&mut object);
        match object["kind"].as_str().unwrap_or_default() {
            "CustomResourceDefinition" => {
                if let Some(client) = object.pointer_mut("/spec/conversion/webhook/clientConfig") {
                    client["caBundle"] = authority.clone();
                }
                bundle.definitions.push(object);
            }
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
                for webhook in object["webhooks"].as_array_mut().into_iter().flatten() {
                    webhook["clientConfig"]["caBundle"] = authority.clone();
                }
                bundle.webhooks.push(object);
            }
            "Deployment" => bundle.deployment = object,
            "Namespace" => bundle.before.insert(0, object),
            // Certificates and configuration come from here; the API service would need the server
            // that is switched off.
            "Secret" | "ConfigMap" | "APIService" => {}
            _ => bundle.before.push(object),
        }
    }
    if bundle.deployment.is_null() {
        let detail = "there is no Deployment in it".to_owned();
        return Err(ClusterError::Manifest { file: origin, detail });
    }
    Ok(bundle)
}

/// The Secret with the certificate of a component's webhooks, PEM.
pub(super) fn certificate(component: Component, certificate: &str, key: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": { "name": component.certificate(), "namespace": component.namespace() },
        "stringData": { "tls.crt": certificate, "tls.key": key },
    })
}

/// The configuration of a component. Another content has another name, so that a Deployment that
/// names it starts the component again.
pub(super) fn configuration(
    component: Component,
    gates: &FeatureGates,
    lead: Option<&LeadThrough>,
) -> Result<Value, ClusterError> {
    let mut data =
        json!({ "controller_manager_config.yaml": component.configuration(gates).to_string() });
    if let Some(LeadThrough { server, certificate_authority }) = lead {
        let login = Login::TokenFile(TOKEN);
        let text = kubeconfig::text(server, certificate_authority, component.name(), &login)?;
        data["kubeconfig"] = text.into();
    }
    let digest = Sha256::digest(data.to_string());
    let digest =
        digest.iter().take(5).fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    Ok(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": format!("{}-dispatch-{digest}", component.name()),
            "namespace": component.namespace(),
        },
        "data": data,
    }))
}

/// The Deployment of a component with this image and configuration.
pub(super) fn deployment(
    component: Component,
    bundled: &Value,
    image: &str,
    configuration: &Value,
) -> Value {
    let mut deployment = bundled.clone();
    // The next one starts when the last has ended: nobody leads, so there may be only one.
    deployment["spec"]["strategy"] = json!({ "type": "Recreate" });
    let pod = &mut deployment["spec"]["template"]["spec"];
    let mut of_configuration = Value::Null;
    let mut of_certificate = Value::Null;
    for volume in pod["volumes"].as_array_mut().into_iter().flatten() {
        if volume.get("configMap").is_some() {
            volume["configMap"]["name"] = configuration["metadata"]["name"].clone();
            of_configuration = volume["name"].clone();
        } else if volume.pointer("/secret/secretName") == Some(&json!(component.certificate())) {
            of_certificate = volume["name"].clone();
        }
    }
    let container = &mut pod["containers"][0];
    container["image"] = image.into();
    container["imagePullPolicy"] = "IfNotPresent".into();
    if let Some(fields) = container.as_object_mut() {
        fields.remove("resources");
    }
    container["readinessProbe"]["initialDelaySeconds"] = 0.into();
    container["readinessProbe"]["periodSeconds"] = 1.into();
    let mut mount = |volume: &Value, path: &str| {
        let mount = json!({ "name": volume, "mountPath": path, "readOnly": true });
        if let Some(mounts) = container["volumeMounts"].as_array_mut() {
            mounts.push(mount);
        }
    };
    if component == Component::Kueue {
        mount(&of_certificate, METRICS);
    }
    if configuration.pointer("/data/kubeconfig").is_some() {
        mount(&of_configuration, LED);
        let led = json!({ "name": "KUBECONFIG", "value": format!("{LED}/kubeconfig") });
        container["env"] = match container["env"].take() {
            Value::Array(mut all) => {
                all.push(led);
                all.into()
            }
            _ => json!([led]),
        };
    }
    deployment
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered() -> String {
        let certificate = Component::Kueue.certificate();
        format!(
            "kind: Service\nmetadata: {{name: s}}\n---\nkind: Namespace\nmetadata: {{name: n}}\n---\n\
             kind: MutatingWebhookConfiguration\nmetadata: {{name: m}}\n\
             webhooks: [{{clientConfig: {{service: {{name: s}}}}}}]\n---\n\
             kind: Secret\nmetadata: {{name: x}}\n---\nkind: APIService\nmetadata: {{name: y}}\n---\n\
             kind: Deployment\nmetadata: {{name: d}}\nspec: {{template: {{spec: {{\n\
             volumes: [{{name: c, secret: {{secretName: {certificate}}}}}, {{name: o, configMap: {{name: old}}}}],\n\
             containers: [{{image: old, resources: {{}}, volumeMounts: []}}]}}}}}}\n"
        )
    }

    fn lead() -> LeadThrough {
        LeadThrough { server: "https://10.0.0.1:9".into(), certificate_authority: "PEM".into() }
    }

    #[test]
    fn a_bundle_has_the_namespace_first_and_no_certificates_of_its_own() {
        let bundle = bundle(Component::Kueue, &rendered(), &json!("Q0E=")).unwrap();
        let kinds: Vec<_> = bundle.before.iter().map(|object| object["kind"].clone()).collect();
        assert_eq!(kinds, ["Namespace", "Service"]);
        let client = &bundle.webhooks[0]["webhooks"][0]["clientConfig"];
        assert_eq!(*client, json!({ "service": { "name": "s" }, "caBundle": "Q0E=" }));
    }

    #[test]
    fn manifests_without_a_deployment_are_an_error() {
        let error = bundle(Component::Kueue, "kind: Namespace\n", &Value::Null).unwrap_err();
        assert!(error.to_string().contains("no Deployment"), "{error}");
    }

    #[test]
    fn another_configuration_has_another_name() {
        let name = |gates: &FeatureGates, lead: Option<&LeadThrough>| {
            configuration(Component::Kueue, gates, lead).unwrap()["metadata"]["name"].clone()
        };
        let (gates, other) = (
            FeatureGates::default(),
            FeatureGates::default_with(["AdmissionGatedBy=false".parse().unwrap()]),
        );
        assert_eq!(name(&gates, None), name(&gates, None));
        assert_ne!(name(&gates, None), name(&other, None));
        assert_ne!(name(&gates, None), name(&gates, Some(&lead())));
    }

    #[test]
    fn a_component_that_is_led_has_a_kubeconfig_and_keeps_its_token() {
        let bundle = bundle(Component::Kueue, &rendered(), &json!("Q0E=")).unwrap();
        let gates = FeatureGates::default();
        let led = configuration(Component::Kueue, &gates, Some(&lead())).unwrap();
        assert!(led["data"]["kubeconfig"].as_str().unwrap().contains(TOKEN));
        let led = deployment(Component::Kueue, &bundle.deployment, "new", &led);
        let container = &led["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["env"][0]["value"], "/dispatch-conformance/kubeconfig");
        assert_eq!(container["image"], "new");
        let plain = configuration(Component::Kueue, &gates, None).unwrap();
        let plain = deployment(Component::Kueue, &bundle.deployment, "new", &plain);
        let container = &plain["spec"]["template"]["spec"]["containers"][0];
        assert!(container.get("env").is_none_or(Value::is_null), "{container}");
        let paths: Vec<_> = container["volumeMounts"].as_array().unwrap().iter().collect();
        assert_eq!(paths.len(), 1, "{paths:?}");
    }
}
