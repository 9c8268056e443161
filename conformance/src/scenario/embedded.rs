//! The suite's own scenarios, carried in the binary.

use super::Scenario;
use super::load::{LoadError, parse_all};

include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

/// The id and the text of every scenario of the suite, in the order of the ids.
pub fn embedded_sources() -> &'static [(&'static str, &'static str)] {
    SCENARIOS
}

/// Every scenario of the suite. An error is a fault of the suite: its tests read them all.
pub fn embedded() -> Result<Vec<Scenario>, LoadError> {
    let files: Vec<_> =
        SCENARIOS.iter().map(|(id, text)| (*id, format!("scenarios/{id}.yaml"), *text)).collect();
    parse_all(files.iter().map(|(id, file, text)| (*id, file.as_str(), *text)))
}
