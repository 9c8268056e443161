//! A piece of the file on one line, for people.

use super::Place;

/// The item of a list that begins at `start`, on one line and without comments: the rest of its
/// line, and the lines below that are indented further.
pub(super) fn one_line(text: &str, start: Place) -> String {
    let mut lines = text.lines().skip(start.line.saturating_sub(1));
    let first: String =
        lines.next().unwrap_or_default().chars().skip(start.column.saturating_sub(1)).collect();
    let indent = start.column.saturating_sub(1);
    let belongs = |line: &&str| {
        let own = line.len() - line.trim_start().len();
        !line.trim().is_empty() && own >= indent
    };
    let below = lines.take_while(belongs).map(str::to_owned);
    let words: Vec<_> = std::iter::once(first)
        .chain(below)
        .map(|line| without_comment(&line).trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    words.join(" ")
}

/// The line up to a comment. A `#` within quotes begins none.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, char) in line.char_indices() {
        match (quote, char) {
            (None, '"' | '\'') => quote = Some(char),
            (Some(open), close) if open == close => quote = None,
            (None, '#') if before.is_whitespace() => return &line[..at],
            _ => {}
        }
        before = char;
    }
    line
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("  - open: train\n  - next", (1, 5), "open: train")]
    #[case::comment("  - open: train   # now\n", (1, 5), "open: train")]
    #[case::hash_in_quotes("  - say: \"a # b\"\n", (1, 5), "say: \"a # b\"")]
    #[case::hash_in_a_word("  - say: a#b\n", (1, 5), "say: a#b")]
    #[case::block("  - start:   # it\n      job: train\n      cpu: 1\n  - x", (1, 5), "start: job: train cpu: 1")]
    #[case::second_key("  - never: a\n    before: b\n\nwitness:", (1, 5), "never: a before: b")]
    #[case::past_the_end("a", (9, 9), "")]
    fn an_item_is_put_on_one_line(
        #[case] text: &str,
        #[case] (line, column): (usize, usize),
        #[case] expected: &str,
    ) {
        assert_eq!(one_line(text, Place { line, column }), expected);
    }
}
