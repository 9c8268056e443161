//! Says of what was seen whether a run can start.

use super::finding::Finding;
use super::look::{Found, Kind, KindState};
use super::manager::{Manager, minor};
use super::marker;
use super::rights::ROLE;
use std::collections::BTreeMap;

/// Kueue's feature gate without which there is no gate to conform with; off by default in the pinned
/// release.
pub(super) const GATE: &str = "AdmissionGatedBy";

/// What Kueue calls the kind of job that is judged.
pub(super) const FRAMEWORK: &str = "trainer.kubeflow.org/trainjob";

/// How the missing rights are given.
fn give_rights(kubectl: &str) -> String {
    format!(
        "an administrator applies the role, and binds it to whoever the kubeconfig names:\n\
         dispatch-conformance doctor --print-role | {kubectl} apply --filename -\n\
         {kubectl} create clusterrolebinding {ROLE} --clusterrole {ROLE} --user NAME"
    )
}

/// What keeps a run from starting, or what it has to live with, in the order of what to do first.
/// `pinned` are the versions that the suite is made for, by name.
pub fn judge(found: &Found, pinned: &BTreeMap<String, String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(marker_of(found));
    let kubernetes = Some(found.kubernetes.as_str());
    findings.extend(version("kubernetes", kubernetes, None, pinned));
    for (name, manager) in &found.managers {
        findings.extend(installed(name, manager, pinned));
    }
    findings.extend(found.kinds.iter().filter_map(served));
    if let Some(kueue) = found.managers.get("kueue").filter(|kueue| kueue.installed) {
        findings.extend(gate(kueue));
        findings.extend(framework(kueue));
    }
    findings.extend(rights(found));
    findings
}

fn marker_of(found: &Found) -> Option<Finding> {
    let (namespace, name) = (marker::NAMESPACE, marker::NAME);
    match found.marker {
        Some(true) => None,
        Some(false) => Some(Finding::refusal(
            "marker_missing",
            format!(
                "nobody has said that scenarios may be played here: there is no ConfigMap {namespace}/{name}"
            ),
            format!("if they may, put it there by hand:\n{}", marker::commands(&found.kubectl)),
        )),
        None => Some(Finding::refusal(
            "marker_missing",
            format!(
                "the ConfigMap {namespace}/{name}, which says that scenarios may be played here, may not be read"
            ),
            format!(
                "give the right to get it; then, if it is not there, put it there by hand:\n{}",
                marker::commands(&found.kubectl)
            ),
        )),
    }
}

fn installed(name: &str, manager: &Manager, pinned: &BTreeMap<String, String>) -> Option<Finding> {
    if !manager.installed {
        let wanted = pinned.get(name).map(String::as_str).unwrap_or_default();
        return Some(Finding::refusal(
            "not_installed",
            format!("the API server calls no webhook of {name}"),
            format!("install {name} {wanted}, with its webhooks"),
        ));
    }
    version(name, manager.version.as_deref(), manager.not_told.as_deref(), pinned)
}

fn version(
    name: &str,
    version: Option<&str>,
    why_not: Option<&str>,
    pinned: &BTreeMap<String, String>,
) -> Option<Finding> {
    let wanted = pinned.get(name)?;
    let unknown = |what: String| {
        let remedy = format!(
            "see to it that it is of the minor version of {wanted}; the run makes no claim"
        );
        Some(Finding::warning("version_unknown", what, remedy))
    };
    let Some(version) = version else {
        let why = why_not.unwrap_or("it says nothing of it");
        return unknown(format!("the version of {name} cannot be told: {why}"));
    };
    let Some(found) = minor(version) else {
        return unknown(format!("{name} is of the version {version}, which is no number"));
    };
    (Some(found) != minor(wanted)).then(|| {
        Finding::refusal(
            "wrong_version",
            format!("{name} is {version}, and this release of the suite judges {wanted}"),
            format!(
                "install {name} {wanted}, or take the release of the suite that is for {version}"
            ),
        )
    })
}

fn served(kind: &Kind) -> Option<Finding> {
    let Kind { name, version, state } = kind;
    let remedy = format!("install the release whose definition of {name} has it");
    let refused = |what: String| Some(Finding::refusal("kind_not_served", what, remedy.clone()));
    match state {
        KindState::Served => None,
        KindState::Missing => refused(format!("there is no definition {name}")),
        KindState::OtherVersions(served) => {
            let served = served.join(", ");
            refused(format!("{name} is not served as {version}, but as: {served}"))
        }
        KindState::WithoutFields(fields) => {
            let fields = fields.join(", ");
            refused(format!("{name}, version {version}, does not have: {fields}"))
        }
        KindState::NotTold => Some(Finding::warning(
            "version_unknown",
            format!("whether {name} is served as {version} cannot be told: it may not be read"),
            "give the right to get customresourcedefinitions",
        )),
    }
}

fn gate(kueue: &Manager) -> Option<Finding> {
    let Some(gates) = &kueue.feature_gates else {
        let why = kueue.not_told.as_deref().unwrap_or("it says nothing of it");
        return Some(Finding::warning(
            "gate_unknown",
            format!("whether Kueue's feature gate {GATE} is on cannot be told: {why}"),
            "see to it that it is; where it is off, preflight finds the leak (PF-01), and scenarios fail",
        ));
    };
    let what = match gates.get(GATE) {
        Some(true) => return None,
        Some(false) => format!("Kueue's feature gate {GATE} is off"),
        None => format!("Kueue's feature gate {GATE} is not set, and off by default"),
    };
    let remedy =
        format!("set `featureGates: {{{GATE}: true}}` in Kueue's configuration, and restart it");
    Some(Finding::refusal("gate_off", what, remedy))
}

fn framework(kueue: &Manager) -> Option<Finding> {
    let frameworks = kueue.frameworks.as_ref()?;
    (!frameworks.iter().any(|it| it == FRAMEWORK)).then(|| {
        Finding::refusal(
            "no_integration",
            format!("Kueue does not manage TrainJobs: it manages {}", frameworks.join(", ")),
            format!(
                "add {FRAMEWORK} to `integrations.frameworks` in Kueue's configuration, and restart it"
            ),
        )
    })
}

fn rights(found: &Found) -> Option<Finding> {
    if found.missing.is_empty() {
        return None;
    }
    let missing: Vec<_> = found.missing.iter().map(ToString::to_string).collect();
    let what = format!(
        "{} of the {} rights that a run needs are missing: {}",
        missing.len(),
        found.rights,
        missing.join("; ")
    );
    Some(Finding::refusal("right_missing", what, give_rights(&found.kubectl)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::existing::running::pinned;
    use crate::cluster::existing::told::{found, kind, right};
    use rstest::rstest;

    fn kueue(found: &mut Found) -> &mut Manager {
        found.managers.get_mut("kueue").unwrap()
    }

    #[test]
    fn a_cluster_of_another_patch_version_is_taken() {
        assert_eq!(judge(&found(), &pinned()), []);
    }

    #[rstest]
    #[case::unmarked("marker_missing", |it: &mut Found| it.marker = Some(false))]
    #[case::marker_unread("marker_missing", |it: &mut Found| it.marker = None)]
    #[case::older_kubernetes("wrong_version", |it: &mut Found| it.kubernetes = "v1.34.1".into())]
    #[case::newer_kueue("wrong_version", |it: &mut Found| kueue(it).version = Some("v0.18.0".into()))]
    #[case::no_kueue("not_installed", |it: &mut Found| *kueue(it) = Manager::default())]
    #[case::no_kind("kind_not_served", |it: &mut Found| it.kinds = vec![kind(KindState::Missing)])]
    #[case::old_kind("kind_not_served", |it: &mut Found| it.kinds = vec![
        kind(KindState::OtherVersions(vec!["v1beta1".into()])),
    ])]
    #[case::poor_kind("kind_not_served", |it: &mut Found| it.kinds = vec![
        kind(KindState::WithoutFields(vec!["spec.active".into()])),
    ])]
    #[case::gate_off("gate_off", |it: &mut Found| {
        kueue(it).feature_gates = Some([(GATE.to_owned(), false)].into());
    })]
    #[case::gate_unset("gate_off", |it: &mut Found| kueue(it).feature_gates = Some(BTreeMap::new()))]
    #[case::no_trainjobs("no_integration", |it: &mut Found| {
        kueue(it).frameworks = Some(vec!["batch/job".into()]);
    })]
    #[case::no_right("right_missing", |it: &mut Found| it.missing = vec![
        right("batch", "jobs", "watch"),
        right("", "pods/status", "patch"),
    ])]
    fn a_cluster_is_refused_with_what_to_do(#[case] code: &str, #[case] change: fn(&mut Found)) {
        let mut found = found();
        change(&mut found);
        let findings = judge(&found, &pinned());
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        assert!(finding.is_refusal());
        assert_eq!(finding.code, code);
        let name = std::thread::current().name().unwrap().rsplit("::").next().unwrap().to_owned();
        insta::assert_snapshot!(name, finding.to_string());
    }

    #[rstest]
    #[case::version("version_unknown", |it: &mut Found| {
        kueue(it).version = None;
        kueue(it).not_told = Some("its image x@sha256:0 has no tag".into());
    })]
    #[case::odd_version("version_unknown", |it: &mut Found| kueue(it).version = Some("main".into()))]
    #[case::gate("gate_unknown", |it: &mut Found| kueue(it).feature_gates = None)]
    #[case::kind("version_unknown", |it: &mut Found| it.kinds = vec![kind(KindState::NotTold)])]
    fn what_cannot_be_told_is_a_warning(#[case] code: &str, #[case] change: fn(&mut Found)) {
        let mut found = found();
        change(&mut found);
        let findings = judge(&found, &pinned());
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        assert!(!finding.is_refusal());
        assert_eq!(finding.code, code);
    }
}
