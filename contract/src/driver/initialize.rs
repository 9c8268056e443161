//! `initialize`: the first request of a conversation.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Config, Mode, Verb};

/// The method of the first request.
pub const INITIALIZE: &str = "initialize";

/// The key of the version, beside those of the configuration.
const VERSION: &str = "protocolVersion";

/// What an adapter is told before anything else: the version of the protocol, and beside it the
/// keys of its configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct InitializeRequest {
    /// [`super::PROTOCOL_VERSION`] of the supervisor.
    pub protocol_version: u32,
    /// The configuration.
    pub config: Config,
}

impl TryFrom<Map<String, Value>> for InitializeRequest {
    type Error = String;

    fn try_from(mut keys: Map<String, Value>) -> Result<Self, String> {
        let version = keys.remove(VERSION).ok_or_else(|| format!("missing field `{VERSION}`"))?;
        let of_version = |error| format!("{VERSION}: {error}");
        let protocol_version = serde_json::from_value(version).map_err(of_version)?;
        let config = serde_json::from_value(Value::Object(keys));
        Ok(Self { protocol_version, config: config.map_err(|error| error.to_string())? })
    }
}

impl From<InitializeRequest> for Map<String, Value> {
    fn from(request: InitializeRequest) -> Self {
        let mut keys = match serde_json::to_value(request.config) {
            Ok(Value::Object(keys)) => keys,
            // A configuration is an object with keys of its own, whatever it holds.
            _ => Self::new(),
        };
        keys.insert(VERSION.to_owned(), request.protocol_version.into());
        keys
    }
}

/// What an adapter answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InitializeAnswer {
    /// The implementation's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The modes that it has.
    pub modes: Vec<Mode>,
    /// The calls that it has.
    pub calls: Vec<Verb>,
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn request() -> InitializeRequest {
        InitializeRequest { protocol_version: 1, config: Config::kueue("jobs", "q", "dispatch") }
    }

    #[test]
    fn the_keys_of_the_configuration_stand_beside_the_version() {
        let written = serde_json::to_value(request()).unwrap();
        assert_eq!(written["protocolVersion"], 1);
        assert_eq!(written["namespace"], "jobs");
        assert_eq!(serde_json::from_value::<InitializeRequest>(written).unwrap(), request());
    }

    #[rstest]
    #[case::no_version(json!({"namespace": "n"}), "missing field `protocolVersion`")]
    #[case::odd_version(json!({"protocolVersion": "one"}), "protocolVersion: ")]
    #[case::no_namespace(json!({"protocolVersion": 1}), "namespace")]
    #[case::unknown_key(json!({"protocolVersion": 1, "namespace": "n", "nope": 1}), "nope")]
    fn what_is_wrong_is_named(#[case] written: Value, #[case] part: &str) {
        let error = serde_json::from_value::<InitializeRequest>(written).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}
