//! What a component has seen of the objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::object::{Object, is_controlled_by, name, namespace};
use crate::resource::Resource;

/// The objects that a component has seen: each as it was in the last event of its watch.
#[derive(Clone, Debug, Default)]
pub struct View {
    kinds: BTreeMap<&'static Resource, BTreeMap<(String, String), Arc<Object>>>,
}

/// A change that a component sees.
#[derive(Clone, Debug)]
pub struct Change<'a> {
    /// The kind.
    pub resource: &'static Resource,
    /// The object; of a deletion, as it was last.
    pub object: &'a Object,
    /// As it was seen before, if it was.
    pub before: Option<&'a Object>,
    /// Whether it is gone.
    pub deleted: bool,
}

impl View {
    /// An object.
    pub fn get(&self, resource: &'static Resource, namespace: &str, name: &str) -> Option<&Object> {
        let key = (namespace.to_owned(), name.to_owned());
        self.kinds.get(resource)?.get(&key).map(Arc::as_ref)
    }

    /// All objects of a kind, by namespace and name.
    pub fn all(&self, resource: &'static Resource) -> impl Iterator<Item = &Object> {
        self.kinds.get(resource).into_iter().flat_map(|all| all.values()).map(Arc::as_ref)
    }

    /// Those of a namespace.
    pub fn within<'a>(
        &'a self,
        resource: &'static Resource,
        namespace: &'a str,
    ) -> impl Iterator<Item = &'a Object> {
        let from = (namespace.to_owned(), String::new());
        let all =
            self.kinds.get(resource).into_iter().flat_map(move |all| all.range(from.clone()..));
        all.take_while(move |((of, _), _)| of == namespace).map(|(_, object)| object.as_ref())
    }

    /// Those that an object controls, in its namespace.
    pub fn controlled_by<'a>(
        &'a self,
        resource: &'static Resource,
        owner: &'a Object,
    ) -> impl Iterator<Item = &'a Object> {
        let uid = crate::object::uid(owner);
        self.within(resource, namespace(owner)).filter(move |it| is_controlled_by(it, uid))
    }

    /// Takes an object in; gives what it was before.
    pub fn put(&mut self, resource: &'static Resource, object: Arc<Object>) -> Option<Arc<Object>> {
        let key = (namespace(&object).to_owned(), name(&object).to_owned());
        self.kinds.entry(resource).or_default().insert(key, object)
    }

    /// Takes an object out; gives what it was before.
    pub fn remove(&mut self, resource: &'static Resource, object: &Object) -> Option<Arc<Object>> {
        let key = (namespace(object).to_owned(), name(object).to_owned());
        self.kinds.get_mut(resource)?.remove(&key)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::resource::POD;

    fn pod(namespace: &str, name: &str) -> Arc<Object> {
        Arc::new(json!({"metadata": {"namespace": namespace, "name": name}}))
    }

    #[test]
    fn a_namespace_has_its_own_objects_in_order() {
        let mut view = View::default();
        for (namespace, name) in [("b", "1"), ("a", "2"), ("a", "1"), ("ab", "1")] {
            view.put(POD, pod(namespace, name));
        }
        let names: Vec<_> = view.within(POD, "a").map(name).collect();
        assert_eq!(names, ["1", "2"]);
        assert_eq!(view.all(POD).count(), 4);
        view.remove(POD, &pod("a", "1"));
        assert!(view.get(POD, "a", "1").is_none());
    }
}
