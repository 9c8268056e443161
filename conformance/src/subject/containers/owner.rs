//! Whose a container is: what marks it, so that the next run finds what a killed one has left, and
//! nothing else.

use std::path::Path;

use crate::cluster::local::ProcessId;

/// The label that says whose a container is.
pub(super) const OWNER: &str = "dispatch-conformance.owner";

/// The label that says of which run.
pub(super) const RUN: &str = "dispatch-conformance.run";

/// A process of this machine, also where several do not see each other's processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    /// Since when the machine runs, and which of its processes can be seen from the owner.
    sight: String,
    process: ProcessId,
}

impl Owner {
    /// This process.
    pub(super) fn this() -> std::io::Result<Self> {
        let boot = fs_err::read_to_string("/proc/sys/kernel/random/boot_id")?;
        let processes = fs_err::read_link("/proc/self/ns/pid")?;
        let sight = sight(boot.trim(), &processes);
        let process = ProcessId::of(std::process::id()).ok_or(std::io::ErrorKind::NotFound)?;
        Ok(Self { sight, process })
    }

    /// Whether this is of a process that is gone, as far as `seen_by` can see.
    pub(super) fn is_gone(&self, seen_by: &Self) -> bool {
        self.sight == seen_by.sight && !self.process.alive()
    }

    /// What a label says.
    pub(super) fn parse(label: &str) -> Option<Self> {
        let mut words = label.split('/');
        let (boot, processes) = (words.next()?, words.next()?);
        let (pid, start) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let process = ProcessId { pid, start };
        words.next().is_none().then(|| Self { sight: sight(boot, Path::new(processes)), process })
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { sight, process: ProcessId { pid, start } } = self;
        write!(formatter, "{sight}/{pid}/{start}")
    }
}

fn sight(boot: &str, processes: &Path) -> String {
    format!("{boot}/{}", processes.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_read_as_it_was_written() {
        let this = Owner::this().unwrap();
        assert_eq!(Owner::parse(&this.to_string()), Some(this));
        assert_eq!(Owner::parse("of/somebody/else"), None);
    }

    #[test]
    fn only_one_that_could_be_seen_is_known_to_be_gone() {
        let this = Owner::this().unwrap();
        assert!(!this.is_gone(&this));
        // The same number, given to another process.
        let earlier = ProcessId { start: this.process.start - 1, ..this.process };
        let before = Owner { process: earlier, ..this.clone() };
        assert!(before.is_gone(&this));
        let elsewhere = Owner { sight: "elsewhere/pid:[1]".to_owned(), ..before };
        assert!(!elsewhere.is_gone(&this));
    }
}
