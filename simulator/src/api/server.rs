//! The server.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::StreamExt;
use futures::future::ready;
use futures::stream::BoxStream;
use serde_json::json;

use super::failure::Failure;
use super::request::{Request, Verb};
use super::selector::Selection;
use super::service::ApiService;
use super::store::Store;
use super::stored::{Document, EventType};
use super::user::{Caller, User};
use super::watching::Told;
use super::webhook::Webhook;
use super::{metadata, service};
use crate::component::{Component, SendRequest, Transport};
use crate::object::Object;
use crate::resource::{NAMESPACE, Resource};

/// Tells the time.
pub(super) type Now = Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>;

/// The namespaces that are there from the start.
const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-node-lease", "kueue-system"];

/// What a server is made of.
pub struct Settings {
    /// Where all that is left to chance comes from.
    pub seed: u64,
    /// Tells the time.
    pub now: Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>,
    /// Who has a say in writes, in the order in which they are asked.
    pub webhooks: Vec<Box<dyn Webhook>>,
}

/// The API server. Clones are the same server.
#[derive(Clone)]
pub struct Server(Arc<Mutex<State>>);

/// Objects of a kind that are followed.
pub struct Followed {
    /// The revision of which they are.
    pub revision: u64,
    /// The objects.
    pub objects: Vec<Arc<Object>>,
    /// What becomes of them, version by version.
    pub changes: BoxStream<'static, (EventType, Arc<Object>)>,
}

/// The longest time of a watch, which no simulation reaches: a hundred years, in seconds.
const WITHOUT_END_S: u64 = 100 * 365 * 24 * 3600;

/// What the server keeps.
pub(super) struct State {
    pub(super) store: Store,
    pub(super) webhooks: Vec<Box<dyn Webhook>>,
    pub(super) stopped: BTreeSet<Component>,
    pub(super) random: fastrand::Rng,
    pub(super) now: Now,
}

impl Server {
    /// A server without objects, but for the namespaces that every cluster has.
    pub fn new(settings: Settings) -> Self {
        let mut state = State {
            store: Store::default(),
            webhooks: settings.webhooks,
            stopped: BTreeSet::new(),
            random: fastrand::Rng::with_seed(settings.seed),
            now: settings.now,
        };
        for name in NAMESPACES {
            let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            let mut namespace = body;
            metadata::begin(&mut state, NAMESPACE, &mut namespace);
            state.store.put(NAMESPACE, namespace);
        }
        Self(Arc::new(Mutex::new(state)))
    }

    /// The server as an HTTP service that lets requests in as this user.
    pub fn service(&self, user: User) -> ApiService {
        ApiService::new(self.clone(), user)
    }

    /// The same as a function.
    pub fn sender(&self, user: User) -> Arc<SendRequest> {
        let server = self.clone();
        let send = move |request: http::Request<Bytes>| -> futures::future::BoxFuture<'static, _> {
            let server = server.clone();
            Box::pin(async move { service::answer(&server, user, request) })
        };
        Arc::new(send)
    }

    /// A component's way to the server.
    pub fn transport(&self, component: Component) -> Transport {
        Transport::direct(self.clone(), component)
    }

    /// Does what a component asks for: as [`Server::service`], but with objects in place of their
    /// JSON. Of a component nothing is checked that HTTP alone has.
    pub(crate) fn execute(
        &self,
        component: Component,
        mut request: Request,
    ) -> Result<Arc<Object>, Failure> {
        let mut state = self.lock();
        if let Verb::Get = request.verb {
            return state.get(&request).map(Document::shared);
        }
        if let Some(write) = request.verb.write_mut()
            && write.manager.is_empty()
        {
            component.as_str().clone_into(&mut write.manager);
        }
        let (_, document) = state.write(request, &Caller::of_component(component))?;
        Ok(document.shared())
    }

    /// All objects of a kind, and the revision of which they are.
    pub(crate) fn everything(&self, resource: &'static Resource) -> (u64, Vec<Arc<Object>>) {
        self.lock().everything(resource)
    }

    /// What becomes of the objects of a kind after a revision: each object, and whether it is gone.
    /// Ends where a watch would.
    pub(crate) fn changes(
        &self,
        resource: &'static Resource,
        after: u64,
    ) -> Result<BoxStream<'static, (Arc<Object>, bool)>, Failure> {
        let told = self.lock().follow(&Request::watch(resource, after))?;
        let versions = told.map(|told| match told {
            Told::Version(kind, stored) => Some((stored.shared(), kind == EventType::Deleted)),
            Told::Bookmark(_) | Told::Error(_) => None,
        });
        Ok(versions.take_while(|it| ready(it.is_some())).filter_map(ready).boxed())
    }

    /// The objects of a kind that are there, and what becomes of them: none is missed in between. Of a
    /// namespace, or of all; and those alone that the field selector selects.
    ///
    /// # Errors
    /// The field selector cannot be read, or is not served for this kind.
    pub fn follow(
        &self,
        resource: &'static Resource,
        namespace: Option<&str>,
        fields: &str,
    ) -> Result<Followed, Failure> {
        let mut state = self.lock();
        let selection = Selection::parse(resource, namespace, "", fields)?;
        let all = state.store.all(resource, namespace);
        let objects = all.map(|it| it.shared()).filter(|it| selection.has(it)).collect();
        let revision = state.store.revision();
        let mut watch = Request::watch(resource, revision);
        watch.namespace = namespace.map(str::to_owned);
        if let Verb::Watch { list, timeout_seconds, .. } = &mut watch.verb {
            fields.clone_into(&mut list.fields);
            *timeout_seconds = Some(WITHOUT_END_S);
        }
        let told = state.follow(&watch)?;
        let changes = told.filter_map(|told| {
            ready(match told {
                Told::Version(kind, stored) => Some((kind, stored.shared())),
                Told::Bookmark(_) | Told::Error(_) => None,
            })
        });
        Ok(Followed { revision, objects, changes: changes.boxed() })
    }

    /// Whether a component runs. While it does not, what its webhooks would look at is refused.
    pub fn set_running(&self, component: Component, running: bool) {
        let mut state = self.lock();
        if running {
            state.stopped.remove(&component);
        } else {
            state.stopped.insert(component);
        }
    }

    /// The latest revision: that of the last write.
    pub fn revision(&self) -> u64 {
        self.lock().store.revision()
    }

    /// Forgets all versions but the newest ones, as etcd does from time to time: older revisions
    /// cannot be listed and watched from any more.
    pub fn compact(&self) {
        let store = &mut self.lock().store;
        store.compact(store.revision());
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The time now.
    pub(super) fn now(&self) -> jiff::Timestamp {
        (self.now)()
    }

    /// The time now as objects have it.
    pub(super) fn seconds(&self) -> String {
        crate::object::seconds(self.now())
    }
}
