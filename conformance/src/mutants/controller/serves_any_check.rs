//! The controller that answers every check of a Workload.
//!
//! With one check on the queue nobody notices. Where another controller has one too, a job runs that
//! this other controller holds back.

use std::sync::Arc;

use dispatch_admission::{
    Environment, Gather, GatherError, LiveReader, Parts, Snapshot, WorkloadKey,
};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::reader::{Differs, Reader};
use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "serves-any-check",
    about: "sets every check of a Workload Ready, also one that names another controller",
    breaks: &["RG-14"],
    judged_by: &["readmission/foreign-check"],
    replaces: Replaced::Controller(parts),
};

fn parts(environment: &Environment) -> Parts {
    let Environment { client, limits, checks, .. } = environment.clone();
    let gather = Reader(ServesAnyCheck(LiveReader::new(client, limits, checks)));
    Parts { gather: Arc::new(gather), ..Parts::reference(environment) }
}

struct ServesAnyCheck(LiveReader);

impl ServesAnyCheck {
    async fn read(&self, key: &WorkloadKey) -> Result<Option<Snapshot>, GatherError> {
        Ok(self.0.gather(key).await?.map(serve_all))
    }
}

fn serve_all(snapshot: Snapshot) -> Snapshot {
    let checks = snapshot.workload.object.checks();
    let checks = checks.iter().map(|check| check.name.clone()).collect();
    Snapshot { checks, ..snapshot }
}

impl Differs for ServesAnyCheck {
    fn contract(&self) -> &LiveReader {
        &self.0
    }

    fn gather<'a>(
        &'a self,
        workload: &'a WorkloadKey,
    ) -> BoxFuture<'a, Result<Option<Snapshot>, GatherError>> {
        self.read(workload).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Kind;
    use crate::history::told::{ADAPTER, CHECK, CONTROLLER, Told, ask, check_body, set_check};
    use crate::mutants::told::{breaks_its_own_rule_first, foreign_check, quiet};
    use serde_json::json;

    #[test]
    fn it_takes_every_check_for_its_own() {
        let mut seen = quiet();
        seen.checks.clear();
        assert_eq!(serve_all(seen).checks, [CHECK]);
    }

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let mut told = Told::kueue();
        foreign_check(told.waits_by(ADAPTER)).looks(CONTROLLER);
        told.raises_by(CONTROLLER, 1).takes_over(1).looks_below(CONTROLLER);
        told.reads(CONTROLLER, Kind::Workload, "workload");
        let body = told.body(Kind::Workload, "workload", check_body("Ready"));
        let ready = ask(CONTROLLER, "patch", Kind::Workload, "workload").on_status().with(body);
        told.writes(ready, |it| {
            set_check(it, "Ready", "A=1");
            it["status"]["admissionChecks"][1]["state"] = json!("Ready");
        });
        let history = told.admits().resumes().pod("pod-1", "1").history();
        breaks_its_own_rule_first(&MUTANT, &history);
    }
}
