//! Rules without a judge, and why.

/// Why a rule has no judge.
pub(super) fn why(rule: &str) -> &'static str {
    match rule {
        "OP-06" | "OP-07" => "it is about plain mode, which no scenario has",
        _ => "no judge knows it",
    }
}
