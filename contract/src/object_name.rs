//! The name of an object: `dj-<ulid>-s<N>`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use ulid::Ulid;

/// The name of an object of dispatch: `dj-<ulid>-s<N>`, exactly
/// `^dj-[0-7][0-9a-hjkmnp-tv-z]{25}-s[1-9][0-9]?$`.
///
/// Lower case, because Kubernetes names are; N from 1 to 99, because a `JobSet` of Trainer's
/// `dataset-initializer` leaves room for no more (pod names are at most 63 characters).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ObjectName {
    text: String,
    ulid: Ulid,
    number: u8,
}

/// A text is not the name of an object.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not a name of dispatch: {why}; expected dj-<ulid in lower case>-s<1 to 99>")]
pub struct InvalidObjectName {
    /// The text that was given.
    pub text: String,
    /// The part of the grammar that it breaks.
    pub why: &'static str,
}

impl ObjectName {
    /// Builds a name from its parts. `None` when `number` is not within 1 to 99.
    pub fn new(ulid: Ulid, number: u8) -> Option<Self> {
        (1..=99).contains(&number).then(|| Self {
            text: format!("dj-{}-s{number}", ulid.to_string().to_ascii_lowercase()),
            ulid,
            number,
        })
    }

    /// The name as Kubernetes has it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The job's identifier in dispatch.
    pub fn ulid(&self) -> Ulid {
        self.ulid
    }

    /// The N of `-s<N>`, from 1 to 99.
    pub fn number(&self) -> u8 {
        self.number
    }

    /// Whether `text` is a name of dispatch.
    pub fn matches(text: &str) -> bool {
        text.parse::<Self>().is_ok()
    }
}

impl FromStr for ObjectName {
    type Err = InvalidObjectName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = |why| InvalidObjectName { text: text.to_owned(), why };
        let rest =
            text.strip_prefix("dj-").ok_or_else(|| invalid("it does not start with `dj-`"))?;
        let (id, number) =
            rest.split_once("-s").ok_or_else(|| invalid("`-s<N>` is missing after the ulid"))?;
        let ulid = Ulid::from_string(id).map_err(|_| invalid("the ulid cannot be read"))?;
        // The ulid crate takes upper case, and wraps silently past 128 bits: only a text that it
        // writes the same way is a ulid in the grammar's sense.
        if ulid.to_string().to_ascii_lowercase() != id {
            return Err(invalid("the ulid is not in canonical lower case"));
        }
        let value = number.parse::<u8>().ok().filter(|value| value.to_string() == number);
        let name = value.and_then(|value| Self::new(ulid, value));
        name.ok_or_else(|| invalid("N is not a number from 1 to 99 without leading zeros"))
    }
}

impl TryFrom<String> for ObjectName {
    type Error = InvalidObjectName;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<ObjectName> for String {
    fn from(name: ObjectName) -> Self {
        name.text
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    const ID: &str = "01arz3ndektsv4rrffq69g5fav";

    #[rstest]
    #[case::first("dj-01arz3ndektsv4rrffq69g5fav-s1")]
    #[case::last("dj-01arz3ndektsv4rrffq69g5fav-s99")]
    #[case::smallest_ulid("dj-00000000000000000000000000-s10")]
    #[case::greatest_ulid("dj-7zzzzzzzzzzzzzzzzzzzzzzzzz-s1")]
    fn a_name_within_the_grammar_is_taken_and_written_the_same(#[case] text: &str) {
        assert_eq!(text.parse::<ObjectName>().unwrap().to_string(), text);
    }

    #[rstest]
    #[case::empty("")]
    #[case::no_prefix("01arz3ndektsv4rrffq69g5fav-s1")]
    #[case::upper_case_prefix("DJ-01arz3ndektsv4rrffq69g5fav-s1")]
    #[case::upper_case_ulid("dj-01ARZ3NDEKTSV4RRFFQ69G5FAV-s1")]
    #[case::one_upper_case_letter("dj-01Arz3ndektsv4rrffq69g5fav-s1")]
    #[case::ulid_past_128_bits("dj-8zzzzzzzzzzzzzzzzzzzzzzzzz-s1")]
    #[case::ulid_past_128_bits_that_wraps("dj-81arz3ndektsv4rrffq69g5fav-s1")]
    #[case::letter_i("dj-01irz3ndektsv4rrffq69g5fav-s1")]
    #[case::letter_l("dj-01lrz3ndektsv4rrffq69g5fav-s1")]
    #[case::letter_o("dj-01orz3ndektsv4rrffq69g5fav-s1")]
    #[case::letter_u("dj-01urz3ndektsv4rrffq69g5fav-s1")]
    #[case::ulid_too_short("dj-01arz3ndektsv4rrffq69g5fa-s1")]
    #[case::ulid_too_long("dj-01arz3ndektsv4rrffq69g5favv-s1")]
    #[case::no_number("dj-01arz3ndektsv4rrffq69g5fav")]
    #[case::number_missing("dj-01arz3ndektsv4rrffq69g5fav-s")]
    #[case::zero("dj-01arz3ndektsv4rrffq69g5fav-s0")]
    #[case::hundred("dj-01arz3ndektsv4rrffq69g5fav-s100")]
    #[case::leading_zero("dj-01arz3ndektsv4rrffq69g5fav-s01")]
    #[case::plus_sign("dj-01arz3ndektsv4rrffq69g5fav-s+1")]
    #[case::minus_sign("dj-01arz3ndektsv4rrffq69g5fav-s-1")]
    #[case::trailing_text("dj-01arz3ndektsv4rrffq69g5fav-s1x")]
    #[case::trailing_newline("dj-01arz3ndektsv4rrffq69g5fav-s1\n")]
    #[case::second_number("dj-01arz3ndektsv4rrffq69g5fav-s1-s2")]
    #[case::other_digits("dj-01arz3ndektsv4rrffq69g5fav-s١")]
    fn a_text_outside_the_grammar_is_refused(#[case] text: &str) {
        assert!(text.parse::<ObjectName>().is_err(), "{text:?} was taken");
    }

    #[test]
    fn a_refusal_names_the_text_and_the_part_that_is_wrong() {
        let error = format!("dj-{ID}-s0").parse::<ObjectName>().unwrap_err();
        assert_eq!(error.why, "N is not a number from 1 to 99 without leading zeros");
        assert!(error.to_string().contains(&format!("dj-{ID}-s0")));
    }

    /// The grammar, written out a second time, as the contract prints it.
    fn in_the_grammar(text: &str) -> bool {
        let bytes = text.as_bytes();
        let letter = |b: &u8| b"0123456789abcdefghjkmnpqrstvwxyz".contains(b);
        let number = bytes.get(31..).unwrap_or_default();
        bytes.starts_with(b"dj-")
            && bytes.get(3).is_some_and(|b| (b'0'..=b'7').contains(b))
            && bytes.get(4..29).is_some_and(|rest| rest.iter().all(letter))
            && bytes.get(29..31) == Some(b"-s")
            && (1..=2).contains(&number.len())
            && (b'1'..=b'9').contains(&number[0])
            && number.iter().all(u8::is_ascii_digit)
    }

    proptest! {
        #[test]
        fn every_ulid_and_number_makes_a_name_that_reads_back(bits: u128, number in 1..=99u8) {
            let name = ObjectName::new(Ulid(bits), number).unwrap();
            prop_assert!(in_the_grammar(name.as_str()));
            let again: ObjectName = name.as_str().parse().unwrap();
            prop_assert_eq!((again.ulid(), again.number()), (Ulid(bits), number));
        }

        #[test]
        fn a_text_near_the_grammar_is_taken_exactly_when_the_grammar_has_it(
            text in "[dD]j-[0-9]?[0-9a-zA-Z]{24,26}-s?[0-9+-]{0,3}",
        ) {
            prop_assert_eq!(ObjectName::matches(&text), in_the_grammar(&text));
        }

        #[test]
        fn any_text_is_taken_exactly_when_the_grammar_has_it(text: String) {
            prop_assert_eq!(ObjectName::matches(&text), in_the_grammar(&text));
        }
    }
}
