//! Parts of scenarios for tests, written as they are in files.

use super::{Expectation, Fact, Scenario, parse};

/// A scenario in which much happens, with this `then` and this witness.
pub(crate) fn scenario(then: &str, witness: &str) -> Scenario {
    let text = format!(
        "title: A test
why: To have a scenario.
proves: [EX-01]
given: {{ mode: kueue, queue: {{ cpu: 4, foreign-check: true }}, controller: {{ replicas: 1 }} }}
steps:
  - preflight: {{ observe-only: false }}
  - terminate: controller-0
  - restart: controller-0
  - start: {{ job: train, cpu: 1 }}
  - submit: {{ job: other, kind: Job, cpu: 1 }}
  - open: train
  - freeze: controller-0
  - thaw: controller-0
  - kill: adapter
  - restart: adapter
then: [{then}]
witness:
  - {witness}
"
    );
    parse("test", "test.yaml", &text).unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// One fact.
pub(crate) fn fact(text: &str) -> Fact {
    scenario("", text).witness.remove(0).fact
}

/// One expectation, in flow style.
pub(crate) fn expectation(text: &str) -> Expectation {
    scenario(text, "{ running: train }").then.remove(0)
}
