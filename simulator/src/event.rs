//! Events: what controllers tell people.

use serde_json::{Value, json};

use crate::api::Request;
use crate::object::{microseconds, name, namespace, resource_version, seconds, text, uid};
use crate::resource::EVENT;

/// What is told.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// Whether it is a warning.
    pub warning: bool,
    /// The machine's reason.
    pub reason: &'a str,
    /// For people.
    pub message: &'a str,
    /// Who tells it.
    pub component: &'static str,
}

/// An Event of the core's own kind (client-go `tools/record`).
pub fn event(about: &Value, told: Told<'_>, now: jiff::Timestamp) -> Request {
    let at = seconds(now);
    let mut event = base(about, told, now);
    event["count"] = 1.into();
    event["firstTimestamp"] = at.clone().into();
    event["lastTimestamp"] = at.into();
    event["source"] = json!({"component": told.component});
    Request::create(EVENT, event, "")
}

/// An Event of the newer kind (client-go `tools/events`), as the core shows it.
pub fn newer_event(
    about: &Value,
    told: Told<'_>,
    action: &str,
    manager: &str,
    now: jiff::Timestamp,
) -> Request {
    let mut event = base(about, told, now);
    event["action"] = action.into();
    event["eventTime"] = microseconds(now).into();
    event["reportingInstance"] = format!("{}-0", told.component).into();
    Request::create(EVENT, event, manager)
}

fn base(about: &Value, told: Told<'_>, now: jiff::Timestamp) -> Value {
    // Objects without a namespace tell in the one named default (client-go, `makeEvent`).
    let namespace = match namespace(about) {
        "" => "default",
        namespace => namespace,
    };
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": event_name(about, told, now), "namespace": namespace},
        "involvedObject": {
            "apiVersion": text(about, "/apiVersion"),
            "kind": text(about, "/kind"),
            "name": name(about),
            "namespace": namespace,
            "resourceVersion": resource_version(about),
            "uid": uid(about),
        },
        "reason": told.reason,
        "message": told.message,
        "type": if told.warning { "Warning" } else { "Normal" },
        "reportingComponent": told.component,
        "reportingInstance": "",
    })
}

/// The object's name, and 16 hexadecimal digits: the real ones are of the time, which here is the same
/// for all that is told at once.
fn event_name(about: &Value, told: Told<'_>, now: jiff::Timestamp) -> String {
    let what = format!("{}/{}/{}/{now}", uid(about), told.reason, told.message);
    let digest = crate::digest::sha1(&what);
    format!("{}.{}", name(about), digest.get(..16).unwrap_or(&digest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Verb;
    use crate::testing::at;

    #[test]
    fn what_is_told_has_a_name_of_its_own_for_each_message_and_time() {
        let job = json!({"metadata": {"name": "a", "namespace": "n", "uid": "u"}});
        let told =
            Told { warning: false, reason: "Suspended", message: "m", component: "job-controller" };
        let other = Told { message: "n", ..told };
        let names = [(told, 0), (told, 1), (other, 0)].map(|(told, second)| {
            let request = event(&job, told, at(second));
            let Verb::Create(event, _) = &request.verb else { panic!("a create") };
            name(event).to_owned()
        });
        assert!(names[0] != names[1] && names[0] != names[2]);
        assert!(names[0].starts_with("a."));
    }
}
