//! The image that the controller is containers of: there before anything is played, and nothing of it left
//! when all has ended, however it ends.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::Asked;
use crate::cli::play::code_of;
use crate::cli::remove_containers;
use crate::cli::terminal::{complain, say};
use crate::cluster::local::guard::THIS_PROGRAM;
use crate::exit_code::ExitCode;
use crate::run::Interrupts;
use crate::subject::Image;

/// How long it may take to look that nothing is left.
const LIMIT: Duration = Duration::from_secs(30);

/// A process that removes what is left of the run's containers once this process is gone, or says so.
pub(super) struct Sweeper(Child);

/// Readies the image that was asked for, if one was.
pub(super) async fn ready(
    asked: &mut Asked,
    interrupts: &Interrupts,
) -> Result<Option<Sweeper>, ExitCode> {
    let Some(name) = asked.controller_image.take() else { return Ok(None) };
    let mut interrupts = interrupts.clone();
    let ready = tokio::select! {
        ready = Image::ready(name, &asked.run) => ready,
        interruption = interrupts.next() => {
            say("interrupted: nothing was played");
            return Err(code_of(interruption));
        }
    };
    let (image, removed) = ready.map_err(|error| {
        let code = error.exit_code();
        complain(error);
        code
    })?;
    for name in removed {
        say(&format!("removed the container {name}, which a killed run had left"));
    }
    say(&format!("the image {} is {}", image.name(), image.id()));
    asked.subjects.controller_image = Some(image);
    Sweeper::start(&asked.run).map(Some)
}

impl Sweeper {
    fn start(run: &str) -> Result<Self, ExitCode> {
        let mut command = Command::new(THIS_PROGRAM);
        command.args([remove_containers::SUBCOMMAND, "--run", run]).stdin(Stdio::piped());
        command.stdout(Stdio::null());
        // A Ctrl-C at the terminal is not for it.
        command.process_group(0);
        command.spawn().map(Self).map_err(|error| {
            say(&format!("error: cannot start what looks after containers: {error}"));
            ExitCode::SuiteFault
        })
    }

    /// Returns when nothing is left.
    pub(super) async fn sweep(mut self) {
        drop(self.0.stdin.take());
        if timeout(LIMIT, self.0.wait()).await.is_err() {
            say("left behind, perhaps: containers of this run; the engine does not answer");
        }
    }
}
