//! The names of everything that a scenario makes in a cluster.
//!
//! Names that a cluster has only once end in the run's id and the scenario's number in the run, so
//! that many scenarios, of many runs, can be on one cluster.

use std::collections::BTreeMap;

use crate::kubelet::NodeSet;
use crate::run_id::is_run_id;
use crate::scenario::Priority;

/// The names of a scenario's jobs in the cluster, by what the scenario calls them.
pub(super) type JobNames = BTreeMap<String, String>;

/// The names of one scenario's objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    suffix: String,
}

impl Names {
    /// The names of the scenario with this number in the run of this id.
    pub fn new(run: &str, number: u32) -> Self {
        Self { suffix: format!("{run}-{number}") }
    }

    /// The names of the scenario whose run and number stand in the name of an object.
    pub fn read_from(name: &str) -> Option<Self> {
        let parts: Vec<_> = name.split('-').collect();
        parts.windows(2).find_map(|pair| {
            let (run, number) = (pair[0], pair[1].parse::<u32>().ok()?);
            let names = Self::new(run, number);
            // As they are written, and in no other way.
            let same = names.suffix == format!("{run}-{}", pair[1]);
            (is_run_id(run) && same).then_some(names)
        })
    }

    /// The names as documentation has them, with what differs in angle brackets.
    pub fn pattern() -> Self {
        Self { suffix: "<run>-<n>".to_owned() }
    }

    /// The run's id.
    pub fn run(&self) -> &str {
        self.suffix.rsplit_once('-').map_or(&self.suffix, |(run, _)| run)
    }

    /// The run's id and the scenario's number.
    pub fn suffix(&self) -> &str {
        &self.suffix
    }

    /// The namespace of everything that has one.
    pub fn namespace(&self) -> String {
        self.unique("dispatch")
    }

    /// A name that the cluster has only once.
    pub fn unique(&self, stem: &str) -> String {
        format!("{stem}-{}", self.suffix)
    }

    /// The virtual nodes.
    pub fn nodes(&self) -> NodeSet {
        NodeSet::roomy(self.unique("virtual"))
    }

    /// The `ResourceFlavor`, which selects the virtual nodes.
    pub fn flavor(&self) -> String {
        self.unique("virtual")
    }

    /// The `ClusterQueue`.
    pub fn cluster_queue(&self) -> String {
        self.unique("queue")
    }

    /// The cohort of the `ClusterQueue`, which is alone in it.
    pub fn cohort(&self) -> String {
        self.unique("cohort")
    }

    /// The `AdmissionCheck`.
    pub fn admission_check(&self) -> String {
        self.unique("dispatch")
    }

    /// The `AdmissionCheck` of another controller.
    pub fn foreign_check(&self) -> String {
        self.unique("foreign")
    }

    /// The controller that the foreign check names.
    pub fn foreign_controller(&self) -> String {
        format!("foreign.dispatch.phpboyscout.uk/{}", self.suffix)
    }

    /// The controller that the `AdmissionCheck` names.
    pub fn controller_name(&self) -> String {
        format!("conformance.dispatch.phpboyscout.uk/{}", self.suffix)
    }

    /// The `WorkloadPriorityClass` for a priority.
    pub fn priority_class(&self, priority: Priority) -> String {
        self.unique(priority.as_str())
    }

    /// The `LocalQueue`.
    pub fn local_queue(&self) -> &'static str {
        "queue"
    }

    /// The `TrainingRuntime`.
    pub fn runtime(&self) -> &'static str {
        "runtime"
    }

    /// The controller's Lease.
    pub fn lease(&self) -> &'static str {
        dispatch_contract::names::LEASE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_scenarios_share_no_name_that_a_cluster_has_once() {
        let unique = |names: &Names| {
            vec![
                names.namespace(),
                names.flavor(),
                names.cluster_queue(),
                names.cohort(),
                names.admission_check(),
                names.foreign_check(),
                names.foreign_controller(),
                names.controller_name(),
                names.priority_class(Priority::Low),
                names.priority_class(Priority::High),
                names.nodes().name,
            ]
        };
        let (one, other) = (unique(&Names::new("r", 1)), unique(&Names::new("r", 2)));
        assert!(one.iter().all(|name| !other.contains(name)));
    }

    #[test]
    fn every_name_fits_into_a_label() {
        let names = Names::new("01arz3ndektsv4rrffq69g5fav", 999);
        let longest = names.nodes().node_names();
        assert!(longest.iter().all(|name| name.len() <= 63), "{longest:?}");
        assert!(names.namespace().len() <= 63);
    }
}
