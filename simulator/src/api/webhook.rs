//! What has a say in writes before they are stored: webhooks, and the rules of the kinds themselves.

use serde_json::Value;

use super::failure::Failure;
use crate::component::Component;
use crate::object::{Object, differ};
use crate::resource::Resource;

/// A write that is looked at.
#[derive(Clone, Debug)]
pub struct Review<'a> {
    /// What becomes of the object.
    pub operation: Operation,
    /// Its kind.
    pub resource: &'static Resource,
    /// The subresource that is written, if any.
    pub subresource: Option<&'a str>,
    /// The object as it is stored; of an update or a deletion.
    pub old: Option<&'a Object>,
    /// Who writes, such as `system:serviceaccount:ns:name`, or the name of a component.
    pub user: &'a str,
    /// Whether nothing is to be stored.
    pub dry_run: bool,
    /// The time now.
    pub now: jiff::Timestamp,
}

impl Review<'_> {
    /// Whether one of these kinds is made or changed, be it by way of a subresource.
    pub fn writes(&self, kinds: &[&Resource]) -> bool {
        self.operation != Operation::Delete && kinds.contains(&self.resource)
    }

    /// The same, and not by way of a subresource.
    pub fn writes_main(&self, kinds: &[&Resource]) -> bool {
        self.subresource.is_none() && self.writes(kinds)
    }
}

/// What becomes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// It is made.
    Create,
    /// It changes.
    Update,
    /// It goes.
    Delete,
}

/// What is stored already.
pub trait Lookup {
    /// An object.
    fn get(&self, resource: &'static Resource, namespace: &str, name: &str) -> Option<&Object>;

    /// All of a kind, in a namespace or in all.
    fn list(&self, resource: &'static Resource, namespace: Option<&str>) -> Vec<&Object>;
}

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// By an admission webhook: 403.
    Webhook(String),
    /// By the kind's own rules: 422.
    Invalid(String),
    /// As it is.
    Failure(Failure),
}

/// Somebody who has a say in writes. First all mutate, in the order in which they were registered,
/// then all validate.
pub trait Webhook: Send {
    /// Its name, as refusals have it: `vworkload.kb.io`.
    fn name(&self) -> &'static str;

    /// Whose it is. While that component does not run, what this one would have to look at is
    /// refused. None for the rules of the kinds themselves, which are the API server's.
    fn component(&self) -> Option<Component>;

    /// Whether it looks at this write.
    fn looks_at(&self, review: &Review<'_>) -> bool;

    /// Changes the object before it is stored.
    fn mutate(
        &self,
        review: &Review<'_>,
        object: &mut Value,
        stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        let _ = (review, object, stored);
        Ok(())
    }

    /// Refuses what may not be stored. Of a deletion, the object is the stored one.
    fn validate(
        &self,
        review: &Review<'_>,
        object: &Object,
        stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        let _ = (review, object, stored);
        Ok(())
    }
}

/// What is wrong with a change of fields of the spec that may not change, as the kind's own rules say
/// it.
pub fn immutable(old: &Object, new: &Object, fields: &[&str], why: &str) -> Vec<String> {
    let changed = fields.iter().filter(|field| differ(old, new, &format!("/spec/{field}")));
    changed.map(|field| format!("spec.{field}: Invalid value: {why}")).collect()
}

/// Refuses an object for what is wrong with it, if anything is, as the kind's own rules do.
pub fn invalid(wrong: Vec<String>) -> Result<(), Denied> {
    let mut wrong = wrong.into_iter();
    match (wrong.next(), wrong.len()) {
        (None, _) => Ok(()),
        (Some(one), 0) => Err(Denied::Invalid(one)),
        (Some(one), _) => {
            let all = wrong.fold(one, |all, next| format!("{all}, {next}"));
            Err(Denied::Invalid(format!("[{all}]")))
        }
    }
}
