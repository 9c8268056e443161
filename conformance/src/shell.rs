//! Commands as people type them.

use std::borrow::Cow;

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> Cow<'_, str> {
    let is_safe = |it: char| it.is_alphanumeric() || "-_./=:,@%+".contains(it);
    if !word.is_empty() && word.chars().all(is_safe) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''")).into()
}
