//! The embedded cluster: one for each play, in a time of its own.
//!
//! Everything that is left to chance in it comes of a seed, and time passes only when nobody has
//! anything to do. So a scenario takes milliseconds, and one seed gives one history.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use dispatch_contract::{Clock, Entropy};
use dispatch_simulator::Cluster;
use dispatch_simulator::api::User;
use dispatch_simulator::component::{Component, SendRequest};
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use sha2::{Digest, Sha256};
use tokio::time::Instant;
use ulid::Ulid;

use crate::history::Role;
use crate::proxy::Embedded;

/// The seed, unless another is asked for.
pub const DEFAULT_SEED: u64 = 0;

/// When every simulation begins.
const EPOCH: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// The versions whose behaviour is simulated.
const VERSIONS: [(&str, &str); 4] =
    [("jobset", "v0.11.1"), ("kubernetes", "v1.35.4"), ("kueue", "v0.17.0"), ("trainer", "v2.2.0")];

/// What everything that is left to chance comes of in a play of this scenario, or of one of its cases:
/// with one seed, no two scenarios draw the same.
pub fn chance(seed: u64, scenario: &str) -> u64 {
    let digest = Sha256::new().chain_update(seed.to_be_bytes()).chain_update(scenario).finalize();
    digest.iter().take(8).fold(0, |drawn, byte| (drawn << 8) | u64::from(*byte))
}

/// An embedded cluster that runs until it is dropped.
pub struct Simulated {
    seed: u64,
    cluster: Arc<Cluster>,
    clock: Arc<SimulatedClock>,
    entropy: Arc<SeededEntropy>,
}

impl Simulated {
    /// Starts one for a scenario, within a runtime of tokio whose time is paused.
    pub fn start(seed: u64, scenario: &str) -> Self {
        let chance = chance(seed, scenario);
        let clock = Arc::new(SimulatedClock { begun: Instant::now() });
        let entropy = SeededEntropy(Mutex::new(fastrand::Rng::with_seed(chance ^ 0x5eed)));
        let now = Arc::clone(&clock);
        let cluster = Arc::new(Cluster::start(chance, Arc::new(move || now.now())));
        Self { seed, cluster, clock, entropy: Arc::new(entropy) }
    }

    /// What everything that is left to chance comes of, together with the scenario.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The cluster itself.
    pub fn cluster(&self) -> &Arc<Cluster> {
        &self.cluster
    }

    /// The time by which it lives.
    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock) as Arc<dyn Clock>
    }

    /// Where its names and tokens come from.
    pub fn entropy(&self) -> Arc<dyn Entropy> {
        Arc::clone(&self.entropy) as Arc<dyn Entropy>
    }

    /// An administrator's client.
    pub fn client(&self) -> Client {
        Client::new(self.cluster.service(User::Administrator), "default")
    }

    /// The versions that it behaves like.
    pub fn versions() -> BTreeMap<String, String> {
        VERSIONS.map(|(name, version)| (name.to_owned(), version.to_owned())).into()
    }
}

/// The API of a simulated cluster, for the proxy.
pub(crate) struct SimulatedApi(pub(crate) Arc<Cluster>);

impl Embedded for SimulatedApi {
    fn service(&self, role: Role) -> Arc<SendRequest> {
        let user = match role {
            Role::Kueue => User::Component(Component::Kueue),
            Role::Trainer => User::Component(Component::Trainer),
            Role::Jobset => User::Component(Component::JobSet),
            Role::KubeControllerManager => User::Component(Component::KubeControllerManager),
            Role::Adapter | Role::Controller => User::OfToken,
        };
        self.0.sender(user)
    }
}

/// The time of a runtime whose clock is paused.
struct SimulatedClock {
    begun: Instant,
}

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        let passed = SignedDuration::try_from(self.begun.elapsed()).unwrap_or_default();
        EPOCH.saturating_add(passed).unwrap_or(EPOCH)
    }
}

/// Randomness of a seed.
struct SeededEntropy(Mutex<fastrand::Rng>);

impl Entropy for SeededEntropy {
    fn ulid(&self) -> Ulid {
        Ulid(self.0.lock().unwrap_or_else(PoisonError::into_inner).u128(..))
    }
}
