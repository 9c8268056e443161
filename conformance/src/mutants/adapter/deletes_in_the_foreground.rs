//! The adapter whose Stop deletes in the foreground.
//!
//! The API server then keeps the object until all that it owns is gone, which is just what Stop waits
//! for. But the `JobSet` goes first, Trainer sees an object without one, and makes it again: more pods,
//! with the number of those that are going.

use std::sync::Arc;

use dispatch_adapter::{Decisions, deletion};
use dispatch_contract::ObjectRef;
use kube::api::{DeleteParams, PropagationPolicy};

use crate::mutants::{Mutant, Replaced};

pub(super) const MUTANT: Mutant = Mutant {
    name: "deletes-in-the-foreground",
    about: "stops an object by a deletion in the foreground",
    breaks: &["CA-03"],
    judged_by: &["calls/stop"],
    replaces: Replaced::Adapter(|| Arc::new(DeletesInTheForeground)),
};

struct DeletesInTheForeground;

impl Decisions for DeletesInTheForeground {
    fn deletion(&self, object: &ObjectRef, version: Option<String>) -> DeleteParams {
        let propagation_policy = Some(PropagationPolicy::Foreground);
        DeleteParams { propagation_policy, ..deletion(object, version) }
    }
}

#[cfg(test)]
mod tests {
    use dispatch_contract::driver::Verb;
    use serde_json::json;

    use super::*;
    use crate::history::Kind;
    use crate::history::told::{ADAPTER, NAME, Told, UID, ask};
    use crate::mutants::told::breaks_its_own_rule_first;

    #[test]
    fn what_it_does_breaks_its_own_rule_first() {
        let delete = json!({"preconditions": {"uid": UID}, "propagationPolicy": "Foreground"});
        let mut told = Told::kueue();
        told.starts_by(ADAPTER).calls(Verb::Stop).reads(ADAPTER, Kind::TrainJob, NAME);
        told.request(ask(ADAPTER, "delete", Kind::TrainJob, NAME).with(delete)).sent();
        told.delete(Kind::TrainJob, NAME).answered().answers(json!({"deleted": true}));
        breaks_its_own_rule_first(&MUTANT, &told.history());
    }
}
