//! What the pods of a pod set get when they are admitted (Kueue `pkg/podset/podset.go`).

use serde_json::{Map, Value, json};

use crate::component::View;
use crate::kueue::names::{CLUSTER_QUEUE_LABEL, LOCAL_QUEUE_LABEL, POD_SET, WORKLOAD_ANNOTATION};
use crate::kueue::workload::{admitted_by, queue_name};
use crate::object::{Object, items, name, number, text};
use crate::resource::RESOURCE_FLAVOR;

/// Why a job cannot be started, or its pods not be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::kueue) enum Failed {
    /// It is no use to try again.
    Permanently(String),
    /// It may be tried again.
    ForNow(String),
    /// It is of a kind that the embedded cluster does not have.
    Unsupported(String),
}

impl Failed {
    /// What it says.
    pub(in crate::kueue) fn message(&self) -> &str {
        match self {
            Self::Permanently(why) | Self::ForNow(why) | Self::Unsupported(why) => why,
        }
    }
}

/// What is merged into a pod template.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PodSetInfo {
    pub(super) name: String,
    pub(super) annotations: Map<String, Value>,
    pub(super) labels: Map<String, Value>,
    pub(super) node_selector: Map<String, Value>,
    pub(super) tolerations: Vec<Value>,
    pub(super) scheduling_gates: Vec<Value>,
}

/// What an admission means for the pods; none while a flavor of it is not there (Kueue
/// `getPodSetsInfoFromStatus`).
pub(super) fn of_admission(
    view: &View,
    workload: &Object,
) -> Option<Result<Vec<PodSetInfo>, Failed>> {
    let assignments = items(workload, "/status/admission/podSetAssignments").iter();
    let infos: Option<Vec<_>> =
        assignments.map(|assignment| of_assignment(view, workload, assignment)).collect();
    Some(infos?.into_iter().collect())
}

fn of_assignment(
    view: &View,
    workload: &Object,
    assignment: &Value,
) -> Option<Result<PodSetInfo, Failed>> {
    let mut info =
        PodSetInfo { name: text(assignment, "/name").to_owned(), ..PodSetInfo::default() };
    let mut seen = Vec::new();
    for flavor in assignment["flavors"].as_object().into_iter().flat_map(Map::values) {
        if seen.contains(&flavor) {
            continue;
        }
        seen.push(flavor);
        let flavor = view.get(RESOURCE_FLAVOR, "", flavor.as_str()?)?;
        info.node_selector.extend(map(&flavor["spec"]["nodeLabels"]));
        info.tolerations.extend_from_slice(items(flavor, "/spec/tolerations"));
    }
    info.annotations.insert(WORKLOAD_ANNOTATION.to_owned(), name(workload).into());
    info.labels.insert(POD_SET.to_owned(), assignment["name"].clone());
    info.labels.insert(LOCAL_QUEUE_LABEL.to_owned(), queue_name(workload).into());
    let cluster_queue = admitted_by(workload);
    if cluster_queue.len() <= 63 && !cluster_queue.contains('.') {
        info.labels.insert(CLUSTER_QUEUE_LABEL.to_owned(), cluster_queue.into());
    }
    let checks = items(workload, "/status/admissionChecks").iter();
    let updates = checks.filter_map(|check| {
        let of = items(check, "/podSetUpdates").iter().find(|it| it["name"] == assignment["name"]);
        of.map(|update| (text(check, "/name"), update))
    });
    for (check, update) in updates {
        let merged = info.merge(&PodSetInfo::of_update(update));
        if let Err(why) = merged {
            let why = format!("in admission check \"{check}\": {why}");
            return Some(Err(Failed::Permanently(why)));
        }
    }
    Some(Ok(info))
}

fn map(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

impl PodSetInfo {
    fn of_update(update: &Value) -> Self {
        Self {
            name: text(update, "/name").to_owned(),
            annotations: map(&update["annotations"]),
            labels: map(&update["labels"]),
            node_selector: map(&update["nodeSelector"]),
            tolerations: items(update, "/tolerations").to_vec(),
            scheduling_gates: Vec::new(),
        }
    }

    /// What a pod template has of all that.
    pub(super) fn of_template(template: &Value) -> Self {
        let (metadata, spec) = (&template["metadata"], &template["spec"]);
        Self {
            name: String::new(),
            annotations: map(&metadata["annotations"]),
            labels: map(&metadata["labels"]),
            node_selector: map(&spec["nodeSelector"]),
            tolerations: items(spec, "/tolerations").to_vec(),
            scheduling_gates: items(spec, "/schedulingGates").to_vec(),
        }
    }

    /// Adds what another one has. Where both have a key, they have to agree.
    fn merge(&mut self, other: &Self) -> Result<(), String> {
        let maps = [
            ("annotations", &mut self.annotations, &other.annotations),
            ("labels", &mut self.labels, &other.labels),
            ("nodeSelector", &mut self.node_selector, &other.node_selector),
        ];
        for (of, own, others) in maps {
            for (key, value) in others {
                match own.insert(key.clone(), value.clone()) {
                    Some(known) if known != *value => {
                        return Err(format!(
                            "invalid admission check PodSetUpdate: conflict for {of}: conflict for \
                             key={key}, value1={}, value2={}",
                            known.as_str().unwrap_or_default(),
                            value.as_str().unwrap_or_default(),
                        ));
                    }
                    _ => {}
                }
            }
        }
        let lists = [
            (&mut self.tolerations, &other.tolerations),
            (&mut self.scheduling_gates, &other.scheduling_gates),
        ];
        for (own, others) in lists {
            for one in others {
                if !own.contains(one) {
                    own.push(one.clone());
                }
            }
        }
        Ok(())
    }

    /// Merges it into a pod template.
    pub(super) fn merge_into(&self, template: &mut Value) -> Result<(), Failed> {
        let mut merged = Self::of_template(template);
        merged.merge(self).map_err(Failed::Permanently)?;
        merged.put_into(template);
        Ok(())
    }

    /// Makes a pod template have all that, and nothing more of it.
    pub(super) fn put_into(&self, template: &mut Value) {
        put(&mut template["metadata"], "annotations", self.annotations.clone().into());
        put(&mut template["metadata"], "labels", self.labels.clone().into());
        let spec = &mut template["spec"];
        put(spec, "nodeSelector", self.node_selector.clone().into());
        put(spec, "tolerations", self.tolerations.clone().into());
        put(spec, "schedulingGates", self.scheduling_gates.clone().into());
    }

    /// The patch of a replicated job of a TrainJob.
    pub(super) fn patch(&self) -> Value {
        let mut template = json!({"metadata": {}, "spec": {}});
        self.put_into(&mut template);
        json!({"name": self.name, "template": {"spec": {"template": template}}})
    }
}

/// Puts a map or a list in, or takes it out where it is empty.
fn put(object: &mut Value, key: &str, value: Value) {
    let is_empty =
        value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty);
    if !is_empty {
        object[key] = value;
    } else if let Some(object) = object.as_object_mut() {
        object.remove(key);
    }
}

/// The pods of a Workload as they run; none where it has no quota, or what is known does not suit
/// (Kueue `expectedRunningPodSets`).
pub(super) fn running(view: &View, workload: &Object) -> Option<Vec<Value>> {
    if !crate::kueue::workload::has_quota_reservation(workload) {
        return None;
    }
    let infos = of_admission(view, workload)?.ok()?;
    let pod_sets = items(workload, "/spec/podSets").iter().map(|pod_set| {
        let mut pod_set = pod_set.clone();
        let info = infos.iter().find(|it| pod_set["name"] == it.name.as_str())?;
        info.merge_into(&mut pod_set["template"]).ok()?;
        Some(pod_set)
    });
    pod_sets.collect()
}

/// How many pods.
pub(super) fn count(pod_set: &Value) -> i64 {
    number(pod_set, "/count").unwrap_or(1)
}
