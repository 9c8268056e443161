//! Rules without a judge, and why.

/// Why a rule has no judge.
pub(super) fn why(rule: &str) -> &'static str {
    match rule {
        "SG-03" | "SG-04" | "SG-07" | "SG-08" => {
            "what was written is not compared with what is there yet"
        }
        "PF-03" | "PF-04" | "PF-05" => "preflight's answer is judged by its own scenario",
        "OP-06" | "OP-07" => "plain mode is not judged",
        "EX-04" => "executions past both gates are not looked for, and no scenario makes one",
        "RT-01" | "RT-02" => "refusals of requests are not looked at yet",
        _ => "no judge knows it",
    }
}
