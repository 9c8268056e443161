//! Expectations: what must be so in the whole history, and what must be found in it.

use super::{AdmissionIs, Fact, JobName, Place};

/// One line of `then`. A broken one fails the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// Where it stands in the file.
    pub place: Place,
    /// It as the file has it, on one line.
    pub text: String,
    /// What must be so.
    pub claim: Claim,
}

/// What must be so in a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The fact is true at no point of the scope.
    Never(Fact, Scope),
    /// The fact is true at every point of the scope.
    Always(Fact, Scope),
    /// The fact is true at the end.
    Finally(Fact),
    /// The job had exactly so many executions, and each had a higher A than all before it.
    Executions {
        /// The job.
        of: JobName,
        /// How many.
        count: u32,
    },
    /// At the end, A of the job's `TrainJob` is this.
    Count {
        /// The job.
        of: JobName,
        /// A: a number, or the least that it may be.
        admission: AdmissionIs,
    },
}

/// The points of a history that a claim is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of them.
    Whole,
    /// Those before the fact is first true. A history in which it never is cannot be judged so.
    Before(Fact),
    /// Those from where the fact is first true. A history in which it never is cannot be judged so.
    After(Fact),
    /// Those from where the first fact is first true until the second one is, later, first true.
    Between(Fact, Fact),
}

/// One line of `witness`: a fact that must have been true at some point. Where it was not, the
/// scenario did not show what it is for, and its verdict is inconclusive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// Where it stands in the file.
    pub place: Place,
    /// It as the file has it, on one line.
    pub text: String,
    /// The fact.
    pub fact: Fact,
}
