//! Expectations and witness, once every step is known.

use serde_saphyr::Spanned;

use super::text::one_line;
use super::{Plan, place};
use crate::scenario::file::{ExpectationFile, FactFile};
use crate::scenario::problem::Problem;
use crate::scenario::{Claim, Expectation, Place, Scope, Witness};

/// The claims that a line of `then` can make.
pub(in crate::scenario) const CLAIMS: [&str; 5] =
    ["never", "always", "finally", "executions", "count"];

impl Plan<'_> {
    pub(super) fn expectations(
        &mut self,
        written: &[Spanned<ExpectationFile>],
    ) -> Vec<Expectation> {
        let expectations = written.iter().filter_map(|line| {
            let text = one_line(self.text, place(line));
            let claim = self.claim(&line.value, place(line))?;
            Some(Expectation { place: place(line), text, claim })
        });
        expectations.collect()
    }

    fn claim(&mut self, line: &ExpectationFile, at: Place) -> Option<Claim> {
        let claim = self.one_claim(line, at)?;
        let scope = self.scope(line)?;
        match claim {
            "never" => Some(Claim::Never(self.claimed_fact(line.never.as_ref()?)?, scope)),
            "always" => Some(Claim::Always(self.claimed_fact(line.always.as_ref()?)?, scope)),
            "finally" => {
                self.no_scope(&scope, at, claim);
                Some(Claim::Finally(self.claimed_fact(line.finally.as_ref()?)?))
            }
            "executions" => {
                self.no_scope(&scope, at, claim);
                let executions = &line.executions.as_ref()?.value;
                let of = self.dispatch_job(&executions.of)?;
                Some(Claim::Executions { of, count: executions.count })
            }
            _ => {
                self.no_scope(&scope, at, claim);
                let count = &line.count.as_ref()?.value;
                let of = self.dispatch_job(&count.of)?;
                Some(Claim::Count { of, admission: self.last_count(&count.admission)? })
            }
        }
    }

    /// The one claim of the line.
    fn one_claim(&mut self, line: &ExpectationFile, at: Place) -> Option<&'static str> {
        let made = [
            line.never.is_some(),
            line.always.is_some(),
            line.finally.is_some(),
            line.executions.is_some(),
            line.count.is_some(),
        ];
        let made: Vec<_> = CLAIMS
            .into_iter()
            .zip(made)
            .filter_map(|(claim, made)| made.then_some(claim))
            .collect();
        match made.as_slice() {
            [claim] => Some(claim),
            [] => {
                let problem = Problem::new(at, "the line claims nothing");
                self.refuse(problem.hint(format!("begin it with one of {}", CLAIMS.join(", "))));
                None
            }
            [first, second, ..] => {
                let message = format!("the line claims `{first}` and `{second}`");
                self.refuse(Problem::new(at, message).hint("make two lines of it"));
                None
            }
        }
    }

    fn no_scope(&mut self, scope: &Scope, at: Place, claim: &str) {
        if *scope != Scope::Whole {
            let message = format!("`{claim}` is about the whole history");
            let hint = "`before`, `after` and `between` go with `never` and `always`";
            self.refuse(Problem::new(at, message).hint(hint));
        }
    }

    /// The points of the history that the line is about.
    fn scope(&mut self, line: &ExpectationFile) -> Option<Scope> {
        match (&line.before, &line.after, &line.between) {
            (None, None, None) => Some(Scope::Whole),
            (Some(until), None, None) => Some(Scope::Before(self.claimed_fact(until)?)),
            (None, Some(from), None) => Some(Scope::After(self.claimed_fact(from)?)),
            (None, None, Some(ends)) => self.between(ends),
            (before, after, between) => {
                let places = [before.as_ref().map(place), after.as_ref().map(place)];
                let places = places.into_iter().chain([between.as_ref().map(place)]).flatten();
                let problem = Problem::new(places.max()?, "the line has two scopes");
                self.refuse(problem.hint("write `between: [ <from>, <until> ]`"));
                None
            }
        }
    }

    fn between(&mut self, ends: &Spanned<Vec<Spanned<FactFile>>>) -> Option<Scope> {
        if let [from, until] = ends.value.as_slice() {
            let (from, until) = (self.claimed_fact(from), self.claimed_fact(until));
            return Some(Scope::Between(from?, until?));
        }
        let message = format!("`between` needs two facts and has {}", ends.value.len());
        self.refuse(
            Problem::new(place(ends), message)
                .hint("the first says from where, the second until where"),
        );
        None
    }

    pub(super) fn witness(&mut self, written: &Spanned<Vec<Spanned<FactFile>>>) -> Vec<Witness> {
        if written.value.is_empty() {
            let problem = Problem::new(place(written), "the witness is empty");
            self.refuse(problem.hint(
                "say what must be found in the history for the verdict to count; without it a \
                 scenario in which nothing happened would pass",
            ));
        }
        let witness = written.value.iter().filter_map(|line| {
            let text = one_line(self.text, place(line));
            let fact = self.claimed_fact(line)?;
            Some(Witness { place: place(line), text, fact })
        });
        witness.collect()
    }
}
