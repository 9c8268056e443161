//! A `TrainJob` that is suspended and resumed again and again, while everything is slow.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};

use super::cluster::{Cluster, admission, new_train_job, pass, patches};
use crate::api::Request;
use crate::object::{is, is_terminating, is_true, text};
use crate::resource::{JOB, JOB_SET, POD, TRAIN_JOB};

/// Changes the `TrainJob`, as often as it takes.
async fn change(cluster: &Cluster, spec: Value) {
    let patch = json!({ "spec": spec });
    let request = Request::merge_patch(TRAIN_JOB, "n", "a", patch, "test");
    let accepted = async || cluster.client.request(&request).await.ok();
    cluster.until("an accepted change", accepted).await;
}

/// Lets a kubelet do what it does.
async fn kubelet(cluster: &Cluster) {
    for pod in cluster.all(POD).await {
        let starts =
            text(&pod, "/status/phase") == "Pending" && text(&pod, "/spec/nodeName") == "node";
        if is_terminating(&pod) {
            cluster.kubelet(&pod, "Failed").await;
        } else if starts {
            cluster.kubelet(&pod, "Running").await;
        }
    }
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn each_execution_comes_to_run_and_to_an_end(#[values(1, 2, 3)] seed: u64) {
    let cluster = Cluster::new(seed).await;
    let mut random = fastrand::Rng::with_seed(seed);
    cluster.held.slow(seed);
    cluster.make(TRAIN_JOB, new_train_job(true)).await;
    for execution in 1..=5 {
        let wanted = execution.to_string();
        change(&cluster, json!({"runtimePatches": patches(&wanted)})).await;
        let raised = async || {
            let made = cluster.get(JOB_SET, "a").await?;
            let template = "/spec/replicatedJobs/0/template/spec/template";
            let annotation = format!("{template}/metadata/annotations/admission");
            (is(&made, "/spec/suspend") && text(&made, &annotation) == wanted).then_some(())
        };
        cluster.until("the raise in the JobSet", raised).await;
        change(&cluster, json!({"suspend": false})).await;
        if execution % 2 == 0 {
            // It is suspended again while it only begins to run.
            pass(Duration::from_millis(random.u64(0..3000))).await;
        } else {
            let running = async || {
                kubelet(&cluster).await;
                let pods = cluster.all(POD).await;
                let runs = |it: &&Value| {
                    text(it, "/status/phase") == "Running"
                        && !is_terminating(it)
                        && admission(it) == wanted
                };
                (pods.iter().filter(runs).count() == 2).then_some(())
            };
            cluster.until("both pods", running).await;
        }
        change(&cluster, json!({"suspend": true})).await;
        let at_rest = async || {
            kubelet(&cluster).await;
            let job = cluster.get(JOB, "a-node-0").await?;
            let count = |field: &str| job["status"][field].as_i64().unwrap_or_default();
            let rests = is(&job, "/spec/suspend")
                && is_true(&job, "Suspended")
                && count("active") + count("terminating") == 0;
            (rests && cluster.all(POD).await.is_empty()).then_some(())
        };
        cluster.until("rest", at_rest).await;
    }
    change(&cluster, json!({"suspend": false})).await;
    let ended = async || {
        kubelet(&cluster).await;
        for pod in cluster.all(POD).await.iter().filter(|it| !is_terminating(it)) {
            if text(pod, "/status/phase") == "Running" {
                cluster.kubelet(pod, "Succeeded").await;
            }
        }
        is_true(&cluster.train_job().await, "Complete").then_some(())
    };
    cluster.until("the end", ended).await;
}
