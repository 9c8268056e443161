//! Verdicts, and how many of them make one.

use dispatch_contract::rules::RuleId;

use super::JUDGES;

/// What a history says about one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The rule was kept.
    Pass,
    /// The rule was broken.
    Fail {
        /// What happened, and what should have.
        because: String,
        /// The numbers of the events that prove it.
        events: Vec<u64>,
        /// The rules of which this break says the same in other words: where one of them is broken
        /// too, that is the cause.
        echoes: &'static [&'static str],
    },
    /// The history does not say.
    Inconclusive {
        /// Why not.
        why: String,
    },
    /// Nothing happened that the rule is about.
    NotApplicable {
        /// Why it is not about this.
        why: String,
    },
}

impl Verdict {
    pub(crate) fn fail(because: impl Into<String>, events: impl IntoIterator<Item = u64>) -> Self {
        Self::Fail { because: because.into(), events: events.into_iter().collect(), echoes: &[] }
    }

    /// As [`Verdict::fail`], of a break that says the same as that of other rules.
    pub(super) fn echo(
        because: impl Into<String>,
        events: impl IntoIterator<Item = u64>,
        echoes: &'static [&'static str],
    ) -> Self {
        Self::Fail { because: because.into(), events: events.into_iter().collect(), echoes }
    }

    fn echoes(&self) -> &'static [&'static str] {
        match self {
            Self::Fail { echoes, .. } => echoes,
            _ => &[],
        }
    }

    pub(super) fn inconclusive(why: impl Into<String>) -> Self {
        Self::Inconclusive { why: why.into() }
    }

    pub(crate) fn not_applicable(why: impl Into<String>) -> Self {
        Self::NotApplicable { why: why.into() }
    }

    /// The verdict of a rule that was kept wherever it was looked at, and had to be looked at.
    pub(super) fn pass_if_seen(seen: bool, what: &str) -> Self {
        if seen { Self::Pass } else { Self::not_applicable(format!("there was no {what}")) }
    }

    /// Whether the rule was broken.
    pub fn is_fail(&self) -> bool {
        matches!(self, Self::Fail { .. })
    }

    /// The first event that proves a break.
    fn first_event(&self) -> u64 {
        match self {
            Self::Fail { events, .. } => events.iter().copied().min().unwrap_or(u64::MAX),
            _ => u64::MAX,
        }
    }
}

/// The verdict about one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The rule.
    pub rule: RuleId,
    /// The verdict.
    pub verdict: Verdict,
}

/// What became of an expectation, a witness or a step of the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is as the scenario says.
    Held,
    /// The contrary happened.
    Broken {
        /// What.
        because: String,
    },
    /// It did not come to be, or cannot be known: a witness that was not found, a step that waited
    /// in vain.
    Open {
        /// Why.
        why: String,
    },
}

/// The verdict about a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Overall {
    /// All rules that the scenario proves were kept, and what it shows was seen.
    Pass,
    /// A rule or an expectation was broken.
    Fail {
        /// The rules that were broken, the cause first.
        rules: Vec<RuleId>,
        /// What else was broken.
        because: Vec<String>,
    },
    /// The run does not show what it should.
    Inconclusive {
        /// Why, the weightiest reason first.
        why: Vec<String>,
    },
}

/// The verdict about a scenario, of those about the rules, the expectations (`then`, and steps that
/// name no rule) and the witnesses.
///
/// A broken rule outweighs a missing witness, that a gap, that a pass. What is inconclusive, or
/// never came up, matters for the rules that the scenario proves.
pub fn overall(
    proves: &[RuleId],
    judgements: &[Judgement],
    expectations: &[Outcome],
    witnesses: &[Outcome],
) -> Overall {
    let rules: Vec<_> = causes_first(judgements).iter().map(|judgement| judgement.rule).collect();
    let because: Vec<_> = expectations.iter().chain(witnesses).filter_map(broken).collect();
    if !rules.is_empty() || !because.is_empty() {
        return Overall::Fail { rules, because };
    }
    let mut why: Vec<String> = witnesses.iter().chain(expectations).filter_map(open).collect();
    let of_these = judgements.iter().filter(|judgement| proves.contains(&judgement.rule));
    why.extend(of_these.filter_map(|judgement| match &judgement.verdict {
        Verdict::Inconclusive { why } => Some(format!("{}: {why}", judgement.rule)),
        Verdict::NotApplicable { why } => {
            Some(format!("{} is to be proved, and {why}", judgement.rule))
        }
        _ => None,
    }));
    let unjudged = proves.iter().filter(|rule| !judgements.iter().any(|it| it.rule == **rule));
    why.extend(unjudged.map(|rule| format!("{rule} was not judged")));
    if why.is_empty() { Overall::Pass } else { Overall::Inconclusive { why } }
}

fn broken(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Broken { because } => Some(because.clone()),
        _ => None,
    }
}

fn open(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Open { why } => Some(why.clone()),
        _ => None,
    }
}

/// The broken rules, the likely cause first: those that no other broken rule brings about, each
/// group in the order of the events that prove it. One whose break says the same as that of another
/// broken rule comes after that, and brings nothing about.
pub fn causes_first(judgements: &[Judgement]) -> Vec<&Judgement> {
    let mut broken: Vec<_> = judgements.iter().filter(|it| it.verdict.is_fail()).collect();
    let brings_about = |rule: &str| {
        JUDGES.iter().find(|judge| judge.rule == rule).map_or(&[][..], |judge| judge.brings_about)
    };
    let rules: Vec<_> = broken.iter().map(|judgement| judgement.rule.as_str()).collect();
    let is_echo = |it: &Judgement| it.verdict.echoes().iter().any(|rule| rules.contains(rule));
    let own: Vec<_> = broken.iter().filter(|it| !is_echo(it)).map(|it| it.rule.as_str()).collect();
    let echoes: Vec<_> =
        broken.iter().filter(|it| is_echo(it)).map(|it| it.rule.as_str()).collect();
    let causes = |rule: &str| {
        let brought = own.iter().filter(|it| brings_about(it).contains(&rule)).count();
        brought + usize::from(echoes.contains(&rule))
    };
    broken.sort_by_key(|judgement| {
        (causes(judgement.rule.as_str()), judgement.verdict.first_event())
    });
    broken
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn rule(id: &str) -> RuleId {
        id.parse().unwrap()
    }

    fn judged(id: &str, verdict: Verdict) -> Judgement {
        Judgement { rule: rule(id), verdict }
    }

    fn open() -> Outcome {
        Outcome::Open { why: "no pod lingered".to_owned() }
    }

    #[rstest]
    #[case::all_kept(Verdict::Pass, Outcome::Held, Outcome::Held, "pass")]
    #[case::broken_and_no_witness(Verdict::fail("b", [1]), Outcome::Held, open(), "fail RG-04")]
    #[case::expectation_broken(
        Verdict::Pass,
        Outcome::Broken { because: "A is 3".to_owned() }, open(), "fail A is 3")]
    #[case::no_witness_and_a_gap(
        Verdict::inconclusive("a gap"),
        Outcome::Held,
        open(),
        "inconclusive no pod lingered; RG-04: a gap"
    )]
    #[case::a_gap(
        Verdict::inconclusive("a gap"),
        Outcome::Held,
        Outcome::Held,
        "inconclusive RG-04: a gap"
    )]
    #[case::a_step_waited_in_vain(
        Verdict::Pass,
        open(),
        Outcome::Held,
        "inconclusive no pod lingered"
    )]
    #[case::never_came_up(
        Verdict::not_applicable("there was no raise"),
        Outcome::Held,
        Outcome::Held,
        "inconclusive RG-04 is to be proved, and there was no raise"
    )]
    fn the_weightiest_verdict_counts(
        #[case] verdict: Verdict,
        #[case] expectation: Outcome,
        #[case] witness: Outcome,
        #[case] expected: &str,
    ) {
        let judgements = [judged("RG-04", verdict)];
        let found = match overall(&[rule("RG-04")], &judgements, &[expectation], &[witness]) {
            Overall::Pass => "pass".to_owned(),
            Overall::Fail { rules, because } => {
                let rules = rules.iter().map(ToString::to_string);
                format!("fail {}", rules.chain(because).collect::<Vec<_>>().join("; "))
            }
            Overall::Inconclusive { why } => format!("inconclusive {}", why.join("; ")),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn what_a_scenario_does_not_prove_may_stay_open_but_not_broken() {
        let open = [judged("RG-04", Verdict::Pass), judged("CA-01", Verdict::inconclusive("x"))];
        assert_eq!(overall(&[rule("RG-04")], &open, &[], &[]), Overall::Pass);
        let broken = [judged("RG-04", Verdict::Pass), judged("CA-01", Verdict::fail("x", [3]))];
        let overall = overall(&[rule("RG-04")], &broken, &[], &[]);
        assert_eq!(overall, Overall::Fail { rules: vec![rule("CA-01")], because: Vec::new() });
    }

    #[test]
    fn what_says_the_same_in_other_words_is_named_after_it() {
        let echo = |rules| Verdict::echo("the same", [1], rules);
        let order = |judgements: &[Judgement]| -> Vec<String> {
            causes_first(judgements).iter().map(|it| it.rule.to_string()).collect()
        };
        let broken = judged("RG-01", Verdict::fail("the cause", [2]));
        assert_eq!(order(&[judged("RG-06", echo(&["RG-01"])), broken.clone()]), ["RG-01", "RG-06"]);
        // It is a cause of its own where the other rule is kept.
        assert_eq!(order(&[judged("RG-06", echo(&["RG-12"])), broken]), ["RG-06", "RG-01"]);
    }

    #[test]
    fn a_rule_to_prove_that_nobody_judged_is_inconclusive() {
        assert!(matches!(overall(&[rule("RG-04")], &[], &[], &[]), Overall::Inconclusive { .. }));
    }

    #[test]
    fn the_cause_is_named_before_what_it_brings_about() {
        let judgements = [
            judged("EX-01", Verdict::fail("later", [4])),
            judged("EX-02", Verdict::fail("first seen", [2])),
            judged("RG-04", Verdict::fail("the cause", [3])),
            judged("RG-05", Verdict::Pass),
        ];
        let order: Vec<_> =
            causes_first(&judgements).iter().map(|judgement| judgement.rule.as_str()).collect();
        assert_eq!(order, ["RG-04", "EX-02", "EX-01"]);
    }
}
