//! Kubeconfig files, whole in themselves.

use super::certificates::Pair;
use super::files;
use crate::cluster::ClusterError;
use fs_err as fs;
use k8s_openapi::ByteString;
use serde_json::json;
use std::path::Path;

/// Writes a kubeconfig for one client certificate.
pub(super) fn write(
    file: &Path,
    server: &str,
    authority_pem: &str,
    user: &str,
    pair: &Pair,
) -> Result<(), ClusterError> {
    let data = |path: &Path| {
        fs::read(path).map(ByteString).map_err(|error| ClusterError::io(path, &error))
    };
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "local", "cluster": {
            "server": server,
            "certificate-authority-data": base64(authority_pem),
        } }],
        "users": [{ "name": user, "user": {
            "client-certificate-data": data(&pair.certificate)?,
            "client-key-data": data(&pair.key)?,
        } }],
        "contexts": [{ "name": "local", "context": { "cluster": "local", "user": user } }],
        "current-context": "local",
    });
    // Each value on a line of its own: scripts read them with line tools.
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    let text = serde_saphyr::to_string_with_options(&config, options).map_err(|error| {
        ClusterError::File { path: file.to_path_buf(), detail: error.to_string() }
    })?;
    files::write_private(file, text.as_bytes())
}

/// Text in the base64 of Kubernetes' byte fields.
pub(super) fn base64(text: &str) -> serde_json::Value {
    json!(ByteString(text.as_bytes().to_vec()))
}
