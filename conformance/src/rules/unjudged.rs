//! Rules without a judge, and why.

/// Why a rule has no judge.
pub(super) fn why(rule: &str) -> &'static str {
    match rule {
        "SG-03" | "SG-04" | "SG-08" => {
            "what was written can be compared with what is there only by the requests, which are not \
             recorded"
        }
        "SG-07" | "CA-05" => "a crash or a lost answer needs the proxy, which holds requests back",
        "SG-09" => "the runtime is not recorded",
        "OP-03" | "RG-06" => {
            "which version a write was decided from is in the requests, which are not recorded"
        }
        "OP-04" | "OP-05" | "OP-07" | "OP-08" | "OP-09" | "OP-10" | "CA-06" | "CA-08" => {
            "answers of this call are judged by the expectations of a scenario"
        }
        "PF-03" | "PF-04" | "PF-05" => "preflight's answer is judged by its own scenario",
        "OP-06" => "plain mode is not judged",
        "RG-07" | "RG-09" => "it is broken only together with EX-01, EX-02 or EX-03",
        "EX-04" => "executions past both gates are not looked for, and no scenario makes one",
        "RT-01" | "RT-02" => "rights are in the requests, which are not recorded",
        _ => "no judge knows it",
    }
}
