//! Who leads components through a proxy now: one process at a time, for as long as it is connected.

use super::components::Component;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// A process that is killed closes its connection and its proxy at once, and no order between the
/// two is certain. A component may see it first.
const TOGETHER: Duration = Duration::from_secs(1);

/// A process that leads components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Leader {
    /// Its number, where that is known.
    pub process: Option<i32>,
    /// The components, and where each is led.
    pub components: BTreeMap<Component, String>,
}

/// How far a lead is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The leader is there.
    Leads,
    /// It is gone, and the components still speak to its proxy.
    Left,
    /// They are being started again without it.
    Undone,
}

/// The place of the one leader.
pub(super) struct Leaders(watch::Sender<Option<(Leader, Stage)>>);

impl Default for Leaders {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

impl Leaders {
    /// Takes the place for `leader`, once what the one before has left is undone. If that one still
    /// leads, gives it.
    pub(super) async fn enter(&self, leader: &Leader) -> Result<(), Leader> {
        let mut seen = self.0.subscribe();
        loop {
            let mut before = None;
            let entered = self.0.send_if_modified(|place| match place {
                Some((leader, Stage::Leads)) => {
                    before = Some(leader.clone());
                    false
                }
                Some(_) => false,
                None => {
                    *place = Some((leader.clone(), Stage::Leads));
                    true
                }
            });
            if let Some(leader) = before {
                return Err(leader);
            }
            if entered {
                return Ok(());
            }
            // The sender is this one's own, so it is there.
            seen.wait_for(Option::is_none).await.ok();
        }
    }

    /// The leader is gone.
    pub(super) fn left(&self) {
        self.set(Stage::Left);
    }

    /// None of the processes that it led runs any more.
    pub(super) fn undone(&self) {
        self.set(Stage::Undone);
    }

    /// Frees the place.
    pub(super) fn over(&self) {
        self.0.send_replace(None);
    }

    fn set(&self, to: Stage) {
        self.0.send_modify(|place| {
            if let Some((_, stage)) = place {
                *stage = to;
            }
        });
    }

    /// Where a component is led, if it is.
    pub(super) fn way(&self, component: Component) -> Option<String> {
        match &*self.0.borrow() {
            Some((leader, Stage::Leads)) => leader.components.get(&component).cloned(),
            _ => None,
        }
    }

    /// Returns when the leader of any of these components is gone; never if they are not led.
    pub(super) async fn gone_from(&self, components: &[Component]) {
        let led = match &*self.0.borrow() {
            Some((leader, _)) => components.iter().any(|it| leader.components.contains_key(it)),
            None => false,
        };
        if !led {
            return std::future::pending().await;
        }
        let gone = |place: &Option<(Leader, Stage)>| !matches!(place, Some((_, Stage::Leads)));
        self.0.subscribe().wait_for(gone).await.ok();
    }

    /// Whether a component has ended because its leader is gone, and will be started again.
    pub(super) async fn explain_the_end_of(&self, component: Component) -> bool {
        if self.way(component).is_some() {
            drop(timeout(TOGETHER, self.gone_from(&[component])).await);
        }
        match &*self.0.borrow() {
            Some((leader, Stage::Left)) => leader.components.contains_key(&component),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    fn leader(process: i32) -> Leader {
        let components = [(Component::Kueue, "https://127.0.0.1:1".to_owned())].into();
        Leader { process: Some(process), components }
    }

    #[tokio::test]
    async fn a_second_leader_is_told_who_leads() {
        let leaders = Leaders::default();
        leaders.enter(&leader(1)).await.unwrap();
        assert_eq!(leaders.enter(&leader(2)).await, Err(leader(1)));
    }

    #[tokio::test]
    async fn the_next_leader_waits_until_the_components_are_back() {
        let leaders = Leaders::default();
        leaders.enter(&leader(1)).await.unwrap();
        leaders.left();
        let next = leader(2);
        let mut enters = Box::pin(leaders.enter(&next));
        assert_eq!(enters.as_mut().now_or_never(), None);
        leaders.undone();
        assert_eq!(enters.as_mut().now_or_never(), None);
        leaders.over();
        assert_eq!(enters.await, Ok(()));
        assert!(leaders.way(Component::Kueue).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_led_component_that_ends_with_its_leader_is_started_again() {
        let leaders = Leaders::default();
        leaders.enter(&leader(1)).await.unwrap();
        // The end is seen before the closed connection is.
        let ended = leaders.explain_the_end_of(Component::Kueue);
        let (explained, ()) = tokio::join!(ended, async { leaders.left() });
        assert!(explained);
        assert!(leaders.explain_the_end_of(Component::Kueue).await);
        assert!(!leaders.explain_the_end_of(Component::Trainer).await, "it was not led");
    }

    #[tokio::test]
    async fn only_those_who_wait_for_what_is_led_hear_that_its_leader_is_gone() {
        let leaders = Leaders::default();
        leaders.enter(&leader(1)).await.unwrap();
        let of_kueue = [Component::Trainer, Component::Kueue];
        assert_eq!(leaders.gone_from(&of_kueue).now_or_never(), None);
        leaders.left();
        assert_eq!(leaders.gone_from(&of_kueue).now_or_never(), Some(()));
        assert_eq!(leaders.gone_from(&[Component::Trainer]).now_or_never(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_component_that_ends_by_itself_is_not_explained_by_its_lead() {
        let leaders = Leaders::default();
        assert!(!leaders.explain_the_end_of(Component::Kueue).await, "nobody leads");
        leaders.enter(&leader(1)).await.unwrap();
        assert!(!leaders.explain_the_end_of(Component::Kueue).await, "its leader is there");
        leaders.left();
        leaders.undone();
        assert!(!leaders.explain_the_end_of(Component::Kueue).await, "it was started again");
    }
}
