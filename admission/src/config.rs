//! What the controller is told: the keys of its configuration file, each with a flag of its own.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use dispatch_contract::{duration_text, names};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The configuration of the controller. Unknown keys are refused; every key may be left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// The controller serves every `AdmissionCheck` that names it so (RG-14).
    pub controller_name: String,
    /// The one namespace whose Workloads are served; all of them unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The Lease by which replicas save each other work, and adapters see that one is alive.
    pub lease: Lease,
    /// The name of this replica in the Lease; unless given, that of its machine and a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// How many Workloads are decided at a time.
    pub concurrency: u16,
    /// How long the controller waits.
    pub timeouts: Timeouts,
    /// After how long a Workload that waits is looked at again without any event.
    #[serde(with = "duration_text")]
    pub resync: Duration,
    /// Where `/healthz`, `/readyz` and `/metrics` are served. Port 0 is a free one.
    pub listen: SocketAddr,
    /// A file to which that address is written, once it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoints_file: Option<PathBuf>,
    /// The kubeconfig; KUBECONFIG, or the `ServiceAccount` of the pod, unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            controller_name: names::CONTROLLER.to_owned(),
            namespace: None,
            lease: Lease::default(),
            identity: None,
            concurrency: 64,
            timeouts: Timeouts::default(),
            resync: Duration::from_mins(5),
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            endpoints_file: None,
            kubeconfig: None,
        }
    }
}

/// The Lease of the controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Lease {
    /// Its name.
    pub name: String,
    /// The namespace of the controller.
    pub namespace: String,
    /// For how long a claim holds without being renewed. 15 s unless given.
    #[serde(with = "duration_text")]
    pub duration: Duration,
    /// How often the holder renews it, and another looks at it. 5 s unless given.
    #[serde(with = "duration_text")]
    pub renew: Duration,
}

impl Default for Lease {
    fn default() -> Self {
        Self {
            name: names::LEASE.to_owned(),
            namespace: "dispatch-system".to_owned(),
            duration: Duration::from_secs(15),
            renew: Duration::from_secs(5),
        }
    }
}

/// How long the controller waits, each a text such as `10s` or `2m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Timeouts {
    /// For the answer to one request; a write without an answer by then is of unknown outcome
    /// (CA-05). 10 s unless given.
    #[serde(with = "duration_text")]
    pub request: Duration,
    /// For Trainer to hand a raised A on to the `JobSet` (RG-17). 20 s unless given.
    #[serde(with = "duration_text")]
    pub takeover: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { request: Duration::from_secs(10), takeover: Duration::from_secs(20) }
    }
}

/// A configuration cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {}", path.display())]
    Read {
        /// Where it is.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The text is not a configuration.
    #[error("the configuration {} cannot be used: {reason}", path.display())]
    Parse {
        /// Where it is.
        path: PathBuf,
        /// What is wrong, with line and column.
        reason: String,
    },
    /// A key has a value that cannot be.
    #[error("configuration: `{key}` {reason}")]
    Key {
        /// The key.
        key: &'static str,
        /// What is wrong.
        reason: &'static str,
    },
}

impl Config {
    /// Reads a configuration file (YAML or JSON).
    pub fn from_file(path: &Path) -> Result<Self, ConfigError> {
        let text = fs_err::read_to_string(path)
            .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        serde_saphyr::from_str(&text).map_err(|error| ConfigError::Parse {
            path: path.to_owned(),
            reason: error.to_string(),
        })
    }

    /// Checks what the types do not: that no name is blank, and that a claim outlives the time
    /// between two renewals.
    pub fn check(&self) -> Result<(), ConfigError> {
        let key = |key, reason| Err(ConfigError::Key { key, reason });
        let blank = |text: &str| text.trim().is_empty();
        if blank(&self.controller_name) {
            return key("controllerName", "is empty");
        }
        if self.namespace.as_deref().is_some_and(blank) {
            return key("namespace", "is empty; leave it out for all namespaces");
        }
        if self.identity.as_deref().is_some_and(blank) {
            return key("identity", "is empty");
        }
        if blank(&self.lease.name) || blank(&self.lease.namespace) {
            return key("lease", "needs a name and a namespace");
        }
        if self.lease.renew.is_zero() || self.lease.renew >= self.lease.duration {
            return key(
                "lease.renew",
                "has to be longer than nothing and shorter than the duration",
            );
        }
        if self.lease.duration.as_secs() == 0 || self.lease.duration.subsec_nanos() != 0 {
            return key("lease.duration", "has to be of whole seconds, one at least");
        }
        if self.concurrency == 0 {
            return key("concurrency", "is zero; nothing would be decided");
        }
        if self.timeouts.request.is_zero() {
            return key("timeouts.request", "is zero; no request could be answered");
        }
        if self.timeouts.takeover.is_zero() || self.resync.is_zero() {
            return key("timeouts.takeover", "and `resync` have to be longer than nothing");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::nothing("{}", Ok(Config::default()))]
    #[case::some(
        "controllerName: a.io/b\nlease: {duration: 3s, renew: 1s}\nlisten: 127.0.0.1:0\n",
        Ok(Config {
            controller_name: "a.io/b".into(),
            lease: Lease {
                duration: Duration::from_secs(3),
                renew: Duration::from_secs(1),
                ..Lease::default()
            },
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            ..Config::default()
        }))]
    #[case::unknown_key("controlerName: a.io/b", Err("unknown field"))]
    #[case::unknown_key_below("lease: {renews: 1s}", Err("unknown field"))]
    #[case::no_unit("resync: 300", Err("duration"))]
    fn a_file_has_known_keys_only(#[case] text: &str, #[case] expected: Result<Config, &str>) {
        let read = serde_saphyr::from_str::<Config>(text).map_err(|error| error.to_string());
        match (read, expected) {
            (Ok(read), Ok(expected)) => assert_eq!(read, expected),
            (Err(read), Err(expected)) => assert!(read.contains(expected), "{read}"),
            (read, expected) => panic!("{read:?}, not {expected:?}"),
        }
    }

    #[rstest]
    #[case::the_defaults("{}", None)]
    #[case::blank_name("controllerName: ' '", Some("controllerName"))]
    #[case::renewed_too_late("lease: {duration: 3s, renew: 3s}", Some("lease.renew"))]
    #[case::part_of_a_second("lease: {duration: 1500ms, renew: 1s}", Some("lease.duration"))]
    #[case::nothing_at_a_time("concurrency: 0", Some("concurrency"))]
    fn values_that_cannot_be_are_named(#[case] text: &str, #[case] expected: Option<&str>) {
        let config: Config = serde_saphyr::from_str(text).unwrap();
        let found = config.check().err().map(|error| match error {
            ConfigError::Key { key, .. } => key.to_owned(),
            other => other.to_string(),
        });
        assert_eq!(found.as_deref(), expected);
    }
}
