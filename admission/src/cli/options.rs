//! The options: a configuration file, and a flag for each of its keys.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use dispatch_contract::{duration_text, names};

use crate::config::{Config, ConfigError};

/// How the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// A JSON object a line.
    Json,
}

/// The options of the controller. A flag goes before a variable of the environment, and both before the
/// file.
#[derive(Clone, Debug, Default, Args)]
pub struct Options {
    /// A configuration file (YAML)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Serve every AdmissionCheck that names this controller [default: dispatch.phpboyscout.uk/admission]
    #[arg(long, env = names::ENV_CONTROLLER_NAME, value_name = "NAME")]
    pub controller_name: Option<String>,
    /// Serve the Workloads of this namespace only [default: all]
    #[arg(long, env = names::ENV_NAMESPACE, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// The Lease [default: dispatch-admission]
    #[arg(long, env = names::ENV_LEASE_NAME, value_name = "NAME")]
    pub lease_name: Option<String>,
    /// The namespace of the Lease [default: dispatch-system]
    #[arg(long, env = names::ENV_LEASE_NAMESPACE, value_name = "NAMESPACE")]
    pub lease_namespace: Option<String>,
    /// For how long a claim to the Lease holds [default: 15s]
    #[arg(long, env = names::ENV_LEASE_DURATION, value_name = "DURATION", value_parser = duration_text::parse)]
    pub lease_duration: Option<Duration>,
    /// How often the Lease is renewed [default: 5s]
    #[arg(long, env = names::ENV_LEASE_RENEW, value_name = "DURATION", value_parser = duration_text::parse)]
    pub lease_renew: Option<Duration>,
    /// The name of this replica in the Lease [default: the machine's, and a token]
    #[arg(long, env = names::ENV_IDENTITY, value_name = "NAME")]
    pub identity: Option<String>,
    /// How many Workloads are decided at a time [default: 64]
    #[arg(long, value_name = "NUMBER")]
    pub concurrency: Option<u16>,
    /// How long a request may take [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = duration_text::parse)]
    pub request_timeout: Option<Duration>,
    /// How long Trainer may take to hand a raised count on to the JobSet [default: 20s]
    #[arg(long, value_name = "DURATION", value_parser = duration_text::parse)]
    pub takeover_timeout: Option<Duration>,
    /// After how long a Workload that waits is looked at again [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = duration_text::parse)]
    pub resync: Option<Duration>,
    /// Where health and metrics are served; port 0 is a free one [default: 127.0.0.1:8080]
    #[arg(long, env = names::ENV_LISTEN, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// Write that address to a file, once it is known
    #[arg(long, value_name = "FILE")]
    pub endpoints_file: Option<PathBuf>,
    /// The kubeconfig [default: KUBECONFIG, or the ServiceAccount of the pod]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// How the log is written
    #[arg(long, value_enum, default_value_t)]
    pub log_format: LogFormat,
}

impl Options {
    /// The configuration: the file's, or the defaults, with the flags that were given.
    pub fn configuration(self) -> Result<Config, ConfigError> {
        let mut config = match &self.config {
            Some(path) => Config::from_file(path)?,
            None => Config::default(),
        };
        set(&mut config.controller_name, self.controller_name);
        set(&mut config.lease.name, self.lease_name);
        set(&mut config.lease.namespace, self.lease_namespace);
        set(&mut config.lease.duration, self.lease_duration);
        set(&mut config.lease.renew, self.lease_renew);
        set(&mut config.concurrency, self.concurrency);
        set(&mut config.timeouts.request, self.request_timeout);
        set(&mut config.timeouts.takeover, self.takeover_timeout);
        set(&mut config.resync, self.resync);
        set(&mut config.listen, self.listen);
        config.namespace = self.namespace.or(config.namespace);
        config.identity = self.identity.or(config.identity);
        config.endpoints_file = self.endpoints_file.or(config.endpoints_file);
        config.kubeconfig = self.kubeconfig.or(config.kubeconfig);
        config.check()?;
        Ok(config)
    }
}

fn set<T>(value: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *value = given;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_goes_before_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config.yaml");
        fs_err::write(&file, "controllerName: a.io/file\nnamespace: file\n").unwrap();
        let options = Options {
            config: Some(file),
            controller_name: Some("a.io/flag".into()),
            ..Options::default()
        };
        let config = options.configuration().unwrap();
        assert_eq!(config.controller_name, "a.io/flag");
        assert_eq!(config.namespace.as_deref(), Some("file"));
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let options = Options { config: Some("/nowhere/at/all".into()), ..Options::default() };
        let error = options.configuration().unwrap_err().to_string();
        assert_eq!(error, "cannot read the configuration /nowhere/at/all");
    }
}
