//! The conformance suite of dispatch on Kubernetes.

mod bell;
pub mod cli;
pub mod cluster;
pub mod containers;
pub mod exit_code;
mod follow;
pub mod history;
pub mod kubelet;
pub mod mutants;
mod panics;
pub mod parity;
pub mod proxy;
pub mod report;
pub mod rules;
pub mod run;
mod run_id;
pub mod scenario;
pub mod shard;
mod shell;
pub mod subject;
