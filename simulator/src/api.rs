//! The API server.

mod failure;
mod request;
mod webhook;

pub use failure::Failure;
pub use request::{Apply, Body, Delete, List, Precondition, Propagation, Request, Verb, Write};
pub use webhook::{Denied, Lookup, Operation, Review, Webhook};
