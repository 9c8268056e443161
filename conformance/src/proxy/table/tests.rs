//! Which request meets which fault.

use std::time::Duration;

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::history::{Role, Subject};
use crate::proxy::{AtRandom, Pattern, Sets};

/// A request in the namespace `ns`; `resource` may name a subresource after a slash.
pub(in crate::proxy) fn request(
    verb: &str,
    resource: &str,
    name: &str,
    body: Option<Value>,
) -> Request {
    let (resource, subresource) = match resource.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
        None => (resource, None),
    };
    Request {
        request: 0,
        from: Subject { role: Role::Controller, replica: 0 },
        verb: verb.to_owned(),
        patch: None,
        group: String::new(),
        resource: resource.to_owned(),
        subresource,
        namespace: Some("ns".to_owned()),
        name: Some(name.to_owned()).filter(|name| !name.is_empty()),
        query: BTreeMap::new(),
        user: None,
        body,
    }
}

fn fault(name: &str, effect: Effect, times: Times) -> Fault {
    Fault { name: name.to_owned(), at: Pattern::default(), effect, times }
}

fn on(verb: &str) -> Pattern {
    Pattern { verbs: vec![verb.to_owned()], ..Pattern::default() }
}

fn watch(number: u64, resource: &str) -> Request {
    Request { request: number, ..request("watch", resource, "", None) }
}

/// The names of the faults that a request meets; `waits` if it has to wait.
fn arrive(table: &mut Table, request: &Request) -> String {
    match table.arrive(request, &Asks::of(request)) {
        Arrival::Waits => "waits".to_owned(),
        Arrival::Goes(met) => met.into_iter().map(|met| met.name).collect::<Vec<_>>().join(" "),
    }
}

#[rstest]
#[case::once(Times::Once, &[true, false, false, false])]
#[case::some_times(Times::Times(3), &[true, true, true, false])]
#[case::always(Times::Always, &[true, true, true, true])]
#[case::once_per_kind(Times::OncePerKind, &[true, false, false, false])]
fn a_fault_is_met_so_many_times(#[case] times: Times, #[case] met: &[bool]) {
    let mut table = Table::default();
    table.place(fault("f", Effect::LoseAnswer, times));
    for met in met {
        let name = arrive(&mut table, &request("get", "pods", "p", None));
        assert_eq!(name, if *met { "f" } else { "" });
    }
}

#[test]
fn a_fault_that_comes_after_another_begins_when_that_one_is_met() {
    let mut table = Table::default();
    let (first, _) =
        table.place(Fault { at: on("patch"), ..fault("f", Effect::LoseAnswer, Times::Once) });
    let at = Pattern { after: Some("f".to_owned()), ..on("get") };
    table.place(Fault { at, ..fault("then", Effect::LoseRequest, Times::Always) });
    let [get, patch] = ["get", "patch"].map(|verb| request(verb, "pods", "p", None));
    assert_eq!(arrive(&mut table, &get), "");
    assert_eq!(arrive(&mut table, &patch), "f");
    assert_eq!(arrive(&mut table, &get), "then");
    table.missed(first, &patch, &Asks::of(&patch));
    assert_eq!(arrive(&mut table, &get), "");
}

#[rstest]
#[case::once(Times::Once, None)]
#[case::once_per_kind(Times::OncePerKind, None)]
#[case::the_second(Times::Once, Some(2))]
fn a_fault_that_missed_a_request_is_met_by_the_next(
    #[case] times: Times,
    #[case] nth: Option<u32>,
) {
    let mut table = Table::default();
    let at = Pattern { nth, ..Pattern::default() };
    let (fault, _) = table.place(Fault { at, ..fault("f", Effect::LoseAnswer, times) });
    let request = request("patch", "pods", "p", None);
    if nth.is_some() {
        assert_eq!(arrive(&mut table, &request), "");
    }
    assert_eq!(arrive(&mut table, &request), "f");
    table.missed(fault, &request, &Asks::of(&request));
    assert_eq!(arrive(&mut table, &request), "f");
    assert_eq!(arrive(&mut table, &request), "");
}

#[test]
fn only_the_nth_request_meets_a_fault_that_says_so() {
    let mut table = Table::default();
    let at = Pattern { nth: Some(2), ..on("patch") };
    table.place(Fault { at, ..fault("second", Effect::Hold, Times::Always) });
    let arrivals = ["patch", "get", "patch", "patch"]
        .map(|verb| arrive(&mut table, &request(verb, "pods", "p", None)));
    assert_eq!(arrivals, ["", "", "second", ""]);
}

#[test]
fn once_per_kind_tells_verbs_resources_and_what_is_set_apart_but_not_counts() {
    let mut table = Table::default();
    table.place(fault("f", Effect::LoseAnswer, Times::OncePerKind));
    let count = |count: &str| {
        let annotation = json!({"dispatch.phpboyscout.uk/admission-count": count});
        let body = json!({"metadata": {"annotations": annotation}});
        request("patch", "trainjobs", "j", Some(body))
    };
    let check = |state: &str| {
        let body = json!({"status": {"admissionChecks": [{"name": "c", "state": state}]}});
        request("patch", "workloads/status", "w", Some(body))
    };
    let mut met = |request: &Request| !arrive(&mut table, request).is_empty();
    assert!(met(&count("1")));
    assert!(!met(&count("2")));
    assert!(met(&check("Pending")));
    assert!(met(&check("Ready")));
    assert!(!met(&check("Ready")));
    assert!(met(&request("get", "trainjobs", "j", None)));
    assert!(!met(&request("get", "trainjobs", "other", None)));
}

#[test]
fn a_request_meets_all_faults_in_order_up_to_the_one_that_ends_it() {
    let mut table = Table::default();
    table.place(fault("slow", Effect::Delay(Duration::from_secs(1)), Times::Always));
    table.place(fault("lost", Effect::LoseAnswer, Times::Once));
    table.place(fault("refused", Effect::Answer(Refusal::Conflict), Times::Once));
    let at = Pattern { nth: Some(2), ..Pattern::default() };
    table.place(Fault { at, ..fault("late", Effect::Hold, Times::Once) });
    table.place(fault("later", Effect::Hold, Times::Once));
    let get = request("get", "pods", "p", None);
    assert_eq!(arrive(&mut table, &get), "slow lost refused");
    // The first request was counted by those that it did not get to, and used none of them up.
    assert_eq!(arrive(&mut table, &get), "slow late later");
    assert_eq!(arrive(&mut table, &get), "slow");
}

#[test]
fn the_times_of_a_slow_api_are_drawn_for_each_request_and_by_the_seed() {
    let most = Duration::from_secs(4);
    let drawn = |seed: &str| -> Vec<Effect> {
        let mut table = Table::default();
        let seed = seed.to_owned();
        table.place(fault("slow", Effect::DelayAtRandom(AtRandom { most, seed }), Times::Always));
        let get = request("get", "pods", "p", None);
        let met = |_| match table.arrive(&get, &Asks::default()) {
            Arrival::Goes(met) => met.into_iter().map(|met| met.effect).collect(),
            Arrival::Waits => Vec::new(),
        };
        (0..50).flat_map(met).collect()
    };
    let (times, again, others) = (drawn("a/slow"), drawn("a/slow"), drawn("b/slow"));
    assert_eq!(times, again);
    assert_ne!(times, others);
    let seconds = times.iter().map(|effect| match effect {
        Effect::Delay(time) if *time <= most => time.as_secs(),
        other => panic!("{other:?}"),
    });
    // Each of the four seconds is among them: they are spread over the whole.
    assert_eq!(seconds.collect::<std::collections::BTreeSet<_>>().len(), 4);
}

#[test]
fn what_comes_after_the_stalled_request_waits_until_it_is_released() {
    let mut table = Table::default();
    let at = Pattern { sets: vec![Sets::Suspend(false)], ..Pattern::default() };
    let (stall, _) = table.place(Fault { at, ..fault("stall", Effect::Stall, Times::Once) });
    table.opened(watch(7, "pods"), Reach::Whole, &[]);
    let get = request("get", "leases", "l", None);
    assert_eq!(arrive(&mut table, &get), "");
    assert!(!table.orders(7).silent);
    let resume = request("patch", "jobs", "j", Some(json!({"spec": {"suspend": false}})));
    assert_eq!(arrive(&mut table, &resume), "stall");
    assert_eq!(arrive(&mut table, &get), "waits");
    assert!(table.holds(stall) && table.orders(7).silent);
    assert!(table.take(stall));
    assert_eq!(arrive(&mut table, &get), "");
    assert!(!table.holds(stall) && !table.orders(7).silent);
    assert!(!table.take(stall), "it is gone already");
}

#[rstest]
#[case::silence(WatchFault::Silence, Orders { silent: true, end: None })]
#[case::cut(WatchFault::Cut, Orders { silent: false, end: Some(WatchFault::Cut) })]
#[case::expire(WatchFault::Expire, Orders { silent: false, end: Some(WatchFault::Expire) })]
fn a_watch_that_is_open_meets_a_fault_when_it_is_placed(
    #[case] effect: WatchFault,
    #[case] orders: Orders,
) {
    let mut table = Table::default();
    table.opened(watch(1, "pods"), Reach::Whole, &[]);
    table.opened(watch(2, "jobs"), Reach::Whole, &[]);
    let at = Pattern { resource: Some("jobs".to_owned()), ..Pattern::default() };
    let (_, met) = table.place(Fault { at, ..fault("f", Effect::Watch(effect), Times::Once) });
    assert_eq!(met, [2]);
    assert_eq!((table.orders(1), table.orders(2)), (Orders::default(), orders));
    assert_eq!(arrive(&mut table, &watch(3, "jobs")), "", "it was met once");
}

#[test]
fn a_watch_that_opens_later_meets_a_fault_too() {
    let mut table = Table::default();
    let silence = Effect::Watch(WatchFault::Silence);
    let (silence, met) = table.place(fault("silence", silence, Times::Always));
    assert_eq!(met, [0; 0]);
    let Arrival::Goes(met) = table.arrive(&watch(1, "pods"), &Asks::default()) else {
        panic!("nothing is stalled")
    };
    table.opened(watch(1, "pods"), Reach::Whole, &met);
    assert!(table.orders(1).silent);
    table.take(silence);
    assert!(!table.orders(1).silent);
    table.closed(1);
    assert_eq!(table.orders(1), Orders::default());
}

#[test]
fn requests_that_are_no_watches_do_not_meet_faults_of_watches() {
    let mut table = Table::default();
    table.place(fault("cut", Effect::Watch(WatchFault::Cut), Times::Always));
    assert_eq!(arrive(&mut table, &request("list", "pods", "", None)), "");
    assert_eq!(arrive(&mut table, &watch(1, "pods")), "cut");
}

#[rstest]
#[case::watch_at_a_version("watch", Some("17"), true)]
#[case::list_at_a_version("list", Some("17"), true)]
#[case::from_what_is_at_hand("watch", Some("0"), false)]
#[case::from_now("list", None, false)]
#[case::get("get", Some("17"), false)]
fn what_begins_at_a_version_is_refused_as_expired(
    #[case] verb: &str,
    #[case] version: Option<&str>,
    #[case] refused: bool,
) {
    let mut table = Table::default();
    table.place(fault("f", Effect::Watch(WatchFault::RefuseExpired), Times::Always));
    let query = version.map(|it| ("resourceVersion".to_owned(), it.to_owned()));
    let query = query.into_iter().collect();
    let request = Request { query, ..request(verb, "pods", "", None) };
    assert_eq!(!arrive(&mut table, &request).is_empty(), refused);
}

#[test]
fn a_watch_of_more_than_the_scope_can_be_silenced_but_not_ended() {
    let mut table = Table::default();
    table.found(watch(1, "pods"), Reach::Part);
    let (_, cut) = table.place(fault("cut", Effect::Watch(WatchFault::Cut), Times::Always));
    let (_, met) = table.place(fault("silent", Effect::Watch(WatchFault::Silence), Times::Always));
    assert_eq!((cut, met), (vec![], vec![1]));
    let names: Vec<_> = table.found(watch(2, "jobs"), Reach::Part);
    assert_eq!(names.len(), 1);
    assert_eq!(table.orders(2), Orders { silent: true, end: None });
    table.found(watch(3, "jobs"), Reach::Whole);
    assert_eq!(table.orders(3), Orders { silent: true, end: Some(WatchFault::Cut) });
}

#[test]
fn a_table_that_is_cleared_holds_nothing() {
    let mut table = Table::default();
    let (hold, _) = table.place(fault("hold", Effect::Hold, Times::Once));
    let (stall, _) = table.place(fault("stall", Effect::Stall, Times::Once));
    assert_eq!(arrive(&mut table, &request("get", "pods", "p", None)), "hold stall");
    table.clear();
    assert!(!table.holds(hold) && !table.holds(stall));
    assert_eq!(arrive(&mut table, &request("get", "pods", "p", None)), "");
    let (again, _) = table.place(fault("again", Effect::Hold, Times::Once));
    assert!(again > stall, "a number is never used again");
}

fn any_effect() -> impl Strategy<Value = Effect> {
    prop_oneof![
        Just(Effect::Hold),
        Just(Effect::LoseAnswer),
        Just(Effect::LoseRequest),
        Just(Effect::Answer(Refusal::InternalError)),
        Just(Effect::Watch(WatchFault::Silence)),
        Just(Effect::Watch(WatchFault::RefuseExpired)),
    ]
}

fn any_times() -> impl Strategy<Value = (Times, u32)> {
    prop_oneof![
        Just((Times::Once, 1)),
        (0..4u32).prop_map(|times| (Times::Times(times), times)),
        Just((Times::Always, u32::MAX)),
    ]
}

proptest! {
    #[test]
    fn no_request_passes_an_ending_fault_and_no_fault_is_met_too_often(
        faults in proptest::collection::vec((any_effect(), any_times()), 0..6),
        verbs in proptest::collection::vec(
            prop_oneof![Just("get"), Just("watch"), Just("patch")], 0..24),
    ) {
        let mut table = Table::default();
        let mut allowed = Vec::new();
        for (effect, (times, allows)) in faults {
            table.place(fault("f", effect, times));
            allowed.push(allows);
        }
        for verb in verbs {
            let Arrival::Goes(met) = table.arrive(&request(verb, "pods", "p", None), &Asks::default())
            else { return Err(TestCaseError::fail("nothing is stalled")) };
            for (place, one) in met.iter().enumerate() {
                let is_last = place + 1 == met.len();
                prop_assert!(is_last || !one.effect.ends_the_request());
                prop_assert!(place == 0 || met[place - 1].fault < one.fault);
                let left = &mut allowed[usize::try_from(one.fault).unwrap()];
                prop_assert!(*left > 0);
                *left -= u32::from(*left != u32::MAX);
            }
        }
    }
}
