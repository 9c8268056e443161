//! A cluster that others run: a local one, of which nothing is known but a kubeconfig.

use super::sweep::{command, make_namespace, namespaces, play_until_the_job_runs};
use super::{Home, PATIENCE, said, send};
use dispatch_conformance::cluster::local::take_up_or_start;
use dispatch_conformance::cluster::progress::Silent;
use fs_err as fs;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use nix::sys::signal::Signal;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::path::PathBuf;
use std::time::Instant;

/// The namespace of the marker and of the runs' Leases.
const NAMESPACE: &str = "dispatch-conformance";

async fn create<K>(api: Api<K>, object: Value)
where
    K: Clone + DeserializeOwned + Serialize + Debug,
{
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
}

/// A kubeconfig of a ServiceAccount of its own, that nothing was given to.
async fn of_an_account(home: &Home, client: &Client) -> PathBuf {
    let accounts = Api::<ServiceAccount>::namespaced(client.clone(), NAMESPACE);
    create(accounts.clone(), json!({ "metadata": { "name": "suite" } })).await;
    let ask = serde_json::from_value(json!({ "spec": { "audiences": [] } })).unwrap();
    let params = PostParams::default();
    let token = accounts.create_subresource::<TokenRequest, _>("token", "suite", &params, &ask);
    let token: TokenRequest = token.await.unwrap();
    let text = fs::read_to_string(home.state("shared").kubeconfig).unwrap();
    let mut kubeconfig: Value = serde_yaml::from_str(&text).unwrap();
    kubeconfig["users"][0]["user"] = json!({ "token": token.status.unwrap().token });
    let path = home.path().join("kubeconfig");
    fs::write(&path, kubeconfig.to_string()).unwrap();
    path
}

/// Gives these rules to the account, under a name.
async fn give(client: &Client, name: &str, rules: Value) {
    let role = json!({ "metadata": { "name": name }, "rules": rules });
    create(Api::<ClusterRole>::all(client.clone()), role).await;
    let binding = json!({
        "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name },
        "subjects": [{ "kind": "ServiceAccount", "name": "suite", "namespace": NAMESPACE }],
    });
    create(Api::<ClusterRoleBinding>::all(client.clone()), binding).await;
}

/// The rules of the role that the suite prints.
fn rules(home: &Home) -> Vec<Value> {
    let printed = home.run(&["doctor", "--print-role"]);
    assert!(printed.status.success(), "{}", said(&printed));
    let role: Value = serde_yaml::from_slice(&printed.stdout).unwrap();
    role["rules"].as_array().unwrap().clone()
}

async fn leases(client: &Client) -> usize {
    let api = Api::<Lease>::namespaced(client.clone(), NAMESPACE);
    api.list(&ListParams::default()).await.unwrap().items.len()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a real control plane"]
async fn a_cluster_that_others_run_is_used_where_they_say_so_and_left_as_it_was() {
    let home = Home::new();
    fs::create_dir(home.path().join("tmp")).unwrap();
    let up = home.run(&["cluster", "up", "--cluster=local", "--name=shared"]);
    assert!(up.status.success(), "{}", said(&up));
    let client = take_up_or_start(home.options(), &Silent).await.unwrap().client();
    make_namespace(&client, NAMESPACE).await;
    let kubeconfig = of_an_account(&home, &client).await.display().to_string();
    let there = ["--kubeconfig", &kubeconfig];
    let on = ["--cluster=existing", "--kubeconfig", &kubeconfig];
    let doctor = || command(&home, &["doctor"]).args(there).output().unwrap();

    // Some rights are missing, and the marker.
    let mut rules = rules(&home);
    let kept_back: Vec<_> = rules.extract_if(.., |it| it["resources"][0] == "namespaces").collect();
    assert_eq!(kept_back.len(), 1);
    give(&client, "most", json!(rules)).await;
    doctor_says(doctor, Some(5), &["marker_missing", "right_missing", "create namespaces"]);
    let refused = command(&home, &["run", "first-execution"]).args(on).output().unwrap();
    assert_eq!(refused.status.code(), Some(5), "{}", said(&refused));
    assert!(said(&refused).contains("cluster::refused"), "{}", said(&refused));

    give(&client, "rest", json!(kept_back)).await;
    let marker = json!({ "metadata": { "name": "scenarios-may-run-here" } });
    create(Api::<ConfigMap>::namespaced(client.clone(), NAMESPACE), marker).await;
    doctor_says(doctor, Some(0), &["a run can start"]);

    // One run lives; another one is killed.
    let long = [&on[..], &["--repeat=50", "--parallel=1"]].concat();
    let mut live = play_until_the_job_runs(&home, "live", &long);
    let mut killed = play_until_the_job_runs(&home, "killed", &on);
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(leases(&client).await, 2);
    let sweep = command(&home, &["sweep"]).args(on).output().unwrap();
    let told = said(&sweep);
    assert_eq!(sweep.status.code(), Some(0), "{told}");
    assert!(told.contains("is being played"), "{told}");
    assert_eq!(told.lines().filter(|line| line.starts_with("removed ")).count(), 1, "{told}");
    assert_eq!(leases(&client).await, 1);

    assert_eq!(live.try_wait().unwrap(), None, "the live run was disturbed");
    send(live.id(), Signal::SIGINT);
    assert_eq!(live.wait().unwrap().code(), Some(130), "it is ended by the signal");
    let report = fs::read_to_string(home.path().join("live/junit.xml")).unwrap();
    assert!(report.contains("failures=\"0\""), "{report}");
    assert_eq!((namespaces(&client).await, leases(&client).await), (vec![NAMESPACE.to_owned()], 0));
    let down = home.run(&["cluster", "down", "--name=shared"]);
    assert!(down.status.success(), "{}", said(&down));
}

/// Waits until that is said: the API server has new roles in caches of its own a moment later.
#[track_caller]
fn doctor_says(doctor: impl Fn() -> std::process::Output, code: Option<i32>, words: &[&str]) {
    let begun = Instant::now();
    loop {
        let output = doctor();
        let told = said(&output);
        if output.status.code() == code && words.iter().all(|word| told.contains(word)) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{told}");
    }
}
