//! Those who have a say in writes.

use serde_json::json;

use super::super::{Denied, Lookup, Operation, Review};
use super::*;
use crate::component::Component;
use crate::resource::CONFIG_MAP;

/// Marks what is written, and refuses what says so.
struct Marks(&'static str, Option<Component>);

impl Webhook for Marks {
    fn name(&self) -> &'static str {
        self.0
    }

    fn component(&self) -> Option<Component> {
        self.1
    }

    fn looks_at(&self, review: &Review<'_>) -> bool {
        review.resource == CONFIG_MAP
    }

    fn mutate(
        &self,
        review: &Review<'_>,
        object: &mut Value,
        stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        assert!(stored.get(crate::resource::NAMESPACE, "", "default").is_some());
        if review.operation == Operation::Create {
            let before = object["data"]["marks"].as_str().unwrap_or_default().to_owned();
            object["data"]["marks"] = format!("{before}{}", self.0).into();
        }
        Ok(())
    }

    fn validate(&self, review: &Review<'_>, object: &Value, _: &dyn Lookup) -> Result<(), Denied> {
        let refused = format!("{:?}", review.operation);
        match object["data"]["refused"].as_str() {
            Some(wish) if wish == refused && self.1.is_some() => {
                Err(Denied::Webhook("no".to_owned()))
            }
            Some(wish) if wish == format!("rule {refused}") && self.1.is_none() => {
                Err(Denied::Invalid("data.refused: Forbidden: no".to_owned()))
            }
            _ => Ok(()),
        }
    }
}

fn cluster() -> Cluster {
    Cluster::with(vec![
        Box::new(Marks("defaults", None)),
        Box::new(Marks("-a", Some(Component::Kueue))),
        Box::new(Marks("-b", Some(Component::Trainer))),
    ])
}

fn refused(by: &str) -> Value {
    json!({"metadata": {"name": "a"}, "data": {"refused": by}})
}

#[test]
fn webhooks_change_objects_in_order_and_what_they_set_belongs_to_nobody() {
    let made = cluster().created(MAPS, &map("a", "1"));
    let marks = made["data"]["marks"].as_str().unwrap();
    assert!(marks.starts_with("defaults-a-b"), "{marks}");
    let fields = &made["metadata"]["managedFields"][0]["fieldsV1"];
    assert_eq!(*fields, json!({"f:data": {".": {}, "f:a": {}, "f:marks": {}}}));
}

#[test]
fn a_refusal_says_by_whom() {
    let (code, status) = cluster().post(MAPS, &refused("Create"));
    let why = "admission webhook \"-a\" denied the request: no";
    assert_eq!((code, message(&status), &status["reason"]), (403, why, &json!("Forbidden")));
    let (code, status) = cluster().post(MAPS, &refused("rule Create"));
    let why = "ConfigMap \"a\" is invalid: data.refused: Forbidden: no";
    assert_eq!((code, message(&status), &status["reason"]), (422, why, &json!("Invalid")));
}

#[test]
fn a_deletion_is_looked_at() {
    let cluster = cluster();
    cluster.created(MAPS, &refused("Delete"));
    assert_eq!(cluster.delete(&at(MAPS, "a"), &Value::Null).0, 403);
    assert_eq!(cluster.get(&at(MAPS, "a")).0, 200);
}

#[test]
fn a_webhook_of_what_does_not_run_fails_the_write() {
    let cluster = cluster();
    cluster.server.set_running(Component::Trainer, false);
    let (code, status) = cluster.post(MAPS, &map("a", "1"));
    assert_eq!((code, &status["reason"]), (500, &json!("InternalError")));
    assert!(message(&status).contains("failed calling webhook \"-b\":"), "{status}");
    assert_eq!(cluster.post(PODS, &pod("p", None)).0, 201);
    cluster.server.set_running(Component::Trainer, true);
    assert_eq!(cluster.post(MAPS, &map("a", "1")).0, 201);
}
