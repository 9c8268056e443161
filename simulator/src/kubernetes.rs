//! Kubernetes' own controllers: Jobs, the scheduler, garbage collection, namespaces; and the rules of
//! the built-in kinds.
