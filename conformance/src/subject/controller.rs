//! A replica of the controller, as a process or a container of its own.

use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dispatch_admission::{Config, Lease};
use dispatch_contract::names;
use futures::future::pending;
use tokio::process::Command;
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::containers::{self, Image};
use super::embedded::Ways;
use super::endpoints;
use super::error::SubjectError;
use super::handle::ProcessHandle;
use super::process::{self, Launch, Process, Program};
use crate::cluster::local::ports;
use crate::history::{Role, Subject};
use crate::mutants;

/// How long a replica may take to become ready.
const READY_LIMIT: Duration = Duration::from_secs(30);

/// How long it may take to stop when asked to.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// How often it is asked whether it is ready.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// The Lease times of the suite, so that a takeover is a matter of seconds.
const LEASE_DURATION: Duration = Duration::from_secs(3);
const LEASE_RENEW: Duration = Duration::from_secs(1);

/// What every replica of a scenario's controller is told.
#[derive(Clone, Debug)]
pub struct ControllerSetup {
    /// What becomes the controller.
    pub program: Program,
    /// The controller that the `AdmissionCheck` names.
    pub controller_name: String,
    /// The namespace: of the Lease, and the one that is served.
    pub namespace: String,
    /// The name of the Lease.
    pub lease: String,
    /// The broken controller that stands in for the reference, by its name.
    pub mutant: Option<String>,
    /// A private folder, for configurations. Each replica has its kubeconfig in it already:
    /// [`ControllerSetup::kubeconfig`].
    pub private: PathBuf,
    /// The folder for logs.
    pub logs: PathBuf,
}

impl ControllerSetup {
    /// The name of a replica's kubeconfig in the private folder.
    pub fn kubeconfig(replica: u32) -> String {
        format!("controller-{replica}.kubeconfig")
    }
}

/// A replica of the controller that runs. It is killed when this is dropped.
#[derive(Debug)]
pub struct Controller {
    process: Process,
    says: Says,
}

impl Says {
    /// Where it is asked, as far as that is known yet.
    fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::OnEndpoints(file) => fs_err::read_to_string(file).ok()?.trim().parse().ok(),
            Self::At(address) => Some(*address),
            Self::Once(_) => None,
        }
    }
}

/// How a replica says that it is ready.
#[derive(Debug)]
enum Says {
    /// On its endpoints, whose address is in this file.
    OnEndpoints(PathBuf),
    /// At this address, which it was told.
    At(SocketAddr),
    /// Once, in this process.
    Once(tokio::sync::Mutex<oneshot::Receiver<()>>),
}

impl Controller {
    /// Starts a replica, to be reached by this handle. It is not ready yet.
    pub fn start(
        setup: &ControllerSetup,
        replica: u32,
        handle: &ProcessHandle,
    ) -> Result<Self, SubjectError> {
        let subject = Subject { role: Role::Controller, replica };
        match &setup.program {
            Program::Own(program) => Self::process(setup, program, subject, handle),
            Program::Others { suite, line } => {
                let command = process::of_others(suite, line);
                Self::of_others(setup, command, subject, handle)
            }
            Program::Image(image) => Self::container(setup, image, subject, handle),
            Program::Embedded(ways) => Self::embedded(setup, ways, subject, handle),
        }
    }

    /// Starts a replica as a process of its own.
    fn process(
        setup: &ControllerSetup,
        program: &Path,
        subject: Subject,
        handle: &ProcessHandle,
    ) -> Result<Self, SubjectError> {
        let endpoints = setup.private.join(format!("{subject}.address"));
        // Left by the same replica before it was stopped.
        let _ = fs_err::remove_file(&endpoints);
        let config = config(setup, subject.replica, Some(&endpoints));
        let file = setup.private.join(format!("{subject}.json"));
        write(&file, serde_json::json!(config).to_string().as_bytes())?;
        let mut arguments = vec!["admission".into(), "--config".into(), file.into()];
        if let Some(mutant) = &setup.mutant {
            arguments.extend(["--mutant".into(), mutant.into()]);
        }
        let (log, handle) = (log(setup, subject), handle.clone());
        let command = process::own(program, arguments);
        let process = Process::start(Launch { subject, command, log, handle })?;
        Ok(Self { process, says: Says::OnEndpoints(endpoints) })
    }

    /// Starts a replica of a controller of others, which is told everything in its environment.
    fn of_others(
        setup: &ControllerSetup,
        mut command: Command,
        subject: Subject,
        handle: &ProcessHandle,
    ) -> Result<Self, SubjectError> {
        let listen = free_address(subject)?;
        command.env("KUBECONFIG", setup.private.join(ControllerSetup::kubeconfig(subject.replica)));
        command.envs(environment(&config(setup, subject.replica, None), listen));
        let (log, handle) = (log(setup, subject), handle.clone());
        let process = Process::start(Launch { subject, command, log, handle })?;
        Ok(Self { process, says: Says::At(listen) })
    }

    /// Starts a replica as a container of an image of others, which is told the same in the same way.
    fn container(
        setup: &ControllerSetup,
        image: &Image,
        subject: Subject,
        handle: &ProcessHandle,
    ) -> Result<Self, SubjectError> {
        let listen = free_address(subject)?;
        let path = setup.private.join(ControllerSetup::kubeconfig(subject.replica));
        let read = fs_err::read(&path);
        let kubeconfig = read.map_err(|source| SubjectError::File { path, source })?;
        let mut environment = environment(&config(setup, subject.replica, None), listen).to_vec();
        environment.push(("KUBECONFIG", containers::KUBECONFIG.to_owned()));
        let log = log(setup, subject);
        let launch = containers::Launch { subject, environment, kubeconfig, log };
        let process = Process::contain(image, launch, handle.clone())?;
        Ok(Self { process, says: Says::At(listen) })
    }

    /// Starts a replica in this process.
    fn embedded(
        setup: &ControllerSetup,
        ways: &Ways,
        subject: Subject,
        handle: &ProcessHandle,
    ) -> Result<Self, SubjectError> {
        let parts = mutants::controller(setup.mutant.as_deref())?;
        let config = config(setup, subject.replica, None);
        let (ready, says) = oneshot::channel();
        let log_and_handle = (log(setup, subject), handle.clone());
        let clock = Arc::clone(&ways.surroundings.clock);
        let whose = (subject, Arc::clone(&clock));
        let process = Process::embed(whose, log_and_handle, |gate, terminated| {
            let client = ways.client(subject, &gate);
            async move {
                let Some(client) = client else { return false };
                let surroundings = dispatch_admission::Surroundings::embedded(client, clock, ready);
                let stop = terminated.wait();
                let ended = dispatch_admission::run_in(surroundings, config, parts, stop).await;
                if let Err(error) = &ended {
                    tracing::error!(error = error as &dyn std::error::Error, "ended");
                }
                ended.is_ok()
            }
        })?;
        Ok(Self { process, says: Says::Once(tokio::sync::Mutex::new(says)) })
    }

    /// Returns when it says that it is ready.
    pub async fn ready(&self) -> Result<(), SubjectError> {
        let why = Mutex::new("it has not said where it listens".to_owned());
        let asked = async {
            tokio::select! {
                biased;
                died = self.process.ended() => Err(died),
                () = self.says_ready(&why) => Ok(()),
            }
        };
        timeout(READY_LIMIT, asked).await.unwrap_or_else(|_| {
            let (log, lines) = self.process.log();
            let why = why.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let (subject, limit) = (self.process.subject(), READY_LIMIT);
            Err(SubjectError::NotReady { subject, limit, why, log, lines })
        })
    }

    /// Returns when it says that it is ready; until then, `why` is what it said last.
    async fn says_ready(&self, why: &Mutex<String>) {
        if let Says::Once(says) = &self.says {
            if (&mut *says.lock().await).await.is_err() {
                // It has ended, which is noticed beside this.
                pending::<()>().await;
            }
            return;
        }
        let mut turn = interval(ASK_EVERY);
        turn.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            turn.tick().await;
            if let Some(address) = self.says.address() {
                match endpoints::ready(address).await {
                    Ok(()) => return,
                    Err(answer) => {
                        *why.lock().unwrap_or_else(PoisonError::into_inner) = answer;
                    }
                }
            }
        }
    }

    /// How it is reached.
    pub fn handle(&self) -> &ProcessHandle {
        self.process.handle()
    }

    /// Returns when it has ended, with what is to be said if nobody asked it to.
    pub fn ended(&self) -> impl Future<Output = SubjectError> + Send + 'static {
        self.process.ended()
    }

    /// Asks it to stop, and returns when it has.
    pub async fn stop(&self) -> Result<(), SubjectError> {
        self.process.terminate(STOP_LIMIT).await
    }
}

fn log(setup: &ControllerSetup, subject: Subject) -> PathBuf {
    setup.logs.join(format!("{subject}.log"))
}

fn config(setup: &ControllerSetup, replica: u32, endpoints: Option<&Path>) -> Config {
    Config {
        controller_name: setup.controller_name.clone(),
        namespace: Some(setup.namespace.clone()),
        lease: Lease {
            name: setup.lease.clone(),
            namespace: setup.namespace.clone(),
            duration: LEASE_DURATION,
            renew: LEASE_RENEW,
        },
        identity: Some(format!("controller-{replica}")),
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        endpoints_file: endpoints.map(Path::to_owned),
        kubeconfig: endpoints.map(|_| setup.private.join(ControllerSetup::kubeconfig(replica))),
        ..Config::default()
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), SubjectError> {
    fs_err::write(path, bytes)
        .map_err(|source| SubjectError::File { path: path.to_owned(), source })
}

/// What a controller of others is told: the variables of its environment, beside KUBECONFIG. The lease
/// is short, so that a takeover is a matter of seconds.
fn environment(config: &Config, listen: SocketAddr) -> [(&'static str, String); 8] {
    let Config { controller_name, namespace, lease, identity, .. } = config;
    [
        (names::ENV_CONTROLLER_NAME, controller_name.clone()),
        (names::ENV_NAMESPACE, namespace.clone().unwrap_or_default()),
        (names::ENV_LEASE_NAME, lease.name.clone()),
        (names::ENV_LEASE_NAMESPACE, lease.namespace.clone()),
        (names::ENV_LEASE_DURATION, seconds(lease.duration)),
        (names::ENV_LEASE_RENEW, seconds(lease.renew)),
        (names::ENV_IDENTITY, identity.clone().unwrap_or_default()),
        (names::ENV_LISTEN, listen.to_string()),
    ]
}

fn seconds(duration: Duration) -> String {
    format!("{}s", duration.as_secs_f64())
}

/// An address for somebody who cannot say which one he chose.
fn free_address(subject: Subject) -> Result<SocketAddr, SubjectError> {
    // Each looks from another place on: none is given one that another is about to take.
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let wrap = |source| SubjectError::Process { what: "find a port for", subject, source };
    let seed = std::process::id().wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
    let free = ports::reserve(1, seed).map_err(|error| wrap(std::io::Error::other(error)))?;
    let port = free.into_iter().next().map(ports::Reserved::give_up).unwrap_or_default();
    Ok(SocketAddr::from(([127, 0, 0, 1], port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_of_others_is_told_in_its_environment_what_the_reference_reads_in_its_file() {
        let setup = ControllerSetup {
            program: Program::Own("suite".into()),
            controller_name: "example.com/c".to_owned(),
            namespace: "n".to_owned(),
            lease: "l".to_owned(),
            mutant: None,
            private: "/private".into(),
            logs: "/logs".into(),
        };
        let told = environment(&config(&setup, 1, None), SocketAddr::from(([127, 0, 0, 1], 7)));
        let told = told.map(|(name, value)| format!("{name}={value}")).join(" ");
        assert_eq!(
            told,
            "DISPATCH_CONTROLLER_NAME=example.com/c DISPATCH_NAMESPACE=n DISPATCH_LEASE_NAME=l \
             DISPATCH_LEASE_NAMESPACE=n DISPATCH_LEASE_DURATION=3s DISPATCH_LEASE_RENEW=1s \
             DISPATCH_IDENTITY=controller-1 DISPATCH_LISTEN=127.0.0.1:7"
        );
    }
}
