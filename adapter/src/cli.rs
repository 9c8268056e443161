//! The command line: each call of the adapter, for people and scripts.

use std::io::{IsTerminal, Read};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use dispatch_contract::{
    CallError, Entropy, ErrorKind, ObjectName, OsEntropy, RuntimeRef, StartRequest,
};
use tracing_subscriber::EnvFilter;

use crate::error::fail;
use crate::{Adapter, Preflight, connect, serve, yaml};

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
    match run(&arguments).await {
        Ok(answer) => {
            output.answer(&answer);
            if answer.is_failure() { ExitCode::from(FAILED) } else { ExitCode::SUCCESS }
        }
        Err(Failure::Call(error)) => {
            output.error(&error);
            ExitCode::from(FAILED)
        }
        Err(Failure::Usage(why)) => {
            output.error(&fail(ErrorKind::Invalid, why, &["CA-06"]));
            ExitCode::from(USAGE)
        }
    }
}

/// Why there is no answer.
enum Failure {
    /// What was asked for cannot be understood.
    Usage(String),
    /// The call failed.
    Call(CallError),
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

async fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    Ok(match &arguments.call {
        Call::Start(start) => {
            let request = start_request(start, &OsEntropy).map_err(Failure::Usage)?;
            Answer::Start(proved(arguments).await?.start(&request).await?)
        }
        Call::Open(object) => {
            proved(arguments).await?.open(&object.object()).await?;
            Answer::Open(object.name.clone())
        }
        Call::Status(object) => {
            let answer = connected(arguments).await?.status(&object.object()).await?;
            Answer::Status(object.name.clone(), answer)
        }
        Call::Hold(object) => {
            connected(arguments).await?.hold(&object.object()).await?;
            Answer::Hold(object.name.clone())
        }
        Call::Release(object) => {
            let answer = proved(arguments).await?.release(&object.object()).await?;
            Answer::Release(object.name.clone(), answer)
        }
        Call::Stop(object) => {
            let answer = connected(arguments).await?.stop(&object.object()).await?;
            Answer::Stop(object.name.clone(), answer)
        }
        Call::List => Answer::List(connected(arguments).await?.list().await?),
        Call::Preflight => Answer::Preflight(connected(arguments).await?.preflight().await?),
        Call::Serve => {
            configuration::none(arguments).map_err(Failure::Usage)?;
            serve::on_standard_streams(connect).await
        }
        Call::Manifests => Answer::Manifests,
    })
}

async fn connected(arguments: &Arguments) -> Result<Adapter, Failure> {
    let config = configuration::load(arguments).map_err(Failure::Usage)?;
    Ok(connect(config).await?)
}

/// An adapter that may start something: one whose gate was proved, unless that is assumed (PF-02).
async fn proved(arguments: &Arguments) -> Result<Adapter, Failure> {
    let adapter = connected(arguments).await?;
    if adapter.config().preflight == Preflight::Required {
        tracing::info!("preflight: a closed probe is watched for 10 s before anything is started");
        adapter.preflight().await?;
    }
    Ok(adapter)
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
}
