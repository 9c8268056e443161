//! What Kueue has to say about writes.

mod gate;
mod job;
mod kinds;
mod queue;
mod workload;

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::features::Features;
use super::job::Integration;
use crate::api::{Denied, Webhook};

/// All of them, in the order in which they have their say.
pub(super) fn all(features: &Arc<Mutex<Features>>) -> Vec<Box<dyn Webhook>> {
    let jobs = [Integration::Job, Integration::JobSet, Integration::TrainJob];
    let jobs = jobs.map(|it| Box::new(job::JobWebhook::new(it, Running::of(features))) as _);
    let mut all: Vec<Box<dyn Webhook>> = vec![
        Box::new(kinds::Kinds),
        Box::new(workload::WorkloadWebhook::new(Running::of(features))),
        Box::new(queue::ClusterQueueWebhook),
        Box::new(queue::ResourceFlavorWebhook),
    ];
    all.extend(jobs);
    all
}

/// The features that Kueue runs with.
struct Running(Arc<Mutex<Features>>);

impl Running {
    fn of(features: &Arc<Mutex<Features>>) -> Self {
        Self(Arc::clone(features))
    }

    fn features(&self) -> Features {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Errors about fields, as one refusal.
#[derive(Debug, Default, PartialEq, Eq)]
struct Errors(Vec<String>);

impl Errors {
    fn forbidden(&mut self, path: &str, why: &str) {
        self.0.push(format!("{path}: Forbidden: {why}"));
    }

    fn invalid(&mut self, path: &str, value: &Value, why: &str) {
        self.0.push(format!("{path}: Invalid value: {value}: {why}"));
    }

    /// A field that has to stay what it was.
    fn immutable(&mut self, path: &str, old: &Value, new: &Value) {
        if old != new {
            self.invalid(path, new, "field is immutable");
        }
    }

    /// As Kubernetes' field errors are told together.
    fn told(&self) -> Option<String> {
        match &self.0[..] {
            [] => None,
            [one] => Some(one.clone()),
            all => Some(format!("[{}]", all.join(", "))),
        }
    }

    fn denied(&self) -> Result<(), Denied> {
        self.told().map_or(Ok(()), |told| Err(Denied::Webhook(told)))
    }
}

#[cfg(test)]
mod tests;
