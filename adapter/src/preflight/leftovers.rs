//! Probes that crashed preflights left behind (PF-05).
//!
//! A live preflight renews an annotation of its probe every few seconds. So a probe that was there
//! when this preflight began, and has not been renewed for a whole window of watching, is nobody's
//! any more. No clock is compared. It is deleted at the version that was seen last, so that a
//! renewal in the last moment saves it.

use std::collections::BTreeMap;

use dispatch_contract::resources::TrainJob;
use dispatch_contract::{CallError, names};
use dispatch_kubernetes::request::{Outcome, Request, send};
use kube::api::{DeleteParams, ListParams, Preconditions, PropagationPolicy};
use kube::runtime::watcher;
use kube::{Api, ResourceExt};
use tokio::time::Instant;

use super::PROBE_WINDOW;
use super::probe_runtime::{RUNTIMES, is_probe, remove_runtime, runtime_api};
use crate::Adapter;
use crate::error::of_request;
use crate::watch::{Seen, until, watch};
use crate::write::TRAINJOBS;

/// Removes what crashed preflights left, and says what could not be removed. `own` is the probe of
/// this preflight.
pub(super) async fn sweep(adapter: &Adapter, own: &str) -> Vec<String> {
    match try_sweep(adapter, own).await {
        Ok(warnings) => warnings,
        Err(error) => vec![format!("older probes could not be looked for: {}", error.message)],
    }
}

async fn try_sweep(adapter: &Adapter, own: &str) -> Result<Vec<String>, CallError> {
    let runtimes = runtimes(adapter, own).await?;
    let config = watcher::Config::default().labels(&format!("{}={}", names::PROBE, names::TRUE));
    let mut trainjobs = watch::<TrainJob>(adapter.client(), adapter.namespace(), TRAINJOBS, config);
    let deadline = Instant::now() + PROBE_WINDOW;
    let mut probes = Probes::default();
    until(&mut trainjobs, deadline, |seen| {
        probes.take(seen, own);
        (probes.listed && probes.suspects.is_empty() && runtimes.is_empty()).then_some(())
    })
    .await?;
    let mut warnings = Vec::new();
    for trainjob in probes.suspects.values() {
        warnings.extend(delete(adapter, trainjob).await.err());
    }
    for (name, uid) in runtimes {
        // Of a probe that lives, or that was left for another preflight to judge.
        if !probes.live.contains(&name) {
            let removed = remove_runtime(adapter, &name, uid).await;
            warnings.extend(removed.err().map(|error| error.message));
        }
    }
    Ok(warnings)
}

/// The probes of others, as far as they were seen.
#[derive(Debug, Default)]
struct Probes {
    listed: bool,
    /// Those that were there at first and have not been renewed since, by name, at their last
    /// version.
    suspects: BTreeMap<String, TrainJob>,
    /// Names of those that live.
    live: Vec<String>,
}

impl Probes {
    fn take(&mut self, seen: Seen<TrainJob>, own: &str) {
        match seen {
            Seen::Listed => self.listed = true,
            // What may have been missed may have been a renewal.
            Seen::Gap => {
                self.live.extend(std::mem::take(&mut self.suspects).into_keys());
            }
            Seen::Deleted(trainjob) => {
                self.suspects.remove(&trainjob.name_any());
            }
            Seen::Version(trainjob) => {
                let name = trainjob.name_any();
                if name == own || !is_probe(&name) {
                    return;
                }
                let before = self.suspects.get(&name);
                let suspected = match before {
                    Some(before) => renewal(before) == renewal(&trainjob),
                    None => !self.listed,
                };
                if suspected {
                    self.suspects.insert(name, trainjob);
                } else {
                    self.suspects.remove(&name);
                    self.live.push(name);
                }
            }
        }
    }
}

fn renewal(trainjob: &TrainJob) -> Option<&str> {
    trainjob.annotation(names::PROBE_RENEWED)
}

/// The runtimes of probes of others, with their UIDs.
async fn runtimes(
    adapter: &Adapter,
    own: &str,
) -> Result<Vec<(String, Option<String>)>, CallError> {
    let request = Request::new("list", RUNTIMES, format!("in namespace {}", adapter.namespace()));
    let params = ListParams::default().labels(&format!("{}={}", names::PROBE, names::TRUE));
    let api = runtime_api(adapter);
    let found = send(adapter.limits(), request, api.list(&params)).await.map_err(of_request)?;
    let of_others = |name: &String| is_probe(name) && name != own;
    Ok(found
        .items
        .into_iter()
        .map(|runtime| (runtime.name_any(), runtime.uid()))
        .filter(|(name, _)| of_others(name))
        .collect())
}

async fn delete(adapter: &Adapter, trainjob: &TrainJob) -> Result<(), String> {
    let name = trainjob.name_any();
    tracing::info!(probe = name, "removing the probe of a preflight that crashed");
    let params = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Background),
        preconditions: Some(Preconditions {
            uid: trainjob.uid(),
            resource_version: trainjob.resource_version(),
        }),
        ..DeleteParams::default()
    };
    let api = Api::<TrainJob>::namespaced(adapter.client().clone(), adapter.namespace());
    let request = Request::new("delete", TRAINJOBS, format!("{}/{name}", adapter.namespace()));
    match send(adapter.limits(), request, api.delete(&name, &params)).await {
        Ok(_) => Ok(()),
        // Renewed in the last moment, or removed by another.
        Err(error) if matches!(error.outcome, Outcome::Conflict | Outcome::NotFound) => Ok(()),
        Err(error) => Err(format!("the probe {name} of a crashed preflight is left: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn seen(name: &str, renewed: &str) -> Seen<TrainJob> {
        Seen::Version(trainjob(name, renewed))
    }

    fn trainjob(name: &str, renewed: &str) -> TrainJob {
        serde_json::from_value(json!({"metadata": {"name": name,
            "annotations": {names::PROBE_RENEWED: renewed}}}))
        .unwrap()
    }

    const OTHER: &str = "dispatch-probe-other";
    const OWN: &str = "dispatch-probe-own";

    #[rstest]
    #[case::left(vec![seen(OTHER, "3"), Seen::Listed], &[OTHER])]
    #[case::touched_by_kueue(
        vec![seen(OTHER, "3"), Seen::Listed, seen(OTHER, "3")], &[OTHER])]
    #[case::renewed(vec![seen(OTHER, "3"), Seen::Listed, seen(OTHER, "4")], &[])]
    #[case::renewed_and_then_touched(
        vec![seen(OTHER, "3"), Seen::Listed, seen(OTHER, "4"), seen(OTHER, "4")], &[])]
    #[case::made_meanwhile(vec![Seen::Listed, seen(OTHER, "0")], &[])]
    #[case::removed_meanwhile(
        vec![seen(OTHER, "3"), Seen::Listed, Seen::Deleted(trainjob(OTHER, "3"))], &[])]
    #[case::own(vec![seen(OWN, "0"), Seen::Listed], &[])]
    #[case::no_probe_but_labelled(
        vec![seen("dj-01arz3ndektsv4rrffq69g5fav-s1", "0"), Seen::Listed], &[])]
    #[case::interrupted(vec![seen(OTHER, "3"), Seen::Listed, Seen::Gap, seen(OTHER, "3")], &[])]
    fn a_probe_that_nobody_renews_is_left_over(
        #[case] events: Vec<Seen<TrainJob>>,
        #[case] expected: &[&str],
    ) {
        let mut probes = Probes::default();
        for event in events {
            probes.take(event, OWN);
        }
        let suspects: Vec<_> = probes.suspects.keys().map(String::as_str).collect();
        assert_eq!(suspects, expected);
    }
}
