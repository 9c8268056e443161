//! PF-04: a silent controller makes a new adapter observe-only.
//!
//! # What it says
//! The controller's Lease is missing, or was not renewed within its duration while it was watched:
//! observe-only for a newly opened adapter; one already open goes on.
//!
//! # Why it matters
//! Without a controller every job would wait at the check for ever, holding its quota. An adapter that
//! works must not stop because the controller is restarted (RG-10).
//!
//! # How it is judged
//! By when the recorder saw the Lease renewed; no clock in the Lease is trusted. That it was renewed within
//! its duration before the call is enough for the gate to be proved; that it was renewed all the time
//! leaves no reason to call it silent.
//!
//! # A history that breaks it
//! There is no Lease, and preflight finds the gate proved.

use dispatch_contract::ErrorKind;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{Preflight, preflights, was_restarted};
use crate::history::{Call, Kind, Trail, Version};
use crate::rules::case::Case;
use crate::rules::{Judge, Verdict};

/// The duration of a Lease that does not say its own.
const DEFAULT_DURATION: i64 = 15;

pub(in crate::rules) const PF_04: Judge = Judge {
    rule: "PF-04",
    reads: &[Kind::Lease],
    brings_about: &["PF-02"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::missing_and_proved,
};

fn judge(case: &Case<'_>) -> Verdict {
    if !case.is_kueue() {
        return Verdict::not_applicable("there is no controller in plain mode");
    }
    let Some(name) = case.begin.objects.get("Lease") else {
        return Verdict::not_applicable("the name of the controller's Lease is not known");
    };
    let leases: Vec<_> =
        case.history.of_kind(Kind::Lease).filter(|trail| trail.name == *name).collect();
    let preflights = preflights(case);
    for preflight in &preflights {
        let says_silent = preflight.answer.reasons.iter().any(|reason| reason.rule == "PF-04");
        let wrong = match state(case, &leases, preflight) {
            State::Missing if preflight.proved() => "there was no Lease, and it proved the gate",
            State::Silent if preflight.proved() => {
                "the Lease had not been renewed within its duration, and it proved the gate"
            }
            State::Renewed if says_silent => {
                "the Lease was renewed all the time, and it says otherwise"
            }
            _ => continue,
        };
        return Verdict::fail(format!("preflight: {wrong}"), preflight.events());
    }
    for call in case.history.calls() {
        if let Some(proved) = stopped_working(case, &preflights, call) {
            let because = format!(
                "preflight had proved the gate, and {} was refused as observe-only later",
                call.invoked.verb.as_str()
            );
            return Verdict::fail(because, proved.events().into_iter().chain(call.events()));
        }
    }
    Verdict::pass_if_seen(!preflights.is_empty(), "preflight that was answered")
}

/// How the Lease stood during a preflight.
enum State {
    Missing,
    Silent,
    Renewed,
    Unclear,
}

fn state(case: &Case<'_>, leases: &[&Trail], preflight: &Preflight<'_>) -> State {
    let (from, to) = preflight.orders;
    let there = |trail: &&&Trail| trail.at(from).is_some() || !trail.between(from, to).is_empty();
    let Some(lease) = leases.iter().find(there) else { return State::Missing };
    let asked = preflight.call.invoked_at;
    let answered = preflight.call.answered.as_ref().map_or(asked, |answered| answered.at);
    let duration = lease.versions().iter().map(|version| duration(case, version)).max();
    let duration = duration.unwrap_or(SignedDuration::from_secs(DEFAULT_DURATION));
    let renewals: Vec<Timestamp> = renewals(case, lease).map(|version| version.at).collect();
    let recent = |at: &&Timestamp| asked - duration <= **at && **at <= answered;
    if !renewals.iter().any(|at| recent(&at)) {
        return State::Silent;
    }
    // With what the recorder may have seen later, a renewal every half of the time is in time.
    let within = renewals.iter().filter(|at| asked < **at && **at < answered);
    let points: Vec<Timestamp> =
        [asked].into_iter().chain(within.copied()).chain([answered]).collect();
    let in_time = points.windows(2).all(|pair| pair[1].duration_since(pair[0]) * 2 <= duration);
    if in_time && points.len() > 2 { State::Renewed } else { State::Unclear }
}

/// The versions in which somebody who holds the Lease renewed it.
fn renewals<'a>(case: &'a Case<'_>, lease: &'a Trail) -> impl Iterator<Item = &'a Version> {
    let spec = |version: &Version| case.history.raw(version).map(|raw| &raw["spec"]);
    let mut before = &Value::Null;
    lease.versions().iter().filter(move |version| {
        let Some(spec) = spec(version) else { return false };
        let renewed = spec["renewTime"] != *before && !version.is_deletion();
        before = &spec["renewTime"];
        let holder = spec["holderIdentity"].as_str().unwrap_or_default();
        renewed && !holder.is_empty()
    })
}

fn duration(case: &Case<'_>, version: &Version) -> SignedDuration {
    let spec = case.history.raw(version).map(|raw| &raw["spec"]["leaseDurationSeconds"]);
    SignedDuration::from_secs(spec.and_then(Value::as_i64).unwrap_or(DEFAULT_DURATION))
}

/// The preflight that had proved the gate to an adapter that refuses a call as observe-only.
fn stopped_working<'p, 'a>(
    case: &Case<'_>,
    preflights: &'p [Preflight<'a>],
    call: &Call,
) -> Option<&'p Preflight<'a>> {
    call.failed().filter(|error| error.kind == ErrorKind::ObserveOnly)?;
    let is_before = |it: &&Preflight<'_>| {
        it.events()[1] < call.invoked_seq && it.call.invoked.subject == call.invoked.subject
    };
    let last = preflights.iter().rfind(is_before).filter(|it| it.proved())?;
    // One that was started again is newly opened.
    (!was_restarted(case, last.events()[1], call.invoked_seq)).then_some(last)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::history::told::Told;
    use crate::history::{History, Role, SubjectChange, SubjectChanged, Verb, What};
    use crate::rules::tests::assert_verdict;

    impl Told {
        /// The controller writes its Lease, of 4 seconds.
        fn lease(&mut self, renewed: i64) -> &mut Self {
            self.create(
                Kind::Lease,
                json!({"metadata": {"name": "lease", "namespace": "ns", "uid": "uid-lease"},
                    "spec": {"holderIdentity": "a", "leaseDurationSeconds": 4,
                        "renewTime": renewed}}),
            )
        }

        fn renews(&mut self, renewed: i64) -> &mut Self {
            self.change(Kind::Lease, "lease", |it| it["spec"]["renewTime"] = json!(renewed))
        }
    }

    /// A run whose controller has a Lease of this name.
    fn told() -> Told {
        let mut told = Told::kueue();
        if let What::Begin(begin) = &mut told.events[0].what {
            begin.objects.insert("Lease".to_owned(), "lease".to_owned());
        }
        told
    }

    /// A preflight with a Lease that is renewed every second, or never.
    fn with_lease(renewed: bool) -> Told {
        let mut told = told();
        told.lease(0).seconds(20).preflight();
        for second in 1..11 {
            told.seconds(1);
            if renewed {
                told.renews(second);
            }
        }
        told
    }

    pub(super) fn missing_and_proved() -> History {
        told().preflight().seconds(10).proves().history()
    }

    fn refused_later(restarted: bool) -> History {
        let mut told = with_lease(true);
        told.proves().delete(Kind::Lease, "lease");
        if restarted {
            told.tell(
                None,
                What::Subject(SubjectChanged {
                    role: Role::Adapter,
                    replica: 0,
                    change: SubjectChange::Started,
                    pid: None,
                }),
            );
        }
        told.calls(Verb::Open).fails(ErrorKind::ObserveOnly).history()
    }

    #[rstest]
    #[case::renewed(with_lease(true).proves().history(), "pass")]
    #[case::silent_and_refused(with_lease(false).refuses_because("PF-04").history(), "pass")]
    #[case::renewed_shortly_before(
        told().lease(0).renews(1).seconds(2).preflight().seconds(1).proves().history(), "pass")]
    #[case::missing_and_refused(
        told().preflight().seconds(10).refuses_because("PF-04").history(), "pass")]
    #[case::refused_after_a_new_start(refused_later(true), "pass")]
    #[case::no_preflight(told().starts().history(), "n/a")]
    #[case::no_lease_is_known(
        Told::kueue().preflight().proves().history(), "n/a: the name of the controller's Lease")]
    #[case::plain(Told::plain().history(), "n/a")]
    #[case::missing_and_proved(missing_and_proved(), "there was no Lease, and it proved the gate")]
    #[case::silent_and_proved(
        with_lease(false).proves().history(), "not been renewed within its duration")]
    #[case::renewed_and_refused(
        with_lease(true).refuses_because("PF-04").history(), "renewed all the time, and it says")]
    #[case::an_open_adapter_stops(refused_later(false), "open was refused as observe-only later")]
    fn a_new_adapter_looks_for_the_controller(#[case] history: History, #[case] expected: &str) {
        assert_verdict("PF-04", &history, expected);
    }
}
