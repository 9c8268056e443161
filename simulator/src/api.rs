//! The API server.
//!
//! It answers HTTP requests in process, as the API server of Kubernetes 1.35 does, for the kinds of
//! [`crate::resource`]. What it does not have is answered with 501 and its name.
//!
//! - Reads: get, list (label and field selectors, pages, a revision), watch (from a revision, from
//!   what is there, with bookmarks, with an end), all of them also for metadata alone.
//! - Writes: create, update, merge, JSON and strategic merge patches, server-side apply, delete and
//!   deletecollection; with preconditions, dry runs, field managers, finalizers, grace periods.
//! - Subresources: `status`, of pods `binding`, of service accounts `token`, of namespaces `finalize`.
//! - Access: roles and bindings for users of tokens; access reviews.
//! - [`Webhook`]s: those of the components, and the rules of the kinds themselves.
//!
//! Not here: protobuf, tables, streaming lists (`sendInitialEvents`), resource quotas, the kinds of
//! the real cluster that no scenario uses.

mod access;
mod admit;
mod deleting;
mod discovery;
mod failure;
mod fields;
mod generated;
mod metadata;
mod patch;
mod reading;
mod request;
mod reviews;
mod route;
mod selector;
mod server;
mod service;
mod store;
mod stored;
mod subresources;
mod target;
#[cfg(test)]
mod tests;
mod user;
mod watching;
mod webhook;
mod writing;

pub use failure::Failure;
pub use request::{Apply, Body, Delete, List, Precondition, Propagation, Request, Verb, Write};
pub use server::{Followed, Server, Settings};
pub use service::ApiService;
pub use stored::EventType;
pub use user::User;
pub use webhook::{Denied, Lookup, Operation, Review, Webhook, immutable, invalid};
