//! The bearer tokens by which the components are known to the API server.
//!
//! Not client certificates: a component that is led through a proxy presents its credentials
//! there, and only a token can be passed on.

use super::components::{ALL, Component};
use crate::cluster::ClusterError;
use rustls::crypto::{SecureRandom, ring};
use std::collections::BTreeMap;
use std::fmt::Write;

/// What every component may do, as on a cluster that was just set up: everything.
const GROUP: &str = "system:masters";

/// A secret for each component that has a kubeconfig.
pub(super) struct Tokens(BTreeMap<Component, String>);

impl Tokens {
    /// Fresh ones.
    pub(super) fn create() -> Result<Self, ClusterError> {
        let random = ring::default_provider().secure_random;
        let clients = ALL.into_iter().filter(|component| component.is_client());
        let tokens = clients.map(|component| Ok((component, token(random)?)));
        tokens.collect::<Result<_, _>>().map(Self)
    }

    /// The clients of the API server, each with its token.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Component, &str)> {
        self.0.iter().map(|(component, token)| (*component, token.as_str()))
    }

    /// The token of a component; none of one that is no client.
    pub(super) fn of(&self, component: Component) -> Option<&str> {
        self.0.get(&component).map(String::as_str)
    }

    /// What the API server reads, a line for each: token, user, UID and groups.
    pub(super) fn file(&self) -> String {
        self.iter().fold(String::new(), |mut text, (component, token)| {
            let (user, uid) = (component.user(), component.name());
            // Writing to a text cannot fail.
            writeln!(text, "{token},{user},{uid},{GROUP}").ok();
            text
        })
    }
}

/// 256 random bits, in hexadecimal.
fn token(random: &dyn SecureRandom) -> Result<String, ClusterError> {
    let mut bytes = [0; 32];
    random.fill(&mut bytes).map_err(|_| ClusterError::Request {
        action: "making a token".to_owned(),
        detail: "the system gives no randomness".to_owned(),
    })?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").ok();
        text
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_client_has_a_token_of_its_own() {
        let tokens = Tokens::create().unwrap();
        let distinct: BTreeSet<_> = tokens.iter().map(|(_, token)| token).collect();
        assert_eq!(distinct.len(), ALL.len() - 2, "etcd and kube-apiserver are no clients");
        assert!(distinct.iter().all(|token| token.len() == 64));
    }

    #[test]
    fn the_api_server_knows_a_component_by_its_user_and_group() {
        let tokens = Tokens([(Component::Kueue, "secret".to_owned())].into());
        assert_eq!(tokens.file(), "secret,kueue-controller-manager,kueue,system:masters\n");
    }
}
