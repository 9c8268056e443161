//! What runs are called.

use ulid::Ulid;

/// Whether this is the id of a run: a ULID in lower case.
pub(crate) fn is_run_id(text: &str) -> bool {
    Ulid::from_string(text).is_ok_and(|id| id.to_string().to_ascii_lowercase() == text)
}
