//! What may be written into the gate annotation (Kueue
//! `pkg/util/webhook/validation_admissiongatedby.go`).

use super::Errors;
use crate::kueue::names::ADMISSION_GATED_BY;
use crate::object::{Object, annotation};

/// How long the name of a gate may be.
const LONGEST: usize = 63;

const PATH: &str = "metadata.annotations[kueue.x-k8s.io/admission-gated-by]";

/// Of a new object.
pub(super) fn on_create(object: &Object, errors: &mut Errors) {
    format(annotation(object, ADMISSION_GATED_BY).unwrap_or_default(), errors);
}

/// Of a change: gates can go, and none can come.
pub(super) fn on_update(old: &Object, new: &Object, errors: &mut Errors) {
    let before = annotation(old, ADMISSION_GATED_BY).unwrap_or_default();
    let after = annotation(new, ADMISSION_GATED_BY).unwrap_or_default();
    if before.is_empty() && !after.is_empty() {
        errors.forbidden(PATH, "cannot add admission gate after creation");
    }
    let known = gates(before);
    if !before.is_empty() && gates(after).iter().any(|it| !known.contains(it)) {
        errors.forbidden(PATH, "can only remove gates, not add new ones");
    }
    format(after, errors);
}

/// The gates of a value. One of blanks alone has none.
fn gates(value: &str) -> Vec<&str> {
    if value.trim().is_empty() {
        return Vec::new();
    }
    value.split(',').map(str::trim).collect()
}

fn format(value: &str, errors: &mut Errors) {
    let mut seen = Vec::new();
    for gate in gates(value) {
        let mut invalid = |why: &str| errors.invalid(PATH, &value.into(), why);
        if gate.is_empty() {
            invalid("cannot contain empty gate names");
            continue;
        }
        if seen.contains(&gate) {
            invalid(&format!("duplicate gate name: {gate}"));
            continue;
        }
        seen.push(gate);
        if !is_domain_prefixed(gate) {
            errors.invalid(
                PATH,
                &gate.into(),
                "must be a domain-prefixed path (such as \"acme.io/foo\")",
            );
        }
        if gate.len() > LONGEST {
            errors.0.push(format!("{PATH}: Too long: may not be more than {LONGEST} bytes"));
        }
    }
}

/// `domain/path`, as Kubernetes' `IsDomainPrefixedPath` has it.
fn is_domain_prefixed(text: &str) -> bool {
    let Some((domain, path)) = text.split_once('/') else { return false };
    let label = |it: &str| {
        let inner = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-';
        !it.is_empty()
            && it.len() <= 63
            && it.chars().all(inner)
            && !it.starts_with('-')
            && !it.ends_with('-')
    };
    let of_path = |it: char| it.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(it);
    domain.split('.').all(label) && !path.is_empty() && path.chars().all(of_path)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn object(gates: Option<&str>) -> Object {
        match gates {
            Some(gates) => json!({"metadata": {"annotations": {ADMISSION_GATED_BY: gates}}}),
            None => json!({"metadata": {}}),
        }
    }

    #[rstest]
    #[case(None, true)]
    #[case(Some(""), true)]
    #[case(Some(" "), true)]
    #[case(Some("a.b/c, d.e/f"), true)]
    #[case(Some("a.b/c,,d.e/f"), false)]
    #[case(Some("a.b/c,a.b/c"), false)]
    #[case(Some("gate"), false)]
    #[case(Some("a.b/"), false)]
    #[case(Some("a.b/0123456789012345678901234567890123456789012345678901234567890123"), false)]
    fn a_new_object_may_have_gates_of_a_domain(#[case] gates: Option<&str>, #[case] allowed: bool) {
        let mut errors = Errors::default();
        on_create(&object(gates), &mut errors);
        assert_eq!(errors.0.is_empty(), allowed, "{errors:?}");
    }

    #[rstest]
    #[case::removed(Some("a.b/c"), None, true)]
    #[case::emptied(Some("a.b/c"), Some(""), true)]
    #[case::fewer(Some("a.b/c,a.b/d"), Some("a.b/d"), true)]
    #[case::reordered(Some("a.b/c,a.b/d"), Some("a.b/d,a.b/c"), true)]
    #[case::another(Some("a.b/c"), Some("a.b/d"), false)]
    #[case::more(Some("a.b/c"), Some("a.b/c,a.b/d"), false)]
    #[case::added(None, Some("a.b/c"), false)]
    #[case::added_to_none(Some(""), Some("a.b/c"), false)]
    #[case::blank(None, Some(" "), false)]
    fn gates_can_only_go(
        #[case] before: Option<&str>,
        #[case] after: Option<&str>,
        #[case] allowed: bool,
    ) {
        let mut errors = Errors::default();
        on_update(&object(before), &object(after), &mut errors);
        assert_eq!(errors.0.is_empty(), allowed, "{errors:?}");
    }
}
