//! Creates, updates, patches and applies.

use std::sync::Arc;

use serde_json::{Value, json};

use super::access::{self, Attributes};
use super::failure::Failure;
use super::fields::{By, Managers, empty, schema_of};
use super::generated::Generated;
use super::metadata;
use super::patch;
use super::request::{Request, Verb};
use super::server::State;
use super::stored::{Document, Stored};
use super::target::{Target, configuration, managers, reset};
use super::user::Caller;
use super::webhook::Operation;
use crate::object::{Object, is_terminating, seconds, text};
use crate::resource::{self, Resource};

/// The HTTP status and the document of an answer to a write.
pub(super) type Written = (u16, Document);

/// How an object is changed.
enum Edit {
    Whole(Value),
    Merge(Value),
    Json(Value),
    Strategic(Value),
    Apply(Value, bool),
}

impl State {
    /// Answers a write.
    pub(super) fn write(&mut self, request: Request, caller: &Caller) -> Result<Written, Failure> {
        let Request { resource, namespace, name, subresource, verb } = request;
        let mut target = Target {
            resource,
            subresource: subresource.as_deref(),
            namespace: namespace.as_deref().unwrap_or_default(),
            name: name.as_deref().unwrap_or_default(),
            caller,
            manager: "",
            dry_run: false,
            now: self.now(),
        };
        let (edit, options) = match verb {
            Verb::Delete(delete) => return self.delete(&target, &delete),
            Verb::DeleteCollection(list, delete) => {
                return self.delete_collection(&target, &list, &delete);
            }
            Verb::Create(body, options) => {
                target.write_as(&options);
                return match target.subresource {
                    None => self.create(&target, body),
                    Some(_) => self.create_subresource(&target, &body),
                };
            }
            Verb::Update(body, options) => (Edit::Whole(body), options),
            Verb::MergePatch(body, options) => (Edit::Merge(body), options),
            Verb::JsonPatch(body, options) => (Edit::Json(body), options),
            Verb::StrategicPatch(body, options) => (Edit::Strategic(body), options),
            Verb::Apply(body, options, apply) => (Edit::Apply(body, apply.force), options),
            Verb::Get | Verb::List(_) | Verb::Watch { .. } => {
                return Err(Failure::unsupported("a read that writes"));
            }
        };
        target.write_as(&options);
        self.change(&target, edit)
    }

    fn create(&mut self, target: &Target<'_>, mut body: Value) -> Result<Written, Failure> {
        metadata::check_kind(target.resource, &mut body)?;
        metadata::normalize(&mut body);
        if !text(&body, "/metadata/resourceVersion").is_empty() {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(Failure::new(500, "InternalError", message));
        }
        metadata::check_place(&mut body, target.namespace, target.name)?;
        metadata::check_name(self, target.resource, &mut body)?;
        let managers = Managers::default();
        self.create_managed(target, body, managers, |managers, new, by| {
            managers.updated(schema_of(target.resource), &empty(target.resource), new, by);
        })
    }

    /// Creates an object, whose managers are found by `manage`.
    fn create_managed(
        &mut self,
        target: &Target<'_>,
        mut object: Object,
        mut managers: Managers,
        manage: impl FnOnce(&mut Managers, &Object, By<'_>),
    ) -> Result<Written, Failure> {
        let resource = target.resource;
        self.may_create_in(target, text(&object, "/metadata/name"))?;
        if resource.status && resource != resource::NODE {
            object.as_object_mut().and_then(|it| it.remove("status"));
        }
        let generated = Generated::of(resource, &object);
        metadata::begin(self, resource, &mut object);
        let review = target.review(Operation::Create, None);
        self.complete(&review, &mut object)?;
        let (version, time) = (resource.api_version(), seconds(target.now));
        let owned = generated.without(&object);
        manage(&mut managers, owned.as_ref().unwrap_or(&object), target.by(&version, &time));
        managers.write(&mut object);
        if self.mutate(&review, &mut object)? {
            self.complete(&review, &mut object)?;
        }
        metadata::normalize(&mut object);
        self.validate(&review, &object)?;
        let name = text(&object, "/metadata/name");
        if self.store.find(resource, target.namespace, name).is_some() {
            return Err(Failure::already_exists(resource, name));
        }
        if target.dry_run {
            return Ok((201, Document::Other(object)));
        }
        Ok((201, Document::Stored(self.store.put_managed(resource, object, Some(managers)))))
    }

    /// Whether the namespace takes new objects: apiserver `admission/plugin/namespace/lifecycle`.
    fn may_create_in(&self, target: &Target<'_>, name: &str) -> Result<(), Failure> {
        if !target.resource.namespaced {
            return Ok(());
        }
        let namespace = self.store.find(resource::NAMESPACE, "", target.namespace);
        let namespace =
            namespace.ok_or_else(|| Failure::not_found(resource::NAMESPACE, target.namespace))?;
        if !is_terminating(namespace.object()) {
            return Ok(());
        }
        let within = target.namespace;
        let why = format!(
            "unable to create new content in namespace {within} because it is being terminated"
        );
        let mut failure = Failure::forbidden(target.resource, name, &why);
        failure.details["causes"] = json!([{
            "reason": "NamespaceTerminating",
            "message": format!("namespace {within} is being terminated"),
            "field": "metadata.namespace",
        }]);
        Err(failure)
    }

    fn change(&mut self, target: &Target<'_>, edit: Edit) -> Result<Written, Failure> {
        let resource = target.resource;
        let known = match target.subresource {
            None => true,
            Some("status") => resource.status,
            Some("finalize") => resource == resource::NAMESPACE,
            Some(_) => false,
        };
        if !known {
            let subresource = target.subresource.unwrap_or_default();
            return Err(Failure::unsupported(&format!("writes of {resource}/{subresource}")));
        }
        let found = self.store.find(resource, target.namespace, target.name).cloned();
        match (found, edit) {
            (None, Edit::Apply(body, force)) if target.subresource.is_none() => {
                self.create_applied(target, body, force)
            }
            (None, Edit::Whole(_)) if is_made_by_updates(resource) => {
                Err(Failure::unsupported(&format!("{resource} that updates create")))
            }
            (None, _) => Err(Failure::not_found(resource, target.name)),
            (Some(found), Edit::Apply(body, force)) => self.apply(target, &found, body, force),
            (Some(found), edit) => self.update(target, &found, edit),
        }
    }

    fn create_applied(
        &mut self,
        target: &Target<'_>,
        body: Value,
        force: bool,
    ) -> Result<Written, Failure> {
        let configuration = configuration(target, body)?;
        let uid = text(&configuration, "/metadata/uid");
        if !uid.is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(Failure::conflict(target.resource, target.name, &why));
        }
        let attributes = Attributes {
            verb: "create",
            group: target.resource.group,
            resource: target.resource.plural,
            namespace: target.namespace,
            name: target.name,
            ..Attributes::default()
        };
        access::check(&self.store, target.caller, &attributes)?;
        let applied = configuration.clone();
        self.create_managed(target, configuration, Managers::default(), |managers, _, by| {
            // Nobody has anything yet, so there are no conflicts.
            let _ = managers.applied(schema_of(target.resource), &json!({}), &applied, by, force);
        })
    }

    fn apply(
        &mut self,
        target: &Target<'_>,
        found: &Arc<Stored>,
        body: Value,
        force: bool,
    ) -> Result<Written, Failure> {
        let resource = target.resource;
        let configuration = configuration(target, body)?;
        let old = found.object();
        let mut managers = found.managers().clone();
        let (version, time) = (resource.api_version(), seconds(target.now));
        let by = target.by(&version, &time);
        let applied = managers.applied(schema_of(resource), old, &configuration, by, force);
        let mut new = applied.map_err(|conflicts| super::fields::refusal(&conflicts))?;
        check_version(resource, old, &new, false)?;
        metadata::keep(old, &mut new);
        metadata::normalize(&mut new);
        let review = target.review(Operation::Update, Some(old));
        self.complete(&review, &mut new)?;
        self.finish(target, found, new, managers)
    }

    fn update(
        &mut self,
        target: &Target<'_>,
        found: &Arc<Stored>,
        edit: Edit,
    ) -> Result<Written, Failure> {
        let resource = target.resource;
        let old = found.object();
        let is_whole = matches!(edit, Edit::Whole(_));
        let mut new = match edit {
            Edit::Whole(body) => body,
            Edit::Merge(body) => patch::merged(old, &body)?,
            Edit::Json(body) => patch::patched(resource, old, &body)?,
            Edit::Strategic(body) => patch::strategic(resource, old, &body)?,
            Edit::Apply(..) => return Err(Failure::unsupported("an apply that is an update")),
        };
        metadata::check_kind(resource, &mut new)?;
        metadata::check_place(&mut new, target.namespace, target.name)?;
        check_version(resource, old, &new, is_whole)?;
        let mut managers = managers(target, found, &mut new);
        metadata::keep(old, &mut new);
        reset(target, old, &mut new);
        metadata::normalize(&mut new);
        let review = target.review(Operation::Update, Some(old));
        self.complete(&review, &mut new)?;
        let (version, time) = (resource.api_version(), seconds(target.now));
        managers.updated(schema_of(resource), old, &new, target.by(&version, &time));
        self.finish(target, found, new, managers)
    }

    /// Asks those who have a say, and stores what is new.
    fn finish(
        &mut self,
        target: &Target<'_>,
        found: &Arc<Stored>,
        mut new: Object,
        mut managers: Managers,
    ) -> Result<Written, Failure> {
        let (resource, old) = (target.resource, found.object());
        managers.write(&mut new);
        let review = target.review(Operation::Update, Some(old));
        if self.mutate(&review, &mut new)? {
            metadata::keep(old, &mut new);
            reset(target, old, &mut new);
            metadata::normalize(&mut new);
            self.complete(&review, &mut new)?;
        }
        metadata::count_generation(resource, old, &mut new);
        metadata::check_finalizers(resource, old, &new)?;
        self.validate(&review, &new)?;
        if is_same(old, &new) {
            return Ok((200, Document::Stored(Arc::clone(found))));
        }
        if target.dry_run {
            return Ok((200, Document::Other(new)));
        }
        if metadata::may_go(resource, old, &new) {
            self.store.remove(resource, target.namespace, target.name);
            return Ok((200, Document::Other(new)));
        }
        Ok((200, Document::Stored(self.store.put_managed(resource, new, Some(managers)))))
    }
}

/// Whether the real server makes what is missing of this kind when it is updated: Kubernetes
/// `pkg/registry/*/strategy.go`, `AllowCreateOnUpdate`.
fn is_made_by_updates(resource: &Resource) -> bool {
    let kinds = [resource::LEASE, resource::EVENT, resource::SERVICE];
    kinds.contains(&resource) || resource.group == "rbac.authorization.k8s.io"
}

/// Checks that the object is the one, and of the version, that the caller means.
fn check_version(
    resource: &Resource,
    old: &Object,
    new: &Object,
    is_whole: bool,
) -> Result<(), Failure> {
    let name = text(old, "/metadata/name");
    let both = |pointer: &str| (text(old, pointer).to_owned(), text(new, pointer).to_owned());
    let (is, wanted) = both("/metadata/uid");
    if !wanted.is_empty() && is != wanted {
        return Err(metadata::precondition_failed(resource, old, "UID", &wanted, &is));
    }
    let (is, wanted) = both("/metadata/resourceVersion");
    if wanted.is_empty() && is_whole && (resource.custom || resource == resource::LEASE) {
        let why = "metadata.resourceVersion: Invalid value: 0: must be specified for an update";
        return Err(Failure::invalid(resource, name, why));
    }
    if !wanted.is_empty() && wanted != is {
        let why = "the object has been modified; please apply your changes to the latest version \
                   and try again";
        return Err(Failure::conflict(resource, name, why));
    }
    Ok(())
}

/// Whether nothing is to be stored: times of managers do not count.
fn is_same(old: &Object, new: &Object) -> bool {
    let of_top = |it: &Object| it.as_object().map_or(0, serde_json::Map::len);
    let rest_is_same =
        of_top(old) == of_top(new)
            && old.as_object().into_iter().flatten().all(|(key, value)| {
                key == "metadata" || new.get(key).is_some_and(|it| it == value)
            });
    if !rest_is_same {
        return false;
    }
    let (old, new) = (&old["metadata"], &new["metadata"]);
    of_top(old) == of_top(new)
        && old.as_object().into_iter().flatten().all(|(key, value)| {
            let now = &new[key];
            now == value || (key == "managedFields" && without_times(now) == without_times(value))
        })
}

fn without_times(managed: &Value) -> Value {
    let mut managed = managed.clone();
    for entry in managed.as_array_mut().into_iter().flatten() {
        entry.as_object_mut().and_then(|it| it.remove("time"));
    }
    managed
}
