//! Requests, as the API understands them: read from HTTP, or made by a controller.

use serde_json::Value;

use crate::resource::Resource;

/// A request for objects of one resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The kind of object.
    pub resource: &'static Resource,
    /// The namespace; none for resources without one, and for all namespaces.
    pub namespace: Option<String>,
    /// The object; none for a create and for collections.
    pub name: Option<String>,
    /// `status`, `token`, `binding`.
    pub subresource: Option<String>,
    /// What is asked for.
    pub verb: Verb,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Verb {
    /// One object.
    Get,
    /// A collection.
    List(List),
    /// A collection, from a version on. Its bookmarks are sent if they are asked for.
    Watch {
        /// Which objects.
        list: List,
        /// Whether bookmarks are wanted.
        bookmarks: bool,
        /// After how many seconds the server ends it.
        timeout_seconds: Option<u64>,
    },
    /// A new object.
    Create(Body, Write),
    /// The whole object, or its status.
    Update(Body, Write),
    /// A JSON merge patch.
    MergePatch(Body, Write),
    /// A JSON patch.
    JsonPatch(Body, Write),
    /// A strategic merge patch; of built-in kinds alone.
    StrategicPatch(Body, Write),
    /// A server-side apply.
    Apply(Body, Write, Apply),
    /// One object goes.
    Delete(Delete),
    /// Those of a collection go.
    DeleteCollection(List, Delete),
}

/// What is sent with a write.
pub type Body = Value;

/// Options of every write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Write {
    /// The field manager; by the user agent where it is empty.
    pub manager: String,
    /// Whether nothing is to be stored.
    pub dry_run: bool,
}

/// Options of a server-side apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Apply {
    /// Whether fields of other managers are taken over.
    pub force: bool,
}

/// Which objects of a collection are meant, and from which version on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// By labels.
    pub labels: String,
    /// By fields.
    pub fields: String,
    /// The version: of a list the oldest that is acceptable, of a watch the one before its first
    /// event.
    pub resource_version: String,
    /// How many at most.
    pub limit: Option<usize>,
    /// Where the last page ended.
    pub continue_: String,
}

/// How an object is deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delete {
    /// What becomes of what it owns.
    pub propagation: Option<Propagation>,
    /// How long pods may take, in seconds.
    pub grace_period_seconds: Option<i64>,
    /// Which object it has to be.
    pub precondition: Precondition,
    /// Whether nothing is to be deleted.
    pub dry_run: bool,
}

/// What becomes of the objects that a deleted one owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// They go after it.
    Background,
    /// They go before it.
    Foreground,
    /// They stay.
    Orphan,
}

/// Which object it has to be; empty for any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Precondition {
    /// Its UID.
    pub uid: String,
    /// Its version.
    pub resource_version: String,
}

impl Request {
    fn to(resource: &'static Resource, namespace: &str, name: Option<&str>, verb: Verb) -> Self {
        let namespace =
            (resource.namespaced && !namespace.is_empty()).then(|| namespace.to_owned());
        Self { resource, namespace, name: name.map(str::to_owned), subresource: None, verb }
    }

    fn of(resource: &'static Resource, object: &Value, verb: Verb) -> Self {
        let (namespace, name) = (crate::object::namespace(object), crate::object::name(object));
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Self::to(resource, &namespace, Some(&name), verb)
    }

    /// Reads an object.
    pub fn get(resource: &'static Resource, namespace: &str, name: &str) -> Self {
        Self::to(resource, namespace, Some(name), Verb::Get)
    }

    /// Watches all objects of a kind from a revision on.
    pub(crate) fn watch(resource: &'static Resource, after: u64) -> Self {
        let list = List { resource_version: after.to_string(), ..List::default() };
        let verb = Verb::Watch { list, bookmarks: false, timeout_seconds: None };
        Self::to(resource, "", None, verb)
    }

    /// Makes an object.
    pub fn create(resource: &'static Resource, object: Value, manager: &str) -> Self {
        let namespace = crate::object::namespace(&object).to_owned();
        Self::to(resource, &namespace, None, Verb::Create(object, by(manager)))
    }

    /// Writes a whole object, with the version that it has.
    pub fn update(resource: &'static Resource, object: Value, manager: &str) -> Self {
        let named = object.clone();
        Self::of(resource, &named, Verb::Update(object, by(manager)))
    }

    /// Changes fields of an object. With `metadata.resourceVersion` in the patch, only of that
    /// version.
    pub fn merge_patch(
        resource: &'static Resource,
        namespace: &str,
        name: &str,
        patch: Value,
        manager: &str,
    ) -> Self {
        Self::to(resource, namespace, Some(name), Verb::MergePatch(patch, by(manager)))
    }

    /// Changes an object of a built-in kind, and lists in it by the keys of their items.
    pub fn strategic_patch(
        resource: &'static Resource,
        namespace: &str,
        name: &str,
        patch: Value,
    ) -> Self {
        Self::to(resource, namespace, Some(name), Verb::StrategicPatch(patch, by("")))
    }

    /// Applies an object with force.
    pub fn apply(resource: &'static Resource, object: Value, manager: &str) -> Self {
        let named = object.clone();
        let verb = Verb::Apply(object, by(manager), Apply { force: true });
        Self::of(resource, &named, verb)
    }

    /// Deletes the object of this UID.
    pub fn delete(
        resource: &'static Resource,
        object: &Value,
        propagation: Option<Propagation>,
    ) -> Self {
        let uid = crate::object::uid(object).to_owned();
        let precondition = Precondition { uid, ..Precondition::default() };
        let delete = Delete { propagation, precondition, ..Delete::default() };
        Self::of(resource, object, Verb::Delete(delete))
    }

    /// The same for a subresource, such as `status`.
    #[must_use]
    pub fn on(mut self, subresource: &str) -> Self {
        self.subresource = Some(subresource.to_owned());
        self
    }
}

impl Verb {
    /// The options of a write.
    pub(super) fn write_mut(&mut self) -> Option<&mut Write> {
        match self {
            Self::Create(_, write)
            | Self::Update(_, write)
            | Self::MergePatch(_, write)
            | Self::JsonPatch(_, write)
            | Self::StrategicPatch(_, write)
            | Self::Apply(_, write, _) => Some(write),
            Self::Get
            | Self::List(_)
            | Self::Watch { .. }
            | Self::Delete(_)
            | Self::DeleteCollection(..) => None,
        }
    }
}

fn by(manager: &str) -> Write {
    Write { manager: manager.to_owned(), dry_run: false }
}

impl Request {
    /// As it is sent.
    pub fn to_http(&self) -> http::Request<bytes::Bytes> {
        use http::Method;
        let mut query = form_urlencoded::Serializer::new(String::new());
        let json = |value: &Value| bytes::Bytes::from(value.to_string());
        let mut write = |write: &Write| {
            if !write.manager.is_empty() {
                query.append_pair("fieldManager", &write.manager);
            }
            if write.dry_run {
                query.append_pair("dryRun", "All");
            }
        };
        let (method, content, body) = match &self.verb {
            Verb::Get | Verb::List(_) | Verb::Watch { .. } => {
                (Method::GET, "", bytes::Bytes::new())
            }
            Verb::Create(body, options) => {
                write(options);
                (Method::POST, "application/json", json(body))
            }
            Verb::Update(body, options) => {
                write(options);
                (Method::PUT, "application/json", json(body))
            }
            Verb::MergePatch(body, options) => {
                write(options);
                (Method::PATCH, "application/merge-patch+json", json(body))
            }
            Verb::JsonPatch(body, options) => {
                write(options);
                (Method::PATCH, "application/json-patch+json", json(body))
            }
            Verb::StrategicPatch(body, options) => {
                write(options);
                (Method::PATCH, "application/strategic-merge-patch+json", json(body))
            }
            Verb::Apply(body, options, apply) => {
                write(options);
                if apply.force {
                    query.append_pair("force", "true");
                }
                (Method::PATCH, "application/apply-patch+yaml", json(body))
            }
            Verb::Delete(options) | Verb::DeleteCollection(_, options) => {
                (Method::DELETE, "application/json", json(&options.to_json()))
            }
        };
        if let Verb::List(list) | Verb::Watch { list, .. } | Verb::DeleteCollection(list, _) =
            &self.verb
        {
            let texts = [
                ("labelSelector", &list.labels),
                ("fieldSelector", &list.fields),
                ("resourceVersion", &list.resource_version),
                ("continue", &list.continue_),
            ];
            for (key, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
                query.append_pair(key, text);
            }
            if let Some(limit) = list.limit {
                query.append_pair("limit", &limit.to_string());
            }
        }
        if let Verb::Watch { bookmarks, timeout_seconds, .. } = &self.verb {
            query.append_pair("watch", "true");
            if *bookmarks {
                query.append_pair("allowWatchBookmarks", "true");
            }
            if let Some(seconds) = timeout_seconds {
                query.append_pair("timeoutSeconds", &seconds.to_string());
            }
        }
        let mut uri = self.path();
        let query = query.finish();
        if !query.is_empty() {
            uri.push('?');
            uri.push_str(&query);
        }
        let mut request = http::Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = uri.parse().unwrap_or_default();
        if !content.is_empty() {
            let content = http::HeaderValue::from_static(content);
            request.headers_mut().insert(http::header::CONTENT_TYPE, content);
        }
        request
    }

    /// The path.
    fn path(&self) -> String {
        let api = if self.resource.group.is_empty() { "/api/" } else { "/apis/" };
        let mut path = format!("{api}{}", self.resource.api_version());
        if let Some(namespace) = &self.namespace {
            path.push_str("/namespaces/");
            path.push_str(namespace);
        }
        path.push('/');
        path.push_str(self.resource.plural);
        for part in [&self.name, &self.subresource].into_iter().flatten() {
            path.push('/');
            path.push_str(part);
        }
        path
    }
}

impl Delete {
    /// As it is sent.
    fn to_json(&self) -> Value {
        let mut options = serde_json::json!({"kind": "DeleteOptions", "apiVersion": "v1"});
        if let Some(propagation) = self.propagation {
            options["propagationPolicy"] = match propagation {
                Propagation::Background => "Background",
                Propagation::Foreground => "Foreground",
                Propagation::Orphan => "Orphan",
            }
            .into();
        }
        if let Some(seconds) = self.grace_period_seconds {
            options["gracePeriodSeconds"] = seconds.into();
        }
        let preconditions = [
            ("uid", &self.precondition.uid),
            ("resourceVersion", &self.precondition.resource_version),
        ];
        for (key, text) in preconditions.into_iter().filter(|(_, text)| !text.is_empty()) {
            options["preconditions"][key] = text.clone().into();
        }
        if self.dry_run {
            options["dryRun"] = serde_json::json!(["All"]);
        }
        options
    }
}
