//! The process that owns a cluster: it builds, starts, watches and ends all of it.
//!
//! It runs in a session of its own, so a terminal's Ctrl-C does not reach it, and ends the cluster
//! when it is told to, when a component dies, or when whoever started it goes away without having
//! asked it to stay. Its children are bound to it by the kernel (see [`super::guard`]), so even
//! SIGKILL leaves nothing running.

use super::bring_up::{Ports, Prepared, Start, prepare};
use super::cache::Cache;
use super::certificates::Authority;
use super::components::{Component, Site};
use super::features::FeatureGates;
use super::leaders::Leaders;
use super::places::ClusterFolder;
use super::processes::{Death, Processes};
use super::protocol::{self, Answer, Order, Request, receive, send};
use super::state::{Phase, ProcessId, SCHEMA, State, Timing};
use super::tokens::Tokens;
use super::toolchain::Toolchain;
use super::waiting::Waits;
use super::{files, pins};
use crate::cluster::{ClusterError, Event, Progress};
use fs_err as fs;
use nix::sys::signal::Signal;
use std::io::Write;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::BufReader;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf, pipe};
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::{LocalSet, spawn_local};

mod lead;

/// The hidden subcommand's name.
pub const SUBCOMMAND: &str = "supervise";

/// What `ps` shows of a supervisor.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Arguments {
    /// The cluster's folder. What to do comes on standard input.
    folder: std::path::PathBuf,
}

/// Runs a supervisor until its cluster has ended. Reads its [`Order`] from standard input.
pub fn main() -> ExitCode {
    // Fails only for the leader of a group, which then has a session of its own already.
    nix::unistd::setsid().ok();
    let ended = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())
        // On this thread alone: children die with the thread that started them.
        .and_then(|runtime| {
            LocalSet::new().block_on(&runtime, run()).map_err(|error| error.to_string())
        });
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

/// Tells the one who started this process. That one may be gone; then there is nobody to tell.
fn tell(answer: &Answer) {
    if let Ok(mut line) = serde_json::to_vec(answer) {
        line.push(b'\n');
        let mut out = std::io::stdout().lock();
        drop(out.write_all(&line).and_then(|()| out.flush()));
    }
}

struct Starter;

impl Progress for Starter {
    fn event(&self, event: &Event) {
        tell(&Answer::Event(event.clone()));
    }
}

async fn run() -> std::io::Result<()> {
    let input = std::io::stdin().as_fd().try_clone_to_owned()?;
    let mut input = BufReader::new(pipe::Receiver::from_owned_fd(input)?);
    let Some(order) = receive::<Order>(&mut input).await? else { return Ok(()) };
    let end = match Supervisor::create(&order).await {
        Err(error) => Err(error),
        Ok(supervisor) => Box::pin(supervisor.live(input, &order)).await,
    };
    if let Err(error) = end {
        tell(&Answer::Failed(error));
    }
    Ok(())
}

/// Why a cluster comes to its end.
enum End {
    Asked,
    StarterGone,
    /// Components that were led did not come back.
    NotBack(ClusterError),
}

struct Supervisor {
    folder: ClusterFolder,
    state: Mutex<State>,
    _lock: fs::File,
}

impl Drop for Supervisor {
    /// The keys go even if the end was not an orderly one.
    fn drop(&mut self) {
        drop(files::remove_folder(&self.folder.run()));
    }
}

/// A cluster, with all that a restart of a component needs.
struct Cluster {
    supervisor: Arc<Supervisor>,
    cache: Cache,
    site: Site,
    authority: Authority,
    tokens: Tokens,
    processes: Processes,
    leaders: Leaders,
    ready_within: Duration,
    /// Held while components are started again.
    restarts: tokio::sync::Mutex<()>,
}

impl Supervisor {
    /// Takes possession of the cluster's folder.
    async fn create(order: &Order) -> Result<Arc<Self>, ClusterError> {
        let folder = order.places.cluster(&order.name)?;
        files::private_folder(folder.root())?;
        let path = folder.lock();
        let lock = fs::OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        let lock = lock.map_err(|error| ClusterError::io(&path, &error))?;
        if !taken(&lock).await {
            return Err(ClusterError::Starting { name: order.name.clone() });
        }
        // Of the one before.
        drop(fs::File::options().write(true).truncate(true).open(folder.supervisor_log()));
        let me = std::process::id();
        let state = State {
            schema: SCHEMA.to_owned(),
            name: order.name.clone(),
            phase: Phase::Starting,
            pins: pins::digest(""),
            feature_gates: order.feature_gates.clone(),
            server: String::new(),
            kubeconfig: folder.kubeconfig(),
            certificate_authority: String::new(),
            supervisor: ProcessId::of(me).unwrap_or(ProcessId { pid: me, start: 0 }),
            processes: Vec::new(),
            timings: Vec::new(),
            failure: None,
        };
        state.write(&folder)?;
        Ok(Arc::new(Self { folder, state: Mutex::new(state), _lock: lock }))
    }

    /// Changes the state and writes it.
    fn update(&self, change: impl FnOnce(&mut State)) -> Result<State, ClusterError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        state.write(&self.folder)?;
        Ok(state.clone())
    }

    /// From the first build to the last process.
    async fn live(
        self: Arc<Self>,
        input: BufReader<pipe::Receiver>,
        order: &Order,
    ) -> Result<(), ClusterError> {
        let (ends, mut ended) = mpsc::unbounded_channel();
        watch_signals(&ends).map_err(|error| ClusterError::io(self.folder.root(), &error))?;
        let _starter = tokio::spawn(watch_starter(input, ends.clone()));

        let built = tokio::select! {
            cluster = Arc::clone(&self).build(order) => cluster,
            end = ended.recv() => Err(reason(end)),
        };
        let lived = match built {
            Ok((cluster, ports, deaths)) => {
                let cluster = Arc::new(cluster);
                let lived = tokio::select! {
                    failed = cluster.start_and_serve(ports, &ends) => Err(failed),
                    death = cluster.death(deaths) => Err(death.into_error(&self.folder.run())),
                    end = ended.recv() => match end {
                        Some(End::Asked) => Ok(()),
                        end => Err(reason(end)),
                    },
                };
                cluster.processes.end_all().await;
                lived
            }
            Err(error) => Err(error),
        };
        self.finish(lived)
    }

    /// Builds what the cache lacks, and makes ready to start it.
    async fn build(
        self: Arc<Self>,
        order: &Order,
    ) -> Result<(Cluster, Ports, mpsc::UnboundedReceiver<Death>), ClusterError> {
        let toolchain = Toolchain::find().await?;
        let patience = Duration::from_secs(order.cache_patience_s);
        let cache = Cache::ready(&order.places.cache, &toolchain, patience, &Starter).await?;
        let ports = Ports::reserve()?;
        let Prepared { site, authority, tokens } = prepare(&self.folder, &ports)?;
        let (processes, deaths) = Processes::new(cache.binaries());
        let cluster = Cluster {
            supervisor: self,
            cache,
            site,
            authority,
            tokens,
            processes,
            leaders: Leaders::default(),
            ready_within: Duration::from_secs(order.ready_within_s),
            restarts: tokio::sync::Mutex::default(),
        };
        Ok((cluster, ports, deaths))
    }

    fn name(&self) -> String {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).name.clone()
    }

    /// Removes keys and data, and says how it ended.
    fn finish(&self, lived: Result<(), ClusterError>) -> Result<(), ClusterError> {
        let removed = files::remove_folder(&self.folder.run());
        let failed = |error: &ClusterError| *error != ClusterError::Interrupted;
        let failure = lived.as_ref().err().filter(|error| failed(error)).cloned();
        let written = self.update(|state| {
            state.phase = if failure.is_some() { Phase::Failed } else { Phase::Ended };
            state.failure = failure;
            state.processes.clear();
        });
        lived.and(removed).and(written.map(drop))
    }
}

fn reason(end: Option<End>) -> ClusterError {
    match end {
        Some(End::NotBack(error)) => error,
        Some(End::Asked | End::StarterGone) | None => ClusterError::Interrupted,
    }
}

impl Cluster {
    /// Starts everything, says so, and then serves requests for ever; returns only on failure.
    async fn start_and_serve(
        self: &Arc<Self>,
        ports: Ports,
        ends: &mpsc::UnboundedSender<End>,
    ) -> ClusterError {
        let listener = match Box::pin(self.start(ports)).await {
            Ok(listener) => listener,
            Err(error) => return error,
        };
        loop {
            if let Ok((stream, _)) = listener.accept().await {
                let (cluster, ends) = (Arc::clone(self), ends.clone());
                spawn_local(async move { cluster.answer(stream, ends).await });
            }
        }
    }

    /// Returns when a component has ended by itself, not together with who led it.
    async fn death(&self, mut deaths: mpsc::UnboundedReceiver<Death>) -> Death {
        while let Some(death) = deaths.recv().await {
            let explained = self.leaders.explain_the_end_of(death.component()).await;
            // Another process may have taken its place meanwhile.
            if !explained && self.processes.has(&death) {
                return death;
            }
        }
        // The sender is as old as the cluster.
        std::future::pending().await
    }

    async fn start(&self, ports: Ports) -> Result<UnixListener, ClusterError> {
        let gates = self.gates();
        let waits = self.waits(&Starter);
        self.supervisor.update(|state| {
            state.server = self.site.url(Component::ApiServer);
            self.authority.pem().clone_into(&mut state.certificate_authority);
        })?;
        Box::pin(self.with(&gates, &waits).bring_up(ports)).await?;
        let socket = self.supervisor.folder.socket();
        let listener = protocol::listen(&self.supervisor.folder)
            .map_err(|error| ClusterError::io(&socket, &error))?;
        let state = self.ready(&waits.timings(), gates)?;
        tell(&Answer::Ready(Box::new(state)));
        Ok(listener)
    }

    fn with<'a>(&'a self, gates: &'a FeatureGates, waits: &'a Waits<'a>) -> Start<'a> {
        Start {
            cache: &self.cache,
            site: &self.site,
            authority_pem: self.authority.pem(),
            processes: &self.processes,
            gates,
            waits,
        }
    }

    fn waits<'a>(&self, progress: &'a dyn Progress) -> Waits<'a> {
        Waits::new(progress, self.supervisor.folder.logs(), self.ready_within)
    }

    fn gates(&self) -> FeatureGates {
        let state = self.supervisor.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.feature_gates.clone()
    }

    fn ready(&self, timings: &[Timing], gates: FeatureGates) -> Result<State, ClusterError> {
        self.supervisor.update(|state| {
            state.phase = Phase::Ready;
            state.feature_gates = gates;
            state.processes = self.processes.states(|component| self.leaders.way(component));
            state.timings = timings.to_vec();
        })
    }

    /// Serves one connection.
    async fn answer(self: Arc<Self>, stream: UnixStream, ends: mpsc::UnboundedSender<End>) {
        let process = stream.peer_cred().ok().and_then(|peer| peer.pid());
        let (from, mut to) = stream.into_split();
        let mut from = BufReader::new(from);
        match receive(&mut from).await {
            Ok(Some(Request::Stop)) => {
                drop(ends.send(End::Asked));
                std::future::pending::<()>().await;
            }
            Ok(Some(Request::RestartKueue(gates))) => {
                let answer = match self.restart_kueue(gates).await {
                    Ok(state) => Answer::Ready(Box::new(state)),
                    Err(error) => Answer::Failed(error),
                };
                drop(send(&mut to, &answer).await);
            }
            Ok(Some(Request::Lead(asked))) => {
                self.lead(asked, process, from, &mut to, &ends).await;
            }
            Ok(Some(Request::Freeze(name))) => self.freeze(&name, from, &mut to).await,
            // Until the other side closes; or, with this process, at the end of the cluster.
            Ok(Some(Request::Watch)) => drop(receive::<Request>(&mut from).await),
            Ok(Some(Request::Keep) | None) | Err(_) => {}
        }
    }

    /// The component stands still until the other side closes.
    async fn freeze(
        &self,
        name: &str,
        mut from: BufReader<OwnedReadHalf>,
        to: &mut OwnedWriteHalf,
    ) {
        let stopped = {
            // Not one that is just being started again: it would not serve.
            let _turn = self.restarts.lock().await;
            self.processes.signal(name, Signal::SIGSTOP)
        };
        let answer = match stopped.and_then(|()| self.supervisor.update(|_| {})) {
            Ok(state) => Answer::Ready(Box::new(state)),
            Err(error) => Answer::Failed(error),
        };
        drop(send(to, &answer).await);
        drop(receive::<Request>(&mut from).await);
        // It may have ended meanwhile, with the cluster.
        drop(self.processes.signal(name, Signal::SIGCONT));
    }

    async fn restart_kueue(&self, gates: FeatureGates) -> Result<State, ClusterError> {
        let kueue = [Component::Kueue];
        let restarted = self.restarting(&gates, async |start| {
            start.end(&kueue).await;
            start.start_again(&kueue)?;
            tokio::select! {
                served = start.serve_again(&kueue) => served,
                () = self.leaders.gone_from(&kueue) => Err(ClusterError::Interrupted),
            }
        });
        let restarted = restarted.await;
        if restarted.is_err() {
            self.ready(&self.timings(), self.gates())?;
        }
        restarted
    }

    /// Does a restart, one at a time. Until it has succeeded nobody takes up the cluster.
    async fn restarting(
        &self,
        gates: &FeatureGates,
        restart: impl AsyncFnOnce(Start<'_>) -> Result<(), ClusterError>,
    ) -> Result<State, ClusterError> {
        let _turn = self.restarts.lock().await;
        self.supervisor.update(|state| state.phase = Phase::Restarting)?;
        let waits = self.waits(&crate::cluster::progress::Silent);
        restart(self.with(gates, &waits)).await?;
        self.ready(&self.timings(), gates.clone())
    }

    fn timings(&self) -> Vec<Timing> {
        let state = self.supervisor.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.timings.clone()
    }
}

/// Takes a lock. Whoever looks whether a cluster runs holds it for a moment, so one refusal says
/// nothing.
async fn taken(lock: &fs::File) -> bool {
    let mut turn = tokio::time::interval(Duration::from_millis(20));
    for _ in 0..10 {
        turn.tick().await;
        if lock.try_lock().is_ok() {
            return true;
        }
    }
    false
}

/// Ends the cluster when the starter's side of the pipe is closed, unless it said to keep it.
async fn watch_starter(mut input: BufReader<pipe::Receiver>, ends: mpsc::UnboundedSender<End>) {
    match receive(&mut input).await {
        Ok(Some(Request::Keep)) => {}
        Ok(Some(Request::Stop)) => drop(ends.send(End::Asked)),
        _ => drop(ends.send(End::StarterGone)),
    }
}

fn watch_signals(ends: &mpsc::UnboundedSender<End>) -> std::io::Result<()> {
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        let mut arrived = signal(kind)?;
        let ends = ends.clone();
        tokio::spawn(async move {
            if arrived.recv().await.is_some() {
                drop(ends.send(End::Asked));
            }
        });
    }
    Ok(())
}

#[expect(clippy::print_stderr, reason = "the supervisor's stderr is its log")]
fn complain(text: &str) {
    eprintln!("{text}");
}
