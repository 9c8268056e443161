//! The way to the cluster: a kubeconfig, and a context that somebody has named.

use crate::cluster::ClusterError;
use crate::cluster::local::endpoint::chain;
use crate::shell::quoted;
use base64::prelude::{BASE64_STANDARD, Engine};
use dispatch_kubernetes::client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use std::path::{Path, PathBuf};

/// Which cluster is meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The kubeconfig; those of KUBECONFIG, or `~/.kube/config`, unless given.
    pub kubeconfig: Option<PathBuf>,
    /// The context in it. May be left out only where there is no other.
    pub context: Option<String>,
}

/// A cluster that can be asked.
#[derive(Clone)]
pub struct Access {
    /// The client, with the kubeconfig's credentials. It sends nothing twice by itself.
    pub client: Client,
    /// The context's name.
    pub context: String,
    /// The beginning of a kubectl command that reaches it.
    pub kubectl: String,
    /// The API server's URL.
    pub server: String,
    /// The authority that signed the API server's certificate, PEM.
    pub certificate_authority: String,
}

/// Makes the client. Nothing is sent, unless the kubeconfig names a program that fetches credentials.
pub async fn reach(options: &Options) -> Result<Access, ClusterError> {
    let read = match &options.kubeconfig {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    let unreadable = |error: &dyn std::error::Error| ClusterError::Kubeconfig {
        path: options.kubeconfig.clone(),
        detail: chain(error),
    };
    let kubeconfig = read.map_err(|error| unreadable(&error))?;
    let contexts: Vec<_> = kubeconfig.contexts.iter().map(|named| named.name.clone()).collect();
    let context = chosen(&contexts, options.context.as_deref())?;
    let asked =
        KubeConfigOptions { context: Some(context.clone()), ..KubeConfigOptions::default() };
    let config = Config::from_custom_kubeconfig(kubeconfig, &asked).await;
    let config = config.map_err(|error| unreadable(&error))?;
    let unsupported = |detail: &str| ClusterError::KubeconfigUnsupported {
        context: context.clone(),
        detail: detail.to_owned(),
    };
    let certificate_authority = authority(&config).map_err(unsupported)?;
    let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
    let client = client::from_config(config).map_err(|error| unreadable(&error))?;
    let kubectl = kubectl(options.kubeconfig.as_deref(), &context);
    Ok(Access { client, context, kubectl, server, certificate_authority })
}

/// The beginning of a kubectl command for the same cluster.
fn kubectl(kubeconfig: Option<&Path>, context: &str) -> String {
    let kubeconfig = kubeconfig.map(|path| path.display().to_string());
    let kubeconfig = kubeconfig.map(|path| format!(" --kubeconfig {}", quoted(&path)));
    format!("kubectl{} --context {}", kubeconfig.unwrap_or_default(), quoted(context))
}

/// The context that is meant. The current one is whatever somebody used last, and never taken.
fn chosen(contexts: &[String], asked: Option<&str>) -> Result<String, ClusterError> {
    match (asked, contexts) {
        (Some(name), _) if contexts.iter().any(|context| context == name) => Ok(name.to_owned()),
        (Some(name), _) => {
            Err(ClusterError::NoContext { name: name.to_owned(), contexts: contexts.to_vec() })
        }
        (None, [only]) => Ok(only.clone()),
        (None, _) => Err(ClusterError::ContextNotNamed { contexts: contexts.to_vec() }),
    }
}

/// The authority, PEM, of a cluster that the subjects can reach too: they do so by a proxy that knows
/// the API server by its URL and its authority alone.
fn authority(config: &Config) -> Result<String, &'static str> {
    if config.accept_invalid_certs {
        return Err("it has `insecure-skip-tls-verify`");
    }
    if config.proxy_url.is_some() {
        return Err("it has a `proxy-url`");
    }
    if config.tls_server_name.is_some() {
        return Err("it has a `tls-server-name`");
    }
    let certificates = config.root_cert.as_deref().unwrap_or_default();
    if certificates.is_empty() {
        return Err("it names no certificate authority");
    }
    Ok(certificates.iter().map(|der| pem(der)).collect())
}

fn pem(der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let mut lines = String::from("-----BEGIN CERTIFICATE-----\n");
    for (place, character) in text.chars().enumerate() {
        if place > 0 && place % 64 == 0 {
            lines.push('\n');
        }
        lines.push(character);
    }
    lines.push_str("\n-----END CERTIFICATE-----\n");
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::named(&["a", "b"], Some("b"), Ok("b"))]
    #[case::the_only_one(&["a"], None, Ok("a"))]
    #[case::one_of_several(&["a", "b"], None, Err("context_not_named"))]
    #[case::unknown(&["a"], Some("b"), Err("no_context"))]
    #[case::none(&[], None, Err("context_not_named"))]
    fn a_context_is_named_or_the_only_one(
        #[case] contexts: &[&str],
        #[case] asked: Option<&str>,
        #[case] expected: Result<&str, &str>,
    ) {
        use miette::Diagnostic;
        let contexts: Vec<_> = contexts.iter().map(|&it| it.to_owned()).collect();
        let found = chosen(&contexts, asked);
        let code = |error: &ClusterError| error.code().unwrap().to_string();
        let found = found.as_deref().map_err(code);
        let expected = expected.map_err(|code| format!("cluster::{code}"));
        assert_eq!(found, expected);
    }

    #[rstest]
    #[case::insecure(|it: &mut Config| it.accept_invalid_certs = true, "insecure")]
    #[case::by_a_proxy(|it: &mut Config| it.proxy_url = Some("http://p".parse().unwrap()), "proxy-url")]
    #[case::by_another_name(|it: &mut Config| it.tls_server_name = Some("x".into()), "server-name")]
    #[case::public(|it: &mut Config| it.root_cert = None, "certificate authority")]
    fn a_server_that_subjects_could_not_reach_is_refused(
        #[case] change: fn(&mut Config),
        #[case] why: &str,
    ) {
        let mut config = Config::new("https://k.example".parse().unwrap());
        config.root_cert = Some(vec![vec![1; 100]]);
        assert!(authority(&config).is_ok());
        change(&mut config);
        assert!(authority(&config).unwrap_err().contains(why));
    }

    #[test]
    fn an_authority_is_written_as_it_was_read() {
        use rustls::pki_types::CertificateDer;
        use rustls::pki_types::pem::PemObject;
        let der: Vec<u8> = (0..=255).collect();
        let read = CertificateDer::from_pem_slice(pem(&der).as_bytes()).unwrap();
        assert_eq!(read.as_ref(), der);
    }
}
