//! Reads what a container prints, to its end.

use std::time::Duration;

use dispatch_container::said::{Said, Saying};
use futures::{AsyncBufReadExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod as KubePod;
use kube::Api;
use kube::api::LogParams;
use tokio::time::{MissedTickBehavior, interval};

use super::Pod;

/// How long to wait before a log is read again that broke off.
const RETRY: Duration = Duration::from_millis(200);

/// Reads what the container of a pod prints, each line once, and returns when it has ended.
pub(super) async fn read(api: &Api<KubePod>, pod: &Pod, mut take: impl FnMut(Said)) {
    let mut retry = interval(RETRY);
    retry.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut lines = 0;
    let mut ends = false;
    loop {
        retry.tick().await;
        let mut each = |line: &str| match serde_json::from_str::<Said>(line) {
            Ok(said) => {
                ends |= said.what == Saying::Ends;
                take(said);
            }
            Err(error) => tracing::warn!(pod = pod.name, line, %error, "a container's line"),
        };
        let read = follow(api, &pod.name, &mut lines, &mut each).await;
        if let Err(error) = &read {
            tracing::info!(pod = pod.name, %error, "its log, to be read again");
        }
        // A log that is cut off ends like that of a container that has ended.
        if ends || has_ended(api, pod).await {
            return;
        }
    }
}

/// Reads the log from its beginning until it ends, and passes over the lines that were read before.
async fn follow(
    api: &Api<KubePod>,
    name: &str,
    lines: &mut usize,
    each: &mut impl FnMut(&str),
) -> Result<(), String> {
    let params = LogParams { follow: true, ..LogParams::default() };
    let log = api.log_stream(name, &params).await.map_err(|error| error.to_string())?;
    let mut log = std::pin::pin!(log.lines());
    let mut number = 0;
    while let Some(line) = log.try_next().await.map_err(|error| error.to_string())? {
        number += 1;
        if number > *lines {
            *lines = number;
            each(&line);
        }
    }
    Ok(())
}

/// Whether nothing more will come of a pod's container. What cannot be asked is asked again.
async fn has_ended(api: &Api<KubePod>, pod: &Pod) -> bool {
    match api.get_opt(&pod.name).await {
        Ok(Some(found)) => {
            found.metadata.uid.as_deref() != Some(&pod.uid)
                || matches!(
                    found.status.and_then(|status| status.phase).as_deref(),
                    Some("Succeeded" | "Failed")
                )
        }
        Ok(None) => true,
        Err(_) => false,
    }
}
