//! What an object goes through, as the changes that each write makes.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::aspect::{self, aspects};
use super::role::{Role, roles};
use crate::history::{Begin, History, Kind, Trail};

/// One aspect of an object takes a value, or is no longer there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Transition(String);

impl Transition {
    /// The object is created.
    pub fn created() -> Self {
        Self("created".to_owned())
    }

    fn gone() -> Self {
        Self("gone".to_owned())
    }

    fn new(aspect: &str, value: Option<&String>) -> Self {
        Self(format!("{aspect}: {}", value.map_or("none", String::as_str)))
    }

    pub(super) fn read(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Whether nobody decides it: a controller writes what it counts, or finds, when it happens to
    /// look.
    pub fn is_incidental(&self) -> bool {
        // Kueue says Pending of what it looked at and did not admit: not of what it admits at once.
        let stage = self.0 == "QuotaReserved: False(Pending)";
        let found = ["startTime: ", "finalizers: ", aspect::COUNT];
        stage || found.iter().any(|prefix| self.0.starts_with(prefix))
    }

    /// Whether it may be passed over: a controller copies what it sees when it looks, and what came
    /// and went between two looks is never written.
    pub fn may_be_passed_over(&self, kind: Kind) -> bool {
        let copied = match kind {
            Kind::JobSet | Kind::Job => Some("A: "),
            Kind::TrainJob => Some("Suspended: "),
            Kind::Workload => Some("gates: "),
            _ => None,
        };
        self.is_incidental() || copied.is_some_and(|prefix| self.0.starts_with(prefix))
    }
}

impl std::fmt::Display for Transition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What one write changes; never empty.
pub type Write = BTreeSet<Transition>;

/// What an object goes through, as far as the history reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Life {
    /// The writes that change something that is compared, in the order of the store.
    pub writes: Vec<Write>,
    /// Whether the history went on for [`STILL`] after the last of them, and after the last of any
    /// object of the same job: what would have come next is then missing for another reason than
    /// that the history ended.
    pub still: bool,
}

/// How long a controller, and whoever waits for it, takes at most between two writes of one life.
const STILL: SignedDuration = SignedDuration::from_secs(5);

/// A life in a history.
#[derive(Clone, Debug, Default)]
pub struct Lived {
    /// What the object went through.
    pub life: Life,
    /// The number of the event of each write.
    pub events: Vec<u64>,
}

/// The lives of the objects of a history, by their roles, and one without writes for what it does not
/// have.
pub fn lives(history: &History) -> (BTreeMap<Role, Lived>, Life) {
    let Some(begin) = history.begin() else { return (BTreeMap::new(), Life::default()) };
    let end = history.events().last().map_or(Timestamp::MIN, |event| event.at);
    let is_still =
        |last: Option<Timestamp>| last.is_none_or(|last| end.duration_since(last) >= STILL);
    let mut lives = BTreeMap::new();
    let mut last_of_job: BTreeMap<String, Option<Timestamp>> = BTreeMap::new();
    for (role, trail) in roles(history) {
        let (one, ended) = lived(history, begin, role.kind, trail);
        let last = last_of_job.entry(role.job().to_owned()).or_default();
        *last = (*last).max(ended);
        lives.insert(role, one);
    }
    for (role, one) in &mut lives {
        one.life.still = is_still(last_of_job.get(role.job()).copied().flatten());
    }
    let last = last_of_job.into_values().flatten().max();
    (lives, Life { writes: Vec::new(), still: is_still(last) })
}

/// The life of one object, and when its last write was recorded.
fn lived(
    history: &History,
    begin: &Begin,
    kind: Kind,
    trail: &Trail,
) -> (Lived, Option<Timestamp>) {
    let mut lived = Lived::default();
    let mut before: Option<BTreeMap<String, String>> = None;
    let mut last = None;
    for version in trail.versions() {
        let write = if version.is_deletion() {
            Write::from([Transition::gone()])
        } else {
            let Some(object) = history.raw(version) else { continue };
            let now = aspects(kind, object, begin);
            let write = write(before.as_ref(), &now);
            before = Some(now);
            write
        };
        if !write.is_empty() {
            lived.life.writes.push(write);
            lived.events.push(version.seq);
            last = Some(version.at);
        }
    }
    (lived, last)
}

fn write(before: Option<&BTreeMap<String, String>>, now: &BTreeMap<String, String>) -> Write {
    let Some(before) = before else {
        let all = now.iter().map(|(name, value)| Transition::new(name, Some(value)));
        return all.chain([Transition::created()]).collect();
    };
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let changed = names.into_iter().filter(|name| before.get(*name) != now.get(*name));
    changed.map(|name| Transition::new(name, now.get(name))).collect()
}
