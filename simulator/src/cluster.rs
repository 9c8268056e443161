//! A whole cluster.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::api::{ApiService, Failure, Followed, Server, Settings, User};
use crate::component::{self, Component, Controller, Running, SendRequest, Timing, Transport};
use crate::kueue::Features;
use crate::resource::Resource;
use crate::{jobset, kubernetes, kueue, trainer};

/// The time now.
pub type Now = Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>;

/// All components.
const COMPONENTS: [Component; 5] = [
    Component::Kueue,
    Component::Trainer,
    Component::JobSet,
    Component::KubeControllerManager,
    Component::KubeScheduler,
];

/// A cluster that runs until it is dropped, within a runtime of tokio.
pub struct Cluster {
    server: Server,
    features: Arc<Mutex<Features>>,
    timing: Timing,
    now: Now,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: BTreeMap<Component, Running>,
    /// On which way requests are led that do not go straight to the API server.
    led: BTreeMap<Component, Arc<SendRequest>>,
}

impl Cluster {
    /// Starts a cluster. What is left to chance comes of the seed; `now` tells the time.
    pub fn start(seed: u64, now: Now) -> Self {
        let features = Arc::new(Mutex::new(Features { admission_gated_by: true }));
        let mut webhooks = kubernetes::rules();
        webhooks.extend(trainer::webhooks());
        webhooks.extend(jobset::webhooks());
        webhooks.extend(kueue::webhooks(&features));
        let server = Server::new(Settings { seed, now: Arc::clone(&now), webhooks });
        let (timing, state) = (Timing::of_seed(seed), Mutex::default());
        let this = Self { server, features, timing, now, state };
        for component in COMPONENTS {
            this.restart(component);
        }
        this
    }

    /// The way to the API server for a user.
    pub fn service(&self, user: User) -> ApiService {
        self.server.service(user)
    }

    /// The same as a function.
    pub fn sender(&self, user: User) -> Arc<SendRequest> {
        self.server.sender(user)
    }

    /// The objects of a kind, and what becomes of them: as [`Server::follow`].
    ///
    /// # Errors
    /// As there.
    pub fn follow(
        &self,
        resource: &'static Resource,
        namespace: Option<&str>,
        fields: &str,
    ) -> Result<Followed, Failure> {
        self.server.follow(resource, namespace, fields)
    }

    /// The latest revision of the store.
    pub fn revision(&self) -> u64 {
        self.server.revision()
    }

    /// Kueue's feature gates.
    pub fn feature_gates(&self) -> BTreeMap<String, bool> {
        self.features().gates()
    }

    /// Restarts Kueue with these feature gates instead of those of the same names that it has.
    ///
    /// # Errors
    /// It does not have such a gate.
    pub fn set_feature_gates(
        &self,
        gates: &BTreeMap<String, bool>,
    ) -> Result<(), kueue::UnknownFeature> {
        {
            let mut features = self.features();
            for (name, on) in gates {
                features.set(name, *on)?;
            }
        }
        self.restart(Component::Kueue);
        Ok(())
    }

    /// Makes a component stand still, or lets it go on.
    pub fn freeze(&self, component: Component, frozen: bool) {
        if let Some(running) = self.state().running.get(&component) {
            running.freeze(frozen);
        }
    }

    /// Restarts a component, with its requests led on this way.
    pub fn lead(&self, component: Component, way: Arc<SendRequest>) {
        self.state().led.insert(component, way);
        self.restart(component);
    }

    fn restart(&self, component: Component) {
        let controllers: Vec<Box<dyn Controller>> = match component {
            Component::Kueue => kueue::controllers(&self.features()),
            Component::Trainer => trainer::controllers(),
            Component::JobSet => jobset::controllers(),
            Component::KubeControllerManager => kubernetes::controllers(),
            Component::KubeScheduler => kubernetes::scheduler(),
        };
        let mut state = self.state();
        // The one before is gone before the next one looks.
        state.running.remove(&component);
        let transport = match state.led.get(&component) {
            Some(way) => Transport::new(component.as_str(), Arc::clone(way)),
            None => self.server.transport(component),
        };
        let (timing, now) = (self.timing.clone(), Arc::clone(&self.now));
        let running = component::run(component, controllers, &transport, timing, now);
        state.running.insert(component, running);
    }

    fn features(&self) -> MutexGuard<'_, Features> {
        self.features.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
