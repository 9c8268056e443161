//! Selectors of lists and watches: by labels and by fields.

use serde_json::Value;

use super::failure::Failure;
use crate::object::{self, Object};
use crate::resource::{self, Resource};

/// What is selected of a kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Selection {
    namespace: Option<String>,
    labels: Vec<ByLabel>,
    fields: Vec<ByField>,
}

#[derive(Clone, Debug)]
struct ByLabel {
    key: String,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    Exists,
    Missing,
    In(Vec<String>),
    NotIn(Vec<String>),
}

#[derive(Clone, Debug)]
struct ByField {
    pointer: &'static str,
    equal: bool,
    text: String,
}

impl Selection {
    /// Of these selectors, as they are sent.
    pub(super) fn parse(
        resource: &Resource,
        namespace: Option<&str>,
        labels: &str,
        fields: &str,
    ) -> Result<Self, Failure> {
        let labels = requirements(labels).into_iter().map(|it| by_label(&it));
        let fields = fields.split(',').filter(|it| !it.is_empty());
        Ok(Self {
            namespace: namespace.map(str::to_owned),
            labels: labels.collect::<Result<_, _>>()?,
            fields: fields.map(|it| by_field(resource, it)).collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Whether an object is among them.
    pub(super) fn has(&self, object: &Object) -> bool {
        self.namespace.as_deref().is_none_or(|it| it == object::namespace(object))
            && self.labels.iter().all(|it| it.fits(object::label(object, &it.key)))
            && self.fields.iter().all(|it| it.fits(object))
    }
}

impl ByLabel {
    fn fits(&self, value: Option<&str>) -> bool {
        let among = |all: &[String]| value.is_some_and(|value| all.iter().any(|it| it == value));
        match &self.test {
            Test::Exists => value.is_some(),
            Test::Missing => value.is_none(),
            Test::In(all) => among(all),
            Test::NotIn(all) => !among(all),
        }
    }
}

impl ByField {
    fn fits(&self, object: &Object) -> bool {
        let found = match object::at(object, self.pointer) {
            Some(Value::Bool(it)) => (*it).to_string() == self.text,
            Some(Value::Number(it)) => it.to_string() == self.text,
            Some(Value::String(it)) => *it == self.text,
            // As a built-in kind has it that leaves out what is empty.
            _ => ["", "false", "0"].contains(&self.text.as_str()),
        };
        found == self.equal
    }
}

/// The requirements of a label selector: separated by commas outside of parentheses.
fn requirements(text: &str) -> Vec<String> {
    let (mut all, mut depth) = (vec![String::new()], 0);
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                all.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = all.last_mut() {
            last.push(letter);
        }
    }
    all.into_iter().map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()).collect()
}

fn by_label(text: &str) -> Result<ByLabel, Failure> {
    let (key, wanted) = if let Some(key) = text.strip_prefix('!') {
        (key, Test::Missing)
    } else if let Some((key, value)) = text.split_once("!=") {
        (key, Test::NotIn(vec![value.trim().to_owned()]))
    } else if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        (key, Test::In(vec![value.trim().to_owned()]))
    } else if let Some((key, all)) = text.split_once(" notin ") {
        (key, Test::NotIn(set(all, text)?))
    } else if let Some((key, all)) = text.split_once(" in ") {
        (key, Test::In(set(all, text)?))
    } else {
        (text, Test::Exists)
    };
    let key = key.trim();
    if key.is_empty() || key.contains([' ', '(', ')', '<', '>']) {
        return Err(unreadable(text));
    }
    Ok(ByLabel { key: key.to_owned(), test: wanted })
}

fn set(text: &str, whole: &str) -> Result<Vec<String>, Failure> {
    let inner = text.trim().strip_prefix('(').and_then(|it| it.strip_suffix(')'));
    let inner = inner.ok_or_else(|| unreadable(whole))?;
    Ok(inner.split(',').map(|it| it.trim().to_owned()).collect())
}

fn unreadable(text: &str) -> Failure {
    Failure::new(400, "BadRequest", format!("unable to parse requirement: \"{text}\""))
}

fn by_field(resource: &Resource, text: &str) -> Result<ByField, Failure> {
    let (key, equal, value) = if let Some((key, value)) = text.split_once("!=") {
        (key, false, value)
    } else if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        (key, true, value)
    } else {
        let message = format!("invalid selector: '{text}'; can't understand '{text}'");
        return Err(Failure::new(400, "BadRequest", message));
    };
    let known = [&COMMON[..], of_kind(resource)].concat();
    let found = known.iter().find(|(name, _)| *name == key);
    let (_, pointer) = found.ok_or_else(|| {
        let version = resource.api_version();
        let message = format!(
            "Unable to find \"{version}, Resource={}\" that match label selector \"\", field \
             selector \"{text}\": field label not supported: {key}",
            resource.plural
        );
        Failure::new(400, "BadRequest", message)
    })?;
    Ok(ByField { pointer, equal, text: value.to_owned() })
}

/// What all kinds can be selected by.
const COMMON: [(&str, &str); 2] =
    [("metadata.name", "/metadata/name"), ("metadata.namespace", "/metadata/namespace")];

/// What a kind can be selected by, besides: Kubernetes `pkg/apis/*/v1/conversion.go`.
fn of_kind(resource: &Resource) -> &'static [(&'static str, &'static str)] {
    if resource == resource::POD {
        &[
            ("spec.nodeName", "/spec/nodeName"),
            ("spec.restartPolicy", "/spec/restartPolicy"),
            ("spec.schedulerName", "/spec/schedulerName"),
            ("spec.serviceAccountName", "/spec/serviceAccountName"),
            ("spec.hostNetwork", "/spec/hostNetwork"),
            ("status.phase", "/status/phase"),
            ("status.podIP", "/status/podIP"),
            ("status.nominatedNodeName", "/status/nominatedNodeName"),
        ]
    } else if resource == resource::EVENT {
        &[
            ("involvedObject.kind", "/involvedObject/kind"),
            ("involvedObject.namespace", "/involvedObject/namespace"),
            ("involvedObject.name", "/involvedObject/name"),
            ("involvedObject.uid", "/involvedObject/uid"),
            ("involvedObject.apiVersion", "/involvedObject/apiVersion"),
            ("involvedObject.resourceVersion", "/involvedObject/resourceVersion"),
            ("involvedObject.fieldPath", "/involvedObject/fieldPath"),
            ("reason", "/reason"),
            ("reportingComponent", "/reportingComponent"),
            ("source", "/source/component"),
            ("type", "/type"),
        ]
    } else if resource == resource::JOB {
        &[("status.successful", "/status/succeeded")]
    } else if resource == resource::NAMESPACE {
        &[("status.phase", "/status/phase"), ("name", "/metadata/name")]
    } else if resource == resource::NODE {
        &[("spec.unschedulable", "/spec/unschedulable")]
    } else if resource == resource::SECRET {
        &[("type", "/type")]
    } else if resource == resource::SERVICE {
        &[("spec.clusterIP", "/spec/clusterIP"), ("spec.type", "/spec/type")]
    } else {
        &[]
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::all("", "", true)]
    #[case::equal("a=1", "", true)]
    #[case::equal_twice("a==1,b=2", "", true)]
    #[case::other("a=2", "", false)]
    #[case::unequal("a!=2", "", true)]
    #[case::unequal_without_the_label("c!=2", "", true)]
    #[case::exists("a", "", true)]
    #[case::missing("!a", "", false)]
    #[case::in_set("a in (0,1), b in (2)", "", true)]
    #[case::not_in_set("a notin (0, 1)", "", false)]
    #[case::field("", "spec.nodeName=n", true)]
    #[case::fields("", "spec.nodeName=n,metadata.name!=p", false)]
    #[case::unset_field("", "status.phase=", true)]
    #[case::set_field("", "spec.nodeName!=", true)]
    fn selected_are(#[case] labels: &str, #[case] fields: &str, #[case] selected: bool) {
        let pod = json!({
            "metadata": {"name": "p", "labels": {"a": "1", "b": "2"}},
            "spec": {"nodeName": "n"},
        });
        let selection = Selection::parse(resource::POD, None, labels, fields).unwrap();
        assert_eq!(selection.has(&pod), selected);
    }

    #[test]
    fn a_field_that_cannot_be_selected_by_is_refused() {
        let refused = Selection::parse(resource::WORKLOAD, None, "", "spec.active=true");
        assert_eq!(refused.unwrap_err().code, 400);
    }
}
