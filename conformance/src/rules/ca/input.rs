//! CA-06: bad input is refused by its field.
//!
//! # What it says
//! Bad input (name, spec, unknown runtime, keys of dispatch's, Kueue's or JobSet's own in labels or
//! annotations) gets an error that names the field, before anything is created.
//!
//! # Why it matters
//! What is created first and refused afterwards is there for a while; and with a label of Kueue's a
//! caller can take the object past its gate.
//!
//! # How it is judged
//! By the input of `Start`. A `TrainingRuntime` is unknown if none of its name was there during the call.
//!
//! # A history that breaks it
//! The input has the label `kueue.x-k8s.io/queue-name`, and `Start` creates the object.

use dispatch_contract::{ErrorKind, ObjectName, names};
use serde_json::Value;

use crate::history::{Call, Kind, Role, Verb};
use crate::rules::answers::is_excused;
use crate::rules::case::Case;
use crate::rules::{Judge, Verdict};

/// Whose keys no caller may set.
const RESERVED: [&str; 3] = [names::PREFIX, "kueue.x-k8s.io/", "jobset.sigs.k8s.io/"];

pub(in crate::rules) const CA_06: Judge = Judge {
    rule: "CA-06",
    reads: &[Kind::TrainJob, Kind::TrainingRuntime],
    brings_about: &["SG-02", "SG-08"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::accepted,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for call in case.calls(Verb::Start).filter(|call| call.answered.is_some()) {
        let flaws = flaws(case, call);
        let invalid = call.failed().filter(|error| error.kind == ErrorKind::Invalid);
        if flaws.is_empty() && invalid.is_none() {
            continue;
        }
        seen = true;
        if let Some(seq) = created(case, call) {
            let because = match flaws.first() {
                Some(flaw) => format!("{}, and Start created an object", flaw.what),
                None => "Start created an object, and refused its input afterwards".to_owned(),
            };
            return Verdict::fail(because, call.events().chain([seq]));
        }
        let Some(flaw) = flaws.first() else { continue };
        let wrong = match (invalid, call.failed()) {
            (Some(error), _) => {
                let names = |flaw: &Flaw| flaw.words.iter().any(|it| error.message.contains(it));
                (!flaws.iter().any(names)).then(|| "did not name the field".to_owned())
            }
            (None, Some(_)) if is_excused(call) => None,
            (None, Some(error)) => Some(format!("failed as {}", error.kind)),
            (None, None) => call.ok().map(|_| "succeeded".to_owned()),
        };
        if let Some(wrong) = wrong {
            return Verdict::fail(format!("{}, and Start {wrong}", flaw.what), call.events());
        }
    }
    Verdict::pass_if_seen(seen, "Start with bad input")
}

/// Something that is wrong in the input of `Start`.
struct Flaw {
    what: String,
    /// What a message has to have one of, to name the field.
    words: Vec<String>,
}

fn flaws(case: &Case<'_>, call: &Call) -> Vec<Flaw> {
    let input = &call.invoked.input;
    let mut flaws = Vec::new();
    let mut add = |what: String, words: &[&str]| {
        flaws.push(Flaw { what, words: words.iter().map(|word| (*word).to_owned()).collect() });
    };
    let name = input["name"].as_str().unwrap_or_default();
    if !ObjectName::matches(name) {
        add(format!("the name `{name}` has not the form of an object's"), &["name"]);
    }
    for part in ["labels", "annotations"] {
        let keys = input[part].as_object().into_iter().flat_map(|all| all.keys());
        for key in keys.filter(|key| RESERVED.iter().any(|prefix| key.starts_with(prefix))) {
            add(format!("the {part} have the reserved key `{key}`"), &[part, key]);
        }
    }
    for part in ["trainer", "initializer"] {
        if !matches!(input[part], Value::Object(_) | Value::Null) {
            add(format!("the {part} is no object"), &[part]);
        }
    }
    let runtime = input["runtimeRef"]["name"].as_str().unwrap_or_default();
    if runtime.is_empty() || is_unknown(case, call, runtime) {
        add(format!("there is no runtime `{runtime}`"), &["runtime"]);
    }
    flaws
}

/// Whether there was no `TrainingRuntime` of this name at any time during the call.
fn is_unknown(case: &Case<'_>, call: &Call, name: &str) -> bool {
    let Some((from, to)) = call.orders() else { return false };
    let mut all = case.history.of_kind(Kind::TrainingRuntime).peekable();
    let kind = &call.invoked.input["runtimeRef"]["kind"];
    // Where none was recorded, none is known to be missing.
    if kind != "TrainingRuntime" || all.peek().is_none() {
        return false;
    }
    !all.any(|trail| {
        let there = trail.at(from).is_some() || !trail.between(from, to).is_empty();
        trail.name == name && there
    })
}

/// The event that shows that the call created an object.
fn created(case: &Case<'_>, call: &Call) -> Option<u64> {
    let name = call.name().unwrap_or_default();
    let is_create = |it: &&crate::history::Exchange| {
        let request = &it.request;
        request.from.role == Role::Adapter
            && request.verb == "create"
            && request.kind() == Some(Kind::TrainJob)
            && it.sent.is_some()
            && !request.is_dry_run()
    };
    if case.requests.is_alone(call)
        && let Some(create) = case.requests.during(call).find(is_create)
    {
        return Some(create.seq);
    }
    let (from, to) = call.orders()?;
    let trails = case.history.of_kind(Kind::TrainJob).filter(|trail| trail.name == name);
    let first = trails.filter_map(|trail| trail.first());
    { first }.find(|it| from < it.order && it.order <= to).map(|version| version.seq)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::History;
    use crate::history::told::{ADAPTER, NAME, Told};
    use crate::rules::tests::assert_verdict;

    fn good() -> Value {
        json!({"name": NAME, "runtimeRef": {"kind": "TrainingRuntime", "name": "runtime"}})
    }

    fn with(part: &str, value: Value) -> Value {
        let mut input = good();
        input[part] = value;
        input
    }

    fn queue() -> Value {
        with("labels", json!({names::QUEUE_NAME: "other"}))
    }

    fn start(input: Value) -> Told {
        let mut told = Told::kueue();
        told.runtime("runtime").calls_with(Verb::Start, input);
        told
    }

    fn refused(input: Value, message: &str) -> History {
        start(input).fails_saying(ErrorKind::Invalid, message).history()
    }

    pub(super) fn accepted() -> History {
        start(queue()).create_trainjob().answers(json!({"name": NAME, "uid": "u"})).history()
    }

    fn other_runtime() -> Value {
        with("runtimeRef", json!({"kind": "TrainingRuntime", "name": "other"}))
    }

    #[rstest]
    #[case::a_label(refused(queue(), "labels: kueue.x-k8s.io/queue-name is Kueue's"), "pass")]
    #[case::an_annotation(
        refused(with("annotations", json!({names::HELD: "x"})), "annotations: reserved"), "pass")]
    #[case::a_name(refused(with("name", json!("train")), "name: no"), "pass")]
    #[case::a_trainer(refused(with("trainer", json!([])), "trainer: no object"), "pass")]
    #[case::a_runtime(refused(other_runtime(), "runtimeRef.name: there is none"), "pass")]
    #[case::what_the_cluster_refuses(refused(good(), "the cluster takes no such"), "pass")]
    #[case::the_cluster_is_away(start(queue()).fails(ErrorKind::Unavailable).history(), "pass")]
    #[case::good(
        start(good()).create_trainjob().answers(json!({"name": NAME, "uid": "u"})).history(),
        "n/a: there was no Start with bad input")]
    #[case::no_runtime_was_recorded(
        Told::kueue().calls_with(Verb::Start, other_runtime()).create_trainjob()
            .answers(json!({"name": NAME, "uid": "u"})).history(),
        "n/a")]
    #[case::accepted(accepted(), "reserved key `kueue.x-k8s.io/queue-name`, and Start created")]
    #[case::created_and_refused(
        start(queue()).create_trainjob().fails_saying(ErrorKind::Invalid, "labels").history(),
        "and Start created an object")]
    #[case::created_by_a_request_and_refused(
        start(good()).creates_by(ADAPTER, &Told::created_body())
            .fails_saying(ErrorKind::Invalid, "labels").history(),
        "and refused its input afterwards")]
    #[case::the_field_is_not_named(refused(queue(), "no"), "and Start did not name the field")]
    #[case::another_kind(
        start(with("name", json!("x"))).fails(ErrorKind::Refused).history(),
        "and Start failed as refused")]
    #[case::succeeds(
        start(with("name", json!("x"))).answers(json!({"name": "x", "uid": "u"})).history(),
        "has not the form of an object's, and Start succeeded")]
    fn bad_input_is_refused_by_its_field(#[case] history: History, #[case] expected: &str) {
        assert_verdict("CA-06", &history, expected);
    }
}
