//! Who may do what.

use rstest::rstest;
use serde_json::json;

use super::*;

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";

/// A service account `x` that may do this in its namespace; and a client of it.
fn account(cluster: &Cluster, rule: &Value) -> Client {
    cluster.created(ACCOUNTS, &json!({"metadata": {"name": "x"}}));
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let granting = json!({"metadata": {"name": "r"}, "rules": [rule]});
    cluster.created(&format!("{rbac}/roles"), &granting);
    let binding = json!({
        "metadata": {"name": "r"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "ServiceAccount", "name": "x", "namespace": "default"}],
    });
    cluster.created(&format!("{rbac}/rolebindings"), &binding);
    let request = json!({"spec": {"expirationSeconds": 60}});
    let token = cluster.created(&format!("{ACCOUNTS}/x/token"), &request);
    cluster.as_token(token["status"]["token"].as_str().unwrap())
}

fn rule(verb: &str, group: &str, resource: &str) -> Value {
    json!({"verbs": [verb], "apiGroups": [group], "resources": [resource]})
}

#[rstest]
#[case::granted(rule("get", "kueue.x-k8s.io", "workloads"), 200)]
#[case::all_verbs(rule("*", "kueue.x-k8s.io", "workloads"), 200)]
#[case::all(rule("*", "*", "*"), 200)]
#[case::another_verb(rule("list", "kueue.x-k8s.io", "workloads"), 403)]
#[case::another_group(rule("get", "", "workloads"), 403)]
#[case::a_subresource(rule("get", "kueue.x-k8s.io", "workloads/status"), 403)]
#[case::of_a_name(json!({"verbs": ["get"], "apiGroups": ["*"], "resources": ["*"],
    "resourceNames": ["w"]}), 200)]
#[case::of_another_name(json!({"verbs": ["get"], "apiGroups": ["*"], "resources": ["*"],
    "resourceNames": ["v"]}), 403)]
fn a_right_is_what_a_bound_role_grants(#[case] rule: Value, #[case] code: u16) {
    let cluster = Cluster::new();
    cluster.created(WORKLOADS, &workload("w"));
    let client = account(&cluster, &rule);
    assert_eq!(client.send(Method::GET, &at(WORKLOADS, "w"), "", &Value::Null).0, code);
}

#[test]
fn a_refusal_names_who_may_not_do_what() {
    let cluster = Cluster::new();
    let client = account(&cluster, &rule("get", "kueue.x-k8s.io", "workloads/status"));
    let refused = |method, path: &str| {
        let (code, status) = client.send(method, path, "", &Value::Null);
        assert_eq!(code, 403);
        message(&status).to_owned()
    };
    assert_eq!(
        refused(Method::GET, &at(TRAIN_JOBS, "t")),
        "trainjobs.trainer.kubeflow.org \"t\" is forbidden: User \
         \"system:serviceaccount:default:x\" cannot get resource \"trainjobs\" in API group \
         \"trainer.kubeflow.org\" in the namespace \"default\""
    );
    assert_eq!(
        refused(Method::GET, "/api/v1/nodes"),
        "nodes is forbidden: User \"system:serviceaccount:default:x\" cannot list resource \
         \"nodes\" in API group \"\" at the cluster scope"
    );
}

#[test]
fn who_has_no_token_is_not_let_in() {
    let cluster = Cluster::new();
    assert_eq!(cluster.as_token("nonsense").send(Method::GET, MAPS, "", &Value::Null).0, 401);
}

#[test]
fn a_review_tells_what_somebody_may_do() {
    let cluster = Cluster::new();
    let client = account(&cluster, &rule("get", "kueue.x-k8s.io", "workloads/status"));
    let attributes = |subresource: &str| {
        json!({
            "verb": "get", "group": "kueue.x-k8s.io", "resource": "workloads",
            "subresource": subresource, "namespace": "default",
        })
    };
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    for (subresource, allowed) in [("status", true), ("", false)] {
        let user = "system:serviceaccount:default:x";
        let spec = json!({"user": user, "resourceAttributes": attributes(subresource)});
        let review = cluster.created(path, &json!({"spec": spec}));
        assert_eq!(review["status"]["allowed"], allowed);
        let spec = json!({"spec": {"resourceAttributes": attributes(subresource)}});
        let own = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        let (code, review) = client.send(Method::POST, own, JSON, &spec);
        assert_eq!((code, &review["status"]["allowed"]), (201, &json!(allowed)));
    }
    let spec = json!({"spec": {"user": "me", "resourceAttributes": attributes("")}});
    assert_eq!(client.send(Method::POST, path, JSON, &spec).0, 403);
}

#[test]
fn a_token_is_good_for_its_time_and_while_the_account_is_there() {
    let cluster = Cluster::new();
    let client = account(&cluster, &rule("list", "", "configmaps"));
    let list = |client: &Client| client.send(Method::GET, MAPS, "", &Value::Null).0;
    assert_eq!(list(&client), 200);
    cluster.pass(60);
    assert_eq!(list(&client), 401);
    let token = cluster.created(&format!("{ACCOUNTS}/x/token"), &json!({"spec": {}}));
    let client = cluster.as_token(token["status"]["token"].as_str().unwrap());
    assert_eq!(list(&client), 200);
    cluster.delete(&at(ACCOUNTS, "x"), &Value::Null);
    cluster.created(ACCOUNTS, &json!({"metadata": {"name": "x"}}));
    assert_eq!(list(&client), 401);
}

#[test]
fn an_apply_that_would_create_needs_that_right() {
    let cluster = Cluster::new();
    let client = account(&cluster, &rule("patch", "kueue.x-k8s.io", "workloads"));
    let path = format!("{}?fieldManager=x", at(WORKLOADS, "w"));
    let apply =
        || client.send(Method::PATCH, &path, "application/apply-patch+yaml", &workload("w"));
    let (code, status) = apply();
    assert_eq!(code, 403);
    assert!(message(&status).contains("cannot create resource \"workloads\""), "{status}");
    cluster.created(WORKLOADS, &workload("w"));
    assert_eq!(apply().0, 200);
}
