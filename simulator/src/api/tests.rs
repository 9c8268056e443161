//! The server's behaviours, through its HTTP service.

mod access;
mod apply;
mod delete;
mod patch;
mod read;
mod watch;
mod webhooks;
mod write;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bytes::Bytes;
use futures::FutureExt;
use http::Method;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::Service;

use super::{ApiService, Server, Settings, User, Webhook};
use crate::component::ResponseBody;

/// 2026-01-01T00:00:00Z.
const START: i64 = 1_767_225_600;

/// A server, its time, and a client of it.
struct Cluster {
    server: Server,
    time: Arc<AtomicI64>,
    service: ApiService,
}

impl Cluster {
    fn new() -> Self {
        Self::with(Vec::new())
    }

    fn with(webhooks: Vec<Box<dyn Webhook>>) -> Self {
        let time = Arc::new(AtomicI64::new(START));
        let told = Arc::clone(&time);
        let now = move || jiff::Timestamp::from_second(told.load(Ordering::Relaxed)).unwrap();
        let server = Server::new(Settings { seed: 1, now: Arc::new(now), webhooks });
        let service = server.service(User::Administrator);
        Self { server, time, service }
    }

    fn pass(&self, seconds: i64) {
        self.time.fetch_add(seconds, Ordering::Relaxed);
    }

    fn as_token(&self, token: &str) -> Client {
        Client { service: self.server.service(User::OfToken), token: Some(token.to_owned()) }
    }

    fn client(&self) -> Client {
        Client { service: self.service.clone(), token: None }
    }

    fn get(&self, path: &str) -> (u16, Value) {
        self.client().send(Method::GET, path, "", &Value::Null)
    }

    fn object(&self, path: &str) -> Value {
        let (code, object) = self.get(path);
        assert_eq!(code, 200, "{object}");
        object
    }

    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.client().send(Method::POST, path, JSON, body)
    }

    fn created(&self, path: &str, body: &Value) -> Value {
        let (code, object) = self.post(path, body);
        assert_eq!(code, 201, "{object}");
        object
    }

    fn put(&self, path: &str, body: &Value) -> (u16, Value) {
        self.client().send(Method::PUT, path, JSON, body)
    }

    fn merge(&self, path: &str, body: &Value) -> (u16, Value) {
        self.client().send(Method::PATCH, path, "application/merge-patch+json", body)
    }

    fn apply(&self, path: &str, query: &str, body: &Value) -> (u16, Value) {
        let path = format!("{path}?{query}");
        self.client().send(Method::PATCH, &path, "application/apply-patch+yaml", body)
    }

    fn delete(&self, path: &str, body: &Value) -> (u16, Value) {
        self.client().send(Method::DELETE, path, JSON, body)
    }

    fn watch(&self, path: &str) -> Lines {
        self.client().watch(path, "application/json")
    }
}

const JSON: &str = "application/json";

/// Who asks.
struct Client {
    service: ApiService,
    token: Option<String>,
}

impl Client {
    fn send(&self, method: Method, path: &str, content: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = http::Request::builder().method(method).uri(path);
        let request = request.header("content-type", content).header("user-agent", "tester/1.0");
        let (code, body) = self.answer(request, body);
        let bytes = body.collect().now_or_never().unwrap().unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap())
    }

    fn get_as(&self, path: &str, accept: &str) -> (u16, Value) {
        let request = http::Request::builder().uri(path).header("accept", accept);
        let (code, body) = self.answer(request, String::new());
        let bytes = body.collect().now_or_never().unwrap().unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap())
    }

    fn watch(&self, path: &str, accept: &str) -> Lines {
        let request = http::Request::builder().uri(path).header("accept", accept);
        let (code, body) = self.answer(request, String::new());
        assert_eq!(code, 200);
        Lines(body)
    }

    fn answer(&self, request: http::request::Builder, body: String) -> (u16, ResponseBody) {
        let request = match &self.token {
            Some(token) => request.header("authorization", format!("Bearer {token}")),
            None => request,
        };
        let request = request.body(Full::new(Bytes::from(body))).unwrap();
        let answer = self.service.clone().call(request).now_or_never().unwrap().unwrap();
        (answer.status().as_u16(), answer.into_body())
    }
}

/// The lines of a watch.
struct Lines(ResponseBody);

impl Lines {
    async fn next(&mut self) -> Option<Value> {
        let frame = self.0.frame().await?.unwrap().into_data().unwrap();
        Some(serde_json::from_slice(&frame).unwrap())
    }

    /// The kinds and the names of the next events.
    async fn told(&mut self, count: usize) -> Vec<String> {
        let mut all = Vec::new();
        while all.len() < count {
            let event = self.next().await.unwrap();
            let name = event["object"]["metadata"]["name"].as_str().unwrap_or_default();
            all.push(format!("{} {name}", event["type"].as_str().unwrap()));
        }
        all
    }
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const WORKLOADS: &str = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";
const TRAIN_JOBS: &str = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs";

fn at(collection: &str, name: &str) -> String {
    format!("{collection}/{name}")
}

fn map(name: &str, data: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": data},
    })
}

fn labelled(name: &str, label: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"l": label}},
    })
}

fn pod(name: &str, node: Option<&str>) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 7},
    });
    if let Some(node) = node {
        pod["spec"]["nodeName"] = node.into();
    }
    pod
}

fn workload(name: &str) -> Value {
    json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
        "metadata": {"name": name}, "spec": {"active": true},
    })
}

fn version(object: &Value) -> &str {
    object["metadata"]["resourceVersion"].as_str().unwrap()
}

fn message(status: &Value) -> &str {
    status["message"].as_str().unwrap()
}
