//! Real containers in the pods of a scenario's jobs: what they are made of, and the counterpart of the
//! stand-in kubelet, which tells them what a scenario says and writes what they print into the history.
//!
//! Every container runs the same static program, `dispatch-container`, and nothing else. A kubelet starts
//! it, and sends it SIGTERM; how long it takes over that, and when it ends, is told to it at a port of its
//! own, by way of the API server, which reaches every pod.

mod log;
mod program;
mod real;
mod tell;

pub use program::{NoProgram, Program};
pub use real::{Pod, Real};
pub(crate) use tell::GRACE_S;
pub use tell::NotTold;

use serde_json::Value;

use crate::history::Containers;
use crate::scenario::{Action, EditPatch, Scenario, Step};

/// The image of a pod that no kubelet runs. Nobody pulls it.
const VIRTUAL_IMAGE: &str = "registry.k8s.io/pause:3.10";

/// What the containers of a cluster's scenarios are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// There are none: the stand-in kubelet moves the pods, on virtual nodes.
    #[default]
    StandIn,
    /// Those of this image, which every node has, run by the nodes' kubelets.
    Real {
        /// The image's name.
        image: String,
    },
}

impl Choice {
    /// As histories have it.
    pub fn containers(&self) -> Containers {
        match self {
            Self::StandIn => Containers::StandIn,
            Self::Real { .. } => Containers::Real,
        }
    }

    /// The image of every container.
    pub fn image(&self) -> &str {
        match self {
            Self::StandIn => VIRTUAL_IMAGE,
            Self::Real { image } => image,
        }
    }

    /// Why a scenario cannot be played with such containers; `None` if it can.
    pub fn unplayable(&self, scenario: &Scenario) -> Option<&'static str> {
        let sets_image = |step: &Step| match &step.action {
            Action::Edit { patch: EditPatch::Json(operations), .. } => names_an_image(operations),
            _ => false,
        };
        let real = matches!(self, Self::Real { .. });
        (real && scenario.steps.iter().any(sets_image)).then_some(
            "it gives containers another image, and real ones have to have the suite's own",
        )
    }

    /// So many of a scenario's CPUs, as jobs ask for them and queues have them. What is scarce is quota:
    /// where nodes are real, and small, a CPU of a scenario is a thousandth of one.
    pub fn cpu(&self, cpus: u32) -> String {
        match self {
            Self::StandIn => cpus.to_string(),
            Self::Real { .. } => format!("{cpus}m"),
        }
    }
}

/// Whether a JSON patch writes an image.
fn names_an_image(operations: &Value) -> bool {
    let paths = operations.as_array().into_iter().flatten().filter_map(|it| it["path"].as_str());
    paths.into_iter().any(|path| path.ends_with("/image"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_images_is_not_played_with_real_containers() {
        let real = Choice::Real { image: "i".to_owned() };
        let all = crate::scenario::embedded().unwrap();
        assert!(all.iter().all(|scenario| Choice::StandIn.unplayable(scenario).is_none()));
        let left = all.iter().filter(|scenario| real.unplayable(scenario).is_some());
        let left: Vec<_> = left.map(|scenario| scenario.id.as_str()).collect();
        assert_eq!(left, ["readmission/runtime-edited-while-running"]);
    }

    #[test]
    fn the_quota_of_real_containers_fits_on_a_small_node() {
        let real = Choice::Real { image: "i".to_owned() };
        assert_eq!((Choice::StandIn.cpu(4), real.cpu(4)), ("4".to_owned(), "4m".to_owned()));
    }

    #[test]
    fn the_program_reads_what_the_adapter_gives_to_every_job() {
        let main = include_str!("../../container/src/main.rs");
        for name in [dispatch_contract::names::ENV_ADMISSION, dispatch_contract::names::ENV_RESTART]
        {
            assert!(main.contains(&format!("env::var({name:?})")), "{name}");
        }
    }
}
