//! SG-03 and SG-04: Start reads back what it wrote, and leaves to others what is theirs.
//!
//! # What they say
//! After creating, `Start` reads the object, and refuses it if anything that it wrote changed: labels,
//! annotations, runtimeRef, trainer, activeDeadlineSeconds, its own runtime patch, or a managedBy that
//! somebody else set (SG-03). What others own does not count: suspend, others' patches and gates, extra
//! keys, server defaults, the time of the patch (SG-04).
//!
//! # Why they matter
//! A webhook that takes the gate, the queue or the patch away makes another object of it: one that runs
//! before it is opened, or under no identity. A `Start` that refuses whatever Kueue and Trainer add refuses
//! everything.
//!
//! # How they are judged
//! The body of the create, against the versions that the adapter read afterwards, until it answered. All
//! of them have to differ for a break of SG-03, and all have to be the same for a break of SG-04 by a
//! refusal that names the read-back.
//!
//! # A history that breaks them
//! A label is changed as the object is created, and `Start` succeeds. Kueue adds its patch, and `Start`
//! refuses the object for that.

use serde_json::Value;

use super::compare::{Compared, Difference, compare};
use crate::history::{Call, Exchange, Kind, Role, Trail, Verb, Version};
use crate::rules::case::{Case, Family};
use crate::rules::{Judge, Verdict};

const READS: &[Kind] = &[Kind::TrainJob];

pub(in crate::rules) const SG_03: Judge = Judge {
    rule: "SG-03",
    reads: READS,
    brings_about: &["SG-02", "SG-05"],
    decide: reads_back,
    #[cfg(test)]
    breaking: tests::a_label_is_changed,
};

pub(in crate::rules) const SG_04: Judge = Judge {
    rule: "SG-04",
    reads: READS,
    brings_about: &[],
    decide: leaves_to_others,
    #[cfg(test)]
    breaking: tests::refuses_what_is_kueues,
};

/// A `Start` of an object whose create is known.
struct Started<'a> {
    call: &'a Call,
    trainjob: &'a Trail,
    /// What the object was created with.
    written: &'a Value,
    /// The version that the create made, or the first one of the call.
    read: Vec<&'a Version>,
}

fn reads_back(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for Started { call, trainjob, written, read } in started(case) {
        if call.ok().is_none() || is_past_its_start(trainjob, call) {
            continue;
        }
        seen = true;
        let name = &trainjob.name;
        if read.is_empty() {
            let because = format!("Start of {name} succeeded without reading the object back");
            return Verdict::fail(because, call.events());
        }
        let compared = read.iter().map(|version| compared(case, written, version));
        let compared: Vec<Compared> = compared.collect();
        if let Some(last) = compared.last().and_then(|last| last.differences.first())
            && compared.iter().all(|it| !it.differences.is_empty())
        {
            let because = format!("Start of {name} succeeded, though {last}");
            let version = read.last().map(|version| version.seq);
            return Verdict::fail(because, call.events().chain(version));
        }
    }
    verdict(case, seen, "Start that succeeded, and whose create was recorded")
}

fn leaves_to_others(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for Started { call, trainjob, written, read } in started(case) {
        let Some(error) = call.failed() else {
            seen |= call.ok().is_some();
            continue;
        };
        // What another call wrote, of another input, is not what this one compared with (SG-07).
        if !is_of_this_input(case, call, trainjob) {
            continue;
        }
        seen = true;
        let blames = error.rules.iter().any(|rule| rule == "SG-03" || rule == "SG-04");
        let same = read.iter().all(|version| {
            let compared = compared(case, written, version);
            compared.differences.is_empty() && !compared.is_open
        });
        if blames && same && !read.is_empty() {
            let because = format!(
                "Start refused {} for what it had read back, and nothing that it wrote had changed: {}",
                trainjob.name, error.message
            );
            return Verdict::fail(because, call.events());
        }
    }
    verdict(case, seen, "Start whose create was recorded")
}

/// Whether the object was created by this call, or by one with the same input.
fn is_of_this_input(case: &Case<'_>, call: &Call, trainjob: &Trail) -> bool {
    let by = creation(case, trainjob).and_then(|create| case.requests.call_of(create));
    by.is_some_and(|by| by.invoked.input == call.invoked.input)
}

fn verdict(case: &Case<'_>, seen: bool, what: &str) -> Verdict {
    if case.requests.are_logged(Role::Adapter) {
        return Verdict::pass_if_seen(seen, what);
    }
    Verdict::not_applicable("no request of the adapter's was recorded")
}

fn compared(case: &Case<'_>, written: &Value, version: &Version) -> Compared {
    case.history.raw(version).map(|found| compare(written, found)).unwrap_or_default()
}

/// The calls of `Start` that can be told apart, with what they created or found.
fn started<'a>(case: &'a Case<'a>) -> impl Iterator<Item = Started<'a>> {
    let calls = case.calls(Verb::Start).filter(|call| case.requests.is_alone(call));
    calls.filter_map(|call| {
        let trainjob = object_of(case, call)?;
        let create = creation(case, trainjob)?;
        let answered = call.answered.as_ref()?.seq;
        // Of one that another call created, everything that this call read.
        let after = create.sent.as_ref()?.seq.max(call.invoked_seq);
        let from = case.requests.during(call).next()?.request.from;
        Some(Started {
            call,
            trainjob,
            written: create.request.body.as_ref()?,
            read: case.requests.versions_read(from, trainjob, after, answered),
        })
    })
}

/// The object that a `Start` created, or found under its name.
fn object_of<'a>(case: &'a Case<'a>, call: &Call) -> Option<&'a Trail> {
    if let Some(uid) = call.uid() {
        return case.history.object(uid);
    }
    let (_, to) = call.orders()?;
    let is_its = |family: &&Family<'_>| {
        call.name() == Some(&family.trainjob.name) && family.trainjob.created() <= to
    };
    case.objects.iter().rfind(is_its).map(|family| family.trainjob)
}

/// The request that created an object.
pub(super) fn creation<'a>(case: &'a Case<'a>, trainjob: &Trail) -> Option<&'a Exchange> {
    let made = case.requests.that_made(Kind::TrainJob, trainjob.created())?;
    let creates = made.request.verb == "create" && made.request.from.role == Role::Adapter;
    creates.then_some(made)
}

/// Whether the object was opened, or had ended, when the call was answered: what happened to it since
/// its start is no difference.
fn is_past_its_start(trainjob: &Trail, call: &Call) -> bool {
    let order = call.answered_order().unwrap_or(u64::MAX);
    trainjob
        .at(order)
        .and_then(Version::trainjob)
        .is_none_or(|it| it.is_opened() || it.end().is_some() || it.ended_mark().is_some())
}

/// What of a refused object was not as it had been written, as the adapter read it last.
pub(super) fn differences(case: &Case<'_>, call: &Call) -> Vec<Difference> {
    let mut all = started(case).filter(|it| it.call.invoked.call == call.invoked.call);
    let Some(started) = all.next() else { return Vec::new() };
    let last = started.read.last();
    last.map_or(Vec::new(), |version| compared(case, started.written, version).differences)
}

#[cfg(test)]
pub(super) mod tests {
    use dispatch_contract::ErrorKind;
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::History;
    use crate::history::told::{ADAPTER, CONTROLLER, NAME, Told, UID, ask, start_input};
    use crate::rules::tests::assert_verdict;

    /// A webhook changes the object as it is created; and Start reads it.
    pub(in crate::rules::sg) fn created(change: impl FnOnce(&mut Value)) -> Told {
        let mut told = Told::kueue();
        let mut body = Told::created_body();
        body["metadata"]["labels"] = json!({"team": "a"});
        told.calls_with(Verb::Start, start_input()).creates_with(ADAPTER, &body, |it| {
            it["metadata"]["labels"] = json!({"team": "a"});
            change(it);
        });
        told
    }

    fn read(told: &mut Told) -> &mut Told {
        told.reads(ADAPTER, Kind::TrainJob, NAME)
    }

    fn succeeds(told: &mut Told) -> History {
        told.answers(json!({"name": NAME, "uid": UID})).history()
    }

    fn refuses(told: &mut Told, rule: &str) -> History {
        told.fails_by(ErrorKind::Refused, "it is not what was written", &[rule]).history()
    }

    fn relabel(trainjob: &mut Value) {
        trainjob["metadata"]["labels"]["team"] = json!("b");
    }

    pub(super) fn a_label_is_changed() -> History {
        succeeds(read(&mut created(relabel)))
    }

    pub(super) fn refuses_what_is_kueues() -> History {
        refuses(read(&mut created(|_| {})), "SG-03")
    }

    fn patch_of_its_own(trainjob: &mut Value) {
        trainjob["spec"]["runtimePatches"].as_array_mut().unwrap().remove(1);
    }

    /// The name is taken by an object that was started before, and is changed since.
    fn again(change: impl FnOnce(&mut Told)) -> History {
        let mut told = created(|_| {});
        read(&mut told).answers(json!({"name": NAME, "uid": UID}));
        change(&mut told);
        told.calls_with(Verb::Start, start_input());
        succeeds(read(&mut told))
    }

    /// The first request while a repeated Start is under way is the controller's, and about
    /// something else.
    fn the_controller_asks_first() -> History {
        let mut told = created(|_| {});
        read(&mut told).answers(json!({"name": NAME, "uid": UID}));
        told.calls_with(Verb::Start, start_input());
        told.request(ask(CONTROLLER, "list", Kind::Pod, "")).sent();
        succeeds(read(&mut told))
    }

    /// The controller reads the object while a repeated Start is under way, and the adapter does
    /// not.
    fn only_the_controller_reads() -> History {
        let mut told = created(|_| {});
        read(&mut told).answers(json!({"name": NAME, "uid": UID}));
        told.calls_with(Verb::Start, start_input());
        told.reads(CONTROLLER, Kind::TrainJob, NAME);
        told.request(ask(ADAPTER, "list", Kind::Pod, "")).sent();
        succeeds(&mut told)
    }

    fn mended_meanwhile() -> History {
        let mut told = created(relabel);
        read(&mut told).trainjob(|it| it["metadata"]["labels"]["team"] = json!("a"));
        succeeds(read(&mut told))
    }

    #[rstest]
    #[case::by_the_rules(succeeds(read(&mut created(|_| {}))), "pass")]
    #[case::refused(refuses(read(&mut created(relabel)), "SG-03"), "n/a: there was no Start")]
    #[case::found_by_a_watch(
        succeeds(
            Told::kueue().watches(ADAPTER, Kind::TrainJob)
                .calls_with(Verb::Start, start_input())
                .creates_by(ADAPTER, &Told::created_body())
                .delivered(ADAPTER, Kind::TrainJob, NAME)),
        "pass")]
    #[case::mended_meanwhile(mended_meanwhile(), "pass")]
    #[case::again(again(|_| {}), "pass")]
    #[case::the_controller_asks_first(the_controller_asks_first(), "pass")]
    #[case::only_the_controller_reads(
        only_the_controller_reads(),
        "without reading the object back"
    )]
    #[case::again_after_it_was_opened(
        again(|told| { told.opens_gate().raises(1); }), "pass")]
    #[case::no_requests(Told::kueue().starts().history(), "n/a: no request of the adapter's")]
    #[case::two_calls_at_once(
        succeeds(read(created(relabel).calls(Verb::Status))), "n/a: there was no Start")]
    #[case::a_label_is_changed(
        a_label_is_changed(),
        "though metadata.labels[team]: written \"a\", found \"b\""
    )]
    #[case::its_patch_is_gone(
        succeeds(read(&mut created(patch_of_its_own))), "found nothing")]
    #[case::another_controller(
        succeeds(read(&mut created(|it| it["spec"]["managedBy"] = json!("x.io/y")))),
        "spec.managedBy: written nothing, found \"x.io/y\"")]
    #[case::it_is_not_read(succeeds(&mut created(|_| {})), "without reading the object back")]
    #[case::it_was_read_before_it_was_created(
        succeeds(
            Told::kueue().calls_with(Verb::Start, start_input())
                .request(ask(ADAPTER, "get", Kind::TrainJob, NAME)).sent()
                .refused(404, "NotFound", "not found")
                .creates_by(ADAPTER, &Told::created_body())),
        "without reading the object back")]
    #[case::changed_since(again(|told| { told.trainjob(relabel); }), "metadata.labels[team]")]
    fn start_reads_back_what_it_wrote(#[case] history: History, #[case] expected: &str) {
        assert_verdict("SG-03", &history, expected);
    }

    #[rstest]
    #[case::what_others_add(
        succeeds(read(&mut created(|it| it["metadata"]["labels"]["x"] = json!("y")))), "pass")]
    #[case::a_change_is_refused(refuses(read(&mut created(relabel)), "SG-03"), "pass")]
    #[case::refused_for_its_workload(refuses(read(&mut created(|_| {})), "SG-05"), "pass")]
    #[case::no_requests(Told::kueue().starts().history(), "n/a: no request of the adapter's")]
    #[case::kueues_patch_is_refused(
        refuses_what_is_kueues(),
        "and nothing that it wrote had changed"
    )]
    #[case::others_gates_are_refused(
        refuses(read(&mut created(|it| {
            let gates = format!("a.io/x,{}", dispatch_contract::names::GATE);
            it["metadata"]["annotations"][dispatch_contract::names::ADMISSION_GATED_BY] =
                json!(gates);
        })), "SG-04"),
        "and nothing that it wrote had changed")]
    fn start_leaves_to_others_what_is_theirs(#[case] history: History, #[case] expected: &str) {
        assert_verdict("SG-04", &history, expected);
    }
}
