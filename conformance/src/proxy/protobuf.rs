//! What matters of a body in Kubernetes' protobuf, as JSON.
//!
//! Go controllers write the built-in kinds in protobuf: `JobSet` its Jobs, Kubernetes' own
//! controllers their pods. Of such a body only an outline is read: kind, names, labels and
//! annotations, and of a Job `spec.suspend` and the metadata of its pods. The field numbers are
//! those of the `protobuf` tags in `k8s.io/api` and `k8s.io/apimachinery`, which never change.

use serde_json::{Map, Value, json};

/// What every body in Kubernetes' protobuf begins with.
const MAGIC: &[u8] = b"k8s\0";

/// The outline of a body; `None` if it is none, or not one of an object.
pub(super) fn outline(body: &[u8]) -> Option<Value> {
    let unknown = Message(body.strip_prefix(MAGIC)?);
    let types = unknown.message(1)?;
    let (version, kind) = (types.text(1)?, types.text(2)?);
    let object = unknown.message(2)?;
    if kind.ends_with("Options") {
        return None;
    }
    let mut outline = json!({
        "apiVersion": version, "kind": kind, "metadata": metadata(object.message(1)?),
    });
    if kind == "Job"
        && let Some(spec) = object.message(2)
    {
        outline["spec"] = job(spec);
    }
    Some(outline)
}

fn metadata(of: Message<'_>) -> Value {
    let mut fields = Map::new();
    let texts =
        [(1, "name"), (2, "generateName"), (3, "namespace"), (5, "uid"), (6, "resourceVersion")];
    for (number, name) in texts {
        if let Some(text) = of.text(number).filter(|text| !text.is_empty()) {
            fields.insert(name.to_owned(), json!(text));
        }
    }
    for (number, name) in [(11, "labels"), (12, "annotations")] {
        let entries = of.messages(number);
        let pair = |entry: Message<'_>| {
            Some((entry.text(1)?.to_owned(), json!(entry.text(2).unwrap_or_default())))
        };
        let pairs: Map<_, _> = entries.filter_map(pair).collect();
        if !pairs.is_empty() {
            fields.insert(name.to_owned(), Value::Object(pairs));
        }
    }
    Value::Object(fields)
}

fn job(spec: Message<'_>) -> Value {
    let mut fields = Map::new();
    if let Some(suspend) = spec.number(10) {
        fields.insert("suspend".to_owned(), json!(suspend != 0));
    }
    if let Some(of) = spec.message(6).and_then(|template| template.message(1)) {
        fields.insert("template".to_owned(), json!({ "metadata": metadata(of) }));
    }
    Value::Object(fields)
}

/// An encoded message.
#[derive(Clone, Copy)]
struct Message<'a>(&'a [u8]);

enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Other,
}

impl<'a> Message<'a> {
    fn fields(self) -> impl Iterator<Item = (u64, Field<'a>)> {
        let mut rest = self.0;
        std::iter::from_fn(move || field(&mut rest))
    }

    fn messages(self, number: u64) -> impl Iterator<Item = Message<'a>> {
        self.fields().filter_map(move |(at, field)| match field {
            Field::Bytes(bytes) if at == number => Some(Message(bytes)),
            _ => None,
        })
    }

    fn message(self, number: u64) -> Option<Message<'a>> {
        self.messages(number).last()
    }

    fn text(self, number: u64) -> Option<&'a str> {
        std::str::from_utf8(self.message(number)?.0).ok()
    }

    fn number(self, number: u64) -> Option<u64> {
        let numbers = self.fields().filter_map(|(at, field)| match field {
            Field::Number(value) if at == number => Some(value),
            _ => None,
        });
        numbers.last()
    }
}

/// The next field; `None` at the end, and where nothing more can be read.
fn field<'a>(rest: &mut &'a [u8]) -> Option<(u64, Field<'a>)> {
    let key = varint(rest)?;
    let field = match key & 7 {
        0 => Field::Number(varint(rest)?),
        1 => {
            *rest = rest.get(8..)?;
            Field::Other
        }
        2 => {
            let length = usize::try_from(varint(rest)?).ok()?;
            let bytes = rest.get(..length)?;
            *rest = &rest[length..];
            Field::Bytes(bytes)
        }
        5 => {
            *rest = rest.get(4..)?;
            Field::Other
        }
        _ => return None,
    };
    Some((key >> 3, field))
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, left) = rest.split_first()?;
        *rest = left;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded_varint(mut value: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            let byte = u8::try_from(value & 0x7f).unwrap();
            value >>= 7;
            bytes.push(if value == 0 { byte } else { byte | 0x80 });
            if value == 0 {
                return bytes;
            }
        }
    }

    fn bytes(number: usize, content: &[u8]) -> Vec<u8> {
        [encoded_varint(number << 3 | 2), encoded_varint(content.len()), content.to_vec()].concat()
    }

    fn entry(number: usize, key: &str, value: &str) -> Vec<u8> {
        bytes(number, &[bytes(1, key.as_bytes()), bytes(2, value.as_bytes())].concat())
    }

    fn body(version: &str, kind: &str, object: &[u8]) -> Vec<u8> {
        let types = [bytes(1, version.as_bytes()), bytes(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), bytes(1, &types), bytes(2, object), bytes(3, b""), bytes(4, b"")].concat()
    }

    #[test]
    fn a_jobs_outline_has_what_faults_wait_for() {
        let of_pods = entry(12, "dispatch.phpboyscout.uk/admission", "2");
        let template = bytes(6, &bytes(1, &of_pods));
        let spec = [vec![1 << 3, 1], template, vec![10 << 3, 1]].concat();
        let metadata =
            [bytes(1, b"dj-s1-node-0"), bytes(3, b"ns"), bytes(6, b"17"), entry(11, "a", "b")]
                .concat();
        let body = body("batch/v1", "Job", &[bytes(1, &metadata), bytes(2, &spec)].concat());
        let expected = json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "dj-s1-node-0", "namespace": "ns", "resourceVersion": "17",
                "labels": {"a": "b"}},
            "spec": {"suspend": true, "template": {"metadata": {
                "annotations": {"dispatch.phpboyscout.uk/admission": "2"}}}},
        });
        assert_eq!(outline(&body), Some(expected));
    }

    #[test]
    fn a_pods_outline_has_the_prefix_of_its_name() {
        let body = body("v1", "Pod", &bytes(1, &bytes(2, b"dj-s1-node-0-0-")));
        assert_eq!(outline(&body).unwrap()["metadata"]["generateName"], "dj-s1-node-0-0-");
    }

    #[test]
    fn options_and_other_encodings_have_no_outline() {
        assert_eq!(outline(&body("v1", "DeleteOptions", &bytes(1, b"x"))), None);
        assert_eq!(outline(br#"{"kind":"Pod"}"#), None);
    }

    proptest! {
        #[test]
        fn no_body_is_too_odd_to_be_looked_at(body in proptest::collection::vec(any::<u8>(), 0..99)) {
            outline(&[MAGIC, &body].concat());
        }

        #[test]
        fn a_body_that_is_cut_off_is_looked_at_too(cut in 0..60usize) {
            let whole = body("v1", "Pod", &bytes(1, &entry(12, "key", "value")));
            outline(&whole[..cut.min(whole.len())]);
        }
    }
}
