//! A program of others, as it is given on the command line.

use std::env;
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use thiserror::Error;

/// A program that exists, and its arguments: words as a shell takes them, with quotes and backslashes, and
/// without variables and wildcards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// As it was given.
    text: String,
    program: PathBuf,
    arguments: Vec<String>,
}

/// A command line cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum CommandLineError {
    /// A quote is not closed, or a backslash ends it.
    #[error("a quote is not closed, or it ends with a backslash")]
    Unclosed,
    /// It has no word.
    #[error("it names no program")]
    Empty,
    /// There is no such file, or it cannot be executed.
    #[error("{0} is no program: it is not there, or it is not executable")]
    NoProgram(String),
    /// No folder of PATH has it.
    #[error("no folder of PATH has the program {0}; give its path")]
    NotInPath(String),
}

impl CommandLine {
    /// The program's file.
    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    /// What follows it.
    pub(super) fn arguments(&self) -> &[String] {
        &self.arguments
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl FromStr for CommandLine {
    type Err = CommandLineError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut words = shlex::split(text).ok_or(CommandLineError::Unclosed)?.into_iter();
        let name = words.next().filter(|name| !name.is_empty()).ok_or(CommandLineError::Empty)?;
        let program = find(&name)?;
        Ok(Self { text: text.to_owned(), program, arguments: words.collect() })
    }
}

/// The file that a shell would execute.
fn find(name: &str) -> Result<PathBuf, CommandLineError> {
    if name.contains('/') {
        let no_program = || CommandLineError::NoProgram(name.to_owned());
        return executable(Path::new(name)).ok_or_else(no_program);
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&folders).find_map(|folder| executable(&folder.join(name)));
    found.ok_or_else(|| CommandLineError::NotInPath(name.to_owned()))
}

/// The file from the root, if it can be executed. A link stays one: programs may go by their own name.
fn executable(path: &Path) -> Option<PathBuf> {
    let found = fs_err::metadata(path).ok()?;
    let is_program = found.is_file() && found.permissions().mode() & 0o111 != 0;
    is_program.then(|| std::path::absolute(path).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn words_are_taken_as_a_shell_takes_them() {
        let line: CommandLine = "sh -c 'exec sleep 1' \"$HOME\"".parse().unwrap();
        assert!(line.program().ends_with("sh") && line.program().is_absolute());
        assert_eq!(line.arguments(), ["-c", "exec sleep 1", "$HOME"]);
        assert_eq!(line.to_string(), "sh -c 'exec sleep 1' \"$HOME\"");
    }

    #[rstest]
    #[case::of_nothing(" ", CommandLineError::Empty)]
    #[case::of_an_empty_word("''", CommandLineError::Empty)]
    #[case::unclosed("sh 'x", CommandLineError::Unclosed)]
    #[case::nowhere("./not-there", CommandLineError::NoProgram("./not-there".to_owned()))]
    #[case::a_folder("/tmp", CommandLineError::NoProgram("/tmp".to_owned()))]
    #[case::not_in_path("not-there-at-all", CommandLineError::NotInPath("not-there-at-all".to_owned()))]
    fn one_without_a_program_is_refused(#[case] text: &str, #[case] why: CommandLineError) {
        assert_eq!(text.parse::<CommandLine>(), Err(why));
    }
}
