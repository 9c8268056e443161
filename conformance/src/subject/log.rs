//! The log of a subject in this process: what it tells by `tracing`, in a file of its own, with the
//! time of its cluster. What runs beside it in this process tells nothing there.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dispatch_contract::Clock;
use tracing::Dispatch;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

/// What a subject logs, unless `RUST_LOG` says otherwise.
const LEVELS: &str = "info,dispatch_admission=debug,dispatch_adapter=debug";

/// What of all that a subject tells is logged, whether it is a process of its own or not.
pub fn filter() -> EnvFilter {
    EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(LEVELS))
}

/// A log. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Log(Arc<Mutex<BufWriter<File>>>);

impl Log {
    /// Goes on after what is in the file.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = fs_err::OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self(Arc::new(Mutex::new(BufWriter::new(file.into_file())))))
    }

    /// What takes what a subject tells.
    pub(super) fn dispatch(&self, clock: Arc<dyn Clock>) -> Dispatch {
        let log = self.clone();
        let told = tracing_subscriber::fmt().with_env_filter(filter()).with_ansi(false);
        let told = told.with_timer(Time(clock)).with_writer(move || log.clone());
        told.finish().into()
    }

    fn lock(&self) -> MutexGuard<'_, BufWriter<File>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lock().flush()
    }
}

/// The time of a cluster.
struct Time(Arc<dyn Clock>);

impl FormatTime for Time {
    fn format_time(&self, writer: &mut Writer<'_>) -> std::fmt::Result {
        write!(writer, "{:.6}", self.0.now())
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    struct Still;

    impl Clock for Still {
        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH
        }
    }

    #[test]
    fn each_subject_has_its_own_log_in_the_time_of_its_cluster() {
        let folder = tempfile::tempdir().unwrap();
        let logs = ["one", "other"].map(|name| {
            let path = folder.path().join(name);
            let mut log = Log::open(&path).unwrap();
            tracing::dispatcher::with_default(&log.dispatch(Arc::new(Still)), || {
                tracing::info!("told by {name}");
                tracing::debug!("of no interest");
            });
            log.flush().unwrap();
            fs_err::read_to_string(path).unwrap()
        });
        insta::assert_snapshot!(logs.concat(), @"
        1970-01-01T00:00:00.000000Z  INFO dispatch_conformance::subject::log::tests: told by one
        1970-01-01T00:00:00.000000Z  INFO dispatch_conformance::subject::log::tests: told by other
        ");
    }
}
