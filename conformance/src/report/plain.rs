//! Text from elsewhere, made harmless for a terminal.

/// The text on one line, without anything that a terminal would act on: control characters, escape
/// sequences with what they carry, and marks that turn the direction of writing. A tab or the end
/// of a line becomes a blank.
///
/// Object names, messages and labels are whatever somebody wrote; a message must not be able to
/// rewrite the verdict above it.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(char) = rest.next() {
        match char {
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_csi(&mut rest),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut rest),
            '\n' | '\t' => out.push(' '),
            char if char.is_control() || turns_direction(char) => {}
            char => out.push(char),
        }
    }
    out
}

/// Past an escape sequence, whose ESC was read.
fn skip_escape(rest: &mut std::str::Chars<'_>) {
    match rest.next() {
        Some('[') => skip_csi(rest),
        Some(']' | 'P' | 'X' | '^' | '_') => skip_string(rest),
        // Sequences of one intermediate character and a final one.
        Some(' '..='/') => drop(rest.next()),
        _ => {}
    }
}

/// Past a control sequence: parameters up to a final character.
fn skip_csi(rest: &mut std::str::Chars<'_>) {
    for char in rest.by_ref() {
        if ('@'..='~').contains(&char) {
            return;
        }
    }
}

/// Past a string for the terminal: up to BEL or the string terminator.
fn skip_string(rest: &mut std::str::Chars<'_>) {
    while let Some(char) = rest.next() {
        match char {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                rest.next();
                return;
            }
            _ => {}
        }
    }
}

fn turns_direction(char: char) -> bool {
    matches!(char, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("pod train-0 is Terminating", "pod train-0 is Terminating")]
    #[case::colour("\u{1b}[31mred\u{1b}[0m", "red")]
    #[case::title("\u{1b}]0;owned\u{7}name", "name")]
    #[case::link("\u{1b}]8;;http://x\u{1b}\\text\u{1b}]8;;\u{1b}\\", "text")]
    #[case::charset("\u{1b}(0text", "text")]
    #[case::eight_bit("\u{9b}2Jgone", "gone")]
    #[case::carriage_return("FAIL\rPASS", "FAILPASS")]
    #[case::backspace("FAIL\u{8}\u{8}", "FAIL")]
    #[case::lines("one\ntwo\tthree", "one two three")]
    #[case::direction("a\u{202e}b", "ab")]
    #[case::letters("für größe 日本", "für größe 日本")]
    #[case::unfinished("text\u{1b}[", "text")]
    fn text_is_made_harmless(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(plain(text), expected);
    }

    proptest! {
        #[test]
        fn nothing_that_a_terminal_acts_on_is_left(text in any::<String>()) {
            prop_assert!(!plain(&text).chars().any(|char| char.is_control() || turns_direction(char)));
        }

        #[test]
        fn what_is_plain_stays(text in "[a-zA-Z0-9 .:/-]*") {
            prop_assert_eq!(plain(&text), text);
        }
    }
}
