//! What is recorded of a scenario, and where the API server has it.

use dispatch_simulator::api::Failure;
use dispatch_simulator::resource as simulated;
use kube::api::{ApiResource, DynamicObject, TypeMeta};
use kube::core::GroupVersionKind;
use kube::{Api, Client};

use crate::follow::Collection;
use crate::history::Kind;

/// The objects of one kind that are recorded.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The kind.
    pub kind: Kind,
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    /// All of a namespace.
    Namespace(String),
    /// The one of this name, of a kind without namespaces.
    Named(String),
}

impl Recorded {
    /// All objects of a kind in a namespace.
    pub fn in_namespace(kind: Kind, namespace: &str) -> Self {
        Self { kind, place: Place::Namespace(namespace.to_owned()) }
    }

    /// One object of a kind that has no namespaces.
    pub fn named(kind: Kind, name: &str) -> Self {
        Self { kind, place: Place::Named(name.to_owned()) }
    }

    /// Where the API server has them.
    pub(super) fn collection(&self, client: Client) -> Collection {
        Collection::new(self.api(client), self.fields())
    }

    fn api(&self, client: Client) -> Api<DynamicObject> {
        match &self.place {
            Place::Namespace(namespace) => {
                Api::namespaced_with(client, namespace, &self.resource())
            }
            Place::Named(_) => Api::all_with(client, &self.resource()),
        }
    }

    /// The namespace that they are in; none for one without namespaces.
    pub(super) fn namespace(&self) -> Option<&str> {
        match &self.place {
            Place::Namespace(namespace) => Some(namespace),
            Place::Named(_) => None,
        }
    }

    /// The same kind on an embedded cluster.
    pub(super) fn simulated(&self) -> Result<&'static simulated::Resource, Failure> {
        let (group, _, plural) = self.kind.resource();
        let unknown = || Failure::new(404, "NotFound", format!("{plural} are not simulated"));
        simulated::by_plural(group, plural).ok_or_else(unknown)
    }

    pub(super) fn fields(&self) -> Option<String> {
        match &self.place {
            Place::Namespace(_) => None,
            Place::Named(name) => Some(format!("metadata.name={name}")),
        }
    }

    pub(super) fn types(&self) -> TypeMeta {
        let resource = self.resource();
        TypeMeta { api_version: resource.api_version, kind: resource.kind }
    }

    fn resource(&self) -> ApiResource {
        let (group, version, plural) = self.kind.resource();
        let kind = GroupVersionKind::gvk(group, version, self.kind.as_str());
        ApiResource::from_gvk_with_plural(&kind, plural)
    }
}
