//! One container, from its start to its end.

use std::io::Write;
use std::mem::ManuallyDrop;
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use dispatch_contract::{Entropy, OsEntropy};
use fs_err::File;
use futures::StreamExt;
use rustix::process::Signal;
use testcontainers::bollard::Docker;
use testcontainers::bollard::errors::Error;
use testcontainers::bollard::query_parameters::KillContainerOptionsBuilder;
use testcontainers::core::logs::LogFrame;
use testcontainers::runners::AsyncRunner;
use testcontainers::{ContainerRequest, GenericImage, ImageExt};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::engine::Engine;
use super::owner::{OWNER, RUN};
use super::{KUBECONFIG, Launch, Launched};
use crate::cluster::local::endpoint::chain;
use crate::subject::handle::Life;
use crate::subject::reins::{Order, Reins};

/// How long the engine may take to give the end of a log.
const LOG_LIMIT: Duration = Duration::from_secs(5);

/// The exit code of a container of which the engine knows nothing, as `docker run` has it.
const LOST: i32 = 125;

/// What every container of a run is marked with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Marks {
    pub(super) owner: String,
    pub(super) run: String,
}

/// Starts a container. What goes wrong with that is in its log, and it has ended then.
pub(super) fn launch(image: &str, marks: &Marks, launch: Launch) -> std::io::Result<Launched> {
    let log = fs_err::OpenOptions::new().create(true).append(true).open(&launch.log)?;
    let name =
        format!("dispatch-conformance-{}-{}", OsEntropy.token(), launch.subject).replace(' ', "-");
    let (reins, orders) = Reins::new();
    let (tell, ended) = watch::channel(None);
    let (drained, draining) = watch::channel(());
    let request = request(image, marks, launch).with_container_name(&name);
    let request = request.with_log_consumer(LogTo { log: log.try_clone()?, _open: drained });
    let driver = Driver { name, log, orders, draining };
    tokio::spawn(async move {
        let status = driver.run(request).await;
        tell.send_replace(Some(status));
    });
    Ok(Launched { life: Life::Container(reins), ended })
}

fn request(image: &str, marks: &Marks, launch: Launch) -> ContainerRequest<GenericImage> {
    // By its id, so that every container is of the same image.
    let (kind, hash) = image.split_once(':').unwrap_or(("sha256", image));
    let labels = [(OWNER, &marks.owner), (RUN, &marks.run)];
    let request = GenericImage::new(kind, hash)
        .with_network("host")
        .with_labels(labels)
        .with_copy_to(KUBECONFIG, launch.kubeconfig);
    launch.environment.into_iter().fold(request, |it, (name, value)| it.with_env_var(name, value))
}

/// Takes what a container says.
struct LogTo {
    log: File,
    /// Open until there is nothing more to come.
    _open: watch::Sender<()>,
}

impl testcontainers::core::logs::consumer::LogConsumer for LogTo {
    fn accept<'a>(&'a self, record: &'a LogFrame) -> futures::future::BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Err(error) = (&self.log).write_all(record.bytes()) {
                tracing::error!(%error, "a container's log cannot be written");
            }
        })
    }
}

/// Whoever carries out a container's orders.
struct Driver {
    name: String,
    log: File,
    orders: mpsc::UnboundedReceiver<Order>,
    draining: watch::Receiver<()>,
}

impl Driver {
    /// Starts the container, leads it to its end, and removes it.
    async fn run(mut self, request: ContainerRequest<GenericImage>) -> ExitStatus {
        let engine = match Engine::reach().await {
            Ok(engine) => engine,
            Err(error) => return self.lost("the container does not start", &error),
        };
        let status = match Box::pin(request.start()).await {
            Ok(container) => {
                // Dropped it would be removed by a thread that waits; it is removed below, by its name.
                let _kept = ManuallyDrop::new(container);
                let status = self.lead(&engine.0).await;
                let drained = async { while self.draining.changed().await.is_ok() {} };
                if timeout(LOG_LIMIT, drained).await.is_err() {
                    tracing::warn!(container = self.name, "its log did not end in time");
                }
                status
            }
            Err(error) => self.lost("the container does not start", &error),
        };
        if let Err(error) = engine.remove_by_name(&self.name).await {
            tracing::error!(%error, container = self.name, "it cannot be removed");
        }
        status
    }

    /// Carries out its orders until it has ended.
    async fn lead(&mut self, docker: &Docker) -> ExitStatus {
        let mut end = pin!(end(docker, &self.name));
        let mut became = Ok(());
        loop {
            tokio::select! {
                biased;
                ended = &mut end => return ended.unwrap_or_else(|error| self.unseen(&error)),
                order = self.orders.recv() => match order {
                    Some(Order::Signal(signal)) => {
                        became = carry_out(docker, &self.name, signal).await;
                    }
                    // Whoever asked may be gone.
                    Some(Order::Tell(tell)) => drop(tell.send(became.clone())),
                    // Nobody leads it any more.
                    None => {
                        drop(carry_out(docker, &self.name, Signal::KILL).await);
                        return end.await.unwrap_or_else(|error| self.unseen(&error));
                    }
                },
            }
        }
    }

    fn unseen(&self, error: &Error) -> ExitStatus {
        self.lost("the engine does not say how the container ends", error)
    }

    /// Says in the log why nothing more is known of the container.
    fn lost(&self, what: &str, error: &dyn std::error::Error) -> ExitStatus {
        let told = writeln!(&self.log, "dispatch-conformance: {what}: {}", chain(error));
        if let Err(error) = told {
            tracing::error!(%error, "a container's log cannot be written");
        }
        ExitStatus::from_raw(LOST << 8)
    }
}

/// Does to a container what the signal would do to a process.
async fn carry_out(docker: &Docker, name: &str, signal: Signal) -> Result<(), String> {
    let done = match signal {
        Signal::STOP => docker.pause_container(name).await,
        Signal::CONT => docker.unpause_container(name).await,
        signal => {
            let signal = if signal == Signal::KILL { "SIGKILL" } else { "SIGTERM" };
            let options = KillContainerOptionsBuilder::new().signal(signal).build();
            docker.kill_container(name, Some(options)).await
        }
    };
    done.map_err(|error| error.to_string())
}

/// Returns when a container has ended, with how it did.
async fn end(docker: &Docker, name: &str) -> Result<ExitStatus, Error> {
    let mut waited = pin!(docker.wait_container(name, None));
    match waited.next().await {
        Some(Ok(answer)) => Ok(status(answer.status_code)),
        Some(Err(Error::DockerContainerWaitError { code, .. })) => Ok(status(code)),
        Some(Err(error)) => Err(error),
        None => Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into()),
    }
}

/// The status of a process that ended so. An engine adds 128 to the signal that ended one.
fn status(code: i64) -> ExitStatus {
    match i32::try_from(code) {
        Ok(code @ 129..=159) => ExitStatus::from_raw(code - 128),
        Ok(code) => ExitStatus::from_raw((code & 0xff) << 8),
        Err(_) => ExitStatus::from_raw(LOST << 8),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::well(0, "exit status: 0")]
    #[case::badly(3, "exit status: 3")]
    #[case::killed(137, "signal: 9 (SIGKILL)")]
    #[case::terminated(143, "signal: 15 (SIGTERM)")]
    #[case::odd(255, "exit status: 255")]
    fn a_container_ends_as_its_process_does(#[case] code: i64, #[case] expected: &str) {
        assert_eq!(status(code).to_string(), expected);
    }
}
