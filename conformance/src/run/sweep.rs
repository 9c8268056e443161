//! Removes what a run has left on a cluster that was killed, and nothing else: objects that have
//! exactly the names which a scenario gives to its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use dispatch_contract::{Clock, SystemClock};
use kube::{Client, ResourceExt};

use super::api::{Named, list};
use super::fixture::{self, PrivateFolder};
use super::{Names, RunError, teardown};
use crate::kubelet::Kubelet;

/// Every scenario of which something is on the cluster that only a cluster has once, whether it is
/// being played or not.
pub async fn remains(client: &Client) -> Result<Vec<Names>, RunError> {
    let mut kinds: Vec<_> = made_by(&Names::pattern())?
        .into_iter()
        .map(|named| (named.api_version, named.kind))
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut found = BTreeMap::new();
    for (api_version, kind) in kinds {
        let unlisted = |source| RunError::Sweep { kind, source };
        for object in list(client, api_version, kind).await.map_err(unlisted)? {
            let name = object.name_any();
            if let Some(names) = whose(kind, &name)? {
                found.insert(names.suffix().to_owned(), names);
            }
        }
    }
    Ok(found.into_values().collect())
}

/// The scenario that gives this name to an object of this kind.
fn whose(kind: &str, name: &str) -> Result<Option<Names>, RunError> {
    let Some(names) = Names::read_from(name) else { return Ok(None) };
    let its = made_by(&names)?.iter().any(|named| named.kind == kind && named.name == name);
    Ok(its.then_some(names))
}

/// What a scenario makes that is in no namespace: kind and name, with what differs in angle brackets.
/// Whatever else it makes is in its namespace, but for the Leases of its nodes.
pub fn would_make() -> Result<Vec<(&'static str, String)>, RunError> {
    let mut all = made_by(&Names::pattern())?;
    all.sort_by(|one, other| (one.kind, &one.name).cmp(&(other.kind, &other.name)));
    Ok(all.into_iter().map(|named| (named.kind, named.name)).collect())
}

/// Everything of a scenario that is in no namespace.
fn made_by(names: &Names) -> Result<Vec<Named>, RunError> {
    let rights = fixture::shipped(names)?;
    let mut all = vec![Named::cluster("v1", "Namespace", names.namespace())];
    let nodes = names.nodes().node_names().into_iter();
    all.extend(nodes.map(|name| Named::cluster("v1", "Node", name)));
    all.extend(teardown::in_order(names, &rights).into_iter().flatten());
    Ok(all)
}

/// Removes all that is left of a scenario that nobody plays any more; gives what could not be
/// removed, and why, one a line.
pub async fn sweep(client: &Client, names: &Names) -> Result<Vec<String>, RunError> {
    let rights = fixture::shipped(names)?;
    // Its own was gone before its pods were.
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let kubelet = Kubelet::take_over(client, &names.nodes(), &names.namespace(), &clock);
    let torn = teardown::remove_all(client, names, &rights).await;
    let mut left = torn.left;
    left.extend(teardown::all_gone(client, torn.leaving.as_slice()).await);
    drop(kubelet);
    if let Err(error) = PrivateFolder::remove(names) {
        left.push(format!("the tokens in a temporary folder: {error}"));
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const RUN: &str = "01m8n2g4jrhr5epw0y3vtrjg3h";

    #[test]
    fn everything_that_a_scenario_makes_in_no_namespace_is_known_as_its_own() {
        let names = Names::new(RUN, 12);
        let all = made_by(&names).unwrap();
        for kind in ["Namespace", "Node", "ClusterQueue", "AdmissionCheck", "ClusterRoleBinding"] {
            assert!(all.iter().any(|named| named.kind == kind), "{kind}");
        }
        for Named { kind, name, .. } in all {
            assert_eq!(whose(kind, &name).unwrap(), Some(names.clone()), "{kind} {name}");
        }
    }

    #[rstest]
    #[case::no_run("Namespace", "dispatch-team-1")]
    #[case::no_number("Namespace", "dispatch-01m8n2g4jrhr5epw0y3vtrjg3h")]
    #[case::more_behind_it("Namespace", "dispatch-01m8n2g4jrhr5epw0y3vtrjg3h-1-backup")]
    #[case::another_stem("Namespace", "team-01m8n2g4jrhr5epw0y3vtrjg3h-1")]
    #[case::another_kind("Node", "dispatch-01m8n2g4jrhr5epw0y3vtrjg3h-1")]
    #[case::another_node("Node", "virtual-01m8n2g4jrhr5epw0y3vtrjg3h-1-node-7")]
    #[case::odd_number("Namespace", "dispatch-01m8n2g4jrhr5epw0y3vtrjg3h-01")]
    #[case::no_ulid("Namespace", "dispatch-zzzzzzzzzzzzzzzzzzzzzzzzzz-1")]
    fn what_only_looks_like_it_is_not_touched(#[case] kind: &str, #[case] name: &str) {
        assert_eq!(whose(kind, name).unwrap(), None);
    }
}
