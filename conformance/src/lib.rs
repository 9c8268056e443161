//! The conformance suite of dispatch on Kubernetes: it plays scenarios against an adapter and a
//! controller on a cluster, records what happened, and judges the record by the contract's rules.

pub mod scenario;
