//! Whether the expectations of a scenario hold in a history, and whether its witness is in it.

use dispatch_contract::names;
use dispatch_contract::resources::TrainJob;

use super::evaluate::{Point, Truth};
use super::{AdmissionIs, Claim, Expectation, Fact, JobName, Scope, Witness};
use crate::history::{EndedBy, History, Kind, What};

/// What a history says of an expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It holds.
    Held,
    /// It does not.
    Broken {
        /// What contradicts it, as a sentence without its full stop.
        because: String,
        /// The numbers of the events that show it, in their order.
        events: Vec<u64>,
    },
    /// The history does not tell, for this reason.
    CannotBeSaid {
        /// Why.
        why: String,
    },
}

/// What a history says of a line of the witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sighting {
    /// It was so, first at this event.
    Seen {
        /// The number of the event.
        event: u64,
    },
    /// It was never so, or the history does not tell.
    NotSeen {
        /// What is known of it.
        why: String,
    },
}

impl Expectation {
    /// Judges the expectation.
    pub fn judge(&self, history: &History) -> Finding {
        match &self.claim {
            Claim::Never(fact, scope) => through(history, fact, scope, &Truth::True, "was so"),
            Claim::Always(fact, scope) => {
                through(history, fact, scope, &Truth::False, "was not so")
            }
            Claim::Finally(fact) => finally(history, fact),
            Claim::Executions { of, count } => executions(history, of, *count),
            Claim::Count { of, admission } => admission_count(history, of, *admission),
        }
    }
}

impl Witness {
    /// Looks for the first point at which the fact is true.
    pub fn find(&self, history: &History) -> Sighting {
        let mut why = "it was never so".to_owned();
        if let Fact::InOrder(facts) = &self.fact {
            return in_order(history, facts);
        }
        for (point, event) in points(history, &[&self.fact]) {
            match self.fact.holds(history, point) {
                Truth::True => return Sighting::Seen { event },
                Truth::CannotBeSaid(unknown) => why = unknown,
                Truth::False => {}
            }
        }
        if let Some(gap) = gap_for(history, &[&self.fact]) {
            why = gap;
        }
        Sighting::NotSeen { why }
    }
}

/// Goes through the history once: asked at every point anew, it would be gone through for each.
fn in_order(history: &History, facts: &[Fact]) -> Sighting {
    let all: Vec<_> = facts.iter().collect();
    let mut seen = 0;
    for (point, event) in points(history, &all) {
        while let Some(next) = facts.get(seen)
            && next.holds(history, point) == Truth::True
        {
            seen += 1;
        }
        if seen == facts.len() {
            return Sighting::Seen { event };
        }
    }
    let why = gap_for(history, &all);
    let why = why.unwrap_or_else(|| format!("only {seen} of the {} came so", facts.len()));
    Sighting::NotSeen { why }
}

/// The points at which any of the facts can change, in order, each with the number of its event.
/// What was recorded after the run's end is none of its points.
pub(super) fn points(history: &History, facts: &[&Fact]) -> Vec<(Point, u64)> {
    let kinds: Vec<Kind> = facts.iter().flat_map(|fact| fact.kinds()).collect();
    let about_requests = facts.iter().any(|fact| fact.is_about_requests());
    let played = history.events().iter().take_while(|event| !matches!(event.what, What::End(_)));
    let matter = played.filter(|event| match &event.what {
        What::Version(version) => kinds.contains(&version.kind),
        // Requests are many, and few facts are about them.
        What::RequestSent(_) | What::RequestEnded(_) => about_requests,
        What::Request(_) | What::Delivered(_) => false,
        _ => true,
    });
    let mut points: Vec<_> =
        matter.filter_map(|event| Some((Point::of(event)?, event.seq))).collect();
    points.sort_unstable();
    points
}

/// What was not recorded and could matter to these facts.
fn gap_for(history: &History, facts: &[&Fact]) -> Option<String> {
    let kinds: Vec<Kind> = facts.iter().flat_map(|fact| fact.kinds()).collect();
    let matters = |kind: Option<Kind>| kind.is_none_or(|kind| kinds.contains(&kind));
    let (_, gap) = history.gaps().find(|(_, gap)| matters(gap.kind))?;
    let of = gap.kind.map_or("the record".to_owned(), |kind| format!("the record of {kind}s"));
    Some(format!("{of} has a gap: {}", gap.why))
}

/// Goes through the points of a scope, up to the first at which the fact is `breaking`.
fn through(history: &History, fact: &Fact, scope: &Scope, breaking: &Truth, was: &str) -> Finding {
    let mut facts = vec![fact];
    facts.extend(scope.ends());
    let points = points(history, &facts);
    let (from, until) = match scope.within(history, &points) {
        Ok(bounds) => bounds,
        Err(why) => return Finding::CannotBeSaid { why },
    };
    let mut unknown = None;
    for (point, event) in &points[from..until] {
        match fact.holds(history, *point) {
            truth if truth == *breaking => {
                let begins = (from > 0).then(|| points[from].1);
                let ends = points.get(until).map(|(_, event)| *event);
                let mut events: Vec<_> =
                    [begins, Some(*event), ends].into_iter().flatten().collect();
                events.dedup();
                return Finding::Broken { because: format!("it {was}{}", scope.words()), events };
            }
            Truth::CannotBeSaid(why) => unknown = Some(why),
            _ => {}
        }
    }
    match unknown.or_else(|| gap_for(history, &facts)) {
        Some(why) => Finding::CannotBeSaid { why },
        None => Finding::Held,
    }
}

impl Scope {
    fn ends(&self) -> Vec<&Fact> {
        match self {
            Self::Whole => Vec::new(),
            Self::Before(fact) | Self::After(fact) => vec![fact],
            Self::Between(from, until) => vec![from, until],
        }
    }

    fn words(&self) -> &'static str {
        match self {
            Self::Whole => "",
            Self::Before(_) => " before that",
            Self::After(_) => " after that",
            Self::Between(..) => " between the two",
        }
    }

    /// The points of the scope, as the first of them and the first past them.
    fn within(&self, history: &History, points: &[(Point, u64)]) -> Result<(usize, usize), String> {
        let first = |fact: &Fact, from: usize| {
            let mut rest = points[from..].iter();
            let place = rest.position(|(point, _)| fact.holds(history, *point) == Truth::True);
            place.map(|place| from + place)
        };
        let never = |what| format!("{what} was never so");
        match self {
            Self::Whole => Ok((0, points.len())),
            Self::Before(fact) => {
                Ok((0, first(fact, 0).ok_or_else(|| never("what it is to be before"))?))
            }
            Self::After(fact) => {
                let from = first(fact, 0).ok_or_else(|| never("what it is to be after"))?;
                Ok((from, points.len()))
            }
            Self::Between(from, until) => {
                let from = first(from, 0).ok_or_else(|| never("the first of the two"))?;
                let until = first(until, from).ok_or_else(|| never("the second of the two"))?;
                Ok((from, until))
            }
        }
    }
}

/// Why the end of the history is not the end of the scenario, if it is not.
fn cut_off(history: &History) -> Option<Finding> {
    let why = match history.end().map(|end| end.why) {
        Some(EndedBy::Finished) => return None,
        Some(EndedBy::Failed) => "a step failed before",
        Some(EndedBy::Interrupted) => "the run was interrupted before",
        None => "the history breaks off",
    };
    Some(Finding::CannotBeSaid { why: why.to_owned() })
}

fn finally(history: &History, fact: &Fact) -> Finding {
    if let Some(cut_off) = cut_off(history) {
        return cut_off;
    }
    let points = points(history, &[fact]);
    let Some((point, event)) = points.last() else {
        return Finding::CannotBeSaid { why: "the history is empty".to_owned() };
    };
    match fact.holds(history, *point) {
        Truth::False => {
            let because = "it is not so at the end".to_owned();
            Finding::Broken { because, events: vec![*event] }
        }
        Truth::CannotBeSaid(why) => Finding::CannotBeSaid { why },
        Truth::True => {
            gap_for(history, &[fact]).map_or(Finding::Held, |why| Finding::CannotBeSaid { why })
        }
    }
}

/// The UID of a job's `TrainJob`.
fn uid_of<'a>(history: &'a History, job: &JobName) -> Result<&'a str, Finding> {
    let trail = history.object_of_job(job.as_str());
    trail
        .map(|trail| trail.uid.as_str())
        .ok_or_else(|| Finding::CannotBeSaid { why: format!("no object of `{job}` was recorded") })
}

fn executions(history: &History, of: &JobName, count: u32) -> Finding {
    let uid = match uid_of(history, of) {
        Ok(uid) => uid,
        Err(finding) => return finding,
    };
    let executions = history.executions(uid);
    let events = executions.iter().map(|execution| execution.start.seq).collect();
    let counts: Vec<_> = executions.iter().map(|execution| execution.admission).collect();
    let rising = counts.windows(2).all(|pair| pair[0] < pair[1]);
    let said: Vec<_> = counts
        .iter()
        .map(|count| count.map_or("unreadable".to_owned(), |count| count.to_string()))
        .collect();
    if !rising || counts.contains(&None) {
        let because = format!("A of its executions was {}", said.join(", then "));
        return Finding::Broken { because, events };
    }
    if executions.len() > count as usize {
        let because = format!("it had {} executions", executions.len());
        return Finding::Broken { because, events };
    }
    if let Some(cut_off) = cut_off(history) {
        return cut_off;
    }
    if let Some(why) = gap_of(history, Kind::TrainJob) {
        return Finding::CannotBeSaid { why };
    }
    if executions.len() < count as usize {
        let because = format!("it had {} executions", executions.len());
        return Finding::Broken { because, events };
    }
    Finding::Held
}

fn gap_of(history: &History, kind: Kind) -> Option<String> {
    let (_, gap) = history.gaps().find(|(_, gap)| gap.kind.is_none_or(|it| it == kind))?;
    Some(format!("the record of {kind}s has a gap: {}", gap.why))
}

fn admission_count(history: &History, of: &JobName, expected: AdmissionIs) -> Finding {
    if let Some(cut_off) = cut_off(history) {
        return cut_off;
    }
    let last = uid_of(history, of).map(|uid| history.object(uid).and_then(|trail| trail.now()));
    let version = match last {
        Ok(Some(version)) => version,
        Ok(None) => {
            return Finding::CannotBeSaid { why: format!("`{of}` is gone at the end") };
        }
        Err(finding) => return finding,
    };
    let trainjob = version.trainjob();
    let annotation = trainjob.and_then(|trainjob| trainjob.annotation(names::ADMISSION_COUNT));
    if expected.is_met_by(annotation, None) {
        return gap_of(history, Kind::TrainJob)
            .map_or(Finding::Held, |why| Finding::CannotBeSaid { why });
    }
    let is = match trainjob.and_then(TrainJob::admission_count) {
        Some(Ok(count)) => count.to_string(),
        Some(Err(unreadable)) => format!("unreadable (`{}`)", unreadable.0),
        None => "absent".to_owned(),
    };
    Finding::Broken { because: format!("A is {is} at the end"), events: vec![version.seq] }
}

#[cfg(test)]
mod tests;
