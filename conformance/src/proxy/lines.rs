//! The body of a watch: one event a line. It is passed on as it comes; while some of it is to be
//! silent, it is passed on line by line.

use std::collections::VecDeque;

use hyper::body::Bytes;
use serde::Deserialize;

/// The longest line that is read; longer ones are passed on all the same.
const LINE_BYTES: usize = 4 << 20;

/// An event of a watch, as far as it is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WatchEvent {
    /// `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`.
    pub(super) type_: String,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
    pub(super) uid: Option<String>,
    pub(super) resource_version: Option<String>,
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    type_: String,
    #[serde(default)]
    object: Object,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Object {
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    namespace: Option<String>,
    name: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
}

impl WatchEvent {
    fn read(line: &[u8]) -> Option<Self> {
        let line: Line = serde_json::from_slice(line).ok()?;
        let Metadata { namespace, name, uid, resource_version } = line.object.metadata;
        Some(Self { type_: line.type_, namespace, name, uid, resource_version })
    }
}

/// Which lines are not to be delivered now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Silence {
    /// All.
    pub(super) whole: bool,
    /// Those of objects in these namespaces.
    pub(super) namespaces: Vec<String>,
}

impl Silence {
    fn is_none(&self) -> bool {
        !self.whole && self.namespaces.is_empty()
    }

    fn withholds(&self, event: Option<&WatchEvent>) -> bool {
        let of = event.and_then(|event| event.namespace.as_ref());
        self.whole || of.is_some_and(|namespace| self.namespaces.contains(namespace))
    }
}

/// Bytes to be passed on, and the event that ends with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    pub(super) bytes: Vec<Bytes>,
    pub(super) events: Vec<WatchEvent>,
}

/// A line that is held back.
struct Withheld {
    bytes: Vec<Bytes>,
    event: Option<WatchEvent>,
}

/// Takes a watch apart into its events, and holds back those that are not to be delivered.
#[derive(Default)]
pub(super) struct Lines {
    /// The beginning of the line that comes, for reading it.
    begun: Vec<u8>,
    /// The same, as far as it is held back.
    held: Vec<Bytes>,
    /// Whether some of the line that comes was passed on, so that the rest has to follow.
    is_passing: bool,
    withheld: VecDeque<Withheld>,
}

impl Lines {
    /// Takes what came; gives what is passed on.
    pub(super) fn take(&mut self, frame: Bytes, silence: &Silence) -> Passed {
        let mut passed = self.free(silence);
        // Nothing is held back now, so the frame goes on as it is.
        let before = silence.is_none().then_some(passed.bytes.len());
        for piece in pieces(&frame) {
            let event = self.read(&piece);
            if !piece.ends_with(b"\n") {
                if silence.is_none() || self.is_passing {
                    self.is_passing = true;
                    passed.bytes.append(&mut self.held);
                    passed.bytes.push(piece);
                } else {
                    self.held.push(piece);
                }
                continue;
            }
            let mut bytes = std::mem::take(&mut self.held);
            bytes.push(piece);
            if !std::mem::take(&mut self.is_passing) && silence.withholds(event.as_ref()) {
                self.withheld.push_back(Withheld { bytes, event });
            } else {
                passed.bytes.append(&mut bytes);
                passed.events.extend(event);
            }
        }
        if let Some(before) = before {
            passed.bytes.truncate(before);
            passed.bytes.push(frame);
        }
        passed
    }

    /// Gives what was held back and is not to be any longer.
    pub(super) fn free(&mut self, silence: &Silence) -> Passed {
        let mut passed = Passed { bytes: Vec::new(), events: Vec::new() };
        for line in std::mem::take(&mut self.withheld) {
            if silence.withholds(line.event.as_ref()) {
                self.withheld.push_back(line);
            } else {
                passed.bytes.extend(line.bytes);
                passed.events.extend(line.event);
            }
        }
        if silence.is_none() && !self.held.is_empty() {
            self.is_passing = true;
            passed.bytes.append(&mut self.held);
        }
        passed
    }

    /// Whether what was passed on ends with a line, so that something else may follow.
    pub(super) fn is_between(&self) -> bool {
        !self.is_passing
    }

    /// Takes the next piece of the line that comes; gives the event when the line is whole.
    fn read(&mut self, piece: &[u8]) -> Option<WatchEvent> {
        if !piece.ends_with(b"\n") {
            if self.begun.len() + piece.len() <= LINE_BYTES {
                self.begun.extend_from_slice(piece);
            }
            return None;
        }
        if self.begun.is_empty() {
            return WatchEvent::read(piece);
        }
        self.begun.extend_from_slice(piece);
        let event = WatchEvent::read(&self.begun);
        self.begun.clear();
        event
    }
}

/// A frame, cut after each line's end.
fn pieces(frame: &Bytes) -> impl Iterator<Item = Bytes> {
    let mut rest = frame.clone();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
        Some(rest.split_to(end))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn line(namespace: &str, name: &str) -> String {
        let metadata = json!({"namespace": namespace, "name": name, "resourceVersion": "7"});
        format!("{}\n", json!({"type": "ADDED", "object": {"spec": {}, "metadata": metadata}}))
    }

    fn text(passed: &Passed) -> String {
        String::from_utf8(passed.bytes.concat()).unwrap()
    }

    fn names(passed: &Passed) -> String {
        let names = passed.events.iter().filter_map(|event| event.name.clone());
        names.collect::<Vec<_>>().join(" ")
    }

    fn open() -> Silence {
        Silence::default()
    }

    fn silent() -> Silence {
        Silence { whole: true, namespaces: Vec::new() }
    }

    fn silent_in(namespace: &str) -> Silence {
        Silence { whole: false, namespaces: vec![namespace.to_owned()] }
    }

    #[test]
    fn what_comes_is_passed_on_at_once_and_unchanged() {
        let mut lines = Lines::default();
        let both = Bytes::from(format!("{}{}", line("a", "one"), line("a", "two")));
        let passed = lines.take(both.clone(), &open());
        assert_eq!((passed.bytes.as_slice(), names(&passed).as_str()), (&[both][..], "one two"));
        let (begin, end) = (Bytes::from_static(b"{\"type\":"), Bytes::from_static(b"\"ADDED\"}\n"));
        assert_eq!(text(&lines.take(begin, &open())), "{\"type\":");
        assert!(!lines.is_between());
        let passed = lines.take(end, &open());
        assert_eq!((text(&passed).as_str(), passed.events.len()), ("\"ADDED\"}\n", 1));
        assert!(lines.is_between());
    }

    #[test]
    fn what_is_silent_is_passed_on_when_it_no_longer_is() {
        let mut lines = Lines::default();
        assert_eq!(text(&lines.take(line("a", "one").into(), &silent())), "");
        assert_eq!(text(&lines.take("{\"half".into(), &silent())), "");
        assert!(lines.is_between());
        let passed = lines.free(&open());
        assert_eq!(text(&passed), format!("{}{{\"half", line("a", "one")));
        assert_eq!(names(&passed), "one");
        assert_eq!(text(&lines.take(" a line\"}\n".into(), &open())), " a line\"}\n");
    }

    #[test]
    fn a_line_that_was_begun_is_passed_on_to_its_end() {
        let mut lines = Lines::default();
        let whole = line("a", "one");
        let (begin, end) = whole.split_at(20);
        lines.take(begin.to_owned().into(), &open());
        let rest = format!("{end}{}", line("a", "two"));
        let passed = lines.take(rest.into(), &silent());
        assert_eq!((text(&passed).as_str(), names(&passed).as_str()), (end, "one"));
    }

    #[test]
    fn one_namespace_can_be_silent_while_the_others_are_not() {
        let mut lines = Lines::default();
        let bookmark = "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{}}}\n";
        let all = format!("{}{bookmark}{}{}", line("a", "1"), line("b", "2"), line("a", "3"));
        let (first, second) = all.split_at(30);
        assert_eq!(text(&lines.take(first.to_owned().into(), &silent_in("a"))), "");
        let passed = lines.take(second.to_owned().into(), &silent_in("a"));
        assert_eq!(text(&passed), format!("{bookmark}{}", line("b", "2")));
        assert_eq!(text(&lines.free(&silent_in("a"))), "");
        assert_eq!(names(&lines.free(&open())), "1 3");
    }

    #[test]
    fn what_is_no_event_is_passed_on_too() {
        let mut lines = Lines::default();
        let passed = lines.take("not json\n\n".into(), &open());
        assert_eq!((text(&passed).as_str(), passed.events.len()), ("not json\n\n", 0));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_changed_or_put_before_what_came_first(
            count in 0..8usize,
            cuts in proptest::collection::vec(1..90usize, 0..12),
            silences in proptest::collection::vec(0..3u8, 12),
        ) {
            let whole: String = (0..count).map(|n| line(["a", "b"][n % 2], &n.to_string())).collect();
            let mut rest = Bytes::from(whole.clone());
            let mut lines = Lines::default();
            let (mut passed, mut events) = (String::new(), Vec::new());
            let mut keep = |part: &Passed, passed: &mut String| {
                passed.push_str(&text(part));
                events.extend(part.events.iter().map(|event| event.name.clone().unwrap()));
            };
            for (cut, silence) in cuts.iter().zip(silences) {
                let frame = rest.split_to((*cut).min(rest.len()));
                let silence = [open(), silent(), silent_in("a")][usize::from(silence)].clone();
                keep(&lines.free(&silence), &mut passed);
                keep(&lines.take(frame, &silence), &mut passed);
            }
            keep(&lines.take(rest, &open()), &mut passed);
            keep(&lines.free(&open()), &mut passed);
            prop_assert_eq!(passed.len(), whole.len());
            let of = |namespace: &str| whole.lines().filter(|line| line.contains(namespace))
                .map(str::to_owned).collect::<Vec<_>>();
            for namespace in ["\"a\"", "\"b\""] {
                let kept: Vec<_> = passed.lines().filter(|line| line.contains(namespace))
                    .map(str::to_owned).collect();
                prop_assert_eq!(kept, of(namespace));
            }
            events.sort();
            prop_assert_eq!(events, (0..count).map(|n| n.to_string()).collect::<Vec<_>>());
        }
    }
}
