//! What is on a cluster that others run, for people.

use std::fmt::Write as _;

use serde::Serialize;

use super::console::counted;
use super::plain;
use crate::cluster::existing::{Finding, Found, KindState, Manager, marker};

/// What `doctor` says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Doctor {
    /// Whether a run could start.
    pub can_start: bool,
    /// What was seen.
    pub found: Found,
    /// What follows from it.
    pub findings: Vec<Finding>,
    /// What each scenario would make that is in no namespace: kind and name.
    pub would_make: Vec<(String, String)>,
}

/// All of it.
pub fn doctor(doctor: &Doctor) -> String {
    let Doctor { can_start, found, findings, would_make } = doctor;
    let mut out = String::new();
    // Writing to a String cannot fail.
    let mut row = |name: &str, text: &str| {
        let _ = writeln!(out, "{name:<11} {}", plain(text));
    };
    row("context", &format!("{} ({})", found.context, found.server));
    row("marker", marker_of(found));
    row("kubernetes", &found.kubernetes);
    for (name, manager) in &found.managers {
        row(name, &of_manager(manager));
    }
    let served = found.kinds.iter().filter(|kind| kind.state == KindState::Served).count();
    row("kinds", &format!("{served} of {} are served", found.kinds.len()));
    row("queues", &queues_of(found));
    let granted = found.rights - found.missing.len();
    row("rights", &format!("{granted} of {} are granted", found.rights));
    let runs = match &found.runs[..] {
        [] => "none has a Lease".to_owned(),
        some => format!("{} under way, or killed: {}", some.len(), some.join(", ")),
    };
    row("runs", &runs);
    let _ = writeln!(out, "\na run would make, and remove:");
    row_of_made(&mut out, "Lease", &format!("{}/<run>", marker::NAMESPACE));
    for (kind, name) in would_make {
        row_of_made(&mut out, kind, name);
    }
    let _ = writeln!(
        out,
        "\nfor each of its scenarios, with what is in the namespace, and the nodes' Leases"
    );
    out.push('\n');
    for line in findings.iter().flat_map(|it| it.to_string().lines().map(plain).collect::<Vec<_>>())
    {
        let _ = writeln!(out, "{line}");
    }
    let refusals = findings.iter().filter(|finding| finding.is_refusal()).count();
    let verdict = match can_start {
        true => "a run can start".to_owned(),
        false => format!("no run can start: {}", counted(refusals, "refusal")),
    };
    let _ = writeln!(out, "{verdict}");
    out
}

fn row_of_made(out: &mut String, kind: &str, name: &str) {
    let _ = writeln!(out, "  {kind:<22} {name}");
}

fn marker_of(found: &Found) -> &'static str {
    match found.marker {
        Some(true) => "is there: scenarios may be played",
        Some(false) => "is not there",
        None => "may not be read",
    }
}

fn queues_of(found: &Found) -> String {
    match found.queues.as_deref() {
        None => "ClusterQueues may not be listed, or there is no such kind".to_owned(),
        Some([]) => "there is no ClusterQueue".to_owned(),
        Some(some) => {
            let told: Vec<_> = some.iter().map(ToString::to_string).collect();
            format!(
                "{}, which a run leaves alone: {}",
                counted(some.len(), "ClusterQueue"),
                told.join(", ")
            )
        }
    }
}

fn of_manager(manager: &Manager) -> String {
    if !manager.installed {
        return "is not installed".to_owned();
    }
    let mut parts = vec![manager.version.clone().unwrap_or_else(|| "version not told".to_owned())];
    if let Some(gates) = manager.feature_gates.as_ref().filter(|gates| !gates.is_empty()) {
        let gates: Vec<_> = gates.iter().map(|(name, on)| format!("{name}={on}")).collect();
        parts.push(format!("feature gates {}", gates.join(",")));
    }
    if let Some(frameworks) = &manager.frameworks {
        parts.push(format!("manages {}", frameworks.join(", ")));
    }
    parts.extend(manager.not_told.clone());
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::existing::{judge, pinned, told};

    fn of(found: Found) -> Doctor {
        let findings = judge(&found, &pinned());
        let would_make =
            [("Namespace", "dispatch-<run>-<n>"), ("Node", "virtual-<run>-<n>-node-0")];
        Doctor {
            can_start: !findings.iter().any(Finding::is_refusal),
            found,
            findings,
            would_make: would_make.map(|(kind, name)| (kind.to_owned(), name.to_owned())).into(),
        }
    }

    #[test]
    fn a_cluster_on_which_a_run_can_start() {
        insta::assert_snapshot!(doctor(&of(told::found())));
    }

    #[test]
    fn a_cluster_on_which_no_run_can_start() {
        let mut found = told::found();
        found.marker = Some(false);
        found.managers.insert("jobset".to_owned(), Manager::default());
        let kueue = found.managers.get_mut("kueue").unwrap();
        kueue.version = Some("v0.16.0\u{1b}[31m".to_owned());
        kueue.feature_gates = None;
        kueue.not_told = Some("its configuration may not be read".to_owned());
        found.queues = None;
        found.missing.push(told::right("batch", "jobs", "watch"));
        found.runs.push("01m8n2g4jrhr5epw0y3vtrjg3h".to_owned());
        insta::assert_snapshot!(doctor(&of(found)));
    }

    #[test]
    fn a_program_reads_the_same() {
        let doctor = serde_json::to_string_pretty(&of(told::found())).unwrap();
        insta::assert_snapshot!(doctor);
    }
}
