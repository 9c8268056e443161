//! What is wrong with a scenario file, and how it is shown.

use std::fmt::Write as _;

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode,
    SourceOffset, SourceSpan,
};

use super::Place;

/// One thing that is wrong with a scenario file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// What is wrong, as a lowercase fragment.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Problem {
    pub(super) fn new(place: Place, message: impl Into<String>) -> Self {
        Self { place, message: message.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// A scenario file that was refused, with everything that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.lines())]
pub struct Refusal {
    /// The file, as people find it.
    pub file: String,
    /// Its text.
    pub source_text: String,
    /// What is wrong with it; never empty.
    pub problems: Vec<Problem>,
}

impl Refusal {
    /// The problems, one a line: `file:line:column: what; hint`.
    fn lines(&self) -> String {
        let lines: Vec<_> = self.problems.iter().map(|problem| self.line(problem)).collect();
        lines.join("\n")
    }

    fn line(&self, problem: &Problem) -> String {
        let hint = problem.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        format!("{}:{}: {}{hint}", self.file, problem.place, problem.message)
    }

    /// The problems with the lines of the file they are in, for people.
    pub fn render(&self, colours: bool) -> String {
        let theme =
            if colours { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let handler = GraphicalReportHandler::new_themed(theme).with_width(100);
        let mut out = String::new();
        for problem in &self.problems {
            let shown = Shown::new(self, problem);
            if handler.render_report(&mut out, &shown).is_err() {
                // A report that cannot be drawn is still said.
                let _ = writeln!(out, "{}", self.line(problem));
            }
        }
        out
    }
}

/// A problem as miette draws it.
#[derive(Debug)]
struct Shown<'a> {
    problem: &'a Problem,
    source: NamedSource<String>,
    span: SourceSpan,
}

impl<'a> Shown<'a> {
    fn new(refusal: &Refusal, problem: &'a Problem) -> Self {
        let Place { line, column } = problem.place;
        let text = &refusal.source_text;
        let offset = SourceOffset::from_location(text, line.max(1), 1).offset();
        let rest = text.get(offset..).unwrap_or_default().lines().next().unwrap_or_default();
        let before: usize = rest.chars().take(column.saturating_sub(1)).map(char::len_utf8).sum();
        let length = word_length(&rest[before..]);
        Self {
            problem,
            source: NamedSource::new(&refusal.file, text.clone()),
            span: SourceSpan::new((offset + before).into(), length),
        }
    }
}

/// The bytes of the first word or quoted text.
fn word_length(text: &str) -> usize {
    let end = match text.chars().next() {
        Some(quote @ ('"' | '\'')) => text[1..].find(quote).map(|at| at + 2),
        _ => text.find([' ', ',', ':', '}', ']', '#']),
    };
    end.unwrap_or(text.trim_end().len())
}

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.problem.message)
    }
}

impl std::error::Error for Shown<'_> {}

impl Diagnostic for Shown<'_> {
    fn help<'b>(&'b self) -> Option<Box<dyn std::fmt::Display + 'b>> {
        self.problem.hint.as_ref().map(|hint| Box::new(hint) as Box<dyn std::fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = LabeledSpan::new_with_span(Some("here".to_owned()), self.span);
        Some(Box::new(std::iter::once(label)))
    }
}

/// `did you mean `near`?`, where one of the candidates is near enough to the word.
pub(crate) fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    nearest(word, candidates).map(|near| format!("did you mean `{near}`?"))
}

/// The candidate that is nearest to the word: at most one edit for every three characters of it,
/// and always two.
fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (word.chars().count() / 3).max(2);
    let near = candidates.into_iter().map(|candidate| (edits(word, candidate), candidate));
    let near = near.filter(|(edits, candidate)| *edits <= allowed && *edits < candidate.len());
    near.min_by_key(|(edits, _)| *edits).map(|(_, candidate)| candidate)
}

/// How many characters must be put in, taken out, replaced, or swapped with their neighbour, to
/// make one word of the other; capitals count as half the difference they are, which is none.
fn edits(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.to_lowercase().chars().collect();
    let right: Vec<char> = right.to_lowercase().chars().collect();
    let mut rows = vec![(0..=right.len()).collect::<Vec<_>>()];
    for (i, l) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, r) in right.iter().enumerate() {
            let replaced = rows[i][j] + usize::from(l != r);
            let mut best = replaced.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && left[i - 1] == *r && *l == right[j - 1] {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}
