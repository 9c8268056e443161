//! Kubeconfig files, whole in themselves.

use super::certificates::Pair;
use super::files;
use crate::cluster::ClusterError;
use fs_err as fs;
use k8s_openapi::ByteString;
use serde_json::{Value, json};
use std::path::Path;

/// How a client proves who it is.
pub(in crate::cluster) enum Login<'a> {
    /// By a certificate, for which the connection has to reach the API server as it is.
    Certificate(&'a Pair),
    /// By a bearer token.
    Token(&'a str),
    /// By the bearer token in a file.
    TokenFile(&'a str),
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
            Self::TokenFile(path) => json!({ "tokenFile": path }),
        })
    }
}

/// Writes a kubeconfig for one server and one user.
pub(in crate::cluster) fn write(
    file: &Path,
    server: &str,
    authority_pem: &str,
    user: &str,
    login: &Login<'_>,
) -> Result<(), ClusterError> {
    let text = text(server, authority_pem, user, login)?;
    files::write_private(file, text.as_bytes())
}

/// The text of a kubeconfig for one server and one user.
pub(in crate::cluster) fn text(
    server: &str,
    authority_pem: &str,
    user: &str,
    login: &Login<'_>,
) -> Result<String, ClusterError> {
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
    serde_saphyr::to_string_with_options(&config, options).map_err(|error| ClusterError::Request {
        action: "writing a kubeconfig".to_owned(),
        detail: error.to_string(),
    })
}

/// Text in the base64 of Kubernetes' byte fields.
pub(in crate::cluster) fn base64(text: &str) -> Value {
    json!(ByteString(text.as_bytes().to_vec()))
}
