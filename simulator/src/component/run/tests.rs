//! A worker and its requests.

use std::sync::atomic::{AtomicUsize, Ordering};

use http::Method;
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::api::{Request, Server, Settings, User};
use crate::component::{Plan, SendRequest};
use crate::resource::CONFIG_MAP;

/// Changes whatever it sees, again and again.
struct Busy {
    aside: bool,
    looks: Arc<AtomicUsize>,
}

impl Controller for Busy {
    fn name(&self) -> &'static str {
        "busy"
    }

    fn watches(&self) -> &'static [&'static Resource] {
        static WATCHED: [&Resource; 1] = [CONFIG_MAP];
        &WATCHED
    }

    fn wakes(&self, _: &View, change: &Change<'_>) -> Vec<Key> {
        vec![Key::of(change.object)]
    }

    fn reconcile(&mut self, _: &View, key: &Key, _: jiff::Timestamp) -> Plan {
        self.looks.fetch_add(1, Ordering::Relaxed);
        let patch = json!({"data": {"a": "b"}});
        let request = Request::merge_patch(CONFIG_MAP, &key.namespace, &key.name, patch, "");
        let plan = Plan::one(request, "").again(Duration::from_millis(1));
        if self.aside { plan.aside() } else { plan }
    }
}

#[rstest]
#[case::aside(true, 2..)]
#[case::waited_for(false, 1..2)]
#[tokio::test(start_paused = true)]
async fn a_write_that_is_held_keeps_only_those_who_wait_for_it(
    #[case] aside: bool,
    #[case] expected: impl std::ops::RangeBounds<usize>,
) {
    let now = || "2026-01-01T00:00:00Z".parse().unwrap();
    let server = Server::new(Settings { seed: 1, now: Arc::new(now), webhooks: Vec::new() });
    let map = json!({"metadata": {"name": "a", "namespace": "default"}});
    let client = server.transport(Component::KubeControllerManager);
    client.request(&Request::create(CONFIG_MAP, map, "")).await.unwrap();
    let way = server.sender(User::Component(Component::Kueue));
    let held: Arc<SendRequest> =
        Arc::new(
            move |request| {
                if *request.method() == Method::PATCH { pending().boxed() } else { way(request) }
            },
        );
    let looks = Arc::new(AtomicUsize::new(0));
    let busy = Busy { aside, looks: Arc::clone(&looks) };
    let (transport, timing) = (Transport::new("kueue", held), Timing::of_seed(1));
    let _running = run(Component::Kueue, vec![Box::new(busy)], &transport, timing, Arc::new(now));
    sleep_until(Instant::now() + Duration::from_secs(2)).await;
    let looks = looks.load(Ordering::Relaxed);
    assert!(expected.contains(&looks), "it looked {looks} times");
}
