//! How the command ends.

/// The exit codes of `dispatch-conformance`.
///
/// They are part of the command's interface: scripts and CI jobs branch on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    /// Everything that was judged conforms.
    Conformant = 0,
    /// A rule was broken.
    RuleBroken = 1,
    /// The command line, or a file it names, is wrong.
    Usage = 2,
    /// A verdict could not be reached, or the run is incomplete.
    Inconclusive = 3,
    /// Nothing ran: no scenario was left after filtering.
    NothingRan = 4,
    /// The environment cannot do what is asked: no Go toolchain, a full disk, a cluster that
    /// does not start.
    Environment = 5,
    /// A fault of the suite itself.
    SuiteFault = 6,
    /// Ended by SIGINT, with everything cleaned up.
    Interrupted = 130,
    /// Ended by SIGTERM, with everything cleaned up.
    Terminated = 143,
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::ExitCode;
    use rstest::rstest;

    #[rstest]
    #[case::conformant(ExitCode::Conformant, 0)]
    #[case::rule_broken(ExitCode::RuleBroken, 1)]
    #[case::usage(ExitCode::Usage, 2)]
    #[case::inconclusive(ExitCode::Inconclusive, 3)]
    #[case::nothing_ran(ExitCode::NothingRan, 4)]
    #[case::environment(ExitCode::Environment, 5)]
    #[case::suite_fault(ExitCode::SuiteFault, 6)]
    #[case::interrupted(ExitCode::Interrupted, 130)]
    #[case::terminated(ExitCode::Terminated, 143)]
    fn the_documented_numbers_are_kept(#[case] code: ExitCode, #[case] number: u8) {
        assert_eq!(code as u8, number);
    }
}
