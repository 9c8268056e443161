//! The driver protocol: how a supervisor drives an adapter that is a process of its own.
//!
//! JSON-RPC 2.0 with one message a line, on the adapter's standard input and output. Here are the
//! messages and the reading of lines, without any I/O; `docs/driver-protocol.md` is the text.

mod call;
mod config;
mod initialize;
mod lines;
mod message;

pub use call::{Call, Done, Verb};
pub use config::{Config, InvalidConfig, LeaseRef, Mode, Preflight, Timeouts};
pub use initialize::{INITIALIZE, InitializeAnswer, InitializeRequest};
pub use lines::{LINE_LIMIT, LineTooLong, Lines};
pub use message::{ErrorObject, Id, Request, Response, Unreadable, code};

/// The version of the protocol, which both sides have to speak alike.
pub const PROTOCOL_VERSION: u32 = 1;
