//! The judges: for each rule of the contract that a history can tell about, a pure function from
//! the history to a verdict.
//!
//! Every rule is judged in every scenario. A judge looks at what happened and at nothing else, so
//! that a history can be judged again, later and elsewhere, with the same verdict.

mod answers;
mod ca;
mod case;
mod ex;
mod gaps;
mod op;
mod pf;
mod requests;
mod rg;
mod rt;
mod runtime;
mod sg;
mod span;
#[cfg(test)]
mod tests;
mod unjudged;
mod verdict;
mod writer;

use dispatch_contract::rules::{RULES, RuleId};

use crate::history::{Begin, History, Kind};

pub use verdict::{Judgement, Outcome, Overall, Verdict, causes_first, overall};

use case::Case;

/// The judge of one rule.
#[derive(Clone, Copy, Debug)]
pub struct Judge {
    /// The rule's id.
    pub rule: &'static str,
    /// The kinds whose versions it reads: with a gap in one of them the rule can be neither kept nor
    /// broken, but for what was broken before the gap.
    reads: &'static [Kind],
    /// The rules that a break of this one usually brings about, so that a report can name the cause
    /// first.
    pub brings_about: &'static [&'static str],
    decide: fn(&Case<'_>) -> Verdict,
    /// A history that breaks the rule: no judge stands here that cannot fail.
    #[cfg(test)]
    breaking: fn() -> History,
}

/// Every judge, in the order of the contract.
pub const JUDGES: &[Judge] = &[
    sg::closed::SG_01,
    sg::before_open::SG_02,
    sg::read_back::SG_03,
    sg::read_back::SG_04,
    sg::workload::SG_05,
    sg::refused::SG_06,
    sg::repeated::SG_07,
    sg::rehearsed::SG_08,
    sg::runtime::SG_09,
    op::gate::OP_01,
    op::gate::OP_02,
    op::version::OP_03,
    op::administrator::OP_04,
    op::trainjob::OP_05,
    op::past::OP_08,
    op::past::OP_09,
    op::held::OP_10,
    pf::leak::PF_01,
    pf::observe_only::PF_02,
    pf::report::PF_03,
    pf::lease::PF_04,
    pf::removed::PF_05,
    pf::served::PF_06,
    pf::probe::PF_07,
    rg::state::RG_01,
    rg::foreign::RG_02,
    rg::owner::RG_03,
    rg::remainder::RG_04,
    rg::raise::RG_05,
    rg::stale::RG_06,
    rg::leaders::RG_07,
    rg::state::RG_08,
    rg::crash::RG_09,
    rg::down::RG_10,
    rg::own_entry::RG_11,
    rg::marks::RG_12,
    rg::next::RG_13,
    rg::served::RG_14,
    rg::in_time::RG_15,
    rg::marks::RG_16,
    rg::taken_over::RG_17,
    rg::banked::RG_18,
    ex::identity::EX_01,
    ex::overlap::EX_02,
    ex::identity::EX_03,
    ex::bypassed::EX_04,
    ex::healed::EX_05,
    ca::hold::CA_01,
    ca::release::CA_02,
    ca::stop::CA_03,
    ca::status::CA_04,
    ca::unknown::CA_05,
    ca::input::CA_06,
    ca::ended::CA_07,
    ca::list::CA_08,
    rt::RT_01,
    rt::RT_02,
];

/// Judges a history by every rule of the contract, in the contract's order.
///
/// A gap in the record makes what depends on it inconclusive: a pass, since a break may be in the gap,
/// and a break, since what undoes it may be there. What was broken before the gap stays broken.
pub fn judge(history: &History) -> Vec<Judgement> {
    let broken_before = gaps::broken_before(history);
    let mut judgements = judge_as_it_is(history);
    for judgement in &mut judgements {
        let rule = judgement.rule.as_str();
        let Some(judge) = JUDGES.iter().find(|judge| judge.rule == rule) else { continue };
        let Some(gap) = gaps::concerning(history, judge.reads) else { continue };
        if let Some(broken) = broken_before.get(rule) {
            judgement.verdict = broken.clone();
        } else {
            gaps::leave_open(&mut judgement.verdict, gap);
        }
    }
    judgements
}

/// Judges a history as if nothing were missing in it.
fn judge_as_it_is(history: &History) -> Vec<Judgement> {
    let case = history.begin().map(|begin: &Begin| Case::new(history, begin));
    RULES
        .iter()
        .filter_map(|rule| {
            let id: RuleId = rule.id.parse().ok()?;
            let verdict = match &case {
                Some(case) => judge_by(case, rule.id),
                None => Verdict::inconclusive("the history is empty"),
            };
            Some(Judgement { rule: id, verdict })
        })
        .collect()
}

fn judge_by(case: &Case<'_>, rule: &str) -> Verdict {
    match JUDGES.iter().find(|judge| judge.rule == rule) {
        Some(judge) => (judge.decide)(case),
        None => Verdict::not_applicable(unjudged::why(rule)),
    }
}
