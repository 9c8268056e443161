//! The runtime that an object is made from, through time (SG-09).

use serde_json::Value;

use super::case::{Case, Family};
use crate::history::{Kind, Trail, Verb, Version};

/// The kind of runtime that is recorded; the other one has no namespace.
const RECORDED: &str = "TrainingRuntime";

/// The runtime of an object.
pub(super) struct Runtime<'a> {
    /// Its name.
    pub(super) name: &'a str,
    /// The runtimes that had the name, one after the other.
    pub(super) trails: Vec<&'a Trail>,
    /// Its specifications while `Start` may have read it.
    started_with: Vec<&'a Value>,
    case: &'a Case<'a>,
}

impl<'a> Runtime<'a> {
    /// The runtime of an object, if its kind is recorded and what `Start` read is known.
    pub(super) fn of(case: &'a Case<'a>, family: &Family<'a>) -> Option<Self> {
        let trainjob = family.trainjob.first()?.trainjob()?;
        let reference = &trainjob.spec.runtime_ref;
        let name = reference.name.as_str();
        if reference.kind.as_deref() != Some(RECORDED) {
            return None;
        }
        let all: Vec<_> =
            case.history.of_kind(Kind::TrainingRuntime).filter(|it| it.name == name).collect();
        let created = family.trainjob.created();
        let mut calls = case.calls_for(Verb::Start, family.trainjob);
        let asked = calls.find_map(|call| call.invoked_order.filter(|order| *order < created));
        let from = asked.unwrap_or(created);
        let mut this = Self { name, trails: all, started_with: Vec::new(), case };
        let first = this.at(from).into_iter();
        let later = this.trails.iter().flat_map(|trail| trail.between(from, created));
        let versions: Vec<&Version> = first.chain(later.filter(|it| !it.is_deletion())).collect();
        this.started_with = versions.into_iter().filter_map(|it| this.spec(it)).collect();
        (!this.started_with.is_empty()).then_some(this)
    }

    fn at(&self, order: u64) -> Option<&'a Version> {
        self.trails.iter().find_map(|trail| trail.at(order))
    }

    fn spec(&self, version: &Version) -> Option<&'a Value> {
        self.case.history.raw(version).map(|raw| &raw["spec"])
    }

    /// The last version of it at this order, or of its deletion.
    pub(super) fn last_change(&self, order: u64) -> Option<&'a Version> {
        let last = |trail: &'a Trail| trail.between(0, order).last();
        self.trails.iter().filter_map(|trail| last(trail)).max_by_key(|version| version.order)
    }

    /// Whether it is another one at this order than `Start` can have read, or gone.
    pub(super) fn differs_at(&self, order: u64) -> bool {
        let spec = self.at(order).and_then(|version| self.spec(version));
        spec.is_none_or(|spec| !self.started_with.contains(&spec))
    }

    /// Whether `Start` can only have read one of which this is so.
    pub(super) fn was_always(&self, is: impl Fn(&Value) -> bool) -> bool {
        self.started_with.iter().all(|spec| is(spec))
    }
}
