//! RG-09: after a crash between raise and Ready, A is raised again.
//!
//! # What it says
//! Where the controller crashes between raise and Ready, the next pass raises again. A may skip.
//!
//! # Why it matters
//! Between the crash and the next pass anything may have run under that number: the count alone does not
//! tell whether it was used.
//!
//! # How it is judged
//! By the requests of the replicas: a Ready rests on a raise of the same process, since that of a process
//! that is gone is not known to be unused. Where they are not recorded, by the times in which no replica
//! was there: after one, a Ready needs a raise.
//!
//! # A history that breaks it
//! A replica raises A and is killed; it is started again, and sets the check Ready.

use crate::history::{Kind, Role};
use crate::rules::case::{Case, Family, Incarnation, Raise, Ready};
use crate::rules::{Judge, Verdict};

pub(in crate::rules) const RG_09: Judge = Judge {
    rule: "RG-09",
    reads: &[Kind::TrainJob, Kind::Workload],
    brings_about: &["EX-01", "EX-03"],
    decide: judge,
    #[cfg(test)]
    breaking: tests::ready_after_the_crash,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut seen = false;
    for family in &case.objects {
        for ready in &family.readies {
            let raises = family.raises_for(ready);
            let found = if case.requests.are_logged(Role::Controller) {
                by_processes(case, raises, ready)
            } else {
                by_times(case, raises, ready)
            };
            match found {
                Found::NoCrash => {}
                Found::RaisedAgain => seen = true,
                Found::NotRaisedAgain { seqs } => {
                    let because = format!(
                        "the controller was gone after it had raised A of {}, and the check {} \
                         became Ready without another raise",
                        family.trainjob.name, ready.check
                    );
                    return Verdict::fail(because, seqs);
                }
            }
        }
        seen |= crashed_at_last(case, family);
    }
    Verdict::pass_if_seen(seen, "crash between a raise and Ready")
}

/// What came of a raise.
enum Found {
    NoCrash,
    RaisedAgain,
    NotRaisedAgain { seqs: Vec<u64> },
}

/// Whether the process that set the check Ready had raised A itself.
fn by_processes(case: &Case<'_>, raises: &[Raise<'_>], ready: &Ready<'_>) -> Found {
    let process = |kind: Kind, order: u64| -> Option<Incarnation> {
        case.process_of(case.requests.that_made(kind, order)?)
    };
    let Some(this) = process(Kind::Workload, ready.version.order) else { return Found::NoCrash };
    let by = |raise: &Raise<'_>| process(Kind::TrainJob, raise.after.order);
    let is_gone = |raise: &&Raise<'_>| {
        let other = by(raise).filter(|other| *other != this);
        other.is_some_and(|other| other.until < ready.version.seq)
    };
    let Some(lost) = raises.iter().rfind(is_gone) else { return Found::NoCrash };
    if raises.iter().any(|raise| by(raise).is_none_or(|other| other == this)) {
        return Found::RaisedAgain;
    }
    let end = by(lost).map(|other| other.until);
    // Of a replica that is still there, the raise may be relied on.
    if raises.iter().any(|raise| by(raise).is_some_and(|other| ready.version.seq < other.until)) {
        return Found::NoCrash;
    }
    let seqs = [lost.after.seq].into_iter().chain(end).chain([ready.version.seq]).collect();
    Found::NotRaisedAgain { seqs }
}

/// Whether A was raised after the last time in which no replica was there.
fn by_times(case: &Case<'_>, raises: &[Raise<'_>], ready: &Ready<'_>) -> Found {
    let Some(first) = raises.first() else { return Found::NoCrash };
    let is_between = |from: u64| first.after.order <= from && from < ready.version.order;
    let Some(down) = case.down.iter().rfind(|down| is_between(down.from)) else {
        return Found::NoCrash;
    };
    if raises.iter().any(|raise| down.from < raise.after.order) {
        return Found::RaisedAgain;
    }
    Found::NotRaisedAgain { seqs: vec![first.after.seq, down.seq, ready.version.seq] }
}

/// Whether the controller was gone after the last raise, and nothing became Ready since.
fn crashed_at_last(case: &Case<'_>, family: &Family<'_>) -> bool {
    let ready = family.readies.last().map_or(0, |ready| ready.version.order);
    let open = family.raises.last().filter(|raise| ready < raise.after.order);
    open.is_some_and(|raise| case.down.iter().any(|down| raise.after.order <= down.from))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::history::SubjectChange::{Killed, Ready, Started};
    use crate::history::told::{CONTROLLER, SECOND, Told};
    use crate::history::{History, SubjectChange};
    use crate::rules::tests::assert_verdict;

    /// A raise, and then the end of the replica that made it, and its new start.
    fn crashed() -> Told {
        let mut told = Told::kueue();
        told.waits().looks(CONTROLLER).raises_by(CONTROLLER, 1).takes_over(1);
        told.controller(Killed).controller(Started).controller(Ready).looks(CONTROLLER);
        told
    }

    pub(super) fn ready_after_the_crash() -> History {
        crashed().sets_by(CONTROLLER, "Ready").history()
    }

    fn without_requests() -> Told {
        let mut told = Told::kueue();
        told.waits().raises(1).takes_over(1).controller(Killed).controller(Started);
        told
    }

    /// Two replicas: one raises, the other sets the check Ready.
    fn of_another(change: Option<SubjectChange>) -> History {
        let mut told = Told::kueue();
        told.replica(1, Started).replica(1, Ready).waits();
        told.looks(SECOND).raises_by(SECOND, 1).takes_over(1).looks(CONTROLLER);
        if let Some(change) = change {
            told.replica(1, change);
        }
        told.sets_by(CONTROLLER, "Ready").history()
    }

    #[rstest]
    #[case::raised_again(
        crashed().raises_by(CONTROLLER, 2).takes_over(2).sets_by(CONTROLLER, "Ready").history(),
        "pass")]
    #[case::not_ready_yet(crashed().history(), "pass")]
    #[case::raised_again_without_requests(
        without_requests().raises(2).takes_over(2).sets("Ready").history(), "pass")]
    #[case::no_crash(Told::kueue().waits().goes_by(CONTROLLER, 1).history(), "n/a")]
    #[case::killed_while_it_runs(
        Told::kueue().waits().goes_by(CONTROLLER, 1).controller(Killed).history(), "n/a")]
    #[case::of_a_replica_that_lives(of_another(None), "n/a")]
    #[case::ready_after_the_crash(ready_after_the_crash(), "became Ready without another raise")]
    #[case::by_another_replica(of_another(Some(Killed)), "became Ready without another raise")]
    #[case::without_requests(
        without_requests().sets("Ready").history(), "became Ready without another raise")]
    fn a_crash_between_raise_and_ready_asks_for_another_raise(
        #[case] history: History,
        #[case] expected: &str,
    ) {
        assert_verdict("RG-09", &history, expected);
    }
}
