//! Time that passes in the cluster.

use std::time::Duration;

/// Takes as long as something takes in a real cluster.
#[expect(
    clippy::disallowed_methods,
    reason = "what is simulated is the time itself: nobody waits here for somebody else's work"
)]
pub(super) async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}
