//! Watches over a scenario while it is played: for signals, for the cluster's end, for panics.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;

use super::{Host, Interrupts, RunError};
use crate::panics::text_of;

/// Why a scenario was not played to its end.
pub(super) enum Halt {
    /// Somebody ended it.
    Interrupted,
    /// It cannot go on.
    Error(RunError),
}

/// Watches over what is done: for signals, for the cluster's end, for panics.
pub(super) struct Watch<'a> {
    pub(super) host: &'a dyn Host,
    pub(super) interrupts: Interrupts,
}

impl Watch<'_> {
    /// Does it, unless something ends it before.
    pub(super) async fn over<T>(
        &mut self,
        work: impl Future<Output = Result<T, RunError>>,
    ) -> Result<T, Halt> {
        // Nothing of it is used after a panic but by the teardown, which goes by names.
        let work = AssertUnwindSafe(Box::pin(work)).catch_unwind();
        tokio::select! {
            biased;
            done = work => match done {
                Ok(done) => done.map_err(Halt::Error),
                Err(panic) => Err(Halt::Error(RunError::Panicked(text_of(&*panic)))),
            },
            _ = self.interrupts.next() => Err(Halt::Interrupted),
            error = self.host.ended() => Err(Halt::Error(RunError::ClusterEnded(error))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use futures::future::BoxFuture;
    use kube::Client;

    use super::*;
    use crate::proxy::Upstream;
    use crate::run::HostError;
    use crate::run::host::Frozen;
    use crate::scenario::Component;

    /// A cluster that is only watched.
    struct Watched {
        ends: bool,
    }

    impl Host for Watched {
        fn kind(&self) -> &'static str {
            "watched"
        }

        fn versions(&self) -> BTreeMap<String, String> {
            BTreeMap::new()
        }

        fn client(&self) -> Client {
            unreachable!("nothing is sent to it")
        }

        fn upstream(&self) -> Upstream {
            unreachable!("nothing is sent to it")
        }

        fn feature_gates(&self) -> BTreeMap<String, bool> {
            BTreeMap::new()
        }

        fn set_feature_gates<'a>(
            &'a self,
            _: &'a BTreeMap<String, bool>,
        ) -> BoxFuture<'a, Result<(), HostError>> {
            Box::pin(async { Ok(()) })
        }

        fn freeze(&self, _: Component) -> BoxFuture<'_, Result<Frozen, HostError>> {
            Box::pin(async { Ok(Box::new(()) as Frozen) })
        }

        fn ended(&self) -> BoxFuture<'_, HostError> {
            if !self.ends {
                return Box::pin(std::future::pending());
            }
            Box::pin(async {
                let error: Box<dyn std::error::Error + Send + Sync> = "etcd ended".into();
                error.into()
            })
        }
    }

    async fn over(
        ends: bool,
        work: impl Future<Output = Result<(), RunError>>,
    ) -> Result<(), Halt> {
        let (_sender, interrupts) = Interrupts::told();
        Watch { host: &Watched { ends }, interrupts }.over(work).await
    }

    #[tokio::test]
    async fn a_panic_is_an_error_so_that_everything_is_still_removed() {
        let halted = over(false, async { panic!("odd state") }).await;
        let Err(Halt::Error(error)) = halted else { panic!("it went on") };
        assert_eq!(error.to_string(), "the engine has a fault: odd state");
    }

    #[tokio::test]
    async fn the_end_of_the_cluster_ends_what_waits_for_it() {
        let halted = over(true, std::future::pending()).await;
        assert!(matches!(halted, Err(Halt::Error(RunError::ClusterEnded(_)))));
    }

    #[tokio::test]
    async fn work_that_is_done_is_not_halted() {
        assert!(over(false, async { Ok(()) }).await.is_ok());
    }
}
