//! What waits to be played, and what of it may start now.

use std::collections::VecDeque;

/// What is to be played, many at a time: in the order in which it came, and after all that, one by
/// one, what has to be alone on the cluster.
#[derive(Debug)]
pub(super) struct Schedule<T> {
    /// How many may play at once.
    limit: usize,
    together: VecDeque<T>,
    alone: VecDeque<T>,
    playing: usize,
    /// Whether what plays has to be alone.
    one_alone: bool,
}

impl<T> Schedule<T> {
    /// Nothing yet. A limit of 0 is one of 1: else nothing would ever be played.
    pub(super) fn new(limit: usize) -> Self {
        let (together, alone) = (VecDeque::new(), VecDeque::new());
        Self { limit: limit.max(1), together, alone, playing: 0, one_alone: false }
    }

    /// Adds something; `alone` if nothing else may play meanwhile.
    pub(super) fn enqueue(&mut self, what: T, alone: bool) {
        let queue = if alone { &mut self.alone } else { &mut self.together };
        queue.push_back(what);
    }

    /// What may start now, if anything may; it plays from now on, until [`Schedule::ended`].
    pub(super) fn start(&mut self) -> Option<T> {
        if self.one_alone || self.playing >= self.limit {
            return None;
        }
        if let Some(next) = self.together.pop_front() {
            self.playing += 1;
            return Some(next);
        }
        if self.playing > 0 {
            return None;
        }
        let next = self.alone.pop_front()?;
        (self.playing, self.one_alone) = (1, true);
        Some(next)
    }

    /// One of those that play has ended.
    pub(super) fn ended(&mut self) {
        self.playing = self.playing.saturating_sub(1);
        if self.playing == 0 {
            self.one_alone = false;
        }
    }

    /// Takes out what waits and is not wanted any more.
    pub(super) fn take_out(&mut self, wanted: impl Fn(&T) -> bool) -> Vec<T> {
        let mut out = Vec::new();
        for queue in [&mut self.together, &mut self.alone] {
            let (kept, not): (VecDeque<_>, VecDeque<_>) = queue.drain(..).partition(&wanted);
            *queue = kept;
            out.extend(not);
        }
        out
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        self.together.len() + self.alone.len()
    }

    /// How many play.
    pub(super) fn playing(&self) -> usize {
        self.playing
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn no_more_than_the_limit_play_at_once() {
        let mut schedule = Schedule::new(2);
        for what in ["a", "b", "c"] {
            schedule.enqueue(what, false);
        }
        assert_eq!([schedule.start(), schedule.start()], [Some("a"), Some("b")]);
        assert_eq!((schedule.start(), schedule.waiting()), (None, 1));
        schedule.ended();
        assert_eq!(schedule.start(), Some("c"));
    }

    #[test]
    fn what_has_to_be_alone_comes_last_and_by_itself() {
        let mut schedule = Schedule::new(3);
        schedule.enqueue("alone", true);
        schedule.enqueue("too", true);
        schedule.enqueue("a", false);
        assert_eq!((schedule.start(), schedule.start()), (Some("a"), None));
        schedule.ended();
        assert_eq!((schedule.start(), schedule.start()), (Some("alone"), None));
        // What comes meanwhile waits too.
        schedule.enqueue("late", false);
        assert_eq!(schedule.start(), None);
        schedule.ended();
        assert_eq!((schedule.start(), schedule.start()), (Some("late"), None));
        schedule.ended();
        assert_eq!(schedule.start(), Some("too"));
    }

    #[test]
    fn what_is_not_wanted_any_more_is_taken_out() {
        let mut schedule = Schedule::new(1);
        for (what, alone) in [(1, false), (2, true), (3, false), (4, true)] {
            schedule.enqueue(what, alone);
        }
        assert_eq!(schedule.take_out(|what| what % 2 == 1), [2, 4]);
        assert_eq!(schedule.waiting(), 2);
    }

    proptest! {
        /// Whatever is enqueued, and in whichever order plays end and others come: everything is
        /// played once, never too many at a time, and what has to be alone is alone.
        #[test]
        fn everything_is_played_once_within_the_limit_and_alone_where_it_has_to_be(
            limit in 0_usize..5,
            all in prop::collection::vec(any::<bool>(), 0..40),
            at_first in 0_usize..40,
            ends in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        ) {
            let mut schedule = Schedule::new(limit);
            let mut coming: VecDeque<_> = all.iter().copied().enumerate().collect();
            let mut ends = ends.into_iter();
            let (mut playing, mut played) = (Vec::new(), Vec::new());
            for (what, alone) in coming.drain(..at_first.min(all.len())) {
                schedule.enqueue((what, alone), alone);
            }
            loop {
                while let Some((what, alone)) = schedule.start() {
                    prop_assert!(playing.is_empty() || !alone);
                    prop_assert!(!playing.iter().any(|(_, alone)| *alone));
                    playing.push((what, alone));
                }
                prop_assert!(playing.len() <= limit.max(1));
                prop_assert_eq!(playing.len(), schedule.playing());
                if let Some((what, alone)) = coming.pop_front() {
                    schedule.enqueue((what, alone), alone);
                }
                if playing.is_empty() {
                    if coming.is_empty() && schedule.waiting() == 0 {
                        break;
                    }
                    continue;
                }
                let end = ends.next().map_or(0, |end| end.index(playing.len()));
                played.push(playing.swap_remove(end).0);
                schedule.ended();
            }
            played.sort_unstable();
            prop_assert_eq!(played, (0..all.len()).collect::<Vec<_>>());
        }
    }
}
