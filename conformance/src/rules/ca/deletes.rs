//! How objects are deleted (CA-03).

use serde_json::Value;

use crate::history::{Exchange, Kind, Role, Verb};
use crate::rules::case::Case;

/// The first request that deletes an object otherwise than CA-03 says: what is wrong, and the event.
pub(super) fn wrong(case: &Case<'_>) -> Option<(String, u64)> {
    let judged = case
        .requests
        .of(Role::Adapter)
        .chain(case.requests.of(Role::Controller))
        .filter(|it| it.request.kind() == Some(Kind::TrainJob) && !it.request.is_dry_run());
    judged.into_iter().find_map(|exchange| {
        let what = match exchange.request.verb.as_str() {
            "deletecollection" => Some("it deleted all TrainJobs that a selector names".to_owned()),
            "delete" if is_object(case, exchange) => wrong_delete(case, exchange),
            _ => None,
        }?;
        let name = exchange.request.name.as_deref().unwrap_or("TrainJobs");
        Some((format!("{} deleted {name}, and {what}", exchange.request.from), exchange.seq))
    })
}

/// Whether the request names an object, and no probe.
fn is_object(case: &Case<'_>, exchange: &Exchange) -> bool {
    let name = exchange.request.name.as_deref();
    case.objects.iter().any(|family| name == Some(family.trainjob.name.as_str()))
}

fn wrong_delete(case: &Case<'_>, exchange: &Exchange) -> Option<String> {
    if exchange.request.from.role != Role::Adapter {
        return Some("only Stop deletes an object".to_owned());
    }
    let call = case.requests.call_of(exchange);
    // Start stops what it refuses (SG-06).
    if let Some(call) = call
        && !matches!(call.invoked.verb, Verb::Stop | Verb::Start)
    {
        return Some(format!("the call was {}", call.invoked.verb.as_str()));
    }
    let body = exchange.request.body.as_ref().unwrap_or(&Value::Null);
    let Some(uid) = body["preconditions"]["uid"].as_str() else {
        return Some("carried no UID".to_owned());
    };
    if let Some(named) = call.and_then(|call| call.uid()).filter(|named| *named != uid) {
        return Some(format!("carried the UID {uid}, and not {named}"));
    }
    let policy = body["propagationPolicy"].as_str();
    let policy = policy.or(exchange.request.query.get("propagationPolicy").map(String::as_str));
    match policy {
        None | Some("Background") => None,
        Some(policy) => Some(format!("the propagation was {policy}")),
    }
}
