//! The tiny program that every child is started through, so that none outlives the supervisor.
//!
//! The kernel ends a process when its parent dies only if that process asks for it
//! (`PR_SET_PDEATHSIG`), and it has to ask between fork and exec. Doing that in the parent's
//! `pre_exec` would need `unsafe`; a program of its own that asks, and then becomes the child by
//! exec, does not. The wish survives exec, and holds even if the supervisor gets SIGKILL.
//!
//! The signal follows the parent's *thread*: the supervisor starts children from its main thread
//! only.

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Gid, Pid, Uid, getppid};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Exit code of the guard when the program is not found, as shells have it.
pub const NOT_FOUND: i32 = 127;
/// Exit code of the guard when it cannot prepare the program.
pub const NOT_PREPARED: i32 = 126;

/// This very program: the same file even if the one on disk was replaced meanwhile.
pub const THIS_PROGRAM: &str = "/proc/self/exe";

/// The hidden subcommand's name.
pub const SUBCOMMAND: &str = "guard";

/// What the guard is told.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct Arguments {
    /// The process to die with.
    #[arg(long)]
    parent: i32,
    /// Stay, and end the program's whole process group when the parent dies.
    #[arg(long)]
    group: bool,
    /// Show this folder as /etc to the program, and to nobody else.
    #[arg(long)]
    etc: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(last = true, required = true)]
    program: Vec<OsString>,
}

/// A command that becomes `program` and dies with this process. `etc`, if given, is a folder
/// made by [`prepare_etc`].
pub fn single(program: &Path, etc: Option<&Path>) -> tokio::process::Command {
    let mut command = guard_of(Path::new(THIS_PROGRAM));
    if let Some(etc) = etc {
        command.arg("--etc").arg(etc);
    }
    command.arg("--").arg(program);
    command.into()
}

/// A command that becomes a program of others, started by `suite`, this program or a copy of it, and dies
/// with this process.
pub fn others(suite: &Path, program: &Path) -> tokio::process::Command {
    let mut command = guard_of(suite);
    command.arg("--").arg(program);
    command.into()
}

/// A command that becomes `suite`, this program or a copy of it, and dies with this process.
pub fn again(suite: &Path) -> tokio::process::Command {
    let mut command = guard_of(suite);
    command.args(["--", THIS_PROGRAM]);
    command.into()
}

/// A command that runs `program` in a process group of its own, which is ended whole when this
/// process dies. For programs that start others, such as `go build`.
pub fn group(program: impl AsRef<OsStr>) -> tokio::process::Command {
    let mut command = guard_of(Path::new(THIS_PROGRAM));
    command.args(["--group", "--"]).arg(program);
    command.into()
}

/// Starts this program, or a copy of it, as the guard.
fn guard_of(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg(SUBCOMMAND).arg(format!("--parent={}", std::process::id()));
    command
}

/// Runs the guard. Returns only if the program could not be started, or with `--group`, when it
/// has ended.
pub fn main(arguments: &Arguments) -> std::process::ExitCode {
    let code = match guard(arguments) {
        Ok(code) => code,
        Err(error) => {
            complain(&format!("guard: {error}"));
            match error.kind() {
                io::ErrorKind::NotFound => NOT_FOUND,
                _ => NOT_PREPARED,
            }
        }
    };
    u8::try_from(code).unwrap_or(1).into()
}

fn guard(arguments: &Arguments) -> io::Result<i32> {
    let (program, rest) = arguments
        .program
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no program"))?;
    if arguments.group {
        // Through a second guard, so that the program dies with this one.
        let mut command = guard_of(Path::new(THIS_PROGRAM));
        command.arg("--").args(&arguments.program);
        return watch_group(command, arguments.parent);
    }
    let mut command = Command::new(program);
    command.args(rest);
    // Before the death signal is asked for: a change of credentials takes it away again.
    if let Some(etc) = &arguments.etc {
        show_as_etc(etc).map_err(|error| {
            io::Error::other(format!("cannot make a private mount namespace: {error}"))
        })?;
    }
    die_with(arguments.parent, Signal::SIGKILL)?;
    Err(command.exec())
}

/// Asks for `signal` when the parent dies, and looks whether it has died already.
fn die_with(parent: i32, signal: Signal) -> io::Result<()> {
    set_pdeathsig(signal)?;
    if getppid() == Pid::from_raw(parent) {
        Ok(())
    } else {
        Err(io::Error::other("the process that asked for this is gone"))
    }
}

/// Runs the program as a group, and kills the group when the parent dies or this process is told
/// to end.
fn watch_group(mut command: Command, parent: i32) -> io::Result<i32> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminated = signal(SignalKind::terminate())?;
        let mut interrupted = signal(SignalKind::interrupt())?;
        die_with(parent, Signal::SIGTERM)?;
        command.process_group(0);
        let mut child = tokio::process::Command::from(command).kill_on_drop(true).spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        let status = tokio::select! {
            status = child.wait() => Some(status?),
            _ = terminated.recv() => None,
            _ = interrupted.recv() => None,
        };
        // Also after a normal end: nothing that the program left behind goes on.
        if let Some(group) = group {
            killpg(group, Signal::SIGKILL).ok();
        }
        Ok(status.map_or(143, |s| s.code().unwrap_or_else(|| 128 + s.signal().unwrap_or(0))))
    })
}

/// Makes `folder` look like /etc, with `kueue/metrics/certs` in it besides, and gives the path of
/// the latter.
///
/// Kueue without its own certificate management reads that one fixed path, and refuses to start
/// without it. The folder gets a link for each entry of the real /etc, through a second view of
/// it, so nothing is copied and nothing is hidden. Links among the entries are copied as they
/// are, since a relative one would lead elsewhere from another folder.
pub(super) fn prepare_etc(folder: &Path) -> io::Result<PathBuf> {
    let certificates = folder.join("kueue/metrics/certs");
    fs_err::create_dir_all(&certificates)?;
    fs_err::create_dir_all(real_etc(folder))?;
    for entry in fs_err::read_dir("/etc")? {
        let entry = entry?;
        if entry.file_name() == "kueue" {
            continue;
        }
        let target = if entry.file_type()?.is_symlink() {
            fs_err::read_link(entry.path())?
        } else {
            real_etc(folder).join(entry.file_name())
        };
        fs_err::os::unix::fs::symlink(target, folder.join(entry.file_name()))?;
    }
    Ok(certificates)
}

/// Where the real /etc can be seen once `folder` is mounted over it.
fn real_etc(folder: &Path) -> PathBuf {
    folder.with_added_extension("real")
}

/// Mounts `folder` over /etc in a mount namespace of this process's own.
fn show_as_etc(folder: &Path) -> io::Result<()> {
    let (uid, gid) = (Uid::effective(), Gid::effective());
    match unshare(CloneFlags::CLONE_NEWNS) {
        Ok(()) => {}
        // Not allowed to: in a user namespace, where this user keeps its id, it is.
        Err(Errno::EPERM) => {
            unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)?;
            fs_err::write("/proc/self/setgroups", "deny")?;
            fs_err::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
            fs_err::write("/proc/self/gid_map", format!("{gid} {gid} 1"))?;
        }
        Err(error) => return Err(error.into()),
    }
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    let bind = MsFlags::MS_BIND | MsFlags::MS_REC;
    mount(Some("/etc"), &real_etc(folder), none, bind, none)?;
    mount(Some(folder), "/etc", none, bind, none)?;
    Ok(())
}

#[expect(clippy::print_stderr, reason = "the guard's stderr is the log of the program it starts")]
fn complain(text: &str) {
    eprintln!("{text}");
}
