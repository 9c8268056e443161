//! The command line of the controller, as a library: whoever starts the controller in a process of
//! its own takes the same options.

mod options;

use std::future::Future;
use std::io::IsTerminal;

use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

pub use options::{LogFormat, Options};

/// What is logged unless `RUST_LOG` says otherwise. kube-runtime's spans would say again what the
/// controller's own say.
const DEFAULT: &str = "info,kube_runtime=warn";

/// Sends the log to standard error: `info` and above, unless `RUST_LOG` says otherwise.
pub fn log(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(DEFAULT));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    // A process that has a log already keeps it.
    let _ = match format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().try_init(),
    };
}

/// Ends at SIGTERM or SIGINT.
pub fn shutdown() -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
