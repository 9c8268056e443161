//! The command line: each call of the adapter, for people and scripts.

use std::io::{IsTerminal, Read};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use dispatch_contract::{
    CallError, Entropy, ErrorKind, ObjectName, OsEntropy, RuntimeRef, StartRequest, SystemClock,
};
use dispatch_kubernetes::client::{ClientError, from_environment, from_kubeconfig};
use dispatch_kubernetes::request::chain;
use kube::Client;
use tracing_subscriber::EnvFilter;

use crate::error::fail;
use crate::{Adapter, Config, Preflight, manifests, yaml};

mod arguments;
mod configuration;
mod output;

use arguments::{Arguments, Call, Format, Start};
use output::{Answer, Output};

/// A call failed, or preflight found that nothing may be started.
const FAILED: u8 = 1;

/// The command line, the configuration or the request cannot be understood.
const USAGE: u8 = 2;

/// Runs the command line of this process. Exits with 0 when the call succeeded; 1 when it failed,
/// or when preflight answers that nothing may be started; 2 when the command line, the
/// configuration or the request cannot be understood.
pub async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let filter = EnvFilter::try_new(&arguments.log).unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    let output = Output::new(arguments.output);
    if matches!(arguments.call, Call::Manifests) {
        output.manifests(&manifests::ALL);
        return ExitCode::SUCCESS;
    }
    let prepared = configuration::load(&arguments).and_then(|config| {
        let request = match &arguments.call {
            Call::Start(start) => Some(start_request(start, &OsEntropy)?),
            _ => None,
        };
        Ok((config, request))
    });
    let (config, request) = match prepared {
        Ok(prepared) => prepared,
        Err(why) => return usage(&output, &why),
    };
    match answer(config, &arguments.call, request).await {
        Ok(answer) => {
            let failed = answer.is_failure();
            output.answer(&answer);
            if failed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS }
        }
        Err(error) => {
            output.error(&error);
            ExitCode::from(FAILED)
        }
    }
}

fn usage(output: &Output, why: &str) -> ExitCode {
    output.error(&fail(ErrorKind::Invalid, why, &["CA-06"]));
    ExitCode::from(USAGE)
}

async fn answer(
    config: Config,
    call: &Call,
    request: Option<StartRequest>,
) -> Result<Answer, CallError> {
    let client = client(&config).await?;
    let adapter = Adapter::new(config, client, Arc::new(SystemClock), Arc::new(OsEntropy));
    if starts_something(call) && adapter.config().preflight == Preflight::Required {
        tracing::info!("preflight: a closed probe is watched for 10 s before anything is started");
        adapter.preflight().await?;
    }
    Ok(match call {
        Call::Start(_) => {
            let request = request.unwrap_or_else(|| unreachable!("start has a request"));
            Answer::Start(adapter.start(&request).await?)
        }
        Call::Open(object) => {
            adapter.open(&object.object()).await?;
            Answer::Open(object.name.clone())
        }
        Call::Status(object) => {
            Answer::Status(object.name.clone(), adapter.status(&object.object()).await?)
        }
        Call::Hold(object) => {
            adapter.hold(&object.object()).await?;
            Answer::Hold(object.name.clone())
        }
        Call::Release(object) => {
            Answer::Release(object.name.clone(), adapter.release(&object.object()).await?)
        }
        Call::Stop(object) => {
            Answer::Stop(object.name.clone(), adapter.stop(&object.object()).await?)
        }
        Call::List => Answer::List(adapter.list().await?),
        Call::Preflight => Answer::Preflight(adapter.preflight().await?),
        Call::Manifests => unreachable!("manifests need no cluster"),
    })
}

/// Whether the call is one that needs a proved gate (PF-02).
fn starts_something(call: &Call) -> bool {
    matches!(call, Call::Start(_) | Call::Open(_) | Call::Release(_))
}

async fn client(config: &Config) -> Result<Client, CallError> {
    let client = match &config.kubeconfig {
        Some(path) => from_kubeconfig(path).await,
        None => from_environment().await,
    };
    client.map_err(|error: ClientError| fail(ErrorKind::Unavailable, chain(&error), &[]))
}

/// The request of Start, from its file and its flags; the flags win.
fn start_request(start: &Start, entropy: &dyn Entropy) -> Result<StartRequest, String> {
    let mut request = match &start.file {
        Some(path) => read_request(path)?,
        None => StartRequest {
            name: String::new(),
            runtime_ref: RuntimeRef { kind: None, name: String::new() },
            queue: None,
            priority_class: None,
            labels: [].into(),
            annotations: [].into(),
            trainer: None,
            initializer: None,
            active_deadline_seconds: None,
        },
    };
    if let Some(runtime) = &start.runtime {
        request.runtime_ref.name.clone_from(runtime);
    }
    if start.runtime_kind.is_some() {
        request.runtime_ref.kind.clone_from(&start.runtime_kind);
    }
    if start.job_queue.is_some() {
        request.queue.clone_from(&start.job_queue);
    }
    if start.priority_class.is_some() {
        request.priority_class.clone_from(&start.priority_class);
    }
    request.labels.extend(start.label.iter().cloned());
    request.annotations.extend(start.annotation.iter().cloned());
    if let Some(text) = &start.trainer {
        let trainer = yaml::read(text);
        request.trainer = Some(trainer.map_err(|error| format!("--trainer: {error}"))?);
    }
    if let Some(name) = &start.name {
        request.name.clone_from(name);
    } else if request.name.is_empty() {
        request.name = ObjectName::new(entropy.ulid(), 1).map_or_else(String::new, String::from);
    }
    Ok(request)
}

fn read_request(path: &Path) -> Result<StartRequest, String> {
    let text = if path == Path::new("-") {
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        read.map(|_| text).map_err(|error| format!("cannot read standard input: {error}"))
    } else {
        fs_err::read_to_string(path).map_err(|error| error.to_string())
    }?;
    yaml::read(&text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use ulid::Ulid;

    use super::*;

    struct Fixed;

    impl Entropy for Fixed {
        fn ulid(&self) -> Ulid {
            Ulid(1)
        }
    }

    fn start(arguments: &[&str]) -> Start {
        let all = ["dispatch-adapter", "start"].iter().chain(arguments);
        match Arguments::parse_from(all).call {
            Call::Start(start) => start,
            _ => panic!("not start"),
        }
    }

    #[test]
    fn a_request_can_be_made_of_flags_alone_and_gets_a_fresh_name() {
        let arguments = [
            "--runtime=torch",
            "--label=team=a",
            "--trainer={numNodes: 2, env: [{name: A, value: '1'}]}",
        ];
        let request = start_request(&start(&arguments), &Fixed).unwrap();
        assert_eq!(request.name, "dj-00000000000000000000000001-s1");
        assert_eq!(request.runtime_ref.name, "torch");
        assert_eq!(request.labels["team"], "a");
        assert_eq!(
            request.trainer,
            Some(json!({"numNodes": 2, "env": [{"name": "A", "value": "1"}]}))
        );
    }

    #[test]
    fn flags_win_over_the_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs_err::write(file.path(), "name: x\nruntimeRef: {name: torch}\nqueue: a\n").unwrap();
        let path = format!("--file={}", file.path().display());
        let request = start_request(&start(&[&path, "--job-queue=b"]), &Fixed).unwrap();
        assert_eq!((request.name.as_str(), request.queue.as_deref()), ("x", Some("b")));
    }

    #[test]
    fn a_file_with_an_unknown_key_is_refused_with_its_place() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs_err::write(file.path(), "name: x\nruntimeRef: {name: torch}\nnodes: 2\n").unwrap();
        let path = format!("--file={}", file.path().display());
        let error = start_request(&start(&[&path]), &Fixed).unwrap_err();
        assert!(error.contains("nodes") && error.contains('3'), "{error}");
    }

    #[test]
    fn only_calls_that_start_something_need_a_proved_gate() {
        let call = |arguments: &[&str]| Arguments::parse_from(arguments).call;
        assert!(starts_something(&call(&["x", "open", "n", "--uid=u"])));
        assert!(starts_something(&call(&["x", "release", "n", "--uid=u"])));
        assert!(!starts_something(&call(&["x", "hold", "n", "--uid=u"])));
        assert!(!starts_something(&call(&["x", "stop", "n", "--uid=u"])));
        assert!(!starts_something(&call(&["x", "list"])));
    }
}
