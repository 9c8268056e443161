//! Runs a component.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::channel::mpsc;
use futures::future::{BoxFuture, pending};
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::informer::{self, Seen};
use super::pause::pause;
use super::recorder::{Recorder, Sent};
use super::transport::Transport;
use super::{Change, Component, Controller, Key, Next, Planned, View};
use crate::api::Failure;
use crate::object::{Object, name, namespace};
use crate::resource::Resource;

/// The pause after the first refusal; it doubles with each further one, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(5);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// How long things take in a cluster, by chance: of one seed.
#[derive(Clone)]
pub struct Timing {
    random: Arc<Mutex<fastrand::Rng>>,
}

impl Timing {
    /// Of this seed.
    pub fn of_seed(seed: u64) -> Self {
        Self { random: Arc::new(Mutex::new(fastrand::Rng::with_seed(seed))) }
    }

    /// Until a controller gets to what it has seen.
    async fn latency(&self) {
        let millis = self.lock().u64(20..=120);
        pause(Duration::from_millis(millis)).await;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, fastrand::Rng> {
        self.random.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A component that runs until this is dropped.
pub struct Running {
    frozen: watch::Sender<bool>,
    _tasks: JoinSet<()>,
}

impl Running {
    /// It stands still, or goes on.
    pub fn freeze(&self, frozen: bool) {
        self.frozen.send_replace(frozen);
    }
}

/// Starts a component with these controllers, which share its view. `now` tells the time.
pub fn run(
    component: Component,
    controllers: Vec<Box<dyn Controller>>,
    transport: &Transport,
    timing: Timing,
    now: Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>,
) -> Running {
    let (frozen, is_frozen) = watch::channel(false);
    let mut tasks = JoinSet::new();
    let (seen, news) = mpsc::unbounded();
    let kinds: BTreeSet<&'static Resource> =
        controllers.iter().flat_map(|it| it.watches().iter().copied()).collect();
    for kind in &kinds {
        tasks.spawn(informer::follow(kind, transport.clone(), seen.clone()));
    }
    let workers = controllers.into_iter().map(Worker::new).collect();
    let process = Process {
        component,
        view: View::default(),
        missing: kinds,
        workers,
        transport: transport.clone(),
        recorder: Recorder::default(),
        timing,
        now,
        is_frozen,
    };
    tasks.spawn(process.run(news));
    Running { frozen, _tasks: tasks }
}

struct Process {
    component: Component,
    view: View,
    /// The kinds that were not listed yet: until all are, nobody works.
    missing: BTreeSet<&'static Resource>,
    workers: Vec<Worker>,
    transport: Transport,
    recorder: Recorder,
    timing: Timing,
    now: Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>,
    is_frozen: watch::Receiver<bool>,
}

/// A controller at work.
struct Worker {
    controller: Box<dyn Controller>,
    /// Whose turn it is, in the order in which they came.
    queue: Vec<Key>,
    /// Whose turn it is later.
    later: BTreeMap<Key, Instant>,
    /// How often in a row each was refused.
    refusals: BTreeMap<Key, u32>,
    /// How many are about to look.
    turning: usize,
    /// Those of which requests are under way. Nobody else looks at them meanwhile.
    busy: BTreeSet<Key>,
}

/// What a worker has done.
enum Done {
    /// It gets to its next key.
    Turn(usize),
    /// A request was answered; the rest is to be sent.
    Answered {
        worker: usize,
        key: Key,
        aside: bool,
        sent: Box<Planned>,
        answer: Result<Arc<Object>, Failure>,
        rest: std::vec::IntoIter<Planned>,
    },
}

impl Worker {
    fn new(controller: Box<dyn Controller>) -> Self {
        Self {
            controller,
            queue: Vec::new(),
            later: BTreeMap::new(),
            refusals: BTreeMap::new(),
            turning: 0,
            busy: BTreeSet::new(),
        }
    }

    /// Where in the queue the next one is that nobody is at work on.
    fn next(&self) -> Option<usize> {
        self.queue.iter().position(|key| !self.busy.contains(key))
    }

    /// Whether one more should get to its next key.
    fn has_a_turn(&self) -> bool {
        let waiting = self.queue.iter().filter(|key| !self.busy.contains(key)).count();
        self.turning < waiting && self.turning + self.busy.len() < self.controller.workers()
    }

    fn wake(&mut self, key: Key) {
        if !self.queue.contains(&key) {
            self.queue.push(key);
        }
    }

    fn wake_later(&mut self, key: Key, after: Duration) {
        let at = Instant::now() + after;
        let known = self.later.entry(key).or_insert(at);
        *known = (*known).min(at);
    }

    /// Others may look at a key again, if its plan has kept them from it.
    fn release(&mut self, key: &Key, aside: bool) {
        if !aside {
            self.busy.remove(key);
        }
    }

    fn refused(&mut self, key: Key) {
        let times = self.refusals.entry(key.clone()).or_default();
        let pause = FIRST_PAUSE.saturating_mul(1 << (*times).min(16)).min(LONGEST_PAUSE);
        *times += 1;
        self.wake_later(key, pause);
    }
}

impl Process {
    async fn run(mut self, mut news: mpsc::UnboundedReceiver<Seen>) {
        let mut under_way: FuturesUnordered<BoxFuture<'static, Done>> = FuturesUnordered::new();
        loop {
            if *self.is_frozen.borrow_and_update() {
                if self.is_frozen.changed().await.is_err() {
                    return;
                }
                continue;
            }
            self.start_turns(&under_way);
            let next_later = self.workers.iter().flat_map(|it| it.later.values()).min().copied();
            let later = async {
                match next_later {
                    Some(at) => sleep_until(at).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                biased;
                changed = self.is_frozen.changed() => if changed.is_err() { return },
                seen = news.next() => match seen {
                    Some(seen) => self.see(seen),
                    None => return,
                },
                Some(done) = under_way.next(), if !under_way.is_empty() => {
                    if let Some(next) = self.done(done) {
                        under_way.push(next);
                    }
                }
                () = later => self.late(),
            }
        }
    }

    /// Whoever is idle and has something to do gets to it after a while.
    fn start_turns(&mut self, under_way: &FuturesUnordered<BoxFuture<'static, Done>>) {
        if !self.missing.is_empty() {
            return;
        }
        for (at, worker) in self.workers.iter_mut().enumerate() {
            while worker.has_a_turn() {
                worker.turning += 1;
                let timing = self.timing.clone();
                under_way.push(
                    async move {
                        timing.latency().await;
                        Done::Turn(at)
                    }
                    .boxed(),
                );
            }
        }
    }

    fn late(&mut self) {
        let now = Instant::now();
        for worker in &mut self.workers {
            let due: Vec<Key> = worker
                .later
                .iter()
                .filter(|(_, at)| **at <= now)
                .map(|(key, _)| key.clone())
                .collect();
            for key in due {
                worker.later.remove(&key);
                worker.wake(key);
            }
        }
    }

    fn see(&mut self, seen: Seen) {
        match seen {
            Seen::Listed(resource, objects) => {
                self.missing.remove(resource);
                let there: BTreeSet<_> = objects
                    .iter()
                    .map(|it| (namespace(it).to_owned(), name(it).to_owned()))
                    .collect();
                let gone: Vec<Object> = self
                    .view
                    .all(resource)
                    .filter(|it| !there.contains(&(namespace(it).to_owned(), name(it).to_owned())))
                    .cloned()
                    .collect();
                for object in gone {
                    self.view.remove(resource, &object);
                    self.wake(resource, &object, None, true);
                }
                for object in objects {
                    let before = self.view.put(resource, Arc::clone(&object));
                    self.wake(resource, &object, before.as_deref(), false);
                }
            }
            Seen::Put(resource, object) => {
                let before = self.view.put(resource, Arc::clone(&object));
                self.wake(resource, &object, before.as_deref(), false);
            }
            Seen::Gone(resource, object) => {
                let before = self.view.remove(resource, &object);
                self.wake(resource, &object, before.as_deref(), true);
            }
        }
    }

    fn wake(
        &mut self,
        resource: &'static Resource,
        object: &Value,
        before: Option<&Value>,
        deleted: bool,
    ) {
        let change = Change { resource, object, before, deleted };
        for worker in &mut self.workers {
            if worker.controller.watches().contains(&resource) {
                for key in worker.controller.wakes(&self.view, &change) {
                    worker.wake(key);
                }
            }
        }
    }

    /// Goes on after what was done; gives what is under way then.
    fn done(&mut self, done: Done) -> Option<BoxFuture<'static, Done>> {
        match done {
            Done::Turn(at) => {
                let worker = &mut self.workers[at];
                worker.turning -= 1;
                let key = worker.next().map(|next| worker.queue.remove(next))?;
                let plan = worker.controller.reconcile(&self.view, &key, (self.now)());
                if let Some(after) = plan.again {
                    worker.wake_later(key.clone(), after);
                }
                if !plan.aside {
                    worker.busy.insert(key.clone());
                }
                self.send(at, key, plan.aside, plan.requests.into_iter())
            }
            Done::Answered { worker: at, key, aside, sent, answer, mut rest } => {
                let told = answer.as_deref().map_err(Clone::clone);
                self.recorder.answered(&sent.request, &told);
                let worker = &mut self.workers[at];
                let next = worker.controller.answered(&key, &sent.request, &told);
                if let Err(failure) = &answer {
                    let (component, controller) = (self.component, worker.controller.name());
                    tracing::debug!(?component, controller, ?key, %failure, sent.source, "refused");
                }
                if let Ok(object) = &answer {
                    for planned in rest.as_mut_slice() {
                        planned.follow(&sent.request, object);
                    }
                }
                match next {
                    Next::GoOn => self.send(at, key, aside, rest),
                    Next::TryAgain => {
                        worker.release(&key, aside);
                        worker.refused(key);
                        None
                    }
                    Next::Stop => {
                        worker.release(&key, aside);
                        None
                    }
                }
            }
        }
    }

    /// Sends the next request of a plan.
    fn send(
        &mut self,
        at: usize,
        key: Key,
        aside: bool,
        mut requests: std::vec::IntoIter<Planned>,
    ) -> Option<BoxFuture<'static, Done>> {
        let next = requests.find_map(|next| match self.recorder.sent(&next.request) {
            Sent::AsItIs => Some((next, None)),
            Sent::As(other) => Some((next, Some(other))),
            Sent::NotAtAll => None,
        });
        let Some((next, other)) = next else {
            let worker = &mut self.workers[at];
            worker.refusals.remove(&key);
            worker.release(&key, aside);
            return None;
        };
        let transport = self.transport.clone();
        let sent = Box::new(next);
        Some(
            async move {
                let request = other.as_deref().unwrap_or(&sent.request);
                let answer = transport.request(request).await;
                Done::Answered { worker: at, key, aside, sent, answer, rest: requests }
            }
            .boxed(),
        )
    }
}

#[cfg(test)]
mod tests;
