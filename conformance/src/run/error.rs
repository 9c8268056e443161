//! What keeps a scenario from being played.

use thiserror::Error;

/// A scenario could not be played.
#[derive(Debug, Error)]
pub enum RunError {
    /// The engine is not there.
    #[error("scenarios cannot be played")]
    NotYet,
}
