//! What can be said of a history in which something is missing.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;

use super::{Verdict, judge_as_it_is};
use crate::history::{Event, Gap, History, Kind};

/// By how much one watch of the recorder may lag behind another. What is broken at two times that far
/// apart is not a matter of a version that was to come.
const LAG: SignedDuration = SignedDuration::from_secs(3);

/// The first gap that concerns who reads these kinds.
pub(super) fn concerning<'h>(history: &'h History, reads: &[Kind]) -> Option<&'h Gap> {
    let concerns = |gap: &&Gap| gap.kind.is_none_or(|kind| reads.contains(&kind));
    history.gaps().map(|(_, gap)| gap).find(concerns)
}

/// The rules that were broken before the first gap, and stayed so for a while: no judge takes a
/// break back for what happens later, so what is missing later cannot have undone it.
pub(super) fn broken_before(history: &History) -> BTreeMap<&'static str, Verdict> {
    if history.gaps().next().is_none() {
        return BTreeMap::new();
    }
    let whole = history.before_gaps();
    let Some(last) = whole.last() else { return BTreeMap::new() };
    let early = whole.partition_point(|event| event.at + LAG <= last.at);
    let (early, late) = (broken(&whole[..early]), broken(whole));
    late.into_iter().filter(|(rule, _)| early.contains_key(rule)).collect()
}

fn broken(events: &[Arc<Event>]) -> BTreeMap<&'static str, Verdict> {
    let history: History = events.iter().cloned().collect();
    let broken = judge_as_it_is(&history).into_iter().filter(|it| it.verdict.is_fail());
    broken.map(|judgement| (judgement.rule.as_str(), judgement.verdict)).collect()
}

/// Takes back what the gap may hide.
pub(super) fn leave_open(verdict: &mut Verdict, gap: &Gap) {
    let why = match verdict {
        Verdict::Pass => format!("the record has a gap: {}", gap.why),
        Verdict::Fail { because, .. } => {
            format!("{because}; but the record has a gap, which may hide the reason: {}", gap.why)
        }
        Verdict::Inconclusive { .. } | Verdict::NotApplicable { .. } => return,
    };
    *verdict = Verdict::inconclusive(why);
}
