//! What the adapter and the controller of dispatch both do to a cluster: one way to build a client,
//! named time limits and outcomes of requests, the live reading of what an object owns, and the
//! decisions that both make from what was read: whether anything of the previous execution may
//! still run, what the next admission count is, and how it is written.
//!
//! The decisions ([`quiescence`], [`raise`], [`identity`], [`ended`]) are pure; [`client`],
//! [`request`], [`owned`] and the reading half of [`runtime`] do I/O.

pub mod client;
pub mod ended;
pub mod identity;
pub mod owned;
pub mod quiescence;
pub mod raise;
pub mod request;
pub mod runtime;
