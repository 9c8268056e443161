//! Requests, as they are read from HTTP.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::request::Parts;
use serde_json::{Value, json};

use super::failure::Failure;
use super::request::{Apply, Delete, List, Precondition, Propagation, Request, Verb, Write};
use super::{discovery, reviews};
use crate::resource::{self, Resource};

/// What is asked for.
#[derive(Debug)]
pub(super) enum Asked {
    /// Objects of a kind.
    Objects(Box<Request>, Options),
    /// Whether somebody may do something.
    Review(reviews::Kind, Value),
    /// A document about the server itself.
    Document(Value),
}

/// What a request says besides.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Options {
    /// Whether no more than the metadata is wanted.
    pub(super) metadata_only: bool,
    /// Whether a list is wanted as it was at its version.
    pub(super) exact: bool,
    /// Whether a watch is to begin with what is there, and to say when that was all.
    pub(super) initial_events: bool,
}

type Query = BTreeMap<String, String>;

/// Reads a request.
pub(super) fn read(parts: &Parts, body: &Bytes) -> Result<Asked, Failure> {
    let query: Query = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes())
        .into_owned()
        .collect();
    let segments = segments(parts.uri.path())?;
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let (group, version, rest) = match &segments[..] {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        other => return discovery::document(other).map(Asked::Document).ok_or_else(no_such_path),
    };
    if rest.is_empty() {
        return discovery::of_group(group, version).map(Asked::Document).ok_or_else(no_such_path);
    }
    let (namespace, rest) = match rest {
        ["namespaces", namespace, rest @ ..]
            if !rest.is_empty() && !discovery::is_of_namespace(rest) =>
        {
            (Some((*namespace).to_owned()), rest)
        }
        rest => (None, rest),
    };
    let (plural, name, subresource) = match rest {
        [plural] => (*plural, None, None),
        [plural, name] => (*plural, Some(*name), None),
        [plural, name, subresource] => (*plural, Some(*name), Some(*subresource)),
        _ => return Err(no_such_path()),
    };
    if let Some(kind) = reviews::kind(group, version, plural) {
        return Ok(Asked::Review(kind, parsed(body)?));
    }
    let resource = known(group, version, plural)?;
    if namespace.is_some() != (resource.namespaced && (namespace.is_some() || name.is_some())) {
        return Err(no_such_path());
    }
    let options = options(parts, &query)?;
    let verb = verb(parts, &query, body, name.is_some())?;
    let request = Request {
        resource,
        namespace,
        name: name.map(str::to_owned),
        subresource: subresource.map(str::to_owned),
        verb,
    };
    Ok(Asked::Objects(Box::new(request), options))
}

fn segments(path: &str) -> Result<Vec<String>, Failure> {
    let decoded = |it: &str| {
        percent_encoding::percent_decode_str(it).decode_utf8().map(std::borrow::Cow::into_owned)
    };
    let all = path.split('/').filter(|it| !it.is_empty()).map(decoded);
    all.collect::<Result<_, _>>().map_err(|_| no_such_path())
}

fn known(group: &str, version: &str, plural: &str) -> Result<&'static Resource, Failure> {
    match resource::by_plural(group, plural) {
        Some(resource) if resource.version == version => Ok(resource),
        _ if discovery::has_the_real_one(group, plural) => {
            Err(Failure::unsupported(&format!("{group}/{version} {plural}")))
        }
        _ => Err(no_such_path()),
    }
}

fn no_such_path() -> Failure {
    Failure::new(404, "NotFound", "the server could not find the requested resource")
}

fn options(parts: &Parts, query: &Query) -> Result<Options, Failure> {
    let accept = parts.headers.get(ACCEPT).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let mut metadata_only = None;
    for one in accept.split(',').map(|it| it.replace(' ', "")) {
        let mut parameters = one.split(';');
        let media = parameters.next().unwrap_or_default();
        if !["application/json", "application/*", "*/*", ""].contains(&media) {
            continue;
        }
        let as_ = parameters.find_map(|it| it.strip_prefix("as=").map(str::to_owned));
        match as_.as_deref() {
            None => metadata_only = Some(false),
            Some("PartialObjectMetadata" | "PartialObjectMetadataList") => {
                metadata_only = Some(true);
            }
            Some(other) => return Err(Failure::unsupported(&format!("answers as {other}"))),
        }
        break;
    }
    let metadata_only = metadata_only.ok_or_else(|| {
        let message = "only the following media types are accepted: application/json";
        Failure::new(406, "NotAcceptable", message)
    })?;
    let matched = query.get("resourceVersionMatch").map_or("", String::as_str);
    Ok(Options {
        metadata_only,
        exact: matched == "Exact",
        initial_events: query.get("sendInitialEvents").is_some_and(|it| it == "true"),
    })
}

fn verb(parts: &Parts, query: &Query, body: &Bytes, named: bool) -> Result<Verb, Failure> {
    match (&parts.method, named) {
        (&Method::GET, _) if is_watch(query) => Ok(Verb::Watch {
            list: list(query)?,
            bookmarks: query.get("allowWatchBookmarks").is_some_and(|it| is_true(it)),
            timeout_seconds: number(query, "timeoutSeconds")?,
        }),
        (&Method::GET, true) => Ok(Verb::Get),
        (&Method::GET, false) => Ok(Verb::List(list(query)?)),
        (&Method::POST, _) => Ok(Verb::Create(parsed(body)?, write(parts, query)?)),
        (&Method::PUT, true) => Ok(Verb::Update(parsed(body)?, write(parts, query)?)),
        (&Method::PATCH, true) => patch(parts, query, body),
        (&Method::DELETE, true) => Ok(Verb::Delete(delete(query, body)?)),
        (&Method::DELETE, false) => Ok(Verb::DeleteCollection(list(query)?, delete(query, body)?)),
        _ => {
            let message = "the server does not allow this method on the requested resource";
            Err(Failure::new(405, "MethodNotAllowed", message))
        }
    }
}

fn is_watch(query: &Query) -> bool {
    query.get("watch").is_some_and(|it| is_true(it))
}

fn is_true(text: &str) -> bool {
    matches!(text, "true" | "1" | "")
}

fn patch(parts: &Parts, query: &Query, body: &Bytes) -> Result<Verb, Failure> {
    let write = write(parts, query)?;
    let content = parts.headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let content = content.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let force = query.get("force").is_some_and(|it| is_true(it));
    if query.contains_key("force") && content != "application/apply-patch+yaml" {
        let message = "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be \
                       specified for non-apply patch";
        return Err(Failure::new(422, "Invalid", message));
    }
    match content {
        "application/merge-patch+json" => Ok(Verb::MergePatch(parsed(body)?, write)),
        "application/json-patch+json" => Ok(Verb::JsonPatch(parsed(body)?, write)),
        "application/strategic-merge-patch+json" => Ok(Verb::StrategicPatch(parsed(body)?, write)),
        "application/apply-patch+yaml" => {
            if !query.contains_key("fieldManager") {
                let message = "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required \
                               value: is required for apply patch";
                return Err(Failure::new(422, "Invalid", message));
            }
            Ok(Verb::Apply(parsed_yaml(body)?, write, Apply { force }))
        }
        other => {
            let message = format!("the body of the request was in an unknown format: {other}");
            Err(Failure::new(415, "UnsupportedMediaType", message))
        }
    }
}

fn list(query: &Query) -> Result<List, Failure> {
    let text = |key: &str| query.get(key).cloned().unwrap_or_default();
    let limit: Option<u64> = number(query, "limit")?;
    Ok(List {
        labels: text("labelSelector"),
        fields: text("fieldSelector"),
        resource_version: text("resourceVersion"),
        limit: limit.filter(|it| *it > 0).and_then(|it| usize::try_from(it).ok()),
        continue_: text("continue"),
    })
}

fn number<T: std::str::FromStr>(query: &Query, key: &str) -> Result<Option<T>, Failure> {
    let Some(text) = query.get(key).filter(|it| !it.is_empty()) else { return Ok(None) };
    let bad = |_| Failure::new(400, "BadRequest", format!("{key}: {text:?} is no number"));
    text.parse().map(Some).map_err(bad)
}

fn write(parts: &Parts, query: &Query) -> Result<Write, Failure> {
    let manager = match query.get("fieldManager").filter(|it| !it.is_empty()) {
        Some(manager) => manager.clone(),
        None => by_user_agent(parts),
    };
    check_field_validation(&parts.method, query.get("fieldValidation").map_or("", String::as_str))?;
    Ok(Write { manager, dry_run: dry_run(query.get("dryRun").map(String::as_str))? })
}

/// What becomes of fields that a kind does not have. Of which fields it has too little is known here to
/// refuse a write for them; warnings are not sent.
fn check_field_validation(method: &Method, asked: &str) -> Result<(), Failure> {
    match asked {
        "" | "Ignore" | "Warn" => Ok(()),
        "Strict" => Err(Failure::unsupported("fieldValidation=Strict")),
        other => {
            let options = match *method {
                Method::POST => "CreateOptions",
                Method::PUT => "UpdateOptions",
                _ => "PatchOptions",
            };
            let message = format!(
                "{options}.meta.k8s.io \"\" is invalid: fieldValidation: Unsupported value: \"{other}\": \
                 supported values: \"\", \"Ignore\", \"Strict\", \"Warn\""
            );
            Err(Failure::new(422, "Invalid", message))
        }
    }
}

/// The user agent up to the first slash: apiserver `endpoints/handlers/create.go`, managerOrUserAgent.
fn by_user_agent(parts: &Parts) -> String {
    let agent = parts.headers.get(USER_AGENT).and_then(|it| it.to_str().ok()).unwrap_or_default();
    agent.split('/').next().unwrap_or_default().chars().take(128).collect()
}

fn dry_run(text: Option<&str>) -> Result<bool, Failure> {
    match text {
        None | Some("") => Ok(false),
        Some("All") => Ok(true),
        Some(other) => {
            let message =
                format!("dryRun: Unsupported value: \"{other}\": supported values: \"All\"");
            Err(Failure::new(422, "Invalid", message))
        }
    }
}

fn delete(query: &Query, body: &Bytes) -> Result<Delete, Failure> {
    let mut options = if body.is_empty() { json!({}) } else { parsed(body)? };
    for key in ["propagationPolicy", "dryRun"] {
        if let Some(text) = query.get(key) {
            options[key] = text.as_str().into();
        }
    }
    if let Some(seconds) = number::<i64>(query, "gracePeriodSeconds")? {
        options["gracePeriodSeconds"] = seconds.into();
    }
    let propagation = match options["propagationPolicy"].as_str() {
        None | Some("") => match options["orphanDependents"].as_bool() {
            Some(true) => Some(Propagation::Orphan),
            Some(false) => Some(Propagation::Background),
            None => None,
        },
        Some("Background") => Some(Propagation::Background),
        Some("Foreground") => Some(Propagation::Foreground),
        Some("Orphan") => Some(Propagation::Orphan),
        Some(other) => {
            let message = format!("invalid DeleteOptions: propagationPolicy: {other}");
            return Err(Failure::new(422, "Invalid", message));
        }
    };
    let text = |pointer: &str| crate::object::text(&options, pointer).to_owned();
    let dry = options["dryRun"].as_str().or_else(|| options["dryRun"][0].as_str());
    Ok(Delete {
        propagation,
        grace_period_seconds: options["gracePeriodSeconds"].as_i64(),
        precondition: Precondition {
            uid: text("/preconditions/uid"),
            resource_version: text("/preconditions/resourceVersion"),
        },
        dry_run: dry_run(dry)?,
    })
}

fn parsed(body: &Bytes) -> Result<Value, Failure> {
    serde_json::from_slice(body).map_err(|error| unreadable(&error))
}

fn parsed_yaml(body: &Bytes) -> Result<Value, Failure> {
    // JSON is YAML, and what clients send.
    parsed(body).or_else(|_| {
        let text = std::str::from_utf8(body).map_err(|error| unreadable(&error))?;
        serde_saphyr::from_str(text).map_err(|error| unreadable(&error))
    })
}

fn unreadable(error: &dyn std::fmt::Display) -> Failure {
    let message = format!("the object provided is unrecognized: {error}");
    Failure::new(400, "BadRequest", message)
}
