//! The file format and the read model.

use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::Arc;

use dispatch_contract::names;
use rstest::rstest;
use serde_json::json;

use super::reader::LINE_BYTES;
use super::told::{NAME, Told, UID};
use super::*;

fn write(events: &[Arc<Event>]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = HistoryWriter::new(&mut file, Path::new("h"));
    for event in events {
        writer.append(event).unwrap();
    }
    file
}

fn reads(file: &[u8]) -> Result<History, ReadError> {
    read(Cursor::new(file), Path::new("h"))
}

fn gaps(history: &History) -> Vec<&str> {
    history.gaps().map(|(_, gap)| gap.why.as_str()).collect()
}

#[test]
fn what_is_written_is_read_back() {
    let history = Told::kueue().runs().history();
    let read = reads(&write(history.events())).unwrap();
    assert_eq!(read.events(), history.events());
    assert_eq!(gaps(&read), [""; 0]);
}

#[test]
fn each_event_is_one_line_with_one_key_for_what_happened() {
    let history = Told::kueue().history();
    let file = String::from_utf8(write(history.events())).unwrap();
    let lines: Vec<serde_json::Value> =
        file.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let what = |index: usize| lines[index]["what"].as_object().unwrap().keys().next().unwrap();
    assert_eq!(lines[0]["what"]["begin"]["schema"], SCHEMA);
    assert_eq!((what(1).as_str(), what(3).as_str()), ("version", "subject"));
    assert_eq!(lines[1]["order"], 101);
}

#[test]
fn a_planted_secret_is_never_written_and_leaves_a_gap() {
    let planted = "c3VwZXItc2VjcmV0LXZhbHVl";
    let mut told = Told::kueue();
    told.create(
        Kind::Event,
        json!({"metadata": {"name": "e", "uid": "u"}, "message": "Authorization: Bearer ".to_owned() + planted}),
    );
    let history = told.history();
    let mut file = Vec::new();
    let mut writer = HistoryWriter::new(&mut file, Path::new("h"));
    let errors: Vec<_> =
        history.events().iter().filter_map(|event| writer.append(event).err()).collect();
    assert_eq!(errors.len(), 1);
    let message = errors[0].to_string();
    assert!(message.contains("Event e, version"), "{message}");
    assert!(!message.contains(planted), "{message}");
    assert!(!String::from_utf8_lossy(&file).contains(planted));
    let read = reads(&file).unwrap();
    assert_eq!(read.events().len(), history.events().len());
    assert!(gaps(&read)[0].contains("looks like an Authorization header"), "{:?}", gaps(&read));
}

#[test]
fn an_event_that_could_not_be_read_back_leaves_a_gap() {
    let mut told = Told::kueue();
    told.create(
        Kind::Event,
        json!({"metadata": {"name": "e", "uid": "u"}, "message": "x".repeat(LINE_BYTES)}),
    );
    let mut file = Vec::new();
    let mut writer = HistoryWriter::new(&mut file, Path::new("h"));
    let history = told.history();
    let refused = history.events().iter().filter(|event| writer.append(event).is_err()).count();
    assert_eq!(refused, 1);
    assert_eq!(gaps(&reads(&file).unwrap()).len(), 1);
}

/// Takes so many bytes, and then no more.
struct FullDisk(usize);

impl Write for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        if taken == 0 { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(taken) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn after_a_write_that_failed_no_later_one_pretends_to_succeed() {
    let history = Told::kueue().history();
    let mut writer = HistoryWriter::new(FullDisk(400), Path::new("/full/history.ndjson"));
    let errors: Vec<_> =
        history.events().iter().filter_map(|event| writer.append(event).err()).collect();
    assert!(matches!(errors[0], WriteError::Io { seq: 0 | 1, .. }), "{errors:?}");
    assert!(errors[0].to_string().contains("/full/history.ndjson"));
    assert!(errors[1..].iter().all(|error| matches!(error, WriteError::Broken { .. })));
    assert!(errors.len() >= history.events().len() - 1);
}

#[test]
fn a_history_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.ndjson");
    let mut writer = HistoryWriter::create(&path).unwrap();
    let history = Told::kueue().history();
    history.events().iter().for_each(|event| writer.append(event).unwrap());
    assert!(HistoryWriter::create(&path).unwrap_err().to_string().contains("history.ndjson"));
    assert_eq!(read_file(&path).unwrap().events(), history.events());
    assert!(matches!(read_file(&folder.path().join("none")), Err(ReadError::Io { .. })));
}

#[test]
fn a_line_that_was_cut_off_at_the_end_is_a_gap() {
    let file = write(Told::kueue().history().events());
    let cut = reads(&file[..file.len() - 20]).unwrap();
    assert!(gaps(&cut)[0].contains("cut off"), "{:?}", gaps(&cut));
    // The line end alone is no loss.
    assert_eq!(gaps(&reads(&file[..file.len() - 1]).unwrap()), [""; 0]);
}

#[test]
fn an_end_that_is_missing_is_a_gap() {
    let history = Told::kueue().history();
    let events = history.events();
    let read = reads(&write(&events[..events.len() - 1])).unwrap();
    assert!(gaps(&read)[0].contains("no end"));
}

#[test]
fn an_event_that_is_missing_in_the_middle_is_a_gap() {
    let mut events = Told::kueue().history().events().to_vec();
    events.remove(2);
    assert_eq!(gaps(&reads(&write(&events)).unwrap()), ["events 2 to 2 are missing"]);
}

fn with_line(index: usize, line: &str) -> Vec<u8> {
    let file = String::from_utf8(write(Told::kueue().history().events())).unwrap();
    let mut lines: Vec<&str> = file.lines().collect();
    lines.insert(index, line);
    (lines.join("\n") + "\n").into_bytes()
}

#[rstest]
#[case::no_json("{", "line 3 of the history h is not an event")]
#[case::another_shape(r#"{"seq": 2}"#, "missing field")]
#[case::unknown_event(
    r#"{"seq":2,"at":"2026-01-01T00:00:00Z","elapsedNs":0,"what":{"dance":{}}}"#,
    "dance"
)]
#[case::number_twice(
    r#"{"seq":1,"at":"2026-01-01T00:00:00Z","elapsedNs":0,"what":{"step-ended":{"index":0}}}"#,
    "its number is 1, after 1"
)]
#[case::unknown_rule(
    r#"{"seq":2,"at":"2026-01-01T00:00:00Z","elapsedNs":0,"what":{"step-failed":{"index":0,"why":"","rule":"RG-99"}}}"#,
    "there is no rule `RG-99`")]
fn a_line_that_is_wrong_is_refused_with_its_number(#[case] line: &str, #[case] message: &str) {
    let error = reads(&with_line(2, line)).unwrap_err().to_string();
    assert!(error.contains(message), "{error}");
}

#[test]
fn a_line_that_is_too_long_or_too_deep_is_refused() {
    let long = format!("\"{}\"", "x".repeat(LINE_BYTES));
    assert!(matches!(reads(&with_line(2, &long)), Err(ReadError::TooLarge { line: 3, .. })));
    let deep = "[".repeat(100_000);
    let error = reads(&with_line(2, &deep)).unwrap_err();
    assert!(matches!(error, ReadError::Line { line: 3, .. }), "{error}");
}

#[rstest]
#[case::newer("dispatch-history/2", "reads up to `dispatch-history/1`")]
#[case::never_written("dispatch-history/0", "does not begin like a history")]
#[case::another("junit", "does not begin like a history")]
fn a_schema_that_is_not_known_is_refused(#[case] schema: &str, #[case] message: &str) {
    let file = format!("{{\"what\": {{\"begin\": {{\"schema\": \"{schema}\"}}}}}}\n");
    let error = reads(file.as_bytes()).unwrap_err().to_string();
    assert!(error.contains(message), "{error}");
}

#[test]
fn an_empty_file_is_no_history() {
    assert!(matches!(reads(b""), Err(ReadError::NotAHistory { .. })));
}

#[test]
fn versions_take_their_place_by_order_and_once() {
    let mut events = Told::kueue().runs().history().events().to_vec();
    let told: History = events.iter().cloned().collect();
    events[1..].reverse();
    let doubled = events.iter().chain(&events[1..]).cloned();
    let shuffled: History = doubled.collect();
    let orders = |history: &History| -> Vec<u64> {
        history.object(UID).unwrap().versions().iter().map(|version| version.order).collect()
    };
    assert_eq!(orders(&shuffled), orders(&told));
}

#[test]
fn the_state_at_an_order_is_the_last_version_that_is_not_later() {
    let history = Told::kueue().runs().history();
    let trail = history.object(UID).unwrap();
    let orders: Vec<u64> = trail.versions().iter().map(|version| version.order).collect();
    assert!(trail.at(orders[0] - 1).is_none());
    assert_eq!(trail.at(orders[1]).unwrap().order, orders[1]);
    assert_eq!(trail.at(orders[1] - 1).unwrap().order, orders[0]);
    assert_eq!(trail.before(orders[1]).unwrap().order, orders[0]);
    assert!(trail.before(orders[0]).is_none());
}

#[test]
fn a_deleted_object_has_no_state_any_more() {
    let mut told = Told::kueue();
    let history = told.runs().pod_goes("pod-1").history();
    let pod = history.object("uid-pod-1").unwrap();
    assert!(pod.now().is_none() && pod.at(u64::MAX).is_none());
    assert!(pod.lives_at(pod.created()) && !pod.lives_at(pod.deleted().unwrap().order));
}

#[test]
fn the_family_of_an_object_is_found_by_owner() {
    let history = Told::kueue().runs().history();
    let names = |trails: Vec<&Trail>| -> Vec<String> {
        trails.iter().map(|trail| trail.name.clone()).collect()
    };
    assert_eq!(names(history.workloads_of(UID)), ["workload"]);
    assert_eq!(names(history.jobsets_of(UID)), [NAME]);
    assert_eq!(names(history.jobs_of(UID)), ["node"]);
    assert_eq!(names(history.pods_of(UID)), ["pod-1"]);
    assert_eq!(history.object_of_job("train").unwrap().uid, UID);
}

#[test]
fn a_pod_whose_owner_is_unknown_is_found_by_its_label() {
    let mut told = Told::kueue();
    told.runs().create(
        Kind::Pod,
        json!({"metadata": {"name": "stray", "namespace": "ns", "uid": "uid-stray",
            "labels": {names::JOBSET_NAME: NAME}}}),
    );
    told.create(
        Kind::Pod,
        json!({"metadata": {"name": "elsewhere", "namespace": "other", "uid": "uid-elsewhere",
            "labels": {names::JOBSET_NAME: NAME}}}),
    );
    let history = told.history();
    let pods: Vec<_> = history.pods_of(UID).iter().map(|pod| pod.name.as_str()).collect();
    assert_eq!(pods, ["pod-1", "stray"]);
}

#[test]
fn an_object_of_another_shape_is_a_gap_of_its_kind() {
    let mut told = Told::kueue();
    told.create(Kind::Pod, json!({"metadata": {"name": "odd", "uid": "u"}, "spec": 7}));
    let history = told.history();
    let (_, gap) = history.gaps().next().unwrap();
    assert_eq!(gap.kind, Some(Kind::Pod));
    assert!(gap.why.contains("Pod odd does not have the shape"), "{}", gap.why);
}

#[test]
fn an_execution_lasts_until_it_is_suspended_and_its_last_pod_is_gone() {
    let mut told = Told::kueue();
    told.runs().evicts().suspends();
    let suspended = told.events.len();
    told.unreserves().pod_terminates("pod-1").pod_goes("pod-1").reserves().goes(2);
    let history = told.history();
    let executions = history.executions(UID);
    assert_eq!(executions.len(), 2);
    let (first, second) = (&executions[0], &executions[1]);
    let gone = history.object("uid-pod-1").unwrap().deleted().unwrap().order;
    assert_eq!(first.end, Some(gone));
    assert!(first.stop.unwrap().index < suspended && first.end > first.stop.map(|it| it.order));
    assert_eq!(first.admission.unwrap().get(), 1);
    assert_eq!((second.admission.unwrap().get(), second.end), (2, None));
    let pods =
        |at: usize| executions[at].pods.iter().map(|pod| pod.name.as_str()).collect::<Vec<_>>();
    assert_eq!((pods(0), pods(1)), (vec!["pod-1"], vec!["pod-2"]));
}

#[test]
fn a_pod_that_outlives_its_execution_belongs_to_the_next_one_too() {
    let history =
        Told::kueue().runs().evicts().suspends().unreserves().reserves().goes(2).history();
    let executions = history.executions(UID);
    assert_eq!(executions[0].end, None);
    let pods: Vec<_> = executions[1].pods.iter().map(|pod| pod.name.as_str()).collect();
    assert_eq!(pods, ["pod-1", "pod-2"]);
}

#[test]
fn the_end_of_the_job_ends_its_execution_and_a_lost_end_starts_none() {
    let mut told = Told::kueue();
    told.runs().pod_ends("pod-1", "Failed").ends("Failed");
    told.trainjob(|it| it["status"] = json!({"conditions": []}));
    let history = told.history();
    let executions = history.executions(UID);
    assert_eq!(executions.len(), 1);
    assert!(executions[0].end.is_some());
}

#[test]
fn a_call_is_found_with_what_became_of_it() {
    let history = Told::kueue().starts().opens().calls(Verb::Status).history();
    let calls = history.calls();
    assert_eq!(calls.len(), 3);
    assert_eq!((calls[0].uid(), calls[0].name()), (Some(UID), Some(NAME)));
    assert!(calls[1].invoked_order < calls[1].answered_order());
    assert!(calls[2].answered.is_none() && calls[2].ok().is_none());
}

#[rstest]
#[case::its_number(|version: &mut ObjectVersion| version.resource_version = "7".to_owned())]
#[case::its_objects_number(
    |version: &mut ObjectVersion| Arc::make_mut(&mut version.object)["metadata"]["resourceVersion"] = json!("7"))]
#[case::its_uid(|version: &mut ObjectVersion| Arc::make_mut(&mut version.object)["metadata"]["uid"] = json!("other"))]
#[case::its_name(|version: &mut ObjectVersion| version.name = "other".to_owned())]
#[case::its_kind(|version: &mut ObjectVersion| Arc::make_mut(&mut version.object)["kind"] = json!("Lease"))]
fn a_version_that_contradicts_itself_is_a_gap_of_its_kind(#[case] change: fn(&mut ObjectVersion)) {
    let mut told = Told::kueue();
    told.runs();
    let pod = told.events.iter_mut().find_map(|event| match &mut event.what {
        What::Version(version) if version.kind == Kind::Pod => Some(version),
        _ => None,
    });
    change(pod.unwrap());
    let history = told.history();
    let gap = history.gaps().next().unwrap().1.clone();
    assert_eq!(gap.kind, Some(Kind::Pod));
    assert!(gap.why.ends_with("contradicts itself"), "{}", gap.why);
}

#[test]
fn an_answer_that_is_missing_is_a_gap() {
    let history = Told::kueue().calls(Verb::Open).history();
    let read = reads(&write(history.events())).unwrap();
    assert_eq!(gaps(&read), ["what became of call 1 was not recorded"]);
}

#[test]
fn a_clock_that_was_set_is_a_gap() {
    let history = Told::kueue().seconds(-60).waits().history();
    let read = reads(&write(history.events())).unwrap();
    let expected = "the clock was set while the run lasted, so that its times say nothing";
    assert_eq!(gaps(&read), [expected]);
}
