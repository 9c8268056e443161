//! Lines from bytes as they come, without more than one line in memory.

use thiserror::Error;

/// The greatest length of a line, in bytes, its end not counted: 16 MiB, room for a List of some
/// ten thousand objects.
pub const LINE_LIMIT: usize = 16 * 1024 * 1024;

/// A line was longer than [`LINE_LIMIT`], and was skipped to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a line is longer than {LINE_LIMIT} bytes")]
pub struct LineTooLong;

/// Cuts bytes into lines.
#[derive(Debug)]
pub struct Lines {
    bytes: Vec<u8>,
    /// How many bytes are known to hold no end of a line.
    searched: usize,
    /// Whether the line that comes is one that was too long.
    skipping: bool,
    limit: usize,
}

impl Default for Lines {
    fn default() -> Self {
        Self { bytes: Vec::new(), searched: 0, skipping: false, limit: LINE_LIMIT }
    }
}

impl Lines {
    /// Takes the bytes that came. To be followed by [`Lines::next_line`] until that gives `None`.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole line, without its end; empty lines are left out. A line that is too long is
    /// told of once, as soon as that is known.
    pub fn next_line(&mut self) -> Option<Result<Vec<u8>, LineTooLong>> {
        loop {
            let rest = self.bytes.get(self.searched..).unwrap_or_default();
            let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
                self.searched = self.bytes.len();
                return self.overflow();
            };
            let end = self.searched + end;
            let rest = self.bytes.split_off(end + 1);
            let mut line = std::mem::replace(&mut self.bytes, rest);
            self.searched = 0;
            line.truncate(end);
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            if std::mem::take(&mut self.skipping) || line.is_empty() {
                continue;
            }
            return Some(if line.len() > self.limit { Err(LineTooLong) } else { Ok(line) });
        }
    }

    /// A line without an end so far, longer than any may be.
    fn overflow(&mut self) -> Option<Result<Vec<u8>, LineTooLong>> {
        // One more than the limit, since a carriage return may belong to the line's end.
        if self.bytes.len() <= self.limit + 1 && !self.skipping {
            return None;
        }
        self.bytes.clear();
        self.searched = 0;
        let was_skipping = std::mem::replace(&mut self.skipping, true);
        (!was_skipping).then_some(Err(LineTooLong))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn lines(chunks: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines { limit: 5, ..Lines::default() };
        let mut found = Vec::new();
        for chunk in chunks {
            lines.push(chunk);
            while let Some(line) = lines.next_line() {
                let text = |line: Vec<u8>| String::from_utf8_lossy(&line).into_owned();
                found.push(line.map_or_else(|_| "TOO LONG".to_owned(), text));
            }
        }
        found
    }

    #[rstest]
    #[case::one(&["ab\n"], &["ab"])]
    #[case::in_pieces(&["a", "b", "\nc\nd"], &["ab", "c"])]
    #[case::several_at_once(&["a\nb\r\n\nc\n"], &["a", "b", "c"])]
    #[case::as_long_as_may_be(&["abcde\nabcde\r\n"], &["abcde", "abcde"])]
    #[case::too_long(&["abcdef\na\n"], &["TOO LONG", "a"])]
    #[case::too_long_in_pieces(&["abcd", "efgh", "ijkl", "mnop\na\n"], &["TOO LONG", "a"])]
    #[case::without_an_end(&["a"], &[])]
    fn bytes_are_cut_into_lines(#[case] chunks: &[&str], #[case] expected: &[&str]) {
        let chunks: Vec<_> = chunks.iter().map(|chunk| chunk.as_bytes()).collect();
        assert_eq!(lines(&chunks), expected);
    }

    proptest! {
        #[test]
        fn where_the_bytes_are_cut_does_not_matter(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'a'), any::<u8>()], 0..60),
            cuts in proptest::collection::vec(0_usize..60, 0..6),
        ) {
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut from = 0;
            let mut chunks: Vec<&[u8]> = Vec::new();
            for cut in cuts {
                chunks.push(&bytes[from..cut]);
                from = cut;
            }
            chunks.push(&bytes[from..]);
            prop_assert_eq!(lines(&chunks), lines(&[&bytes]));
        }
    }
}
