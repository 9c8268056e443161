//! Kubernetes' own controllers: Jobs, the scheduler, garbage collection, namespaces; and the rules of
//! the built-in kinds.

mod garbage_collector;
mod job;
mod namespace;
mod rules;
mod scheduler;
mod service_account;
mod ttl_after_finished;

use crate::api::Webhook;
use crate::component::Controller;

/// The controllers of kube-controller-manager.
pub fn controllers() -> Vec<Box<dyn Controller>> {
    vec![
        Box::new(job::Jobs::default()),
        Box::new(job::OrphanPods),
        Box::new(ttl_after_finished::FinishedJobs),
        Box::new(garbage_collector::GarbageCollector::default()),
        Box::new(namespace::Namespaces),
        Box::new(service_account::ServiceAccounts),
    ]
}

/// The one controller of kube-scheduler.
pub fn scheduler() -> Vec<Box<dyn Controller>> {
    vec![Box::new(scheduler::Scheduler::default())]
}

/// The rules of all kinds themselves: what an object gets where it leaves something open, and what
/// is not valid or may not change. They are the API server's own, and come before all webhooks.
pub fn rules() -> Vec<Box<dyn Webhook>> {
    let mut all = rules::all();
    all.extend(crate::trainer::rules());
    all.extend(crate::jobset::rules());
    all
}
