//! The way on which a component's requests are led.

use serde::{Deserialize, Serialize};

/// A server that a component speaks to in place of the API server, and that passes on what it
/// hears, with the component's own bearer token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeadThrough {
    /// Its URL, such as `https://127.0.0.1:40001`.
    pub server: String,
    /// The authority that signed its certificate, PEM.
    pub certificate_authority: String,
}
