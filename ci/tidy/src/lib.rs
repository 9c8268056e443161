//! What holds for the tree as a whole, as pure checks of one file's text each; `tests/tree.rs`
//! applies them to every file of the repository.

mod workflows;

pub use workflows::{action_file, workflow_file};

/// The most lines that a function may have.
pub const FUNCTION_LINES: usize = 100;

/// The most lines that a Rust file may have.
pub const FILE_LINES: usize = 600;

/// Words that say that something is unfinished. In two parts, so that this file passes.
const UNFINISHED: [&str; 4] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
];

/// Module names under which anything could be found.
const NAMELESS: [&str; 6] = ["utils", "util", "common", "helpers", "misc", "mod"];

/// What is wrong with a Rust file, one sentence each.
pub fn rust_file(path: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let lines = text.lines().count();
    if lines > FILE_LINES {
        faults.push(format!("{path} has {lines} lines; split it below {FILE_LINES}"));
    }
    for (line, name, length) in long_functions(text) {
        faults
            .push(format!("{path}:{line}: fn {name} has {length} lines; at most {FUNCTION_LINES}"));
    }
    for (index, line) in text.lines().enumerate() {
        if let Some(word) = UNFINISHED.iter().find(|word| line.contains(**word)) {
            faults.push(format!("{path}:{}: `{word}` is left", index + 1));
        }
    }
    let stem = path.rsplit('/').next().and_then(|name| name.strip_suffix(".rs"));
    if let Some(name) = stem.filter(|stem| NAMELESS.contains(stem)) {
        faults.push(format!("{path}: name it after what is in it, not `{name}`"));
    }
    faults
}

/// The functions of more than [`FUNCTION_LINES`] lines: line, name, length. Relies on rustfmt: a
/// function ends at the first closing brace that stands as far in as its first line.
fn long_functions(text: &str) -> Vec<(usize, String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        let is_end = |line: &&str| line.strip_prefix(indent).is_some_and(|rest| rest == "}");
        let Some(length) = lines[start..].iter().position(is_end) else { continue };
        if length + 1 > FUNCTION_LINES {
            found.push((start + 1, name.to_owned(), length + 1));
        }
    }
    found
}

fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.trim_start().split_once("fn ")?;
    let qualifiers = ["pub", "pub(crate)", "pub(super)", "async", "const", "unsafe", "extern"];
    let is_item = before.split_whitespace().all(|word| qualifiers.contains(&word));
    // A declaration that ends on its line has no body to measure.
    let has_body = !line.trim_end().ends_with([';', '}']);
    (is_item && has_body).then(|| after.split(['(', '<']).next().unwrap_or_default())
}

/// What is wrong with a Markdown file.
pub fn markdown_file(path: &str, text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut titles = 0;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        titles += usize::from(!fenced && line.starts_with("# "));
    }
    let fault = format!("{path} has {titles} first-level headings; give it one");
    if titles == 1 { Vec::new() } else { vec![fault] }
}

/// The licences that a dependency may have: one of these has to do for each `AND` part.
const LICENCES: [&str; 8] = [
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "MIT",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
];

/// Licences of data that is taken as it is: crate and licence.
const EXCEPTIONS: [(&str, &str); 1] = [("webpki-root-certs", "CDLA-Permissive-2.0")];

/// Whether a crate's licence expression is one that the project takes.
pub fn takes_licence(krate: &str, expression: &str) -> bool {
    if EXCEPTIONS.contains(&(krate, expression)) {
        return true;
    }
    let plain = expression.replace(['(', ')'], " ").replace('/', " OR ");
    plain
        .split(" AND ")
        .all(|part| part.split(" OR ").any(|licence| LICENCES.contains(&licence.trim())))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn a_function_that_is_too_long_is_found_with_its_line_and_name() {
        let body = "        step();\n".repeat(FUNCTION_LINES);
        let text = format!("impl A {{\n    pub async fn long<T>(a: T) {{\n{body}    }}\n}}\n");
        let faults = rust_file("a/b.rs", &text);
        assert_eq!(faults, ["a/b.rs:2: fn long has 102 lines; at most 100"]);
    }

    #[test]
    fn a_file_that_is_too_long_is_found() {
        let faults = rust_file("a/b.rs", &"// x\n".repeat(FILE_LINES + 1));
        assert_eq!(faults, ["a/b.rs has 601 lines; split it below 600"]);
    }

    #[rstest]
    #[case::marker("a/b.rs", concat!("// TO", "DO: later\n"))]
    #[case::nameless("a/utils.rs", "")]
    #[case::old_layout("a/mod.rs", "")]
    fn a_fault_is_found(#[case] path: &str, #[case] text: &str) {
        assert_eq!(rust_file(path, text).len(), 1);
    }

    #[rstest]
    #[case::none("text\n", 1)]
    #[case::one("# a\n\n## b\n", 0)]
    #[case::two("# a\n# b\n", 1)]
    #[case::a_comment_in_code("# a\n```sh\n# b\n```\n", 0)]
    fn a_document_has_one_title(#[case] text: &str, #[case] faults: usize) {
        assert_eq!(markdown_file("a.md", text).len(), faults);
    }

    #[rstest]
    #[case::either("MIT OR Apache-2.0", true)]
    #[case::old_spelling("MIT/Apache-2.0", true)]
    #[case::one_of_them("MIT OR GPL-3.0", true)]
    #[case::both_needed("MIT AND GPL-3.0", false)]
    #[case::nested("(MIT OR Apache-2.0) AND Unicode-3.0", true)]
    #[case::copyleft("GPL-3.0", false)]
    #[case::unknown("", false)]
    fn a_licence_is_taken_or_not(#[case] expression: &str, #[case] taken: bool) {
        assert_eq!(takes_licence("some-crate", expression), taken);
    }
}
