//! Pods that carry another number than the object's (EX-05).

use dispatch_contract::PodOfObject;
use dispatch_contract::resources::TrainJob;
use k8s_openapi::api::core::v1::Pod;

use crate::owned;

/// Those of the object's `pods` that live, and whose A is not the object's count.
///
/// The Job controller can create a pod from the template it had before the raise; no read before
/// Ready can exclude it, so it is found afterwards.
pub fn misidentified<'a>(
    trainjob: &TrainJob,
    pods: impl IntoIterator<Item = &'a Pod>,
) -> Vec<PodOfObject> {
    let Some(Ok(count)) = trainjob.admission_count() else { return Vec::new() };
    let count = count.to_string();
    let differs = |pod: &&Pod| owned::admission(pod) != Some(count.as_str());
    owned::live_pods(pods.into_iter().filter(differs))
}

/// The sentence about such a pod: its number and the object's.
pub fn describe(trainjob: &TrainJob, pod: &PodOfObject) -> String {
    let count = trainjob.annotation(dispatch_contract::names::ADMISSION_COUNT).unwrap_or("absent");
    let carried = pod.admission.as_deref().unwrap_or("nothing");
    format!("the pod {} carries A={carried}, and the object's count is {count}", pod.name)
}

#[cfg(test)]
mod tests {
    use dispatch_contract::names;
    use serde_json::json;

    use super::*;

    #[test]
    fn live_pods_with_another_number_or_none_are_found() {
        let object: TrainJob = serde_json::from_value(json!({"metadata": {"name": "t",
            "annotations": {names::ADMISSION_COUNT: "2"}}}))
        .unwrap();
        let pod = |name: &str, a: Option<&str>, phase: &str| -> Pod {
            let annotations = a.map(|a| json!({names::POD_ADMISSION: a}));
            serde_json::from_value(json!({
                "metadata": {"name": name, "annotations": annotations},
                "status": {"phase": phase},
            }))
            .unwrap()
        };
        let pods = [
            pod("right", Some("2"), "Running"),
            pod("late", Some("1"), "Pending"),
            pod("ended", Some("1"), "Failed"),
            pod("bare", None, "Running"),
        ];
        let found = misidentified(&object, &pods);
        let names: Vec<_> = found.iter().map(|pod| pod.name.as_str()).collect();
        assert_eq!(names, ["bare", "late"]);
        assert_eq!(
            describe(&object, &found[1]),
            "the pod late carries A=1, and the object's count is 2"
        );
    }
}
