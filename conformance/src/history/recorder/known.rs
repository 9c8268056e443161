//! What is known to be in the store, as far as it was seen.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;

use crate::follow::{List, Whole};
use crate::history::{Change, Kind};

/// The latest version that was seen of each object that is there.
#[derive(Debug, Default)]
pub(super) struct Known {
    of: BTreeMap<Kind, HashMap<String, Arc<Value>>>,
    /// The UIDs of what was seen to be deleted.
    gone: HashSet<String>,
    trouble: Option<String>,
    announced: watch::Sender<()>,
}

/// What a list had: the version of each object by its UID, and the revision of the list itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Listing {
    versions: HashMap<String, u64>,
    revision: u64,
}

impl Listing {
    pub(super) fn of(list: &List<Whole>) -> Self {
        let versions = list.items.iter().map(|Whole(it)| (uid(it), version(it))).collect();
        let revision = list.metadata.resource_version.as_deref().unwrap_or_default();
        Self { versions, revision: revision.parse().unwrap_or_default() }
    }
}

impl Known {
    /// Told of everything that is announced from now on.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.announced.subscribe()
    }

    /// Wakes whoever waits for a change.
    pub(super) fn announce(&self) {
        self.announced.send_replace(());
    }

    /// Whether a kind was listed.
    pub(super) fn is_listed(&self, kind: Kind) -> bool {
        self.of.contains_key(&kind)
    }

    /// The last thing that went wrong.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    pub(super) fn note_trouble(&mut self, why: String) {
        self.trouble = Some(why);
    }

    pub(super) fn keep(&mut self, kind: Kind, object: &Arc<Value>) {
        self.of.entry(kind).or_default().insert(uid(object), Arc::clone(object));
    }

    pub(super) fn forget(&mut self, kind: Kind, object: &Value) {
        self.of.entry(kind).or_default().remove(&uid(object));
        self.gone.insert(uid(object));
    }

    /// Takes a list; gives the versions in it that were not seen before. What is gone without its
    /// deletion having been seen is given as deleted, in its last state: the gap before the list
    /// says that this is not all.
    pub(super) fn relist(
        &mut self,
        kind: Kind,
        objects: Vec<Arc<Value>>,
    ) -> Vec<(Change, Arc<Value>)> {
        let listed = objects.iter().map(|object| (uid(object), Arc::clone(object))).collect();
        let mut before = self.of.insert(kind, listed).unwrap_or_default();
        let mut unseen = Vec::new();
        for object in objects {
            match before.remove(&uid(&object)) {
                Some(seen) if version(&seen) == version(&object) => {}
                Some(_) => unseen.push((Change::Modified, object)),
                None => unseen.push((Change::Added, object)),
            }
        }
        self.gone.extend(before.keys().cloned());
        unseen.extend(before.into_values().map(|object| (Change::Deleted, object)));
        unseen
    }

    /// What of a list was not seen yet.
    pub(super) fn missing(&self, kind: Kind, listing: &Listing) -> Option<String> {
        let none = HashMap::new();
        let known = self.of.get(&kind).unwrap_or(&none);
        let older = |uid: &String, listed: &u64| match known.get(uid) {
            Some(object) => version(object) < *listed,
            None => !self.gone.contains(uid),
        };
        let behind = listing.versions.iter().find(|(uid, listed)| older(uid, listed));
        let left = known.iter().find(|(uid, object)| {
            !listing.versions.contains_key(*uid) && version(object) <= listing.revision
        });
        match (behind, left) {
            (Some((uid, listed)), _) => {
                Some(format!("version {listed} of {kind} {uid} was not delivered"))
            }
            (None, Some((_, object))) => {
                Some(format!("the deletion of {kind} {} was not delivered", name(object)))
            }
            (None, None) => None,
        }
    }
}

fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}

fn version(object: &Value) -> u64 {
    let version = object["metadata"]["resourceVersion"].as_str();
    version.and_then(|version| version.parse().ok()).unwrap_or_default()
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn pod(uid: &str, version: u64) -> Arc<Value> {
        let metadata = json!({ "name": uid, "uid": uid, "resourceVersion": version.to_string() });
        Arc::new(json!({ "metadata": metadata }))
    }

    fn listing(revision: u64, versions: &[(&str, u64)]) -> Listing {
        let versions = versions.iter().map(|(uid, version)| ((*uid).to_owned(), *version));
        Listing { versions: versions.collect(), revision }
    }

    fn known(pods: &[(&str, u64)]) -> Known {
        let mut known = Known::default();
        known.relist(Kind::Pod, pods.iter().map(|(uid, version)| pod(uid, *version)).collect());
        known
    }

    #[rstest]
    #[case::nothing_listed_and_nothing_known(&[], listing(9, &[]), true)]
    #[case::the_same(&[("a", 3)], listing(9, &[("a", 3)]), true)]
    #[case::newer_than_the_list(&[("a", 11)], listing(9, &[("a", 3)]), true)]
    #[case::created_after_the_list(&[("a", 11)], listing(9, &[]), true)]
    #[case::not_delivered(&[], listing(9, &[("a", 3)]), false)]
    #[case::an_older_version(&[("a", 2)], listing(9, &[("a", 3)]), false)]
    #[case::a_deletion_not_delivered(&[("a", 3)], listing(9, &[]), false)]
    fn a_list_is_reached_when_all_in_it_was_seen(
        #[case] pods: &[(&str, u64)],
        #[case] listing: Listing,
        #[case] reached: bool,
    ) {
        assert_eq!(known(pods).missing(Kind::Pod, &listing).is_none(), reached);
    }

    #[test]
    fn what_was_deleted_after_the_list_is_not_waited_for() {
        let mut known = known(&[("a", 3)]);
        known.forget(Kind::Pod, &pod("a", 12));
        assert_eq!(known.missing(Kind::Pod, &listing(9, &[("a", 3)])), None);
    }

    #[test]
    fn a_second_list_gives_only_what_was_not_seen() {
        let mut known = known(&[("same", 1), ("changed", 2), ("gone", 3)]);
        let again = vec![pod("same", 1), pod("changed", 8), pod("new", 9)];
        let mut unseen: Vec<_> = known
            .relist(Kind::Pod, again)
            .into_iter()
            .map(|(change, object)| (name(&object).to_owned(), change))
            .collect();
        unseen.sort_by(|one, other| one.0.cmp(&other.0));
        assert_eq!(
            unseen,
            [
                ("changed".to_owned(), Change::Modified),
                ("gone".to_owned(), Change::Deleted),
                ("new".to_owned(), Change::Added),
            ]
        );
    }
}
