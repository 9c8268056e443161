//! Kubeconfig files, whole in themselves.

use super::certificates::Pair;
use super::files;
use crate::cluster::ClusterError;
use fs_err as fs;
use k8s_openapi::ByteString;
use serde_json::{Value, json};
use std::path::Path;

/// How a client proves who it is.
pub(super) enum Login<'a> {
    /// By a certificate, for which the connection has to reach the API server as it is.
    Certificate(&'a Pair),
    /// By a bearer token.
    Token(&'a str),
}

impl Login<'_> {
    fn user(&self) -> Result<Value, ClusterError> {
        let data = |path: &Path| {
            fs::read(path).map(ByteString).map_err(|error| ClusterError::io(path, &error))
        };
        Ok(match self {
            Self::Certificate(pair) => json!({
                "client-certificate-data": data(&pair.certificate)?,
                "client-key-data": data(&pair.key)?,
            }),
            Self::Token(token) => json!({ "token": token }),
        })
    }
}

/// Writes a kubeconfig for one server and one user.
pub(super) fn write(
    file: &Path,
    server: &str,
    authority_pem: &str,
    user: &str,
    login: &Login<'_>,
) -> Result<(), ClusterError> {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "local", "cluster": {
            "server": server,
            "certificate-authority-data": base64(authority_pem),
        } }],
        "users": [{ "name": user, "user": login.user()? }],
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
pub(super) fn base64(text: &str) -> Value {
    json!(ByteString(text.as_bytes().to_vec()))
}
