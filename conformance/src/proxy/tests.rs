//! The proxy between a subject and an API server that the tests play, over real connections.

mod endings;
pub(crate) mod fake;
mod faults;
mod passing;
mod scopes;
mod secrets;
mod watches;
mod world;
