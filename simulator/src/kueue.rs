//! Kueue: queues, quota, admission checks, evictions; its integrations and its webhooks.
//!
//! As it is configured for the suite: batch Jobs, `JobSet`s and TrainJobs are managed, if they name a
//! queue; no waiting for pods to be ready, no fair sharing, no topologies, no `MultiKueue`. Each rule
//! names the place in Kueue's source that it mirrors, or says that it was measured. Events are not
//! made: nothing here reads them.
//!
//! - [`Features`]: the feature gates.
//! - `job`: what a job of each kind is to Kueue, and how it is started and stopped.
//! - `workload`: the Workload of a job, its conditions and checks.
//! - `scheduler`: quota, and whom to take it from.
//! - `queue`: `ClusterQueue`s and `LocalQueue`s; `in_use`: what they use.
//! - `webhook`: what Kueue has to say about writes.

mod features;
mod in_use;
mod job;
mod names;
mod quantity;
mod queue;
mod scheduler;
mod webhook;
mod workload;

use std::sync::{Arc, Mutex};

use self::in_use::InUseController;
use self::job::{Integration, JobController};
use self::queue::cluster_queue::ClusterQueueController;
use self::queue::local_queue::LocalQueueController;
use self::scheduler::Scheduler;
use self::workload::controller::WorkloadController;
use crate::api::Webhook;
use crate::component::Controller;

pub use self::features::{Features, UnknownFeature};

/// Kueue's controllers, with these features. They are made anew when Kueue starts.
pub fn controllers(features: &Features) -> Vec<Box<dyn Controller>> {
    let features = *features;
    let jobs = [Integration::Job, Integration::JobSet, Integration::TrainJob];
    let jobs = jobs.map(|it| Box::new(JobController::new(it, features)) as Box<dyn Controller>);
    let mut all: Vec<Box<dyn Controller>> = vec![
        Box::new(Scheduler::new(features)),
        Box::new(WorkloadController::new(features)),
        Box::new(ClusterQueueController::new(features)),
        Box::new(LocalQueueController::new(features)),
        Box::new(InUseController::of_checks()),
        Box::new(InUseController::of_flavors()),
    ];
    all.extend(jobs);
    all
}

/// Kueue's webhooks, and the rules of Kueue's kinds. They go by the features as they are at the time
/// of each write: whoever changes them restarts Kueue.
///
/// Trainer's webhooks come before these: its defaulting stamps the time on the patches that a TrainJob
/// is made with, and Kueue's own, which is added afterwards, has none (measured).
pub fn webhooks(features: &Arc<Mutex<Features>>) -> Vec<Box<dyn Webhook>> {
    webhook::all(features)
}

#[cfg(test)]
mod tests;
