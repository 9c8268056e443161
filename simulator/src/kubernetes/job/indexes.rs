//! Lists of completion indexes, as a Job's status writes them: `0-2,5`.

use std::collections::BTreeSet;

/// The indexes in a text; what is no number is left out.
pub(super) fn parse(text: &str) -> BTreeSet<i64> {
    let parts = text.split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<i64>().ok()?..=last.parse::<i64>().ok()?)
    });
    parts.flatten().collect()
}

/// The text of indexes; neighbours are one part (Kubernetes `pkg/controller/job/indexed_job_utils.go`,
/// `orderedIntervals.String`).
pub(super) fn write(indexes: &BTreeSet<i64>) -> String {
    let mut spans: Vec<(i64, i64)> = Vec::new();
    for index in indexes {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == *index => *last = *index,
            _ => spans.push((*index, *index)),
        }
    }
    let parts = spans.into_iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    });
    parts.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("")]
    #[case("0")]
    #[case("0,1")]
    #[case("0-2,5")]
    fn indexes_are_written_as_they_are_read(#[case] text: &str) {
        assert_eq!(write(&parse(text)), text);
    }
}
