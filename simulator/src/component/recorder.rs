//! Tells people again what they were told before: as more of the same Event, not as another one
//! (client-go `tools/record/events_cache.go`, `tools/events/event_broadcaster.go`).
//!
//! What the real ones do to spare the API is not done: different messages of one reason are not
//! combined, nobody is silenced for telling too much, and a series is not told again every six minutes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::api::{Failure, Request, Verb};
use crate::object::{name, namespace, text};
use crate::resource::EVENT;

/// What a component has told.
#[derive(Debug, Default)]
pub(super) struct Recorder(BTreeMap<String, Told>);

/// How a request is sent.
#[derive(Debug)]
pub(super) enum Sent {
    AsItIs,
    As(Box<Request>),
    /// Its series says it already.
    NotAtAll,
}

/// An Event that was taken.
#[derive(Debug)]
struct Told {
    namespace: String,
    name: String,
    times: u64,
}

impl Recorder {
    /// How a request is sent: an Event that was told before changes the first one.
    pub(super) fn sent(&self, request: &Request) -> Sent {
        let Some((key, event)) = told(request) else { return Sent::AsItIs };
        let Some(before) = self.0.get(&key) else { return Sent::AsItIs };
        let times = before.times + 1;
        let patch = if !is_of_a_series(event) {
            let [last, message] = ["lastTimestamp", "message"].map(|it| &event[it]);
            json!({"count": times, "lastTimestamp": last, "message": message})
        } else if times == 2 {
            json!({"series": {"count": times, "lastObservedTime": event["eventTime"]}})
        } else {
            return Sent::NotAtAll;
        };
        let patch = Request::strategic_patch(EVENT, &before.namespace, &before.name, patch);
        Sent::As(Box::new(patch))
    }

    /// Takes in what became of an Event that was to be told.
    pub(super) fn answered(&mut self, asked: &Request, answer: &Result<&Value, Failure>) {
        let (Some((key, event)), Ok(_)) = (told(asked), answer) else { return };
        let (namespace, name) = (namespace(event).to_owned(), name(event).to_owned());
        self.0.entry(key).or_insert(Told { namespace, name, times: 0 }).times += 1;
    }
}

/// The Event that a request tells, and what makes it the same as another.
fn told(request: &Request) -> Option<(String, &Value)> {
    let Verb::Create(event, _) = &request.verb else { return None };
    if request.resource != EVENT {
        return None;
    }
    // Events of a series are about one version, whatever they say of it.
    let same = if is_of_a_series(event) {
        ["/involvedObject/resourceVersion", "/action"]
    } else {
        ["/message", "/source/component"]
    };
    let always = ["/involvedObject/uid", "/type", "/reason", "/reportingComponent"];
    let parts: Vec<_> = always.iter().chain(&same).map(|at| text(event, at)).collect();
    Some((parts.join("\n"), event))
}

/// Whether it is of the newer kind.
fn is_of_a_series(event: &Value) -> bool {
    !event["eventTime"].is_null()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Told, event, newer_event};
    use crate::testing::at;

    fn about(version: &str) -> Value {
        json!({"metadata": {
            "name": "a", "namespace": "n", "uid": "u", "resourceVersion": version,
        }})
    }

    fn warning(message: &str) -> Told<'_> {
        Told { warning: true, reason: "Failed", message, component: "c" }
    }

    /// What is sent of Events that are all taken.
    fn sent(events: Vec<Request>) -> Vec<Option<(bool, Value)>> {
        let mut recorder = Recorder::default();
        let tell = |event: Request| {
            let sent = recorder.sent(&event);
            recorder.answered(&event, &Ok(&Value::Null));
            match (sent, event.verb) {
                (Sent::AsItIs, Verb::Create(event, _)) => Some((true, event)),
                (Sent::As(request), _) => match request.verb {
                    Verb::StrategicPatch(patch, _) => Some((false, patch)),
                    other => panic!("{other:?}"),
                },
                (Sent::NotAtAll, _) => None,
                other => panic!("{other:?}"),
            }
        };
        events.into_iter().map(tell).collect()
    }

    #[test]
    fn an_event_of_the_core_that_is_told_again_counts() {
        let tell = |version, message, second| event(&about(version), warning(message), at(second));
        let all =
            sent(vec![tell("1", "m", 0), tell("2", "m", 1), tell("2", "n", 2), tell("3", "m", 3)]);
        let told: Vec<_> = all.into_iter().flatten().collect();
        let created: Vec<bool> = told.iter().map(|(created, _)| *created).collect();
        assert_eq!(created, [true, false, true, false]);
        let last = crate::object::seconds(at(3));
        assert_eq!(told[3].1, json!({"count": 3, "lastTimestamp": last, "message": "m"}));
    }

    #[test]
    fn an_event_of_the_newer_kind_is_a_series_while_its_object_is_the_same() {
        let tell = |version, message, second| {
            newer_event(&about(version), warning(message), "Act", "m", at(second))
        };
        let all =
            sent(vec![tell("1", "m", 0), tell("1", "n", 1), tell("1", "m", 2), tell("2", "m", 3)]);
        let created: Vec<_> =
            all.iter().map(|it| it.as_ref().map(|(created, _)| *created)).collect();
        assert_eq!(created, [Some(true), Some(false), None, Some(true)]);
        let observed = crate::object::microseconds(at(1));
        let series = json!({"series": {"count": 2, "lastObservedTime": observed}});
        assert_eq!(all[1].as_ref().map(|(_, patch)| patch), Some(&series));
    }
}
