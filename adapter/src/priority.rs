//! The priorities that Kueue knows.

use dispatch_contract::{CallError, names};
use dispatch_kubernetes::request::{Request, send, send_optional};
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::{Api, ResourceExt};

use crate::Adapter;
use crate::error::of_request;

const CLASSES: &str = "workloadpriorityclasses.kueue.x-k8s.io";

/// Whether there is a `WorkloadPriorityClass` of this name.
pub(crate) async fn exists(adapter: &Adapter, name: &str) -> Result<bool, CallError> {
    let request = Request::new("get", CLASSES, name);
    let found = send_optional(adapter.limits(), request, classes(adapter).get(name)).await;
    Ok(found.map_err(of_request)?.is_some())
}

/// The `WorkloadPriorityClass` of the lowest value, if that is below the priority of a Workload
/// without one, which is 0.
pub(crate) async fn lowest(adapter: &Adapter) -> Result<Option<String>, CallError> {
    let request = Request::new("list", CLASSES, "all");
    let (api, all) = (classes(adapter), ListParams::default());
    let listed = send(adapter.limits(), request, api.list(&all)).await;
    Ok(lowest_of(listed.map_err(of_request)?.items))
}

fn classes(adapter: &Adapter) -> Api<DynamicObject> {
    let resource = ApiResource {
        group: names::KUEUE_GROUP.to_owned(),
        version: "v1beta2".to_owned(),
        api_version: format!("{}/v1beta2", names::KUEUE_GROUP),
        kind: "WorkloadPriorityClass".to_owned(),
        plural: "workloadpriorityclasses".to_owned(),
    };
    Api::all_with(adapter.client().clone(), &resource)
}

fn lowest_of(classes: Vec<DynamicObject>) -> Option<String> {
    let value = |class: &DynamicObject| class.data["value"].as_i64().unwrap_or_default();
    let lowest = classes.into_iter().min_by_key(value)?;
    (value(&lowest) < 0).then(|| lowest.name_any())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::none(&[], None)]
    #[case::all_above_the_default(&[("high", 100), ("zero", 0)], None)]
    #[case::below(&[("high", 100), ("low", -1), ("lowest", -5)], Some("lowest"))]
    fn the_lowest_priority_is_taken_where_it_is_below_the_default(
        #[case] classes: &[(&str, i64)],
        #[case] expected: Option<&str>,
    ) {
        let classes = classes
            .iter()
            .map(|(name, value)| {
                serde_json::from_value(json!({"metadata": {"name": name}, "value": value})).unwrap()
            })
            .collect();
        assert_eq!(lowest_of(classes).as_deref(), expected);
    }
}
