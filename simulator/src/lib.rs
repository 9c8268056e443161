//! An embedded cluster: an in-process Kubernetes API, and the controllers behind it.
//!
//! It behaves like Kubernetes 1.35, Kueue 0.17, Trainer 2.2 and JobSet 0.11 as far as scenarios need
//! it, and fails loudly at what it does not have. It knows nothing of dispatch: it must behave like
//! the cluster, and not like what dispatch's code expects.
//!
//! Nothing in it reads a clock, the environment or the operating system's randomness: the time is
//! tokio's, which a test pauses, and everything that is left to chance comes of one seed. Unordered
//! maps are not used.
//!
//! - [`api`]: the API server. Requests come in over HTTP, in process: [`api::Server::service`].
//! - [`component`]: what all controllers have in common: a view of the objects, which may be stale,
//!   and plans, whose requests are sent after they were decided on.
//! - [`kueue`], [`trainer`], [`jobset`], [`kubernetes`]: the controllers and webhooks, each by the
//!   sources that it mirrors.

pub mod api;
mod cluster;
pub mod component;
pub mod digest;
pub mod event;
pub mod jobset;
pub mod kubernetes;
pub mod kueue;
pub mod object;
pub mod quantity;
pub mod resource;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
pub mod trainer;

pub use cluster::{Cluster, Now};
