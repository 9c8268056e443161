//! What the embedded cluster costs: requests through the in-process client, and whole scenarios, beside
//! a peer that every machine has, which reads and writes the same object as JSON.

#![expect(clippy::print_stdout, reason = "the figures are its result")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on fails")]

use std::process::Command;

use dispatch_conformance::cluster::simulated::Simulated;
use divan::{Bencher, black_box};
use k8s_openapi::api::batch::v1::Job;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

fn main() {
    divan::main();
    println!("memory of this process at its most: {}", peak().unwrap_or_default());
}

/// The most memory that this process had, as the kernel tells it.
fn peak() -> Option<String> {
    let status = fs_err::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().to_owned())
}

/// A cluster with a suspended Job, so that no controller has anything to do.
struct Quiet {
    runtime: Runtime,
    jobs: Api<Job>,
    _cluster: Simulated,
}

impl Quiet {
    fn new() -> Self {
        let runtime =
            Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let (cluster, jobs) = runtime.block_on(async {
            let cluster = Simulated::start(0, "quiet");
            let jobs: Api<Job> = Api::namespaced(cluster.client(), "default");
            let job = serde_json::from_value(job("quiet")).unwrap();
            jobs.create(&PostParams::default(), &job).await.unwrap();
            (cluster, jobs)
        });
        Self { runtime, jobs, _cluster: cluster }
    }
}

fn job(name: &str) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "default"},
        "spec": {"suspend": true, "template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "node", "image": "none"}],
        }}},
    })
}

#[divan::bench]
fn peer_reads_and_writes_json(bencher: Bencher<'_, '_>) {
    let quiet = Quiet::new();
    let job = quiet.runtime.block_on(quiet.jobs.get("quiet")).unwrap();
    let text = serde_json::to_string(&job).unwrap();
    bencher.bench_local(|| {
        let value: Value = serde_json::from_str(black_box(&text)).unwrap();
        value.to_string()
    });
}

#[divan::bench]
fn get(bencher: Bencher<'_, '_>) {
    let quiet = Quiet::new();
    bencher.bench_local(|| quiet.runtime.block_on(quiet.jobs.get("quiet")).unwrap());
}

#[divan::bench]
fn merge_patch(bencher: Bencher<'_, '_>) {
    let quiet = Quiet::new();
    let mut number = 0;
    bencher.bench_local(|| {
        number += 1;
        let patch = json!({"metadata": {"annotations": {"number": number.to_string()}}});
        let (by, patch) = (PatchParams::default(), Patch::Merge(patch));
        let patched = quiet.jobs.patch("quiet", &by, &patch);
        quiet.runtime.block_on(patched).unwrap()
    });
}

#[divan::bench]
fn apply(bencher: Bencher<'_, '_>) {
    let quiet = Quiet::new();
    let mut number = 0;
    bencher.bench_local(|| {
        number += 1;
        let patch = Patch::Apply(json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "quiet", "annotations": {"number": number.to_string()}},
        }));
        let by = PatchParams::apply("bench").force();
        let patched = quiet.jobs.patch("quiet", &by, &patch);
        quiet.runtime.block_on(patched).unwrap()
    });
}

#[divan::bench(sample_count = 10, args = ["start-gate/first-execution", "readmission/preemption-mid-execution"])]
fn scenario(bencher: Bencher<'_, '_>, id: &str) {
    let report = tempfile::tempdir().unwrap();
    let mut number = 0;
    bencher.bench_local(|| {
        number += 1;
        let folder = report.path().join(number.to_string());
        let mut command = Command::new(env!("CARGO_BIN_EXE_dispatch-conformance"));
        let output = command.args(["run", id, "--report"]).arg(folder).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    });
}
