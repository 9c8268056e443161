//! The conformance suite of dispatch on Kubernetes.

mod follow;
pub mod history;
pub mod kubelet;
pub mod run;
pub mod scenario;
