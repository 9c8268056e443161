//! What the containers of jobs said of themselves, where they are real.

use std::collections::BTreeMap;

use dispatch_container::said::{Said, Saying};
use serde::{Deserialize, Serialize};

use super::{History, What};

/// What the containers of a scenario's jobs are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Containers {
    /// There are none: the stand-in kubelet moves the pods.
    #[default]
    StandIn,
    /// Containers that kubelets run.
    Real,
}

impl Containers {
    /// Whether it is what histories do not name.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A line that a container printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerSaid {
    /// The job that its pod belongs to, as in the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The name of its pod.
    pub pod: String,
    /// The UID of the pod whose log has the line.
    pub uid: String,
    /// What it said.
    pub said: Said,
}

/// The life of a pod's container by its own account: everything that it said, in short.
#[derive(Clone, Copy, Debug)]
pub struct Account<'a> {
    /// What it said first.
    pub first: &'a ContainerSaid,
    /// The number of that event.
    pub first_seq: u64,
    /// What it said last: it was there until then, and if that is not that it ends, perhaps longer.
    pub last: &'a ContainerSaid,
    /// The number of that event.
    pub last_seq: u64,
}

impl Account<'_> {
    /// Whether its beginning is in the account.
    pub fn is_whole(&self) -> bool {
        self.first.said.what == Saying::Started
    }

    /// A as the container had it, readable or not.
    pub fn admission(&self) -> Option<&str> {
        self.first.said.admission.as_deref()
    }

    /// Whether this one was there before another one that began later. `None` if their times cannot be
    /// compared, since they ran on two machines.
    pub fn overlaps(&self, later: &Account<'_>) -> Option<bool> {
        // Both are cut to the same step, so that the later one truly began before the end of this one.
        self.is_comparable(later).then_some(later.first.said.up_ms < self.last.said.up_ms)
    }

    /// Whether the times of two can be compared.
    pub fn is_comparable(&self, other: &Account<'_>) -> bool {
        self.first.said.machine == other.first.said.machine
    }
}

impl History {
    /// What the containers said of themselves, by the UID of their pod.
    pub fn accounts(&self) -> BTreeMap<&str, Account<'_>> {
        let mut accounts = BTreeMap::new();
        if self.begin().is_none_or(|begin| begin.containers == Containers::StandIn) {
            return accounts;
        }
        for event in self.events() {
            let What::Container(said) = &event.what else { continue };
            let (first, first_seq) = (&**said, event.seq);
            let new = Account { first, first_seq, last: first, last_seq: first_seq };
            let account = accounts.entry(said.uid.as_str()).or_insert(new);
            (account.last, account.last_seq) = (first, first_seq);
        }
        accounts
    }
}
