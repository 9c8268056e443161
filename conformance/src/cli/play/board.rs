//! What plays at the moment, and what each waits for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::report::{self, Longest};
use crate::run::{Observer, Progress};

/// What plays at the moment. Clones are the same board.
#[derive(Clone, Debug, Default)]
pub(super) struct Board(Arc<Mutex<BTreeMap<u32, Row>>>);

#[derive(Debug)]
struct Row {
    name: String,
    since: Instant,
    said: String,
}

impl Board {
    /// Something begins to play, under a number of its own; what it says is told through the
    /// result.
    pub(super) fn begin(&self, number: u32, name: String, now: Instant) -> Tell {
        self.lock().insert(number, Row { name, since: now, said: String::new() });
        Tell { number, board: self.clone() }
    }

    /// It has ended.
    pub(super) fn end(&self, number: u32) {
        self.lock().remove(&number);
    }

    /// What has played longest.
    pub(super) fn longest(&self, now: Instant) -> Option<Longest> {
        let rows = self.lock();
        let row = rows.values().min_by_key(|row| row.since)?;
        let since = now.saturating_duration_since(row.since);
        Some(Longest { name: row.name.clone(), since, said: row.said.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, Row>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the board what one of those that play says.
#[derive(Debug)]
pub(in crate::cli) struct Tell {
    number: u32,
    board: Board,
}

impl Observer for Tell {
    fn progress(&mut self, progress: &Progress<'_>) {
        if let Some(said) = report::progress(progress)
            && let Some(row) = self.board.lock().get_mut(&self.number)
        {
            row.said = said;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_longest_is_the_one_that_began_first_of_those_that_still_play() {
        let (board, begun) = (Board::default(), Instant::now());
        assert_eq!(board.longest(begun), None);
        let seconds = |n| begun + Duration::from_secs(n);
        let _first = board.begin(1, "a/first".to_owned(), begun);
        let mut second = board.begin(2, "a/second".to_owned(), seconds(1));
        second.progress(&Progress::CleaningUp);
        second.progress(&Progress::StepEnded { index: 0 });
        assert_eq!(board.longest(seconds(5)).unwrap().name, "a/first");
        board.end(1);
        let longest = board.longest(seconds(5)).unwrap();
        let expected = ("a/second", Duration::from_secs(4), "cleaning up");
        assert_eq!((longest.name.as_str(), longest.since, longest.said.as_str()), expected);
    }
}
