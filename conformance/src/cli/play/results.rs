//! The folder of a run's results.

use std::error::Error;
use std::io;
use std::path::Path;

use crate::cli::terminal::{print, say};
use crate::exit_code::ExitCode;

/// Makes the folder for the results, and makes sure that it can be written to.
pub(in crate::cli) fn writable(folder: &Path) -> Result<(), ExitCode> {
    let probe = folder.join(".writable");
    let tried =
        fs_err::create_dir_all(folder).and_then(|()| fs_err::write(&probe, b".")).and_then(|()| {
            match fs_err::remove_file(&probe) {
                // Another shard, with the same folder, did.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                removed => removed,
            }
        });
    tried.map_err(|error| {
        say(&format!("error: the results cannot be written: {error}"));
        say("name another folder with --report");
        ExitCode::Environment
    })
}

/// Writes a report, and says where it is. Gives how the command ends, which ended as `found`.
pub(in crate::cli) fn keep(
    file: &Path,
    report: Result<String, impl Error + Send + Sync + 'static>,
    found: ExitCode,
) -> ExitCode {
    let written = report.map_err(io::Error::other).and_then(|report| fs_err::write(file, report));
    match written {
        Ok(()) => {
            print(&format!("report: {}", file.display()));
            found
        }
        Err(error) => {
            say(&format!("error: the report cannot be written: {error}"));
            // A broken rule stays the answer; the lost report must not hide it.
            match found {
                ExitCode::Conformant | ExitCode::Inconclusive => ExitCode::Environment,
                found => found,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn kept(file: &Path, found: ExitCode) -> ExitCode {
        keep(file, Ok::<_, io::Error>("report".to_owned()), found)
    }

    #[rstest]
    #[case::passed(ExitCode::Conformant, ExitCode::Environment)]
    #[case::open(ExitCode::Inconclusive, ExitCode::Environment)]
    #[case::broken(ExitCode::RuleBroken, ExitCode::RuleBroken)]
    #[case::interrupted(ExitCode::Interrupted, ExitCode::Interrupted)]
    fn a_report_that_is_lost_does_not_hide_what_was_found(
        #[case] found: ExitCode,
        #[case] expected: ExitCode,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("no-such-folder/junit.xml");
        assert_eq!(kept(&file, found), expected);
    }

    #[test]
    fn a_report_is_written_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("junit.xml");
        assert_eq!(kept(&file, ExitCode::RuleBroken), ExitCode::RuleBroken);
        assert_eq!(fs_err::read_to_string(&file).unwrap(), "report");
    }
}
