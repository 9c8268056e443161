//! What a container prints: one JSON object a line.

use serde::{Deserialize, Serialize};

/// One line that a container printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Said {
    /// What it said.
    pub what: Saying,
    /// A, as its environment has it; `None` where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admission: Option<String>,
    /// The restart attempt, as its environment has it; `None` where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<String>,
    /// The UID of its pod, as its environment has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    /// The machine that it runs on, by the id of that machine's boot: `up_ms` of two containers can be
    /// compared where it is the same.
    pub machine: String,
    /// How long the machine had been up, in milliseconds, cut to the hundredth of a second before.
    pub up_ms: u64,
}

/// What a container says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Saying {
    /// It began.
    Started,
    /// It is still there. Said every [`crate::life::BEAT`], since one that is killed says no more.
    Alive,
    /// SIGTERM came.
    ToldToStop,
    /// It ends now.
    Ends,
}

impl Saying {
    /// For people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Started => "it began",
            Self::Alive => "it is there",
            Self::ToldToStop => "it was told to stop",
            Self::Ends => "it ends",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let said = Said {
            what: Saying::ToldToStop,
            admission: Some("2".to_owned()),
            restart: None,
            pod: Some("uid".to_owned()),
            machine: "m".to_owned(),
            up_ms: 1230,
        };
        let line = serde_json::to_string(&said).unwrap();
        let expected =
            r#"{"what":"told-to-stop","admission":"2","pod":"uid","machine":"m","upMs":1230}"#;
        assert_eq!(line, expected);
        assert_eq!(serde_json::from_str::<Said>(&line).unwrap(), said);
    }
}
