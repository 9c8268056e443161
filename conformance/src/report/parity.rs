//! Where the simulated cluster does otherwise than the real one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::plain;
use crate::exit_code::ExitCode;
use crate::history::Kind;
use crate::parity::{Alignment, Comparison, Disagreement, KnownDifference, Move, Unlike, Write};

/// How many writes are shown before and after one that differs.
const AROUND: usize = 2;

/// How many other lives that differ in the same way are named.
const NAMED: usize = 4;

/// The greatest length of a line that shows a write, in characters.
const LENGTH: usize = 160;

/// What a comparison found, for people: what differs in the same way is shown once.
pub fn parity(comparison: &Comparison, not_met: &[&KnownDifference]) -> String {
    let mut out = String::new();
    let mut groups: BTreeMap<(Kind, &BTreeSet<Move>), Vec<&Unlike>> = BTreeMap::new();
    for disagreement in &comparison.disagreements {
        match disagreement {
            Disagreement::Verdict { play, real, here } => {
                let _ = writeln!(out, "{play}: the verdict is {here}, on the real cluster {real}");
            }
            Disagreement::Life(unlike) => {
                groups.entry((unlike.role.kind, &unlike.moves)).or_default().push(unlike);
            }
        }
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_key(|group| (&group[0].play, &group[0].role));
    for group in &groups {
        show(&mut out, group);
    }
    not_compared(&mut out, comparison);
    for known in not_met {
        let how = known.how.as_deref().unwrap_or("any difference");
        let KnownDifference { scenario, kind, .. } = known;
        let _ = writeln!(out, "known, and not met: {scenario}: {kind}: {how}");
    }
    let Comparison { plays, lives, same, known, .. } = comparison;
    let _ = writeln!(
        out,
        "{plays} plays with {lives} lives, {same} of them as a real one to the last write: {} \
         disagreements of {} kinds, {known} known differences",
        comparison.disagreements.len(),
        groups.len() + verdicts(comparison),
    );
    out
}

fn verdicts(comparison: &Comparison) -> usize {
    let is_verdict = |it: &&Disagreement| matches!(it, Disagreement::Verdict { .. });
    comparison.disagreements.iter().filter(is_verdict).count()
}

/// How the command ends: the simulated cluster is a part of the suite.
pub fn parity_exit_code(comparison: &Comparison, not_met: &[&KnownDifference]) -> ExitCode {
    if !comparison.disagreements.is_empty() || !not_met.is_empty() {
        ExitCode::SuiteFault
    } else if comparison.not_compared.iter().any(|it| it.is_unknown) {
        ExitCode::Inconclusive
    } else if comparison.plays == 0 {
        ExitCode::NothingRan
    } else {
        ExitCode::Conformant
    }
}

fn not_compared(out: &mut String, comparison: &Comparison) {
    let mut reasons: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for it in &comparison.not_compared {
        reasons.entry(&it.why).or_default().insert(&it.play);
    }
    for (why, plays) in reasons {
        let plays: Vec<_> = plays.into_iter().collect();
        let _ = writeln!(out, "not compared: {}: {}", plain(why), plain(&plays.join(", ")));
    }
}

fn show(out: &mut String, group: &[&Unlike]) {
    let Some((first, others)) = group.split_first() else { return };
    let _ = writeln!(out, "{}: {}", first.play, plain(&first.role.to_string()));
    for it in &first.moves {
        let _ = writeln!(out, "  {}", plain(&it.to_string()));
    }
    let _ = writeln!(out, "    - real  + {}", plain(&first.source));
    for line in lines(first) {
        let _ = writeln!(out, "    {line}");
    }
    let also: BTreeSet<_> = others.iter().map(|it| format!("{}: {}", it.play, it.role)).collect();
    for it in also.iter().take(NAMED) {
        let _ = writeln!(out, "  so does {}", plain(it));
    }
    if also.len() > NAMED {
        let _ = writeln!(out, "  and {} more", also.len() - NAMED);
    }
    out.push('\n');
}

/// The two lives beside each other, where they differ.
fn lines(unlike: &Unlike) -> Vec<String> {
    let (real, here) = (&unlike.real, &unlike.here);
    let pairs = Alignment::of(real, &here.life).pairs;
    let of_real = |at: usize| (at, &real.writes[at]);
    let of_here = |at: usize| (at, &here.life.writes[at]);
    let pairs: Vec<_> = pairs.into_iter().map(|(a, b)| (a.map(of_real), b.map(of_here))).collect();
    let differs: Vec<bool> =
        pairs.iter().map(|(a, b)| a.map(|(_, write)| write) != b.map(|(_, write)| write)).collect();
    let event = |at: usize| here.events.get(at).copied().unwrap_or_default();
    let mut lines = Vec::new();
    let mut left_out = false;
    for (nth, (a, b)) in pairs.iter().enumerate() {
        let near = nth.saturating_sub(AROUND)..(nth + AROUND + 1).min(pairs.len());
        if !differs[near].contains(&true) {
            left_out = true;
            continue;
        }
        if std::mem::take(&mut left_out) {
            lines.push("  …".to_owned());
        }
        match (a, b) {
            (Some((_, write)), Some((at, other))) if write == other => {
                lines.push(format!("  {} #{}", words(write), event(*at)));
            }
            (a, b) => {
                lines.extend(a.map(|(_, write)| format!("- {}", words(write))));
                lines.extend(b.map(|(at, write)| format!("+ {} #{}", words(write), event(at))));
            }
        }
    }
    lines
}

fn words(write: &Write) -> String {
    let words: Vec<_> = write.iter().map(ToString::to_string).collect();
    let words = plain(&words.join(", "));
    if words.chars().count() <= LENGTH {
        return words;
    }
    words.chars().take(LENGTH - 1).chain(['…']).collect()
}
