//! Which requests match a pattern.

use super::fault::{Pattern, Sets};
use crate::history::{Asks, Request};

impl Pattern {
    /// Whether a request matches, apart from being the nth.
    pub(crate) fn matches(&self, request: &Request, asks: &Asks) -> bool {
        let is = |given: &Option<String>, has: &str| given.as_ref().is_none_or(|it| it == has);
        let subresource = match (&self.resource, &self.subresource) {
            (None, None) => true,
            (_, given) => *given == request.subresource,
        };
        (self.verbs.is_empty() || self.verbs.contains(&request.verb))
            && is(&self.resource, &request.resource)
            && subresource
            && self.object.as_ref().is_none_or(|name| names(request.name.as_deref(), name))
            && self.dry_run.is_none_or(|dry_run| dry_run == request.is_dry_run())
            && self.sets.iter().all(|one| one.is_in(asks))
    }
}

impl Sets {
    fn is_in(&self, asks: &Asks) -> bool {
        match self {
            Self::Check(state) => asks.sets_check(state),
            Self::Condition(type_) => asks.conditions.contains(type_),
            Self::Count(None) => asks.count.is_some(),
            Self::Count(count) => asks.count == *count,
            Self::PodCount(count) => asks.pod_count.as_ref() == Some(count),
            Self::Suspend(suspend) => asks.suspend == Some(*suspend),
            Self::Active(active) => asks.active == Some(*active),
            Self::Opened => asks.opened,
            Self::Held => asks.held,
            Self::Ended => asks.ended,
        }
    }
}

/// Whether an object is the one of a name, or is named after it: `JobSet`, Jobs, pods and the
/// Workload carry the name of their `TrainJob` as a part of their own.
fn names(of: Option<&str>, name: &str) -> bool {
    let Some(of) = of.filter(|_| !name.is_empty()) else { return false };
    let is_edge = |next: Option<char>| next.is_none_or(|next| next == '-' || next == '.');
    // At every place: two that overlap may be found, and only the second be between boundaries.
    of.char_indices().any(|(start, _)| {
        is_edge(of[..start].chars().next_back())
            && of[start..].strip_prefix(name).is_some_and(|rest| is_edge(rest.chars().next()))
    })
}

/// The kind of a request, as [`super::Times::OncePerKind`] tells kinds apart.
pub(super) fn kind(request: &Request, asks: &Asks) -> String {
    let mut sets: Vec<String> = asks.checks.iter().map(|(_, state)| state.clone()).collect();
    sets.extend(asks.count.as_ref().map(|_| "count".to_owned()));
    sets.extend(asks.pod_count.as_ref().map(|_| "pods".to_owned()));
    sets.extend(asks.suspend.map(|suspend| format!("suspend {suspend}")));
    sets.extend(asks.active.map(|active| format!("active {active}")));
    let marks = [(asks.opened, "opened"), (asks.held, "held"), (asks.ended, "ended")];
    sets.extend(marks.iter().filter(|(is, _)| *is).map(|(_, mark)| (*mark).to_owned()));
    let subresource = request.subresource.as_deref().unwrap_or_default();
    let dry_run = if request.is_dry_run() { "dry run" } else { "" };
    let place = [&request.verb, &request.group, &request.resource, subresource, dry_run];
    format!("{} {}", place.join("/"), sets.join(","))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::proxy::table::tests::request;

    fn pattern() -> Pattern {
        Pattern::default()
    }

    fn text(text: &str) -> String {
        text.to_owned()
    }

    fn ready() -> Value {
        json!({"status": {"admissionChecks": [{"name": "c", "state": "Ready"}]}})
    }

    #[rstest]
    #[case::anything(pattern(), true)]
    #[case::its_verb(Pattern { verbs: vec!["get".to_owned(), "patch".to_owned()], ..pattern() }, true)]
    #[case::another_verb(Pattern { verbs: vec!["update".to_owned()], ..pattern() }, false)]
    #[case::resource_and_subresource(
        Pattern { resource: Some(text("workloads")), subresource: Some(text("status")), ..pattern() }, true)]
    #[case::the_resource_itself(Pattern { resource: Some(text("workloads")), ..pattern() }, false)]
    #[case::another_resource(
        Pattern { resource: Some(text("jobs")), subresource: Some(text("status")), ..pattern() }, false)]
    #[case::the_subresource_of_any(Pattern { subresource: Some(text("status")), ..pattern() }, true)]
    #[case::named_after_the_object(Pattern { object: Some(text("job-s1")), ..pattern() }, true)]
    #[case::another_object(Pattern { object: Some(text("job-s")), ..pattern() }, false)]
    #[case::what_it_sets(Pattern { sets: vec![Sets::Check("Ready".to_owned())], ..pattern() }, true)]
    #[case::all_have_to_hold(
        Pattern { sets: vec![Sets::Check("Ready".to_owned()), Sets::Opened], ..pattern() }, false)]
    #[case::a_dry_run(Pattern { dry_run: Some(true), ..pattern() }, false)]
    #[case::no_dry_run(Pattern { dry_run: Some(false), ..pattern() }, true)]
    fn all_that_a_pattern_gives_has_to_hold(#[case] pattern: Pattern, #[case] matches: bool) {
        let request = request("patch", "workloads/status", "trainjob-job-s1-1a2b3", Some(ready()));
        assert_eq!(pattern.matches(&request, &Asks::of(&request)), matches);
    }

    #[rstest]
    #[case::count(json!({"metadata": {"annotations": {
        "dispatch.phpboyscout.uk/admission-count": "2"}}}),
        vec![Sets::Count(None), Sets::Count(Some(text("2")))], vec![Sets::Count(Some(text("3")))])]
    #[case::pods(json!({"metadata": {"annotations": {"dispatch.phpboyscout.uk/admission": "2"}}}),
        vec![Sets::PodCount("2".to_owned())], vec![Sets::PodCount("1".to_owned())])]
    #[case::suspend(json!({"spec": {"suspend": false}}),
        vec![Sets::Suspend(false)], vec![Sets::Suspend(true), Sets::Active(false)])]
    #[case::active(json!({"spec": {"active": true}}),
        vec![Sets::Active(true)], vec![Sets::Active(false), Sets::Suspend(true)])]
    #[case::conditions(json!({"status": {"conditions": [
        {"type": "Finished", "status": "True"}, {"type": "Evicted", "status": "False"}]}}),
        vec![Sets::Condition("Finished".to_owned())], vec![Sets::Condition("Evicted".to_owned())])]
    #[case::marks(json!({"metadata": {"annotations": {
        "dispatch.phpboyscout.uk/opened": "true", "dispatch.phpboyscout.uk/held": "x"}}}),
        vec![Sets::Opened, Sets::Held], vec![Sets::Ended])]
    fn what_a_body_sets_is_told_apart(
        #[case] body: Value,
        #[case] set: Vec<Sets>,
        #[case] not_set: Vec<Sets>,
    ) {
        let asks = Asks::of_body(&body);
        assert!(set.iter().all(|one| one.is_in(&asks)), "{asks:?}");
        assert!(!not_set.iter().any(|one| one.is_in(&asks)), "{asks:?}");
    }

    #[rstest]
    #[case::itself("job-s1", true)]
    #[case::of_a_job("job-s1-node-0", true)]
    #[case::prefix_of_a_pod("job-s1-node-0-0-", true)]
    #[case::of_a_workload("trainjob-job-s1-1a2b3", true)]
    #[case::of_an_event("job-s1.18a2", true)]
    #[case::of_a_longer_number("job-s10", false)]
    #[case::within_a_word("myjob-s1", false)]
    #[case::later_in_the_name("job-s10-job-s1", true)]
    fn names_are_told_apart_at_word_boundaries(#[case] of: &str, #[case] is: bool) {
        assert_eq!(names(Some(of), "job-s1"), is);
        assert!(!names(None, "job-s1") && !names(Some(of), ""));
    }

    #[test]
    fn a_name_is_found_that_begins_within_itself() {
        assert!(names(Some("-ar-r-r."), "r-r") && !names(Some("ar-rr"), "r-r"));
    }

    proptest! {
        #[test]
        fn a_name_is_found_between_boundaries_only(
            before in "[a-z.-]{0,6}", name in "[a-z]{1,4}(-[a-z]{1,4})?", after in "[a-z.-]{0,6}",
        ) {
            let bounded = format!("-{before}-{name}.{after}");
            prop_assert!(names(Some(&bounded), &name));
            let swallowed = format!("0{name}0");
            prop_assert!(!names(Some(&swallowed), &name));
        }
    }
}
