//! What the containers themselves say of EX-01 and EX-02, where they are real.
//!
//! The API server says when a pod is Running and when it is gone; a container says when it began, which
//! A it was given, and until when it was there. The two can differ: a pod that is deleted by force is gone
//! while its container still ends its grace period. So each rule is judged by both, and is broken if either
//! says so.
//!
//! Times of containers are compared with those of other containers of the same machine alone, never with
//! the API server's.

use std::collections::HashMap;

use super::identity::carried;
use crate::history::{Account, Containers, Trail, Version};
use crate::rules::Verdict;
use crate::rules::case::{Case, Family};

/// A break of a rule by the account of the containers.
pub(super) struct Witness {
    because: String,
    events: Vec<u64>,
}

/// What a rule's containers say of one object; `None` where they say nothing against it.
pub(super) type Ask = fn(&Family<'_>, &[Told<'_>]) -> Option<Witness>;

/// A pod of an object, with what its container said.
pub(super) struct Told<'a> {
    pod: &'a Trail,
    account: &'a Account<'a>,
    /// The number of the execution that it began in.
    execution: Option<usize>,
}

/// The verdict of a rule, from that by what the API server showed, and from what the containers said.
pub(super) fn with_accounts(case: &Case<'_>, shown: Verdict, ask: Ask) -> Verdict {
    if case.begin.containers == Containers::StandIn {
        return shown;
    }
    let told = case.objects.iter().map(|family| (family, told(case, family)));
    let told: Vec<_> = told.collect();
    let witness = told.iter().find_map(|(family, told)| ask(family, told));
    match (shown, witness) {
        (Verdict::Fail { because, mut events, echoes }, Some(witness)) => {
            events.extend(witness.events);
            let because = format!("{because}; by the containers' own account {}", witness.because);
            Verdict::Fail { because, events, echoes }
        }
        (_, Some(Witness { because, events })) => {
            Verdict::fail(format!("by the containers' own account {because}"), events)
        }
        (Verdict::Pass, None) => silent(case).map_or(Verdict::Pass, Verdict::inconclusive),
        (shown, None) => shown,
    }
}

/// What the containers of an object said, in the order in which they began.
fn told<'a>(case: &'a Case<'_>, family: &Family<'a>) -> Vec<Told<'a>> {
    let mut begun_in = HashMap::new();
    for execution in &family.executions {
        for pod in &execution.pods {
            begun_in.entry(pod.uid.as_str()).or_insert(execution.number);
        }
    }
    let account = |pod: &&'a Trail| {
        let account = case.accounts.get(pod.uid.as_str())?;
        Some(Told { pod, account, execution: begun_in.get(pod.uid.as_str()).copied() })
    };
    let mut told: Vec<_> = family.pods.iter().filter_map(account).collect();
    told.sort_by_key(|told| told.account.first.said.up_ms);
    told
}

/// Why nothing is known of a container that ran as the API server has it.
fn silent(case: &Case<'_>) -> Option<String> {
    let pods = case.objects.iter().flat_map(|family| &family.pods);
    let ran = pods.filter(|pod| pod.versions().iter().any(has_run));
    let is_told =
        |pod: &&&Trail| case.accounts.get(pod.uid.as_str()).is_some_and(Account::is_whole);
    let silent = ran.filter(|pod| !is_told(pod)).map(|pod| pod.name.as_str()).next()?;
    Some(format!("pod {silent} ran, and its log does not say when its container began"))
}

/// Whether a pod's containers run, or have run without a fault.
fn has_run(version: &Version) -> bool {
    let phase = version.pod().and_then(|pod| pod.status.as_ref()?.phase.as_deref());
    matches!(phase, Some("Running" | "Succeeded"))
}

/// EX-01: each was given the A that its pod carries, higher than in any execution before.
pub(super) fn identities(family: &Family<'_>, told: &[Told<'_>]) -> Option<Witness> {
    let name = &family.trainjob.name;
    for one in told {
        let (pod, given) = (&one.pod.name, one.account.admission());
        if given.is_none() || given != carried(one.pod) {
            let given = given.map_or_else(|| "no A".to_owned(), |a| format!("A={a}"));
            let carried = carried(one.pod).unwrap_or("nothing");
            let because = format!(
                "pod {pod} of {name} carried {carried}, and its container was given {given}"
            );
            let created = one.pod.first().map(|version| version.seq);
            let events = created.into_iter().chain([one.account.first_seq]).collect();
            return Some(Witness { because, events });
        }
    }
    pairs(told).find_map(|(before, after)| {
        let (from, to) = (before.admission()?, after.admission()?);
        let falls = before.account.is_comparable(after.account) && to < from;
        let is_shared = to <= from && before.execution < after.execution;
        let because = || {
            let (before, after) = (&before.pod.name, &after.pod.name);
            format!("{after} of {name} began with A={to}, after {before} with A={from}")
        };
        let events = || vec![before.account.first_seq, after.account.first_seq];
        (falls || is_shared).then(|| Witness { because: because(), events: events() })
    })
}

/// EX-02: none was there when one of another execution began.
pub(super) fn overlap(family: &Family<'_>, told: &[Told<'_>]) -> Option<Witness> {
    let name = &family.trainjob.name;
    pairs(told).find_map(|(before, after)| {
        let is_another = before.account.admission() != after.account.admission()
            || before.execution != after.execution;
        if !is_another || before.account.overlaps(after.account) != Some(true) {
            return None;
        }
        let a = |told: &Told<'_>| told.account.admission().unwrap_or("nothing").to_owned();
        let at = |ms: u64| format!("{}.{:02} s", ms / 1000, ms % 1000 / 10);
        let because = format!(
            "two executions of {name} ran at once: the container of {} (A={}) began at {}, and that of {} \
             (A={}) was there until {} of the same machine's time",
            after.pod.name,
            a(after),
            at(after.account.first.said.up_ms),
            before.pod.name,
            a(before),
            at(before.account.last.said.up_ms),
        );
        let events =
            [before.account.first_seq, after.account.first_seq, before.account.last_seq].to_vec();
        Some(Witness { because, events })
    })
}

/// Every two, the one that began first before the other.
fn pairs<'t, 'a>(told: &'t [Told<'a>]) -> impl Iterator<Item = (&'t Told<'a>, &'t Told<'a>)> {
    let following = |at: usize| told.get(at + 1..).unwrap_or_default();
    told.iter().enumerate().flat_map(move |(at, one)| following(at).iter().map(move |it| (one, it)))
}

impl Told<'_> {
    /// A as the container has it, where it can be read.
    fn admission(&self) -> Option<u64> {
        self.account.admission()?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use dispatch_container::said::Saying;
    use rstest::rstest;

    use crate::history::History;
    use crate::history::told::Told;
    use crate::rules::tests::assert_verdict;

    /// Two executions, by the rules as the API server has it.
    fn twice() -> Told {
        let mut told = Told::kueue();
        told.with_containers().runs().is_preempted(1).reserves().goes(2);
        told
    }

    fn lives(first: (&str, (u64, u64)), second: (&str, (u64, u64))) -> History {
        let mut told = twice();
        told.lives("pod-1", first.0, first.1).lives("pod-2", second.0, second.1).history()
    }

    /// The container of the first pod is killed: it says no more than that it was there.
    fn killed(last_seen: u64, next: u64) -> History {
        let mut told = twice();
        told.says("pod-1", Some("1"), Saying::Started, 1_000);
        told.says("pod-1", Some("1"), Saying::Alive, last_seen);
        told.lives("pod-2", "2", (next, next + 1_000)).history()
    }

    #[rstest]
    #[case::by_the_rules(lives(("1", (1_000, 2_000)), ("2", (2_000, 3_000))), "pass")]
    #[case::a_container_outlives_its_pod(
        lives(("1", (1_000, 2_010)), ("2", (2_000, 3_000))),
        "fail: by the containers' own account two executions of dj-01k0000000000000000000000a-s1 ran at \
         once: the container of pod-2 (A=2) began at 2.00 s, and that of pod-1 (A=1) was there until 2.01 s")]
    #[case::one_that_was_killed_was_there_as_long_as_it_said(
        killed(2_500, 2_490),
        "the container of pod-2 (A=2) began at 2.49 s"
    )]
    #[case::one_that_was_killed_in_time(killed(2_500, 2_500), "pass")]
    #[case::one_that_said_nothing(
        twice().lives("pod-2", "2", (2_000, 3_000)).history(),
        "inconclusive: pod pod-1 ran, and its log does not say when its container began")]
    #[case::one_whose_beginning_was_lost(
        twice().says("pod-1", Some("1"), Saying::Alive, 1_500).lives("pod-2", "2", (2_000, 3_000))
            .history(),
        "inconclusive: pod pod-1 ran")]
    #[case::an_overlap_outweighs_that(
        twice().says("pod-1", Some("1"), Saying::Alive, 2_500).lives("pod-2", "2", (2_000, 3_000))
            .history(),
        "fail: by the containers' own account two executions")]
    #[case::times_of_two_machines_are_not_compared(
        twice().lives("pod-1", "1", (1_000, 2_500))
            .says_on("another", "pod-2", (Some("2"), Saying::Started, 2_000)).history(),
        "pass")]
    #[case::no_container_is_expected_of_a_stand_in(
        Told::kueue().runs().is_preempted(1).reserves().goes(2).history(), "pass")]
    fn executions_do_not_overlap(#[case] history: History, #[case] expected: &str) {
        assert_verdict("EX-02", &history, expected);
    }

    #[rstest]
    #[case::by_the_rules(lives(("1", (1_000, 2_000)), ("2", (2_000, 3_000))), "pass")]
    #[case::an_overlap_is_none_of_it(lives(("1", (1_000, 2_500)), ("2", (2_000, 3_000))), "pass")]
    #[case::the_same_again(
        lives(("1", (1_000, 2_000)), ("1", (2_000, 3_000))),
        "fail: by the containers' own account pod pod-2 of dj-01k0000000000000000000000a-s1 carried 2, and \
         its container was given A=1")]
    #[case::no_a(
        twice().lives("pod-1", "1", (1_000, 2_000)).says("pod-2", None, Saying::Started, 2_000)
            .history(),
        "its container was given no A")]
    #[case::the_old_one_begins_late(
        lives(("1", (3_000, 4_000)), ("2", (2_000, 5_000))),
        "fail: by the containers' own account pod-1 of dj-01k0000000000000000000000a-s1 began with A=1, \
         after pod-2 with A=2")]
    #[case::one_that_said_nothing(
        twice().lives("pod-2", "2", (2_000, 3_000)).history(), "inconclusive: pod pod-1 ran")]
    fn identities_rise(#[case] history: History, #[case] expected: &str) {
        assert_verdict("EX-01", &history, expected);
    }

    #[test]
    fn what_both_show_is_said_of_both() {
        let mut told = Told::kueue();
        told.with_containers().runs().evicts().suspends().pod_terminates("pod-1");
        told.unreserves().reserves().goes(2);
        told.lives("pod-1", "1", (1_000, 9_000)).lives("pod-2", "2", (2_000, 3_000));
        let history = told.history();
        assert_verdict(
            "EX-02",
            &history,
            "its pod pod-1 lived; by the containers' own account two",
        );
    }

    /// Resumed without a raise, so that what is wrong is shown by the API server too.
    #[test]
    fn an_identity_that_is_shared_is_said_of_both() {
        let mut told = Told::kueue();
        told.with_containers().runs().is_preempted(1).reserves();
        told.sets("Ready").admits().resumes().pod("again", "1");
        told.lives("pod-1", "1", (1_000, 2_000)).lives("again", "1", (2_000, 3_000));
        let expected =
            "again of dj-01k0000000000000000000000a-s1 began with A=1, after pod-1 with A=1";
        assert_verdict("EX-01", &told.history(), expected);
    }
}
