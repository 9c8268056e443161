//! What an adapter is told: the keys of `initialize`, which are those of its configuration file
//! too.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{duration_text, names};

/// The configuration of an adapter. Unknown keys are refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// The namespace of all objects of this adapter.
    pub namespace: String,
    /// Who admits objects.
    #[serde(default)]
    pub mode: Mode,
    /// The `LocalQueue` of an object whose Start names none. Kueue mode only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The name of the `AdmissionCheck` that every Workload has to list (SG-05). Kueue mode only,
    /// and needed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admission_check: Option<String>,
    /// The controller that the `AdmissionCheck` has to name (PF-06).
    #[serde(default = "default_controller_name")]
    pub controller_name: String,
    /// The controller's Lease (PF-04).
    #[serde(default)]
    pub lease: LeaseRef,
    /// Whether the start gate is to be proved before anything is started.
    #[serde(default)]
    pub preflight: Preflight,
    /// How long the adapter waits.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// The kubeconfig; KUBECONFIG, or the `ServiceAccount` of the pod, unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<PathBuf>,
}

/// Who admits objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Kueue, by quota; the start gate is an entry in its gate annotation.
    #[default]
    Kueue,
    /// Nobody; the start gate is `spec.suspend`.
    Plain,
}

/// Where the controller's Lease is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LeaseRef {
    /// Its name.
    pub name: String,
    /// The namespace of the controller.
    pub namespace: String,
}

impl Default for LeaseRef {
    fn default() -> Self {
        Self { name: names::LEASE.to_owned(), namespace: "dispatch-system".to_owned() }
    }
}

/// Whether the start gate is to be proved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preflight {
    /// Start, Open and Release are refused until preflight has proved it.
    #[default]
    Required,
    /// It is taken for granted, which the adapter says in its log.
    Assumed,
}

/// How long the adapter waits, each a text such as `10s` or `2m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Timeouts {
    /// For the answer to one request; a write without an answer by then is of unknown outcome
    /// (CA-05). 10 s unless given.
    #[serde(with = "duration_text")]
    pub request: Duration,
    /// For Kueue to make a Workload that carries the gate and lists the check (SG-05, CA-01).
    /// 30 s unless given.
    #[serde(with = "duration_text")]
    pub workload: Duration,
    /// For the pods of an object to go, in Release and Stop (CA-02, CA-03). 120 s unless given.
    #[serde(with = "duration_text")]
    pub release: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            request: Duration::from_secs(10),
            workload: Duration::from_secs(30),
            release: Duration::from_mins(2),
        }
    }
}

/// A key of a configuration is missing, or has a value that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("configuration: `{key}` {reason}")]
pub struct InvalidConfig {
    /// The key.
    pub key: &'static str,
    /// What is wrong.
    pub reason: &'static str,
}

impl Config {
    /// A configuration for Kueue mode with the defaults for everything else.
    pub fn kueue(namespace: &str, queue: &str, admission_check: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            mode: Mode::Kueue,
            queue: Some(queue.to_owned()),
            admission_check: Some(admission_check.to_owned()),
            controller_name: default_controller_name(),
            lease: LeaseRef::default(),
            preflight: Preflight::default(),
            timeouts: Timeouts::default(),
            kubeconfig: None,
        }
    }

    /// Checks what the types do not: that Kueue mode has its check, and that no name is blank.
    pub fn check(&self) -> Result<(), InvalidConfig> {
        let key = |key, reason| Err(InvalidConfig { key, reason });
        let blank = |text: &str| text.trim().is_empty();
        if blank(&self.namespace) {
            return key("namespace", "is empty");
        }
        if self.mode == Mode::Kueue {
            match self.admission_check.as_deref() {
                None => return key("admissionCheck", "is missing; Kueue mode needs it"),
                Some(name) if blank(name) => return key("admissionCheck", "is empty"),
                Some(_) => {}
            }
            if self.queue.as_deref().is_some_and(blank) {
                return key("queue", "is empty");
            }
        }
        if blank(&self.controller_name) {
            return key("controllerName", "is empty");
        }
        if self.timeouts.request.is_zero() {
            return key("timeouts.request", "is zero; no request could be answered");
        }
        Ok(())
    }
}

fn default_controller_name() -> String {
    names::CONTROLLER.to_owned()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_left_out_has_its_default() {
        let written = json!({"namespace": "jobs", "admissionCheck": "dispatch", "queue": "q"});
        let config: Config = serde_json::from_value(written).unwrap();
        assert_eq!(config, Config::kueue("jobs", "q", "dispatch"));
        assert_eq!(config.check(), Ok(()));
    }

    #[test]
    fn a_configuration_is_written_as_it_is_read() {
        let mut config = Config::kueue("jobs", "q", "dispatch");
        config.timeouts.release = Duration::from_millis(1500);
        config.kubeconfig = Some("/kubeconfig".into());
        let written = serde_json::to_value(&config).unwrap();
        assert_eq!(serde_json::from_value::<Config>(written).unwrap(), config);
    }

    #[rstest]
    #[case::namespace(json!({"namespace": " ", "admissionCheck": "c"}), "namespace")]
    #[case::no_check(json!({"namespace": "n"}), "admissionCheck")]
    #[case::blank_check(json!({"namespace": "n", "admissionCheck": ""}), "admissionCheck")]
    #[case::blank_queue(json!({"namespace": "n", "admissionCheck": "c", "queue": ""}), "queue")]
    #[case::no_time(
        json!({"namespace": "n", "admissionCheck": "c", "timeouts": {"request": "0s"}}),
        "timeouts.request")]
    fn a_value_that_cannot_be_is_named_by_its_key(
        #[case] written: serde_json::Value,
        #[case] key: &str,
    ) {
        let config: Config = serde_json::from_value(written).unwrap();
        assert_eq!(config.check().unwrap_err().key, key);
    }
}
