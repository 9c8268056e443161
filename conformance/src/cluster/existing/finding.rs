//! What was found that keeps a run from starting, or that it has to live with.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Whether a run can start nevertheless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// It cannot.
    Refusal,
    /// It can, and claims less.
    Warning,
}

/// One thing that was found, with what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Finding {
    /// Whether a run can start nevertheless.
    pub severity: Severity,
    /// Its code, as in the documentation.
    pub code: String,
    /// What is the case.
    pub what: String,
    /// What to do about it; several lines where a command does it.
    pub remedy: String,
}

impl Finding {
    /// Something that keeps a run from starting.
    pub(super) fn refusal(code: &str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(Severity::Refusal, code, what.into(), remedy.into())
    }

    /// Something that a run has to live with.
    pub(super) fn warning(code: &str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, what.into(), remedy.into())
    }

    fn new(severity: Severity, code: &str, what: String, remedy: String) -> Self {
        Self { severity, code: code.to_owned(), what, remedy }
    }

    /// Whether it keeps a run from starting.
    pub fn is_refusal(&self) -> bool {
        self.severity == Severity::Refusal
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.severity {
            Severity::Refusal => "refused",
            Severity::Warning => "warning",
        };
        write!(f, "{word}  {}: {}", self.code, self.what)?;
        for line in self.remedy.lines() {
            write!(f, "\n           {line}")?;
        }
        Ok(())
    }
}
