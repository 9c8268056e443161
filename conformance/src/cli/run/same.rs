//! Whether plays with one seed have one history.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::report::ScenarioReport;

/// How much of the digest of all histories is shown, in bytes.
const SHOWN: usize = 8;

/// The histories of plays with one seed, which are compared byte for byte.
#[derive(Debug, Default)]
pub(super) struct Histories {
    /// The first one of each scenario, and of each case.
    first: BTreeMap<String, First>,
    /// What differs from the first one, and what could not be compared.
    wrong: Vec<String>,
}

#[derive(Debug)]
struct First {
    history: PathBuf,
    digest: [u8; 32],
    /// How many plays had it.
    times: usize,
}

impl Histories {
    /// Compares a history with the first one of its scenario. One that is the same is removed with its
    /// logs, since there may be thousands, and the report names the first one instead. One that was
    /// broken off differs, and that says nothing.
    pub(super) fn take(&mut self, report: &mut ScenarioReport) {
        if report.interrupted {
            return;
        }
        let Some(history) = report.history.clone() else { return };
        let id = report.full_id();
        match self.compare(&id, &history) {
            Ok(None) => {}
            Ok(Some(first)) => report.history = Some(first),
            Err(error) => self.wrong.push(format!("{id}: {error}")),
        }
    }

    /// The first one, if this is the same as that.
    fn compare(&mut self, id: &str, history: &Path) -> io::Result<Option<PathBuf>> {
        let bytes = fs_err::read(history)?;
        let digest = Sha256::digest(&bytes).into();
        let mut place = match self.first.entry(id.to_owned()) {
            Entry::Vacant(place) => {
                place.insert(First { history: history.to_owned(), digest, times: 1 });
                return Ok(None);
            }
            Entry::Occupied(place) => place,
        };
        let first = place.get_mut();
        if first.digest == digest {
            first.times += 1;
            remove(history)?;
            return Ok(Some(first.history.clone()));
        }
        let line = first_difference(&fs_err::read(&first.history)?, &bytes);
        let (one, other) = (first.history.display(), history.display());
        self.wrong.push(format!("{id}: {one} and {other} differ from line {line} on"));
        Ok(None)
    }

    /// Whether there was one history of each.
    pub(super) fn are_the_same(&self) -> bool {
        self.wrong.is_empty()
    }

    /// What is to be said of them, with a digest of all: another run of the same scenarios with the
    /// same seed has the same one, whatever plays beside them.
    pub(super) fn summary(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        for wrong in &self.wrong {
            let _ = writeln!(out, "not one history: {wrong}");
        }
        if self.are_the_same() && !self.first.is_empty() {
            let times = self.first.values().map(|first| first.times).min().unwrap_or_default();
            let same =
                if times > 1 { format!(", each the same {times} times") } else { String::new() };
            let (count, digest) = (self.first.len(), self.digest());
            let _ = writeln!(out, "histories of one seed: {count}{same}, sha256 {digest}");
        }
        out
    }

    fn digest(&self) -> String {
        let mut all = Sha256::new();
        for (id, first) in &self.first {
            all.update(id.as_bytes());
            all.update(first.digest);
        }
        all.finalize().iter().take(SHOWN).fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

/// Removes a history, and the logs beside it.
fn remove(history: &Path) -> io::Result<()> {
    let Some(folder) = history.parent() else { return Ok(()) };
    for entry in fs_err::read_dir(folder)? {
        let path = entry?.path();
        if path == history || path.extension().is_some_and(|it| it == "log") {
            fs_err::remove_file(path)?;
        }
    }
    // There may be something else in it.
    let _ = fs_err::remove_dir(folder);
    Ok(())
}

/// The first line that differs, from 1.
fn first_difference(one: &[u8], other: &[u8]) -> usize {
    let lines = |bytes| <[u8]>::split(bytes, |byte| *byte == b'\n');
    let same = lines(one).zip(lines(other)).take_while(|(one, other)| one == other);
    same.count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::told::{judged, report};
    use crate::rules::Overall;

    /// Plays of a scenario that had these histories.
    fn played(folder: &Path, histories: &[&str]) -> (Histories, Vec<ScenarioReport>) {
        let mut all = Histories::default();
        let mut reports = Vec::new();
        for (nth, history) in histories.iter().enumerate() {
            let own = folder.join(nth.to_string());
            fs_err::create_dir_all(&own).unwrap();
            fs_err::write(own.join("adapter.log"), "told").unwrap();
            fs_err::write(own.join("history.ndjson"), history).unwrap();
            let history = Some(own.join("history.ndjson"));
            let mut report = ScenarioReport { history, ..report("a/b", judged(Overall::Pass)) };
            all.take(&mut report);
            reports.push(report);
        }
        (all, reports)
    }

    #[test]
    fn histories_that_are_the_same_are_kept_once() {
        let folder = tempfile::tempdir().unwrap();
        let (all, reports) = played(folder.path(), &["a\nb\n", "a\nb\n", "a\nb\n"]);
        assert!(all.are_the_same());
        assert!(all.summary().contains("1, each the same 3 times, sha256 "), "{}", all.summary());
        let kept = Some(folder.path().join("0/history.ndjson"));
        assert!(reports.iter().all(|report| report.history == kept));
        assert!(!folder.path().join("1").exists());
    }

    #[test]
    fn a_history_that_differs_is_named_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let (all, reports) = played(folder.path(), &["a\nb\n", "a\nc\n"]);
        assert!(!all.are_the_same());
        let said = all.summary().replace(&folder.path().display().to_string(), "results");
        insta::assert_snapshot!(said, @"not one history: a/b: results/0/history.ndjson and results/1/history.ndjson differ from line 2 on");
        assert_eq!(reports[1].history, Some(folder.path().join("1/history.ndjson")));
    }

    #[test]
    fn a_play_that_was_broken_off_is_not_compared() {
        let folder = tempfile::tempdir().unwrap();
        let (mut all, reports) = played(folder.path(), &["a\nb\n", "a\nb\n"]);
        let short = folder.path().join("short.ndjson");
        fs_err::write(&short, "a\n").unwrap();
        let [first, _] = &reports[..] else { panic!("two were played") };
        let mut broken_off =
            ScenarioReport { history: Some(short), interrupted: true, ..first.clone() };
        all.take(&mut broken_off);
        assert!(all.summary().contains("1, each the same 2 times"), "{}", all.summary());
    }

    #[test]
    fn nothing_is_said_of_no_histories() {
        assert_eq!(Histories::default().summary(), "");
    }

    #[test]
    fn the_digest_is_that_of_the_histories_and_not_of_their_number() {
        let folder = tempfile::tempdir().unwrap();
        let digest = |histories: &[&str]| played(folder.path(), histories).0.digest();
        assert_eq!(digest(&["a"]), digest(&["a", "a"]));
        assert_ne!(digest(&["a"]), digest(&["b"]));
    }
}
