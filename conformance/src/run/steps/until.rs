//! `until`: waits until a fact is true, on what the recorder sees.

use std::time::Duration;

use dispatch_contract::rules::RuleId;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::history::History;
use crate::rules::{Verdict, causes_first, judge};
use crate::run::error::StepError;
use crate::run::explain::explain;
use crate::run::observer::{Observer, Progress};
use crate::run::stage::Stage;
use crate::scenario::{Deadline, Fact, Step, Truth};

/// How often whoever waits is told what is waited for, when the state changes meanwhile.
const TELL_EVERY: Duration = Duration::from_secs(2);

/// After how many of these nothing that changed is told too.
const TELL_AGAIN: u32 = 10;

/// How often what was recorded is judged meanwhile. What breaks a rule at two such times in a row is
/// not a matter of watches that have yet to deliver, and a wait that lasts so long is in vain.
const JUDGE_EVERY: Duration = Duration::from_secs(3);

pub(super) async fn run(
    stage: &mut Stage<'_>,
    step: &Step,
    fact: &Fact,
    deadline: Deadline,
    rule: Option<RuleId>,
    observer: &mut dyn Observer,
) -> Result<(), StepError> {
    let limit = deadline.limit() * stage.time_scale;
    stage.record.read();
    let waited = timeout(limit, true_at_last(stage, step, fact, limit, observer)).await;
    waited.unwrap_or_else(|_| {
        let now = explain(fact, &stage.record.history);
        Err(StepError::Failed { why: format!("not so within {limit:?}; {now}"), rule })
    })
}

/// The fact is asked for after every event, so that one that is true for a moment only is not
/// missed.
async fn true_at_last(
    stage: &mut Stage<'_>,
    step: &Step,
    fact: &Fact,
    limit: Duration,
    observer: &mut dyn Observer,
) -> Result<(), StepError> {
    let mut tell = interval(TELL_EVERY);
    tell.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tell.tick().await;
    let mut told = (String::new(), 0);
    let mut look = interval(JUDGE_EVERY);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    look.tick().await;
    let mut broken = None;
    while fact.is_so(&stage.record.history) != Truth::True {
        tokio::select! {
            biased;
            death = stage.subjects.died() => return Err(StepError::failed(death.to_string())),
            _ = look.tick() => {
                let now = broken_rule(&stage.record.history, &stage.scenario.broken_by_the_cluster);
                match now {
                    Some((rule, because)) if broken == Some(rule) => {
                        return Err(StepError::failed(format!(
                            "waited for no longer, since {rule} is broken: {because}"
                        )));
                    }
                    now => broken = now.map(|(rule, _)| rule),
                }
            }
            _ = tell.tick() => {
                let now = explain(fact, &stage.record.history);
                told.1 += 1;
                if now != told.0 || told.1 >= TELL_AGAIN {
                    observer.progress(&Progress::Waiting { until: what(step), limit, now: &now });
                    told = (now, 0);
                }
            }
            read = stage.record.read_next() => read?,
        }
    }
    Ok(())
}

/// The rule that is broken by now, the likely cause first, and how. What is broken stays so,
/// whatever comes: no judge takes a break back for what happens later.
fn broken_rule(history: &History, expected: &[RuleId]) -> Option<(RuleId, String)> {
    let mut judgements = judge(history);
    judgements.retain(|judgement| !expected.contains(&judgement.rule));
    let first = *causes_first(&judgements).first()?;
    match &first.verdict {
        Verdict::Fail { because, .. } => Some((first.rule, because.clone())),
        _ => None,
    }
}

/// What is waited for, as the scenario has it.
fn what(step: &Step) -> &str {
    step.text.strip_prefix("until: ").unwrap_or(&step.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::told::Told;

    #[test]
    fn a_rule_that_is_broken_is_named_with_what_broke_it() {
        let (rule, because) =
            broken_rule(&Told::kueue().waits().sets("Ready").history(), &[]).unwrap();
        assert_eq!(rule.as_str(), "RG-05");
        assert!(because.contains("became Ready"), "{because}");
    }

    #[test]
    fn while_no_rule_is_broken_there_is_none() {
        assert_eq!(broken_rule(&Told::kueue().runs().history(), &[]), None);
    }
}
