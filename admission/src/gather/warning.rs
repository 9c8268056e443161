//! What Trainer last warned of about an object: why a `JobSet` does not take A over is said nowhere
//! else.

use dispatch_contract::resources::TrainJob;
use dispatch_kubernetes::request::{Limits, Request, send};
use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

/// How much of the beginning and of the end of the warning is told, in characters: Trainer's own may
/// hold a whole `JobSet` between what failed and why.
const AT_EACH_END: usize = 200;

/// The last warning about the object; `None` where there is none, or events cannot be read: they
/// explain, and nothing depends on them.
pub(super) async fn last(client: &Client, limits: Limits, trainjob: &TrainJob) -> Option<String> {
    let namespace = trainjob.namespace().unwrap_or_default();
    let uid = trainjob.uid().unwrap_or_default();
    let fields = format!("involvedObject.uid={uid},type=Warning");
    let api = Api::<Event>::namespaced(client.clone(), &namespace);
    let request = Request::new("list", "events", format!("in namespace {namespace}"));
    let listed = send(limits, request, api.list(&ListParams::default().fields(&fields))).await;
    match listed {
        Ok(events) => latest(events.items),
        Err(error) => {
            tracing::debug!(%error, "the events of an object cannot be read");
            None
        }
    }
}

fn latest(events: Vec<Event>) -> Option<String> {
    let when = |event: &Event| {
        let observed = event.series.as_ref().and_then(|series| series.last_observed_time.as_ref());
        let last = event.last_timestamp.as_ref().map(|time| time.0);
        last.max(event.event_time.as_ref().map(|time| time.0)).max(observed.map(|time| time.0))
    };
    let message = events.into_iter().max_by_key(when)?.message?;
    Some(shortened(&message))
}

fn shortened(message: &str) -> String {
    let characters: Vec<char> = message.chars().collect();
    if characters.len() <= 2 * AT_EACH_END {
        return message.to_owned();
    }
    let (beginning, end) =
        (&characters[..AT_EACH_END], &characters[characters.len() - AT_EACH_END..]);
    beginning.iter().chain(&['…']).chain(end).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(message: &str, last: Option<&str>, event: Option<&str>) -> Event {
        serde_json::from_value(json!({"metadata": {}, "involvedObject": {}, "message": message,
            "lastTimestamp": last, "eventTime": event}))
        .unwrap()
    }

    #[test]
    fn the_latest_warning_is_told_whichever_way_its_time_is_written() {
        let events = vec![
            event("old", Some("2026-01-01T00:00:00Z"), None),
            event("new", None, Some("2026-01-03T00:00:00.000000Z")),
            event("between", Some("2026-01-02T00:00:00Z"), None),
        ];
        assert_eq!(latest(events).as_deref(), Some("new"));
        assert_eq!(latest(vec![]), None);
    }

    #[test]
    fn a_long_warning_keeps_its_beginning_and_its_end() {
        let told = shortened(&format!("denied{}immutable", "ü".repeat(1000)));
        assert!(told.starts_with("denied") && told.ends_with("immutable"), "{told}");
        assert_eq!(told.chars().count(), 2 * AT_EACH_END + 1);
    }
}
