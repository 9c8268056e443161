//! From a file's bytes to a scenario, or to everything that is wrong with them.

use std::path::{Path, PathBuf};

use serde_saphyr::{Error as YamlError, Location};
use sha2::{Digest, Sha256};

use super::file::ScenarioFile;
use super::problem::{Problem, Refusal, did_you_mean};
use super::{Place, Scenario, plan};

/// The largest scenario file that is read, in bytes.
const LARGEST_FILE: u64 = 256 * 1024;

/// Why scenarios could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file or folder cannot be read.
    #[error("a scenario cannot be read")]
    Unreadable(#[source] std::io::Error),
    /// A file is larger than any scenario.
    #[error("{} has {bytes} bytes; a scenario has at most {LARGEST_FILE}", file.display())]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// Files say something that is no scenario.
    #[error("{}", lines(.0))]
    Refused(Vec<Refusal>),
    /// The folder has no scenario.
    #[error("there is no scenario under {}; expected <family>/<name>.yaml", .0.display())]
    NothingThere(PathBuf),
}

fn lines(refusals: &[Refusal]) -> String {
    refusals.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Reads a scenario. `file` is how messages name it, `id` its path under `scenarios/` without
/// extension.
pub fn parse(id: &str, file: &str, text: &str) -> Result<Scenario, Box<Refusal>> {
    let refuse = |problems| {
        Box::new(Refusal { file: file.to_owned(), source_text: text.to_owned(), problems })
    };
    let written: ScenarioFile = serde_saphyr::from_str_with_options(text, options())
        .map_err(|error| refuse(vec![problem(&error)]))?;
    let mut scenario = plan::check(&written, text).map_err(refuse)?;
    id.clone_into(&mut scenario.id);
    scenario.digest = digest(text.as_bytes());
    Ok(scenario)
}

/// SHA-256 of a file's bytes, in lower-case hexadecimal.
fn digest(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// Reads every scenario under a folder, in the order of their ids. Folders whose name begins with
/// an underscore hold no scenarios.
pub fn load_folder(folder: &Path) -> Result<Vec<Scenario>, LoadError> {
    let mut files = Vec::new();
    find(folder, folder, &mut files).map_err(LoadError::Unreadable)?;
    if files.is_empty() {
        return Err(LoadError::NothingThere(folder.to_owned()));
    }
    files.sort();
    let mut sources = Vec::new();
    for (id, path) in files {
        let bytes = fs_err::metadata(&path).map_err(LoadError::Unreadable)?.len();
        if bytes > LARGEST_FILE {
            return Err(LoadError::TooLarge { file: path, bytes });
        }
        let text = fs_err::read_to_string(&path).map_err(LoadError::Unreadable)?;
        sources.push((id, path.display().to_string(), text));
    }
    parse_all(sources.iter().map(|(id, file, text)| (id.as_str(), file.as_str(), text.as_str())))
}

/// Reads scenarios from their ids, files and texts, and gathers what is wrong with any of them.
pub(super) fn parse_all<'a>(
    sources: impl Iterator<Item = (&'a str, &'a str, &'a str)>,
) -> Result<Vec<Scenario>, LoadError> {
    let (mut scenarios, mut refusals) = (Vec::new(), Vec::new());
    for (id, file, text) in sources {
        match parse(id, file, text) {
            Ok(scenario) => scenarios.push(scenario),
            Err(refusal) => refusals.push(*refusal),
        }
    }
    if refusals.is_empty() { Ok(scenarios) } else { Err(LoadError::Refused(refusals)) }
}

/// The scenario files under a folder, as id and path.
fn find(root: &Path, folder: &Path, files: &mut Vec<(String, PathBuf)>) -> std::io::Result<()> {
    for entry in fs_err::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with(['_', '.']);
        if entry.file_type()?.is_dir() && !hidden {
            find(root, &path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "yaml") && !hidden {
            let id = path.strip_prefix(root).unwrap_or(&path).with_extension("");
            files.push((id.to_string_lossy().replace('\\', "/"), path));
        }
    }
    Ok(())
}

/// Plain YAML alone: no anchors, no bare words that become booleans, no numbers that lose digits.
pub(super) fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        budget: serde_saphyr::budget! { max_aliases: 0, max_anchors: 0, max_depth: 32 },
    }
}

impl From<Location> for Place {
    fn from(location: Location) -> Self {
        let count = |number| usize::try_from(number).unwrap_or(usize::MAX);
        Self { line: count(location.line()).max(1), column: count(location.column()).max(1) }
    }
}

/// A fault of the YAML, or of its shape, in our words.
fn problem(error: &YamlError) -> Problem {
    let place = error.location().map_or(Place { line: 1, column: 1 }, Place::from);
    match error.without_snippet() {
        YamlError::SerdeUnknownField { field, expected, .. } => {
            let problem = Problem::new(place, format!("there is no key `{field}` here"));
            problem.hint(near_or_all(field, expected))
        }
        YamlError::SerdeUnknownVariant { variant, expected, .. } => {
            let problem = Problem::new(place, format!("`{variant}` is none of the words for this"));
            problem.hint(near_or_all(variant, expected))
        }
        YamlError::SerdeMissingField { field, .. } => {
            let problem = Problem::new(place, format!("the key `{field}` is missing"));
            problem.hint(why_needed(field))
        }
        YamlError::DuplicateMappingKey { key, .. } => {
            let key = key.as_deref().unwrap_or("a key");
            let problem = Problem::new(place, format!("`{key}` is given twice"));
            problem.hint("keep one of them")
        }
        YamlError::ExpectedMappingEndAfterEnumVariantValue { .. } => {
            let problem = Problem::new(place, "a step is one word with what belongs to it");
            problem.hint("begin another step with `- `, or indent what belongs to this one")
        }
        YamlError::InvalidScalar { ty, .. } => Problem::new(place, expected(ty)),
        YamlError::InvalidBooleanStrict { .. } => Problem::new(place, expected("bool"))
            .hint("write the word out; `yes` and `no` are texts"),
        YamlError::Budget { .. } => Problem::new(place, "this is more than plain YAML")
            .hint("anchors, aliases and deep nesting are not taken"),
        other => Problem::new(place, without_place(&other.to_string())),
    }
}

/// The nearest of the words, or all of them.
fn near_or_all(word: &str, expected: &[&'static str]) -> String {
    did_you_mean(word, expected.iter().copied())
        .unwrap_or_else(|| format!("expected one of {}", expected.join(", ")))
}

/// What a value of a type looks like, in the words of somebody who writes a scenario.
fn expected(ty: &str) -> String {
    match ty {
        "u32" => "expected a whole number".to_owned(),
        "bool" => "expected `true` or `false`".to_owned(),
        other => format!("expected a value of the type {other}"),
    }
}

fn why_needed(field: &str) -> &'static str {
    match field {
        "witness" => "the witness says what must be found in the history for the verdict to count",
        "why" => "say why the scenario is worth playing",
        "proves" => "name the rules that it proves, such as `proves: [EX-01]`",
        "given" => {
            "such as `given: { mode: kueue, queue: { cpu: 4 }, controller: { replicas: 1 } }`"
        }
        "identity" => "write `identity: increasing`: it is what the line claims",
        "cpu" => "say how many CPUs, such as `cpu: 1`",
        _ => "add it",
    }
}

/// The parser's message without its own mention of the place, which is shown beside it.
fn without_place(message: &str) -> String {
    let message = message.split(" at line ").next().unwrap_or(message);
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let at = message.find(": ").filter(|_| message.starts_with("line ")).map_or(0, |at| at + 2);
    message[at..].trim().to_owned()
}
