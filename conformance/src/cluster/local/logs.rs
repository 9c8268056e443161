//! The ends of logs, as people want to read them.

use fs_err as fs;
use serde_json::Value;
use std::path::Path;

/// How much of a log is looked at, in bytes.
const MOST: usize = 64 * 1024;
/// How much of one line is shown, in characters.
const WIDEST: usize = 400;

/// The end of a log, as it is. Empty if there is none.
pub(in crate::cluster) fn end(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(MOST)..]).into_owned()
}

/// Whether a program says that the disk is full.
pub(in crate::cluster) fn tell_of_a_full_disk(text: &str) -> bool {
    text.contains("no space left on device") || text.contains("disk quota exceeded")
}

/// The last lines of a text, each readable and of bounded width.
pub(in crate::cluster) fn last_lines(text: &str, lines: usize) -> String {
    // What follows is the stack of a Go panic, whose reason stands before it.
    let text = text.find("\ngoroutine ").map_or(text, |stack| &text[..stack]);
    let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = all[all.len().saturating_sub(lines)..].iter();
    last.map(|line| readable(line)).collect::<Vec<_>>().join("\n")
}

/// A line of JSON as level, message and error; another line as it is.
fn readable(line: &str) -> String {
    let text = serde_json::from_str::<Value>(line).ok().and_then(|entry| {
        let word = |key: &str| entry.get(key).and_then(Value::as_str);
        let mut text = format!("{}: {}", word("level").unwrap_or("log"), word("msg")?);
        for key in ["error", "err"] {
            if let Some(error) = word(key) {
                text = format!("{text}: {error}");
            }
        }
        Some(text)
    });
    let text = text.unwrap_or_else(|| line.to_owned());
    match text.char_indices().nth(WIDEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::plain("panic: oh", "panic: oh")]
    #[case::json(
        r#"{"level":"error","ts":"2026","msg":"Unable to set","error":"unrecognized","stacktrace":"x"}"#,
        "error: Unable to set: unrecognized"
    )]
    #[case::other_json(r#"{"a":1}"#, r#"{"a":1}"#)]
    fn a_line_is_shown_without_what_machines_need(#[case] line: &str, #[case] shown: &str) {
        assert_eq!(readable(line), shown);
    }

    #[test]
    fn the_end_is_the_last_lines_that_say_something() {
        assert_eq!(last_lines("a\nb\n\nc\n", 2), "b\nc");
        assert_eq!(last_lines(&"x".repeat(1000), 1).chars().count(), WIDEST + 1);
        assert_eq!(end(Path::new("/nowhere/log")), "");
    }

    #[test]
    fn the_reason_of_a_panic_is_shown_and_not_its_stack() {
        let text = "a\npanic: no more\n\ngoroutine 1 [running]:\nmain.main()\n\tmain.go:31";
        assert_eq!(last_lines(text, 2), "a\npanic: no more");
    }
}
