//! What goes wrong with a kubelet.

use std::time::Duration;

use thiserror::Error;

/// The virtual nodes could not be made, kept or removed.
#[derive(Debug, Error)]
pub enum KubeletError {
    /// The API server refused a request.
    #[error("could not {what} of virtual node `{node}`")]
    Request {
        /// What was asked for.
        what: &'static str,
        /// The node.
        node: String,
        /// The answer.
        #[source]
        source: Box<kube::Error>,
    },
    /// The API server did not answer in time.
    #[error("could not {what} of virtual node `{node}`: no answer within {limit:?}")]
    Limit {
        /// What was asked for.
        what: &'static str,
        /// The node.
        node: String,
        /// The time limit.
        limit: Duration,
    },
}
