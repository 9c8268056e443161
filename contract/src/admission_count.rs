//! A, the admission count.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A, the admission count of an object: 0 at first, raised before every execution, never lowered.
///
/// Written in decimal, without sign and without leading zeros; any other text is unreadable
/// (RG-13). At most [`AdmissionCount::GREATEST`].
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct AdmissionCount(u64);

/// A text is not an admission count.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not an admission count: expected a decimal number from 0 to 2^42, \
     without sign or leading zeros"
)]
pub struct UnreadableCount(
    /// The text that was found.
    pub String,
);

impl AdmissionCount {
    /// The count of an object that never ran.
    pub const ZERO: Self = Self(0);

    /// The greatest count, 2^42: beyond it the check stays Pending (RG-13), since
    /// [`crate::ExecutionIdentity`] has to fit an integer.
    pub const GREATEST: Self = Self(1 << 42);

    /// A count from a number. `None` above [`AdmissionCount::GREATEST`].
    pub fn new(count: u64) -> Option<Self> {
        (count <= Self::GREATEST.0).then_some(Self(count))
    }

    /// The count as a number.
    pub fn get(self) -> u64 {
        self.0
    }

    /// The next count. `None` past [`AdmissionCount::GREATEST`].
    pub fn next(self) -> Option<Self> {
        Self::new(self.0 + 1)
    }
}

impl FromStr for AdmissionCount {
    type Err = UnreadableCount;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unreadable = || UnreadableCount(text.chars().take(64).collect());
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let canonical = digits && (text == "0" || !text.starts_with('0'));
        let count = canonical.then(|| text.parse().ok()).flatten();
        count.and_then(Self::new).ok_or_else(unreadable)
    }
}

impl TryFrom<String> for AdmissionCount {
    type Error = UnreadableCount;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<AdmissionCount> for String {
    fn from(count: AdmissionCount) -> Self {
        count.to_string()
    }
}

impl fmt::Display for AdmissionCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::zero("0", 0)]
    #[case::one("1", 1)]
    #[case::ten("10", 10)]
    #[case::greatest("4398046511104", 1 << 42)]
    fn a_decimal_count_is_read(#[case] text: &str, #[case] count: u64) {
        let read: AdmissionCount = text.parse().unwrap();
        assert_eq!((read.get(), read.to_string().as_str()), (count, text));
    }

    #[rstest]
    #[case::empty("")]
    #[case::plus("+1")]
    #[case::minus("-1")]
    #[case::leading_zero("01")]
    #[case::two_zeros("00")]
    #[case::blank_before(" 1")]
    #[case::blank_after("1 ")]
    #[case::newline("1\n")]
    #[case::hexadecimal("0x1")]
    #[case::fraction("1.0")]
    #[case::other_digits("١")]
    #[case::past_the_greatest("4398046511105")]
    #[case::past_64_bits("18446744073709551616")]
    #[case::spoofed("99999999999999999999999999999999999999999999999999999999999999999999999")]
    fn anything_else_is_unreadable(#[case] text: &str) {
        assert!(text.parse::<AdmissionCount>().is_err(), "{text:?} was read");
    }

    #[test]
    fn there_is_no_count_after_the_greatest() {
        assert_eq!(AdmissionCount::ZERO.next().map(AdmissionCount::get), Some(1));
        assert_eq!(AdmissionCount::GREATEST.next(), None);
    }
}
