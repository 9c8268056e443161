//! Tells a container what to do, at its port, by way of the API server.

use std::time::Duration;

use dispatch_container::PORT;
use kube::Client;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

use super::Pod;
use crate::kubelet::Ending;

/// How long it may take until a container has been told.
const LIMIT: Duration = Duration::from_secs(15);

/// How long to wait before trying again what failed.
const RETRY: Duration = Duration::from_millis(200);

/// For how long SIGTERM is ignored by one that lingers, in seconds: longer than a scenario needs it, and
/// not as long as its grace period, so that nothing of a run that was killed stays for ever.
const LINGER_S: u32 = 120;

/// The grace period of every pod, in seconds.
pub(crate) const GRACE_S: u32 = LINGER_S + 30;

/// What a container is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// To ignore SIGTERM until it is let go.
    Linger,
    /// To ignore it no longer.
    LetGo,
    /// To end.
    End(Ending),
}

impl Word {
    fn path(self) -> String {
        match self {
            Self::Linger => format!("linger/{LINGER_S}"),
            Self::LetGo => "let-go".to_owned(),
            Self::End(ending) => format!("end/{}", ending.exit_code()),
        }
    }
}

/// A container could not be told what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the container of pod {pod} could not be told `{path}` within {LIMIT:?}: {why}")]
pub struct NotTold {
    pod: String,
    path: String,
    why: String,
}

/// Tells it, and returns when it has heard it. One whose pod is gone need not hear it.
pub(super) async fn tell(
    client: &Client,
    namespace: &str,
    pod: &Pod,
    word: Word,
) -> Result<(), NotTold> {
    let path = word.path();
    let uri = format!("/api/v1/namespaces/{namespace}/pods/{}:{PORT}/proxy/{path}", pod.name);
    let deadline = Instant::now() + LIMIT;
    let mut retry = interval(RETRY);
    retry.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut why = "no answer".to_owned();
    loop {
        let asked = async {
            retry.tick().await;
            let request = http::Request::post(&uri).body(Vec::new());
            let request = request.map_err(|error| error.to_string())?;
            match client.request_text(request).await {
                // The pod is gone: nobody reaches its container any more, and its kubelet ends it.
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
                told => told.map(drop).map_err(|error| error.to_string()),
            }
        };
        match timeout_at(deadline, asked).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => why = error,
            Err(_) => return Err(NotTold { pod: pod.name.clone(), path, why }),
        }
    }
}
